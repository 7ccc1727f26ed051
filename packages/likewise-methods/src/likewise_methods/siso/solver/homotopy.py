"""The lasso on a working set by homotopy: every column has a bound, and the bounds are lowered.

x always solves the lasso with a weight b_i of its own for each column: c_i = s_i b_i on the
support, |c_i| <= b_i elsewhere, with c = A'(y - A x) (docs/methods/siso.md, (2) and (8)).  All b_i
move on straight lines to the target; x and c then move on straight lines too, until a coefficient
reaches zero (it leaves) or a correlation its bound (it enters).  A column just added to the working
set starts with its bound at its own correlation, so the same walk serves smaller gamma, new columns
and warm starts.  With equal bounds this is the path of Osborne et al. 2000 and Efron et al. 2004.

A column that depends on the support is exchanged: it and the support move together so that the
residual stays, until a coefficient of the support is zero and leaves.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.siso.solver.cholesky import (
    DEPENDENT,
    FAST,
    append,
    backward,
    forward,
    gram_product,
    project,
    remove,
)

DONE, PAUSED, STUCK = 0, 1, 2

# Rates below this are rounding: correlation and bound move together (exact copies).
_STILL = 1e-12
_AT_ONCE = 1e-14
# Columns this near to their bound begin there.  Columns this close to the span of the support (as a
# share of their squared length) are left to the walk, which can exchange them.
_AT_BOUND = 1 - 1e-9
_CLOSE = 1e-9
_WAITS, _NEVER = 1, 2


@kernel
def _next_event(x, c, b, s, act, n, d, dc, db, w, barred, nonnegative, left):  # type: ignore[no-untyped-def]
    """Return (step, kind, who): 0 arrived, 1 act[who] leaves, 2 who enters with +, 3 with -."""
    step, kind, who = left, 0, -1
    for i in range(n):
        j = act[i]
        rate = d[i] * s[j]
        if rate > 0.0:
            t = x[j] * s[j] / rate
            if t < step:
                step, kind, who = t, 1, i
    for j in range(w):
        if s[j] != 0.0 or barred[j]:
            continue
        rate = dc[j] - db[j]
        if rate > _STILL * b[j]:
            t = (b[j] - c[j]) / rate
            if t < step:
                step, kind, who = t, 2, j
        rate = -dc[j] - db[j]
        if not nonnegative and rate > _STILL * b[j]:
            t = (b[j] + c[j]) / rate
            if t < step:
                step, kind, who = t, 3, j
    return max(step, 0.0), kind, who


@kernel(fastmath=FAST)
def _advance(x, c, b, act, n, d, dc, db, w, step):  # type: ignore[no-untyped-def]
    for i in range(n):
        x[act[i]] -= step * d[i]
    for k in range(w):
        c[k] += step * dc[k]
        b[k] += step * db[k]


@kernel
def leave(U, n, z, x, s, act, p):  # type: ignore[no-untyped-def]
    """Remove act[p] from the support; return the new size."""
    x[act[p]] = 0.0
    s[act[p]] = 0.0
    remove(U, n, z, p)
    for i in range(p, n - 1):
        act[i] = act[i + 1]
    return n - 1


@kernel
def make_way(U, n, x, s, act, u, sign, v):  # type: ignore[no-untyped-def]
    """Return which column leaves for a dependent one, and the new coefficient.

    The column is A_S v with U v = u.  It takes on ``size`` times ``sign`` and the support loses
    ``size sign v``, so the residual does not change.  (-1, 0) if no coefficient reaches zero, which
    only rounding can cause.
    """
    backward(U, n, u, v)
    who, size = -1, np.inf
    for i in range(n):
        rate = sign * v[i] * s[act[i]]
        if rate > 1e-9:
            t = x[act[i]] * s[act[i]] / rate
            if t < size:
                who, size = i, t
    if who < 0:
        return -1, 0.0
    for i in range(n):
        x[act[i]] -= size * sign * v[i]
    return who, size


@kernel(fastmath=FAST)
def _enter_at_once(G, U, n, z, c, b, s, act, w, db, u, nonnegative, limit):  # type: ignore[no-untyped-def]
    """Add the columns that begin at their bound to the support together; return its new size.

    A column's own row of the factor shows whether its coefficient would grow, before any direction
    is solved for; columns that would not are left to the walk.  Should a later one reverse it, it
    leaves as any other.
    """
    at_bound = np.empty(w, np.int64)
    m = 0
    for j in range(w):
        size = c[j] if nonnegative else abs(c[j])
        if s[j] == 0.0 and size >= b[j] * _AT_BOUND:
            at_bound[m] = j
            m += 1
    order = np.argsort(-b[at_bound[:m]])
    for o in order[: min(limit, U.shape[0] - n)]:
        j = at_bound[o]
        sign = 1.0 if c[j] > 0.0 else -1.0
        rest = project(U, n, G, act, j, u)
        part = sign * db[j]
        for i in range(n):
            part -= u[i] * z[i]
        if rest <= _CLOSE * G[j, j] or sign * part >= 0.0:
            continue
        append(U, n, u, rest)
        z[n] = part / U[n, n]
        act[n], s[j] = j, sign
        n += 1
    return n


@kernel
def follow(G, U, x, c, b, s, act, size, target, nonnegative, most_entries, limit):  # type: ignore[no-untyped-def]
    """Lower all bounds to ``target``, or until ``most_entries`` columns have entered.

    Return (state, share of the way left).  ``size`` is (working set, support, pivots) and is
    updated; the size of ``U`` is the largest possible support.
    """
    w, n = size[0], size[1]
    most = U.shape[0]
    z, d, u, v = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    dc, db, dense = np.zeros(w), np.empty(w), np.empty(w)
    barred = np.zeros(w, np.uint8)
    for k in range(w):
        db[k] = target - b[k]
    for i in range(n):
        z[i] = s[act[i]] * db[act[i]]
    forward(U, n, z)
    before = n
    n = _enter_at_once(G, U, n, z, c, b, s, act, w, db, u, nonnegative, most_entries)
    entries = n - before
    size[2] += entries
    left, waiting, state = 1.0, False, STUCK
    for _ in range(limit):
        backward(U, n, z, d)
        gram_product(G, s, act, n, d, w, dense, dc)
        for i in range(n):
            dc[act[i]] = s[act[i]] * db[act[i]]
        step, kind, who = _next_event(x, c, b, s, act, n, d, dc, db, w, barred, nonnegative, left)
        if step > 0.0:
            _advance(x, c, b, act, n, d, dc, db, w, step)
            left -= step
        if kind == 0:
            state, left = DONE, 0.0
            break
        # Ties are resolved one at a time.  A column that left may only return after a positive
        # step, so no set of columns is visited twice at one place.
        if step > _AT_ONCE and waiting:
            waiting = False
            for k in range(w):
                if barred[k] == _WAITS:
                    barred[k] = 0
        size[2] += 1
        if kind == 1:
            barred[act[who]] = _WAITS
            waiting = True
            n = leave(U, n, z, x, s, act, who)
            continue
        if entries >= most_entries:
            state = PAUSED
            break
        sign = 1.0 if kind == 2 else -1.0
        rest = project(U, n, G, act, who, u)
        coefficient = 0.0
        if n == most or rest <= DEPENDENT * G[who, who]:
            out, coefficient = make_way(U, n, x, s, act, u, sign, v)
            if out < 0:
                barred[who] = _NEVER
                continue
            barred[act[out]] = _WAITS
            waiting = True
            n = leave(U, n, z, x, s, act, out)
            rest = project(U, n, G, act, who, u)
            if rest <= DEPENDENT * G[who, who]:
                break
        part = sign * db[who]
        for i in range(n):
            part -= u[i] * z[i]
        append(U, n, u, rest)
        z[n] = part / U[n, n]
        act[n], s[who], x[who] = who, sign, sign * coefficient
        n += 1
        entries += 1
    if state == DONE:
        for k in range(w):
            b[k] = target
    size[1] = n
    return state, left
