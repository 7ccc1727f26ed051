"""The formulas of docs/methods/s3ml.md read aloud: full matrices, plain loops, float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist


def walk_matrix(X: Any, k: int) -> Any:
    """P: 1/k for each of the k nearest others."""
    away = cdist(X, X)
    np.fill_diagonal(away, np.inf)
    P = np.zeros_like(away)
    for i, row in enumerate(away):
        P[i, np.argsort(row, kind="stable")[:k]] = 1 / k
    return P


def start_matrix(n: int, pairs: Any, same: Any) -> Any:
    """W0 from pairs."""
    W0 = np.eye(n)
    for (i, j), alike in zip(pairs, same, strict=True):
        W0[i, j] = W0[j, i] = 1 if alike else -1
    return W0


def pairs_of_labels(labels: Any) -> tuple[Any, Any]:
    """All pairs of labelled rows, and which are of one class."""
    known = [i for i, label in enumerate(labels) if label >= 0]
    pairs = [(i, j) for a, i in enumerate(known) for j in known[a + 1 :]]
    return np.array(pairs), np.array([labels[i] == labels[j] for i, j in pairs])


def affinities(P: Any, W0: Any, a: float, theta: float) -> Any:
    """W by the iteration of the paper, symmetrised, then thresholded.

    Negative entries are measured against the weight of a dissimilar pair, where that is below 1.
    """
    W = W0.copy()
    for _ in range(200):
        W = (1 - a) * W0 + a * P @ W
    W = (W + W.T) / 2
    weight = min(1, -W0.min()) if W0.min() < 0 else 1
    kept = np.where(W > 0, theta <= W, theta * weight <= -W)
    return np.where(kept, W, 0)


def scatter(X: Any, W: Any) -> Any:
    """T = 1/2 sum_ij W_ij (x_i - x_j)(x_i - x_j)'."""
    T = np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        D = X[i] - X
        T += (D * W[i][:, None]).T @ D / 2
    return T


def objective(M: Any, Sigma: Any, lam: float) -> float:
    """F(M) = -logdet M + <Sigma, M> + lam sum |M_ij|."""
    sign, logdet = np.linalg.slogdet(M)
    assert sign > 0
    return float(-logdet + (Sigma * M).sum() + lam * np.abs(M).sum())
