"""Small problems of sparse inverse covariance and plain, readable ways to judge an answer.

Nothing here uses the package's own code: the reference climbs the dual row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

Floats = NDArray[np.float64]


def covariance(m: int, n: int, seed: int = 0, strength: float = 0.6) -> Floats:
    """The sample covariance of a chain of variables with spreads that differ."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    for j in range(1, m):
        X[:, j] += strength * X[:, j - 1]
    X *= rng.uniform(0.5, 2.0, m)
    return np.asarray(np.cov(X.T))


def in_blocks(sizes: list[int], l1: float, seed: int = 0) -> Floats:
    """Covariances side by side, weak noise (below l1) between them, variables shuffled."""
    rng = np.random.default_rng(seed)
    m = sum(sizes)
    S = rng.uniform(-0.9 * l1, 0.9 * l1, (m, m))
    S = (S + S.T) / 2
    top = 0
    for k, size in enumerate(sizes):
        block = slice(top, top + size)
        S[block, block] = covariance(size, 3 * size + 5, seed + k) if size > 1 else 1.0
        top += size
    order = rng.permutation(m)
    return S[np.ix_(order, order)]


def weights(S: Floats, l1: float, penalise_diagonal: bool) -> Floats:
    L = np.full(S.shape, l1)
    if not penalise_diagonal:
        np.fill_diagonal(L, 0.0)
    return L


def objective(S: Floats, M: Floats, l1: float, penalise_diagonal: bool = True) -> float:
    """F(M) of docs/methods/s3ml.md, (5)."""
    sign, log = np.linalg.slogdet(M)
    assert sign > 0
    assert np.linalg.eigvalsh(M)[0] > 0
    L = weights(S, l1, penalise_diagonal)
    return float(-log + (S * M).sum() + (L * np.abs(M)).sum())


def reference(
    S: Floats, l1: float, penalise_diagonal: bool = True, start: Any = None
) -> tuple[Floats, float]:
    """(M, lower bound of F): maximise logdet Z over the box, row by row (Banerjee et al. 2008).

    The best row w, all else held, minimises w' B^-1 w inside the box, B being Z without that row.
    The bound holds whatever happened, as Z is in the box and positive definite.
    """
    m = len(S)
    L = weights(S, l1, penalise_diagonal)
    Z = S + np.diag(np.diagonal(L))
    # Towards its diagonal, inside the box, a semidefinite Z becomes definite.
    off = S - np.diag(np.diagonal(S))
    Z = Z - min(1.0, l1 / np.abs(off).max()) * off if start is None else start.copy()
    for _ in range(200):
        old = Z.copy()
        for i in range(m):
            rest = np.delete(np.arange(m), i)
            factor = np.linalg.cholesky(Z[np.ix_(rest, rest)])
            half, middle = np.linalg.inv(factor), S[rest, i]
            found = lsq_linear(half, np.zeros(m - 1), (middle - l1, middle + l1), method="bvls")
            Z[rest, i] = Z[i, rest] = found.x
        if np.abs(Z - old).max() < 1e-11 * np.abs(Z).max():
            break
    return np.linalg.inv(Z), float(np.linalg.slogdet(Z)[1]) + m
