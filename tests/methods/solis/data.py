"""Small random collections with structure to learn."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def collection(
    n: int = 40, m: int = 60, density: float = 0.2, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Unit rows of a few classes that own some words each, and their classes; some rows empty."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    chance = np.full((n, m), density)
    for c in range(4):
        chance[np.ix_(labels == c, np.arange(c, m, 8))] = 0.7
    X = (rng.random((n, m)) < chance) * rng.uniform(0.2, 1, (n, m))
    X[:2] = 0
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1), labels


def triplets_of(
    labels: NDArray[np.int64], count: int = 150, seed: int = 1, wrong: float = 0.1
) -> NDArray[np.int64]:
    """Mostly right, some at random, two degenerate."""
    rng = np.random.default_rng(seed)
    made = []
    while len(made) < count:
        a, p, n = rng.integers(0, len(labels), 3)
        if rng.random() < wrong or (labels[a] == labels[p] and labels[a] != labels[n]):
            made.append((a, p, n))
    made[5] = (3, 4, 4)
    made[6] = (0, 3, 4)
    return np.array(made)


def sparse(X: NDArray[np.float64]) -> sp.csr_array:
    return sp.csr_array(X)
