"""Comparisons with a known truth, and plain versions of what the kernels do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def truth(n: int, p: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, p))


def triplets(points: Floats, m: int, seed: int = 1, flipped: float = 0.0) -> NDArray[np.int64]:
    """m right answers about ``points``, a share of them turned round."""
    rng = np.random.default_rng(seed)
    found = np.array([rng.choice(len(points), 3, replace=False) for _ in range(m)])
    i, j, k = (points[found[:, c]] for c in range(3))
    wrong = ((i - j) ** 2).sum(axis=1) > ((i - k) ** 2).sum(axis=1)
    wrong ^= rng.random(m) < flipped
    return np.where(wrong[:, None], found[:, [0, 2, 1]], found)


def quadruplets(points: Floats, m: int, seed: int = 1) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    found = np.array([rng.choice(len(points), 4, replace=False) for _ in range(m)])
    i, j, l, k = (points[found[:, c]] for c in range(4))  # noqa: E741
    wrong = ((i - j) ** 2).sum(axis=1) > ((l - k) ** 2).sum(axis=1)
    return np.where(wrong[:, None], found[:, [2, 3, 0, 1]], found)


def four(row: Any) -> tuple[int, int, int, int]:
    return (row[0], row[1], row[0], row[2]) if len(row) == 3 else tuple(row)


def gradient_of_one(loss: Any, X: Floats, row: Any) -> tuple[float, Floats]:
    """f and its gradient, by the formulas of docs/methods/ordinal.md, (2) to (6)."""
    i, j, l, k = four(row)  # noqa: E741
    a, b = ((X[i] - X[j]) ** 2).sum(), ((X[l] - X[k]) ** 2).sum()
    f, fa, fb = (float(x) for x in loss.weights(a, b))
    G = np.zeros_like(X)
    G[i] += 2 * fa * (X[i] - X[j])
    G[j] -= 2 * fa * (X[i] - X[j])
    G[l] += 2 * fb * (X[l] - X[k])
    G[k] -= 2 * fb * (X[l] - X[k])
    return f, G


def mean_gradient(loss: Any, X: Floats, rows: Any) -> tuple[float, Floats]:
    parts = [gradient_of_one(loss, X, row) for row in rows]
    return float(np.mean([f for f, _ in parts])), np.mean([g for _, g in parts], axis=0)
