"""The rivals of SVRG-SBB: descent with Armijo's rule, and the convex method."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from benchmarks.ordinal import rivals
from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.embedding import OrdinalEmbedding
from likewise_methods.ordinal.losses import CKL, GNMDS, STE
from likewise_methods.ordinal.objective import Problem, Solution, pad
from tests.methods.ordinal.data import mean_gradient, triplets, truth

N, P, M = 30, 3, 900
ROWS = triplets(truth(N, P), M).astype(np.int32)
START = np.random.default_rng(3).random((N, P))


def problem(loss: Any = None) -> Problem:
    return Problem(ROWS, N, STE() if loss is None else loss)


def batch(loss: Any = None, epochs: int = 8, **more: Any) -> Solution:
    return rivals.solve_batch(problem(loss), START, epochs=epochs, **more)


def convex(loss: Any = None, epochs: int = 8, **more: Any) -> Solution:
    return rivals.solve_convex(problem(loss), START, epochs=epochs, **more)


@pytest.mark.parametrize("run", [batch, convex])
def test_both_descend_and_report(run: Any) -> None:
    found = run()
    assert found.points.shape == (N, P)
    spent = [r.evaluations for r in found.history]
    assert spent == sorted(spent)
    assert found.history[0].objective == pytest.approx(problem().value(pad(START)))
    assert found.history[-1].objective < 0.8 * found.history[0].objective
    assert all(np.isfinite(r.step) and r.step >= 0 for r in found.history)
    value, _ = mean_gradient(STE(), found.points, ROWS)
    assert found.objective == pytest.approx(value, rel=1e-9)
    assert run(tol=0.9).ended == "converged"


@pytest.mark.parametrize("loss", [STE(), GNMDS()], ids=lambda loss: loss.name)
def test_an_absurd_step_never_gives_nan(loss: Any) -> None:
    for step in (1e6, 1e300):
        with np.errstate(all="ignore"):
            found = batch(loss, epochs=6, step=step)
        assert np.isfinite(found.points).all()
        assert np.abs(found.points).max() < 1e100
        assert found.objective <= found.history[0].objective


@pytest.mark.parametrize(("solver", "at_most", "more"), [
    ("batch", 0.06, {"n_init": 2}),
    ("convex", 0.2, {"epochs": 15}),
])  # fmt: skip
def test_the_estimator_runs_them(solver: str, at_most: float, more: dict[str, Any]) -> None:
    points = truth(40, 2)
    model = OrdinalEmbedding(2, solver=solver, random_state=0, **more).fit(triplets(points, 2000))
    assert 1 - model.score(triplets(points, 1000, seed=2)) <= at_most


@pytest.mark.parametrize("loss", ["ste", "gnmds", "ckl", "tste"])
def test_one_comparison_is_enough_for_finite_points(loss: str) -> None:
    model = OrdinalEmbedding(2, loss=loss, solver="batch", random_state=0).fit([[0, 1, 2]])
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.objective_)
    assert model.score([[0, 1, 2]]) == 1.0


def test_convex_refuses_other_losses_in_the_estimator() -> None:
    with pytest.raises(InvalidInput, match="'tste' is not convex"):
        OrdinalEmbedding(loss="tste", solver="convex").fit(ROWS)


def test_armijo_never_rises() -> None:
    objectives = [r.objective for r in batch(epochs=20).history]
    assert all(b < a for a, b in itertools.pairwise(objectives))
    fixed = batch(epochs=3, step=2.0, armijo=False)
    assert [r.step for r in fixed.history] == [2.0] * 4
    assert [r.evaluations for r in fixed.history] == [M, 2 * M, 3 * M, 4 * M]


def test_convex_stays_in_its_cone() -> None:
    G = rivals.project(np.array([[1.0, 2.0], [2.0, 1.0]]))
    np.testing.assert_allclose(G, [[1.5, 1.5], [1.5, 1.5]])
    X = rivals.points_of(G, 3)
    np.testing.assert_allclose(X @ X.T, G, atol=1e-12)
    objectives = [r.objective for r in convex(GNMDS(), epochs=10).history]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(objectives))
    with pytest.raises(InvalidInput, match="'ckl' is not convex"):
        convex(CKL())
    big = Problem(np.array([[0, 1, 5000]], np.int32), 5001, STE())
    with pytest.raises(InvalidInput, match="at most 3000"):
        rivals.solve_convex(big, np.zeros((5001, 2)), epochs=1)


def test_convex_gradient_is_the_derivative() -> None:
    """Through the objective: a small step along minus the gradient changes F by its square."""
    X = START - START.mean(axis=0)
    G = X @ X.T
    F, slope = rivals._gradient(problem(), G)
    assert pytest.approx(problem().value(pad(X))) == F
    np.testing.assert_allclose(slope, slope.T)
    h = 1e-7
    down, _ = rivals._gradient(problem(), G - h * slope)
    assert (F - down) / h == pytest.approx(float((slope**2).sum()), rel=1e-4)
