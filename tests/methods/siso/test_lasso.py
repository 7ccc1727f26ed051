"""The many-query lasso is exact: gap, optimality conditions, and an independent solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.objective import certify
from likewise_methods.siso.solver import rounds
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import lasso
from tests.methods.siso.lasso_problems import (
    by_sklearn,
    check_exact,
    columns,
    gap,
    objective,
    problem,
    violation,
)

NEWTON = ("homotopy", "feature-sign")


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("alpha", [0.3, 0.05, 0.002])
@pytest.mark.parametrize("solver", NEWTON)
def test_exact_and_as_good_as_scikit_learn(solver: str, alpha: float, nonnegative: bool) -> None:
    A, Y = problem(400, 40)
    codes = lasso(A, Y, alpha=alpha, solver=solver, nonnegative=nonnegative, expand=20, tol=1e-8)
    check_exact(A, Y, codes, 1e-8, nonnegative)
    A = columns(A)
    for y, x, gamma in zip(Y, codes.x.toarray(), codes.gamma, strict=True):
        c = A @ y
        np.testing.assert_allclose(gamma, alpha * (c if nonnegative else np.abs(c)).max())
        assert violation(A, y, x, gamma, nonnegative) < 1e-6
        if alpha > 0.01:
            other = by_sklearn(A, y, gamma, nonnegative)
            assert objective(A, y, x, gamma) <= objective(A, y, other, gamma) * (1 + 1e-9)
            np.testing.assert_allclose(x, other, atol=1e-4)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_coordinate_descent_is_exact_where_it_converges(nonnegative: bool) -> None:
    A, Y = problem(300, 40)
    codes = lasso(A, Y, alpha=0.2, solver="cd", nonnegative=nonnegative, expand=20)
    check_exact(A, Y, codes, 1e-4, nonnegative)


@pytest.mark.parametrize("solver", NEWTON)
@pytest.mark.parametrize("expand", [1, 2, 5, 1000])
def test_any_number_of_newcomers(solver: str, expand: int) -> None:
    A, Y = problem(150, 20, queries=3)
    codes = lasso(A, Y, alpha=0.02, solver=solver, expand=expand)
    check_exact(A, Y, codes, 1e-4)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("expand", [1, 30])
@pytest.mark.parametrize("solver", NEWTON)
@pytest.mark.parametrize("alpha", [0.1, 0.002])
def test_tripled_columns(solver: str, alpha: float, expand: int, nonnegative: bool) -> None:
    """Exact copies, and copies with the other sign, make every Gram matrix singular."""
    A, Y = problem(60, 15, queries=4)
    tripled = np.concatenate([A, A, A] if nonnegative else [A, A, A, -A])
    codes = lasso(tripled, Y, alpha=alpha, expand=expand, solver=solver, nonnegative=nonnegative)
    check_exact(tripled, Y, codes, 1e-4, nonnegative)
    once = lasso(A, Y, alpha=alpha, nonnegative=nonnegative, tol=1e-9)
    for y, x, z, gamma in zip(Y, codes.x.toarray(), once.x.toarray(), once.gamma, strict=True):
        found, best = (objective(columns(M), y, v, gamma) for M, v in ((tripled, x), (A, z)))
        np.testing.assert_allclose(found, best, rtol=1e-4)


@pytest.mark.parametrize("solver", NEWTON)
@pytest.mark.parametrize("shape", [(1, 5), (2, 5), (3, 1), (50, 1), (200, 2), (500, 4), (8, 60)])
@pytest.mark.parametrize("alpha", [0.5, 0.002])
def test_tiny_and_lopsided(shape: tuple[int, int], solver: str, alpha: float) -> None:
    """More columns than dimensions: the support reaches the rank, and columns are exchanged."""
    for seed in range(4):
        A, Y = problem(*shape, queries=6, seed=seed)
        codes = lasso(A, Y, alpha=alpha, solver=solver, expand=3)
        check_exact(A, Y, codes, 1e-4)
        assert np.diff(codes.x.indptr).max() <= min(shape)


def test_near_copies() -> None:
    """Rows that differ only by rounding, as a picture stored twice would."""
    A, Y = problem(80, 20, queries=4)
    rng = np.random.default_rng(0)
    wobbly = [(A * (1 + e * rng.standard_normal(A.shape))).astype(np.float32)
              for e in (0, 1e-7, 1e-6, 1e-5, 1e-4)]  # fmt: skip
    near = np.concatenate(wobbly)
    codes = lasso(near, Y, alpha=0.002)
    check_exact(near, Y, codes, 1e-4)


def test_query_among_the_columns_and_query_of_zeros() -> None:
    A, _ = problem(50, 10)
    Y = np.stack([A[7].astype(np.float64), np.zeros(10), -A[3]])
    codes = lasso(A, Y, alpha=0.1)
    check_exact(A, Y, codes, 1e-4)
    assert codes.x[[0]].indices.tolist() == [7]
    np.testing.assert_allclose(codes.x[[0]].data, [0.9], rtol=1e-6)
    np.testing.assert_allclose(codes.x[[2]].data, [-0.9], rtol=1e-6)
    assert codes.gamma[1] == 0


def test_nothing_correlates() -> None:
    """Orthogonal to all columns, or, without negative coefficients, against all of them."""
    A = np.array([[1.0, 0, 0], [0, 1, 0]], np.float32)
    codes = lasso(A, np.array([[0.0, 0, 2]]))
    assert codes.x.nnz == 0
    assert codes.gap.tolist() == [0]
    codes = lasso(A, np.array([[-1.0, -2, 0]]), nonnegative=True)
    assert codes.x.nnz == 0
    assert codes.gap.tolist() == [0]
    check_exact(A, [[-1.0, -2, 0]], lasso(A, np.array([[-1.0, -2, 0]])), 1e-4)


def test_gamma_can_be_given() -> None:
    A, Y = problem(100, 20)
    codes = lasso(A, Y, gamma=[0.1, 0.2, 5.0, 0.01, 0.1], tol=1e-7)
    check_exact(A, Y, codes, 1e-7)
    assert codes.x[[2]].nnz == 0
    with pytest.raises(InvalidInput, match="gamma"):
        lasso(A, Y, gamma=0.0)


def test_rows_need_not_be_unit_vectors_nor_float32() -> None:
    A, Y = problem(100, 20)
    long = A.astype(np.float64) * np.random.default_rng(0).uniform(0.01, 100, (100, 1))
    codes = lasso(long, Y, tol=1e-8)
    check_exact(long, Y, codes, 1e-8)


def test_zero_rows_take_no_part() -> None:
    A, Y = problem(30, 8)
    holes = np.concatenate([A, np.zeros((3, 8), np.float32)])
    codes = lasso(holes, Y)
    check_exact(holes, Y, codes, 1e-4)
    assert codes.x.indices.max() < 30


def test_memory_mapped_and_in_blocks(tmp_path: Path) -> None:
    A, Y = problem(3000, 16)
    np.save(tmp_path / "rows.npy", A)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    whole = lasso(A, Y)
    for D in (Dictionary([mapped]), Dictionary([mapped[:7], A[7:2900], mapped[2900:]])):
        codes = lasso(D, Y)
        check_exact(A, Y, codes, 1e-4)
        np.testing.assert_allclose(codes.x.toarray(), whole.x.toarray(), atol=1e-9)


def test_batches_and_threads_do_not_matter() -> None:
    A, Y = problem(500, 24, queries=23)
    one = lasso(A, Y, batch=1)
    for ways in ({"batch": 5}, {"batch": 64}, {"n_jobs": 2}, {"n_jobs": 50, "batch": 2}):
        many = lasso(A, Y, **ways)  # type: ignore[arg-type]
        np.testing.assert_allclose(many.x.toarray(), one.x.toarray(), atol=1e-9)


def test_early_scans_of_parts_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary of several parts: only scans of all of it count, and have the last word."""
    A, Y = problem(6000, 24, queries=8)
    whole = lasso(A, Y, tol=1e-9)
    monkeypatch.setattr(rounds, "PART", 1500)
    parts = lasso(A, Y, tol=1e-9)
    check_exact(A, Y, parts, 1e-9)
    np.testing.assert_allclose(parts.x.toarray(), whole.x.toarray(), atol=1e-6)
    assert (whole.scans == whole.rounds).all()
    assert (parts.scans < parts.rounds).all()


