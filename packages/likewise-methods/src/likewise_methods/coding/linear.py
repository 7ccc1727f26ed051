"""Linear machines on long rows: their inner products, and short rows with the same products.

A linear SVM only sees the products of its rows.  A Cholesky factor of those has rows with the same
products and only as many columns as there are rows, so that training costs no more for a million
columns than for a thousand; the weights are brought back by one product at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

Doubles = NDArray[np.float64]

# Added to the diagonal, relative to its mean: rows that are equal would leave no factor.
_JITTER = 1e-6
_COLUMNS_AT_ONCE = 8_192


def products(rows: Any, dtype: type[np.floating[Any]] = np.float64) -> Doubles:
    """All inner products of rows, dense or CSR: whichever way takes fewer operations.

    ``dtype`` is that of the multiplications; the sums are float64.

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
    """Rows (lower triangular) whose products are those of the kernel."""
    jitter = _JITTER * max(float(np.mean(np.diag(kernel))), np.finfo(float).tiny)
    return np.asarray(cholesky(kernel + jitter * np.eye(len(kernel)), lower=True), np.float64)


def brought_back(rows: Any, short: Doubles, weights: Doubles) -> Doubles:
    """Weights (machines, columns) for the long rows, of weights learned on their ``factor``.

    The machine's weights are a combination a of its rows, w = L'a; for the long rows it is X'a.
    """
    shares = solve_triangular(short.T, weights.T, lower=False)
    return np.asarray((rows.T @ shares).T, np.float64)
