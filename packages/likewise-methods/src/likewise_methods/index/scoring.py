"""Scores of one block: the exact ones, and upper bounds of them that are found much faster.

The score of a picture is *defined* as the float64 sum of ``query * value`` over its words in
ascending order, rounded once to float32.  ``score_row`` computes just that.  ``add_bounds`` sums
upper bounds in int16 and only ever nominates pictures, which are then scored exactly; so results
depend on neither layout nor codes.

Sums are kept in the finest units that cannot overflow, those over columns apart and 16 times as
fine.  By Cauchy-Schwarz no sum over words exceeds ``|q| N``, |q| being the norm of the query's
words and N the largest norm of a row of bounds, kept in the block; rounding up adds at most 1 a
word to a sum over lists and 15, the largest code, to one over columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise_methods.index.checking import rows_sound
from likewise_methods.index.layout import BLOCK_PICTURES, CODE_MASK, Array
from likewise_methods.index.lists import add_column, add_columns, add_list, pictures_of
from likewise_methods.kernels import kernel
from likewise_methods.prefetch import prefetch

# Pictures whose sums are tested at once.
RUN = 64
# Sums over columns are finer than others by so many bits.
_FINER = 4
# The largest sum in int16, less a little for the rounding of this very arithmetic.
_ROOM = 32_700.0
_FLOAT32_MAX = float(np.finfo(np.float32).max)


class Scratch(NamedTuple):
    """Working memory of one search; the accumulators are zero between blocks."""

    sums: Array  # int16 (pictures): bounds of the words with lists, then of all
    columns: Array  # int16 (pictures): bounds of those with columns, 16 times as fine
    peaks: Array  # int16: the largest sum of every RUN pictures
    exact: Array  # float64 (pictures)
    chosen: Array  # int32 (pictures)


class Plan(NamedTuple):
    """Where the lists of a query's words are in one block."""

    first: Array  # int64: where the list begins
    length: Array  # int64: of the list; 0 where the word has none
    column: Array  # int64: the column; -1 where the word has none
    step: Array  # float64: step of its codes
    bounds: Array  # int16 (words, 16): what a code of its list adds
    which: Array  # int64: columns to be added together
    factors: Array  # int16: and what their codes are multiplied by
    table: Array  # int32, a power of two: hash table from word to its place in the query


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
    # One slot in 32 taken: nearly every word of a row that the query lacks misses at once.
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
    """Have the directory brought near: its parts are in no cache, and each leads to the next."""
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
    """Fill all of ``plan`` but the bounds; the count of words whose postings were dropped."""
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
    """The largest that a sum can be; squares of tiny weights vanish."""
    return (np.sqrt(square) if square > 1e-280 else total) * norm


@kernel
def choose_scale(v, values, unit, plan):  # type: ignore[no-untyped-def]
    """How many units of the sums make one ``unit`` of score.

    Zero where there is nothing to sum, or more words than int16 can take.
    """
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
    """Add the upper bounds of all words.  1e-4 is more than arithmetic and codes may be off."""
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
            # The larger of the two ends of what a code stands for.
            shift = v.zero if weight > 0 else v.zero + 1
            for code in range(1, CODE_MASK + 1):
                # Codes beyond those that the list has may be beyond int16 as well.
                bound = np.ceil(weight * (code - shift) + 1e-4)
                plan.bounds[j, code] = np.int64(min(max(bound, -_ROOM), _ROOM))
            add_list(_codes(v, plan, j), plan.bounds[j], scratch.sums)
    add_columns(v.columns, plan.which, plan.factors, together, scratch.columns)


@kernel
def join_sums(n, scratch):  # type: ignore[no-untyped-def]
    """Sums over lists and columns in one; the peak of every run of pictures.

    One is added where a sum over columns was rounded down.  Vector code, as of ``add_column``.
    """
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
    """Prove the checksum of a picture's group of rows when it is first wanted."""
    group = d >> v.group_shift
    if not checked[group]:
        if not rows_sound(v, group):
            return False
        checked[group] = 1
    return True


@kernel
def hint_row(v, d):  # type: ignore[no-untyped-def]
    """Picture d will be scored soon."""
    for i in range(2 * v.row_ends[d], 2 * v.row_ends[d + 1], 16):
        prefetch(v.rows, i)


@kernel
def score_row(v, d, words, values, table):  # type: ignore[no-untyped-def]
    """The exact score of picture d (float64, not yet rounded)."""
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
    """To float32; beyond its range the largest finite value, as -inf means "no picture"."""
    return np.float32(min(max(score, -_FLOAT32_MAX), _FLOAT32_MAX))


@kernel
def exact_scores(v, checked, words, values, plan, missing, scratch):  # type: ignore[no-untyped-def]
    """Fill ``scratch.exact`` with every picture's exact score; False where a row is damaged.

    All rows are looked at if a word has a column, or had its postings dropped; otherwise those
    that some list names (the others score exactly 0).
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
