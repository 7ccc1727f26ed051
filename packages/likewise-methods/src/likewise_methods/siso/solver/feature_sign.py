"""The lasso on a working set by feature-sign search (Lee et al. 2007).

The largest violator enters with the sign of its correlation.  Then x moves towards the minimum for
the current signs, d = G_SS^-1 (c_S - gamma s), as far as the objective falls.  Along that line the
objective is a convex parabola with a kink wherever a coefficient changes sign, so its minimum is
found exactly by visiting the kinks in order.  The objective falls strictly in every step, so no
support with its signs comes twice.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.siso.solver.cholesky import (
    DEPENDENT,
    append,
    backward,
    forward,
    gram_product,
    project,
)
from likewise_methods.siso.solver.homotopy import DONE, STUCK, leave, make_way


@kernel
def _best_step(x, act, n, s, d, curvature, gamma, nonnegative):  # type: ignore[no-untyped-def]
    """Return the best step t in [0, 1] along d, and which coefficient is zero there.

    The slope starts at -curvature, rises by curvature over the unit step, and by 2 gamma |d_i|
    where coefficient i changes its sign.  Non-negative coefficients may not: the first zero is the
    end.
    """
    kinks = np.full(n, np.inf)
    for i in range(n):
        if d[i] * s[act[i]] < 0.0:
            kinks[i] = -x[act[i]] / d[i]
    order = np.argsort(kinks)
    risen = 0.0
    for o in range(n):
        i = order[o]
        flat = 1.0 - risen / curvature
        if kinks[i] >= flat:
            return max(flat, 0.0), -1
        risen += 2.0 * gamma * abs(d[i])
        if nonnegative or risen >= (1.0 - kinks[i]) * curvature:
            return kinks[i], i
    return max(1.0 - risen / curvature, 0.0), -1


@kernel
def _worst(c, s, barred, w, nonnegative):  # type: ignore[no-untyped-def]
    """Return the column outside the support with the largest correlation, and that."""
    who, largest = -1, 0.0
    for j in range(w):
        if s[j] == 0.0 and not barred[j]:
            value = c[j] if nonnegative else abs(c[j])
            if value > largest:
                who, largest = j, value
    return who, largest


@kernel
def search(G, U, x, c, b, s, act, size, gamma, nonnegative, limit):  # type: ignore[no-untyped-def]
    """Bring x to the optimum and return the state; ``size`` is (working set, support, pivots).

    The size of ``U`` is the largest possible support.
    """
    w, n, most = size[0], size[1], U.shape[0]
    d, u, v, rhs = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    unused = np.zeros(most + 1)
    dc, dense = np.zeros(w), np.empty(w)
    barred = np.zeros(w, np.uint8)
    state, settled = STUCK, False
    for _ in range(limit):
        if settled:
            who, largest = _worst(c, s, barred, w, nonnegative)
            if who < 0 or largest <= gamma * (1 + 1e-11):
                state = DONE
                break
            sign = 1.0 if c[who] > 0.0 else -1.0
            rest = project(U, n, G, act, who, u)
            coefficient = 0.0
            if n == most or rest <= DEPENDENT * G[who, who]:
                out, coefficient = make_way(U, n, x, s, act, u, sign, v)
                if out < 0:
                    barred[who] = 1
                    continue
                n = leave(U, n, unused, x, s, act, out)
                rest = project(U, n, G, act, who, u)
                if rest <= DEPENDENT * G[who, who]:
                    break
            append(U, n, u, rest)
            act[n], s[who], x[who] = who, sign, sign * coefficient
            n += 1
        size[2] += 1
        for i in range(n):
            rhs[i] = c[act[i]] - gamma * s[act[i]]
            u[i] = rhs[i]
        forward(U, n, u)
        backward(U, n, u, d)
        curvature = 0.0
        for i in range(n):
            curvature += d[i] * rhs[i]
        if curvature <= 0.0:
            settled = True
            continue
        step, zero = _best_step(x, act, n, s, d, curvature, gamma, nonnegative)
        for i in range(n):
            x[act[i]] += step * d[i]
        gram_product(G, s, act, n, d, w, dense, dc)
        for i in range(n):
            dc[act[i]] = rhs[i]
        for k in range(w):
            c[k] -= step * dc[k]
        for i in range(n):
            if x[act[i]] * s[act[i]] < 0.0 and i != zero:
                s[act[i]] = -s[act[i]]
        if zero >= 0:
            if step == 0.0:  # rounding: it would come back
                barred[act[zero]] = 1
            n = leave(U, n, unused, x, s, act, zero)
        settled = zero < 0 and step > 1.0 - 1e-12
    for k in range(w):
        b[k] = gamma
    size[1] = n
    return state
