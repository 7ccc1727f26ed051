"""Scores of one block: the exact ones, and the fast ones that come with an error bound.

The score of a picture is *defined* as the float64 sum of ``query * value`` over its words in
ascending order, rounded once to float32.  ``score_row`` and ``exact_scores`` compute just that, by
row or by list, with the same bits.  ``add_lists`` accumulates in float32 and only ever nominates
pictures, which are then scored exactly; so results depend on neither layout nor quantisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise._kernels import kernel
from likewise.index.checking import rows_sound
from likewise.index.layout import BLOCK_PICTURES, GROUP_SHIFT, Array
from likewise.solvers.prefetch import prefetch

# How far ahead of the scan postings are hinted at; 128 to 256 measured best.
_AHEAD = 128
_FLOAT32_MAX = float(np.finfo(np.float32).max)


class Scratch(NamedTuple):
    """Working memory of one search; the accumulators are zero between blocks."""

    fast: Array  # float32 (pictures)
    exact: Array  # float64 (pictures)
    chosen: Array  # int32 (pictures)


class Plan(NamedTuple):
    """Where the lists of a query's words are in one block."""

    first: Array  # int64: first posting
    counts: Array  # int64: postings; 0 where the block lacks the word
    weight: Array  # float32: factor of an impact, in units of the query's largest value
    level: Array  # int64: smallest class of frequent words it belongs to
    table: Array  # int32, a power of two: hash table from word to its place in the query


def new_scratch() -> Scratch:
    return Scratch(
        np.zeros(BLOCK_PICTURES, np.float32),
        np.zeros(BLOCK_PICTURES, np.float64),
        np.zeros(BLOCK_PICTURES, np.int32),
    )


def new_plan(n_words: int) -> Plan:
    n = max(n_words, 1)
    # One slot in 32 taken: nearly every word of a row that the query lacks misses at once.
    slots = 1 << (32 * n - 1).bit_length()
    return Plan(
        np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros(n, np.float32), np.zeros(n, np.int64), np.zeros(slots, np.int32),
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
def find_lists(v, words, values, unit, plan):  # type: ignore[no-untyped-def]
    """Fill ``plan``; returns the error that coding adds to a score, and the count of dropped words.

    ``unit`` is a power of two near the largest value: fast scores are in units of it.
    """
    error = 0.0
    missing = 0
    mask = (1 << v.shift) - 1
    for j in range(len(words)):
        plan.counts[j] = 0
        word = np.int64(words[j])
        b = word >> v.shift
        if b >= len(v.buckets) - 1:
            continue
        target = word & mask
        e = np.int64(v.buckets[b, 0])
        at = np.int64(v.buckets[b, 1])
        last = np.int64(v.buckets[b + 1, 0])
        while e < last and _low(v, e) < target:
            at += np.int64(v.counts[e]) + 1
            e += 1
        if e == last or _low(v, e) != target:
            if len(v.dropped):
                i = np.searchsorted(v.dropped, words[j])
                missing += i < len(v.dropped) and v.dropped[i] == words[j]
            continue
        n = np.int64(v.counts[e]) + 1
        plan.first[j] = at
        plan.counts[j] = n
        weight = values[j] / unit
        if v.quantised:
            step = v.steps[v.scale[e]]
            # Half a step, and a little for the rounding of the steps themselves.
            error += abs(weight) * step * 0.501
            plan.weight[j] = weight * step
        else:
            plan.weight[j] = weight
        prefetch(v.list_ids, at)
        prefetch(v.impacts, at)
        level = 0
        while level < len(v.cuts) and v.cuts[level] > n:
            level += 1
        plan.level[j] = level
    return error, missing


@kernel(inline="always")
def _list(v, plan, j):  # type: ignore[no-untyped-def]
    """Picture numbers and impacts of one list.  Slices, so that loops from 0 need no sign check."""
    first = plan.first[j]
    last = first + plan.counts[j]
    return v.list_ids[first:last], v.impacts[first:last]


@kernel
def add_lists(v, plan, n_words, level, fast):  # type: ignore[no-untyped-def]
    """Scatter-add, in float32, the lists of the words of one level.

    Picture numbers differ within a list, so eight read-add-write chains may overlap.
    """
    zero = np.float32(v.zero)
    for j in range(n_words):
        if plan.counts[j] == 0 or plan.level[j] != level:
            continue
        w = plan.weight[j]
        pictures, x = _list(v, plan, j)
        for run in range(len(pictures) >> 3):
            i = run << 3
            prefetch(pictures, i + _AHEAD)
            prefetch(x, i + _AHEAD)
            d0, d1, d2, d3 = pictures[i], pictures[i + 1], pictures[i + 2], pictures[i + 3]
            d4, d5, d6, d7 = pictures[i + 4], pictures[i + 5], pictures[i + 6], pictures[i + 7]
            s0 = fast[d0] + w * (np.float32(x[i]) - zero)
            s1 = fast[d1] + w * (np.float32(x[i + 1]) - zero)
            s2 = fast[d2] + w * (np.float32(x[i + 2]) - zero)
            s3 = fast[d3] + w * (np.float32(x[i + 3]) - zero)
            s4 = fast[d4] + w * (np.float32(x[i + 4]) - zero)
            s5 = fast[d5] + w * (np.float32(x[i + 5]) - zero)
            s6 = fast[d6] + w * (np.float32(x[i + 6]) - zero)
            s7 = fast[d7] + w * (np.float32(x[i + 7]) - zero)
            fast[d0], fast[d1], fast[d2], fast[d3] = s0, s1, s2, s3
            fast[d4], fast[d5], fast[d6], fast[d7] = s4, s5, s6, s7
        for i in range(len(pictures) & ~7, len(pictures)):
            fast[pictures[i]] += w * (np.float32(x[i]) - zero)


@kernel
def rows_ready(v, checked, d):  # type: ignore[no-untyped-def]
    """Prove the checksum of a picture's group of rows when it is first wanted."""
    group = d >> GROUP_SHIFT
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

    With float32 impacts and no dropped word the lists, taken in ascending order of words, give
    the defined sum.  Otherwise the rows do: all of them if a dropped word is asked for, else
    those that some list touches (the others score exactly 0).
    """
    n = len(v.ids)
    exact = scratch.exact
    exact[:n] = 0.0
    if not v.quantised and not missing:
        for j in range(len(words)):
            pictures, x = _list(v, plan, j)
            for i in range(len(pictures)):
                exact[pictures[i]] += values[j] * np.float64(x[i])
        return True
    if not missing:
        for j in range(len(words)):
            pictures, _ = _list(v, plan, j)
            for i in range(len(pictures)):
                exact[pictures[i]] = 1.0
    for d in range(n):
        if missing or exact[d] != 0.0:
            if not rows_ready(v, checked, d):
                return False
            exact[d] = score_row(v, d, words, values, plan.table)
    return True
