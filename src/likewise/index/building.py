"""From rows to a block: transpose, quantise, and the norms that let a search skip frequent words.

Rows arrive as checked CSR arrays (see ``rows``).  The lists of a block are filled picture by
picture, so within a list picture numbers ascend.
"""

from __future__ import annotations

import numpy as np

from likewise._kernels import kernel
from likewise.index.hashing import xxh64
from likewise.index.layout import (
    GROUP_SHIFT,
    HEADER_BYTES,
    Array,
    Sizes,
    pack_header,
    places,
)

# Nested classes of frequent words: class c holds the most frequent words that together account
# for this share of sum(count^2), the expected work of a query that looks like the pictures.
_SHARES = np.array([0.15, 0.3, 0.45, 0.6, 0.75, 0.9])
# Below this many pictures a scan is so cheap that pruning cannot pay.
_PRUNABLE_PICTURES = 2048
# Words per directory bucket, on average.
_BUCKET_WORDS = 32
# Above this many words the vocabulary is ranked by sorting rather than by a table.
_DENSE_WORDS = 1 << 24


@kernel
def pack_rows(ends, words, values, rows, row_values):  # type: ignore[no-untyped-def]
    """Write each row as its words followed by its values (two views of one array)."""
    for d in range(len(ends) - 1):
        first = ends[d]
        n = ends[d + 1] - first
        for i in range(n):
            rows[2 * first + i] = words[first + i]
            row_values[2 * first + n + i] = values[first + i]


@kernel
def unpack_rows(ends, rows, row_values, dead, words, values, lengths):  # type: ignore[no-untyped-def]
    """The opposite, without the dead rows."""
    at = 0
    kept = 0
    for d in range(len(ends) - 1):
        if dead[d]:
            continue
        first = ends[d]
        n = ends[d + 1] - first
        for i in range(n):
            words[at + i] = rows[2 * first + i]
            values[at + i] = row_values[2 * first + n + i]
        lengths[kept] = n
        kept += 1
        at += n


@kernel
def _sum_groups(ends, rows, sums):  # type: ignore[no-untyped-def]
    n = len(ends) - 1
    for g in range(len(sums)):
        last = min((g + 1) << GROUP_SHIFT, n)
        sums[g] = xxh64(rows, 2 * ends[g << GROUP_SHIFT], 2 * ends[last])


@kernel
def _count(ranks, values, count, largest):  # type: ignore[no-untyped-def]
    """Postings and largest magnitude of every rank; True where some value is negative."""
    negative = False
    for p in range(len(ranks)):
        r = ranks[p]
        v = values[p]
        count[r] += 1
        negative |= v < 0
        largest[r] = max(largest[r], abs(v))
    return negative


@kernel
def _fill_exact(ends, ranks, values, slot, begin, list_ids, impacts):  # type: ignore[no-untyped-def]
    at = begin.copy()
    for d in range(len(ends) - 1):
        for p in range(ends[d], ends[d + 1]):
            e = slot[ranks[p]]
            if e >= 0:
                list_ids[at[e]] = d
                impacts[at[e]] = values[p]
                at[e] += 1


@kernel
def _fill_codes(ends, ranks, values, slot, begin, step, zero, list_ids, impacts):  # type: ignore[no-untyped-def]
    at = begin.copy()
    for d in range(len(ends) - 1):
        for p in range(ends[d], ends[d + 1]):
            e = slot[ranks[p]]
            if e >= 0:
                code = np.rint(np.float64(values[p]) / step[e]) + zero
                list_ids[at[e]] = d
                impacts[at[e]] = min(max(code, 0.0), 255.0)
                at[e] += 1


@kernel
def _class_norms(ends, ranks, values, slot, level, squares):  # type: ignore[no-untyped-def]
    """Per row the sum of squares of each class (not yet nested); the last class is the rest."""
    for d in range(len(ends) - 1):
        for p in range(ends[d], ends[d + 1]):
            e = slot[ranks[p]]
            if e >= 0:
                v = np.float64(values[p])
                squares[level[e], d] += v * v


def _rank_words(words: Array, width: int) -> tuple[Array, Array]:
    """The distinct words (or simply all), and for each entry the rank of its word among them."""
    if width <= _DENSE_WORDS:
        return np.arange(width, dtype=np.uint32), words
    distinct = np.unique(words)
    return distinct, np.searchsorted(distinct, words).astype(np.uint32)


def _choose_cuts(count: Array, pictures: int) -> Array:
    if pictures < _PRUNABLE_PICTURES or not len(count):
        return np.zeros(0, np.int64)
    falling = np.sort(count)[::-1].astype(np.float64)
    work = np.cumsum(falling * falling)
    last = np.minimum(np.searchsorted(work, _SHARES * work[-1]), len(count) - 1)
    return np.unique(falling[last].astype(np.int64))[::-1]


