"""Non-negative lassos at one threshold: words enter one by one until none is above it.

The active-set method of Lawson and Hanson: the word whose correlation is highest above the
threshold enters, and the support is solved again (docs/methods/psc.md, (19)).  An entry changes all
correlations by one row: the word's Gram row minus what earlier words explain of it (20).  Later
entries need these rows but not the coefficients, so coefficients are computed at the end, eight
supports of one size at a time, in float64.  Words with a negative coefficient leave, and the vector
starts again from the others.

A number carries its word in its last bits (``simd.label``), so one maximum of registers finds
both.  Words that are above the threshold by the same amount up to 2^-16 (128 words in float32) may
enter in another order, which does not change the result.

Two vectors are processed in turn, a word of the one after a word of the other, so that one has work
while the other waits for the results of its last entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel
from likewise_methods.psc.solver.homotopy import DEPENDENT, DEPENDENT_SHORT, FAR, KERNEL
from likewise_methods.psc.solver.simd import (
    broadcast,
    if_less,
    label,
    labels,
    lanes,
    load,
    minus,
    most,
    pad_width,
    peek,
    plus,
    ratio,
    store,
    times,
    word_of,
    zeros,
)

# Vectors processed in turn; three and four are no faster.
_SLOTS = 2
# Vectors whose supports are solved together: a register's worth of float64.
_GROUP = 8
# In a slot's numbers I: vector, words in its support.  In H: how far the next word to enter is
# above the threshold, with that word for a label, and what counts as nothing.
_ROW, _SIZE = 0, 1
_HEIGHT, _NOTHING = 0, 1
# In f: 1 / pivot of every word of the support, and minus its share in the word that enters.
_BACK, _SHARE = 0, 1
# In x: 1 / pivots, and right-hand sides that become coefficients.
_PIVOT, _VALUE = 0, 1


class Room(NamedTuple):
    """Arrays of one thread, for batches of vectors and supports of up to ``cap`` words out of k."""

    D: NDArray[Any]  # (slots, cap, wide): rows of the words that entered, as in (20)
    t: NDArray[Any]  # (slots, wide): correlations, the threshold taken away
    f: NDArray[Any]  # (slots, 2, cap)
    H: NDArray[Any]  # (slots, 2)
    I: NDArray[np.int64]  # (slots, 2)  # noqa: E741
    A: NDArray[np.float64]  # (cap, cap, group): Gram matrices of supports
    x: NDArray[np.float64]  # (2, cap, group)
    W: NDArray[np.int64]  # (cap, group): their words
    at: NDArray[np.int64]  # (group): their vectors
    rows: NDArray[np.int64]  # (batch): vectors that are not done
    order: NDArray[np.int64]  # (batch): the same by the size of their supports
    starts: NDArray[np.int64]  # (batch): words that a vector starts with
    later: NDArray[np.int64]  # (batch): vectors that words left
    sizes: NDArray[np.int64]  # (cap + 2): where supports of each size start in order


def room(k: int, cap: int, batch: int, dtype: Any) -> Room:
    """Return arrays for supports of up to ``cap`` words out of k and ``batch`` vectors."""
    wide = pad_width(k)
    return Room(
        zeros((_SLOTS, cap, wide), dtype),
        zeros((_SLOTS, wide), dtype),
        zeros((_SLOTS, 2, cap), dtype),
        zeros((_SLOTS, 2), dtype),
        np.zeros((_SLOTS, 2), np.int64),
        zeros((cap, cap, _GROUP), np.float64),
        zeros((2, cap, _GROUP), np.float64),
        zeros((cap, _GROUP), np.int64),
        np.zeros(_GROUP, np.int64),
        np.zeros(batch, np.int64),
        np.zeros(batch, np.int64),
        np.zeros(batch, np.int64),
        np.zeros(batch, np.int64),
        np.zeros(cap + 2, np.int64),
    )


@kernel(**KERNEL, inline="always")
def _higher(top, new, bits, words):  # type: ignore[no-untyped-def]
    """Return, lane by lane, the larger number, with its word for a label."""
    new = label(new, bits, words)
    return if_less(top, new, new, top)


@kernel(**KERNEL, inline="always")
def _begin(given, i, row, level, t, s, bits):  # type: ignore[no-untyped-def]
    """Set t = c - level; return its largest entry, which carries its word."""
    L, one, down = lanes(t), broadcast(t, 1.0), broadcast(t, level)
    top = broadcast(t, -FAR)
    for j in range(0, t.shape[1], L):
        new = minus(load(given, (i, row, j)), down, one)
        store(t, (s, j), new)
        top = _higher(top, new, bits, labels(t, j))
    return most(top)


@kernel(**KERNEL, inline="always")
def _block(D, t, s, j, n, step, own, top, bits, words):  # type: ignore[no-untyped-def]
    """Update t of the words from j on; ``own`` is the new row."""
    store(D, (s, n, j), own)
    new = minus(load(t, (s, j)), step, own)
    store(t, (s, j), new)
    return _higher(top, new, bits, words)


@kernel(**KERNEL, inline="always")
def _enter(G, D, t, f, s, base, word, n, bits):  # type: ignore[no-untyped-def]
    """Add a word as the n-th; return its pivot, and the largest of t, which carries its word.

    Four registers hold the new row and one the largest so far: more do not fit into sixteen
    registers of 32 bytes.
    """
    L, at = lanes(t), base + word
    pivot = peek(G, (at, word))
    for b in range(n):
        x = peek(D, (s, b, word))
        share = x * peek(f, (s, _BACK, b))
        f[s, _SHARE, b] = -share
        pivot -= x * share
    back = t.dtype.type(1.0) / pivot
    f[s, _BACK, n] = back
    step = broadcast(t, peek(t, (s, word)) * back)
    top = broadcast(t, -FAR)
    for j in range(0, t.shape[1], 4 * L):
        a, b = load(G, (at, j)), load(G, (at, j + L))
        d, e = load(G, (at, j + 2 * L)), load(G, (at, j + 3 * L))
        for p in range(n):
            x = broadcast(t, peek(f, (s, _SHARE, p)))
            a = plus(a, x, load(D, (s, p, j)))
            b = plus(b, x, load(D, (s, p, j + L)))
            d = plus(d, x, load(D, (s, p, j + 2 * L)))
            e = plus(e, x, load(D, (s, p, j + 3 * L)))
        top = _block(D, t, s, j, n, step, a, top, bits, labels(t, j))
        top = _block(D, t, s, j + L, n, step, b, top, bits, labels(t, j + L))
        top = _block(D, t, s, j + 2 * L, n, step, d, top, bits, labels(t, j + 2 * L))
        top = _block(D, t, s, j + 3 * L, n, step, e, top, bits, labels(t, j + 3 * L))
    return pivot, most(top)


@kernel(**KERNEL)
def _grow(G, given, i, left, level, still, space, ids, counts):  # type: ignore[no-untyped-def]
    """Add words to ids[i] of the first ``left`` vectors of space.rows until none is above.

    The numbers of words go into counts[i], -1 where the last one depends on the others.
    """
    D, t, f, H, I = space.D, space.t, space.f, space.H, space.I  # noqa: E741
    base, cap, near = i * t.shape[1], D.shape[1], DEPENDENT if lanes(t) == 8 else DEPENDENT_SHORT
    waiting, done, bits = 0, 0, np.int64(0)
    while t.shape[1] > 1 << bits:
        bits += 1
    for s in range(_SLOTS):
        I[s, _ROW] = -1
    while done < left:
        for s in range(_SLOTS):
            row, n, word = I[s, _ROW], I[s, _SIZE], word_of(H[s, _HEIGHT], bits)
            if row < 0:
                if waiting < left:
                    row = space.rows[waiting]
                    waiting += 1
                    highest = _begin(given, i, row, level, t, s, bits)
                    H[s, _HEIGHT], H[s, _NOTHING] = highest, still * (highest + level)
                    I[s, _ROW], I[s, _SIZE] = row, 0
                continue
            if n < space.starts[row]:
                word = np.int64(ids[i, row, n])
            elif H[s, _HEIGHT] <= H[s, _NOTHING] or n == cap:
                counts[i, row] = -1 if H[s, _HEIGHT] > H[s, _NOTHING] else n
                I[s, _ROW] = -1
                done += 1
                continue
            ids[i, row, n] = word
            length = peek(G, (base + word, word))
            pivot, highest = _enter(G, D, t, f, s, base, word, n, bits)
            I[s, _SIZE], H[s, _HEIGHT] = n + 1, highest
            if not pivot > near * length:
                counts[i, row] = -1
                I[s, _ROW] = -1
                done += 1


@kernel(**KERNEL, inline="always")
def _by_size(space, left, counts, i):  # type: ignore[no-untyped-def]
    """Sort the vectors of space.rows by the size of their supports into space.order."""
    sizes = space.sizes
    sizes[:] = 0
    for x in range(left):
        sizes[counts[i, space.rows[x]] + 1] += 1
    for n in range(1, len(sizes)):
        sizes[n] += sizes[n - 1]
    for x in range(left):
        n = counts[i, space.rows[x]]
        space.order[sizes[n]] = space.rows[x]
        sizes[n] += 1


@kernel(**KERNEL, inline="always")
def _gather(E, given, i, rows, n, level, space, ids, counts):  # type: ignore[no-untyped-def]
    """Collect Gram matrices and right-hand sides of some supports, padded to n words.

    Padding words are independent of all others.  Lanes run innermost, so all loops have one length.
    """
    A, x, at, W, base = space.A, space.x, space.at, space.W, i * given.shape[2]
    for lane in range(_GROUP):
        at[lane] = rows[min(lane, len(rows) - 1)]
    for a in range(n):
        for lane in range(_GROUP):
            # Beyond its support a row has words of an earlier one, overwritten below.
            word = np.int64(peek(ids, (i, peek(at, (lane,)), a)))
            W[a, lane] = word
            x[_VALUE, a, lane] = float(peek(given, (i, peek(at, (lane,)), word))) - level
        for b in range(a + 1):
            for lane in range(_GROUP):
                A[a, b, lane] = float(peek(E, (base + peek(W, (a, lane)), peek(W, (b, lane)))))
    for lane in range(_GROUP):
        own = counts[i, rows[lane]] if lane < len(rows) else 0
        for a in range(own, n):
            x[_VALUE, a, lane] = 0.0
            for b in range(a):
                A[a, b, lane] = 0.0
            A[a, a, lane] = 1.0


@kernel(**KERNEL, inline="always")
def _solve(A, x, n):  # type: ignore[no-untyped-def]
    """Solve A u = x in place, by L D L' without square roots."""
    one = broadcast(A, 1.0)
    for c in range(n):
        back, y = ratio(one, load(A, (c, c, 0))), load(x, (_VALUE, c, 0))
        store(x, (_PIVOT, c, 0), back)
        for a in range(c + 1, n):
            share = times(load(A, (a, c, 0)), back)
            for b in range(c + 1, a + 1):
                store(A, (a, b, 0), minus(load(A, (a, b, 0)), share, load(A, (b, c, 0))))
            store(x, (_VALUE, a, 0), minus(load(x, (_VALUE, a, 0)), share, y))
    for a in range(n - 1, -1, -1):
        y = times(load(x, (_VALUE, a, 0)), load(x, (_PIVOT, a, 0)))
        store(x, (_VALUE, a, 0), y)
        for b in range(a):
            store(x, (_VALUE, b, 0), minus(load(x, (_VALUE, b, 0)), y, load(A, (a, b, 0))))


