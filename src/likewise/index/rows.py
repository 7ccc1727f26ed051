"""The door for vectors: whatever a caller brings becomes checked CSR arrays, or an InvalidInput.

Duplicates are summed, explicit zeros leave, words ascend within a row, every number is finite.
Kernels trust what comes out of here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from likewise._kernels import kernel
from likewise.errors import InvalidInput
from likewise.index.layout import Array

_FLOAT32_MAX = float(np.finfo(np.float32).max)
MAX_WIDTH = 1 << 32
_UNSOUND, _INFINITE, _UNSORTED, _ZEROS = 1, 2, 4, 8


class Rows(NamedTuple):
    """Canonical CSR arrays."""

    ends: Array  # int64 (rows + 1)
    words: Array  # uint32
    values: Array  # float32 for pictures, float64 for queries
    width: int


@kernel
def _inspect(ends, words, values, width):  # type: ignore[no-untyped-def]
    """What is wrong with CSR arrays: _UNSOUND, _INFINITE, _UNSORTED, _ZEROS, added up.

    One pass without temporary arrays: a query costs a microsecond, a million pictures no memory.
    """
    if ends[0] != 0 or ends[-1] > len(words) or ends[-1] > len(values):
        return _UNSOUND
    found = 0
    for d in range(len(ends) - 1):
        if ends[d + 1] < ends[d] or ends[d + 1] > len(words):
            return _UNSOUND
        before = np.int64(-1)
        for p in range(ends[d], ends[d + 1]):
            word = np.int64(words[p])
            if word < 0 or word >= width:
                return _UNSOUND
            if word <= before:
                found |= _UNSORTED
            before = word
            if not np.isfinite(values[p]):
                found |= _INFINITE
            if values[p] == 0:
                found |= _ZEROS
    return found


@kernel
def query_units(ends, values):  # type: ignore[no-untyped-def]
    """Per query a power of two just above its largest magnitude (1 for an empty query)."""
    units = np.ones(len(ends) - 1)
    for q in range(len(units)):
        peak = 0.0
        for p in range(ends[q], ends[q + 1]):
            peak = max(peak, abs(values[p]))
        if peak > 0:
            units[q] = math.ldexp(1.0, math.frexp(peak)[1])
    return units


def _as_csr(X: Any, name: str) -> Any:
    """X as a CSR matrix of real numbers; nothing is known of its content yet."""
    sparse = sp.issparse(X)
    if not sparse:
        X = np.asarray(X)
    if X.ndim != 2:
        raise InvalidInput(f"{name} has {X.ndim} dimensions; 2 expected (rows, words)")
    if X.dtype.kind not in "buif":
        raise InvalidInput(f"{name} has type {X.dtype}; real numbers expected")
    if X.shape[1] > MAX_WIDTH:
        raise InvalidInput(f"{name} has {X.shape[1]} columns; at most {MAX_WIDTH} words")
    if X.dtype.kind != "f" or X.dtype.itemsize not in (4, 8):
        X = X.astype(np.float64)
    elif not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    if not sparse:
        return sp.csr_array(X)
    return X if X.format == "csr" else X.tocsr()


def _canonical_rows(X: Any, name: str, kind: Any) -> Rows:
    csr = _as_csr(X, name)
    ends, words, values, width = csr.indptr, csr.indices, csr.data, csr.shape[1]
    if not (ends.dtype.isnative and words.dtype.isnative):
        ends, words = ends.astype(np.int64), words.astype(np.int64)
    faults = _inspect(ends, words, values, width)
    if faults & _UNSOUND or len(ends) != csr.shape[0] + 1:
        raise InvalidInput(f"{name} is not a sound CSR matrix: its indices are out of range")
    if faults & _INFINITE:
        raise InvalidInput(f"{name} holds a value that is not finite; replace or drop it")
    if faults & _UNSORTED:
        copy = (values.astype(np.float64), words.copy(), ends.copy())
        csr = sp.csr_array(copy, shape=csr.shape)
        csr.sum_duplicates()
        ends, words, values = csr.indptr, csr.indices, csr.data
        faults |= _ZEROS
    values = values[: ends[-1]].astype(kind, copy=False)
    words = words[: ends[-1]]
    # Not negative, as inspected: no copy is needed to drop the sign.
    words = words.view(np.uint32) if words.dtype == np.int32 else words.astype(np.uint32)
    rows = Rows(ends.astype(np.int64, copy=False), words, values, width)
    # Rounding to float32 makes zeros of its own.
    return _without_zeros(rows) if faults & _ZEROS or kind == np.float32 else rows


def _without_zeros(rows: Rows) -> Rows:
    kept = rows.values != 0
    if kept.all():
        return rows
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.ends]
    return Rows(ends, rows.words[kept], rows.values[kept], rows.width)


def picture_rows(X: Any) -> Rows:
    """Vectors to be stored, as float32."""
    with np.errstate(over="ignore"):
        rows = _canonical_rows(X, "X", np.float32)
    if not np.isfinite(rows.values).all():
        raise InvalidInput(f"X holds a value beyond {_FLOAT32_MAX:.3g}, the range of float32")
    return rows


def query_rows(Q: Any, weights: Any) -> Rows:
    """Queries with the weights folded in, as float64; words of weight zero are gone."""
    rows = _canonical_rows(Q, "Q", np.float64)
    if weights is not None:
        factor = weight_vector(weights, rows.width, rows.words)
        with np.errstate(over="ignore"):
            rows = _without_zeros(rows._replace(values=rows.values * factor))
    if len(rows.values) and not np.abs(rows.values).max() <= _FLOAT32_MAX:
        raise InvalidInput(
            f"Q holds a weighted value beyond {_FLOAT32_MAX:.3g}, the range of float32; scale it"
        )
    return rows


def weight_vector(weights: Any, width: int, words: Array | None = None) -> Array:
    """The weights of these words (of all by default); what is not asked for is not looked at."""
    vector = np.asarray(weights)
    if vector.ndim != 1 or len(vector) != width:
        raise InvalidInput(f"weights has shape {vector.shape}; ({width},) expected, one per word")
    if vector.dtype.kind not in "buif":
        raise InvalidInput(f"weights has type {vector.dtype}; real numbers expected")
    if words is not None:
        vector = vector[words]
    if not np.isfinite(vector).all():
        raise InvalidInput("weights holds a value that is not finite; replace or drop it")
    return vector.astype(np.float64, copy=False)


def id_vector(ids: Any, n: int | None) -> Array:
    """Picture ids as int64; ``n`` of them, all different, where n is given."""
    vector = np.asarray(ids)
    if vector.ndim != 1 or (n is not None and len(vector) != n):
        wanted = "a list" if n is None else f"({n},), one per row of X,"
        raise InvalidInput(f"ids has shape {vector.shape}; {wanted} expected")
    if not len(vector):
        return np.zeros(0, np.int64)
    if vector.dtype.kind not in "ui":
        raise InvalidInput(f"ids has type {vector.dtype}; integers expected")
    if vector.min() < 0 or vector.max() > np.iinfo(np.int64).max:
        raise InvalidInput("ids holds a value below 0 or beyond int64; use 0 to 2**63 - 1")
    vector = vector.astype(np.int64, copy=False)
    if n is not None:
        distinct, times = np.unique(vector, return_counts=True)
        if len(distinct) < n:
            twice = distinct[times > 1][0]
            raise InvalidInput(f"ids holds {twice} more than once; every picture needs its own id")
    return vector
