"""Small lasso problems and plain, readable ways to judge an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import Lasso

Floats = NDArray[Any]


def problem(n: int, m: int, queries: int = 5, seed: int = 0, positive: bool = False) -> Any:
    """Unit rows (float32) with a common part, as pictures have, and queries."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n + queries, m)) * np.arange(1, m + 1) ** -0.4
    Z += 0.5 * rng.standard_normal(m)
    if positive:
        Z = np.abs(Z)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    return Z[:n].astype(np.float32), Z[n:]


def columns(A: Floats) -> Floats:
    """The lasso's columns as rows: float64, unit length, zero where A is."""
    A = np.asarray(A, np.float64)
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return A / np.where(length > 0, length, 1)


def objective(A: Floats, y: Floats, x: Floats, gamma: float) -> float:
    return 0.5 * float(np.sum((y - x @ A) ** 2)) + gamma * float(np.abs(x).sum())


def gap(A: Floats, y: Floats, x: Floats, gamma: float, nonnegative: bool = False) -> float:
    """(P - D) / P of docs/methods/siso.md, (4), without any of the package's code."""
    r = y - x @ A
    c = A @ r
    largest = c.max() if nonnegative else np.abs(c).max()
    reach = gamma / largest if largest > 0 else np.inf
    tau = np.clip(y @ r / (r @ r), 0 if nonnegative else -reach, reach)
    P = objective(A, y, x, gamma)
    D = 0.5 * y @ y - 0.5 * np.sum((y - tau * r) ** 2)
    return float((P - D) / P)


def violation(A: Floats, y: Floats, x: Floats, gamma: float, nonnegative: bool = False) -> float:
    """Largest breach of the optimality conditions, relative to gamma."""
    c = A @ (y - x @ A)
    on = np.abs(c - gamma * np.sign(x))[x != 0].max(initial=0)
    off = (c if nonnegative else np.abs(c))[x == 0].max(initial=-np.inf) - gamma
    wrong_side = -x.min(initial=0) if nonnegative else 0.0
    return float(max(on, off, wrong_side) / gamma)


def by_sklearn(A: Floats, y: Floats, gamma: float, nonnegative: bool = False) -> Floats:
    """Coordinate descent by scikit-learn, as precise as it goes."""
    model = Lasso(
        alpha=gamma / len(y), fit_intercept=False, positive=nonnegative, tol=1e-10,
        max_iter=1_000_000,
    )  # fmt: skip
    return np.asarray(model.fit(A.T, y).coef_)


def check_exact(A: Floats, Y: Floats, codes: Any, tol: float, nonnegative: bool = False) -> None:
    """Every query: gap at most tol, recomputed here over all columns; the report is honest."""
    A = columns(A)
    X = sp.csr_array(codes.x).toarray()
    assert X.shape == (len(Y), len(A))
    assert codes.converged.all()
    for y, x, gamma, said in zip(np.asarray(Y), X, codes.gamma, codes.gap, strict=True):
        if not y.any():
            assert not x.any()
            assert said == 0
            continue
        found = gap(A, y, x, gamma, nonnegative)
        assert found <= tol
        # The bound used for unlisted columns may only make the report more careful.
        assert said >= found - 1e-9
        assert said <= tol
        if nonnegative:
            assert x.min() >= 0
