"""Sparse coders to measure, ours and others', and the judge of all: one table row for each.

No coder grades itself: objective and gap are computed here in float64 from the codes it returned.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = dict[str, object]
Marginals = list[Any]


def product_words(books: Sequence[Floats]) -> Floats:
    """All k^2 products of two sub-codebooks, explicitly."""
    first, second = books
    k, other = len(first), len(second)
    return np.hstack([np.repeat(first, other, axis=0), np.tile(second, (k, 1))])


def judge(X: Any, codes: Any, words: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Objective and duality gap of codes over explicit words."""
    codes = sp.csr_array(codes).astype(np.float64)
    rests = X.astype(np.float64) - codes @ words
    return _certified(X, rests, (rests @ words.T).max(axis=1), codes, alpha)


def judge_parts(
    parts: Sequence[Any], found: Marginals, books: Sequence[Floats], alpha: float
) -> tuple[Floats, Floats]:
    """The same from marginals of two parts, whose masses may differ: the paper's code of them."""
    masses = np.stack([np.asarray(u.sum(axis=1), np.float64).ravel() for u in found])
    common = np.sqrt(masses.prod(axis=0))
    rests, top = [], np.zeros(len(common))
    for part, u, own, book in zip(parts, found, masses, books, strict=True):
        scale = np.divide(common, own, out=np.zeros_like(own), where=own > 0)
        rest = part.astype(np.float64) - sp.diags_array(scale) @ u.astype(np.float64) @ book
        rests.append(rest)
        top += (rest @ book.T).max(axis=1)
    X = np.hstack(list(parts))
    return _certified(X, np.hstack(rests), top, sp.csr_array(common[:, None]), alpha)


def _certified(
    X: Any, rests: Floats, top: Floats, codes: Any, alpha: float
) -> tuple[Floats, Floats]:
    mass = np.asarray(codes.sum(axis=1), np.float64).ravel()
    rr, rx = np.einsum("ij,ij->i", rests, rests), np.einsum("ij,ij->i", rests, X)
    reach = np.divide(alpha, 2 * top, out=np.full_like(top, np.inf), where=top > 0)
    scale = np.clip(rx / rr, 0, reach)
    F = rr + alpha * mass
    return F, F - (2 * scale * rx - scale**2 * rr)


def timed(call: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Least CPU seconds of some calls (other work on the machine only adds), and the answer."""
    best, answer = np.inf, None
    with warnings.catch_warnings():
        # Others warn of early ends; their gap stands in the table.
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            start = time.process_time()
            answer = call()
            best = min(best, time.process_time() - start)
    return best, answer


def spams_codes(
    parts: Sequence[Any],
    books: Sequence[Floats],
    level: float,
    *,
    cholesky: bool = False,
    dtype: Any = np.float32,
) -> Marginals:
    """SPAMS's LARS with non-negative codes, every part by itself.

    ``cholesky`` is its own option: factors in place of inverses.  It is the faster one on halves,
    and with float64 the only setting that reaches the optimum on an explicit product codebook,
    where sums of two words equal sums of two others.
    """
    spams = importlib.import_module("spams")
    found = []
    for part, book in zip(parts, books, strict=True):
        X, D = np.asfortranarray(part.T, dtype), np.asfortranarray(book.T, dtype)
        codes = spams.lasso(
            X, D=D, lambda1=level, mode=spams.PENALTY, pos=True, numThreads=1, cholesky=cholesky
        )
        found.append(sp.csr_array(codes.T))
    return found


def sklearn_codes(
    parts: Sequence[Any], books: Sequence[Floats], level: float, algorithm: str
) -> Marginals:
    """scikit-learn's sparse_encode, "lasso_lars" or "lasso_cd", every part by itself."""
    encode = importlib.import_module("sklearn.decomposition").sparse_encode
    return [
        sp.csr_array(
            encode(
                np.asarray(part, np.float64), book, algorithm=algorithm, alpha=level,
                positive=True, max_iter=5000, check_input=False,
            )
        )
        for part, book in zip(parts, books, strict=True)
    ]  # fmt: skip


def sklearn_lasso(X: Any, words: Floats, alpha: float) -> Any:
    """scikit-learn's Lasso, one vector at a time, as for one explicit codebook."""
    model = importlib.import_module("sklearn.linear_model").Lasso
    own = model(alpha=alpha / (2 * words.shape[1]), positive=True, fit_intercept=False)
    A = np.asfortranarray(words.T)
    return sp.csr_array(np.stack([own.fit(A, np.asarray(x, np.float64)).coef_ for x in X]))


def spams_version() -> str:
    """SPAMS's version, empty where it is not installed."""
    for name in ("spams-bin", "spams"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return ""
