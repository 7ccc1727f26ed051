"""Stochastic gradient descent and AdaGrad on the ordinal loss, one comparison after the other.

Both visit every comparison once an epoch without shuffling: they start at a random comparison and
stride by a random number coprime with their count.  An epoch that raises F too much is undone and
the step halved.

Records hold F over a fixed tenth of the comparisons (all of them below 10,000), as F over all would
cost as much as an epoch.  The returned objective is over all comparisons.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from likewise_methods.ordinal.objective import Floats, Journal, Problem, Solution, Watch, pad

# eta / (1 + 0.05 epoch): docs/methods/ordinal.md, (13).
DECAY = 0.05
RISE = 2.0
MAX_HALVINGS = 40
SAMPLE = 10_000


def stride_of(n: int, rng: np.random.Generator) -> int:
    """Return a stride between n/5 and 4n/5 with no factor in common with n."""
    for _ in range(1000):
        stride = int(rng.integers(n // 5, 4 * n // 5 + 1))
        if math.gcd(stride, n) == 1:
            return stride
    return 1


def solve_online(
    problem: Problem,
    start: Floats,
    *,
    epochs: int,
    rng: np.random.Generator,
    step: float,
    adaptive: bool = False,
    decay: float | None = None,
    batch: int = 1,
    tol: float = 1e-6,
    watch: Watch | None = None,
) -> Solution:
    """Minimise F by stochastic gradient descent or AdaGrad.

    Parameters
    ----------
    problem : Problem
        The mean loss over comparisons.
    start : array of shape (n, p)
        The starting points.
    epochs : int
        Passes over the comparisons.
    rng : numpy.random.Generator
        Draws the start and the stride of each epoch.
    step : float
        The step, or AdaGrad's first one.
    adaptive : bool, default=False
        True is AdaGrad.
    decay : float, optional
        The step of an epoch is ``step / (1 + decay epoch)``; by default 0.05, for AdaGrad 0.
    batch : int, default=1
        Comparisons whose gradients are taken at the same points.
    tol : float, default=1e-6
        Stop when an epoch moves the points by less than this share of their size.
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
    >>> found = solve_online(problem, start, epochs=5, rng=np.random.default_rng(0), step=0.1)
    >>> found.objective < found.history[0].objective, found.points.shape
    (True, (3, 1))

    See Also
    --------
    solve_svrg : reduces the variance of the steps.

    References
    ----------
    docs/methods/ordinal.md, (13).
    """
    X = pad(start)
    journal = Journal(problem, start.shape[1], watch)
    batch = min(batch, problem.size)
    room = np.empty((batch, 2, X.shape[1]))
    squares = np.zeros(len(X) if adaptive else 0)
    decay = (0.0 if adaptive else DECAY) if decay is None else decay
    sample = sample_comparisons(problem)
    F = sample.value(X)
    journal.note(F, step, X)
    halvings = 0
    ended = "all epochs done"
    for epoch in range(epochs):
        before, kept = X.copy(), squares.copy()
        eta = step / (1.0 + decay * epoch)
        first = int(rng.integers(problem.size))
        stride = stride_of(problem.size, rng)
        problem.loss.kernels.online(
            X, squares, problem.rows, problem.loss.parameter, eta, first, stride, room
        )
        journal.spend(problem.size)
        rising = sample.value(X)
        if not np.isfinite(rising) or rising > RISE * max(F, journal.best):
            if halvings == MAX_HALVINGS:
                break
            halvings += 1
            step /= 2.0
            X, squares = before, kept
            continue
        F = rising
        journal.note(F, eta, X)
        if float(np.linalg.norm(X - before)) <= tol * float(np.linalg.norm(X)):
            ended = "converged"
            break
    found = journal.solution(ended)
    return found._replace(objective=problem.value(pad(found.points)))


def sample_comparisons(problem: Problem) -> Problem:
    """Return every tenth comparison, or more where that would be fewer than 10,000."""
    every = max(min(problem.size // SAMPLE, 10), 1)
    rows = problem.rows if every == 1 else np.ascontiguousarray(problem.rows[::every])
    return replace(problem, rows=rows)
