"""The compiled part of LLC: one small linear system a descriptor."""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel


@kernel
def locality_weights(X, words, near, ridge, out):  # type: ignore[no-untyped-def]
    """``out[i]`` solves (C + ridge tr(C) I) w = 1, scaled to sum 1, C the products of B - 1x'.

    By Cholesky in float64.  Where all near words lie on the descriptor C is zero, and so would be
    the matrix: the words then share alike.
    """
    n = near.shape[1]
    width = X.shape[1]
    centred = np.empty((n, width), np.float64)
    C = np.empty((n, n), np.float64)
    w = np.empty(n, np.float64)
    for i in range(X.shape[0]):
        trace = 0.0
        for a in range(n):
            for t in range(width):
                centred[a, t] = words[near[i, a], t] - X[i, t]
            for b in range(a + 1):
                total = 0.0
                for t in range(width):
                    total += centred[a, t] * centred[b, t]
                C[a, b] = total
            trace += C[a, a]
        if trace <= 0.0:
            for a in range(n):
                out[i, a] = 1.0 / n
            continue
        for a in range(n):
            C[a, a] += ridge * trace
        for a in range(n):
            for b in range(a + 1):
                total = C[a, b]
                for t in range(b):
                    total -= C[a, t] * C[b, t]
                if a == b:
                    # Rounding can eat a pivot of words that coincide.
                    C[a, a] = np.sqrt(max(total, 1e-14 * trace))
                else:
                    C[a, b] = total / C[b, b]
        for a in range(n):
            total = 1.0
            for t in range(a):
                total -= C[a, t] * w[t]
            w[a] = total / C[a, a]
        total_mass = 0.0
        for a in range(n - 1, -1, -1):
            total = w[a]
            for t in range(a + 1, n):
                total -= C[t, a] * w[t]
            w[a] = total / C[a, a]
            total_mass += w[a]
        for a in range(n):
            out[i, a] = w[a] / total_mass
