"""What solvers record on their way, and that their default steps lead somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods.ordinal.embedding import OrdinalEmbedding
from likewise_methods.ordinal.losses import CKL, GNMDS, STE, TSTE
from likewise_methods.ordinal.objective import Problem, pad
from likewise_methods.ordinal.solver.lbfgs import solve_lbfgs
from tests.methods.ordinal.data import mean_gradient, triplets, truth

N, M = 30, 900
POINTS = truth(N, 2)
ROWS = triplets(POINTS, M).astype(np.int32)
START = np.random.default_rng(3).random((N, 2))


@pytest.mark.slow
@pytest.mark.parametrize("loss", [STE(), GNMDS(), CKL()], ids=lambda loss: loss.name)
def test_lbfgs_records_moves_over_the_slope_they_began_at(loss: Any) -> None:
    seen: list[Any] = []
    looked = 0

    class Counted(Problem):
        def gradient(self, X: Any, out: Any) -> float:
            nonlocal looked
            looked += 1
            return super().gradient(X, out)

        def value(self, X: Any) -> float:
            raise AssertionError("an evaluation of F that is not counted")

    problem = Counted(ROWS, N, loss)
    found = solve_lbfgs(problem, START, epochs=6, watch=lambda r, X: seen.append((r, X.copy())))
    # The start is the first gradient's point, and has been paid for.
    assert found.history[0].evaluations == M
    assert found.history[0].objective == pytest.approx(Problem(ROWS, N, loss).value(pad(START)))
    assert found.history[-1].evaluations == looked * M
    slopes = [np.linalg.norm(mean_gradient(loss, X, ROWS)[1]) for _, X in seen]
    assert found.history[0].step == pytest.approx(1 / slopes[0])
    for at in range(1, len(seen)):
        moved = np.linalg.norm(seen[at][1] - seen[at - 1][1])
        assert seen[at][0].step == pytest.approx(moved / slopes[at - 1], rel=1e-8)


def test_lbfgs_where_nothing_is_wrong() -> None:
    """A hinge that is zero everywhere has no slope to divide by."""
    far = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]])
    found = solve_lbfgs(Problem(np.array([[0, 1, 2]], np.int32), 3, GNMDS()), far, epochs=3)
    assert found.objective == 0.0
    assert [r.step for r in found.history] == [0.0]


def test_adagrad_steps_are_lengths_on_the_map() -> None:
    assert STE().adagrad_step(2) == GNMDS().adagrad_step(10) == 1.0
    assert TSTE(9.0).adagrad_step(10) == 3.0
    assert CKL().adagrad_step(10) == 1.0
    assert CKL().adagrad_step(2) == pytest.approx(0.447, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["ckl", "tste"])
@pytest.mark.parametrize(("p", "left"), [(2, 0.2), (6, 0.04)])
def test_adagrad_comes_near_the_optimum_by_its_own_step(loss: str, p: int, left: float) -> None:
    """Of the losses that stall most easily, both from the best of three starts; in two dimensions
    points get stuck behind each other, so less is asked."""
    rows = triplets(truth(60, p, seed=4), 4000)
    best = OrdinalEmbedding(p, loss=loss, solver="lbfgs", n_init=3, random_state=0).fit(rows)
    model = OrdinalEmbedding(p, loss=loss, solver="adagrad", n_init=3, random_state=0).fit(rows)
    # The step was never halved, so it was none too long.
    assert len({record.step for record in model.history_}) == 1
    way = model.history_[0].objective - best.objective_
    assert model.objective_ - best.objective_ < left * way
