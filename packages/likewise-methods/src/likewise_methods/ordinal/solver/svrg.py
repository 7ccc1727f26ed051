"""SVRG with the stabilised Barzilai-Borwein step (SVRG-SBB), and SVRG with a fixed step.

Ma et al., AAAI 2018, as corrected in docs/methods/ordinal.md, (7) to (10) and (12).  An epoch takes
the full gradient at a snapshot and then |P| / batch cheap steps whose noise vanishes as the
snapshot improves.  The step of epoch s is

    eta_s = (1/m) |dX|^2 / (|<dX, dg>| + epsilon |dX|^2),

with dX and dg the last change of the snapshot and of its gradient.  This is the inverse of the
curvature seen, kept below 1 / (m epsilon) where the function is flat or concave.  epsilon = 0 is
SBB_0, which no theory covers (docs/methods/ordinal.md, O6).
"""

from __future__ import annotations

import numpy as np

from likewise_methods.ordinal.objective import Floats, Journal, Problem, Solution, Watch, pad

# Guards that the paper lacks: a step grows at most tenfold; while F falls it shrinks by at most a
# tenth; an epoch after which F has more than doubled is undone and the step halved.
GROWTH = 10.0
# At the kinks of a hinge the gradient jumps even for short moves, so the curvature seen grows as
# moves get shorter and steps would shrink because they are short.
SHRINKAGE = 0.9
RISE = 2.0
MAX_HALVINGS = 40


def default_epsilon(n_objects: int) -> float:
    """Return 0.1 / n: curvature falls like 1 / n (docs/methods/ordinal.md, (10))."""
    return 0.1 / max(n_objects, 1)


def first_step(n_objects: int, steps: int, batch: int) -> float:
    """Return eta_0 = min(0.05, 5 n / m), larger for batches, whose mean is less noisy.

    0.05 with the guard m eta_0 <= 500 was found for n = 100 and scales with n
    (docs/methods/ordinal.md, (10)).
    """
    return min(0.05 * batch, 5.0 * n_objects / steps)


def sbb_step(moved: Floats, bent: Floats, steps: int, epsilon: float) -> float:
    """Return (1/m) |dX|^2 / (|<dX, dg>| + epsilon |dX|^2); 0 where it is 0/0."""
    square = float(np.vdot(moved, moved))
    below = abs(float(np.vdot(moved, bent))) + epsilon * square
    return square / (steps * below) if below > 0 else 0.0


def solve_svrg(
    problem: Problem,
    start: Floats,
    *,
    epochs: int,
    rng: np.random.Generator,
    barzilai: bool = True,
    epsilon: float | None = None,
    step: float | None = None,
    batch: int = 1,
    inner: float = 1.0,
    tol: float = 1e-6,
    guarded: bool = True,
    watch: Watch | None = None,
) -> Solution:
    """Minimise F from ``start``; return the snapshot with the lowest F.

    Parameters
    ----------
    problem : Problem
        The mean loss over comparisons.
    start : array of shape (n, p)
        The starting points.
    epochs : int
        Full gradients after the first.
    rng : numpy.random.Generator
        Draws comparisons.
    barzilai : bool, default=True
        False is SVRG with the fixed ``step``.
    epsilon : float, optional
        Stabilises the step; by default 0.1 / n.
    step : float, optional
        The first step, or the fixed one.
    batch : int, default=1
        Comparisons of a cheap step.
    inner : float, default=1.0
        Passes of cheap steps an epoch (m = inner |P| / batch).
    tol : float, default=1e-6
        Stop when an epoch moves the points by less than this share of their size.
    guarded : bool, default=True
        False is the printed algorithm, which stops when F is no longer finite.
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
    >>> found = solve_svrg(problem, start, epochs=5, rng=np.random.default_rng(0))
    >>> found.objective < found.history[0].objective, found.points.shape
    (True, (3, 1))

    See Also
    --------
    solve_online : without full gradients.
    likewise_methods.ordinal.OrdinalEmbedding : the estimator.

    References
    ----------
    K. Ma, J. Zeng, J. Xiong, Q. Xu, X. Cao, W. Liu and Y. Yao: Stochastic non-convex ordinal
    embedding with stabilized Barzilai-Borwein step size.  AAAI Conference on Artificial
    Intelligence, 2018.

    docs/methods/ordinal.md, (7) to (12).
    """
    X = pad(start)
    journal = Journal(problem, start.shape[1], watch)
    objects = max(problem.count_objects(), 1)
    batch = min(batch, problem.size)
    steps = max(round(inner * problem.size / batch), 1)
    eta = first_step(objects, steps, batch) if step is None else step
    epsilon = default_epsilon(objects) if epsilon is None else epsilon
    room = np.empty((batch, 2, X.shape[1]))
    S, slope = X.copy(), np.empty_like(X)
    before, slope_before = np.empty_like(X), np.empty_like(X)
    done = np.zeros(len(X), np.int64)
    F = problem.gradient(S, slope)
    journal.spend(problem.size)
    journal.note(F, eta, S)
    halvings, fell = 0, False
    for epoch in range(epochs):
        if epoch > 0 and barzilai and halvings == 0:
            found = sbb_step(S - before, slope - slope_before, steps, epsilon)
            if found == 0.0:
                return journal.solution("the step is 0/0")
            least = SHRINKAGE * eta if guarded and fell else 0.0
            eta = min(max(found, least), GROWTH * eta) if guarded else found
        X[:] = S
        done[:] = 0
        seed = rng.integers(0, 2**64, dtype=np.uint64)
        problem.loss.kernels.svrg(
            X, S, slope, done, problem.rows, problem.loss.parameter, eta, steps, seed, room
        )
        journal.spend(2 * batch * steps)
        # Keep the old gradient until the epoch is accepted.
        new = np.empty_like(slope)
        rising = problem.gradient(X, new)
        journal.spend(problem.size)
        if not np.isfinite(rising) or (guarded and rising > RISE * F):
            if not guarded or halvings == MAX_HALVINGS:
                journal.note(rising, eta, X)
                return journal.solution("F is no longer finite")
            halvings += 1
            eta /= 2.0
            continue
        halvings = 0
        fell = rising < F
        before, S, X = S, X, before
        slope_before, slope = slope, new
        F = rising
        journal.note(F, eta, S)
        if not _has_moved(S, before, tol):
            return journal.solution("converged")
    return journal.solution("all epochs done")


def _has_moved(X: Floats, before: Floats, tol: float) -> bool:
    """Return whether the points changed by more than ``tol`` of their size."""
    return float(np.linalg.norm(X - before)) > tol * float(np.linalg.norm(X))
