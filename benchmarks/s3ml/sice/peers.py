"""Solvers of sparse inverse covariance beside ours, judged by what they return.

Every method gets a ladder of tolerances and climbs it until the relative gap, computed again in
float64 from the matrix it returned, is at most the goal; the time of that rung counts.  The penalty
is off the diagonal, which is the only form all of them have.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.s3ml.sice import quic
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance

GOAL = 1e-4
# Runs whose median counts, unless one takes so many seconds.
ROUNDS, SLOW = 5, 0.4
Row = dict[str, object]


@dataclass(frozen=True, eq=False)
class Answer:
    """A precision, perhaps the covariance found with it, and CPU seconds."""

    precision: Any
    covariance: Any
    seconds: float


def judged(S: Any, l1: float, M: Any, W: Any = None) -> tuple[float, float]:
    """(relative gap, objective) of a precision, in float64, from scratch.

    Z is M^-1 (and, where a method gives its own covariance, that one too) brought into the box;
    the better of both counts.  Infinite where M or every Z fails to be positive definite.
    """
    M = np.asarray(M, np.float64)
    M = 0.5 * (M + M.T)
    try:
        R = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return np.inf, np.inf
    off = float(np.abs(M).sum() - np.abs(np.diagonal(M)).sum())
    F = float((S * M).sum()) + l1 * off - 2 * float(np.log(np.diagonal(R)).sum())
    best = -np.inf
    for found in (np.linalg.inv(M), W):
        if found is None:
            continue
        Z = S + np.clip(0.5 * (found + found.T) - S, -l1, l1)
        np.fill_diagonal(Z, np.diagonal(S))
        sign, logdet = np.linalg.slogdet(Z)
        if sign > 0 and np.linalg.eigvalsh(Z)[0] > 0:
            best = max(best, float(logdet) + len(S))
    return max(F - best, 0.0) / abs(F), F


def _timed(call: Callable[[], tuple[Any, Any]]) -> Answer:
    # gglasso prints how it ended, whatever it is told.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        start = time.process_time()
        precision, covariance = call()
        return Answer(precision, covariance, time.process_time() - start)


def _ours(method: str, S: Any, l1: float, tol: float) -> Answer:
    def call() -> tuple[Any, Any]:
        found = sparse_inverse_covariance(S, l1, False, tol=tol, method=method)
        return found.precision, found.covariance

    return _timed(call)


def _skglm(algo: str, S: Any, l1: float, tol: float) -> Answer:
    from skglm.covariance import GraphicalLasso  # type: ignore[import-untyped, unused-ignore]

    model = GraphicalLasso(alpha=l1, algo=algo, tol=tol, inner_tol=min(1e-4, tol), max_iter=200)

    def call() -> tuple[Any, Any]:
        model.fit(S, mode="precomputed")
        return model.precision_, model.covariance_

    return _timed(call)


def _gglasso(S: Any, l1: float, tol: float) -> Answer:
    from gglasso.solver.single_admm_solver import (  # type: ignore[import-untyped, unused-ignore]
        ADMM_SGL,
    )

    def call() -> tuple[Any, Any]:
        found, _ = ADMM_SGL(S, l1, np.diag(1 / np.diagonal(S)), tol=tol, rtol=tol, max_iter=3000)
        return found["Theta"], np.linalg.inv(found["Omega"])

    return _timed(call)


def _sklearn(S: Any, l1: float, tol: float) -> Answer:
    from sklearn.covariance import graphical_lasso

    def call() -> tuple[Any, Any]:
        covariance, precision = graphical_lasso(
            S, l1, tol=tol, enet_tol=min(1e-4, tol), max_iter=200
        )
        return precision, covariance

    return _timed(call)


def _quic(S: Any, l1: float, tol: float) -> Answer:
    precision, seconds = quic.solve(S, l1, tol)
    return Answer(precision, None, seconds)


@dataclass(frozen=True)
class Method:
    """A solver: name, package, how to run it, its ladder, and the largest m it is run at."""

    name: str
    package: str
    run: Callable[[Any, float, float], Answer]
    ladder: tuple[float, ...]
    largest: int = 1000

    def there(self) -> bool:
        if self.package == "skggm":
            return quic.extension() is not None
        return importlib.util.find_spec(self.package) is not None


OURS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)
DOWN = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)
METHODS = (
    Method("Likewise, auto", "likewise", partial(_ours, "auto"), OURS),
    Method("Likewise, newton", "likewise", partial(_ours, "newton"), OURS),
    Method("Likewise, alm", "likewise", partial(_ours, "alm"), OURS, 500),
    Method("QUIC (skggm)", "skggm", _quic, DOWN),
    Method("skglm, dual", "skglm", partial(_skglm, "dual"), DOWN),
    Method("skglm, primal", "skglm", partial(_skglm, "primal"), DOWN, 225),
    Method("gglasso (ADMM)", "gglasso", _gglasso, (1e-4, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7), 300),
    Method("scikit-learn", "sklearn", _sklearn, (1e-3, 1e-5), 225),
)


@dataclass(frozen=True, eq=False)
class Rung:
    """Where a method stopped climbing: its tolerance and what was found there."""

    method: Method
    tol: float
    answer: Answer
    gap: float
    objective: float
    error: str = ""

    @property
    def reached(self) -> bool:
        return self.gap <= GOAL


def climb(method: Method, S: Any, l1: float, limit: float) -> Rung:
    """The first rung that reaches the goal, or the last one tried within ``limit`` seconds."""
    spent = 0.0
    gap = F = np.inf
    answer = Answer(None, None, 0.0)
    tol = np.nan
    for tol in method.ladder:
        try:
            answer = method.run(S, l1, tol)
        except (FloatingPointError, ValueError, np.linalg.LinAlgError) as error:
            return Rung(method, tol, Answer(None, None, np.nan), np.inf, np.inf, str(error))
        gap, F = judged(S, l1, answer.precision, answer.covariance)
        spent += answer.seconds
        if gap <= GOAL or spent + 2 * answer.seconds > limit:
            break
    return Rung(method, tol, answer, gap, F)


def rounds(climbed: Sequence[Rung], S: Any, l1: float) -> list[float]:
    """Median CPU seconds of each at its rung, one after the other in every round.

    Slow ones, and those that did not get there, keep the one time they have.
    """
    times = [[rung.answer.seconds] for rung in climbed]
    for _ in range(ROUNDS - 1):
        for rung, own in zip(climbed, times, strict=True):
            if rung.reached and rung.answer.seconds < SLOW:
                own.append(rung.method.run(S, l1, rung.tol).seconds)
    return [float(np.median(own)) for own in times]


def compared(S: Any, l1: float, methods: Sequence[Method], limit: float) -> list[Row]:
    """One problem, all methods; ``times ours`` is CPU time over that of auto."""
    climbed = [climb(m, S, l1, limit) for m in methods if m.there()]
    seconds = rounds(climbed, S, l1)
    return [_row(rung, own, seconds[0]) for rung, own in zip(climbed, seconds, strict=True)]


def _row(rung: Rung, seconds: float, base: float) -> Row:
    if rung.error:
        failed = f"failed: {rung.error}"[:60]
        return {"solver": rung.method.name, "CPU s": "", "reached": failed, "times ours": ""}
    return {
        "solver": rung.method.name,
        "CPU s": seconds,
        "relative gap": float(f"{rung.gap:.1e}"),
        "reached": "yes" if rung.reached else "no",
        "tol": rung.tol,
        "objective": round(rung.objective, 4),
        "non-zeros %": round(100 * float(np.mean(rung.answer.precision != 0)), 2),
        "times ours": round(seconds / base, 2),
    }
