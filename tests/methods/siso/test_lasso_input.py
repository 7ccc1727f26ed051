"""Queries of any size, gamma out of noise, the BLAS's threads, and what the lasso refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import lasso
from tests.methods.siso.lasso_problems import check_exact, columns, problem, violation


@pytest.mark.parametrize("size", [1e60, 1e-60, 1e200, 1e-200, 1e-290])
def test_queries_of_any_size(size: float) -> None:
    A, Y = problem(120, 20, queries=3)
    plain = lasso(A, Y, tol=1e-9)
    scaled = lasso(A, Y * size, tol=1e-9)
    assert scaled.converged.all()
    assert (scaled.gap <= 1e-9).all()
    np.testing.assert_allclose(scaled.gamma / size, plain.gamma, rtol=1e-12)
    np.testing.assert_allclose(scaled.x.toarray() / size, plain.x.toarray(), atol=1e-9)
    again = lasso(A, Y * size, gamma=scaled.gamma, start=scaled.x, tol=1e-9)
    np.testing.assert_array_equal(again.gamma, scaled.gamma)
    assert again.pivots.sum() < 0.1 * scaled.pivots.sum()
    np.testing.assert_allclose(again.x.toarray() / size, plain.x.toarray(), atol=1e-9)


def test_queries_of_different_size_in_one_batch() -> None:
    A, Y = problem(120, 20, queries=4)
    sizes = 2.0 ** np.array([[0], [500], [-500], [3]])
    # Powers of two round nothing, so not a bit differs.
    mixed = lasso(A, Y * sizes).x.toarray()
    np.testing.assert_array_equal(mixed / sizes, lasso(A, Y).x.toarray())


def test_a_code_beyond_float64_is_not_certified() -> None:
    A = np.array([[1.0, 1.0], [1.0, -1.0]])
    codes = lasso(A, np.array([[1.7e308, 1.7e308], [1.0, 0.5], [1e-310, 1e-310]]))
    assert codes.converged.tolist() == [False, True, False]
    assert np.isnan(codes.gap).tolist() == [True, False, True]


@pytest.mark.parametrize("gamma", [1e-320, 1e308])
def test_a_gamma_of_another_world(gamma: float) -> None:
    A, Y = problem(60, 20, queries=2)
    codes = lasso(A, Y * 1e-200, gamma=gamma, max_rounds=50)
    assert (codes.gamma == gamma).all()
    if gamma > 1:
        assert codes.x.nnz == 0
        assert (codes.gap == 0).all()


@pytest.mark.parametrize("nonnegative", [False, True])
def test_gamma_is_right_where_float32_sees_only_noise(nonnegative: bool) -> None:
    """Rows orthogonal to the query up to 1e-9: the order of their correlations is lost."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(40)
    y /= np.linalg.norm(y)
    A = rng.standard_normal((500, 40))
    A -= np.outer(A @ y, y) - 1e-9 * np.outer(rng.standard_normal(500), y)
    C = columns(A) @ y
    C = C if nonnegative else np.abs(C)
    coarse = (columns(A).astype(np.float32) @ y.astype(np.float32)).astype(np.float64)
    listed = np.argsort(-(coarse if nonnegative else np.abs(coarse)))[:3]
    assert C.argmax() not in listed
    codes = lasso(A, y[None], alpha=0.5, expand=1, nonnegative=nonnegative, max_rounds=9)
    np.testing.assert_allclose(codes.gamma, 0.5 * C.max(), rtol=1e-6)
    # Coefficients of 1e9 would be needed, which float64 cannot certify, and none is claimed.
    assert codes.gap[0] > 0.1
    assert not codes.converged.any()


def test_a_useless_start_is_left_aside() -> None:
    A, Y = problem(120, 20, queries=3)
    for size in (1e9, 1e200, 1e308):
        start = sp.csr_array(np.where(np.arange(120) % 7, 0.0, size) * np.ones((3, 1)))
        check_exact(A, Y, lasso(A, Y, start=start), 1e-4)
        check_exact(A, Y, lasso(A, Y, start=start.toarray(), nonnegative=True), 1e-4, True)


def test_rows_of_extreme_length() -> None:
    A, Y = problem(30, 8)
    for size in (1e14, 1e-14):
        codes = lasso(A.astype(np.float64) * size, Y, tol=1e-8)
        assert all(
            violation(columns(A), y, x, g) < 1e-4
            for y, x, g in zip(Y, codes.x.toarray(), codes.gamma, strict=True)
        )
    for size, said in ((1e200, "1e\\+200"), (1e-200, "1e-200"), (1e20, "1e\\+20")):
        long = A.astype(np.float64)
        long[3] *= size
        with pytest.raises(InvalidInput, match=f"row 3 of the dictionary has length {said}"):
            lasso(long, Y)
        np.testing.assert_allclose(Dictionary([long]).scale[3] * size, 1, rtol=1e-6)


SCRIPT = """
import sys
import threading
from likewise_methods.blas_threads import blas_threads, one_blas_thread
seen = [blas_threads()]
entered, leave = threading.Event(), threading.Event()
def work():
    with one_blas_thread():
        entered.set()
        leave.wait()
first = threading.Thread(target=work)
first.start()
entered.wait()
with one_blas_thread():
    leave.set()
    first.join()
    seen.append(blas_threads())
seen.append(blas_threads())
# The other way round: who set it leaves first but stays alive.
entered.clear(), leave.clear()
second = threading.Thread(target=work)
with one_blas_thread():
    second.start()
    entered.wait()
seen.append(blas_threads())
leave.set()
second.join()
seen.append(blas_threads())
sys.stdout.write(repr(seen))
"""


def test_overlapping_calls_leave_the_blas_as_it_was() -> None:
    env = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "2",
        "OMP_NUM_THREADS": "2",
        "MKL_NUM_THREADS": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", "import numpy\n" + SCRIPT],
        env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("[1"):
        pytest.skip("this BLAS has one thread, or none that can be counted")
    assert done.stdout == "[2, 1, 2, 1, 2]"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": "x"}, "alpha is 'x'"),
        ({"tol": None}, "tol is None"),
        ({"expand": 1.5}, "expand is 1.5"),
        ({"expand": True}, "expand is True"),
        ({"batch": 0}, "batch is 0"),
        ({"batch": 2.0}, "batch is 2.0"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"n_jobs": -1}, "n_jobs is -1"),
        ({"max_rounds": 0}, "max_rounds is 0"),
        ({"certify": 1}, "certify is 1; True or False"),
        ({"nonnegative": "no"}, "nonnegative is 'no'"),
        ({"gamma": [0.1, 0.1, 0.1]}, r"gamma has shape \(3,\); one number, or 2"),
        ({"gamma": [[0.1], [0.1]]}, "gamma has shape"),
        ({"gamma": "x"}, "gamma is not made of numbers"),
        ({"gamma": np.nan}, "gamma is nan; a finite number above 0"),
        ({"start": sp.csr_array(np.full((2, 5), np.nan))}, "start holds NaN"),
        ({"start": np.full((2, 5), np.inf)}, "start holds NaN or infinity"),
        ({"start": np.ones((2, 4))}, "start has shape"),
        ({"start": "x"}, "start is not a matrix"),
    ],
)
def test_bad_settings(changes: dict[str, Any], message: str) -> None:
    A, Y = problem(5, 8, queries=2)
    with pytest.raises(InvalidInput, match=message):
        lasso(A, Y, **changes)