def _round_up_norms(squares: Array) -> tuple[Array, Array]:
    """Nested norms as uint8 multiples of a step, never below the truth."""
    norms = np.sqrt(np.cumsum(squares, axis=0)) * (1 + 1e-9)
    steps = np.maximum(norms.max(axis=1, initial=0.0), 1e-300) / 254.0
    return np.ceil(norms / steps[:, None]).astype(np.uint8), steps


def _choose_scales(largest: Array, top: int) -> tuple[float, Array]:
    """The coarsest step ``base``; a word's own is ``base * 2**(-scale / 8)``, codes reach top."""
    peaks = largest.astype(np.float64)
    highest = max(float(peaks.max(initial=0.0)), 1e-37)
    base = highest / top
    scale = np.clip(np.floor(8 * np.log2(highest / peaks)), 0, 255)
    # Where log2 rounded the wrong way a code would be clipped: one step coarser there.
    clipped = base * np.exp2(scale / -8.0) * (top + 0.49) < peaks
    return base, (scale - (clipped & (scale > 0))).astype(np.uint8)


def build_block(
    ids: Array, ends: Array, words: Array, values: Array, width: int, quantised: bool,
    drop: Array | None,
) -> tuple[Sizes, int, Array]:  # fmt: skip
    """The block of these rows: its sizes, its checksum and its bytes.

    ``drop`` is a boolean array over words; their lists are left out (they stay in the rows).
    """
    n = len(ids)
    vocabulary, ranks = _rank_words(words, width)
    count = np.zeros(len(vocabulary), np.int64)
    largest = np.zeros(len(vocabulary), np.float32)
    negative = bool(_count(ranks, values, count, largest))
    present = count > 0
    dropped = np.zeros(0, np.uint32)
    if drop is not None:
        inside = vocabulary < len(drop)
        gone = np.zeros(len(vocabulary), bool)
        gone[inside] = drop[vocabulary[inside]]
        dropped = vocabulary[present & gone]
        present &= ~gone
    slot = np.where(present, np.cumsum(present) - 1, -1)
    listed, count, largest = vocabulary[present], count[present], largest[present]
    begin = np.concatenate([[0], np.cumsum(count)])

    cuts = _choose_cuts(count, n)
    level = np.searchsorted(-cuts, -count, side="left")
    squares = np.zeros((len(cuts) + 1, n))
    _class_norms(ends, ranks, values, slot, level, squares)
    norms, norm_steps = _round_up_norms(squares[: len(cuts)])
    largest_norm = float(np.sqrt(squares.sum(axis=0).max(initial=0.0)))

    zero = 128 if negative and quantised else 0
    base, scale = _choose_scales(largest, 127 if zero else 255) if quantised else (0.0, None)

    shift = int(
        np.clip(np.floor(np.log2(max(width, 1) * _BUCKET_WORDS / max(len(listed), 1))), 0, 16)
    )
    s = Sizes(
        int(quantised), n, width, len(words), len(listed), int(begin[-1]),
        shift, len(cuts), len(dropped), zero, base, largest_norm,
    )  # fmt: skip
    where, rows_at, total = places(s)
    buffer = np.zeros(total, np.uint8)

    def section(name: str, kind: str | None = None) -> Array:
        at, stored, length = where[name]
        return buffer[at : at + length * np.dtype(stored).itemsize].view(kind or stored)

    first = np.searchsorted(listed, np.arange(s.buckets + 1, dtype=np.int64) << shift)
    section("ids")[:] = ids
    section("row_ends")[:] = ends
    section("buckets").reshape(-1, 2)[:] = np.column_stack([first, begin[first]])
    section("low8" if shift <= 8 else "low16")[:] = listed & np.uint32((1 << shift) - 1)
    section("counts")[:] = count - 1
    section("cuts")[:] = cuts
    section("norm_steps")[:] = norm_steps
    section("norms")[:] = norms.ravel()
    section("dropped")[:] = dropped
    if scale is not None:
        section("scale")[:] = scale
        step = base * np.exp2(scale / -8.0)
        pictures, impacts = section("list_ids"), section("impacts")
        _fill_codes(ends, ranks, values, slot, begin[:-1], step, zero, pictures, impacts)
    else:
        pictures, impacts = section("list_ids"), section("impacts")
        _fill_exact(ends, ranks, values, slot, begin[:-1], pictures, impacts)
    pack_rows(ends, words, values, section("rows"), section("rows", "<f4"))
    _sum_groups(ends, section("rows"), section("row_sums"))
    checksum = int(xxh64(buffer.view("<u4"), HEADER_BYTES // 4, rows_at // 4))
    buffer[:HEADER_BYTES] = np.frombuffer(pack_header(s, checksum), np.uint8)
    buffer.flags.writeable = False
    return s, checksum, buffer
