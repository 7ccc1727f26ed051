"""Sparse inverse covariance against an independent solver, and its certificate."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.covariance import graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from likewise_methods.s3ml.objective import Problem
from likewise_methods.s3ml.solver.bounds import UnboundedProblem
from likewise_methods.s3ml.solver.newton import falling
from likewise_methods.s3ml.solver.sparse_inverse import SparseInverse, sparse_inverse_covariance
from tests.methods.s3ml.sparse_inverse_problems import (
    covariance,
    in_blocks,
    objective,
    reference,
)

METHODS = ("auto", "alm", "newton")


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize(("n", "l1"), [(40, 0.3), (40, 0.05), (8, 0.2)])
def test_objective_and_zeros_of_a_reference(n: int, l1: float, diagonal: bool) -> None:
    """Three engines, one answer: that of a slow climb of the dual (n = 8: singular S)."""
    S = covariance(14, n, seed=n)
    M, bound = reference(S, l1, diagonal)
    for method in METHODS:
        found = sparse_inverse_covariance(S, l1, diagonal, tol=1e-9, method=method)
        assert found.converged
        assert objective(S, found.precision, l1, diagonal) == pytest.approx(bound, abs=1e-7)
        np.testing.assert_array_equal(found.precision != 0, np.abs(M) > 1e-6)
        np.testing.assert_array_equal(found.precision, found.precision.T)
        np.testing.assert_allclose(found.precision, M, atol=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_agrees_with_scikit_learn(method: str) -> None:
    """Its diagonal is free: the penalised form is its problem with l1 added to S_ii."""
    S, l1 = covariance(25, 60), 0.15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, theirs = graphical_lasso(S + l1 * np.eye(25), l1, tol=1e-7, enet_tol=1e-9, max_iter=500)
    ours = sparse_inverse_covariance(S, l1, tol=1e-8, method=method)
    value = objective(S, ours.precision, l1)
    assert value <= objective(S, theirs, l1) + ours.gap + 1e-10
    assert value == pytest.approx(objective(S, theirs, l1), rel=1e-5)
    np.testing.assert_array_equal(ours.precision != 0, np.abs(theirs) > 1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_the_gap_is_an_upper_bound(method: str, tol: float) -> None:
    S, l1 = covariance(20, 25, seed=3), 0.1
    best = sparse_inverse_covariance(S, l1, tol=1e-11, method="newton").objective
    found = sparse_inverse_covariance(S, l1, tol=tol, method=method)
    own = objective(S, found.precision, l1)
    assert found.objective == pytest.approx(own, abs=1e-10)
    assert own - best <= found.gap + 1e-10
    assert found.gap <= tol * 20
    # From the matrix alone the gap may be larger than the engine's best, never below the truth.
    assert Problem(S, l1).gap(found.precision) >= own - best - 1e-10


def proved(S: Any, l1: float, found: SparseInverse, diagonal: bool = True) -> float:
    """The gap computed again from what was returned, after checking that Z may prove it."""
    Z = np.asarray(
        found.covariance.todense() if sp.issparse(found.covariance) else found.covariance
    )
    M = np.asarray(found.precision.todense() if sp.issparse(found.precision) else found.precision)
    np.testing.assert_array_equal(Z, Z.T)
    assert np.linalg.eigvalsh(Z)[0] > 0
    assert np.abs(Z - S)[~np.eye(len(S), dtype=bool)].max() <= l1 * (1 + 1e-12)
    np.testing.assert_allclose(np.diagonal(Z), np.diagonal(S) + l1 * diagonal, rtol=1e-12)
    return float(objective(S, M, l1, diagonal) - np.linalg.slogdet(Z)[1] - len(S))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("diagonal", [True, False])
def test_the_gap_can_be_computed_again(method: str, diagonal: bool) -> None:
    """The dual point is returned, so the certificate can be checked."""
    for S, l1 in (
        (covariance(20, 60, seed=3), 0.1),
        # Blocks of one, of two, and larger.
        (in_blocks([1, 2, 2, 7, 5], 0.1, seed=1), 0.1),
        (np.array([[1.0, 0.5], [0.5, 1.0]]), 0.2),
    ):
        for given in (S, sp.csr_array(S)):
            found = sparse_inverse_covariance(given, l1, diagonal, tol=1e-5, method=method)
            assert sp.issparse(found.covariance) == sp.issparse(given)
            assert proved(S, l1, found, diagonal) == pytest.approx(found.gap, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_who_is_stopped_early_has_a_bound_all_the_same(method: str) -> None:
    """Ill-conditioned: the inverse of a step's M lies far outside the box, S shrunken does not."""
    rng = np.random.default_rng(0)
    loads = rng.standard_normal((60, 8))
    S = loads @ loads.T / 8 + 0.0025 * np.eye(60)
    l1 = 1e-3 * float(np.trace(S)) / 60
    found = sparse_inverse_covariance(S, l1, False, method=method, max_iter=2)
    assert not found.converged
    assert np.isfinite(found.gap)
    assert proved(S, l1, found, diagonal=False) == pytest.approx(found.gap, rel=1e-9)


