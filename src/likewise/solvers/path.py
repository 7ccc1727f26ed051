"""The path of one non-negative lasso as its threshold falls or rises, one straight piece at a time.

For words a_j (rows) and a vector x, u(h) minimises 1/2 |x - sum u_j a_j|^2 + h |u|_1 over u >= 0.
With c_j = a_j'(x - sum u_l a_l): c_j = h on the support, c_j <= h elsewhere.  While the support S
stays, u_S changes by q = G_SS^-1 1 for each unit that h falls and c by -G_.S q, so the next event
(a coefficient reaches zero, a correlation reaches h) is known in advance; this is the path of Efron
et al. 2004.  Nothing here asks for h > 0: below zero the same pieces lead on to larger masses.

Scans over all words run in the type of the Gram rows (float32 or float64), everything about the
support in float64.  Supports are small (a dozen words), so the inverse of G_SS itself is kept: one
product and one rank-one change a word, and q comes with them.  ``settle`` removes what rounding
has done to it.

A state is seven arrays for one thread; [i] of each belongs to path i of m, which runs over rows
i k to i k + k of the stacked Gram matrices G (for scans) and E (float64, for supports):

    F[i, NOW]   h, mass, its rate, length of the piece, scale      I[i, END]  see SIZE to MOST
    F[i, U]     coefficients of the support                        I[i, ACT]  words of the support
    F[i, Q]     their rates                                        I[i, ROW]  their rows in G
    F[i, V0]    the inverse, row by row, from here on
    c[i], w[i], t[i]   correlations, their rates, steps until they reach h
    cb, tb             the memory of c and t as integers, whose minima run in vector registers

Few arrays, because each one costs several registers in every call of a kernel by a kernel; but
arrays of their own for c, w and t, or the compiler will not vectorise loops over them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from likewise.solvers.path_scan import FAST, KERNEL, ROW, Q, ahead, combine, largest, soonest

# A word whose squared distance to the span of the support is below this share of its squared
# length is taken as a combination of it; the second where Gram matrices are in float32.
_DEPENDENT, _DEPENDENT_SHORT = 1e-11, 1e-5
FAR = 1e30

NOW, U, SPARE, SPARE2, V0 = 0, 1, 3, 4, 5
H, MASS, RATE, STEP, SCALE = 0, 1, 2, 3, 4
ACT, END = 0, 2
SIZE, EVENT, WHO, DEPENDS, MOST = 0, 1, 2, 3, 4
NOBODY, ENTERS, LEAVES = 0, 1, 2


class State(NamedTuple):
    """Room for m paths; see the head of this file."""

    F: NDArray[np.float64]
    I: NDArray[np.int64]  # noqa: E741
    c: NDArray[Any]
    w: NDArray[Any]
    t: NDArray[Any]
    cb: NDArray[Any]
    tb: NDArray[Any]


def room(k: int, most: NDArray[np.int64], dtype: Any) -> State:
    """A state for paths over k words; ``most`` is the largest support of each."""
    # Loops over a support run to the next multiple of four, and one word further.
    m, cap = len(most), ((int(most.max()) + 3) & ~3) + 8
    c, w, t = (np.zeros((m, k), dtype) for _ in range(3))
    bits = np.int32 if c.itemsize == 4 else np.int64
    floats, whole = np.zeros((m, V0 + cap, cap)), np.zeros((m, 3, cap), np.int64)
    whole[:, END, MOST] = most
    return State(floats, whole, c, w, t, c.view(bits), t.view(bits))


@njit(**KERNEL, inline="always")
def look(G, F, I, c, w, t, tb, i, sign, still):  # type: ignore[no-untyped-def]  # noqa: E741
    """The piece at hand and its end; ``sign`` is 1 for a falling h, -1 for a rising one.

    ``still`` is the share of the largest correlation that counts as nothing.
    """
    n = I[i, END, SIZE]
    combine(G, F, I, w, i, n)
    ahead(c, w, t, i, F[i, NOW, H], sign, still * F[i, NOW, SCALE])
    who = soonest(tb, i)
    step = float(t[i, who])
    event = ENTERS
    if step > 1e20 or n >= I[i, END, MOST]:
        # All other words depend on a full support: they move along with h.
        step, event = FAR, NOBODY
    rate = 0.0
    for p in range(n):
        rate += F[i, Q, p]
        loss = -sign * F[i, Q, p]
        if loss > 0.0 and F[i, U, p] <= loss * step:
            step, event, who = F[i, U, p] / loss, LEAVES, p
    F[i, NOW, RATE], F[i, NOW, STEP] = rate, step
    I[i, END, EVENT], I[i, END, WHO] = event, who


@njit(**KERNEL, inline="always", fastmath=FAST)
def go(F, I, c, w, i, step):  # type: ignore[no-untyped-def]  # noqa: E741
    """h falls by ``step`` (rises, if that is negative) along the piece looked at."""
    for p in range(I[i, END, SIZE]):
        F[i, U, p] += step * F[i, Q, p]
    F[i, NOW, H] -= step
    F[i, NOW, MASS] += step * F[i, NOW, RATE]
    short = c.dtype.type(step)
    for j in range(c.shape[1]):
        c[i, j] -= short * w[i, j]


@njit(**KERNEL, inline="always", fastmath=FAST)
def enter(E, F, I, c, i, j):  # type: ignore[no-untyped-def]  # noqa: E741
    """Word j joins the support with coefficient zero, unless it depends on the support.

    With g = G_Sj, v = G_SS^-1 g and r = G_jj - g'v, the new inverse is the old one, bordered by
    zeros, plus (v, -1)(v, -1)' / r.
    """
    n, row = I[i, END, SIZE], i * c.shape[1] + j
    c[i, j] = -FAR
    wide = (n + 3) & ~3
    for a in range(wide + 4):
        F[i, SPARE, a] = 0.0
    length = float(E[row, j])
    rest, over = length, -1.0
    for b in range(n):
        x = float(E[row, I[i, ACT, b]])
        for a in range(wide):
            F[i, SPARE, a] += x * F[i, V0 + b, a]
    for a in range(n):
        rest -= float(E[row, I[i, ACT, a]]) * F[i, SPARE, a]
        over += F[i, SPARE, a]
    if rest <= (_DEPENDENT if E.itemsize == 8 else _DEPENDENT_SHORT) * length:
        I[i, END, DEPENDS] = 1
        return
    F[i, SPARE, n] = -1.0
    wide = (n + 4) & ~3
    for b in range(n + 1):
        x = F[i, SPARE, b] / rest
        for a in range(wide):
            F[i, V0 + b, a] += x * F[i, SPARE, a]
    x = over / rest
    for a in range(wide):
        F[i, Q, a] += x * F[i, SPARE, a]
    I[i, ACT, n], I[i, ROW, n], F[i, U, n] = j, row, 0.0
    I[i, END, SIZE] = n + 1


@njit(**KERNEL, inline="always", fastmath=FAST)
def leave(F, I, c, i, p):  # type: ignore[no-untyped-def]  # noqa: E741
    """The word at place p of the support goes; the last one takes its place."""
    n = I[i, END, SIZE]
    wide, last = (n + 3) & ~3, n - 1
    c[i, I[i, ACT, p]] = F[i, NOW, H]
    for a in range(wide):
        F[i, SPARE, a] = F[i, V0 + p, a]
    own = F[i, SPARE, p]
    x = F[i, Q, p] / own
    for a in range(wide):
        F[i, Q, a] -= x * F[i, SPARE, a]
    for b in range(n):
        x = F[i, SPARE, b] / own
        for a in range(wide):
            F[i, V0 + b, a] -= x * F[i, SPARE, a]
    I[i, ACT, p], I[i, ROW, p] = I[i, ACT, last], I[i, ROW, last]
    F[i, U, p], F[i, Q, p] = F[i, U, last], F[i, Q, last]
    for a in range(n):
        F[i, V0 + p, a] = F[i, V0 + last, a]
    for a in range(n):
        F[i, V0 + a, p] = F[i, V0 + a, last]
    F[i, Q, last] = 0.0
    for a in range(wide):
        F[i, V0 + last, a] = 0.0
        F[i, V0 + a, last] = 0.0
    I[i, END, SIZE] = last


@njit(**KERNEL, inline="always")
def turn(E, F, I, c, i):  # type: ignore[no-untyped-def]  # noqa: E741
    """The event at the end of the piece."""
    if I[i, END, EVENT] == ENTERS:
        enter(E, F, I, c, i, I[i, END, WHO])
    else:
        leave(F, I, c, i, I[i, END, WHO])


@njit(**KERNEL)
def forget(F, I, i):  # type: ignore[no-untyped-def]  # noqa: E741
    """No support; what was used of the state is zero again."""
    wide = (I[i, END, SIZE] + 3) & ~3
    for a in range(wide):
        F[i, Q, a] = 0.0
    for b in range(wide):
        for a in range(wide):
            F[i, V0 + b, a] = 0.0
    I[i, END, SIZE], I[i, END, DEPENDS], F[i, NOW, MASS] = 0, 0, 0.0


@njit(**KERNEL)
def begin(E, F, I, c, cb, given, i, row):  # type: ignore[no-untyped-def]  # noqa: E741
    """The path's start for the correlations given[i, row]: no mass, h at the largest of them."""
    forget(F, I, i)
    for j in range(c.shape[1]):
        c[i, j] = given[i, row, j]
    first = largest(cb, i)
    F[i, NOW, H] = float(c[i, first])
    F[i, NOW, SCALE] = abs(F[i, NOW, H])
    enter(E, F, I, c, i, first)


