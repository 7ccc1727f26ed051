"""How a picture is put together from its few neighbours: two small convex problems, compiled.

Both look at one picture and the rows its list names (-1: nobody), and give one weight a neighbour.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.siso.solver.coordinate_descent import descend

_MOST_STEPS = 20_000


@kernel
def simplex(G, w, n, tol):  # type: ignore[no-untyped-def]
    """min w'Gw / 2 with w >= 0 and sum w = 1, from the w given, over the first n entries.

    Weight moves from the neighbour where it costs most to the one where it costs least, as far as
    it helps.  g = Gw: w'g - min g bounds what is left to gain, so it says when to stop.
    """
    g = np.zeros(n)
    for i in range(n):
        for j in range(n):
            g[i] += G[i, j] * w[j]
    for _ in range(_MOST_STEPS):
        to, off, value = 0, -1, 0.0
        for i in range(n):
            value += w[i] * g[i]
            if g[i] < g[to]:
                to = i
            if w[i] > 0.0 and (off < 0 or g[i] > g[off]):
                off = i
        if value - g[to] <= tol * value or to == off:
            return
        bend = G[to, to] + G[off, off] - 2.0 * G[to, off]
        step = w[off] if bend <= 0.0 else min(w[off], (g[off] - g[to]) / bend)
        w[to] += step
        w[off] -= step
        for i in range(n):
            g[i] += step * (G[i, to] - G[i, off])


@kernel
def local_weights(Q, X, ids, tol):  # type: ignore[no-untyped-def]
    """LNP: min |q - sum_j w_j x_j|^2 with w >= 0 and sum w = 1, for each row of Q."""
    k, width = ids.shape[1], X.shape[1]
    made = np.zeros(ids.shape)
    away = np.empty((k, width))
    G = np.empty((k, k))
    w = np.empty(k)
    for row in range(ids.shape[0]):
        n = 0
        while n < k and ids[row, n] >= 0:
            for d in range(width):
                away[n, d] = np.float64(Q[row, d]) - np.float64(X[ids[row, n], d])
            n += 1
        if n == 0:
            continue
        # The sum of w is 1, so the residual is a mix of the ways to the neighbours.
        for i in range(n):
            for j in range(i + 1):
                dot = 0.0
                for d in range(width):
                    dot += away[i, d] * away[j, d]
                G[i, j] = dot
                G[j, i] = dot
        w[:n] = 1.0 / n
        simplex(G, w, n, tol)
        made[row, :n] = w[:n]
    return made


@kernel
def l1_weights(Q, X, ids, alpha, tol):  # type: ignore[no-untyped-def]
    """LSMP: the lasso of each row of Q over its neighbours, negatives clipped, rows summing to 1.

    gamma is alpha times the largest correlation with a neighbour.
    """
    k, width = ids.shape[1], X.shape[1]
    made = np.zeros(ids.shape)
    G = np.empty((k, k))
    c = np.empty(k)
    x = np.empty(k)
    for row in range(ids.shape[0]):
        n = 0
        while n < k and ids[row, n] >= 0:
            n += 1
        if n == 0:
            continue
        for i in range(n):
            a = X[ids[row, i]]
            for j in range(i + 1):
                b = X[ids[row, j]]
                dot = 0.0
                for d in range(width):
                    dot += np.float64(a[d]) * np.float64(b[d])
                G[i, j] = dot
                G[j, i] = dot
            dot = 0.0
            for d in range(width):
                dot += np.float64(a[d]) * np.float64(Q[row, d])
            c[i] = dot
            x[i] = 0.0
        largest = np.abs(c[:n]).max()
        if largest == 0.0:
            continue
        descend(G, x, c, n, alpha * largest, False, tol * largest, _MOST_STEPS)
        total = 0.0
        for i in range(n):
            total += max(x[i], 0.0)
        if total > 0.0:
            for i in range(n):
                made[row, i] = max(x[i], 0.0) / total
    return made