def test_certified_without_a_last_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a residual has hardly moved since the last scan, that scan is still proof enough."""
    A, Y = problem(400, 40, queries=40)
    ended: list[bool] = []
    after = rounds.Slot._absorb

    def absorb(slot: Any, *given: Any) -> None:
        after(slot, *given)
        ended.append(slot.done)

    monkeypatch.setattr(rounds.Slot, "_absorb", absorb)
    codes = lasso(A, Y, alpha=0.05)
    check_exact(A, Y, codes, 1e-4)
    assert any(ended)


@pytest.mark.parametrize("solver", NEWTON)
def test_warm_start(solver: str) -> None:
    A, Y = problem(400, 30)
    cold = lasso(A, Y, alpha=0.02, solver=solver)
    again = lasso(A, Y, alpha=0.02, solver=solver, start=cold.x)
    check_exact(A, Y, again, 1e-4)
    assert again.pivots.sum() < 0.1 * cold.pivots.sum()
    nearby = lasso(A, Y, alpha=0.015, solver=solver, start=cold.x)
    check_exact(A, Y, nearby, 1e-4)
    # Nonsense to begin with costs time, not exactness.
    nonsense = sp.random(5, 400, 0.1, "csr", random_state=0)
    check_exact(A, Y, lasso(A, Y, alpha=0.02, solver=solver, start=nonsense), 1e-4)
    tripled = np.concatenate([A, A, A])
    start = sp.hstack([cold.x, cold.x, cold.x])
    check_exact(tripled, Y, lasso(tripled, Y, alpha=0.02, solver=solver, start=start), 1e-4)


def brute(A: Any, miss: float) -> Any:
    """A search that finds what it should, but loses a share of it."""
    rng = np.random.default_rng(0)
    A = columns(A)

    def search(R: Any, k: int) -> Any:
        ids = np.argsort(-(R @ A.T), axis=1)[:, :k]
        return np.where(rng.random(ids.shape) < miss, -1, ids)

    return search


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("miss", [0.0, 0.5, 1.0])
def test_search_with_a_closing_scan_is_exact_whatever_the_recall(
    miss: float, nonnegative: bool
) -> None:
    A, Y = problem(400, 30)
    codes = lasso(A, Y, alpha=0.01, search=brute(A, miss), nonnegative=nonnegative)
    check_exact(A, Y, codes, 1e-4, nonnegative)


def test_search_alone_says_that_it_is_not_certified() -> None:
    A, Y = problem(400, 30)
    codes = lasso(A, Y, alpha=0.01, search=brute(A, 0.8), certify=False)
    assert np.isnan(codes.gap).all()
    assert (codes.scans == 1).all()
    measured = certify(Dictionary([A]), Y, codes.x, codes.gamma)
    each = zip(Y, codes.x.toarray(), codes.gamma, strict=True)
    own = [gap(columns(A), y, x, g) for y, x, g in each]
    np.testing.assert_allclose(measured, own, rtol=1e-9)
    assert measured.max() > 1e-3


def test_no_rounds_left_is_said() -> None:
    A, Y = problem(400, 30)
    codes = lasso(A, Y, alpha=0.002, expand=2, max_rounds=8)
    assert not codes.converged.all()
    late = ~codes.converged
    assert (codes.gap[late] > 1e-4).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"alpha": 1.0}, "alpha is 1.0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"tol": 0.0}, "tol is 0.0"),
        ({"expand": 0}, "expand is 0"),
        ({"solver": "magic"}, "solver is 'magic'"),
        ({"Y": np.ones((2, 9))}, "Y has 9 columns; 8 expected"),
        ({"Y": np.full((2, 8), np.nan)}, "row 0 of Y"),
        ({"Y": np.ones(8)}, "Y has 1 dimensions"),
        ({"A": np.ones((0, 8))}, "no rows"),
        ({"A": np.ones((3, 8), complex)}, "real numbers"),
        ({"start": sp.csr_array((2, 4))}, "start has shape"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    A, Y = problem(5, 8, queries=2)
    given = {"A": A, "Y": Y, **changes}
    with pytest.raises(InvalidInput, match=message):
        lasso(given.pop("A"), given.pop("Y"), **given)