@kernel(**KERNEL)
def _finish(E, given, i, left, level, space, ids, values, counts):  # type: ignore[no-untyped-def]
    """Compute coefficients of the first ``left`` vectors of space.rows: G_SS u = c_S - level.

    Vectors with a coefficient that is not above zero keep their other words and move to the front
    of space.rows; return how many there are.
    """
    rows, order, again = space.rows, space.order, 0
    _by_size(space, left, counts, i)
    for first in range(0, left, _GROUP):
        some = order[first : min(first + _GROUP, left)]
        _gather(E, given, i, some, counts[i, some[-1]], level, space, ids, counts)
        _solve(space.A, space.x, counts[i, some[-1]])
        for lane in range(len(some)):
            row, kept = some[lane], 0
            n = counts[i, row]
            for a in range(n):
                value = peek(space.x, (_VALUE, a, lane))
                ids[i, row, kept], values[i, row, kept] = peek(space.W, (a, lane)), value
                kept += value > 0.0
            rows[again] = row
            again += kept < n
            counts[i, row] = kept
    return again


@kernel(**KERNEL, inline="always")
def _is_above(G, given, i, row, level, still, space, ids, values, n):  # type: ignore[no-untyped-def]
    """Return whether some correlation is above ``level`` with the first n coefficients."""
    L, t, base = lanes(given), space.t, i * given.shape[2]
    top, high = broadcast(t, -FAR), broadcast(t, -FAR)
    for j in range(0, given.shape[2], 2 * L):
        a, b = load(given, (i, row, j)), load(given, (i, row, j + L))
        high = if_less(high, a, a, high)
        high = if_less(high, b, b, high)
        for p in range(n):
            at, u = base + np.int64(ids[i, row, p]), broadcast(t, values[i, row, p])
            a, b = minus(a, u, load(G, (at, j))), minus(b, u, load(G, (at, j + L)))
        top = if_less(top, a, a, top)
        top = if_less(top, b, b, top)
    return float(most(top)) - level > still * float(most(high))


