"""Read postings: add the bounds of a list or a column to int16 sums, or list its pictures.

The units of the sums are chosen so that nothing overflows (see ``scoring``).
"""

from __future__ import annotations

import numpy as np

from likewise_methods.index.layout import CODE_BITS, CODE_MASK, RARE_LENGTH
from likewise_methods.kernels import kernel

_BITS = np.uint64(CODE_BITS)
_MASK = np.uint64(CODE_MASK)


@kernel(inline="always")
def _rare_code(codes, n, i):  # type: ignore[no-untyped-def]
    """Return code i of a rare list of n postings."""
    return (np.uint64(codes[n + (i >> 2)]) >> (_BITS * np.uint64(i & 3))) & _MASK


@kernel
def add_list(codes, table, sums):  # type: ignore[no-untyped-def]
    """Add ``table[code]`` to the sum of every picture of a list; ``table[0]`` is 0."""
    if len(codes) <= RARE_LENGTH:
        n = 4 * len(codes) // 5
        for i in range(n):
            sums[codes[i]] += table[_rare_code(codes, n, i)]
        return
    last = np.uint64(0)
    for run in range(len(codes) >> 2):
        i = run << 2
        e0, e1 = np.uint64(codes[i]), np.uint64(codes[i + 1])
        e2, e3 = np.uint64(codes[i + 2]), np.uint64(codes[i + 3])
        d0 = last + (e0 >> _BITS)
        d1 = d0 + (e1 >> _BITS)
        d2 = d1 + (e2 >> _BITS)
        last = d2 + (e3 >> _BITS)
        sums[d0] += table[e0 & _MASK]
        sums[d1] += table[e1 & _MASK]
        sums[d2] += table[e2 & _MASK]
        sums[last] += table[e3 & _MASK]
    for i in range(len(codes) & ~3, len(codes)):
        entry = np.uint64(codes[i])
        last += entry >> _BITS
        sums[last] += table[entry & _MASK]


@kernel
def add_column(column, factor, sums):  # type: ignore[no-untyped-def]
    """Add ``factor * code`` to the sum of every picture, for a negative factor ``code - 1``.

    The plain loops over whole arrays compile to vector code.
    """
    half = len(column)
    low = sums[:half]
    high = sums[half : 2 * half]
    each = np.int16(factor)
    if each >= 0:
        for i in range(half):
            low[i] = np.int16(low[i] + np.int16(column[i] & np.uint8(CODE_MASK)) * each)
            high[i] = np.int16(high[i] + np.int16(column[i] >> np.uint8(CODE_BITS)) * each)
        return
    for i in range(half):
        first = column[i] & np.uint8(CODE_MASK)
        second = column[i] >> np.uint8(CODE_BITS)
        low[i] = np.int16(low[i] + np.int16(first - (first > 0)) * each)
        high[i] = np.int16(high[i] + np.int16(second - (second > 0)) * each)


@kernel
def add_columns(columns, which, factors, n, sums):  # type: ignore[no-untyped-def]
    """Add n columns with factors of 0 or more, four at a time: sums are loaded and stored once.

    As ``add_column`` otherwise.  A group that lacks columns has its last one again, times 0.
    """
    half = columns.shape[1]
    for j in range(0, n, 4):
        b, c, d = min(j + 1, n - 1), min(j + 2, n - 1), min(j + 3, n - 1)
        _add_four(
            columns[which[j]], columns[which[b]], columns[which[c]], columns[which[d]],
            factors[j], np.int16(factors[b] * (b > j)), np.int16(factors[c] * (c > b)),
            np.int16(factors[d] * (d > c)), sums[:half], sums[half : 2 * half],
        )  # fmt: skip


@kernel
def _add_four(a, b, c, d, fa, fb, fc, fd, low, high):  # type: ignore[no-untyped-def]
    for i in range(len(a)):
        low[i] = np.int16(
            low[i]
            + np.int16(np.int16(_first(a[i]) * fa) + np.int16(_first(b[i]) * fb))
            + np.int16(np.int16(_first(c[i]) * fc) + np.int16(_first(d[i]) * fd))
        )
        high[i] = np.int16(
            high[i]
            + np.int16(np.int16(_second(a[i]) * fa) + np.int16(_second(b[i]) * fb))
            + np.int16(np.int16(_second(c[i]) * fc) + np.int16(_second(d[i]) * fd))
        )


@kernel(inline="always")
def _first(byte):  # type: ignore[no-untyped-def]
    return np.int16(byte & np.uint8(CODE_MASK))


@kernel(inline="always")
def _second(byte):  # type: ignore[no-untyped-def]
    return np.int16(byte >> np.uint8(CODE_BITS))


@kernel
def pictures_of(codes, out):  # type: ignore[no-untyped-def]
    """Write the pictures of a list to ``out``; return their number."""
    if len(codes) <= RARE_LENGTH:
        n = 4 * len(codes) // 5
        out[:n] = codes[:n]
        return n
    n = 0
    d = np.int64(0)
    for i in range(len(codes)):
        d += np.int64(codes[i] >> CODE_BITS)
        if codes[i] & CODE_MASK:
            out[n] = d
            n += 1
    return n


@kernel
def count_living(v, dead, in_lists, in_columns):  # type: ignore[no-untyped-def]
    """Count the living pictures with each word of a list or a column."""
    pictures = np.empty(len(v.ids), np.int64)
    first = np.int64(0)
    for e in range(len(v.lengths)):
        length = np.int64(v.lengths[e]) + 1
        n = pictures_of(v.codes[first : first + length], pictures)
        first += length
        for i in range(n):
            in_lists[e] += not dead[pictures[i]]
    half = v.columns.shape[1]
    for c in range(len(v.columns)):
        for d in range(len(v.ids)):
            code = v.columns[c, d] & CODE_MASK if d < half else v.columns[c, d - half] >> CODE_BITS
            in_columns[c] += code > 0 and not dead[d]
