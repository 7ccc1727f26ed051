"""The loops of all ordinal solvers, written once for all losses.

Functions that take a loss as their first argument are inlined with it into the thin, cached kernels
that a loss names (``losses``).  So no compiled function is passed at run time, and a second process
compiles nothing.

A comparison (i, j, l, k) says a = |x_i - x_j|^2 < b = |x_l - x_k|^2; a triplet (i, j, k) is the
same with l = i.  A loss gives (f, f_a, f_b) for (a, b), and its gradient has the rows i: 2 f_a (x_i
- x_j), j: minus that, l: 2 f_b (x_l - x_k), k: minus that.

Points are padded to a multiple of four columns (zeros stay zeros), so that four numbers at a time
fit a vector register.  Prefetching the next rows makes a sweep over 100,000 objects three to five
times faster.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.prefetch import prefetch

# Sums may be reordered (vector registers); NaN stays NaN.
FAST = {"contract", "reassoc", "nsz", "arcp"}
LANES = 4

# Draws known in advance: a comparison is prefetched RING draws ahead, its points HALF of that.
RING = 16
HALF = 8
_LINE = 8  # float64 in a cache line
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel(cache=False, forceinline=True, fastmath=FAST)
def objects(rows, t):  # type: ignore[no-untyped-def]
    """Return (i, j, l, k) of comparison t, of three or four columns."""
    width = rows.shape[1]
    return (
        np.uint64(rows[t, 0]),
        np.uint64(rows[t, 1]),
        np.uint64(rows[t, 2 * (width - 3)]),
        np.uint64(rows[t, width - 1]),
    )


@kernel(cache=False, forceinline=True, fastmath=FAST)
def gap(X, i, j):  # type: ignore[no-untyped-def]
    """Return |x_i - x_j|^2."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for c in range(np.uint64(0), np.uint64(X.shape[1]), np.uint64(4)):
        d0 = X[i, c] - X[j, c]
        d1 = X[i, c + _1] - X[j, c + _1]
        d2 = X[i, c + _2] - X[j, c + _2]
        d3 = X[i, c + _3] - X[j, c + _3]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
    return (s0 + s1) + (s2 + s3)


@kernel(cache=False, forceinline=True, fastmath=FAST)
def push(G, i, j, d0, d1, d2, d3, c):  # type: ignore[no-untyped-def]
    """Add d to row i and subtract it from row j, four columns.

    All is read before anything is written, so that the compiler can use vector registers although
    the rows might overlap.
    """
    g0, g1 = G[i, c] + d0, G[i, c + _1] + d1
    g2, g3 = G[i, c + _2] + d2, G[i, c + _3] + d3
    h0, h1 = G[j, c] - d0, G[j, c + _1] - d1
    h2, h3 = G[j, c + _2] - d2, G[j, c + _3] - d3
    G[i, c], G[i, c + _1], G[i, c + _2], G[i, c + _3] = g0, g1, g2, g3
    G[j, c], G[j, c + _1], G[j, c + _2], G[j, c + _3] = h0, h1, h2, h3


@kernel(cache=False, forceinline=True, fastmath=FAST)
def pull(X, G, i, j, w):  # type: ignore[no-untyped-def]
    """Add w (x_i - x_j) to row i of G and subtract it from row j."""
    for c in range(np.uint64(0), np.uint64(X.shape[1]), np.uint64(4)):
        push(
            G, i, j,
            w * (X[i, c] - X[j, c]),
            w * (X[i, c + _1] - X[j, c + _1]),
            w * (X[i, c + _2] - X[j, c + _2]),
            w * (X[i, c + _3] - X[j, c + _3]),
            c,
        )  # fmt: skip


@kernel(cache=False, forceinline=True, fastmath=FAST)
def hint(A, rows, t):  # type: ignore[no-untyped-def]
    """Prefetch the rows of A that comparison t names."""
    p = A.shape[1]
    for c in range(rows.shape[1]):
        first = np.int64(rows[t, c]) * p
        for at in range(first, first + p, _LINE):
            prefetch(A, at)


@kernel(cache=False, inline="always")
def evaluate_of(loss, a, b, parameter, f, fa, fb):  # type: ignore[no-untyped-def]
    """Compute f, f_a and f_b of every (a, b)."""
    for t in range(len(a)):
        f[t], fa[t], fb[t] = loss(a[t], b[t], parameter)


