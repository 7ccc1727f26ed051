"""The homotopy of one non-negative lasso: its path as the threshold h falls or rises.

For words a_j (rows) and a vector x, u(h) minimises 1/2 |x - sum u_j a_j|^2 + h |u|_1 over u >= 0.
With c_j = a_j'(x - sum u_l a_l): c_j = h on the support and c_j <= h elsewhere.  While the support
S stays, u_S changes by q = G_SS^-1 1 and c by -G_.S q for each unit that h falls.  So the next
event is known in advance: a coefficient reaches zero or a correlation reaches h.  This is the path
of Efron et al. 2004 (docs/methods/psc.md, (7)).  h may be negative: the same pieces lead on to
larger masses.

Loops over all words run in the type of the Gram rows (float32 or float64), the support's numbers in
float64.  Supports are small (a dozen words), so the inverse of G_SS is kept: an entering or leaving
word costs one product and one rank-one update, which also update q.  ``settle`` removes the
rounding errors of these updates.

A state is five arrays for one thread.  Part i of each belongs to path i of m, which reads rows i k
to i k + k of the stacked Gram matrices G (for loops over all words) and E (float64, for supports).
k is the number of words, padded to ``simd.pad_width`` with words far from everything.

    F[i, NOW]   h, mass, its rate, length of the piece, scale,     I[i, END]  see SIZE to WORDS
                the step that c has not taken yet
    F[i, U]     coefficients of the support                        I[i, ACT]  words of the support
    F[i, Q]     their rates                                        I[i, ROW]  their rows in G
    F[i, V0]    the inverse, row by row, from here on
    c[i], w[i]  correlations and their rates                       B          a set to sort words by

Behind the support's last word U, Q and the inverse are zero, so loops may take eight words at a
time.  A scalar that was just written delays a vector load around it, so each step writes what it
needs the way it will read it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel
from likewise_methods.psc.solver.simd import (
    broadcast,
    count_up,
    if_less,
    if_same,
    lane_at,
    lanes,
    least,
    load,
    minus,
    most,
    pad_width,
    peek,
    plus,
    ratio,
    store,
    times,
    total,
    zeros,
)

# numpy's error model: no test for zero before each division.  Nothing is allocated, so references
# need no counting, and what runs at every step is inlined: this saves a third of the time.
KERNEL: dict[str, Any] = {"error_model": "numpy", "_nrt": False}

# Rows of a state's arrays F and I, and a place in the first.
NOW, Q, ROW = 0, 2, 1
DUE = 5
FAR = 1e30


@kernel(**KERNEL, inline="always")
def _nearer(way, rate, word, other_way, other_rate, other_word):  # type: ignore[no-untyped-def]
    """Return, lane by lane, the smaller way / rate without dividing.

    Ways and the first rate are above zero; the other is skipped where its rate is not.
    """
    a, b = times(other_way, rate), times(way, other_rate)
    return (
        if_less(a, b, other_way, way),
        if_less(a, b, other_rate, rate),
        if_less(a, b, other_word, word),
    )


@kernel(**KERNEL, inline="always")
def _block(c, w, i, j, due, h, sign, tiny, own, way, rate, word):  # type: ignore[no-untyped-def]
    """Compare the words from j on, whose rates ``own`` are new, with the nearest so far."""
    now = minus(load(c, (i, j)), due, load(w, (i, j)))
    store(c, (i, j), now)
    store(w, (i, j), own)
    left = minus(h, broadcast(c, 1.0), now)
    left = if_less(left, tiny, tiny, left)
    return _nearer(way, rate, word, left, minus(sign, sign, own), count_up(c, j))


@kernel(**KERNEL, inline="always")
def ahead(G, F, I, c, w, i, n, h, sign, tiny):  # type: ignore[no-untyped-def]  # noqa: E741
    """Return the step after which the first correlation reaches h, and its word; 1e30 if none.

    Correlations take the step that is due and get new rates, the sum of q_p times Gram row p.
    Distances below ``tiny`` count as ``tiny``, so words that stay at h up to rounding (copies, and
    words that depend on the support) are far away.

    Four registers of words are processed at a time, each with a nearest of its own, so none waits.
    """
    L = lanes(c)
    zero, one, sign = broadcast(c, 0.0), broadcast(c, 1.0), broadcast(c, sign)
    h, tiny, due = broadcast(c, h), broadcast(c, tiny), broadcast(c, F[i, NOW, DUE])
    never = broadcast(c, 1e-30)
    wa, wb, wd, we, ra, rb, rd, re = one, one, one, one, never, never, never, never
    ja, jb, jd, je = zero, zero, zero, zero
    for j in range(0, c.shape[1], 4 * L):
        a, b, d, e = zero, zero, zero, zero
        for p in range(n):
            q, row = broadcast(c, F[i, Q, p]), peek(I, (i, ROW, p))
            a = plus(a, q, load(G, (row, j)))
            b = plus(b, q, load(G, (row, j + L)))
            d = plus(d, q, load(G, (row, j + 2 * L)))
            e = plus(e, q, load(G, (row, j + 3 * L)))
        wa, ra, ja = _block(c, w, i, j, due, h, sign, tiny, a, wa, ra, ja)
        wb, rb, jb = _block(c, w, i, j + L, due, h, sign, tiny, b, wb, rb, jb)
        wd, rd, jd = _block(c, w, i, j + 2 * L, due, h, sign, tiny, d, wd, rd, jd)
        we, re, je = _block(c, w, i, j + 3 * L, due, h, sign, tiny, e, we, re, je)
    wa, ra, ja = _nearer(wa, ra, ja, wb, rb, jb)
    wd, rd, jd = _nearer(wd, rd, jd, we, re, je)
    way, rate, word = _nearer(wa, ra, ja, wd, rd, jd)
    steps = ratio(way, rate)
    step = least(steps)
    F[i, NOW, DUE] = 0.0
    return float(step), int(lane_at(steps, step, word))


@kernel(**KERNEL, inline="always")
def largest(c, i):  # type: ignore[no-untyped-def]
    """Return the word with the largest correlation."""
    L = lanes(c)
    top, word = load(c, (i, 0)), count_up(c, 0)
    for j in range(L, c.shape[1], L):
        new = load(c, (i, j))
        word = if_less(top, new, count_up(c, j), word)
        top = if_less(top, new, new, top)
    return int(lane_at(top, most(top), word))


@kernel(**KERNEL, inline="always")
def height(F, c, w, i):  # type: ignore[no-untyped-def]
    """Return the largest correlation after the step that is due."""
    L = lanes(c)
    due = broadcast(c, F[i, NOW, DUE])
    top = broadcast(c, -FAR)
    for j in range(0, c.shape[1], L):
        new = minus(load(c, (i, j)), due, load(w, (i, j)))
        top = if_less(top, new, new, top)
    return float(most(top))


# A word whose squared distance to the span of the support is below this share of its squared length
# depends on it; the second is for Gram matrices in float32.
DEPENDENT, DEPENDENT_SHORT = 1e-11, 1e-5

U, SPARE, SPARE2, V0 = 1, 3, 4, 5
H, MASS, RATE, STEP, SCALE = 0, 1, 2, 3, 4
ACT, END = 0, 2
SIZE, EVENT, WHO, DEPENDS, MOST, WORDS = 0, 1, 2, 3, 4, 5
NO_EVENT, ENTERS, LEAVES = 0, 1, 2


class State(NamedTuple):
    """Arrays for m paths; see the module's description."""

    F: NDArray[np.float64]
    I: NDArray[np.int64]  # noqa: E741
    c: NDArray[Any]
    w: NDArray[Any]
    B: NDArray[np.int64]


