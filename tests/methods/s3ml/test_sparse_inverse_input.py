"""What sparse inverse covariance refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance

NAN = np.array([[1.0, np.nan], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("S", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\); a square matrix"),
        (np.ones(4), r"shape \(4,\); a square matrix"),
        (np.zeros((0, 0)), "no rows"),
        ([["a", "b"], ["c", "d"]], "a matrix of real numbers expected"),
        (np.eye(2) * 1j, "a matrix of real numbers expected"),
        (NAN, r"S\[0, 1\] is not finite"),
        (np.diag([1.0, np.inf]), r"S\[1, 1\] is not finite"),
        (sp.csr_array(NAN), r"S\[0, 1\] is not finite"),
        ([[1.0, 0.5], [0.4, 1.0]], "not symmetric: .* up to 0.1"),
        (sp.csr_array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric: .* up to 0.5"),
    ],
)
def test_matrices_that_are_none(S: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sparse_inverse_covariance(S, 0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1": -0.1}, "l1 is -0.1"),
        ({"l1": np.nan}, "l1 is nan"),
        ({"l1": np.inf}, "l1 is inf"),
        ({"l1": "much"}, "l1 is 'much'"),
        ({"tol": 0.0}, "tol is 0.0"),
        ({"method": "glasso"}, "method is 'glasso'; one of 'auto', 'alm', 'newton'"),
        ({"smoothing": -1.0}, "smoothing is -1.0"),
        ({"smoothing": 0.1, "method": "newton"}, 'smoothing is for method "alm"'),
        ({"penalise_diagonal": "no"}, "penalise_diagonal is 'no'"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"start": np.eye(3)}, r"start has shape \(3, 3\); \(2, 2\) expected"),
        ({"start": NAN}, "start holds NaN"),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sparse_inverse_covariance(np.eye(2), **({"l1": 0.1} | options))


def test_what_lies_beyond_float64_is_said() -> None:
    with pytest.raises(InvalidInput, match="an inverse is beyond float64; multiply S and l1"):
        sparse_inverse_covariance(1e-320 * np.eye(3), 0.0)
    S = np.cov(np.random.default_rng(0).standard_normal((6, 40)))
    with pytest.raises(InvalidInput, match="too far from 1 for smoothing; multiply S and l1"):
        sparse_inverse_covariance(1e-200 * S, 1e-202, smoothing=0.1)
    # That there is no minimum is reported in the units in which it was found.
    S[0, 1] = S[1, 0] = 5.0
    S[0, 2] = S[2, 0] = 0.5
    with pytest.raises(InvalidInput, match=r"no minimum exists.*S and l1 as divided by"):
        sparse_inverse_covariance(1e-200 * S, 1e-202)


def test_rounding_of_float32_is_forgiven() -> None:
    """Nearly symmetric is symmetric; the answer is so to the bit."""
    rng = np.random.default_rng(0)
    S = np.cov(rng.standard_normal((6, 40))).astype(np.float32)
    S[0, 1] *= 1 + 1e-6
    found = sparse_inverse_covariance(S, 0.05, tol=1e-8)
    np.testing.assert_array_equal(found.precision, found.precision.T)


def test_input_is_left_alone() -> None:
    rng = np.random.default_rng(0)
    S = np.cov(rng.standard_normal((6, 40)))
    start = np.eye(6)
    kept = S.copy()
    for method in ("auto", "alm", "newton"):
        sparse_inverse_covariance(S, 0.05, method=method, start=start)
    np.testing.assert_array_equal(S, kept)
    np.testing.assert_array_equal(start, np.eye(6))


def test_one_variable() -> None:
    assert sparse_inverse_covariance([[2.0]], 0.5).precision.tolist() == [[0.4]]
    assert sparse_inverse_covariance([[2.0]], 0.5, False).precision.tolist() == [[0.5]]