@kernel(cache=False, inline="always")
def sweep_of(loss, X, rows, parameter, G):  # type: ignore[no-untyped-def]
    """Return the sum of f over all comparisons; add its gradient to G unless G has no rows."""
    wanted = G.shape[0] > 0
    n = rows.shape[0]
    total = 0.0
    for t in range(n):
        if t + HALF < n:
            hint(X, rows, t + HALF)
            if wanted:
                hint(G, rows, t + HALF)
        i, j, l, k = objects(rows, t)  # noqa: E741
        f, fa, fb = loss(gap(X, i, j), gap(X, l, k), parameter)
        total += f
        if wanted and (fa != 0.0 or fb != 0.0):
            pull(X, G, i, j, 2.0 * fa)
            pull(X, G, l, k, 2.0 * fb)
    return total


@kernel(cache=False, forceinline=True, fastmath=FAST)
def draw(state, n):  # type: ignore[no-untyped-def]
    """Return the next state of splitmix64 and a number below n (< 2^32)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return state, np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel(cache=False, forceinline=True, fastmath=FAST)
def drift(X, slope, done, r, now, step):  # type: ignore[no-untyped-def]
    """Apply the full-gradient steps row r has missed: x_r -= step (now - done_r) slope_r."""
    missed = now - done[r]
    if missed > 0:
        w = step * missed
        for c in range(X.shape[1]):
            X[r, c] -= w * slope[r, c]
        done[r] = now


@kernel(cache=False, forceinline=True, fastmath=FAST)
def difference(X, S, i, j, w, ws, out):  # type: ignore[no-untyped-def]
    """Compute out = w (x_i - x_j) - ws (s_i - s_j): one half of a comparison's correction."""
    for c in range(np.uint64(0), np.uint64(X.shape[1]), np.uint64(4)):
        d0 = w * (X[i, c] - X[j, c]) - ws * (S[i, c] - S[j, c])
        d1 = w * (X[i, c + _1] - X[j, c + _1]) - ws * (S[i, c + _1] - S[j, c + _1])
        d2 = w * (X[i, c + _2] - X[j, c + _2]) - ws * (S[i, c + _2] - S[j, c + _2])
        d3 = w * (X[i, c + _3] - X[j, c + _3]) - ws * (S[i, c + _3] - S[j, c + _3])
        out[c], out[c + _1], out[c + _2], out[c + _3] = d0, d1, d2, d3


@kernel(cache=False, forceinline=True, fastmath=FAST)
def apply(X, i, j, d):  # type: ignore[no-untyped-def]
    """Apply x_i -= d, x_j += d."""
    for c in range(np.uint64(0), np.uint64(X.shape[1]), np.uint64(4)):
        push(X, j, i, d[c], d[c + _1], d[c + _2], d[c + _3], c)


@kernel(cache=False, inline="always")
def svrg_of(weights, X, S, slope, done, rows, parameter, step, steps, seed, room):  # type: ignore[no-untyped-def]
    """Run ``steps`` inner steps of SVRG from the snapshot S, whose full gradient is ``slope``.

    X -= step (mean over the batch of [grad f(X) - grad f(S)] + slope), comparisons drawn uniformly
    with replacement.  The slope is applied lazily: a row that the batch does not name only drifts
    by -step slope, so it is moved when it is next named (``done`` counts its drifts) and at the
    end.  A step costs O(p) instead of O(n p) and the iterates are the same
    (docs/methods/ordinal.md, (7) and (11)).

    ``room`` is (batch, 2, p): gradients of a whole batch are taken at the same X.
    """
    n = rows.shape[0]
    batch = room.shape[0]
    picks = np.empty(RING, np.int64)
    chosen = np.empty(batch, np.int64)
    scale = 2.0 * step / batch
    state = seed
    for d in range(RING):
        state, picks[d] = draw(state, n)
    d = 0
    for now in range(steps):
        for q in range(batch):
            t = picks[d % RING]
            state, later = draw(state, n)
            picks[d % RING] = later
            prefetch(rows, later * rows.shape[1])
            soon = picks[(d + HALF) % RING]
            hint(X, rows, soon)
            hint(S, rows, soon)
            hint(slope, rows, soon)
            d += 1
            chosen[q] = t
            i, j, l, k = objects(rows, t)  # noqa: E741
            drift(X, slope, done, i, now, step)
            drift(X, slope, done, j, now, step)
            drift(X, slope, done, l, now, step)
            drift(X, slope, done, k, now, step)
            fa, fb = weights(gap(X, i, j), gap(X, l, k), parameter)
            ga, gb = weights(gap(S, i, j), gap(S, l, k), parameter)
            difference(X, S, i, j, scale * fa, scale * ga, room[q, 0])
            difference(X, S, l, k, scale * fb, scale * gb, room[q, 1])
        for q in range(batch):
            i, j, l, k = objects(rows, chosen[q])  # noqa: E741
            apply(X, i, j, room[q, 0])
            apply(X, l, k, room[q, 1])
    for r in range(X.shape[0]):
        drift(X, slope, done, r, steps, step)


