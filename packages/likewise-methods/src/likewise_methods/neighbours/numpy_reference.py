"""The kernels of ``scores`` in NumPy, equal to the bit.

The readable definition of those kernels, and the faster way for few rows in a process that has not
loaded numba.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def inner_products(rows: NDArray[np.float32], query: Floats) -> Floats:
    """Return the inner product of each row with a query."""
    return _sums(len(rows), len(query), lambda some: rows[:, some] * query[some])


def minus_distances(rows: NDArray[np.float32], query: Floats) -> Floats:
    """Return minus the Euclidean distance of each row to a query."""

    def terms(some: slice) -> Floats:
        apart: Floats = rows[:, some] - query[some]
        return apart * apart

    return -np.sqrt(_sums(len(rows), len(query), terms))


def shorten(rows: NDArray[np.float32]) -> None:
    """Divide each row by its length, in place."""

    def terms(some: slice) -> Floats:
        wide = rows[:, some].astype(np.float64)
        return wide * wide

    length = np.sqrt(_sums(len(rows), rows.shape[1], terms))
    length[~(length > 0)] = 1
    rows[:] = rows / length[:, None]


def _sums(n_rows: int, width: int, terms: Callable[[slice], Floats]) -> Floats:
    """Add the columns in four parallel sums; the remaining columns go to the first."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.zeros((n_rows, 4))
        for first in range(0, width & ~3, 4):
            sums += terms(slice(first, first + 4))
        for left in range(width & ~3, width):
            sums[:, :1] += terms(slice(left, left + 1))
        total: Floats = (sums[:, 0] + sums[:, 1]) + (sums[:, 2] + sums[:, 3])
        return total
