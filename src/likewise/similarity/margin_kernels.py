"""The one thing all learners see of a triplet: z = x * (x+ - x-), built from sorted CSR rows.

Loss and gradient follow from it (docs/methods/solis.md, (2) and (3)).  The support of z lies inside
that of the anchor x, so the anchor drives.  Its words go into a small hash table that stays in the
first-level cache (and stays as it is while the anchor repeats); the other two rows are filtered
through it without branches, and the few words that pass are looked up exactly.  A plain merge of
three lists mispredicts a branch at nearly every word.
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

    anchor: Array  # int64 (2): the row the table holds (or -1), and 64 - log2(slots)
    table: Array  # uint16 (slots): 1 + place in the anchor of the last word with this hash, or 0
    chain: Array  # uint16: for each place of the anchor, the one before it with the same hash
    passed: Array  # int32: places in the other row that passed the filter
    places: Array  # int32: places in the anchor that z may touch
    gap: Array  # float64: x+ - x- at each place of the anchor; zero between triplets
    words: Array  # uint32: support of z
    z: Array  # float64: its values


def new_work(rows: Rows) -> Work:
    """Room for the longest row of ``rows``."""
    longest = int(np.diff(rows.ends).max(initial=0)) + 1
    # One slot in sixteen taken, 16 kB for rows of 290 words; 8 and 32 times measured slower.
    bits = max(10, (16 * longest - 1).bit_length())
    # Places take half the cache as uint16; no picture has 65,536 words, but a matrix might.
    place = np.uint16 if longest < 1 << 16 else np.uint32
    return Work(
        np.array([-1, 64 - bits], np.int64), np.zeros(1 << bits, place),
        np.zeros(longest, place), np.zeros(longest, np.int32), np.zeros(2 * longest, np.int32),
        np.zeros(longest), np.zeros(2 * longest, np.uint32), np.zeros(2 * longest),
    )  # fmt: skip


@kernel(inline="always")
def _slot(word, shift):  # type: ignore[no-untyped-def]
    return (np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift)


@kernel
def _enter(rows, a, work):  # type: ignore[no-untyped-def]
    """Make ``a`` the anchor in the table."""
    shift = work.anchor[1]
    old = work.anchor[0]
    # Overwriting a table of the usual size costs less than finding the old words' slots.
    if old >= 0 and 32 * (rows.ends[old + 1] - rows.ends[old]) > len(work.table):
        work.table[:] = 0
    elif old >= 0:
        for i in range(rows.ends[old], rows.ends[old + 1]):
            work.table[_slot(rows.words[i], shift)] = 0
    words = rows.words[rows.ends[a] : rows.ends[a + 1]]
    for i in range(len(words)):
        s = _slot(words[i], shift)
        work.chain[i] = work.table[s]
        work.table[s] = i + 1
    work.anchor[0] = a


@kernel
def _add_shared(rows, a, other, sign, count, work):  # type: ignore[no-untyped-def]
    """Add ``sign`` times the words that ``other`` shares with the anchor to ``work.gap``."""
    shift = work.anchor[1]
    table = work.table
    passed = work.passed
    words = rows.words[rows.ends[other] : rows.ends[other + 1]]
    values = rows.values[rows.ends[other] : rows.ends[other + 1]]
    anchor = rows.words[rows.ends[a] : rows.ends[a + 1]]
    n = np.uint64(0)
    for i in range(len(words)):
        passed[n] = i
        n += np.uint64(table[_slot(words[i], shift)] != 0)
    for k in range(n):
        at = np.uint64(passed[k])
        word = words[at]
        place = table[_slot(word, shift)]
        while place:
            p = np.uint64(place - 1)
            if anchor[p] == word:
                before = work.gap[p]
                work.gap[p] = before + sign * np.float64(values[at])
                # A value is never zero, so a zero means that x+ lacks the word.
                work.places[count] = p
                count += np.uint64(before == 0.0)
                break
            place = work.chain[p]
    return count


@kernel(inline="always")
def _hint(rows, r):  # type: ignore[no-untyped-def]
    # Of the values only shared words are read, a few a row: hinting at all made it slower.
    for i in range(rows.ends[r], rows.ends[r + 1], _LINE):
        prefetch(rows.words, i)


@kernel
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
    first = rows.ends[a]
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