@njit(**KERNEL, fastmath=FAST)
def walk(G, E, F, I, c, w, t, tb, i, target, still, limit):  # type: ignore[no-untyped-def]  # noqa: E741
    """Bring h to ``target``, up or down; True if it arrived.  Without support it stands."""
    sign = 1.0 if F[i, NOW, H] >= target else -1.0
    for _ in range(limit):
        look(G, F, I, c, w, t, tb, i, sign, still)
        left = sign * (F[i, NOW, H] - target)
        if F[i, NOW, STEP] >= left:
            go(F, I, c, w, i, sign * left)
            return True
        go(F, I, c, w, i, sign * F[i, NOW, STEP])
        turn(E, F, I, c, i)
        if I[i, END, SIZE] == 0:
            return True
    return False


@njit(**KERNEL)
def sound(F, c, cb, i, still):  # type: ignore[no-untyped-def]
    """Whether no correlation is above h, but for rounding: the optimum, for this h."""
    top = float(c[i, largest(cb, i)])
    return top <= F[i, NOW, H] + 10.0 * still * F[i, NOW, SCALE]


@njit(**KERNEL, fastmath=FAST)
def settle(E, F, I, given, i, row):  # type: ignore[no-untyped-def]  # noqa: E741
    """p = G_SS^-1 c_S into U and q = G_SS^-1 1 anew, so that u(h) = p - h q: no drift is left.

    One step of refinement, x + V (b - G x), takes the errors of the inverse V to their square;
    correlations in float32 have larger errors of their own.
    """
    n, base, total = I[i, END, SIZE], i * given.shape[2], 0.0
    for a in range(n):
        x = 0.0
        for b in range(n):
            x += F[i, V0 + a, b] * float(given[i, row, I[i, ACT, b]])
        F[i, U, a] = x
    if given.itemsize == 8:
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
    for a in range(n):
        total += F[i, Q, a]
    F[i, NOW, RATE] = total
