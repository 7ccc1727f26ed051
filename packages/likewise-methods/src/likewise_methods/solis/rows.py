"""Validate rows, triplets and weights for the kernels of this package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.sparse_rows import Rows, canonical_rows
from likewise_methods.validation import as_array, vector

Triplets = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_WIDTH = 1 << 31
# Keeps z and its square far from the range of float64.
PEAK = 1e50


def as_rows(X: Any, width: int | None = None, name: str = "X") -> Rows:
    """Return X as canonical CSR arrays, float32 or float64; check the number of columns."""
    rows = canonical_rows(
        X, name, of="pictures, words", least_columns=1, most_columns=MAX_WIDTH - 1, peak=PEAK
    )
    if width is not None and rows.width != width:
        raise InvalidInput(f"{name} has {rows.width} columns; {width} expected, one per word")
    return rows


def as_triplets(triplets: Any, n_rows: int) -> Triplets:
    """Return triplets as an int64 array (n, 3) of rows of X; n is at least 1."""
    found = as_array(triplets, "triplets")
    if found.ndim != 2 or (found.shape[1] != 3 and found.size):
        seen = f"{found.shape[1]} columns" if found.ndim == 2 else f"shape {found.shape}"
        raise InvalidInput(f"triplets has {seen}; 3 columns expected (anchor, nearer, farther)")
    if not found.size:
        raise InvalidInput("triplets is empty; at least one (anchor, nearer, farther) expected")
    if found.dtype.kind not in "iu":
        raise InvalidInput(f"triplets has type {found.dtype}; integers expected, rows of X")
    low, high = int(found.min()), int(found.max())
    if low < 0 or high >= n_rows:
        raise InvalidInput(
            f"triplets names row {low if low < 0 else high}; X has rows 0 to {n_rows - 1}"
        )
    return np.ascontiguousarray(found, np.int64)


def as_sample_weight(sample_weight: Any, n: int) -> Floats:
    """Return one finite weight of 0 or more per triplet; an empty array for None."""
    if sample_weight is None:
        return np.zeros(0)
    return costs(sample_weight, "sample_weight", n, "one per triplet")


def costs(value: Any, name: str, n: int, of: str) -> Floats:
    """Return n finite numbers of 0 or more."""
    found = np.ascontiguousarray(vector(value, name, n, of), np.float64)
    # NaN fails both comparisons.
    if not ((found >= 0).all() and (found <= PEAK).all()):
        raise InvalidInput(f"{name} holds a value outside 0 to {PEAK:.0e}; replace or drop it")
    return found
