"""Build a block from validated CSR rows: transpose, and encode the postings of every word."""

from __future__ import annotations

import numpy as np

from likewise_methods.index.hashing import xxh64
from likewise_methods.index.layout import (
    CODE_BITS,
    CODE_MASK,
    FARTHEST,
    GROUP_SHIFT,
    HEADER_BYTES,
    RARE_LENGTH,
    Array,
    Sizes,
    pack_header,
    places,
)
from likewise_methods.kernels import kernel

# A word has a column if at least one picture in so many has it.  With 16 a search would be a few
# percent faster, and a posting 5 to 9 % larger.
_COLUMN_SHARE = 12
_COLUMN_POSTINGS = 128
_RARE_POSTINGS = 4 * RARE_LENGTH // 5
# Words per directory bucket, on average.
_BUCKET_WORDS = 8
# Above this many words the vocabulary is ranked by sorting, not by a table.
_DENSE_WORDS = 1 << 24


@kernel
def pack_rows(ends, words, values, rows, row_values):  # type: ignore[no-untyped-def]
    """Write each row as its words, then its values (two views of one array)."""
    for d in range(len(ends) - 1):
        first = ends[d]
        n = ends[d + 1] - first
        for i in range(n):
            rows[2 * first + i] = words[first + i]
            row_values[2 * first + n + i] = values[first + i]


@kernel
def unpack_rows(ends, rows, row_values, dead, words, values, lengths):  # type: ignore[no-untyped-def]
    """Undo ``pack_rows``, without the dead rows."""
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
    """Compute postings and largest magnitude per rank; return whether a value is negative."""
    negative = False
    for p in range(len(ranks)):
        r = ranks[p]
        v = values[p]
        count[r] += 1
        negative |= v < 0
        largest[r] = max(largest[r], abs(v))
    return negative


@kernel
def _transpose(ends, ranks, values, slot, begin, pictures, impacts):  # type: ignore[no-untyped-def]
    """Compute pictures and values of each listed word, word by word."""
    at = begin.copy()
    for d in range(len(ends) - 1):
        for p in range(ends[d], ends[d + 1]):
            e = slot[ranks[p]]
            if e >= 0:
                pictures[at[e]] = d
                impacts[at[e]] = values[p]
                at[e] += 1


@kernel(inline="always")
def _fillers(distance):  # type: ignore[no-untyped-def]
    return max(distance - 1, 0) // FARTHEST


@kernel
def _list_lengths(begin, pictures, is_column, lengths):  # type: ignore[no-untyped-def]
    """Compute the uint16 of the list of each word; 0 if it has a column."""
    for e in range(len(lengths)):
        first, last = begin[e], begin[e + 1]
        n = last - first
        if is_column[e]:
            lengths[e] = 0
        elif n <= _RARE_POSTINGS:
            lengths[e] = n + (n + 3) // 4
        else:
            before = np.int64(0)
            for p in range(first, last):
                n += _fillers(pictures[p] - before)
                before = np.int64(pictures[p])
            lengths[e] = max(n, RARE_LENGTH + 1)


@kernel(inline="always")
def _code(value, step, zero, squares, d):  # type: ignore[no-untyped-def]
    """Return the code of an impact; add its bound to its picture."""
    code = min(max(np.int64(np.ceil(value / step - 1e-9)) + zero, 1), CODE_MASK)
    bound = max(abs(code - zero), abs(code - zero - 1)) * step
    squares[d] += bound * bound
    return code


@kernel
def _write_list(pictures, impacts, step, zero, out, squares):  # type: ignore[no-untyped-def]
    n = len(pictures)
    if n <= _RARE_POSTINGS:
        for i in range(n):
            code = _code(np.float64(impacts[i]), step, zero, squares, pictures[i])
            out[i] = pictures[i]
            out[n + (i >> 2)] |= np.uint16(code << (CODE_BITS * (i & 3)))
        return
    at = 0
    before = np.int64(0)
    for i in range(n):
        distance = pictures[i] - before
        before = np.int64(pictures[i])
        for _ in range(_fillers(distance)):
            out[at] = FARTHEST << CODE_BITS
            at += 1
            distance -= FARTHEST
        code = _code(np.float64(impacts[i]), step, zero, squares, pictures[i])
        out[at] = (distance << CODE_BITS) | code
        at += 1


@kernel
def _write_column(pictures, impacts, step, out, squares):  # type: ignore[no-untyped-def]
    half = len(out)
    for i in range(len(pictures)):
        d = np.int64(pictures[i])
        code = _code(np.float64(impacts[i]), step, 0, squares, d)
        if d < half:
            out[d] |= np.uint8(code)
        else:
            out[d - half] |= np.uint8(code << CODE_BITS)


