"""Which engine for which block: what is counted decides, never the clock.

Newton steps are cheap where the answer is sparse, steps of alternating linearisation cost the same
whatever it is.  So a block with few pairs above l1, or a small one, goes to Newton at once.  The
others begin with alternating linearisation, which is nearly done after a few steps if S is well
conditioned, and stay with it for as long as its pace promises the end soon.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from likewise.solvers.sice_alm import CHECKED_EVERY, Alternating, solve_alm
from likewise.solvers.sice_path import solve_path
from likewise.solvers.sice_problem import Floats, Problem, Solution

# Share of pairs above l1 below which Newton goes first.  In a small block the calls to LAPACK are
# what costs, and Newton needs the fewest.
SPARSE, SMALL = 0.35, 64
# Gaps (as shares of m) up to which alternating linearisation is worth starting with, and going on
# with: well conditioned problems have a finite gap, and a small one, on the diagonal already.
FAR, CLOSE = 0.5, 0.02
# What Newton's last steps cost, in steps of alternating linearisation, for a full M: products grow
# with the non-zeros, and with them the conjugate gradients needed (measured at m = 225 and 500).
NEWTON_COSTS = 400.0


def solve_auto(
    problem: Problem, tol: float, max_iter: int, start: Floats | None = None
) -> Solution:
    """Minimise until the gap is at most tol * m by whatever promises to be faster."""
    m = problem.m
    above = np.count_nonzero(np.abs(problem.S) > problem.l1) / m**2
    if start is not None or m < SMALL or above < SPARSE or _first_gap(problem) > FAR * m:
        first = solve_path(problem, tol, max_iter, start)
        return first if first.converged else _finished(problem, first, tol, max_iter)
    state = Alternating(problem, 0.0, None)
    gap = state.best.gap()
    while gap > tol * m and state.n_iter < max_iter:
        before, gap = gap, state.advance(min(CHECKED_EVERY, max_iter - state.n_iter))
        if gap > CLOSE * m or _remaining(before, gap, tol * m) > _newton(state.best.M):
            break
    first = state.solution(tol)
    if first.converged or first.n_iter >= max_iter:
        return first
    near = first.M if first.gap <= CLOSE * m else None
    second = _joined(first, solve_path(problem, tol, max_iter - first.n_iter, near), tol, m)
    return second if second.converged else _finished(problem, second, tol, max_iter)


def _first_gap(problem: Problem) -> float:
    """The gap of the diagonal start."""
    d = np.diagonal(problem.folded)
    return float(np.log(d).sum()) + problem.m - problem.dual_value(problem.dual_point(np.diag(d)))


def _remaining(before: float, gap: float, goal: float) -> float:
    """Steps still needed if the gap goes on falling as it did since the last look."""
    if gap <= goal or not np.isfinite(before):
        return 0.0
    pace = np.log(before / gap)
    return float(CHECKED_EVERY * np.log(gap / goal) / pace) if pace > 0.0 else np.inf


def _newton(M: Floats) -> float:
    return float(NEWTON_COSTS * (np.count_nonzero(M) / M.size) ** 1.5)


def _finished(problem: Problem, so_far: Solution, tol: float, max_iter: int) -> Solution:
    """Alternating linearisation takes over where Newton's line search was lost to rounding."""
    left = max_iter - so_far.n_iter
    if left <= 0:
        return so_far
    return _joined(so_far, solve_alm(problem, tol, left, start=so_far.M), tol, problem.m)


def _joined(first: Solution, second: Solution, tol: float, m: int) -> Solution:
    """The better of two primal and dual points, their steps added up."""
    best = first if first.value < second.value else second
    dual = max(first.dual, second.dual)
    gap = max(best.value - dual, 0.0)
    steps = first.n_iter + second.n_iter
    return replace(best, dual=dual, n_iter=steps, own_gap=gap, converged=gap <= tol * m)
