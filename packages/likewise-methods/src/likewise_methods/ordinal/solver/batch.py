"""Full gradients: descent with Armijo's rule, and L-BFGS on the same compiled gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from likewise_methods.ordinal.solver.problem import Floats, Journal, Problem, Solution, Watch, pad

SUFFICIENT = 1e-4
MAX_HALVINGS = 50


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
    """Gradient descent; the step doubles after each success and is halved until F falls enough.

    Looking at F alone counts as much as a gradient.

    Parameters
    ----------
    problem : Problem
        The mean loss over comparisons.
    start : array of shape (n, p)
        Points to begin with.
    epochs : int
        Steps at most.
    step : float, optional
        The first step; by default n / 5, the order that is good for a mean loss.
    tol : float, default=1e-6
        It ends when points move by less than this share of their size.
    armijo : bool, default=True
        False keeps ``step`` fixed, for the record; it then ends when F is not finite.
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
    >>> found = solve_batch(problem, start, epochs=5)
    >>> found.objective < found.history[0].objective, found.points.shape
    (True, (3, 1))

    See Also
    --------
    solve_lbfgs : of second order.
    solve_svrg : stochastic.

    References
    ----------
    The gradient: docs/methods/ordinal.md, (6).
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


def solve_lbfgs(
    problem: Problem,
    start: Floats,
    *,
    epochs: int,
    tol: float = 1e-6,
    watch: Watch | None = None,
) -> Solution:
    """SciPy's L-BFGS-B without bounds, ten pairs kept; an epoch is one of its iterations.

    The step recorded is the length of an iteration's move over the length of the gradient where it
    began; the first record has the step that is tried first, 1 / |gradient|.

    Parameters
    ----------
    problem : Problem
        The mean loss over comparisons.
    start : array of shape (n, p)
        Points to begin with.
    epochs : int
        Iterations at most.
    tol : float, default=1e-6
        A thousand times the relative change of F at which it ends.
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
    >>> found = solve_lbfgs(problem, start, epochs=5)
    >>> found.objective < found.history[0].objective, found.points.shape
    (True, (3, 1))

    See Also
    --------
    solve_batch : plain descent.
    """
    X = pad(start)
    journal = Journal(problem, start.shape[1], watch)
    slope = np.empty_like(X)
    # The last point accepted, and how steep it was there.
    last, steep = X.ravel().copy(), 0.0

    def both(flat: Floats) -> tuple[float, Floats]:
        nonlocal steep
        F = problem.gradient(flat.reshape(X.shape), slope)
        journal.spend(problem.size)
        if not journal.history:
            steep = float(np.linalg.norm(slope))
            journal.note(F, 1.0 / steep if steep > 0.0 else 0.0, X)
        # A line search may try a place where F overflows; it must see a number there.
        return (F if np.isfinite(F) else 1e300), np.nan_to_num(slope).ravel().copy()

    def record_step(intermediate_result: Any) -> None:
        nonlocal last, steep
        moved = float(np.linalg.norm(intermediate_result.x - last))
        last = intermediate_result.x.copy()
        step = moved / steep if steep > 0.0 else 0.0
        # The point accepted is the one evaluated last, so ``slope`` is its gradient.
        steep = float(np.linalg.norm(slope))
        journal.note(intermediate_result.fun, step, last.reshape(X.shape))

    options: Any = {
        "maxiter": epochs,
        "maxfun": 20 * epochs,
        "maxcor": 10,
        "gtol": 0.0,
        "ftol": tol / 1e3,
    }
    done = minimize(
        both, X.ravel(), jac=True, method="L-BFGS-B", callback=record_step, options=options
    )
    return journal.solution(str(done.message))
