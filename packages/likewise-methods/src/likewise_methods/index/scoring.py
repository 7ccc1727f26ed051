"""Exact scores of the pictures of one block, and faster upper bounds.

The score of a picture is *defined* as the float64 sum of ``query * value`` over its words in
ascending order, rounded once to float32 (``score_row``).  ``add_bounds`` sums upper bounds in int16
to nominate pictures, which are then scored exactly; so results depend on neither layout nor codes.

Sums use the finest units that cannot overflow; those over columns are 16 times as fine.  By
Cauchy-Schwarz no sum exceeds ``|q| N`` with the norm of the query's words and the largest norm N of
a row of bounds, which the block stores.  Rounding up adds at most 1 per word to a sum over lists
and 15, the largest code, to one over columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise_methods.index.checking import rows_sound
from likewise_methods.index.layout import BLOCK_PICTURES, CODE_MASK, Array
from likewise_methods.index.lists import add_column, add_columns, add_list, pictures_of
from likewise_methods.kernels import kernel
from likewise_methods.prefetch import prefetch

# Number of sums to test at once.
RUN = 64
# Sums over columns are finer by so many bits.
_FINER = 4
# The largest sum in int16, less a little for rounding.
_ROOM = 32_700.0
_FLOAT32_MAX = float(np.finfo(np.float32).max)


class Scratch(NamedTuple):
    """Working memory of one search; the accumulators are zero between blocks."""

    sums: Array  # int16 (pictures): bounds over words with lists, then over all
    columns: Array  # int16 (pictures): bounds over words with columns, 16 times as fine
    peaks: Array  # int16: the largest sum of every RUN pictures
    exact: Array  # float64 (pictures)
    chosen: Array  # int32 (pictures)


class Plan(NamedTuple):
    """The lists and columns of a query's words in one block."""

    first: Array  # int64: start of the list
    length: Array  # int64: length of the list; 0 if the word has none
    column: Array  # int64: the column; -1 if the word has none
    step: Array  # float64: step of its codes
    bounds: Array  # int16 (words, 16): bound per code
    which: Array  # int64: columns to add together
    factors: Array  # int16: factors of their codes
    table: Array  # int32: hash table from word to index in the query; its size is a power of two


def new_scratch() -> Scratch:
    return Scratch(
        np.zeros(BLOCK_PICTURES, np.int16),
        np.zeros(BLOCK_PICTURES, np.int16),
        np.zeros(BLOCK_PICTURES // RUN, np.int16),
        np.zeros(BLOCK_PICTURES, np.float64),
        np.zeros(BLOCK_PICTURES, np.int32),
    )


def new_plan(n_words: int) -> Plan:
    n = max(n_words, 1)
    # One slot in 32 is used: nearly every word that the query lacks misses at once.
    slots = 1 << (32 * n - 1).bit_length()
    return Plan(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n),
        np.zeros((n, CODE_MASK + 1), np.int16), np.zeros(n, np.int64), np.zeros(n, np.int16),
        np.zeros(slots, np.int32),
    )  # fmt: skip


