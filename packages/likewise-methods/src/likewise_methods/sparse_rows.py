"""Validate rows and convert them to canonical CSR arrays.

Canonical: no duplicate words, no stored zeros, words ascend within a row, every number is finite.
Kernels rely on it.  Canonical input is not copied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.kernels import kernel, prefer_numpy
from likewise_methods.lazy_imports import sparse as sp
from likewise_methods.validation import as_array

_UNSOUND, _INFINITE, _UNSORTED, _ZEROS, _PEAK = 1, 2, 4, 8, 16


class Rows(NamedTuple):
    """Canonical CSR arrays: words ascend within a row, no stored zeros, all values finite."""

    ends: NDArray[Any]  # int64 (rows + 1)
    words: NDArray[Any]  # uint32
    values: NDArray[Any]  # float32 or float64
    width: int


@kernel
def _inspect(ends, words, values, width, peak):  # type: ignore[no-untyped-def]
    """Return the faults of CSR arrays, as a sum of the flags above."""
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
            value = values[p]
            if not np.isfinite(value):
                found |= _INFINITE
            elif abs(value) > peak:
                found |= _PEAK
            if value == 0:
                found |= _ZEROS
    return found


def _inspect_numpy(
    ends: NDArray[Any], words: NDArray[Any], values: NDArray[Any], width: int, peak: float
) -> int:
    """Return what :func:`_inspect` does, in NumPy."""
    sizes = np.diff(ends)
    last = int(ends[-1])
    if ends[0] != 0 or not 0 <= last <= min(len(words), len(values)) or (sizes < 0).any():
        return _UNSOUND
    words, values = words[:last].astype(np.int64), values[:last]
    if last and not 0 <= int(words.min()) <= int(words.max()) < width:
        return _UNSOUND
    found = 0
    row = np.repeat(np.arange(len(sizes)), sizes)
    if ((words[1:] <= words[:-1]) & (row[1:] == row[:-1])).any():
        found |= _UNSORTED
    finite = np.isfinite(values)
    if not finite.all():
        found |= _INFINITE
    # In float64, since a peak may be beyond float32.
    if float(np.abs(values[finite]).max(initial=0)) > peak:
        found |= _PEAK
    return found | (_ZEROS if (values == 0).any() else 0)


def canonical_rows(
    X: Any,
    name: str,
    *,
    of: str,
    most_columns: int,
    least_columns: int = 0,
    dtype: Any = None,
    peak: float = np.inf,
) -> Rows:
    """Return X (dense, sparse or :class:`Rows`) as canonical CSR arrays of ``dtype``.

    Without a ``dtype`` float32 stays float32 and the rest becomes float64.  ``of`` says what the
    dimensions are; no magnitude may exceed ``peak``.  A value beyond ``dtype`` becomes infinite,
    which the caller must check.
    """
    if isinstance(X, Rows):
        ends, words, values, width = X
        n = len(ends) - 1
    else:
        csr = _as_csr(X, name, of)
        n, width = map(int, csr.shape)
        ends, words, values = csr.indptr, csr.indices, csr.data
    if not least_columns <= width <= most_columns:
        raise InvalidInput(
            f"{name} has {width} columns; {least_columns} to {most_columns} expected"
        )
    if not (ends.dtype.isnative and words.dtype.isnative):
        ends, words = ends.astype(np.int64), words.astype(np.int64)
    inspect = _inspect_numpy if prefer_numpy(len(values)) else _inspect
    faults = inspect(ends, words, values, width, peak)
    if faults & _UNSOUND or len(ends) != n + 1:
        raise InvalidInput(f"{name} is not a sound CSR matrix: its indices are out of range")
    if faults & _INFINITE:
        raise InvalidInput(f"{name} holds a value that is not finite; replace or drop it")
    kind = values.dtype if dtype is None else np.dtype(dtype)
    if faults & _UNSORTED:
        copy = (values.astype(np.float64), words.copy(), ends.copy())
        csr = sp.csr_array(copy, shape=(n, width))
        csr.sum_duplicates()
        ends, words, values = csr.indptr, csr.indices, csr.data
        faults |= _ZEROS
        if np.abs(values).max(initial=0) > peak:
            faults |= _PEAK
    if faults & _PEAK:
        raise InvalidInput(f"{name} holds a value beyond {peak:.0e}; scale it")
    if values.dtype.itemsize > kind.itemsize:
        faults |= _ZEROS  # rounding can give zeros
    if len(words) != ends[-1] or len(values) != ends[-1]:
        values, words = values[: ends[-1]], words[: ends[-1]]
    values, words = np.ascontiguousarray(values, kind), np.ascontiguousarray(words)
    # Not negative, as inspected: the sign can be dropped without a copy.
    words = words.view(np.uint32) if words.dtype == np.int32 else words.astype(np.uint32)
    rows = Rows(np.ascontiguousarray(ends, np.int64), words, values, width)
    return without_zeros(rows) if faults & _ZEROS else rows


def without_zeros(rows: Rows) -> Rows:
    """Remove stored zeros."""
    kept = rows.values != 0
    if kept.all():
        return rows
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.ends]
    return Rows(ends, rows.words[kept], rows.values[kept], rows.width)


def _as_csr(X: Any, name: str, of: str) -> Any:
    """Return X as a CSR matrix of native real numbers, not checked further."""
    sparse = sp.issparse(X)
    if not sparse:
        X = as_array(X, name)
    if X.ndim != 2:
        raise InvalidInput(f"{name} has {X.ndim} dimensions; 2 expected ({of})")
    if X.dtype.kind not in "buif":
        raise InvalidInput(f"{name} has type {X.dtype}; real numbers expected")
    if X.dtype.kind != "f" or X.dtype.itemsize not in (4, 8):
        X = X.astype(np.float64)
    elif not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    if not sparse:
        return sp.csr_array(X)
    return X if X.format == "csr" else X.tocsr()