def test_the_gap_without_a_dual_point_is_infinite() -> None:
    """A box-feasible point that is not positive definite proves nothing (F3)."""
    S = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    problem = Problem(S, 0.3, False)
    assert problem.gap(np.eye(3)) == np.inf
    assert problem.gap(-np.eye(3)) == np.inf


@pytest.mark.parametrize("method", METHODS)
def test_screening_is_exact(method: str) -> None:
    """Solved block by block = solved as a whole, zeros and values."""
    l1 = 0.12
    S = in_blocks([7, 2, 1, 4, 1], l1)
    found = sparse_inverse_covariance(S, l1, tol=1e-10, method=method)
    assert (found.blocks, found.largest_block) == (5, 7)
    M, bound = reference(S, l1)
    np.testing.assert_array_equal(found.precision != 0, np.abs(M) > 1e-6)
    assert objective(S, found.precision, l1) == pytest.approx(bound, abs=1e-8)
    assert found.objective == pytest.approx(bound, abs=1e-8)
    # Of first order in what is wrong with M, so larger than the engines' own.
    assert Problem(S, l1).gap(found.precision) < 1e-3


def test_sparse_input_gives_the_same_and_stays_sparse() -> None:
    S = np.where(np.abs(in_blocks([5, 1, 2, 3], 0.1)) < 0.05, 0.0, in_blocks([5, 1, 2, 3], 0.1))
    dense = sparse_inverse_covariance(S, 0.1, tol=1e-9)
    found = sparse_inverse_covariance(sp.coo_matrix(S), 0.1, tol=1e-9)
    assert sp.issparse(found.precision)
    assert found.precision.nnz == np.count_nonzero(dense.precision)
    np.testing.assert_array_equal(found.precision.toarray(), dense.precision)
    assert found.objective == dense.objective


def test_ten_thousand_variables_in_small_blocks() -> None:
    """S stays sparse; blocks of one, two and five; checked on blocks and in the whole."""
    five, two = covariance(5, 30), np.array([[1.0, 0.5], [0.5, 2.0]])
    S = sp.block_diag([five] * 300 + [two] * 2000 + [np.eye(1)] * 4500, format="csr")
    found = sparse_inverse_covariance(S, 0.1, tol=1e-7)
    assert found.precision.shape == (10_000, 10_000)
    assert found.blocks >= 6800
    assert found.converged
    small = sparse_inverse_covariance(five, 0.1, tol=1e-7)
    corner = found.precision[5:10, 5:10].toarray()
    np.testing.assert_allclose(corner, small.precision, atol=1e-9)
    np.testing.assert_allclose(
        found.precision[1500:1502, 1500:1502].toarray(),
        np.linalg.inv([[1.1, 0.4], [0.4, 2.1]]),
    )
    assert found.precision[9_999, 9_999] == pytest.approx(1 / 1.1)


def test_smoothing_is_as_near_as_the_theory_says() -> None:
    """F(M_sig) - F* <= sig m^2 l1^2 / 2 (F7), small entries are zeroed (F5)."""
    S, l1, sig = covariance(15, 40), 0.2, 1e-2
    exact = sparse_inverse_covariance(S, l1, tol=1e-9)
    smooth = sparse_inverse_covariance(S, l1, tol=1e-8, smoothing=sig)
    assert smooth.converged
    assert smooth.own_gap <= 1e-8 * 15
    excess = objective(S, smooth.precision, l1) - exact.objective
    assert 1e-9 < excess <= smooth.gap
    assert excess <= sig * 15**2 * l1**2 / 2
    sizes = np.abs(smooth.precision[smooth.precision != 0])
    assert sizes.min() > sig * l1
    assert np.any(smooth.precision == 0)
    closer = sparse_inverse_covariance(S, l1, tol=1e-8, smoothing=sig / 100)
    assert closer.gap < smooth.gap / 10