def room(k: int, most: NDArray[np.int64], dtype: Any) -> State:
    """Return a state for paths over k words; ``most`` is the largest support of each."""
    # Loops over a support run to the next multiple of eight, and one word more.
    m, cap, wide = len(most), ((int(most.max()) + 7) & ~7) + 8, pad_width(k)
    c, w = (zeros((m, wide), dtype) for _ in range(2))
    floats, whole = zeros((m, V0 + cap, cap), np.float64), np.zeros((m, 3, cap), np.int64)
    whole[:, END, MOST], whole[:, END, WORDS] = most, k
    return State(floats, whole, c, w, np.zeros((2, wide), np.int64))


@kernel(**KERNEL, inline="always")
def _fading(F, i, n, sign):  # type: ignore[no-untyped-def]
    """Return the mass's rate, the step after which the first coefficient is zero, and its place."""
    zero, one = broadcast(F, 0.0), broadcast(F, 1.0)
    way, rate, place, rates = one, broadcast(F, 1.0 / FAR), zero, zero
    for a in range(0, n, 8):
        q, u = load(F, (i, Q, a)), load(F, (i, U, a))
        rates = plus(rates, one, q)
        loss = times(q, broadcast(F, -sign))
        loss, u = if_less(loss, zero, zero, loss), if_less(u, zero, zero, u)
        # u / loss < way / rate, for a loss above zero.
        x, y = times(u, rate), times(way, loss)
        place = if_less(x, y, count_up(F, a), place)
        way, rate = if_less(x, y, u, way), if_less(x, y, loss, rate)
    steps = ratio(way, rate)
    first = least(steps)
    return total(rates), first, int(lane_at(steps, first, place))


