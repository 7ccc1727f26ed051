"""The loops of ``path`` over all words: what costs most, written for vector registers."""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums may be reordered and nobody lets NaN in: what lets loops run in vector registers.
FAST = {"contract", "reassoc", "nsz", "arcp", "nnan"}

# numpy's error model: no test for zero before every division.  Nothing is allocated in here, so no
# references need counting, and what runs at every step is made a part of its caller: both together
# a third of the time.
KERNEL = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}

# Rows of a state's arrays F and I that are read here; see ``path``.
Q, ROW = 2, 1


@njit(**KERNEL, inline="always")
def _find(bits, i, value):  # type: ignore[no-untyped-def]
    """The first place of a value that is there."""
    at = 0
    while at + 32 <= bits.shape[1]:
        hit = np.int64(0)
        for j in range(32):
            hit |= np.int64(bits[i, at + j] == value)
        if hit:
            break
        at += 32
    while bits[i, at] != value:
        at += 1
    return at


@njit(**KERNEL, inline="always")
def soonest(tb, i):  # type: ignore[no-untyped-def]
    """Where the smallest step is: positive numbers are ordered as their bits are."""
    least = tb[i, 0]
    for j in range(tb.shape[1]):
        least = min(least, tb[i, j])
    return _find(tb, i, least)


@njit(**KERNEL)
def largest(cb, i):  # type: ignore[no-untyped-def]
    """Where the largest correlation is; among negative numbers bits are ordered the other way."""
    top, bottom = cb[i, 0], cb[i, 0]
    for j in range(cb.shape[1]):
        top = max(top, cb[i, j])
        bottom = min(bottom, cb[i, j])
    return _find(cb, i, top if top >= 0 else bottom)


@njit(**KERNEL, inline="always", fastmath=FAST)
def combine(G, F, I, w, i, n):  # type: ignore[no-untyped-def]  # noqa: E741
    """Rates of all correlations: the sum of q_p times Gram row p, four rows at a time."""
    kind, k = w.dtype.type, w.shape[1]
    p = 0
    if n >= 4:
        a, b, d, e = kind(F[i, Q, 0]), kind(F[i, Q, 1]), kind(F[i, Q, 2]), kind(F[i, Q, 3])
        r, s, v, x = I[i, ROW, 0], I[i, ROW, 1], I[i, ROW, 2], I[i, ROW, 3]
        for j in range(k):
            w[i, j] = a * G[r, j] + b * G[s, j] + d * G[v, j] + e * G[x, j]
        p = 4
    elif n >= 2:
        a, b = kind(F[i, Q, 0]), kind(F[i, Q, 1])
        r, s = I[i, ROW, 0], I[i, ROW, 1]
        for j in range(k):
            w[i, j] = a * G[r, j] + b * G[s, j]
        p = 2
    else:
        a, r = kind(F[i, Q, 0]), I[i, ROW, 0]
        for j in range(k):
            w[i, j] = a * G[r, j]
        p = 1
    while p + 4 <= n:
        a, b = kind(F[i, Q, p]), kind(F[i, Q, p + 1])
        d, e = kind(F[i, Q, p + 2]), kind(F[i, Q, p + 3])
        r, s, v, x = I[i, ROW, p], I[i, ROW, p + 1], I[i, ROW, p + 2], I[i, ROW, p + 3]
        for j in range(k):
            w[i, j] += a * G[r, j] + b * G[s, j] + d * G[v, j] + e * G[x, j]
        p += 4
    if p + 2 <= n:
        a, b = kind(F[i, Q, p]), kind(F[i, Q, p + 1])
        r, s = I[i, ROW, p], I[i, ROW, p + 1]
        for j in range(k):
            w[i, j] += a * G[r, j] + b * G[s, j]
        p += 2
    if p < n:
        a, r = kind(F[i, Q, p]), I[i, ROW, p]
        for j in range(k):
            w[i, j] += a * G[r, j]


@njit(**KERNEL, inline="always", fastmath=FAST)
def ahead(c, w, t, i, h, sign, tiny):  # type: ignore[no-untyped-def]
    """Steps after which correlations reach h; very long for those that never do.

    A distance below ``tiny`` counts as ``tiny``: what stands at h and moves along with it, up to
    rounding (copies, and whatever depends on the support), is then far away.
    """
    kind = c.dtype.type
    one, never = kind(1.0), kind(1e-30)
    h, sign, tiny = kind(h), kind(sign), kind(tiny)
    for j in range(c.shape[1]):
        way = h - c[i, j]
        way = way if way > tiny else tiny
        rate = sign * (one - w[i, j])
        rate = rate if rate > never else never
        t[i, j] = way / rate
