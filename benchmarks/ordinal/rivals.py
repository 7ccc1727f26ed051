"""Rivals of SVRG-SBB: gradient descent with Armijo's rule, and the convex method.

The convex method is projected gradient on the Gram matrix G (docs/methods/ordinal.md, (14)).
a = G_ii + G_jj - 2 G_ij is linear in G, so GNMDS and STE are convex in G; CKL and t-STE are not
(docs/methods/ordinal.md, O5).  A step costs an eigendecomposition, O(n^3), and G is n by n.

Importing this module adds both to ``OrdinalEmbedding(solver=...)`` as "batch" and "convex".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.objective import Floats, Journal, Problem, Solution, Watch, pad
from likewise_methods.ordinal.solver.registry import SOLVERS, Settings, Solver

SUFFICIENT = 1e-4
MAX_HALVINGS = 50
MAX_OBJECTS = 3000
CONVEX_LOSSES = ("gnmds", "ste")


def solve_batch(
    problem: Problem,
    start: Floats,
    *,
    epochs: int,
    step: float | None = None,
    tol: float = 1e-6,
    armijo: bool = True,
    watch: Watch | None = None,
) -> Solution:
    """Descend along full gradients; the step doubles after a success and is halved until F falls.

    An evaluation of F alone counts as much as a gradient.  ``step`` is the first step, by default
    n / 5, the right order for a mean loss.  ``armijo`` False keeps it fixed and stops when F is not
    finite.
    """
    X = pad(start)
    journal = Journal(problem, start.shape[1], watch)
    slope = np.empty_like(X)
    eta = problem.count_objects() / 5.0 if step is None else step
    F = problem.gradient(X, slope)
    journal.spend(problem.size)
    journal.note(F, eta, X)
    for _ in range(epochs):
        steep = float(np.vdot(slope, slope))
        if steep == 0.0:
            return journal.solution("the gradient is zero")
        tried = X - eta * slope
        found = problem.value(tried) if armijo else 0.0
        for _ in range(MAX_HALVINGS if armijo else 0):
            journal.spend(problem.size)
            if np.isfinite(found) and found <= F - SUFFICIENT * eta * steep:
                break
            eta /= 2.0
            tried = X - eta * slope
            found = problem.value(tried)
        else:
            if armijo:
                return journal.solution("no step makes F fall")
        moved = eta * steep**0.5
        X = tried
        F = problem.gradient(X, slope)
        journal.spend(problem.size)
        journal.note(F, eta, X)
        if not np.isfinite(F):
            return journal.solution("F is no longer finite")
        if moved <= tol * float(np.linalg.norm(X)):
            return journal.solution("converged")
        eta *= 2.0 if armijo else 1.0
    return journal.solution("all epochs done")


def solve_convex(
    problem: Problem,
    start: Floats,
    *,
    epochs: int,
    step: float | None = None,
    penalty: float = 0.0,
    tol: float = 1e-6,
    watch: Watch | None = None,
) -> Solution:
    """Iterate G <- Proj_PSD(G - eta (grad F(G) + penalty I)); X has the p largest eigenpairs.

    The step is halved until F lies below its quadratic model and doubles after each success.  The
    records hold F(G) over matrices of any rank; the result's objective is that of its X.
    ``penalty`` weighs the trace of G, which favours low ranks.
    """
    if problem.loss.name not in CONVEX_LOSSES:
        raise InvalidInput(
            f"loss {problem.loss.name!r} is not convex in the Gram matrix; "
            "solver 'convex' takes 'gnmds' and 'ste'"
        )
    if problem.n_objects > MAX_OBJECTS:
        raise InvalidInput(
            f"solver 'convex' holds a matrix of objects by objects: at most {MAX_OBJECTS} objects, "
            f"not {problem.n_objects}; use 'svrg-sbb' or 'lbfgs'"
        )
    width = start.shape[1]
    journal = Journal(problem, width, watch)
    centred = start - start.mean(axis=0)
    G = centred @ centred.T
    eta = problem.count_objects() / 5.0 if step is None else step
    F, slope = _gradient(problem, G)
    journal.spend(problem.size)
    journal.note(F, eta, points_of(G, width))
    ended = "all epochs done"
    for _ in range(epochs):
        for _ in range(MAX_HALVINGS):
            tried = project(G - eta * (slope + penalty * np.eye(len(G))))
            change = tried - G
            found, new = _gradient(problem, tried)
            journal.spend(problem.size)
            model = F + float(np.vdot(slope, change)) + float(np.vdot(change, change)) / (2 * eta)
            if np.isfinite(found) and found <= model + 1e-12:
                break
            eta /= 2.0
        else:
            ended = "no step makes F fall"
            break
        small = float(np.linalg.norm(change)) <= tol * float(np.linalg.norm(tried))
        G, F, slope = tried, found, new
        journal.note(F, eta, points_of(G, width))
        if small:
            ended = "converged"
            break
        eta *= 2.0
    points = points_of(G, width)
    a, b = _squares(points @ points.T, problem)
    f, _, _ = _weights(problem, a, b)
    return Solution(points, float(f.mean()), journal.history, ended)


def project(G: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((G + G.T) / 2)
    kept = values > 0
    return np.asarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)


def points_of(G: Floats, width: int) -> Floats:
    """Return X = V_p sqrt(Lambda_p), with zero columns where the rank is lower."""
    values, vectors = np.linalg.eigh(G)
    top = min(width, len(G))
    X = np.zeros((len(G), width))
    X[:, :top] = vectors[:, ::-1][:, :top] * np.sqrt(np.maximum(values[::-1][:top], 0.0))
    return X


def _columns(problem: Problem) -> tuple[Floats, ...]:
    rows = problem.rows
    return tuple((rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]).T)


def _squares(G: Floats, problem: Problem) -> tuple[Floats, Floats]:
    i, j, l, k = _columns(problem)  # noqa: E741
    d = np.diag(G)
    return d[i] + d[j] - 2 * G[i, j], d[l] + d[k] - 2 * G[l, k]


def _weights(problem: Problem, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    f, fa, fb = np.empty_like(a), np.empty_like(a), np.empty_like(a)
    problem.loss.kernels.evaluate(a, b, problem.loss.parameter, f, fa, fb)
    return f, fa, fb


def _gradient(problem: Problem, G: Floats) -> tuple[float, Floats]:
    """Return F(G) and its gradient: f_a on ii and jj, minus f_a on ij and ji, likewise f_b."""
    n = len(G)
    i, j, l, k = _columns(problem)  # noqa: E741
    a, b = _squares(G, problem)
    f, fa, fb = _weights(problem, a, b)
    flat = np.zeros(n * n)
    for p, q, w in ((i, j, fa), (l, k, fb)):
        p, q = p.astype(np.int64), q.astype(np.int64)
        diagonal = np.bincount(p, w, n) + np.bincount(q, w, n)
        flat[:: n + 1] += diagonal
        flat -= np.bincount(p * n + q, w, n * n) + np.bincount(q * n + p, w, n * n)
    return float(f.mean()), flat.reshape(n, n) / problem.size


def _batch(
    problem: Problem, start: Floats, rng: np.random.Generator, given: Settings, **shared: Any
) -> Solution:
    return solve_batch(problem, start, step=given["step"], **shared)


def _convex(
    problem: Problem, start: Floats, rng: np.random.Generator, given: Settings, **shared: Any
) -> Solution:
    return solve_convex(problem, start, step=given["step"], **shared)


SOLVERS["batch"] = Solver(_batch, 200)
SOLVERS["convex"] = Solver(_convex, 100)
