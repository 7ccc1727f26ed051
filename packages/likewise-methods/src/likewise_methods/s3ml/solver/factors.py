"""Cholesky factors and inverses for kernels: of matrices that fit into the cache.

Calling LAPACK from Python costs more than the factorisation of a small matrix, and its inverse of
a few hundred variables runs at a quarter of the machine's speed.  Here all inner loops begin at
column 0 and go along rows, four at a time, which lets the compiler use vectors.
"""

# mypy: disable-error-code="no-untyped-def, unused-ignore"
from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel

FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel(fastmath=FAST)
def factorise(B, L):
    """L with B = L L', from the lower triangle of B; log det B, NaN if B is not definite.

    Two rows at a time against four, so that each number read is used twice.
    """
    m = len(B)
    total = 0.0
    zero = B[0, 0] * 0
    for top in range(0, m, 2):
        # Of an odd number of rows the last is its own neighbour, computed twice.
        other = min(top + 1, m - 1)
        upper, lower = L[top], L[other]
        first = 0
        while first + 4 <= top:
            a, b, c, d = L[first], L[first + 1], L[first + 2], L[first + 3]
            one, two, three, four = zero, zero, zero, zero
            five, six, seven, eight = zero, zero, zero, zero
            for k in range(first):
                one += upper[k] * a[k]
                two += upper[k] * b[k]
                three += upper[k] * c[k]
                four += upper[k] * d[k]
                five += lower[k] * a[k]
                six += lower[k] * b[k]
                seven += lower[k] * c[k]
                eight += lower[k] * d[k]
            # The four among themselves; the diagonal of L is kept as it is, so divide.
            for i in (top, other):
                row = L[i]
                if i == other and other > top:
                    one, two, three, four = five, six, seven, eight
                x = (B[i, first] - one) / a[first]
                y = (B[i, first + 1] - two - x * b[first]) / b[first + 1]
                z = (B[i, first + 2] - three - x * c[first] - y * c[first + 1]) / c[first + 2]
                w = B[i, first + 3] - four - x * d[first] - y * d[first + 1] - z * d[first + 2]
                row[first], row[first + 1], row[first + 2] = x, y, z
                row[first + 3] = w / d[first + 3]
            first += 4
        for i in range(top, other + 1):
            row = L[i]
            for j in range(first, i + 1):
                left = L[j]
                dot = B[i, j]
                for k in range(j):
                    dot -= row[k] * left[k]
                if j < i:
                    row[j] = dot / left[j]
                elif dot > 0.0:
                    row[i] = np.sqrt(dot)
                    total += np.log(dot)
                else:
                    return np.nan
    return total


@kernel(fastmath=FAST)
def invert(L, X, W):
    """W = (L L')^-1 in full; X, the inverse of L, is scratch."""
    m = len(L)
    for i in range(m):
        row, scale = X[i], L[i, i]
        for t in range(m):
            row[t] = 0
        k = 0
        while k + 4 <= i:
            a, b, c, d = L[i, k], L[i, k + 1], L[i, k + 2], L[i, k + 3]
            one, two, three, four = X[k], X[k + 1], X[k + 2], X[k + 3]
            for t in range(k + 4):
                row[t] -= a * one[t] + b * two[t] + c * three[t] + d * four[t]
            k += 4
        while k < i:
            a, one = L[i, k], X[k]
            for t in range(k + 1):
                row[t] -= a * one[t]
            k += 1
        for t in range(i):
            row[t] /= scale
        row[i] = 1 / scale
    _square(X, W)


@kernel(fastmath=FAST)
def _square(X, W):
    """W = X' X of a lower triangular X with zeros above it, two rows of W at a time."""
    m = len(X)
    if m % 2:
        # The last row alone: it is the only one with a multiple of the last row of X.
        row, last = X[m - 1], W[m - 1]
        for t in range(m):
            last[t] = row[m - 1] * row[t]
            W[t, m - 1] = last[t]
    for i in range(0, m - 1, 2):
        n = i + 2
        upper, lower = W[i], W[i + 1]
        for t in range(n):
            upper[t] = 0
            lower[t] = 0
        k = i
        while k + 4 <= m:
            one, two, three, four = X[k], X[k + 1], X[k + 2], X[k + 3]
            a, b, c, d = one[i], two[i], three[i], four[i]
            e, f, g, h = one[n - 1], two[n - 1], three[n - 1], four[n - 1]
            for t in range(n):
                upper[t] += a * one[t] + b * two[t] + c * three[t] + d * four[t]
                lower[t] += e * one[t] + f * two[t] + g * three[t] + h * four[t]
            k += 4
        while k < m:
            one = X[k]
            a, e = one[i], one[n - 1]
            for t in range(n):
                upper[t] += a * one[t]
                lower[t] += e * one[t]
            k += 1
        for t in range(n):
            W[t, i] = upper[t]
            W[t, n - 1] = lower[t]
