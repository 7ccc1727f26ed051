"""Compiled parts of the second-order method for sparse inverse covariance.

The model at M, with W = M^-1 and the penalty of the diagonal folded into A:

    q(D) = <A - W, D> + 1/2 <D, W D W> + l1 sum_{i != j} |M_ij + D_ij|

over the symmetric D that live on free pairs i <= j, kept row by row (``starts``, ``columns``).
"""

from __future__ import annotations

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
# Rows of the model are settled to this share of sqrt(W_ii W_jj): they change again anyway.
SETTLED = 1e-3


@njit(cache=True, nogil=True)
def mirror(H):  # type: ignore[no-untyped-def]
    """Copy the upper triangle of H onto the lower one, tile by tile."""
    m = len(H)
    tile = 32
    for top in range(0, m, tile):
        for left in range(top, m, tile):
            for i in range(top, min(top + tile, m)):
                for j in range(max(left, i + 1), min(left + tile, m)):
                    H[j, i] = H[i, j]


@njit(cache=True, nogil=True)
def boxed(W, A, l1, Z):  # type: ignore[no-untyped-def]
    """The upper triangle of Z: W clipped to A -+ l1, its diagonal that of A."""
    m = len(A)
    for i in range(m):
        Z[i, i] = A[i, i]
        for j in range(i + 1, m):
            Z[i, j] = min(max(W[i, j], A[i, j] - l1), A[i, j] + l1)


@njit(cache=True, nogil=True)
def free_pairs(A, M, W, l1, starts, columns):  # type: ignore[no-untyped-def]
    """Pairs that may move: the diagonal, M_ij != 0, or |A_ij - W_ij| > l1; how many."""
    m = len(A)
    n = 0
    for i in range(m):
        starts[i] = n
        columns[n] = i
        n += 1
        for j in range(i + 1, m):
            if M[i, j] != 0.0 or abs(A[i, j] - W[i, j]) > l1:
                columns[n] = j
                n += 1
    starts[m] = n
    return n


@njit(cache=True, nogil=True, fastmath=FAST)
def sweep(A, M, W, D, U, l1, starts, columns, inner):  # type: ignore[no-untyped-def]
    """One pass of coordinate descent over the model; (sum |change|, sum |D|).

    U = D W is kept.  Row i of pairs reads column i of U once; slopes of its pairs are then
    products with rows of W, ``inner`` small passes settle the row among itself, and only the sum
    of its changes goes into U, along rows, which lie in one piece in memory.
    """
    m = len(A)
    v = np.empty(m)
    r = np.empty(m)
    moved = np.zeros(m)
    changed = 0.0
    size = 0.0
    for i in range(m):
        pairs = columns[starts[i] : starts[i + 1]]
        own = W[i]
        wii = own[i]
        for k in range(m):
            v[k] = U[k, i]
        for j in pairs:
            row = W[j]
            total = 0.0
            for k in range(m):
                total += v[k] * row[k]
            r[j] = total
            moved[j] = 0.0
        # Gathering costs more a number than running through; few pairs gather.
        dense = 6 * len(pairs) > m - i
        for _ in range(inner):
            most = 0.0
            for j in pairs:
                row = W[j]
                wij = own[j]
                c = M[i, j] + D[i, j] + moved[j]
                b = A[i, j] - wij + r[j]
                if j == i:
                    step = -b / (wii * wii)
                    wij = 0.0
                else:
                    a = wii * row[j] + wij * wij
                    z = c - b / a
                    if z > l1 / a:
                        step = z - l1 / a - c
                    elif z < -l1 / a:
                        step = z + l1 / a - c
                    else:
                        step = -c
                if step == 0.0:
                    continue
                moved[j] += step
                most = max(most, abs(step) * np.sqrt(wii * row[j]))
                first, second = step * wii, step * wij
                if dense:
                    for k in range(i, m):
                        r[k] += first * row[k] + second * own[k]
                else:
                    for k in pairs:
                        r[k] += first * row[k] + second * own[k]
            if most < SETTLED:
                break
        target = U[i]
        for j in pairs:
            step = moved[j]
            if step != 0.0:
                # A sum of steps may miss the zero it meant by a rounding error.
                value = D[i, j] + step
                if abs(M[i, j] + value) < 1e-15 * abs(M[i, j]):
                    value = -M[i, j]
                D[i, j] = value
                D[j, i] = value
                row = W[j]
                for k in range(m):
                    target[k] += step * row[k]
                if j != i:
                    other = U[j]
                    for k in range(m):
                        other[k] += step * own[k]
                changed += abs(step)
            size += abs(D[i, j])
    return changed, size


@njit(cache=True, nogil=True, fastmath=FAST)
def spread(B, x, starts, columns, U):  # type: ignore[no-untyped-def]
    """U = X B for the symmetric X with values x on the pairs."""
    m = len(B)
    U[:] = 0.0
    for i in range(m):
        for t in range(starts[i], starts[i + 1]):
            j = columns[t]
            value = x[t]
            if value == 0.0:
                continue
            target, row = U[i], B[j]
            for k in range(m):
                target[k] += value * row[k]
            if j != i:
                target, row = U[j], B[i]
                for k in range(m):
                    target[k] += value * row[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def between(B, U, starts, columns, y):  # type: ignore[no-untyped-def]
    """y = values of B U on the pairs."""
    m = len(B)
    v = np.empty(m)
    for i in range(m):
        for k in range(m):
            v[k] = U[k, i]
        for t in range(starts[i], starts[i + 1]):
            row = B[columns[t]]
            total = 0.0
            for k in range(m):
                total += v[k] * row[k]
            y[t] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def sparse_sandwich(M, begins, places, x, starts, columns, U, y):  # type: ignore[no-untyped-def]
    """y = values of M X M on the pairs, through the non-zeros of M only.

    ``places`` holds the columns of M's non-zeros row by row, ``begins`` where each row begins.
    """
    m = len(M)
    U[:] = 0.0
    for i in range(m):
        for t in range(starts[i], starts[i + 1]):
            j = columns[t]
            value = x[t]
            target, row = U[i], M[j]
            for s in range(begins[j], begins[j + 1]):
                target[places[s]] += value * row[places[s]]
            if j != i:
                target, row = U[j], M[i]
                for s in range(begins[i], begins[i + 1]):
                    target[places[s]] += value * row[places[s]]
    v = np.empty(m)
    for i in range(m):
        for k in range(m):
            v[k] = U[k, i]
        for t in range(starts[i], starts[i + 1]):
            j = columns[t]
            row = M[j]
            total = 0.0
            for s in range(begins[j], begins[j + 1]):
                total += v[places[s]] * row[places[s]]
            y[t] = total
