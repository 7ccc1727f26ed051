"""The one thing all learners see of a triplet: z = x * (x+ - x-), built from sorted CSR rows.

Loss and gradient follow from it (docs/methods/solis.md, (2) and (3)).  The support of z lies inside
that of the anchor x, so the anchor drives.  Its words are marked in a small set of bits that stays
in the first-level cache (and stays as it is while the anchor repeats); the other two rows are
filtered through it without branches, and the few words that pass are looked up in the anchor by
bisection.  A plain merge of three lists mispredicts a branch at nearly every word.

Nothing in z depends on what has been learnt.  So z of a window of triplets is built ahead, anchor
by anchor, and learners take it in their own order, to the same bits: an anchor is marked and read
once a window, however its triplets are spread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.prefetch import prefetch
from likewise_methods.sparse_rows import Rows

Array = Any

# Triplets of a window at most, of the first one, and numbers of z there is room for: 30 MB.
_WINDOW, _FIRST = 1 << 18, 1 << 12
_ROOM = 1 << 21
# Triplets whose rows are filtered before the first is finished: the values it wants have come then.
_GROUP = 8
# How many triplets ahead rows are hinted at, and how many ahead z; elements in a line of words.
_AHEAD, _SOON = 3, 8
_LINE = 16
# Bits of an anchor that a pass of sorting looks at.
_DIGIT = 11
# In a window's numbers: where it begins and ends, triplets of the next one, numbers of z in use.
_BEGIN, _END, _NEXT, _USED = range(4)


class Work(NamedTuple):
    """Working memory of a pass over triplets, from the first to the last."""

    anchor: Array  # int64 (1): the row whose words are marked, or -1
    marks: Array  # uint64: a bit for the words with the same last digits, set if the anchor has one
    passed: Array  # int64: places in the other rows of a group that passed the filter
    stops: Array  # int64 (2 a triplet of a group): where those of each row end
    places: Array  # int32: places in the anchor that z may touch
    gap: Array  # float64: x+ - x- at each place of the anchor; zero between triplets
    window: Array  # int64 (4)
    order: Array  # int32: triplets of the window, anchor by anchor
    spare: Array  # int32: the same half sorted
    digits: Array  # int64
    starts: Array  # int64: where z of each triplet of the window begins, -1: there was no room
    sizes: Array  # int32: and its non-zeros
    words: Array  # uint32: supports of z
    z: Array  # float64: their values


def new_work(rows: Rows, n: int) -> Work:
    """For a pass over n triplets of ``rows``."""
    longest = int(np.diff(rows.ends).max(initial=0)) + 1
    # One bit in 128 set at most, 8 kB for rows of 290 words: a word in 200 passes for nothing.
    bits = max(10, (128 * longest - 1).bit_length())
    size = max(min(n, _WINDOW), 1)
    # At the end room for one z, for those that a window has no room for.
    room = min(_ROOM, 2 * longest * size) + 2 * longest
    return Work(
        np.array([-1], np.int64), np.zeros(1 << (bits - 6), np.uint64),
        np.empty(2 * _GROUP * longest, np.int64), np.empty(2 * _GROUP, np.int64),
        np.empty(2 * longest, np.int32), np.zeros(longest),
        np.array([0, 0, min(size, _FIRST), 0]),
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(1 << _DIGIT, np.int64),
        np.empty(size, np.int64), np.empty(size, np.int32),
        np.empty(room, np.uint32), np.empty(room),
    )  # fmt: skip


@kernel(inline="always")
def _slot(word, last):  # type: ignore[no-untyped-def]
    return (np.uint64(word) >> np.uint64(6)) & last


@kernel(inline="always")
def _mark(rows, a, work):  # type: ignore[no-untyped-def]
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
def _filter(rows, other, n, work):  # type: ignore[no-untyped-def]
    """Places of ``other`` whose words may be the anchor's, into ``work.passed`` from n on."""
    marks, passed, words = work.marks, work.passed, rows.words
    last = np.uint64(len(marks) - 1)
    first = n
    for i in range(rows.ends[other], rows.ends[other + 1]):
        passed[n] = i
        word = np.uint64(words[np.uint64(i)])
        n += (marks[_slot(word, last)] >> (word & np.uint64(63))) & np.uint64(1)
    for k in range(first, n):
        prefetch(rows.values, passed[k])
    return n


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
def _add_shared(rows, a, low, high, sign, count, work):  # type: ignore[no-untyped-def]
    """Add ``sign`` times the passed words that are the anchor's to ``work.gap``."""
    words, first, end = rows.words, rows.ends[a], rows.ends[a + 1]
    for k in range(low, high):
        at = np.uint64(work.passed[k])
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
def _start(rows, triplets, t, g, n, work):  # type: ignore[no-untyped-def]
    """Filter the rows of triplet t, the g-th of its group."""
    a = triplets[t, 0]
    if a != work.anchor[0]:
        _mark(rows, a, work)
    for c in range(2):
        n = _filter(rows, triplets[t, c + 1], n, work)
        work.stops[2 * g + c] = n
    return n