@kernel(**KERNEL, inline="always")
def look(G, F, I, c, w, i, sign, still):  # type: ignore[no-untyped-def]  # noqa: E741
    """Find the end of the current piece; ``sign`` is 1 for a falling h, -1 for a rising one.

    ``still`` is the share of the largest correlation that counts as rounding.
    """
    n = I[i, END, SIZE]
    step, who = ahead(G, F, I, c, w, i, n, F[i, NOW, H], sign, still * F[i, NOW, SCALE])
    event = ENTERS
    if step > 1e20 or n >= I[i, END, MOST]:
        # All other words depend on a full support: they move along with h.
        step, event = FAR, NO_EVENT
    rate, first, place = _fading(F, i, n, sign)
    if first < min(step, 1e20):
        step, event, who = first, LEAVES, place
    F[i, NOW, RATE], F[i, NOW, STEP] = rate, step
    I[i, END, EVENT], I[i, END, WHO] = event, who


@kernel(**KERNEL, inline="always")
def go(F, I, i, step):  # type: ignore[no-untyped-def]  # noqa: E741
    """Let h fall by ``step`` (rise, if that is negative) along the current piece.

    Correlations follow when they are next read.
    """
    x = broadcast(F, step)
    for a in range(0, I[i, END, SIZE], 8):
        store(F, (i, U, a), plus(load(F, (i, U, a)), x, load(F, (i, Q, a))))
    F[i, NOW, H] -= step
    F[i, NOW, MASS] += step * F[i, NOW, RATE]
    F[i, NOW, DUE] = step