@kernel(**KERNEL)
def at_level(G, E, space, given, level, still, limit, ids, values, counts, status):  # type: ignore[no-untyped-def]
    """Code each part separately at half-threshold ``level``: APSC (docs/methods/psc.md, (10)).

    ``still`` is the share of the largest correlation that counts as rounding.  Vectors whose words
    depend on each other, or that are not done after ``limit`` rounds, get status 1.
    """
    rows, starts, later = space.rows, space.starts, space.later
    for i in range(given.shape[0]):
        left = given.shape[1]
        for row in range(left):
            rows[row], starts[row] = row, 0
        for _ in range(limit):
            _grow(G, given, i, left, level, still, space, ids, counts)
            for x in range(left):
                if counts[i, rows[x]] < 0:
                    status[rows[x]], counts[i, rows[x]] = 1, 0
            left = _finish(E, given, i, left, level, space, ids, values, counts)
            n_later = left
            for x in range(left):
                later[x] = rows[x]
            # Half of the vectors that words left are done with the others, which need not re-enter.
            while left > 0:
                left = _finish(E, given, i, left, level, space, ids, values, counts)
            for x in range(n_later):
                row = later[x]
                starts[row] = counts[i, row]
                rows[left] = row
                left += _is_above(G, given, i, row, level, still, space, ids, values, starts[row])
            if left == 0:
                break
        for x in range(left):
            status[rows[x]] = 1