@kernel
def _write_postings(begin, pictures, impacts, step, zero, lengths, codes, columns, n):  # type: ignore[no-untyped-def]
    """Write all lists and columns; return the largest norm of a row of bounds over each."""
    in_lists = np.zeros(n)
    in_columns = np.zeros(n)
    at = 0
    column = 0
    for e in range(len(lengths)):
        its_pictures = pictures[begin[e] : begin[e + 1]]
        its_impacts = impacts[begin[e] : begin[e + 1]]
        if lengths[e]:
            out = codes[at : at + lengths[e]]
            _write_list(its_pictures, its_impacts, step[e], zero, out, in_lists)
            at += lengths[e]
        else:
            _write_column(its_pictures, its_impacts, step[e], columns[column], in_columns)
            column += 1
    return np.sqrt(in_lists.max()), np.sqrt(in_columns.max())


def _rank_words(words: Array, width: int) -> tuple[Array, Array]:
    """Return the distinct words (or all), and the rank of each entry's word among them."""
    if width <= _DENSE_WORDS:
        return np.arange(width, dtype=np.uint32), words
    distinct = np.unique(words)
    return distinct, np.searchsorted(distinct, words).astype(np.uint32)


def _choose_scales(largest: Array, top: int) -> tuple[float, Array]:
    """Choose the step of each word, ``base * 2**(-scale / 8)``, so that codes reach top."""
    peaks = largest.astype(np.float64)
    highest = max(float(peaks.max(initial=0.0)), 1e-37)
    base = highest / top * (1 + 1e-12)
    scale = np.clip(np.floor(8 * np.log2(highest / peaks)), 0, 255)
    # If log2 was rounded the wrong way, a code would be clipped: use a coarser step.
    clipped = base * np.exp2(scale / -8.0) * top < peaks
    return base, (scale - (clipped & (scale > 0))).astype(np.uint8)


def build_block(
    ids: Array, ends: Array, words: Array, values: Array, width: int, drop: Array | None
) -> tuple[Sizes, int, Array]:
    """Build a block from rows; return its sizes, checksum and bytes.

    ``drop`` is a boolean array over words whose postings are left out; the rows keep them.
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
    found, count, largest = vocabulary[present], count[present], largest[present]
    begin = np.concatenate([[0], np.cumsum(count)])
    pictures, impacts = np.empty(begin[-1], np.uint16), np.empty(begin[-1], np.float32)
    _transpose(ends, ranks, values, slot, begin[:-1], pictures, impacts)

    zero = 8 if negative else 0
    base, scale = _choose_scales(largest, CODE_MASK - zero)
    # A column needs a code for a picture without the word, unless no value is negative.
    is_column = (count * _COLUMN_SHARE >= n) & (count >= _COLUMN_POSTINGS) & (zero == 0)
    lengths = np.empty(len(found), np.int64)
    _list_lengths(begin, pictures, is_column, lengths)
    listed = found[~is_column]

    shift = int(
        np.clip(np.floor(np.log2(max(width, 1) * _BUCKET_WORDS / max(len(listed), 1))), 0, 16)
    )
    s = Sizes(
        n, width, len(words), len(listed), int(lengths.sum()), int(begin[-1]), shift,
        int(is_column.sum()), len(dropped), zero, base, 0.0, 0.0,
    )  # fmt: skip
    where, rows_at, total = places(s)
    buffer = np.zeros(total, np.uint8)

    def section(name: str, kind: str | None = None) -> Array:
        at, stored, length = where[name]
        return buffer[at : at + length * np.dtype(stored).itemsize].view(kind or stored)

    list_norm, column_norm = _write_postings(
        begin, pictures, impacts, base * np.exp2(scale / -8.0), zero, lengths,
        section("codes"), section("columns").reshape(s.columns, s.half), n,
    )  # fmt: skip
    s = s._replace(list_norm=float(list_norm), column_norm=float(column_norm))
    before = np.concatenate([[0], np.cumsum(lengths[~is_column])])
    first = np.searchsorted(listed, np.arange(s.buckets + 1, dtype=np.int64) << shift)
    section("ids")[:] = ids
    section("row_ends")[:] = ends
    section("buckets").reshape(-1, 2)[:] = np.column_stack([first, before[first]])
    section("low8" if shift <= 8 else "low16")[:] = listed & np.uint32((1 << shift) - 1)
    section("lengths")[:] = lengths[~is_column] - 1
    section("scale")[:] = scale[~is_column]
    section("column_words")[:] = found[is_column]
    section("column_scale")[:] = scale[is_column]
    section("dropped")[:] = dropped
    pack_rows(ends, words, values, section("rows"), section("rows", "<f4"))
    _sum_groups(ends, section("rows"), section("row_sums"))
    checksum = int(xxh64(buffer.view("<u4"), HEADER_BYTES // 4, rows_at // 4))
    buffer[:HEADER_BYTES] = np.frombuffer(pack_header(s, checksum), np.uint8)
    buffer.flags.writeable = False
    return s, checksum, buffer