def test_indefinite_but_bounded() -> None:
    """lambda_min(S) + l1 < 0 and yet a minimum exists: no entry of the diagonal alone saves it."""
    rng = np.random.default_rng(1)
    m, l1 = 14, 0.92
    signs = np.triu(rng.choice([-1.0, 1.0], (m, m)), 1)
    Z = 1.5 * np.eye(m)
    S = Z - 0.97 * l1 * (signs + signs.T) - l1 * np.eye(m)
    assert np.linalg.eigvalsh(S)[0] + l1 < -0.5
    _, bound = reference(S, l1, start=Z)
    for method in METHODS:
        found = sparse_inverse_covariance(S, l1, tol=1e-8, method=method)
        assert found.converged
        assert objective(S, found.precision, l1) == pytest.approx(bound, abs=1e-6)


def test_bounded_only_newton_finds() -> None:
    """Neither a quick proof of a minimum nor one against it; the engines still agree."""
    S = np.array([[0.2, 1.1, -1.3], [1.1, 0.3, 1.2], [-1.3, 1.2, 0.25]])
    values = [sparse_inverse_covariance(S, 0.85, tol=1e-8, method=m).objective for m in METHODS]
    assert values == pytest.approx([values[0]] * 3, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("S", "l1", "diagonal", "message"),
    [
        ([[0.0, 0.2], [0.2, 1.0]], 0.1, False, r"S\[0, 0\] = 0 is not positive"),
        ([[1.0, 0.0], [0.0, -0.5]], 0.5, True, r"S\[1, 1\] \+ l1 = 0"),
        ([[1.0, 2.0], [2.0, 1.0]], 0.4, True, "2, exceeds l1 = 0.4"),
        (-np.ones((3, 3)) + 2.2 * np.eye(3), 0.1, False, "semidefinite M was found"),
        (2 * np.ones((3, 3)) - np.eye(3), 0.5, False, r"\|S\[0, 1\]\| = 2 exceeds"),
        (np.ones((3, 3)), 0.0, True, "l1 is 0 and S is not positive definite"),
    ],
)
def test_unbounded_is_said_at_once(
    S: list[list[float]], l1: float, diagonal: bool, message: str, method: str
) -> None:
    with pytest.raises(UnboundedProblem, match=message) as caught:
        sparse_inverse_covariance(S, l1, diagonal, method=method)
    assert "raise l1" in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_unbounded_beyond_quick_proofs(method: str) -> None:
    """Only a matrix M of full rank proves it; found on the way, for every method."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        S = rng.standard_normal((8, 8))
        S = (S + S.T) / 2
        np.fill_diagonal(S, rng.uniform(0.0, 0.4, 8))
        try:
            found = sparse_inverse_covariance(S, 0.6, tol=1e-5, method=method)
        except UnboundedProblem:
            refused += 1
        else:
            assert found.gap < np.inf
    assert 0 < refused < 60


def test_without_a_penalty_it_is_the_inverse() -> None:
    S = covariance(6, 50)
    found = sparse_inverse_covariance(S, 0.0)
    np.testing.assert_allclose(found.precision, np.linalg.inv(S), rtol=1e-9)
    assert found.gap < 1e-10


@pytest.mark.parametrize("method", METHODS)
def test_a_start_saves_steps(method: str) -> None:
    S = covariance(30, 50)
    first = sparse_inverse_covariance(S, 0.1, tol=1e-8, method=method)
    again = sparse_inverse_covariance(S, 0.1, tol=1e-7, method=method, start=first.precision)
    assert again.n_iter < first.n_iter
    np.testing.assert_allclose(again.precision, first.precision, atol=1e-3)
    useless = sparse_inverse_covariance(S, 0.1, tol=1e-8, method=method, start=-np.eye(30))
    np.testing.assert_array_equal(useless.precision, first.precision)


@pytest.mark.parametrize("scale", [1e-200, 1e-40, 1e-6, 1.0, 1e6, 1e40, 1e200])
@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(method: str, scale: float) -> None:
    S = covariance(12, 30)
    one = sparse_inverse_covariance(S, 0.1, tol=1e-8, method=method)
    other = sparse_inverse_covariance(scale * S, 0.1 * scale, tol=1e-8, method=method)
    assert other.converged
    np.testing.assert_allclose(other.precision * scale, one.precision, atol=1e-3)
    np.testing.assert_array_equal(other.precision != 0, one.precision != 0)
    assert other.gap <= 1e-8 * 12
    assert other.objective == pytest.approx(one.objective + 12 * np.log(scale), abs=1e-6)
    # The certificate is one in the units asked for.
    assert (np.abs(other.covariance - scale * S) <= 0.1 * scale * (1 + 1e-12)).all()


@pytest.mark.filterwarnings("error")
def test_units_may_differ_between_blocks_of_any_size() -> None:
    """Blocks of one, two and four variables, each in units of its own."""
    one, two, four = np.array([[2.0]]), covariance(2, 9), covariance(4, 30)
    for l1 in (0.0, 1e-3):
        for scales in ((1.0, 1e-200, 1e200), (1e150, 1.0, 1e-180), (1e-200, 1e-200, 1e-200)):
            unit = min(scales)
            blocks = [scale * S for S, scale in zip((one, two, four), scales, strict=True)]
            found = sparse_inverse_covariance(in_blocks_of(blocks), l1 * unit, tol=1e-8)
            assert found.converged
            assert np.isfinite(found.objective)
            at = 0
            for S, scale in zip((one, two, four), scales, strict=True):
                alone = sparse_inverse_covariance(S, l1 * unit / scale, tol=1e-8).precision
                part = found.precision[at : at + len(S), at : at + len(S)] * scale
                np.testing.assert_allclose(part, alone, rtol=1e-5, atol=1e-6)
                at += len(S)


def in_blocks_of(blocks: list[np.ndarray]) -> np.ndarray:
    return np.asarray(sp.block_diag(blocks).toarray())


def test_a_low_limit_is_reported() -> None:
    S = covariance(30, 15)
    for method in ("alm", "newton"):
        found = sparse_inverse_covariance(S, 0.01, tol=1e-9, method=method, max_iter=2)
        assert not found.converged
        assert found.n_iter <= 2
        assert found.gap > 1e-9 * 30
        np.linalg.cholesky(found.precision)


def test_auto_takes_either_way_on_larger_blocks() -> None:
    """Well conditioned and crowded: alternating linearisation; all tied together: Newton, along a
    path of l1.  Both end where Newton alone does."""
    m = 70
    rng = np.random.default_rng(0)
    loose = np.corrcoef(rng.standard_normal((m, 6 * m)))
    tied = np.corrcoef(rng.standard_normal((m, 6 * m)) + 1.5 * rng.standard_normal(6 * m))
    for S, l1 in ((loose, 0.02), (tied, 0.1)):
        assert np.mean(np.abs(S) > l1) > 0.2
        newton = sparse_inverse_covariance(S, l1, tol=1e-9, method="newton")
        for tol in (1e-3, 1e-8):
            found = sparse_inverse_covariance(S, l1, tol=tol)
            assert found.converged
            assert found.gap <= tol * m
            assert found.objective - newton.objective <= found.gap + 1e-10
        np.testing.assert_array_equal(found.precision != 0, newton.precision != 0)


@pytest.mark.parametrize("noise", [0.2, 0.05])
def test_ill_conditioned_factors(noise: float) -> None:
    """A few strong factors and little else (condition up to 1e5): alternating linearisation ends in
    some hundred steps, and auto hands over to it where Newton does not get on."""
    m, rng = 40, np.random.default_rng(0)
    X = rng.standard_normal((200, 6)) @ rng.standard_normal((6, m))
    X += noise * rng.standard_normal((200, m))
    S = X.T @ X / 200
    l1 = 1e-3 * float(np.trace(S)) / m
    assert np.linalg.cond(S) > 1e3
    alm = sparse_inverse_covariance(S, l1, tol=1e-7, method="alm", max_iter=400)
    auto = sparse_inverse_covariance(S, l1, tol=1e-7, max_iter=500)
    for found in (alm, auto):
        assert found.converged
        gap = objective(S, found.precision, l1) - min(alm.objective, auto.objective)
        assert gap <= found.gap + 1e-10


def test_the_path_comes_down_to_l1() -> None:
    """Few pairs are free at first, and the last l1 is the problem's own."""
    S = np.corrcoef(covariance(40, 60))
    steps = falling(Problem(S, 0.01))
    assert len(steps) >= 3
    assert np.all(np.diff(steps) < 0)
    assert steps[-1] > 0.01
    assert np.mean(np.abs(S[np.triu_indices(40, 1)]) > steps[0]) == pytest.approx(0.1, abs=0.01)
    assert len(falling(Problem(S, 0.99))) == 0
