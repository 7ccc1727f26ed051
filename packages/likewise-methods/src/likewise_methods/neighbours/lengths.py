"""Rows of unit length, the same bits on every machine and in every memory layout."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel, prefer_numpy
from likewise_methods.neighbours.few import shorten


@kernel
def _shorten(rows):  # type: ignore[no-untyped-def]
    """Divide each row by its length, in place.

    Squares of float32 numbers are exact in float64: fused or not, the bits are the same.  Four
    sums side by side, since each addition waits for the one before it.
    """
    n = rows.shape[1]
    for i in range(len(rows)):
        row = rows[i]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for run in range(n >> 2):
            j = run << 2
            a += np.float64(row[j]) * np.float64(row[j])
            b += np.float64(row[j + 1]) * np.float64(row[j + 1])
            c += np.float64(row[j + 2]) * np.float64(row[j + 2])
            d += np.float64(row[j + 3]) * np.float64(row[j + 3])
        for j in range(n & ~3, n):
            a += np.float64(row[j]) * np.float64(row[j])
        length = np.sqrt((a + b) + (c + d))
        if length > 0:
            for j in range(n):
                row[j] = np.float32(np.float64(row[j]) / length)


def unit_length(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """A copy of some rows, each divided by its length; rows of zeros stay as they are.

    >>> unit_length(np.array([[3, 4], [0, 0]], np.float32)).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    made: NDArray[np.float32] = np.array(rows, np.float32, order="C")
    if prefer_numpy(made.size):
        shorten(made)
    else:
        _shorten(made)
    return made
