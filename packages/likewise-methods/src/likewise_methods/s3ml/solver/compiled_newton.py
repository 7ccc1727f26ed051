"""Newton's method for one block, fully compiled: steps as in ``newton``.

It begins with the M of a tree (docs/methods/s3ml.md, (21)), if need be for a larger l1 that falls
with every step.  Conjugate gradients and LAPACK pay only where a block is large or ill-conditioned:
a block that is not solved within so many sweeps is left to the other methods, with the M reached.
W and directions are in the precision of the scratch arrays; F, M and the certificate are float64.

Calling LAPACK from Python costs more than factorising a small matrix, so Cholesky factors and
inverses are here too.  Their inner loops begin at column 0 and go along rows, four at a time, so
that the compiler uses vectors.
"""

# mypy: disable-error-code="no-untyped-def, unused-ignore"
from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.s3ml.solver.newton_kernels import (
    HOPED,
    clear,
    clip_to_box,
    copy,
    free_pairs,
    least_gap,
    put_pairs,
    sweep,
    tree,
)

FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel(fastmath=FAST)
def factorise(B, L):
    """Write L with B = L L' (lower triangle of B); return log det B, NaN if not definite.

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
    """Write W = (L L')^-1 in full; X, the inverse of L, is scratch."""
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
    """Write W = X' X of a lower triangular X with zeros above it, two rows of W at a time."""
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


ARMIJO, SHORTEST, ROUNDING = 1e-3, 1e-9, 4e-15
# l1 is multiplied by UP until there is an M to begin with, and by DOWN with every step.
UP, DOWN = 1.4, 0.5
# Coordinate descent ends when a sweep moves less than a share of D (docs/methods/s3ml.md, (23)):
# FORCING times the root of what the step before promised per variable, which measures how true the
# model is, and at least FINEST; or after SWEEPS sweeps.
FORCING, FINEST, SWEEPS, INNER = 4.0, 0.03, 12, 2
# No certificate (a factorisation) is computed after a step that promised so many times the goal.
SURE = 30.0


@kernel
def linear(A, l1, M):
    """Return <A, M> plus the penalty off the diagonal."""
    m = len(A)
    total = 0.0
    for i in range(m):
        own = 0.0
        for j in range(i):
            own += A[i, j] * M[i, j] + l1 * abs(M[i, j])
        total += A[i, i] * M[i, i] + 2.0 * own
    return total


@kernel
def _begin(A, l1, highest, M, L):
    """Write the first M with its factor L; return the l1 it suits: the problem's, if possible.

    The result is infinite where that is above the highest.
    """
    m = len(A)
    diagonal = float(m)
    for i in range(m):
        diagonal += np.log(A[i, i])
    slack = ROUNDING * (abs(diagonal) + m)
    level = l1
    while level <= highest:
        hoped = tree(A, level, M)
        value = linear(A, level, M) - factorise(M, L)
        # Rounding counts where no pair is above this l1.
        if diagonal - value >= HOPED * hoped - slack:
            return level
        level *= UP
    return np.inf


@kernel
def _open_model(A, M, W, starts, columns, inverted, g, x, d):
    """Write inverse curvatures, slopes, M and zeros on the free pairs."""
    for i in range(len(A)):
        for t in range(starts[i], starts[i + 1]):
            j = columns[t]
            bend = W[i, i] * W[j, j]
            if j != i:
                bend += W[i, j] * W[i, j]
            inverted[t] = 1.0 / bend
            g[t] = A[i, j] - W[i, j]
            x[t] = M[i, j]
            d[t] = 0.0


@kernel
def _drop_zeros(starts, columns, inverted, g, x, d):
    """Keep the non-zero pairs and the diagonal; return how many."""
    m = len(starts) - 1
    n = top = 0
    for i in range(m):
        end = starts[i + 1]
        starts[i] = n
        for t in range(top, end):
            if x[t] != 0.0 or columns[t] == i:
                columns[n], inverted[n], g[n] = columns[t], inverted[t], g[t]
                x[n], d[n] = x[t], d[t]
                n += 1
        top = end
    starts[m] = n
    return n


@kernel
def _promise(A, M, W, l1, target):
    """Return the slope of F towards the target, with the whole step's change of the penalty."""
    m = len(A)
    total = 0.0
    for i in range(m):
        own = 0.0
        for j in range(i):
            own += (A[i, j] - W[i, j]) * (target[i, j] - M[i, j])
            own += l1 * (abs(target[i, j]) - abs(M[i, j]))
        total += 2.0 * own + (A[i, i] - W[i, i]) * (target[i, i] - M[i, i])
    return total


@kernel
def _bound(A, W, l1, Z, L):
    """Write Z, W clipped to the box; return the dual value it proves, or NaN."""
    m = len(A)
    clip_to_box(W, A, l1, Z)
    for i in range(m):
        for j in range(i):
            Z[i, j] = Z[j, i]
    return factorise(Z, L) + m


@kernel
def _inverse(L, narrow, scratch, W):
    """Write W from the factor L in W's precision."""
    m = len(L)
    for i in range(m):
        for j in range(i + 1):
            narrow[i, j] = L[i, j]
    invert(narrow, scratch, W)


@kernel
def _search(A, l1, value, promised, M, target, trial, L):
    """Move M towards the target as far as F falls (Armijo); return (F, whether it fell).

    L becomes the factor of M.
    """
    m = len(A)
    slack = ROUNDING * (abs(value) + m)
    length = 1.0
    copy(target, trial)
    while promised < 0.0 and length > SHORTEST:
        reached = linear(A, l1, trial) - factorise(trial, L)
        if reached <= value + ARMIJO * length * promised + slack:
            copy(trial, M)
            return reached, True
        length *= 0.5
        for i in range(m):
            for j in range(m):
                trial[i, j] = M[i, j] + length * (target[i, j] - M[i, j])
    return value, False


@kernel
def solve_block(A, l1, goal, most, limits, M, Z, wide, narrow, lists, values):
    """Solve one block: write M and Z, return (F, gap, steps).

    A gap above the goal means that the block is not solved.

    ``limits``: the highest l1 to begin with, over l1, and how many pairs sweeps may visit.
    Scratch: three squares in float64, four in the precision of directions, and for pairs two lists
    of places and four of values.  F is infinite where no M is worth continuing from.
    """
    target, trial, L = wide
    W, U, X, K = narrow
    starts, columns = lists
    inverted, g, x, d = values
    m = len(A)
    level = _begin(A, l1, limits[0] * l1, M, L)
    if level == np.inf:
        return np.inf, np.inf, 0
    value = linear(A, level, M) - _logdet(L)
    dual = -np.inf
    promised = 0.0
    steps = visits = 0
    moved = True
    while True:
        if moved:
            _inverse(L, K, X, W)
        last = not moved or steps == most or visits > limits[1]
        if level == l1 and (last or (-promised < SURE * goal and least_gap(A, W, l1, M) <= goal)):
            bound = _bound(A, W, l1, trial, L)
            if bound > dual:
                dual = bound
                copy(trial, Z)
            if value - dual <= goal:
                break
        if last:
            break
        n = free_pairs(A, M, W, level, starts, columns)
        _open_model(A, M, W, starts, columns, inverted, g, x, d)
        clear(U)
        # Before the first promise, and after l1 has fallen, a step is worth one sweep.
        calm = max(FORCING * np.sqrt(-promised / m), FINEST) if promised < 0.0 else 1.0
        for k in range(SWEEPS):
            changed, size = sweep(W, inverted, g, x, d, U, level, starts, columns, INNER)
            visits += n
            if changed <= calm * size or visits > limits[1]:
                break
            if k == 0:
                n = _drop_zeros(starts, columns, inverted, g, x, d)
        put_pairs(starts, columns, x, target)
        promised = _promise(A, M, W, level, target)
        value, moved = _search(A, level, value, promised, M, target, trial, L)
        if moved:
            steps += 1
        if level > l1:
            # The next l1 is another problem.
            level = max(DOWN * level, l1)
            value = linear(A, level, M) - (_logdet(L) if moved else factorise(M, L))
            promised, moved = -np.inf, True
    if level > l1:
        return linear(A, l1, M) - factorise(M, L), np.inf, steps
    return value, value - dual, steps


@kernel
def _logdet(L):
    total = 0.0
    for i in range(len(L)):
        total += 2.0 * np.log(L[i, i])
    return total
