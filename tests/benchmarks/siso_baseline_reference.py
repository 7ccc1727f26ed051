"""The baselines written down plainly: dense, slow, and as the formulas stand in the papers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

Floats = NDArray[np.float64]


def unit(X: Any) -> Floats:
    X = np.asarray(X, np.float64)
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def squares(A: Floats, B: Floats) -> Floats:
    return np.asarray(((A[:, None] - B[None]) ** 2).sum(axis=2))


def knn(X: Floats, L: Floats, Q: Floats, k: int, *, gaussian: bool = False) -> Floats:
    made = np.zeros((len(Q), L.shape[1]))
    for i, d in enumerate(squares(Q, X)):
        near = np.argsort(d, kind="stable")[:k]
        w = np.exp(-d[near] / d[near].mean()) if gaussian else np.ones(len(near))
        made[i] = (w / w.sum()) @ L[near]
    return made


def ridge(X: Floats, L: Floats, Q: Floats, penalty: float) -> Floats:
    """The n-by-n form of the paper: x = (A'A + k I)^-1 A'y with A = X'."""
    x = np.linalg.solve(X @ X.T + penalty * np.eye(len(X)), X @ Q.T)
    return np.asarray(x.T @ L)


def mix(q: Floats, rows: Floats) -> Floats:
    """The best convex mix of some rows, by trying every support."""
    best, found = np.inf, np.zeros(len(rows))
    for size in range(1, len(rows) + 1):
        for support in combinations(range(len(rows)), size):
            A = rows[list(support)]
            # Stationary on the support: |q - A'w|^2 with sum w = 1.
            K = np.block([[A @ A.T, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            w = np.linalg.lstsq(K, np.append(A @ q, 1.0), rcond=None)[0][:size]
            value = float(((q - w @ A) ** 2).sum())
            if w.min() >= -1e-12 and abs(w.sum() - 1) < 1e-9 and value < best - 1e-13:
                best, found = value, np.zeros(len(rows))
                found[list(support)] = np.maximum(w, 0)
    return found


def l1_mix(q: Floats, rows: Floats, alpha: float) -> Floats:
    """The lasso over some rows, negatives clipped, summing to 1."""
    gamma = alpha * np.abs(rows @ q).max()
    solver = Lasso(gamma / len(q), fit_intercept=False, tol=1e-12, max_iter=100_000)
    x = np.maximum(solver.fit(rows.T, q).coef_, 0)
    return x / x.sum() if x.sum() > 0 else x


def nearest(X: Floats, k: int) -> NDArray[np.int64]:
    d = squares(X, X)
    np.fill_diagonal(d, np.inf)
    return np.argsort(d, axis=1, kind="stable")[:, :k]


def lnp(X: Floats, Y: Floats, k: int, share: float) -> Floats:
    W = np.zeros((len(X), len(X)))
    for i, near in enumerate(nearest(X, k)):
        W[i, near] = mix(X[i], X[near])
    W = (W + W.T) / 2
    root = np.diag(W.sum(axis=1) ** -0.5)
    return np.asarray((1 - share) * np.linalg.inv(np.eye(len(X)) - share * root @ W @ root) @ Y)


def gaussian_graph(X: Floats, k: int) -> Floats:
    d, near = squares(X, X), nearest(X, k)
    width = np.mean([d[i, some[-1]] for i, some in enumerate(near)])
    W = np.zeros_like(d)
    for i, some in enumerate(near):
        W[i, some] = np.exp(-d[i, some] / width)
    return np.maximum(W, W.T)


def l1_graph(X: Floats, k: int, alpha: float) -> Floats:
    W = np.zeros((len(X), len(X)))
    for i, near in enumerate(nearest(X, k)):
        W[i, near] = l1_mix(X[i], X[near], alpha)
    return W


def egssc_objective(
    W: Floats, r: Floats, p: Floats, q: Floats, mu: float, nu: float, beta: float
) -> float:
    """sum_labelled KL(r_i | q_i) + mu sum_ij w'_ij KL(p_i | q_j) - nu sum_i H(p_i)."""
    own = W + beta * np.eye(len(W))
    total = 0.0
    for i in range(len(W)):
        for y in np.flatnonzero(r[i]):
            total += r[i, y] * np.log(r[i, y] / q[i, y])
        for j in np.flatnonzero(own[i]):
            total += mu * own[i, j] * float((p[i] * np.log(p[i] / q[j])).sum())
        total += nu * float((p[i] * np.log(p[i])).sum())
    return total


def egssc(
    W: Floats, r: Floats, mu: float, nu: float, beta: float, steps: int
) -> tuple[Floats, Floats]:
    """The two closed forms in turn, picture by picture."""
    own, n = W + beta * np.eye(len(W)), len(W)
    p = np.full(r.shape, 1 / r.shape[1])
    q = p.copy()
    for _ in range(steps):
        for i in range(n):
            labelled = float(r[i].sum() > 0)
            q[i] = (r[i] + mu * own[:, i] @ p) / (labelled + mu * own[:, i].sum())
        for i in range(n):
            power = np.exp(mu * own[i] @ np.log(q) / (nu + mu * own[i].sum()))
            p[i] = power / power.sum()
    return p, q
