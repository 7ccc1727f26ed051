"""The convex way: projected gradient on the Gram matrix, for GNMDS and STE and few objects.

a = G_ii + G_jj - 2 G_ij is linear in the Gram matrix G, so a loss that is convex in (a, b) is
convex in G; that holds for GNMDS and STE, not for CKL and t-STE (docs/methods/ordinal.md,
O5).  Each step, (14) there, costs an eigendecomposition, O(n^3), and G is n by n: this is the
yardstick, not the way for large n.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.solver.problem import Floats, Journal, Problem, Solution, Watch

MAX_OBJECTS = 3000
MAX_HALVINGS = 50


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
    """G <- Proj_PSD(G - eta (grad F(G) + penalty I)), then X from the p largest eigenpairs.

    The step is halved until F lies below its quadratic model and doubles after each success.  The
    records are of F(G) over matrices of any rank; the result's objective is that of its X.

    Parameters
    ----------
    problem : Problem
        The mean loss over comparisons.
    start : array of shape (n, p)
        Points to begin with.
    epochs : int
        Steps at most.
    step : float, optional
        The first step.
    penalty : float, default=0.0
        The weight of the trace of G, which favours low ranks.
    tol : float, default=1e-6
        It ends when G moves by less than this share of its size.
    watch : callable, optional
        Told of every record, with the points.

    Returns
    -------
    Solution
        The best points seen, their mean loss, the way there, and why it ended.

    Examples
    --------
    >>> from likewise_methods.ordinal import STE
    >>> problem = Problem(np.array([[0, 1, 2], [1, 0, 2]], np.int32), 3, STE())
    >>> start = np.array([[0.0], [2.0], [1.0]])
    >>> found = solve_convex(problem, start, epochs=5)
    >>> found.objective < found.history[0].objective, found.points.shape
    (True, (3, 1))

    See Also
    --------
    solve_svrg : the points themselves, for any number of objects.

    References
    ----------
    docs/methods/ordinal.md, (14).
    """
    if not problem.loss.convex:
        raise InvalidInput(
            f"loss {problem.loss.name!r} is not convex in the Gram matrix; "
            "solver 'convex' takes 'gnmds' and 'ste'"
        )
    if problem.n_objects > MAX_OBJECTS:
        raise InvalidInput(
            f"solver 'convex' holds a matrix of objects by objects: at most {MAX_OBJECTS} of them, "
            f"and there are {problem.n_objects}; take 'svrg-sbb' or 'lbfgs'"
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
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((G + G.T) / 2)
    kept = values > 0
    return np.asarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)


def points_of(G: Floats, width: int) -> Floats:
    """X = V_p sqrt(Lambda_p), zero columns where the rank is lower."""
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
    """F(G), and its gradient: f_a on ii and jj, minus f_a on ij and ji, likewise f_b."""
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