@kernel(**KERNEL, inline="always")
def enter(E, F, I, c, i, j):  # type: ignore[no-untyped-def]  # noqa: E741
    """Add word j to the support with coefficient zero, unless it depends on the support.

    With g = G_Sj, v = G_SS^-1 g and r = G_jj - g'v, the new inverse is the old one, bordered by
    zeros, plus (v, -1)(v, -1)' / r.
    """
    n, row = I[i, END, SIZE], i * c.shape[1] + j
    c[i, j] = -FAR
    length = float(peek(E, (row, j)))
    one, new = broadcast(F, 1.0), broadcast(F, float(n))
    inside, across = broadcast(F, 0.0), broadcast(F, 0.0)
    for a in range(0, n + 1, 8):
        v, g, places = broadcast(F, 0.0), broadcast(F, 0.0), count_up(F, a)
        for b in range(n):
            x = broadcast(F, float(peek(E, (row, peek(I, (i, ACT, b))))))
            v = plus(v, x, load(F, (i, V0 + b, a)))
            g = if_same(places, broadcast(F, float(b)), x, g)
        inside, across = plus(inside, v, g), plus(across, v, one)
        store(F, (i, SPARE, a), if_same(count_up(F, a), new, broadcast(F, -1.0), v))
    rest, beyond = length - total(inside), total(across) - 1.0
    if rest <= (DEPENDENT if lanes(E) == 8 else DEPENDENT_SHORT) * length:
        I[i, END, DEPENDS] = 1
        return
    rest = 1.0 / rest
    for a in range(0, n + 1, 8):
        v = times(load(F, (i, SPARE, a)), broadcast(F, rest))
        store(F, (i, Q, a), plus(load(F, (i, Q, a)), v, broadcast(F, beyond)))
        for b in range(n + 1):
            x = broadcast(F, F[i, SPARE, b])
            store(F, (i, V0 + b, a), plus(load(F, (i, V0 + b, a)), x, v))
    I[i, ACT, n], I[i, ROW, n] = j, row
    I[i, END, SIZE] = n + 1


@kernel(**KERNEL, inline="always")
def leave(F, I, c, w, i, p):  # type: ignore[no-untyped-def]  # noqa: E741
    """Remove the word at place p of the support; the last word takes its place."""
    n = I[i, END, SIZE]
    last, j = n - 1, I[i, ACT, p]
    # As if the step that is due had not been taken.
    c[i, j] = F[i, NOW, H] + F[i, NOW, DUE] * float(w[i, j])
    own = 1.0 / F[i, V0 + p, p]
    x = F[i, Q, p] * own
    for a in range(0, n, 8):
        v = load(F, (i, V0 + p, a))
        store(F, (i, SPARE, a), v)
        store(F, (i, Q, a), minus(load(F, (i, Q, a)), v, broadcast(F, x)))
    for a in range(0, n, 8):
        v = times(load(F, (i, SPARE, a)), broadcast(F, own))
        for b in range(n):
            x = broadcast(F, F[i, SPARE, b])
            store(F, (i, V0 + b, a), minus(load(F, (i, V0 + b, a)), x, v))
    I[i, ACT, p], I[i, ROW, p] = I[i, ACT, last], I[i, ROW, last]
    F[i, U, p], F[i, Q, p] = F[i, U, last], F[i, Q, last]
    F[i, U, last], F[i, Q, last] = 0.0, 0.0
    for a in range(n):
        F[i, V0 + p, a] = F[i, V0 + last, a]
    for a in range(n):
        F[i, V0 + a, p] = F[i, V0 + a, last]
    for a in range(n):
        F[i, V0 + last, a] = 0.0
        F[i, V0 + a, last] = 0.0
    I[i, END, SIZE] = last


@kernel(**KERNEL, inline="always")
def turn(E, F, I, c, w, i):  # type: ignore[no-untyped-def]  # noqa: E741
    """Apply the event at the end of the piece."""
    if I[i, END, EVENT] == ENTERS:
        enter(E, F, I, c, i, I[i, END, WHO])
    else:
        leave(F, I, c, w, i, I[i, END, WHO])


@kernel(**KERNEL, inline="always")
def forget(F, I, i):  # type: ignore[no-untyped-def]  # noqa: E741
    """Empty the support and zero what was used of the state."""
    n, zero = I[i, END, SIZE], broadcast(F, 0.0)
    for a in range(0, n, 8):
        store(F, (i, Q, a), zero)
        store(F, (i, U, a), zero)
        for b in range(n):
            store(F, (i, V0 + b, a), zero)
    I[i, END, SIZE], I[i, END, DEPENDS], F[i, NOW, MASS], F[i, NOW, DUE] = 0, 0, 0.0, 0.0


