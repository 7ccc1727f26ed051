"""L-BFGS on the compiled gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from likewise_methods.ordinal.objective import Floats, Journal, Problem, Solution, Watch, pad


def solve_lbfgs(
    problem: Problem,
    start: Floats,
    *,
    epochs: int,
    tol: float = 1e-6,
    watch: Watch | None = None,
) -> Solution:
    """Minimise F with SciPy's L-BFGS-B, unbounded, ten pairs kept; an epoch is an iteration.

    A record's step is the length of the iteration's move over the length of the gradient before
    it; the first record has the first step tried, 1 / |gradient|.

    Parameters
    ----------
    problem : Problem
        The mean loss over comparisons.
    start : array of shape (n, p)
        The starting points.
    epochs : int
        The largest number of iterations.
    tol : float, default=1e-6
        The solver stops at a relative change of F of a thousandth of this.
    watch : callable, optional
        Called with every record and the points.

    Returns
    -------
    Solution
        The best points, their mean loss, the records, and why the solver stopped.

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
    solve_svrg : stochastic, for many comparisons.
    """
    X = pad(start)
    journal = Journal(problem, start.shape[1], watch)
    slope = np.empty_like(X)
    # The last accepted point and the length of its gradient.
    last, steep = X.ravel().copy(), 0.0

    def both(flat: Floats) -> tuple[float, Floats]:
        nonlocal steep
        F = problem.gradient(flat.reshape(X.shape), slope)
        journal.spend(problem.size)
        if not journal.history:
            steep = float(np.linalg.norm(slope))
            journal.note(F, 1.0 / steep if steep > 0.0 else 0.0, X)
        # A line search may try points where F overflows; it needs a finite number.
        return (F if np.isfinite(F) else 1e300), np.nan_to_num(slope).ravel().copy()

    def record_step(intermediate_result: Any) -> None:
        nonlocal last, steep
        moved = float(np.linalg.norm(intermediate_result.x - last))
        last = intermediate_result.x.copy()
        step = moved / steep if steep > 0.0 else 0.0
        # The accepted point was evaluated last, so ``slope`` is its gradient.
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
