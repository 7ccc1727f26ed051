"""Short rows with the inner products of long ones, to train linear machines on.

A linear SVM depends only on the products of its rows.  A Cholesky factor has the same products and
as many columns as there are rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

Doubles = NDArray[np.float64]

# Added to the diagonal, relative to its mean, since equal rows give a singular matrix.
_JITTER = 1e-6
_COLUMNS_AT_ONCE = 8_192


def products(rows: Any, dtype: type[np.floating[Any]] = np.float64) -> Doubles:
    """Return all inner products of rows, dense or CSR, in the way with fewer operations.

    ``dtype`` is the type of the multiplications; sums are float64.

    >>> products(np.array([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [[5.0, 6.0], [6.0, 9.0]]
    """
    if not hasattr(rows, "tocsr"):
        whole = np.asarray(rows, dtype)
        return np.asarray(whole @ whole.T, np.float64)
    rows = sparse.csr_array(rows)
    n, width = rows.shape
    by_column = np.bincount(rows.indices, minlength=width).astype(np.float64)
    # A step of the sparse product costs about as much as forty of the dense one.
    if 40 * (by_column**2).sum() < float(n) * n * width:
        own = rows.astype(dtype)
        return np.asarray((own @ own.T).toarray(), np.float64)
    total = np.zeros((n, n))
    columns = sparse.csc_array(rows)
    for a in range(0, width, _COLUMNS_AT_ONCE):
        part = columns[:, a : a + _COLUMNS_AT_ONCE].toarray().astype(dtype)
        total += part @ part.T
    return total


def factor(kernel: Doubles) -> Doubles:
    """Return rows (lower triangular) with the products in ``kernel``."""
    jitter = _JITTER * max(float(np.mean(np.diag(kernel))), np.finfo(float).tiny)
    return np.asarray(cholesky(kernel + jitter * np.eye(len(kernel)), lower=True), np.float64)


def brought_back(rows: Any, short: Doubles, weights: Doubles) -> Doubles:
    """Return weights for the long rows from weights learned on their ``factor``.

    The weights are a combination a of the rows, w = L'a; for the long rows they are X'a.
    """
    shares = solve_triangular(short.T, weights.T, lower=False)
    return np.asarray((rows.T @ shares).T, np.float64)
