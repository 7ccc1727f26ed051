"""Non-negative sparse codes over all words by feature-sign search (Lee et al. 2007).

The zero coefficient with the largest violation is activated and the least squares problem of the
support solved; the way there ends where the first coefficient reaches zero, which then leaves.
Unlike the working-set solver of the lasso, this one keeps the correlations of *all* words up to
date from their Gram rows.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.psc.solver.homotopy import FAR
from likewise_methods.siso.solver.cholesky import DEPENDENT, append, backward, forward, project
from likewise_methods.siso.solver.homotopy import leave, make_way

_SLACK = 1e-9
# The accuracy of a distance to the span of the support in float32.
_DEPENDENT_SHORT = 1e-5


@kernel(fastmath={"contract", "reassoc", "nsz", "arcp", "nnan"})
def _lower(c, G, act, d, n, step):  # type: ignore[no-untyped-def]
    """Subtract ``step`` times the sum of d_p G[act_p] from c, two rows at a time."""
    kind, p = c.dtype.type, 0
    while p + 2 <= n:
        a, b = kind(step * d[p]), kind(step * d[p + 1])
        r, s = act[p], act[p + 1]
        for j in range(c.shape[0]):
            c[j] -= a * G[r, j] + b * G[s, j]
        p += 2
    if p < n:
        a, r = kind(step * d[p]), act[p]
        for j in range(c.shape[0]):
            c[j] -= a * G[r, j]


@kernel
def _largest(c, s, barred):  # type: ignore[no-untyped-def]
    """Return the word outside the support with the largest correlation, and that."""
    who, most = -1, -FAR
    for j in range(c.shape[0]):
        if c[j] > most and s[j] == 0.0 and not barred[j]:
            who, most = j, c[j]
    return who, most


@kernel
def _move(G, U, c, x, act, d, rhs, n, h):  # type: ignore[no-untyped-def]
    """Move towards the minimum of the support; return who reaches zero on the way, or -1."""
    for p in range(n):
        rhs[p] = float(c[act[p]]) - h
    forward(U, n, rhs)
    backward(U, n, rhs, d)
    step, who = 1.0, -1
    for p in range(n):
        if d[p] < 0.0 and x[act[p]] < -d[p] * step:
            step, who = x[act[p]] / -d[p], p
    for p in range(n):
        x[act[p]] += step * d[p]
    _lower(c, G, act, d, n, step)
    return who


@kernel
def _activate(E, U, x, s, act, n, most, who, u, v):  # type: ignore[no-untyped-def]
    """Add a word to the support, or exchange it for another; return the size, -1 if stuck."""
    dependent = DEPENDENT if E.itemsize == 8 else _DEPENDENT_SHORT
    rest, size = project(U, n, E, act, who, u), 0.0
    if n == most or rest <= dependent * E[who, who]:
        out, size = make_way(U, n, x, s, act, u, 1.0, v)
        if out < 0:
            return -1
        n = leave(U, n, v, x, s, act, out)
        rest = project(U, n, E, act, who, u)
        if rest <= dependent * E[who, who]:
            return -1
    append(U, n, u, rest)
    act[n], s[who], x[who] = who, 1.0, size
    return n + 1


@kernel
def feature_sign(G, E, given, h, most, limit, ids, values, counts):  # type: ignore[no-untyped-def]
    """Code the rows of correlations ``given`` at half-threshold h.

    G holds all Gram rows for scans, E those for supports.
    """
    k, cap = given.shape[1], most + 1
    U, c = np.zeros((cap, cap)), np.zeros(k, given.dtype)
    x, s, barred = np.zeros(k), np.zeros(k), np.zeros(k, np.uint8)
    d, rhs, v = np.zeros(cap), np.zeros(cap), np.zeros(cap)
    act = np.zeros(cap, np.int64)
    for row in range(given.shape[0]):
        for j in range(k):
            c[j], x[j], s[j], barred[j] = given[row, j], 0.0, 0.0, 0
        n = 0
        for _ in range(limit):
            who, top = _largest(c, s, barred)
            if who < 0 or top <= h * (1.0 + _SLACK):
                break
            size = _activate(E, U, x, s, act, n, most, who, rhs, v)
            if size < 0:
                barred[who] = 1
                continue
            n = size
            blocked = _move(G, U, c, x, act, d, rhs, n, h)
            while blocked >= 0:
                n = leave(U, n, v, x, s, act, blocked)
                blocked = _move(G, U, c, x, act, d, rhs, n, h) if n else -1
        # From the support alone, so that no drift is left.
        for p in range(n):
            rhs[p] = float(given[row, act[p]]) - h
        forward(U, n, rhs)
        backward(U, n, rhs, d)
        found = 0
        for p in np.argsort(act[:n]):
            if d[p] > 0.0:
                ids[row, found], values[row, found] = act[p], d[p]
                found += 1
        counts[row] = found
