"""Readable reference versions for the sparse coders: slow, explicit, independent."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

Floats = NDArray[np.float64]


def unit_words(k: int, d: int, norm: float, seed: int, signed: bool = False) -> Floats:
    rng = np.random.default_rng(seed)
    words = rng.standard_normal((k, d))
    words = words if signed else np.abs(words)
    return np.asarray(norm * words / np.linalg.norm(words, axis=1, keepdims=True))


def product_words(codebooks: Sequence[Floats]) -> Floats:
    """All k^m products in C order, one a row."""
    each = [range(len(book)) for book in codebooks]
    return np.array(
        [
            np.concatenate([book[j] for book, j in zip(codebooks, word, strict=True)])
            for word in itertools.product(*each)
        ]
    )


def explicit_objective(words: Floats, Y: Floats, X: Floats, alpha: float) -> Floats:
    return np.asarray(((X - Y @ words) ** 2).sum(axis=1) + alpha * Y.sum(axis=1))


def by_sklearn(words: Floats, x: Floats, alpha: float) -> Floats:
    """|x - y words|^2 + alpha |y|_1 is 2 d times scikit-learn's objective at alpha / (2 d)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Lasso(
            alpha=alpha / (2 * len(x)), positive=True, fit_intercept=False, tol=1e-15,
            max_iter=200_000,
        )  # fmt: skip
        return np.asarray(model.fit(words.T, x).coef_)


def optimum(words: Floats, X: Floats, alpha: float) -> Floats:
    Y = np.array([by_sklearn(words, x, alpha) for x in X])
    return explicit_objective(words, Y, X, alpha)


def lee_dual(X: Floats, U: Floats, norm: float) -> Floats:
    """min |X - U A|^2, |a_j| <= norm, by Lee et al.'s dual: A = (U'U + diag l)^-1 U'X."""
    S, T = U.T @ U, U.T @ X

    def words(scales: Floats) -> Floats:
        return np.asarray(np.linalg.solve(S + np.diag(scales), T))

    def negative_dual(scales: Floats) -> tuple[float, Floats]:
        A = words(scales)
        value = float((T * A).sum() + norm**2 * scales.sum())
        return value, norm**2 - (A**2).sum(axis=1)

    found = minimize(
        negative_dual, np.ones(len(S)), jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(S),
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 5000},
    )  # fmt: skip
    return words(found.x)
