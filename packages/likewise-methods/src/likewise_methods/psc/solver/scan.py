"""The loops of ``path`` over all words: what costs most, one pass through memory for each step."""

from __future__ import annotations

from typing import Any

from likewise_methods.kernels import kernel
from likewise_methods.psc.solver.lanes import (
    beside,
    broadcast,
    count_up,
    if_less,
    lanes,
    least,
    load,
    minus,
    most,
    peek,
    plus,
    ratio,
    store,
    times,
)

# numpy's error model: no test for zero before every division.  Nothing is allocated in here, so no
# references need counting, and what runs at every step is made a part of its caller: both together
# a third of the time.
KERNEL: dict[str, Any] = {"error_model": "numpy", "_nrt": False}

# Rows of a state's arrays F and I that are read here, and a place in the first; see ``path``.
NOW, Q, ROW = 0, 2, 1
DUE = 5
FAR = 1e30


@kernel(**KERNEL, inline="always")
def _nearer(way, rate, word, other_way, other_rate, other_word):  # type: ignore[no-untyped-def]
    """Lane by lane the smaller way / rate, without dividing; ways and the first rate are above
    zero, and the other is not taken where its rate is not."""
    a, b = times(other_way, rate), times(way, other_rate)
    return (
        if_less(a, b, other_way, way),
        if_less(a, b, other_rate, rate),
        if_less(a, b, other_word, word),
    )


@kernel(**KERNEL, inline="always")
def _block(c, w, i, j, due, h, sign, tiny, own, way, rate, word):  # type: ignore[no-untyped-def]
    """The words from j on, whose rates ``own`` are new, against the nearest so far."""
    now = minus(load(c, (i, j)), due, load(w, (i, j)))
    store(c, (i, j), now)
    store(w, (i, j), own)
    left = minus(h, broadcast(c, 1.0), now)
    left = if_less(left, tiny, tiny, left)
    return _nearer(way, rate, word, left, minus(sign, sign, own), count_up(c, j))


@kernel(**KERNEL, inline="always")
def ahead(G, F, I, c, w, i, n, h, sign, tiny):  # type: ignore[no-untyped-def]  # noqa: E741
    """The step after which the first correlation reaches h, and its word; 1e30 if none does.

    On the way correlations take the step that is due, and get new rates, the sum of q_p times Gram
    row p.  A distance below ``tiny`` counts as ``tiny``: what stands at h and moves along with it,
    up to rounding (copies, and whatever depends on the support), is then far away.

    Four registers of words at a time, each with a nearest of its own, so that none waits.
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
    return float(step), int(beside(steps, step, word))


@kernel(**KERNEL, inline="always")
def largest(c, i):  # type: ignore[no-untyped-def]
    """The largest correlation's word."""
    L = lanes(c)
    top, word = load(c, (i, 0)), count_up(c, 0)
    for j in range(L, c.shape[1], L):
        new = load(c, (i, j))
        word = if_less(top, new, count_up(c, j), word)
        top = if_less(top, new, new, top)
    return int(beside(top, most(top), word))


@kernel(**KERNEL, inline="always")
def height(F, c, w, i):  # type: ignore[no-untyped-def]
    """The largest correlation, the step that is due taken."""
    L = lanes(c)
    due = broadcast(c, F[i, NOW, DUE])
    top = broadcast(c, -FAR)
    for j in range(0, c.shape[1], L):
        new = minus(load(c, (i, j)), due, load(w, (i, j)))
        top = if_less(top, new, new, top)
    return float(most(top))
