"""Newton's method along a falling l1: never a free set much larger than the answer's.

From the diagonal every pair above l1 is free, and where all variables hang together (features of
pictures do) that is nearly all of them, though few will stay.  At a larger l1 few are free; each
l1 on the way down gets a step or two and hands its M to the next.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from likewise.solvers.sice_newton import solve_newton
from likewise.solvers.sice_problem import Floats, Problem, Solution

# l1 begins where this share of pairs is above it and is about halved each time.
SHARE, RATIO = 0.1, 0.5
LOOSE, STEPS = 0.1, 2


def solve_path(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    patience: float = np.inf,
) -> Solution:
    """Minimise until the gap is at most tol * m; without a start, along a path of l1."""
    M, spent = start, 0
    if start is None:
        for l1 in falling(problem):
            # A larger penalty only makes the box larger: bounded if the problem is.
            before = Problem(problem.S, l1, problem.penalise_diagonal)
            made = solve_newton(before, LOOSE, min(STEPS, max_iter - spent), M)
            # What took no step is still the diagonal, from which the first step is a formula.
            M, spent = made.M if made.n_iter else M, spent + made.n_iter
    found = solve_newton(problem, tol, max_iter - spent, M, patience)
    return replace(found, n_iter=found.n_iter + spent)


def falling(problem: Problem) -> Floats:
    """The l1 before the problem's own, the largest first; none where few pairs are above it."""
    off = np.abs(problem.S[np.triu_indices(problem.m, 1)])
    first = float(np.quantile(off, 1.0 - SHARE))
    if first <= problem.l1:
        return np.zeros(0)
    steps = int(np.ceil(np.log(first / problem.l1) / np.log(1.0 / RATIO)))
    return np.asarray(np.geomspace(first, problem.l1, steps + 1)[:-1])
