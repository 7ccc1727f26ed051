"""Compiled parts of the second-order method for sparse inverse covariance.

The model at M, with W = M^-1 and the penalty of the diagonal included in A:

    q(D) = <A - W, D> + 1/2 <D, W D W> + l1 sum_{i != j} |M_ij + D_ij|

over the symmetric D that live on free pairs i <= j, stored row by row (``starts``, ``columns``),
the diagonal first in each row.  All run in the precision of their input.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel

FAST = {"reassoc", "contract", "nsz", "arcp"}
# Rows of the model are solved to this share of sqrt(W_ii W_jj), as they change again anyway.
SETTLED = 1e-3
# The M of a tree is a good start if F falls by this share of what it would fall in a tree.
HOPED = 0.6


@kernel
def mirror(H):  # type: ignore[no-untyped-def]
    """Copy the upper triangle of H onto the lower one, tile by tile."""
    m = len(H)
    tile = 32
    for top in range(0, m, tile):
        for left in range(top, m, tile):
            for i in range(top, min(top + tile, m)):
                for j in range(max(left, i + 1), min(left + tile, m)):
                    H[j, i] = H[i, j]


@kernel
def clip_to_box(W, A, l1, Z):  # type: ignore[no-untyped-def]
    """Write the upper triangle of Z: W clipped to A -+ l1, its diagonal that of A."""
    m = len(A)
    for i in range(m):
        Z[i, i] = A[i, i]
        for j in range(i + 1, m):
            Z[i, j] = min(max(W[i, j], A[i, j] - l1), A[i, j] + l1)


@kernel
def copy(source, target):  # type: ignore[no-untyped-def]
    """Copy an array; assigning a slice would take numba seconds to compile."""
    for i in range(len(source)):
        for j in range(len(source)):
            target[i, j] = source[i, j]


@kernel
def clear(target):  # type: ignore[no-untyped-def]
    """Fill an array with zeros."""
    for i in range(len(target)):
        for j in range(len(target)):
            target[i, j] = 0


@kernel
def tree(A, l1, M):  # type: ignore[no-untyped-def]
    """Write M as if the pairs above l1 had no cycles; it is the minimiser where they have none.

    (docs/methods/s3ml.md, (21)).  Return what F should fall by from the diagonal, NaN if there is
    no M.
    """
    m = len(A)
    clear(M)
    for i in range(m):
        M[i, i] = 1.0
    total = 0.0
    for i in range(m):
        for j in range(i):
            a = A[i, j]
            if abs(a) <= l1:
                continue
            a = a - l1 if a > 0.0 else a + l1
            bends = A[i, i] * A[j, j]
            t2 = a * a / bends
            if t2 >= 1.0:
                return np.nan
            M[i, i] += t2 / (1.0 - t2)
            M[j, j] += t2 / (1.0 - t2)
            M[i, j] = -a / (bends * (1.0 - t2))
            M[j, i] = M[i, j]
            total += t2
    for i in range(m):
        M[i, i] /= A[i, i]
    return total


@kernel
def least_gap(A, W, l1, M):  # type: ignore[no-untyped-def]
    """Return a lower bound of the gap of M with W in the box (docs/methods/s3ml.md, (22))."""
    m = len(A)
    total = 0.0
    for i in range(m):
        for j in range(i):
            c = M[i, j]
            if c != 0.0:
                a = A[i, j]
                z = min(max(W[i, j], a - l1), a + l1)
                total += 2.0 * (c * (a - z) + l1 * abs(c))
    return total


@kernel
def put_pairs(starts, columns, x, target):  # type: ignore[no-untyped-def]
    """Write the symmetric matrix with the values x on the pairs and zeros elsewhere."""
    clear(target)
    for i in range(len(target)):
        for t in range(starts[i], starts[i + 1]):
            target[i, columns[t]] = x[t]
            target[columns[t], i] = x[t]


@kernel
def largest_row(M):  # type: ignore[no-untyped-def]
    """Return the largest sum of absolute values of a row: a bound on the norm."""
    most = 0.0
    for i in range(len(M)):
        total = 0.0
        for j in range(len(M)):
            total += abs(M[i, j])
        most = max(most, total)
    return most


@kernel
def free_pairs(A, M, W, l1, starts, columns):  # type: ignore[no-untyped-def]
    """List the free pairs: the diagonal, M_ij != 0, or |A_ij - W_ij| > l1; return how many."""
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


@kernel(fastmath=FAST)
def _dots(B, v, columns, r):  # type: ignore[no-untyped-def]
    """Set r[j] = <v, row j of B> for the columns j, four rows at a time so that v is read once."""
    m = len(v)
    n = len(columns)
    zero = v[0] * 0
    t = 0
    while t + 4 <= n:
        first, second = B[columns[t]], B[columns[t + 1]]
        third, fourth = B[columns[t + 2]], B[columns[t + 3]]
        one, two, three, four = zero, zero, zero, zero
        for k in range(m):
            one += v[k] * first[k]
            two += v[k] * second[k]
            three += v[k] * third[k]
            four += v[k] * fourth[k]
        r[t], r[t + 1], r[t + 2], r[t + 3] = one, two, three, four
        t += 4
    while t < n:
        first = B[columns[t]]
        one = zero
        for k in range(m):
            one += v[k] * first[k]
        r[t] = one
        t += 1


@kernel(fastmath=FAST)
def _combine(B, x, columns, target):  # type: ignore[no-untyped-def]
    """Add the sum of x[t] times row columns[t] of B to target, four rows at a time."""
    m = len(target)
    n = len(columns)
    t = 0
    while t + 4 <= n:
        first, second = B[columns[t]], B[columns[t + 1]]
        third, fourth = B[columns[t + 2]], B[columns[t + 3]]
        one, two, three, four = x[t], x[t + 1], x[t + 2], x[t + 3]
        for k in range(m):
            target[k] += one * first[k] + two * second[k] + three * third[k] + four * fourth[k]
        t += 4
    while t < n:
        first, one = B[columns[t]], x[t]
        for k in range(m):
            target[k] += one * first[k]
        t += 1


@kernel(fastmath=FAST)
def _add(share, row, target):  # type: ignore[no-untyped-def]
    """Add share * row to target; both begin at 0, so that the compiler uses vectors."""
    for k in range(len(target)):
        target[k] += share * row[k]


@kernel(fastmath=FAST)
def sweep(W, inverted, g, x, d, U, l1, starts, columns, inner):  # type: ignore[no-untyped-def]
    """Run one pass of coordinate descent over the model; return (sum |change|, sum |d|).

    On the pairs: inverse curvatures, slopes ``g`` of A - W, targets ``x`` = M + D and ``d`` = D,
    kept separately because its sum with M is rounded.  U = D W is kept.  Row i of pairs reads
    column i of U once; slopes of its pairs are then products with rows of W, ``inner`` small passes
    settle the row, and only the sum of its changes goes into U, along rows, which are contiguous.
    """
    m = len(W)
    kind = W.dtype
    v = np.empty(m, kind)
    dots = np.empty(m, kind)
    r = np.zeros(m, kind)
    moved = np.empty(m, kind)
    some = np.empty(m, np.int64)
    zero = W[0, 0] * 0
    l1 = zero + l1
    changed = 0.0
    size = 0.0
    for i in range(m):
        top = starts[i]
        pairs = columns[top : starts[i + 1]]
        n = len(pairs)
        own = W[i]
        wii = own[i]
        for k in range(m):
            v[k] = U[k, i]
        _dots(W, v, pairs, dots)
        for t in range(n):
            r[pairs[t]] = dots[t]
            moved[t] = 0
        # What a step adds along row i is the same for all pairs: one number holds it.
        along = zero
        # Gathering costs more per number than a contiguous run; only few pairs gather.
        dense = 12 * n > m - i
        # Runs of whole vectors: what lies before i is scratch.
        low = max(m - 32 * ((m - i + 31) // 32), 0)
        rest = r[low:]
        for _ in range(inner):
            most = zero
            for t in range(n):
                j = pairs[t]
                row = W[j]
                c = x[top + t]
                z = c - (g[top + t] + r[j] + along * own[j]) * inverted[top + t]
                # The diagonal comes first in its row and has no penalty.
                cut = l1 * inverted[top + t] if t > 0 else zero
                z = max(z - cut, zero) + min(z + cut, zero)
                step = z - c
                if step == 0.0:
                    continue
                x[top + t] = z
                moved[t] += step
                most = max(most, step * step * row[j])
                first = step * wii
                along += step * own[j] if t > 0 else zero
                if dense:
                    _add(first, row[low:], rest)
                else:
                    for k in pairs:
                        r[k] += first * row[k]
            if most * wii < SETTLED * SETTLED:
                break
        count = 0
        for t in range(n):
            step = moved[t]
            if step != 0.0:
                j = pairs[t]
                d[top + t] += step
                dots[count] = step
                some[count] = j
                count += 1
                if j != i:
                    other = U[j]
                    for k in range(m):
                        other[k] += step * own[k]
                changed += abs(step)
            size += abs(d[top + t])
        _combine(W, dots[:count], some[:count], U[i])
    return changed, size


@kernel
def both_ways(starts, columns):  # type: ignore[no-untyped-def]
    """Return the pairs i <= j as full rows of a symmetric matrix: row starts, columns, places."""
    m = len(starts) - 1
    begins = np.zeros(m + 1, np.int64)
    for i in range(m):
        for t in range(starts[i], starts[i + 1]):
            begins[i + 1] += 1
            if columns[t] != i:
                begins[columns[t] + 1] += 1
    for i in range(m):
        begins[i + 1] += begins[i]
    ends = begins[:m].copy()
    others = np.empty(begins[m], np.int64)
    places = np.empty(begins[m], np.int64)
    for i in range(m):
        for t in range(starts[i], starts[i + 1]):
            j = columns[t]
            others[ends[i]], places[ends[i]] = j, t
            ends[i] += 1
            if j != i:
                others[ends[j]], places[ends[j]] = i, t
                ends[j] += 1
    return begins, others, places


@kernel(fastmath=FAST)
def pairs_product(B, x, begins, others, places, U):  # type: ignore[no-untyped-def]
    """Compute U = X B for the symmetric X with values x on the pairs, given as full rows."""
    m = len(B)
    values = np.empty(m, x.dtype)
    for i in range(m):
        top, n = begins[i], begins[i + 1] - begins[i]
        for t in range(n):
            values[t] = x[places[top + t]]
        target = U[i]
        target[:] = 0
        _combine(B, values[:n], others[top : top + n], target)


@kernel(fastmath=FAST)
def between(B, U, starts, columns, y):  # type: ignore[no-untyped-def]
    """Write the values of B U on the pairs to y."""
    m = len(B)
    v = np.empty(m, B.dtype)
    for i in range(m):
        for k in range(m):
            v[k] = U[k, i]
        _dots(B, v, columns[starts[i] : starts[i + 1]], y[starts[i] : starts[i + 1]])


@kernel(fastmath=FAST)
def sparse_sandwich(M, begins, places, x, starts, columns, U, y):  # type: ignore[no-untyped-def]
    """Write the values of M X M on the pairs to y, through the non-zeros of M only.

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
