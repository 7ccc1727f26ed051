"""Many small blocks in one loop: the answers of the engines and of a reference, and the proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.s3ml.solver import sparse_inverse
from likewise_methods.s3ml.solver.bounds import UnboundedProblem
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance
from tests.methods.s3ml.sparse_inverse_problems import (
    covariance,
    in_blocks,
    objective,
    reference,
)


def by_engines(monkeypatch: pytest.MonkeyPatch, S: Any, l1: float, **options: Any) -> Any:
    """The same without the loop: every block of three and more goes to an engine."""
    with monkeypatch.context() as without:
        without.setattr(sparse_inverse, "LARGEST", 2)
        return sparse_inverse_covariance(S, l1, **options)


@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("l1", [0.05, 0.2])
def test_it_finds_what_the_engines_find(
    monkeypatch: pytest.MonkeyPatch, l1: float, penalised: bool
) -> None:
    S = in_blocks([3, 4, 1, 8, 2, 20, 40, 3], l1, seed=3)
    fast = sparse_inverse_covariance(S, l1, penalised, tol=1e-10)
    slow = by_engines(monkeypatch, S, l1, penalise_diagonal=penalised, tol=1e-10)
    assert fast.converged
    assert (fast.blocks, fast.largest_block) == (slow.blocks, slow.largest_block)
    assert fast.objective == pytest.approx(slow.objective, abs=1e-7)
    np.testing.assert_allclose(fast.precision, slow.precision, atol=2e-4)
    np.testing.assert_array_equal(fast.precision != 0, slow.precision != 0)


def test_engines_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("an engine was asked for a small block")

    monkeypatch.setattr(sparse_inverse, "_solve", never)
    found = sparse_inverse_covariance(in_blocks([3, 5, 8, 30], 0.1), 0.1, tol=1e-6)
    assert found.converged


def test_hundreds_of_variables_that_hang_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block of 360: the loop ends with the gap asked for, and an engine finds the same."""
    S, l1 = covariance(360, 720, seed=1), 0.15
    found = sparse_inverse_covariance(S, l1, False, tol=1e-4)
    assert found.largest_block > 320
    assert found.gap <= 1e-4 * 360
    slow = by_engines(monkeypatch, S, l1, penalise_diagonal=False, tol=1e-4)
    # Both are above the minimum by their gap at most.
    assert abs(found.objective - slow.objective) <= found.gap + slow.gap


@pytest.mark.parametrize("m", [3, 5, 8])
def test_a_reference_agrees(m: int) -> None:
    S = covariance(m, 4 * m, seed=m)
    M, value = reference(S, 0.1)
    found = sparse_inverse_covariance(S, 0.1, tol=1e-10)
    assert found.objective == pytest.approx(value, abs=1e-7)
    np.testing.assert_allclose(found.precision, M, atol=1e-4)


def test_the_gap_can_be_computed_again() -> None:
    """From what is returned alone: Z in the box, positive definite, and the gap it proves."""
    l1 = 0.1
    S = in_blocks([3, 3, 6, 12, 25, 1, 2], l1, seed=5)
    for tol in (1e-2, 1e-5, 1e-8):
        found = sparse_inverse_covariance(S, l1, tol=tol)
        Z = found.covariance
        assert (np.abs(Z - S) <= l1 * (1 + 1e-12))[Z != 0].all()
        assert np.linalg.eigvalsh(Z)[0] > 0
        # Between blocks S is below l1, so that 0 is in the box, too.
        assert (np.abs(S[Z == 0]) <= l1).all()
        value = objective(S, found.precision, l1)
        gap = value - np.linalg.slogdet(Z)[1] - len(S)
        assert found.objective == pytest.approx(value, abs=1e-9)
        assert found.gap == pytest.approx(gap, abs=1e-9)
        assert found.gap <= tol * len(S)


def test_what_does_not_get_there_goes_to_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    S = covariance(12, 30)
    asked = []
    solve = sparse_inverse._solve

    def noted(*given: Any) -> Any:
        asked.append(given)
        return solve(*given)

    monkeypatch.setattr(sparse_inverse, "_solve", noted)
    # Gaps below rounding cannot be reached; the result is as good as float64 allows.
    found = sparse_inverse_covariance(S, 0.1, tol=1e-18, max_iter=30)
    assert len(asked) == 1
    assert found.gap < 1e-10


def test_no_minimum_is_said_by_the_engines() -> None:
    S = sp.block_diag([covariance(4, 20), np.array([[1.0, 0.9, 2.0], [0.9, 1.0, 2.0], [2, 2, 1]])])
    with pytest.raises(UnboundedProblem):
        sparse_inverse_covariance(S.toarray(), 0.1)


def test_sparse_and_dense_input_give_the_same_bits() -> None:
    S = np.where(np.abs(in_blocks([5, 1, 2, 9], 0.1)) < 0.1, 0.0, in_blocks([5, 1, 2, 9], 0.1))
    dense = sparse_inverse_covariance(S, 0.1, tol=1e-7)
    sparse = sparse_inverse_covariance(sp.csr_array(S), 0.1, tol=1e-7)
    np.testing.assert_array_equal(sparse.precision.toarray(), dense.precision)
    np.testing.assert_array_equal(sparse.covariance.toarray(), dense.covariance)