@kernel(inline="always")
def _slot(word, slots):  # type: ignore[no-untyped-def]
    h = (np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return h & np.uint64(slots - 1)


@kernel
def fill_table(words, table):  # type: ignore[no-untyped-def]
    table[:] = 0
    for j in range(len(words)):
        h = _slot(words[j], len(table))
        while table[h]:
            h = (h + np.uint64(1)) & np.uint64(len(table) - 1)
        table[h] = j + 1


@kernel(inline="always")
def _low(v, e):  # type: ignore[no-untyped-def]
    return np.int64(v.low8[e]) if v.shift <= 8 else np.int64(v.low16[e])


@kernel
def _hint_lists(v, words):  # type: ignore[no-untyped-def]
    """Prefetch the directory, whose parts depend on each other."""
    for j in range(len(words)):
        prefetch(v.buckets, 2 * (np.int64(words[j]) >> v.shift))
    for j in range(len(words)):
        b = np.int64(words[j]) >> v.shift
        if b < len(v.buckets) - 1:
            e = v.buckets[b, 0]
            prefetch(v.low8, e)
            prefetch(v.low16, e)
            prefetch(v.lengths, e)
            prefetch(v.scale, e)


@kernel
def find_lists(v, words, plan):  # type: ignore[no-untyped-def]
    """Fill ``plan`` except bounds; return the number of words without postings."""
    missing = 0
    column = 0
    mask = (1 << v.shift) - 1
    _hint_lists(v, words)
    for j in range(len(words)):
        plan.length[j] = 0
        plan.column[j] = -1
        while column < len(v.column_words) and v.column_words[column] < words[j]:
            column += 1
        if column < len(v.column_words) and v.column_words[column] == words[j]:
            plan.column[j] = column
            plan.step[j] = v.steps[v.column_scale[column]]
            continue
        word = np.int64(words[j])
        b = word >> v.shift
        if b >= len(v.buckets) - 1:
            continue
        target = word & mask
        e = np.int64(v.buckets[b, 0])
        at = np.int64(v.buckets[b, 1])
        last = np.int64(v.buckets[b + 1, 0])
        while e < last and _low(v, e) < target:
            at += np.int64(v.lengths[e]) + 1
            e += 1
        if e == last or _low(v, e) != target:
            if len(v.dropped):
                i = np.searchsorted(v.dropped, words[j])
                missing += i < len(v.dropped) and v.dropped[i] == words[j]
            continue
        plan.first[j] = at
        plan.length[j] = np.int64(v.lengths[e]) + 1
        plan.step[j] = v.steps[v.scale[e]]
        prefetch(v.codes, at)
    return missing


@kernel(inline="always")
def _reach(square, total, norm):  # type: ignore[no-untyped-def]
    """Return the largest possible sum; squares of tiny weights underflow."""
    return (np.sqrt(square) if square > 1e-280 else total) * norm


@kernel
def choose_scale(v, values, unit, plan):  # type: ignore[no-untyped-def]
    """Return the units of the sums per ``unit`` of score; 0 if nothing fits into int16."""
    square = np.zeros(2)
    total = np.zeros(2)
    number = np.zeros(2)
    for j in range(len(values)):
        is_column = plan.column[j] >= 0
        if is_column or plan.length[j]:
            weight = abs(values[j] / unit)
            kind = int(is_column)
            square[kind] += weight * weight
            total[kind] += weight
            number[kind] += 1
    in_lists = _reach(square[0], total[0], v.list_norm)
    in_columns = _reach(square[1], total[1], v.column_norm)
    room = _ROOM - 2.0 * number[0] - CODE_MASK * number[1]
    if in_lists + in_columns <= 0 or room < _ROOM / 2:
        return 0.0
    return room / max(in_lists + in_columns, in_columns * (1 << _FINER))


@kernel
def add_bounds(v, values, unit, plan, scale, scratch):  # type: ignore[no-untyped-def]
    """Add the upper bounds of all words; 1e-4 covers the errors of arithmetic and codes."""
    together = 0
    for j in range(len(values)):
        weight = values[j] / unit * plan.step[j] * scale
        if plan.column[j] >= 0:
            factor = np.ceil(weight * (1 << _FINER) + 1e-4)
            if weight < 0:
                factor = min(factor, 0.0)
                add_column(v.columns[plan.column[j]], np.int64(factor), scratch.columns)
            else:
                plan.which[together] = plan.column[j]
                plan.factors[together] = np.int16(factor)
                together += 1
        elif plan.length[j]:
            # The larger end of the interval of a code.
            shift = v.zero if weight > 0 else v.zero + 1
            for code in range(1, CODE_MASK + 1):
                # Bounds of codes that the list does not have may overflow int16.
                bound = np.ceil(weight * (code - shift) + 1e-4)
                plan.bounds[j, code] = np.int64(min(max(bound, -_ROOM), _ROOM))
            add_list(_codes(v, plan, j), plan.bounds[j], scratch.sums)
    add_columns(v.columns, plan.which, plan.factors, together, scratch.columns)


@kernel
def join_sums(n, scratch):  # type: ignore[no-untyped-def]
    """Add the sums over columns, rounded up, to those over lists; find the peak of every run."""
    for run in range((n + RUN - 1) // RUN):
        sums = scratch.sums[run * RUN : (run + 1) * RUN]
        columns = scratch.columns[run * RUN : (run + 1) * RUN]
        peak = np.int16(-32768)
        for i in range(RUN):
            sums[i] = np.int16(sums[i] + (columns[i] >> np.int16(_FINER)) + 1)
            peak = max(peak, sums[i])
        scratch.peaks[run] = peak


@kernel(inline="always")
def _codes(v, plan, j):  # type: ignore[no-untyped-def]
    return v.codes[plan.first[j] : plan.first[j] + plan.length[j]]


@kernel
def rows_ready(v, checked, d):  # type: ignore[no-untyped-def]
    """Check the checksum of a picture's group of rows at its first use."""
    group = d >> v.group_shift
    if not checked[group]:
        if not rows_sound(v, group):
            return False
        checked[group] = 1
    return True


@kernel
def hint_row(v, d):  # type: ignore[no-untyped-def]
    """Prefetch the row of picture d."""
    for i in range(2 * v.row_ends[d], 2 * v.row_ends[d + 1], 16):
        prefetch(v.rows, i)


@kernel
def score_row(v, d, words, values, table):  # type: ignore[no-untyped-def]
    """Return the exact score of picture d (float64, not rounded)."""
    first = v.row_ends[d]
    n = v.row_ends[d + 1] - first
    its_words = v.rows[2 * first : 2 * first + n]
    its_values = v.row_values[2 * first + n : 2 * first + 2 * n]
    score = 0.0
    for i in range(n):
        word = its_words[i]
        h = _slot(word, len(table))
        j = table[h]
        while j:
            if words[np.uint64(j - 1)] == word:
                score += values[np.uint64(j - 1)] * np.float64(its_values[i])
                break
            h = (h + np.uint64(1)) & np.uint64(len(table) - 1)
            j = table[h]
    return score


@kernel(inline="always")
def round_score(score):  # type: ignore[no-untyped-def]
    """Round to float32, clipped to finite values, since -inf means "no picture"."""
    return np.float32(min(max(score, -_FLOAT32_MAX), _FLOAT32_MAX))


@kernel
def exact_scores(v, checked, words, values, plan, missing, scratch):  # type: ignore[no-untyped-def]
    """Fill ``scratch.exact`` with every picture's exact score; return False if a row is damaged.

    Reads only the pictures of lists if no word has a column or dropped postings: the others score
    0.
    """
    n = len(v.ids)
    exact = scratch.exact
    everyone = missing > 0
    for j in range(len(words)):
        everyone |= plan.column[j] >= 0
    exact[:n] = everyone
    if not everyone:
        for j in range(len(words)):
            found = pictures_of(_codes(v, plan, j), scratch.chosen)
            for i in range(found):
                exact[scratch.chosen[i]] = 1.0
    for d in range(n):
        if exact[d] != 0.0:
            if not rows_ready(v, checked, d):
                return False
            exact[d] = score_row(v, d, words, values, plan.table)
    return True
