"""The judge of sparse inverse covariance, and one small comparison from end to end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.s3ml.sice.peers import GOAL, METHODS, compared, judged
from benchmarks.s3ml.sice.problems import chain, factors, graph, held_out
from benchmarks.s3ml.sice.second import second_set
from benchmarks.s3ml.sice.third import third_set
from likewise_methods.s3ml.objective import Problem
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance


def test_the_judge_agrees_with_the_engine() -> None:
    """Two computations of one gap that share no code."""
    S = chain(20, 60, 0)
    M = sparse_inverse_covariance(S, 0.1, False, tol=1e-3).precision
    gap, F = judged(S, 0.1, M)
    problem = Problem(S, 0.1, False)
    assert pytest.approx(problem.value(M)) == F
    assert gap * abs(F) == pytest.approx(problem.gap(M), rel=1e-6)
    best = sparse_inverse_covariance(S, 0.1, False, tol=1e-9)
    # The best covariance beside a rough precision bounds better.
    assert judged(S, 0.1, M, np.linalg.inv(best.precision))[0] < gap
    assert judged(S, 0.1, -M) == (np.inf, np.inf)


def test_a_comparison_from_end_to_end() -> None:
    ours = [method for method in METHODS if method.package == "likewise"]
    made = compared(graph(30, 90, 0), 0.1, ours, 30.0)
    assert [row["reached"] for row in made] == ["yes"] * 3
    assert made[0]["times ours"] == 1.0
    assert all(float(str(row["relative gap"])) <= GOAL for row in made)


def test_problems_apart_from_those_constants_were_chosen_on() -> None:
    """Symmetric, with a positive diagonal; the factors are as ill-conditioned as they claim."""
    for _, S, l1 in held_out():
        np.testing.assert_allclose(S, S.T, atol=1e-12)
        assert np.all(np.diagonal(S) > l1)
    assert np.linalg.cond(factors(50, 0.05, 0)) > 1e4


@pytest.mark.parametrize("drawn", [second_set, third_set])
def test_a_set_is_drawn_by_its_seed(drawn: Any) -> None:
    """The same seed gives the same bits, another one other problems; a seed of the tests' own."""
    one, again, other = drawn(3), drawn(3), drawn(4)
    assert len(one) >= 8
    for (name, S, l1), (same, T, l2), (_, R, _) in zip(one, again, other, strict=True):
        assert (name, l1) == (same, l2)
        np.testing.assert_array_equal(S, T)
        assert S.shape != R.shape or not np.array_equal(S, R)
        np.testing.assert_allclose(S, S.T, atol=1e-12)
        np.testing.assert_allclose(np.diagonal(S), 1.0)
        assert l1 < np.abs(S[np.triu_indices(len(S), 1)]).max()
