"""Other lasso solvers, one query at a time, as their users would call them; and the judge of all.

No solver grades itself: gap and objective are computed here, in float64 over all columns, from
the coefficients it returned.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.siso.objective import certify
from likewise_methods.siso.solver.dictionary import Dictionary

Row = dict[str, object]
# (columns as a Fortran-ordered float32 matrix, query, gamma) -> coefficients
Solver = Callable[[Any, Any, float], NDArray[Any]]
_LARGE = 30_000


@dataclass(frozen=True)
class Peer:
    """A solver, the package it needs, the smallest alpha it is run at (few and many columns), and
    how often it takes turns with ours: those that are near are compared more than once."""

    name: str
    package: str
    solve: Solver
    least_alpha: float = 0.0
    least_alpha_large: float = 0.0
    turns: int = 1

    def runs(self, n: int, alpha: float) -> bool:
        """Whether it ends within seconds on such a problem."""
        return alpha >= (self.least_alpha if n <= _LARGE else self.least_alpha_large)


def _celer(tol: float) -> Solver:
    def solve(A: Any, y: Any, gamma: float) -> NDArray[Any]:
        model = importlib.import_module("celer").Lasso
        fitted = model(alpha=gamma / len(y), fit_intercept=False, tol=tol).fit(A, y)
        return np.asarray(fitted.coef_)

    return solve


def _skglm(A: Any, y: Any, gamma: float) -> NDArray[Any]:
    """Its tolerance is one on the optimality conditions; 1 % of alpha, as its own tests take it."""
    model = importlib.import_module("skglm").Lasso
    alpha = gamma / len(y)
    fitted = model(alpha=alpha, fit_intercept=False, tol=0.01 * alpha, max_iter=200).fit(A, y)
    return np.asarray(fitted.coef_)


def _sklearn_cd(A: Any, y: Any, gamma: float) -> NDArray[Any]:
    model = importlib.import_module("sklearn.linear_model").Lasso
    fitted = model(alpha=gamma / len(y), fit_intercept=False, max_iter=2000).fit(A, y)
    return np.asarray(fitted.coef_)


def _sklearn_lars(A: Any, y: Any, gamma: float) -> NDArray[Any]:
    model = importlib.import_module("sklearn.linear_model").LassoLars
    fitted = model(alpha=gamma / len(y), fit_intercept=False, precompute=False, max_iter=5000)
    return np.asarray(fitted.fit(A, y).coef_)


def _spams(A: Any, y: Any, gamma: float) -> NDArray[Any]:
    spams = importlib.import_module("spams")
    found = spams.lasso(
        np.asfortranarray(y[:, None]), D=A, lambda1=gamma, mode=spams.PENALTY, numThreads=1
    )
    return np.asarray(found.todense()).ravel()


PEERS = (
    Peer("celer, float32, default tol", "celer", _celer(1e-4), turns=3),
    Peer("celer, float32, tol 1e-6", "celer", _celer(1e-6)),
    Peer("skglm, tol .01 alpha", "skglm", _skglm, turns=3),
    Peer("scikit-learn Lasso (coordinate descent)", "sklearn", _sklearn_cd, 0.02, 1.0),
    Peer("scikit-learn LassoLars", "sklearn", _sklearn_lars, 0.0, 0.02),
    Peer("SPAMS lasso (LARS)", "spams", _spams, 0.0, 0.02),
)
# What the packages are called where they are installed from.
PACKAGES = {"celer": ("celer",), "skglm": ("skglm",), "spams": ("spams-bin", "spams")}


def available(peer: Peer) -> bool:
    """Whether its package can be imported."""
    try:
        importlib.import_module(peer.package)
    except ImportError:
        return False
    return True


def versions() -> dict[str, object]:
    """Versions of the other solvers that are installed (scikit-learn's stands with the machine)."""
    found: dict[str, object] = {}
    for name, distributions in PACKAGES.items():
        for distribution in distributions:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found.setdefault(name, importlib.metadata.version(distribution))
    return found


def judged(D: Dictionary, Q: Any, x: Any, gamma: Any) -> Row:
    """Largest gap and mean number of non-zeros of codes (CSR or dense)."""
    codes = sp.csr_array(x)
    codes.eliminate_zeros()
    return {
        "relative gap": float(f"{certify(D, Q, codes, np.asarray(gamma)).max():.1e}"),
        "non-zeros": round(codes.nnz / len(Q), 1),
    }


def run_peer(
    peer: Peer, D: Dictionary, A: Any, Q: Any, alpha: float, n_queries: int, first: int = 0
) -> Row:
    """CPU ms a picture, from picture ``first`` on; compilation is not timed."""
    Q = Q[first : first + n_queries]
    gammas = alpha * np.abs(Q @ D.blocks[0].T).max(axis=1)
    seconds, codes = [], []
    with warnings.catch_warnings():
        # Peers that stop early say so; their gap stands in the table.
        warnings.simplefilter("ignore")
        # Compiled code is ready after a large alpha, which costs next to nothing.
        peer.solve(A, Q[0], 0.9 * float(np.abs(D.blocks[0] @ Q[0]).max()))
        for y, gamma in zip(Q, gammas, strict=True):
            start = time.process_time()
            codes.append(peer.solve(A, y, float(gamma)))
            seconds.append(time.process_time() - start)
    made: Row = {"solver": peer.name, "ms a picture": 1e3 * float(np.mean(seconds))}
    made |= judged(D, Q, np.stack(codes), gammas)
    return made | {"rounds": "", "pictures": len(Q)}
