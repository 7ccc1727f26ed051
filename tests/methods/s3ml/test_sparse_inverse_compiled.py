"""The compiled Newton: factors, the M of a tree and the bound against readable versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods.s3ml.objective import Problem
from likewise_methods.s3ml.solver import sparse_inverse
from likewise_methods.s3ml.solver.compiled_newton import factorise, invert
from likewise_methods.s3ml.solver.newton_kernels import largest_row, least_gap, put_pairs, tree
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance
from tests.methods.s3ml.sparse_inverse_problems import covariance


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 31, 70])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_factors_and_inverse(m: int, kind: Any) -> None:
    B = (covariance(m, 3 * m + 2) + 0.1 * np.eye(m)).astype(kind)
    # Scratch may hold anything.
    L, X, W = (np.full((m, m), 7.0, kind) for _ in range(3))
    logdet = factorise(B, L)
    near = 1e-10 if kind == np.float64 else 2e-3
    assert logdet == pytest.approx(np.linalg.slogdet(B.astype(np.float64))[1], rel=near, abs=near)
    np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, B, atol=near)
    invert(L, X, W)
    np.testing.assert_allclose(W, np.linalg.inv(B.astype(np.float64)), rtol=near, atol=near)
    np.testing.assert_array_equal(W, W.T)


def test_what_is_not_definite_has_no_factor() -> None:
    for m in (2, 6, 11):
        B = np.eye(m)
        B[m - 1, m - 1] = -1.0
        assert np.isnan(factorise(B, np.zeros((m, m))))


def plain_tree(A: Any, l1: float) -> Any:
    """(21), entry by entry."""
    m = len(A)
    M = np.diag(1.0 / np.diagonal(A))
    for i in range(m):
        for j in range(m):
            z = np.sign(A[i, j]) * max(abs(A[i, j]) - l1, 0.0)
            if i != j and z != 0.0:
                det = A[i, i] * A[j, j] - z * z
                M[i, j] = -z / det
                M[i, i] += z * z / (A[i, i] * det)
    return M


@pytest.mark.parametrize("l1", [0.3, 0.6])
def test_the_matrix_of_a_tree(l1: float) -> None:
    A = covariance(12, 40)
    M = np.empty_like(A)
    assert tree(A, l1, M) > 0.0
    np.testing.assert_allclose(M, plain_tree(A, l1), atol=1e-12)


def test_without_cycles_it_is_the_minimiser() -> None:
    """A chain and a star whose other entries are below l1: not one step is needed."""
    m, l1 = 90, 0.1
    for i, j in (
        (np.arange(m - 1), np.arange(1, m)),
        (np.zeros(40, np.int64), np.arange(1, 41)),
    ):
        S = np.eye(m) * np.linspace(1.0, 2.0, m)
        S[i, j] = S[j, i] = 0.24 if len(i) == 40 else -0.4
        problem = Problem(S, l1, False)
        M = np.empty_like(S)
        tree(S, l1, M)
        assert problem.gap(M) < 1e-10
        found = sparse_inverse_covariance(S, l1, False, tol=1e-9)
        assert (found.n_iter, found.converged) == (0, True)


def test_no_tree_where_no_minimum_exists() -> None:
    A = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert np.isnan(tree(A, 0.1, np.empty((2, 2))))
    assert Problem(A, 0.1, False).tree is None


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4])
def test_the_least_gap_is_no_more_than_the_gap(tol: float) -> None:
    """(22): computed without a factorisation, below the true gap, and of its size near the end."""
    problem = Problem(covariance(30, 60), 0.1, False)
    M = sparse_inverse_covariance(problem.S, 0.1, False, tol=tol).precision
    least = least_gap(problem.folded, np.linalg.inv(M), 0.1, M)
    assert 0.0 <= least <= problem.gap(M) * (1.0 + 1e-9) + 1e-12


def test_pairs_as_a_matrix_and_its_norm() -> None:
    starts, columns = np.array([0, 2, 3, 4]), np.array([0, 2, 1, 2])
    X = np.full((3, 3), 9.0)
    put_pairs(starts, columns, np.array([1.0, -2.0, 3.0, 4.0]), X)
    np.testing.assert_array_equal(X, [[1, 0, -2], [0, 3, 0], [-2, 0, 4]])
    assert largest_row(X) == 6.0


def test_what_is_left_goes_on_from_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps run out in a block of 80: an engine gets the M reached, and the answer is the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 3)) @ rng.standard_normal((3, 80))
    S = np.corrcoef((X + rng.standard_normal((160, 80))).T)
    starts = []
    solve = sparse_inverse._solve

    def noted(S: Any, settings: Any, start: Any) -> Any:
        starts.append(start)
        return solve(S, settings, start)

    monkeypatch.setattr(sparse_inverse, "_solve", noted)
    found = sparse_inverse_covariance(S, 0.3, False, tol=1e-13, max_iter=200)
    assert len(starts) == 1
    assert np.linalg.eigvalsh(starts[0])[0] > 0
    assert found.gap < 1e-8
