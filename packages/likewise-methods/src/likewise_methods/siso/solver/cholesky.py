"""The upper Cholesky factor U of a Gram matrix, U'U = G, as columns are added and removed.

All solvers of a working set use these kernels.  U is stored row by row, so every inner loop runs
along memory; four rows are taken at a time, which makes triangular solves three times as fast as
one row at a time.  Only the leading n-by-n part of an array is used.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel

# Sums may be reordered, so that they run in vector registers; NaN stays NaN.
FAST = {"contract", "reassoc", "nsz", "arcp"}

# A column counts as a combination of others if its squared distance to their span is below this
# share of its squared length: its correlation then differs from the combination's by at most a
# millionth of the residual's length.
DEPENDENT = 1e-12


@kernel(fastmath=FAST)
def forward(U, n, v):  # type: ignore[no-untyped-def]
    """Replace v by the solution of U'u = v."""
    i = 0
    while i + 4 <= n:
        t0 = v[i] / U[i, i]
        t1 = (v[i + 1] - t0 * U[i, i + 1]) / U[i + 1, i + 1]
        t2 = (v[i + 2] - t0 * U[i, i + 2] - t1 * U[i + 1, i + 2]) / U[i + 2, i + 2]
        t3 = v[i + 3] - t0 * U[i, i + 3] - t1 * U[i + 1, i + 3] - t2 * U[i + 2, i + 3]
        t3 /= U[i + 3, i + 3]
        v[i], v[i + 1], v[i + 2], v[i + 3] = t0, t1, t2, t3
        rest = v[i + 4 : n]
        a, b = U[i, i + 4 : n], U[i + 1, i + 4 : n]
        c, d = U[i + 2, i + 4 : n], U[i + 3, i + 4 : n]
        for k in range(rest.shape[0]):
            rest[k] -= t0 * a[k] + t1 * b[k] + t2 * c[k] + t3 * d[k]
        i += 4
    while i < n:
        t0 = v[i] / U[i, i]
        v[i] = t0
        for k in range(i + 1, n):
            v[k] -= t0 * U[i, k]
        i += 1


@kernel(fastmath=FAST)
def backward(U, n, z, d):  # type: ignore[no-untyped-def]
    """Fill d with the solution of U d = z."""
    i = n
    while i >= 4:
        i -= 4
        rest = d[i + 4 : n]
        a, b = U[i, i + 4 : n], U[i + 1, i + 4 : n]
        c, e = U[i + 2, i + 4 : n], U[i + 3, i + 4 : n]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(rest.shape[0]):
            q = rest[k]
            s0 += a[k] * q
            s1 += b[k] * q
            s2 += c[k] * q
            s3 += e[k] * q
        d3 = (z[i + 3] - s3) / U[i + 3, i + 3]
        d2 = (z[i + 2] - s2 - U[i + 2, i + 3] * d3) / U[i + 2, i + 2]
        d1 = (z[i + 1] - s1 - U[i + 1, i + 2] * d2 - U[i + 1, i + 3] * d3) / U[i + 1, i + 1]
        d0 = z[i] - s0 - U[i, i + 1] * d1 - U[i, i + 2] * d2 - U[i, i + 3] * d3
        d[i], d[i + 1], d[i + 2], d[i + 3] = d0 / U[i, i], d1, d2, d3
    while i > 0:
        i -= 1
        s = z[i]
        for k in range(i + 1, n):
            s -= U[i, k] * d[k]
        d[i] = s / U[i, i]


@kernel(fastmath=FAST)
def project(U, n, G, act, j, u):  # type: ignore[no-untyped-def]
    """Compute u = U^-T G[act, j]; return the squared distance of column j to the span."""
    row = G[j]
    for i in range(n):
        u[i] = row[act[i]]
    forward(U, n, u)
    left = G[j, j]
    for i in range(n):
        left -= u[i] * u[i]
    return left


@kernel
def append(U, n, u, left):  # type: ignore[no-untyped-def]
    """Add the column of the last ``project``."""
    for i in range(n):
        U[i, n] = u[i]
    U[n, n] = np.sqrt(left)


@kernel(fastmath=FAST)
def _shift(row):  # type: ignore[no-untyped-def]
    """Move every entry one place down."""
    for k in range(row.shape[0] - 1):
        row[k] = row[k + 1]


@kernel(fastmath=FAST)
def remove(U, n, z, p):  # type: ignore[no-untyped-def]
    """Remove column p; Givens rotations restore the rows below it, and z = U^-T v with them.

    Rows are rotated in place and shifted afterwards: in one loop the source would overlap the
    target, which prevents vector registers (five times the time).
    """
    for i in range(p):
        _shift(U[i, p:n])
    for i in range(p, n - 1):
        a, b = U[i, i + 1], U[i + 1, i + 1]
        scale = 1 / np.sqrt(a * a + b * b)
        cosine, sine = a * scale, b * scale
        upper, lower = U[i, i + 1 : n], U[i + 1, i + 1 : n]
        for k in range(lower.shape[0]):
            t, v = upper[k], lower[k]
            upper[k] = cosine * t + sine * v
            lower[k] = cosine * v - sine * t
        _shift(U[i, i:n])
        t, v = z[i], z[i + 1]
        z[i], z[i + 1] = cosine * t + sine * v, cosine * v - sine * t


@kernel(fastmath=FAST)
def gram_product(G, s, act, n, d, w, dense, out):  # type: ignore[no-untyped-def]
    """Compute out[j] = G[j, act] d for every j outside the support.

    ``dense`` is scratch for d at its positions, so that whole rows of G are read.  Few columns are
    outside, so this costs a fraction of all w products.
    """
    row = dense[:w]
    for k in range(w):
        row[k] = 0.0
    for i in range(n):
        row[act[i]] = d[i]
    held, j0, j1, j2 = 0, 0, 0, 0
    for j in range(w):
        if s[j] != 0.0:
            continue
        if held < 3:
            j0, j1, j2 = (j, j1, j2) if held == 0 else (j0, j, j2) if held == 1 else (j0, j1, j)
            held += 1
            continue
        a, b, c, e = G[j0, :w], G[j1, :w], G[j2, :w], G[j, :w]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(row.shape[0]):
            q = row[k]
            s0 += a[k] * q
            s1 += b[k] * q
            s2 += c[k] * q
            s3 += e[k] * q
        out[j0], out[j1], out[j2], out[j] = s0, s1, s2, s3
        held = 0
    for h in range(held):
        j = j0 if h == 0 else j1 if h == 1 else j2
        a = G[j, :w]
        s0 = 0.0
        for k in range(row.shape[0]):
            s0 += a[k] * row[k]
        out[j] = s0
