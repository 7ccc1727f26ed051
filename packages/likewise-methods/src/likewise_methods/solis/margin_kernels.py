"""Compute z = x * (x+ - x-) of each triplet from sorted CSR rows.

Loss and gradient depend on a triplet only through z (docs/methods/solis.md, (2) and (3)).  The
support of z lies inside that of the anchor x.  The anchor's words are marked in a bit set small
enough for the first-level cache; the other two rows are filtered through it without branches, and
the few words that pass are looked up in the anchor by bisection.  (A merge of three lists
mispredicts a branch at nearly every word.)

z does not depend on the weights.  So z of a window of triplets is built ahead, sorted by anchor,
and read in the order of the triplets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.prefetch import prefetch
from likewise_methods.sparse_rows import Rows

Array = Any

# Most triplets of a window, of the first window, and capacity for numbers of z (30 MB).
_WINDOW, _FIRST = 1 << 18, 1 << 12
_ROOM = 1 << 21
# Triplets filtered before the first of them is finished, so that its values are in cache.
_GROUP = 8
# Prefetch distances in triplets, for rows and for z; words per cache line.
_AHEAD, _SOON = 3, 8
_LINE = 16
# Bits per pass of the radix sort.
_DIGIT = 11
# Indices into ``Work.window``: begin, end, size of the next window, numbers of z in use.
_BEGIN, _END, _NEXT, _USED = range(4)


class Work(NamedTuple):
    """Working memory for one pass over the triplets."""

    anchor: Array  # int64 (1): the row with marked words, or -1
    marks: Array  # uint64: bit set of the anchor's words, by their last bits
    passed: Array  # int64: indices into the other rows that passed the filter
    stops: Array  # int64 (2 per triplet of a group): the end of each row's indices
    places: Array  # int32: indices into the anchor where z may be non-zero
    gap: Array  # float64: x+ - x- at each index of the anchor; zero between triplets
    window: Array  # int64 (4)
    order: Array  # int32: triplets of the window sorted by anchor
    spare: Array  # int32: buffer of the sort
    digits: Array  # int64
    starts: Array  # int64: where z of each triplet begins; -1 if it did not fit
    sizes: Array  # int32: number of non-zeros
    words: Array  # uint32: supports of z
    z: Array  # float64: their values


def new_work(rows: Rows, n: int) -> Work:
    """Allocate the memory for a pass over n triplets of ``rows``."""
    longest = int(np.diff(rows.ends).max(initial=0)) + 1
    # At most one bit in 128 is set (8 kB for rows of 290 words): 1 word in 200 passes wrongly.
    bits = max(10, (128 * longest - 1).bit_length())
    size = max(min(n, _WINDOW), 1)
    # The last part holds the z of one triplet that does not fit into its window.
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
    """Append indices of ``other`` whose words may be the anchor's to ``work.passed``."""
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
    """Return the last index whose word is not above ``word``, without branches."""
    at, size = np.uint64(start), np.uint64(end - start)
    while size > 1:
        half = size >> np.uint64(1)
        at += half * np.uint64(words[at + half] <= word)
        size -= half
    return at


@kernel(inline="always")
def _add_shared(rows, a, low, high, sign, count, work):  # type: ignore[no-untyped-def]
    """Add ``sign`` times the values at words shared with the anchor to ``work.gap``."""
    words, first, end = rows.words, rows.ends[a], rows.ends[a + 1]
    for k in range(low, high):
        at = np.uint64(work.passed[k])
        p = _place(words, first, end, words[at])
        if words[p] == words[at]:
            p -= np.uint64(first)
            before = work.gap[p]
            work.gap[p] = before + sign * np.float64(rows.values[at])
            # Stored values are not zero, so a zero means that x+ lacks the word.
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
    """Write z of triplet t into ``work.words`` and ``work.z`` from ``at``; return its end."""
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
    # Few values are read: ``_filter`` prefetches those.
    for i in range(rows.ends[r], rows.ends[r + 1], _LINE):
        prefetch(rows.words, i)


@kernel(inline="always")
def _sort(triplets, first, n, n_rows, work):  # type: ignore[no-untyped-def]
    """Sort n triplets from ``first`` by anchor into ``work.order`` (radix sort)."""
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
    """Build z of the next triplets from ``first``, as many as are likely to fit."""
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
    # Three quarters of what would fill the memory.
    likely = n if used == 0 else room * done // used * 3 // 4
    work.window[_NEXT] = max(1, min(len(work.order), 8 * n, likely))


@kernel(_nrt=False)
def _build_now(rows, triplets, t, work):  # type: ignore[no-untyped-def]
    """Build z of one triplet that did not fit into its window."""
    at = len(work.words) - 2 * len(work.gap)
    _start(rows, triplets, t, 0, np.uint64(0), work)
    return at, _finish(rows, triplets, t, 0, at, work)


@kernel(inline="always")
def find_margin(rows, triplets, t, work):  # type: ignore[no-untyped-def]
    """Return begin and end of z of triplet t in ``work.words`` and ``work.z``.

    Call it for the triplets in ascending order.
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
    """Compute w.z of every triplet."""
    for t in range(len(triplets)):
        total = 0.0
        at, end = find_margin(rows, triplets, t, work)
        for k in range(at, end):
            total += weights[work.words[k]] * work.z[k]
        out[t] = total


@kernel
def moments(rows, triplets, work, total, squares):  # type: ignore[no-untyped-def]
    """Add z and z^2 of every triplet to ``total`` and ``squares``, per word."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        for k in range(at, end):
            total[work.words[k]] += work.z[k]
            squares[work.words[k]] += work.z[k] ** 2


@kernel
def count_margins(rows, triplets, work, ends):  # type: ignore[no-untyped-def]
    """Compute the row pointers of the CSR matrix of all z."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        ends[t + 1] = ends[t] + end - at


@kernel
def write_margins(rows, triplets, work, ends, words, values):  # type: ignore[no-untyped-def]
    """Write the CSR matrix of all z, after ``count_margins``."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        for k in range(at, end):
            words[ends[t] + k - at] = work.words[k]
            values[ends[t] + k - at] = work.z[k]