@kernel(inline="always")
def _finish(rows, triplets, t, g, at, work):  # type: ignore[no-untyped-def]
    """z of triplet t into ``work.words`` and ``work.z`` from ``at`` on; gives where it ends."""
    a, low = triplets[t, 0], work.stops[2 * g - 1] if g > 0 else 0
    middle, high = work.stops[2 * g], work.stops[2 * g + 1]
    count = _add_shared(rows, a, low, middle, 1.0, np.uint64(0), work)
    count = _add_shared(rows, a, middle, high, -1.0, count, work)
    first, n = np.uint64(rows.ends[a]), np.uint64(at)
    for k in range(count):
        p = np.uint64(work.places[k])
        z = np.float64(rows.values[first + p]) * work.gap[p]
        work.gap[p] = 0.0
        work.words[n] = rows.words[first + p]
        work.z[n] = z
        n += np.uint64(z != 0.0)
    return np.int64(n)


@kernel(inline="always")
def _hint(rows, r):  # type: ignore[no-untyped-def]
    # Of the values only shared words are read, a few a row: ``_filter`` hints at those.
    for i in range(rows.ends[r], rows.ends[r + 1], _LINE):
        prefetch(rows.words, i)


@kernel(inline="always")
def _sort(triplets, first, n, n_rows, work):  # type: ignore[no-untyped-def]
    """``work.order``: the n triplets from ``first`` on by their anchors, digit by digit."""
    order, spare, digits = work.order, work.spare, work.digits
    for i in range(n):
        order[i] = i
    shift = 0
    while shift == 0 or n_rows >> shift > 0:
        for d in range(len(digits)):
            digits[d] = 0
        for i in range(n):
            digits[(triplets[first + i, 0] >> shift) & (len(digits) - 1)] += 1
        total = 0
        for d in range(len(digits)):
            total, digits[d] = total + digits[d], total
        for i in range(n):
            d = (triplets[first + order[i], 0] >> shift) & (len(digits) - 1)
            spare[digits[d]] = order[i]
            digits[d] += 1
        for i in range(n):
            order[i] = spare[i]
        shift += _DIGIT


@kernel(_nrt=False)
def _open_window(rows, triplets, first, work):  # type: ignore[no-untyped-def]
    """z of the triplets from ``first`` on, as many as are likely to find room."""
    n = min(work.window[_NEXT], len(triplets) - first)
    _sort(triplets, first, n, len(rows.ends) - 1, work)
    longest, used, done = len(work.gap), 0, 0
    room = len(work.words) - 2 * longest
    for i in range(n):
        work.starts[i] = -1
    for group in range(0, n, _GROUP):
        size = min(_GROUP, n - group)
        if used + 2 * longest * size > room:
            break
        passed = np.uint64(0)
        for g in range(size):
            ahead = group + g + _AHEAD
            if ahead < n:
                t = first + work.order[ahead]
                if triplets[t, 0] != work.anchor[0]:
                    _hint(rows, triplets[t, 0])
                _hint(rows, triplets[t, 1])
                _hint(rows, triplets[t, 2])
            passed = _start(rows, triplets, first + work.order[group + g], g, passed, work)
        for g in range(size):
            i = work.order[group + g]
            end = _finish(rows, triplets, first + i, g, used, work)
            work.starts[i], work.sizes[i] = used, end - used
            used = end
        done += size
    work.window[_BEGIN], work.window[_END], work.window[_USED] = first, first + n, used
    # Three quarters of what would fill the room.
    likely = n if used == 0 else room * done // used * 3 // 4
    work.window[_NEXT] = max(1, min(len(work.order), 8 * n, likely))


@kernel(_nrt=False)
def _build_now(rows, triplets, t, work):  # type: ignore[no-untyped-def]
    """z of a triplet that its window had no room for, at the end of all."""
    at = len(work.words) - 2 * len(work.gap)
    _start(rows, triplets, t, 0, np.uint64(0), work)
    return at, _finish(rows, triplets, t, 0, at, work)


@kernel(inline="always")
def find_margin(rows, triplets, t, work):  # type: ignore[no-untyped-def]
    """Where z of triplet t begins and ends in ``work.words`` and ``work.z``.

    Triplets are asked for from the first to the last.
    """
    if t >= work.window[_END]:
        _open_window(rows, triplets, t, work)
    i = t - work.window[_BEGIN]
    soon = work.starts[min(i + _SOON, work.window[_END] - work.window[_BEGIN] - 1)]
    prefetch(work.words, soon)
    prefetch(work.z, soon)
    at = work.starts[i]
    if at < 0:
        return _build_now(rows, triplets, t, work)
    return at, at + np.int64(work.sizes[i])


@kernel
def margins(rows, triplets, weights, work, out):  # type: ignore[no-untyped-def]
    """w.z of every triplet."""
    for t in range(len(triplets)):
        total = 0.0
        at, end = find_margin(rows, triplets, t, work)
        for k in range(at, end):
            total += weights[work.words[k]] * work.z[k]
        out[t] = total


@kernel
def moments(rows, triplets, work, total, squares):  # type: ignore[no-untyped-def]
    """Add z and z^2 of every triplet to ``total`` and ``squares``, one entry a word."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        for k in range(at, end):
            total[work.words[k]] += work.z[k]
            squares[work.words[k]] += work.z[k] ** 2


@kernel
def count_margins(rows, triplets, work, ends):  # type: ignore[no-untyped-def]
    """Non-zeros of every z, summed up: where each begins in a matrix of them."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        ends[t + 1] = ends[t] + end - at


@kernel
def write_margins(rows, triplets, work, ends, words, values):  # type: ignore[no-untyped-def]
    """The matrix of all z, after ``count_margins``."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        for k in range(at, end):
            words[ends[t] + k - at] = work.words[k]
            values[ends[t] + k - at] = work.z[k]
