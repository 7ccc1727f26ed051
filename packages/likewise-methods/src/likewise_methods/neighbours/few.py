"""Few rows without a kernel, to the bits of one.

The first kernel of a process costs a second of processor time, for numba's import and the tables it
fills.  A command that asks one question of a small collection is done before that.  The kernels of
``scores`` and ``lengths`` define the order of their sums; here NumPy adds in the same order, all
rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def inner_products(rows: NDArray[np.float32], query: Floats) -> Floats:
    """As the kernel of ``scores``: a product of two float32 numbers is exact in float64."""
    return _sums(len(rows), len(query), lambda some: rows[:, some] * query[some])


def minus_distances(rows: NDArray[np.float32], query: Floats) -> Floats:
    """As the kernel of ``scores``."""

    def terms(some: slice) -> Floats:
        apart: Floats = rows[:, some] - query[some]
        return apart * apart

    return -np.sqrt(_sums(len(rows), len(query), terms))


def shorten(rows: NDArray[np.float32]) -> None:
    """As the kernel of ``lengths``, in place."""

    def terms(some: slice) -> Floats:
        wide = rows[:, some].astype(np.float64)
        return wide * wide

    length = np.sqrt(_sums(len(rows), rows.shape[1], terms))
    length[~(length > 0)] = 1
    rows[:] = rows / length[:, None]


def _sums(n_rows: int, width: int, terms: Callable[[slice], Floats]) -> Floats:
    """Four sums side by side over the columns, what is left over added to the first."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.zeros((n_rows, 4))
        for first in range(0, width & ~3, 4):
            sums += terms(slice(first, first + 4))
        for left in range(width & ~3, width):
            sums[:, :1] += terms(slice(left, left + 1))
        total: Floats = (sums[:, 0] + sums[:, 1]) + (sums[:, 2] + sums[:, 3])
        return total