@kernel(**KERNEL, inline="always")
def begin(E, F, I, c, w, given, i, at):  # type: ignore[no-untyped-def]  # noqa: E741
    """Start the path for the correlations given[i, at]: no mass, h at the largest of them."""
    forget(F, I, i)
    L = lanes(c)
    for j in range(0, c.shape[1], L):
        store(c, (i, j), load(given, (i, at, j)))
        store(w, (i, j), broadcast(w, 0.0))
    for j in range(I[i, END, WORDS], c.shape[1]):
        c[i, j] = -FAR
    first = largest(c, i)
    F[i, NOW, H] = float(c[i, first])
    F[i, NOW, SCALE] = abs(F[i, NOW, H])
    c[i, first] = -FAR
    row = i * c.shape[1] + first
    length = float(peek(E, (row, first)))
    if length <= 0.0:
        I[i, END, DEPENDS] = 1
        return
    I[i, ACT, 0], I[i, ROW, 0], I[i, END, SIZE] = first, row, 1
    F[i, V0, 0], F[i, Q, 0] = 1.0 / length, 1.0 / length


@kernel(**KERNEL)
def walk(G, E, F, I, c, w, i, target, still, limit):  # type: ignore[no-untyped-def]  # noqa: E741
    """Move h to ``target``, up or down; return True if it arrived."""
    sign = 1.0 if F[i, NOW, H] >= target else -1.0
    for _ in range(limit):
        look(G, F, I, c, w, i, sign, still)
        left = sign * (F[i, NOW, H] - target)
        if F[i, NOW, STEP] >= left:
            go(F, I, i, sign * left)
            return True
        go(F, I, i, sign * F[i, NOW, STEP])
        turn(E, F, I, c, w, i)
        if I[i, END, SIZE] == 0:
            return True
    return False


@kernel(**KERNEL, inline="always")
def sound(F, c, w, i, still):  # type: ignore[no-untyped-def]
    """Return whether no correlation is above h, up to rounding: x is then optimal for h."""
    return height(F, c, w, i) <= F[i, NOW, H] + 10.0 * still * F[i, NOW, SCALE]


@kernel(**KERNEL)
def settle(E, F, I, given, i, row):  # type: ignore[no-untyped-def]  # noqa: E741
    """Recompute p = G_SS^-1 c_S into U and q = G_SS^-1 1, so that u(h) = p - h q without drift.

    One step of refinement, x + V (b - G x), squares the errors of the inverse V; correlations in
    float32 have larger errors of their own.
    """
    n, base, rates = I[i, END, SIZE], i * given.shape[2], broadcast(F, 0.0)
    for a in range(0, n, 8):
        x = broadcast(F, 0.0)
        for b in range(n):
            own = broadcast(F, float(peek(given, (i, row, peek(I, (i, ACT, b))))))
            x = plus(x, own, load(F, (i, V0 + b, a)))
        store(F, (i, U, a), x)
    if lanes(given) == 8:
        for a in range(n):
            word = I[i, ACT, a]
            x, y = float(given[i, row, word]), 1.0
            for b in range(n):
                z = float(E[base + word, I[i, ACT, b]])
                x -= z * F[i, U, b]
                y -= z * F[i, Q, b]
            F[i, SPARE, a], F[i, SPARE2, a] = x, y
        for a in range(n):
            x, y = F[i, U, a], F[i, Q, a]
            for b in range(n):
                x += F[i, V0 + a, b] * F[i, SPARE, b]
                y += F[i, V0 + a, b] * F[i, SPARE2, b]
            F[i, U, a], F[i, Q, a] = x, y
    for a in range(0, n, 8):
        rates = plus(rates, broadcast(F, 1.0), load(F, (i, Q, a)))
    F[i, NOW, RATE] = total(rates)
