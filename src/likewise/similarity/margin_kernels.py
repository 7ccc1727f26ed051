"""The one thing all learners see of a triplet: z = x * (x+ - x-), built from sorted CSR rows.

Loss and gradient follow from it (docs/methods/solis.md, (2) and (3)).  The support of z lies inside
that of the anchor x, so the anchor drives.  Its words are marked in a small set of bits that stays
in the first-level cache (and stays as it is while the anchor repeats); the other two rows are
filtered through it without branches, and the few words that pass are looked up in the anchor by
bisection.  A plain merge of three lists mispredicts a branch at nearly every word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise._csr import Rows
from likewise._kernels import kernel
from likewise.solvers.prefetch import prefetch

Array = Any

# How many triplets ahead rows are hinted at; elements in a cache line of words.
_AHEAD = 2
_LINE = 16


class Work(NamedTuple):
    """Working memory of a pass over triplets."""

    anchor: Array  # int64 (1): the row whose words are marked, or -1
    marks: Array  # uint64: a bit for the words with the same last digits, set if the anchor has one
    passed: Array  # int64: places in the other row that passed the filter
    places: Array  # int32: places in the anchor that z may touch
    gap: Array  # float64: x+ - x- at each place of the anchor; zero between triplets
    words: Array  # uint32: support of z
    z: Array  # float64: its values


def new_work(rows: Rows) -> Work:
    """Room for the longest row of ``rows``."""
    longest = int(np.diff(rows.ends).max(initial=0)) + 1
    # One bit in 128 set at most, 8 kB for rows of 290 words: a word in 200 passes for nothing.
    bits = max(10, (128 * longest - 1).bit_length())
    return Work(
        np.array([-1], np.int64), np.zeros(1 << (bits - 6), np.uint64),
        np.zeros(longest, np.int64), np.zeros(2 * longest, np.int32),
        np.zeros(longest), np.zeros(2 * longest, np.uint32), np.zeros(2 * longest),
    )  # fmt: skip


@kernel(inline="always")
def _slot(word, last):  # type: ignore[no-untyped-def]
    return (np.uint64(word) >> np.uint64(6)) & last


@kernel(inline="always")
def _enter(rows, a, work):  # type: ignore[no-untyped-def]
    """Mark the words of row ``a``."""
    marks = work.marks
    last = np.uint64(len(marks) - 1)
    for i in range(len(marks)):
        marks[i] = 0
    for i in range(rows.ends[a], rows.ends[a + 1]):
        word = np.uint64(rows.words[i])
        marks[_slot(word, last)] |= np.uint64(1) << (word & np.uint64(63))
    work.anchor[0] = a


@kernel(inline="always")
def _place(words, start, end, word):  # type: ignore[no-untyped-def]
    """The last place whose word is not above ``word``, without a branch to predict."""
    at, size = np.uint64(start), np.uint64(end - start)
    while size > 1:
        half = size >> np.uint64(1)
        at += half * np.uint64(words[at + half] <= word)
        size -= half
    return at


@kernel(inline="always")
def _add_shared(rows, a, other, sign, count, work):  # type: ignore[no-untyped-def]
    """Add ``sign`` times the words that ``other`` shares with the anchor to ``work.gap``."""
    marks, passed, words = work.marks, work.passed, rows.words
    last, first, end = np.uint64(len(marks) - 1), rows.ends[a], rows.ends[a + 1]
    n = np.uint64(0)
    for i in range(rows.ends[other], rows.ends[other + 1]):
        passed[n] = i
        word = np.uint64(words[np.uint64(i)])
        n += (marks[_slot(word, last)] >> (word & np.uint64(63))) & np.uint64(1)
    for k in range(n):
        at = np.uint64(passed[k])
        p = _place(words, first, end, words[at])
        if words[p] == words[at]:
            p -= np.uint64(first)
            before = work.gap[p]
            work.gap[p] = before + sign * np.float64(rows.values[at])
            # A value is never zero, so a zero means that x+ lacks the word.
            work.places[count] = p
            count += np.uint64(before == 0.0)
    return count


@kernel(inline="always")
def _hint(rows, r):  # type: ignore[no-untyped-def]
    # Of the values only shared words are read, a few a row: hinting at all made it slower.
    for i in range(rows.ends[r], rows.ends[r + 1], _LINE):
        prefetch(rows.words, i)


@kernel(_nrt=False)
def build_margin(rows, triplets, t, work):  # type: ignore[no-untyped-def]
    """z of triplet t into ``work.words`` and ``work.z``; gives the number of its non-zeros."""
    if t + _AHEAD < len(triplets):
        for c in range(3):
            _hint(rows, triplets[t + _AHEAD, c])
    a = triplets[t, 0]
    if a != work.anchor[0]:
        _enter(rows, a, work)
    count = _add_shared(rows, a, triplets[t, 1], 1.0, np.uint64(0), work)
    count = _add_shared(rows, a, triplets[t, 2], -1.0, count, work)
    first = np.uint64(rows.ends[a])
    n = np.uint64(0)
    for k in range(count):
        p = np.uint64(work.places[k])
        z = np.float64(rows.values[first + p]) * work.gap[p]
        work.gap[p] = 0.0
        work.words[n] = rows.words[first + p]
        work.z[n] = z
        n += np.uint64(z != 0.0)
    return n


@kernel
def margins(rows, triplets, weights, work, out):  # type: ignore[no-untyped-def]
    """w.z of every triplet."""
    for t in range(len(triplets)):
        total = 0.0
        for k in range(build_margin(rows, triplets, t, work)):
            total += weights[work.words[k]] * work.z[k]
        out[t] = total


@kernel
def moments(rows, triplets, work, total, squares):  # type: ignore[no-untyped-def]
    """Add z and z^2 of every triplet to ``total`` and ``squares``, one entry a word."""
    for t in range(len(triplets)):
        for k in range(build_margin(rows, triplets, t, work)):
            total[work.words[k]] += work.z[k]
            squares[work.words[k]] += work.z[k] ** 2


@kernel
def count_margins(rows, triplets, work, ends):  # type: ignore[no-untyped-def]
    """Non-zeros of every z, summed up: where each begins in a matrix of them."""
    for t in range(len(triplets)):
        ends[t + 1] = ends[t] + np.int64(build_margin(rows, triplets, t, work))


@kernel
def write_margins(rows, triplets, work, ends, words, values):  # type: ignore[no-untyped-def]
    """The matrix of all z, after ``count_margins``."""
    for t in range(len(triplets)):
        at = ends[t]
        for k in range(build_margin(rows, triplets, t, work)):
            words[at + k] = work.words[k]
            values[at + k] = work.z[k]
