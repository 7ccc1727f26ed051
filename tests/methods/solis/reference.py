"""The readable versions: every update over all words, every round (docs/methods/solis.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def soft(v: Any, a: Any) -> Any:
    return np.sign(v) * np.maximum(np.abs(v) - a, 0)


def t1(v: Floats, a: Any, theta: float) -> Floats:
    return np.where(np.abs(v) <= theta, soft(v, a), v)


def z_of(X: Floats, triplet: NDArray[np.int64]) -> Floats:
    a, p, n = triplet
    return X[a] * (X[p] - X[n])


def solis(
    X: Floats,
    triplets: NDArray[np.int64],
    method: str,
    l1: float,
    *,
    eta: float = 0.0,
    gamma: float = 1.0,
    rho: float = 0.0,
    delta: float = 0.0,
    theta: float = np.inf,
    clock: str = "all",
    margin: float = 1.0,
    start: str = "zeros",
    nonnegative: bool = False,
    word_cost: Floats | None = None,
    skip_empty: bool = False,
    sample_weight: Floats | None = None,
) -> tuple[Floats, int, int]:
    """Weights after all triplets, the number of rounds, the number of losses."""
    m = X.shape[1]
    base = 1.0 if start == "ones" else 0.0
    floor = -base if nonnegative else -np.inf
    lam = l1 * (np.ones(m) if word_cost is None else word_cost)
    v = np.zeros(m)  # w - start
    gbar, total, squares = np.zeros(m), np.zeros(m), np.zeros(m)
    t = rounds = losses = 0
    for number, triplet in enumerate(triplets):
        z = z_of(X, triplet)
        if skip_empty and not z.any():
            continue
        rounds += 1
        s = 1.0 if sample_weight is None else float(sample_weight[number])
        lost = s > 0 and (base + v) @ z < margin
        losses += lost
        g = -s * z if lost else np.zeros(m)
        if not lost and (clock == "loss" or (clock == "printed" and method in ("tg", "afb"))):
            continue
        t += 1
        squares = squares + g**2
        with np.errstate(divide="ignore", invalid="ignore"):
            H = delta + np.sqrt(squares)
            if method == "tg":
                v = t1(v - eta * g, eta * lam, theta)
            elif method == "afb":
                v = np.where(H > 0, soft(v - eta * g / H, eta * lam / H), 0)
            elif method == "da":
                gbar = (t - 1) / t * gbar + g / t
                fresh = -(np.sqrt(t) / gamma) * soft(gbar, lam + gamma * rho / np.sqrt(t))
                v = fresh if lost or clock != "printed" else v
            else:
                total = total + g
                fresh = np.where(H > 0, -(eta / H) * soft(total, lam * t), 0)
                v = fresh if lost or clock != "printed" else v
        v = np.maximum(v, floor)
    return base + v, rounds, losses


def oasis_diagonal(
    X: Floats, triplets: NDArray[np.int64], C: float, margin: float, weight: Floats | None = None
) -> Floats:
    w = np.ones(X.shape[1])
    for number, triplet in enumerate(triplets):
        z = z_of(X, triplet)
        limit = C * (1.0 if weight is None else float(weight[number]))
        loss = max(0.0, margin - w @ z)
        if loss > 0 and z @ z > 0:
            w = w + min(limit, loss / (z @ z)) * z
    return w


def oasis_full(X: Floats, triplets: NDArray[np.int64], C: float, margin: float) -> Floats:
    W = np.eye(X.shape[1])
    for a, p, n in triplets:
        d = X[p] - X[n]
        V = np.outer(X[a], d)
        loss = max(0.0, margin - X[a] @ W @ d)
        if loss > 0 and (V**2).sum() > 0:
            W = W + min(C, loss / (V**2).sum()) * V
    return W


def lego_pairs(
    triplets: NDArray[np.int64], low: float, high: float
) -> list[tuple[int, int, float, int]]:
    """(u, v, target, side): side +1 asks for at most the target, -1 for at least."""
    out = []
    for a, p, n in triplets:
        out += [(int(a), int(p), low, 1), (int(a), int(n), high, -1)]
    return out


def lego_full(
    X: Floats, triplets: NDArray[np.int64], eta: float, low: float, high: float
) -> Floats:
    A = np.eye(X.shape[1])
    for u, v, y, side in lego_pairs(triplets, low, high):
        d = X[u] - X[v]
        yhat = d @ A @ d
        if side * (yhat - y) <= 0 or yhat <= 0:
            continue
        b = eta * y * yhat - 1
        ybar = (b + np.sqrt(b**2 + 4 * eta * yhat**2)) / (2 * eta * yhat)
        c = eta * (ybar - y)
        Ad = A @ d
        A = A - c / (1 + c * yhat) * np.outer(Ad, Ad)
    return A


def lego_diagonal(
    X: Floats, triplets: NDArray[np.int64], eta: float, low: float, high: float
) -> Floats:
    """The root by plain bisection over a bracket grown by doubling."""
    a = np.ones(X.shape[1])
    for u, v, y, side in lego_pairs(triplets, low, high):
        d = X[u] - X[v]
        b = a * d**2
        if side * (b.sum() - y) <= 0 or b.sum() <= 0:
            continue

        def short(c: float, b: Floats = b, y: float = y) -> float:
            return float((b / (1 + c * b)).sum() - y - c / eta)

        left = -1 / b.max() * (1 - 1e-12)
        right = 1.0
        while short(right) > 0:
            right *= 2
        for _ in range(200):
            middle = (left + right) / 2
            left, right = (middle, right) if short(middle) > 0 else (left, middle)
        c = (left + right) / 2
        a = 1 / (1 / a + c * d**2)
    return a
