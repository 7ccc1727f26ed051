"""Validate rows, queries, weights and ids for the kernels of the index."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from likewise_methods.errors import InvalidInput
from likewise_methods.index.layout import Array
from likewise_methods.kernels import kernel
from likewise_methods.sparse_rows import Rows, canonical_rows, without_zeros
from likewise_methods.validation import vector

_FLOAT32_MAX = float(np.finfo(np.float32).max)
MAX_WIDTH = 1 << 32


@kernel
def query_unit(values):  # type: ignore[no-untyped-def]
    """Return a power of two just above the largest magnitude of a query (1 if it is empty)."""
    peak = 0.0
    for value in values:
        peak = max(peak, abs(value))
    return math.ldexp(1.0, math.frexp(peak)[1]) if peak > 0 else 1.0


def _canonical(X: Any, name: str, dtype: Any) -> Rows:
    return canonical_rows(X, name, of="rows, words", most_columns=MAX_WIDTH, dtype=dtype)


def picture_rows(X: Any) -> Rows:
    """Return rows to store, as canonical float32 CSR arrays."""
    with np.errstate(over="ignore"):
        rows = _canonical(X, "X", np.float32)
    if not np.isfinite(rows.values).all():
        raise InvalidInput(f"X holds a value beyond {_FLOAT32_MAX:.3g}, the range of float32")
    return rows


def query_rows(Q: Any, weights: Any) -> Rows:
    """Return queries times weights, as canonical float64 CSR arrays without zeros."""
    rows = _canonical(Q, "Q", np.float64)
    if weights is not None:
        factor = weight_vector(weights, rows.width, rows.words)
        with np.errstate(over="ignore"):
            rows = without_zeros(rows._replace(values=rows.values * factor))
    if len(rows.values) and not np.abs(rows.values).max() <= _FLOAT32_MAX:
        raise InvalidInput(
            f"Q holds a weighted value beyond {_FLOAT32_MAX:.3g}, the range of float32; scale it"
        )
    return rows


def weight_vector(weights: Any, width: int, words: Array | None = None) -> Array:
    """Return the weights of these words, or of all; others are not checked."""
    found = vector(weights, "weights", width, "one per word")
    if words is not None:
        found = found[words]
    if not np.isfinite(found).all():
        raise InvalidInput("weights holds a value that is not finite; replace or drop it")
    return found.astype(np.float64, copy=False)


def id_vector(ids: Any, n: int | None) -> Array:
    """Return ids as int64; if ``n`` is given, check that there are n distinct ones."""
    found = np.asarray(ids)
    if found.ndim != 1 or (n is not None and len(found) != n):
        wanted = "a list" if n is None else f"({n},), one per row of X,"
        raise InvalidInput(f"ids has shape {found.shape}; {wanted} expected")
    if not len(found):
        return np.zeros(0, np.int64)
    if found.dtype.kind not in "ui":
        raise InvalidInput(f"ids has type {found.dtype}; integers expected")
    if found.min() < 0 or found.max() > np.iinfo(np.int64).max:
        raise InvalidInput("ids holds a value below 0 or beyond int64; use 0 to 2**63 - 1")
    found = found.astype(np.int64, copy=False)
    if n is not None:
        distinct, times = np.unique(found, return_counts=True)
        if len(distinct) < n:
            twice = distinct[times > 1][0]
            raise InvalidInput(f"ids holds {twice} more than once; every picture needs its own id")
    return found
