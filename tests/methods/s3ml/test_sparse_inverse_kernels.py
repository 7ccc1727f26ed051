"""The compiled parts against readable versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods.s3ml.objective import Problem, cholesky, inverse, logdet
from likewise_methods.s3ml.solver.methods import solve_auto
from likewise_methods.s3ml.solver.newton_direction import (
    Model,
    Pairs,
    conjugate_gradients,
    descend,
    refine,
)
from likewise_methods.s3ml.solver.newton_kernels import (
    both_ways,
    clip_to_box,
    free_pairs,
    mirror,
    sparse_sandwich,
    sweep,
)
from tests.methods.s3ml.sparse_inverse_problems import covariance


def at_some_point(m: int, l1: float) -> Any:
    """A problem, an M on its way, its inverse and the free pairs."""
    problem = Problem(covariance(m, 2 * m), l1)
    M = solve_auto(problem, 0.5, 50).M
    W = np.linalg.inv(M)
    W = (W + W.T) / 2
    starts, columns = np.empty(m + 1, np.int64), np.empty(m * (m + 1) // 2, np.int64)
    n = free_pairs(problem.folded, M, W, l1, starts, columns)
    return problem, M, W, Pairs.of(starts, columns[:n])


def model(problem: Problem, M: Any, W: Any, D: Any) -> float:
    off = ~np.eye(len(M), dtype=bool)
    value = np.sum((problem.folded - W) * D) + 0.5 * np.sum(D * (W @ D @ W))
    return float(value + problem.l1 * np.abs(M + D)[off].sum())


def plain_sweep(problem: Problem, M: Any, W: Any, D: Any, pairs: Pairs) -> Any:
    """Coordinate descent with everything computed afresh."""
    D = D.copy()
    for i, j in zip(pairs.rows, pairs.columns, strict=True):
        b = problem.folded[i, j] - W[i, j] + (W @ D @ W)[i, j]
        if i == j:
            D[i, i] -= b / W[i, i] ** 2
            continue
        a = W[i, i] * W[j, j] + W[i, j] ** 2
        z = M[i, j] + D[i, j] - b / a
        D[i, j] = D[j, i] = np.sign(z) * max(abs(z) - problem.l1 / a, 0.0) - M[i, j]
    return D


@pytest.mark.parametrize("l1", [0.02, 0.3])
def test_sweep_is_coordinate_descent(l1: float) -> None:
    """Twice in a row, for few free pairs (gathered) and many (run through)."""
    problem, M, W, pairs = at_some_point(24, l1)
    g, x = pairs.take(problem.folded - W), pairs.take(M)
    d, U, expected = np.zeros_like(x), np.zeros_like(M), np.zeros_like(M)
    bend = np.outer(np.diagonal(W), np.diagonal(W)) + W**2 * (1 - np.eye(24))
    for _ in range(2):
        sweep(W, 1 / pairs.take(bend), g, x, d, U, l1, pairs.starts, pairs.columns, 1)
        expected = plain_sweep(problem, M, W, expected, pairs)
        D = np.zeros_like(M)
        pairs.put(d, D)
        np.testing.assert_allclose(D, expected, atol=1e-10 * np.abs(expected).max())
        np.testing.assert_allclose(U, D @ W, atol=1e-10)
        np.testing.assert_array_equal(x == 0, pairs.take(M + expected) == 0)
        np.testing.assert_allclose(x, pairs.take(M + D), atol=1e-12 * np.abs(M).max())


def test_free_pairs_are_those_that_may_move() -> None:
    problem, M, W, pairs = at_some_point(24, 0.1)
    free = (M != 0) | (np.abs(problem.S - W) > 0.1) | np.eye(24, dtype=bool)
    rows, columns = np.nonzero(np.triu(free))
    np.testing.assert_array_equal(pairs.rows, rows)
    np.testing.assert_array_equal(pairs.columns, columns)


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_sandwich_is_a_product_on_pairs(share: float) -> None:
    rng = np.random.default_rng(0)
    B = covariance(30, 60)
    rows, columns = np.nonzero(np.triu(rng.random((30, 30)) < share))
    starts = np.searchsorted(rows, np.arange(31))
    pairs = Pairs(starts, rows, columns, 30)
    X = np.zeros((30, 30))
    x = rng.standard_normal(len(rows))
    pairs.put(x, X)
    np.testing.assert_allclose(pairs.sandwich(B, x), (B @ X @ B)[rows, columns], atol=1e-10)


def test_sparse_sandwich_is_the_same_product() -> None:
    _, M, _, pairs = at_some_point(24, 0.3)
    rows, places = np.nonzero(M)
    assert len(rows) < M.size / 2
    x = np.random.default_rng(0).standard_normal(len(pairs.rows))
    begins = np.searchsorted(rows, np.arange(25))
    y, U = np.empty_like(x), np.empty_like(M)
    sparse_sandwich(M, begins, places, x, pairs.starts, pairs.columns, U, y)
    np.testing.assert_allclose(y, pairs.sandwich(M, x), atol=1e-10)


def test_conjugate_gradients_solve_the_system() -> None:
    """Against a dense solve of P (W x W) P x = r."""
    _, M, W, pairs = at_some_point(12, 0.1)
    n = len(pairs.rows)
    H = np.column_stack([pairs.sandwich(W, unit) for unit in np.eye(n)])
    r = np.random.default_rng(0).standard_normal(n)
    exact = np.linalg.solve(H, r)
    found, bent, _, turns = conjugate_gradients(W, M, r, pairs, 0.1)
    assert turns < n / 2
    np.testing.assert_allclose(bent, H @ found, atol=1e-8)
    left = exact - found
    # The rule of the end is on the preconditioned residual; the error in the energy is alike.
    assert left @ (pairs.twice * (H @ left)) < 0.02 * (exact @ (pairs.twice * (H @ exact)))


@pytest.mark.parametrize("l1", [0.02, 0.2])
def test_refining_lowers_the_model(l1: float) -> None:
    """Sweeps, then conjugate gradients; entries meant to be zero are zero to the bit."""
    problem, M, W, pairs = at_some_point(30, l1)
    way = Model(problem, M, W, pairs)

    def whole(d: Any) -> Any:
        D = np.zeros_like(M)
        pairs.put(d, D)
        return D

    descend(way)
    before = whole(way.direction(way.part))
    assert model(problem, M, W, before) < model(problem, M, W, np.zeros_like(M))
    part = refine(way)
    after = whole(way.direction(part))
    assert model(problem, M, W, after) <= model(problem, M, W, before) + 1e-6
    np.testing.assert_array_equal(pairs.take(M + after) == 0, part.x == 0)
    assert way.work > 0


def test_what_crosses_zero_is_stopped_there() -> None:
    """A start far off in sign: systems in a row end lower than the sweeps alone."""
    problem, M, W, pairs = at_some_point(30, 0.05)
    exact = Model(problem, M, W, pairs)
    for _ in range(300):
        exact.part.sweep(exact)
    D = np.zeros_like(M)
    pairs.put(exact.direction(exact.part), D)
    best = model(problem, M, W, D)
    way = Model(problem, M, W, pairs)
    way.part.sweep(way)
    pairs.put(way.direction(way.part), D)
    once = model(problem, M, W, D)
    pairs.put(way.direction(refine(way)), D)
    assert model(problem, M, W, D) - best < 0.5 * (once - best)


def test_both_ways_are_full_rows() -> None:
    _, _, _, pairs = at_some_point(12, 0.1)
    X = np.zeros((12, 12))
    x = 1.0 + np.arange(len(pairs.rows))
    pairs.put(x, X)
    begins, others, places = both_ways(pairs.starts, pairs.columns)
    again = np.zeros_like(X)
    again[np.repeat(np.arange(12), np.diff(begins)), others] = x[places]
    np.testing.assert_array_equal(again, X)


def test_factor_inverse_and_box() -> None:
    A = covariance(70, 200)
    factor = cholesky(A)
    assert factor is not None
    assert logdet(factor) == pytest.approx(np.linalg.slogdet(A)[1])
    np.testing.assert_allclose(inverse(factor), np.linalg.inv(A), atol=1e-10)
    assert cholesky(A - 10 * np.eye(70)) is None
    half = np.triu(A)
    mirror(half)
    np.testing.assert_array_equal(half, np.triu(A) + np.triu(A, 1).T)
    W, Z = np.linalg.inv(A), np.zeros_like(A)
    clip_to_box(W, A, 0.1, Z)
    expected = np.clip(W, A - 0.1, A + 0.1)
    np.fill_diagonal(expected, np.diagonal(A))
    np.testing.assert_array_equal(np.triu(Z), np.triu(expected))
