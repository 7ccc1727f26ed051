"""The ordinal solvers: the step rule, the guards, descent, and one way of counting."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from likewise_methods.ordinal.losses import CKL, GNMDS, STE, TSTE
from likewise_methods.ordinal.objective import Problem, Solution, pad
from likewise_methods.ordinal.solver.lbfgs import solve_lbfgs
from likewise_methods.ordinal.solver.online import sample_comparisons, solve_online
from likewise_methods.ordinal.solver.svrg import (
    GROWTH,
    SHRINKAGE,
    default_epsilon,
    sbb_step,
    solve_svrg,
)
from tests.methods.ordinal.data import mean_gradient, triplets, truth

N, P, M = 30, 3, 900
POINTS = truth(N, P)
ROWS = triplets(POINTS, M).astype(np.int32)
START = np.random.default_rng(3).random((N, P))


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def problem(loss: Any = None) -> Problem:
    return Problem(ROWS, N, STE() if loss is None else loss)


def solved(name: str, loss: Any = None, epochs: int = 8, **more: Any) -> Solution:
    p = problem(loss)
    if name == "lbfgs":
        return solve_lbfgs(p, START, epochs=epochs, **more)
    if name in ("sgd", "adagrad"):
        adaptive = name == "adagrad"
        step = 1.0 if adaptive else 0.05
        options = {"step": step, "adaptive": adaptive, **more}
        return solve_online(p, START, epochs=epochs, rng=rng(), **options)
    options = {"barzilai": name == "svrg-sbb", "step": 0.02 if name == "svrg" else None, **more}
    return solve_svrg(p, START, epochs=epochs, rng=rng(), **options)


NAMES = ["svrg-sbb", "svrg", "sgd", "adagrad", "lbfgs"]


@pytest.mark.parametrize("name", NAMES)
def test_every_solver_descends_and_reports(name: str) -> None:
    found = solved(name)
    assert found.points.shape == (N, P)
    assert np.isfinite(found.points).all()
    spent = [r.evaluations for r in found.history]
    assert spent == sorted(spent)
    assert found.history[0].objective == pytest.approx(problem().value(pad(START)))
    assert found.history[-1].objective < 0.8 * found.history[0].objective
    assert all(np.isfinite(r.step) and r.step >= 0 for r in found.history)
    # What is said about the points given back is recomputed from them.
    value, _ = mean_gradient(STE(), found.points, ROWS)
    assert found.objective == pytest.approx(value, rel=1e-9)


def test_evaluations_are_counted_one_way() -> None:
    """An SVRG epoch is a full gradient and two evaluations a step; a pass of SGD is one each."""
    svrg = solved("svrg-sbb", epochs=3)
    assert [r.evaluations for r in svrg.history] == [M, 4 * M, 7 * M, 10 * M]
    halved = solved("svrg-sbb", epochs=2, inner=0.5, batch=10)
    assert [r.evaluations for r in halved.history] == [M, 3 * M, 5 * M]
    online = solved("sgd", epochs=3)
    assert [r.evaluations for r in online.history] == [0, M, 2 * M, 3 * M]


def test_the_step_is_that_of_the_paper() -> None:
    dX, dg = np.array([[1.0, 2.0]]), np.array([[0.5, -0.1]])
    assert sbb_step(dX, dg, 10, 0.2) == pytest.approx(5.0 / (10 * (0.3 + 0.2 * 5.0)))
    # Curvature the wrong way counts by its size; epsilon keeps the step below 1 / (m epsilon).
    assert sbb_step(dX, -dg, 10, 0.2) == sbb_step(dX, dg, 10, 0.2)
    flat = np.zeros_like(dX)
    assert sbb_step(dX, flat, 10, 0.2) == pytest.approx(1 / (10 * 0.2))
    assert sbb_step(flat, flat, 10, 0.2) == 0.0
    assert default_epsilon(100) == 0.001


def test_epsilon_zero_is_sbb_0() -> None:
    """Without the floor the step is the plain Barzilai-Borwein one, of what the run itself saw."""
    seen: list[Any] = []
    found = solved("svrg-sbb", epochs=4, epsilon=0.0, guarded=False,
                   watch=lambda r, X: seen.append((r, X.copy())))  # fmt: skip
    slopes = [mean_gradient(STE(), X, ROWS)[1] for _, X in seen]
    for s in range(2, len(seen)):
        dX = seen[s - 1][1] - seen[s - 2][1]
        dg = slopes[s - 1] - slopes[s - 2]
        expected = (dX**2).sum() / (M * abs((dX * dg).sum()))
        assert seen[s][0].step == pytest.approx(expected, rel=1e-8)
    floored = solved("svrg-sbb", epochs=4, epsilon=10.0, guarded=False)
    assert all(r.step <= 1 / (M * 10.0) for r in floored.history[2:])
    assert found.history[2].step > floored.history[2].step


def test_the_step_grows_at_most_tenfold() -> None:
    found = solved("svrg-sbb", epochs=6, epsilon=0.0, step=1e-7)
    steps = [r.step for r in found.history[1:]]
    assert all(b <= GROWTH * a * (1 + 1e-12) for a, b in itertools.pairwise(steps))
    assert steps[1] == pytest.approx(1e-6)


def test_while_f_falls_the_step_shrinks_by_no_more_than_a_tenth() -> None:
    found = solved("svrg-sbb", GNMDS(), epochs=30)
    shrunk = 0
    for old, now, after in zip(found.history, found.history[1:], found.history[2:], strict=False):
        if now.objective < old.objective:
            assert after.step >= SHRINKAGE * now.step * (1 - 1e-12)
            shrunk += after.step < now.step
    assert shrunk, "the guard was needed"


def test_a_hinge_does_not_starve_its_own_step() -> None:
    """The gradient jumps at kinks: by the printed rule short moves make still shorter ones."""
    printed = solved("svrg-sbb", GNMDS(), epochs=60, guarded=False)
    guarded = solved("svrg-sbb", GNMDS(), epochs=60)
    assert guarded.objective < 0.7 * printed.objective


@pytest.mark.parametrize("name", ["svrg-sbb", "svrg", "sgd", "adagrad"])
@pytest.mark.parametrize("loss", [STE(), GNMDS()], ids=lambda loss: loss.name)
def test_an_absurd_step_never_gives_nan(name: str, loss: Any) -> None:
    for step in (1e6, 1e300):
        with np.errstate(all="ignore"):
            found = solved(name, loss, epochs=6, step=step)
        assert np.isfinite(found.points).all()
        assert np.abs(found.points).max() < 1e100, "no map beyond all bounds passes for a good one"
        assert np.isfinite(found.objective)
        assert found.objective <= found.history[0].objective


def test_distances_beyond_all_bounds_are_no_satisfied_comparison() -> None:
    with np.errstate(all="ignore"):
        for loss in (GNMDS(), STE(), TSTE(), CKL()):
            f = loss.weights(np.array([np.inf, np.nan]), np.array([np.inf, 1.0])).f
            assert np.isnan(f).all(), loss


def test_unguarded_runs_end_when_f_is_gone_and_keep_the_best() -> None:
    with np.errstate(all="ignore"):
        found = solved("svrg", GNMDS(), epochs=6, step=1e3, guarded=False)
    assert found.ended == "F is no longer finite"
    assert np.isfinite(found.points).all()
    assert not np.isfinite(found.history[-1].objective)


def test_the_same_seed_gives_the_same_bits() -> None:
    for name in ("svrg-sbb", "sgd", "adagrad"):
        np.testing.assert_array_equal(solved(name).points, solved(name).points)


def test_convergence_ends_a_run() -> None:
    for name in ("svrg-sbb", "sgd"):
        assert solved(name, tol=0.9).ended == "converged"
    assert len(solved("svrg-sbb", tol=0.9).history) < 8


def test_a_sample_stands_for_many() -> None:
    small = problem()
    assert len(sample_comparisons(small).rows) == M
    many = Problem(np.tile(ROWS, (200, 1)), N, STE())
    assert len(sample_comparisons(many).rows) == 18_000
    # The run with a sampled record still gives back F over all comparisons.
    found = solve_online(many, START, epochs=1, rng=rng(), step=0.02)
    assert found.objective == pytest.approx(many.value(pad(found.points)), rel=1e-12)
