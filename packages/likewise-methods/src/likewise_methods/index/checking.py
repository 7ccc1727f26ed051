"""Check a block before kernels use it: its checksum, and that every index is in range."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise_methods.index.hashing import xxh64
from likewise_methods.index.layout import (
    CODE_BITS,
    CODE_MASK,
    HEADER_BYTES,
    RARE_LENGTH,
    Array,
    Damage,
    Sizes,
    Views,
    places,
)
from likewise_methods.kernels import kernel


@kernel
def _check_directory(v, words, codes):  # type: ignore[no-untyped-def]
    n_buckets = len(v.buckets) - 1
    e = np.int64(0)
    total = np.int64(0)
    for b in range(n_buckets + 1):
        if v.buckets[b, 0] != e or v.buckets[b, 1] != total:
            return False
        last = np.int64(v.buckets[b + 1, 0]) if b < n_buckets else words
        if last < e or last > words:
            return False
        before = np.int64(-1)
        while e < last:
            low = np.int64(v.low8[e]) if v.shift <= 8 else np.int64(v.low16[e])
            if low <= before or low >= 1 << v.shift:
                return False
            before = low
            total += np.int64(v.lengths[e]) + 1
            e += 1
    return e == words and total == codes


@kernel
def _check_lists(v, pictures):  # type: ignore[no-untyped-def]
    """Check that the pictures of a list ascend and exist; needs a checked directory."""
    first = np.int64(0)
    for e in range(len(v.lengths)):
        length = np.int64(v.lengths[e]) + 1
        its_codes = v.codes[first : first + length]
        first += length
        good = True
        if length <= RARE_LENGTH:
            n = 4 * length // 5
            good = bool(n > 0)
            last = np.int64(-1)
            for i in range(n):
                good = bool(good and its_codes[i] > last)
                last = np.int64(its_codes[i])
        else:
            last = np.int64(0)
            before = np.int64(-1)
            for i in range(length):
                last += np.int64(its_codes[i] >> CODE_BITS)
                # An entry without a code is part of a long distance.
                if its_codes[i] & CODE_MASK:
                    good = bool(good and last > before)
                    before = last
        if not good or last >= pictures:
            return False
    return True


@kernel
def rows_sound(v, group):  # type: ignore[no-untyped-def]
    """Return whether a group of rows has its checksum and ascending words below the width."""
    first = group << v.group_shift
    last = min(first + (1 << v.group_shift), len(v.ids))
    if xxh64(v.rows, 2 * v.row_ends[first], 2 * v.row_ends[last]) != v.row_sums[group]:
        return False
    for d in range(first, last):
        begin = v.row_ends[d]
        n = v.row_ends[d + 1] - begin
        before = np.int64(-1)
        for i in range(2 * begin, 2 * begin + n):
            word = np.int64(v.rows[i])
            if word <= before or word >= v.width or not np.isfinite(v.row_values[i + n]):
                return False
            before = word
    return True


@kernel
def _check_all_rows(v):  # type: ignore[no-untyped-def]
    for group in range(len(v.row_sums)):
        if not rows_sound(v, group):
            return group
    return -1


def check_core(buffer: Array, s: Sizes, v: Views, checksum: int) -> None:
    """Check everything except rows; raise Damage."""
    _, rows_at, _ = places(s)
    if int(xxh64(buffer.view("<u4"), HEADER_BYTES // 4, rows_at // 4)) != checksum:
        raise Damage("its checksum does not fit its content")
    ends = v.row_ends
    # Compared, not subtracted: differences of arbitrary offsets may wrap around.
    sound = (
        ends[0] == 0
        and ends[-1] == s.entries
        and bool((ends[1:] >= ends[:-1]).all())
        and bool((v.ids >= 0).all())
        and bool((v.column_words[1:] > v.column_words[:-1]).all())
        and bool((v.column_words < s.width).all())
        and bool(_check_directory(v, s.words, s.codes))
        and bool(_check_lists(v, s.pictures))
    )
    if not sound:
        raise Damage("its offsets or picture numbers are out of range")


def check_rows(v: Any) -> None:
    """Check every row; raise Damage."""
    group = int(_check_all_rows(v))
    if group >= 0:
        raise Damage(f"the checksum of its rows from {group << v.group_shift} on does not fit")