@kernel(cache=False, forceinline=True, fastmath=FAST)
def adagrad_scale(squares, r, size):  # type: ignore[no-untyped-def]
    """Add to the sum of squared gradients of object r; return 1 / sqrt of it."""
    squares[r] += size
    return 1.0 / np.sqrt(squares[r]) if squares[r] > 0.0 else 0.0


@kernel(cache=False, inline="always")
def online_of(weights, X, squares, rows, parameter, step, first, stride, room):  # type: ignore[no-untyped-def]
    """Pass over all comparisons in the order first, first + stride, ... (modulo their number).

    With ``squares`` empty it is stochastic gradient descent; otherwise AdaGrad with one scale per
    object (distances do not change when the axes turn, so neither should the steps).
    """
    n = rows.shape[0]
    batch = room.shape[0]
    adaptive = squares.shape[0] > 0
    chosen = np.empty(batch, np.int64)
    t = first
    # ``far`` and ``near`` run ahead of t in the same order.
    far = (first + RING * stride) % n
    near = (first + HALF * stride) % n
    left = n
    while left > 0:
        taken = min(batch, left)
        scale = 2.0 * step / taken
        for q in range(taken):
            prefetch(rows, far * rows.shape[1])
            hint(X, rows, near)
            chosen[q] = t
            i, j, l, k = objects(rows, t)  # noqa: E741
            fa, fb = weights(gap(X, i, j), gap(X, l, k), parameter)
            if fa == 0.0 and fb == 0.0:
                chosen[q] = -1
            else:
                difference(X, X, i, j, scale * fa, 0.0, room[q, 0])
                difference(X, X, l, k, scale * fb, 0.0, room[q, 1])
            t += stride
            t -= n if t >= n else 0
            near += stride
            near -= n if near >= n else 0
            far += stride
            far -= n if far >= n else 0
        for q in range(taken):
            if chosen[q] < 0:
                continue
            i, j, l, k = objects(rows, chosen[q])  # noqa: E741
            if adaptive:
                stretch(X, squares, i, j, l, k, room[q, 0], room[q, 1], 1.0 / step)
            else:
                apply(X, i, j, room[q, 0])
                apply(X, l, k, room[q, 1])
        left -= taken


@kernel(cache=False, forceinline=True, fastmath=FAST)
def stretch(X, squares, i, j, l, k, u, v, unscale):  # type: ignore[no-untyped-def]  # noqa: E741
    """Apply AdaGrad's step to one comparison: u on i (minus on j), v on l (minus on k)."""
    uu, vv, uv = 0.0, 0.0, 0.0
    for c in range(X.shape[1]):
        uu += u[c] * u[c]
        vv += v[c] * v[c]
        uv += u[c] * v[c]
    # AdaGrad sums gradients, not steps.
    w = unscale * unscale
    if i == l:
        # A triplet's anchor moves by u + v.
        both = adagrad_scale(squares, i, w * (uu + vv + 2.0 * uv))
        ri, rl = both, both
    else:
        ri, rl = adagrad_scale(squares, i, w * uu), adagrad_scale(squares, l, w * vv)
    rj, rk = adagrad_scale(squares, j, w * uu), adagrad_scale(squares, k, w * vv)
    for c in range(X.shape[1]):
        X[i, c] -= ri * u[c]
        X[l, c] -= rl * v[c]
        X[j, c] += rj * u[c]
        X[k, c] += rk * v[c]
