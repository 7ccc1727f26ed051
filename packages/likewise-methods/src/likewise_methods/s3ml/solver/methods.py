"""The methods for a block, and which one ``auto`` uses: counts decide, never the clock.

Newton steps are cheap where the answer is sparse.  Steps of alternating linearisation always cost
the same, and their number does not grow where S is ill-conditioned.  So a block with few pairs
above l1, or a small one, starts with Newton, and changes to alternating linearisation if that was
too much work.  Other blocks start with alternating linearisation, which is nearly done after a few
steps if S is well conditioned, and keep it while its pace promises an early end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from likewise_methods.s3ml.objective import Floats, Problem, Solution
from likewise_methods.s3ml.solver.alternating import CHECKED_EVERY, Alternating, solve_alm
from likewise_methods.s3ml.solver.newton import solve_path

# Share of pairs above l1 below which Newton goes first.  In a small block calls to LAPACK dominate,
# and Newton needs the fewest.
SPARSE, SMALL = 0.35, 64
# Gaps (as shares of m) up to which alternating linearisation is worth starting, and continuing:
# well conditioned problems have a small gap on the diagonal already.
FAR, CLOSE = 0.5, 0.02
# The cost of Newton's last steps, in steps of alternating linearisation, for a full M (measured at
# m = 225 and 500); it grows with the non-zeros.
NEWTON_COSTS = 400.0
# Newton's work, in multiplications by m**3, after which it continues only if it converges fast:
# about 25 steps of alternating linearisation.
PATIENCE = 100.0
# Newton is tried again where alternating linearisation would need more than LONG steps at its pace
# over the last SEEN checks.
LONG, SEEN = 1000.0, 10


def solve_auto(
    problem: Problem, tol: float, max_iter: int, start: Floats | None = None
) -> Solution:
    """Minimise until the gap is at most tol * m by whichever method promises to be faster."""
    m = problem.m
    above = np.count_nonzero(np.abs(problem.S) > problem.l1) / m**2
    first = None
    if (
        start is not None or m < SMALL or above < SPARSE or problem.tree is not None
        or _first_gap(problem) > FAR * m
    ):  # fmt: skip
        first = solve_path(problem, tol, max_iter, start, PATIENCE)
        if first.converged or first.n_iter >= max_iter:
            return first
        start = first.M if first.gap <= CLOSE * m else None
    second = _alternate(problem, tol, max_iter, start, first)
    if second.converged or second.n_iter >= max_iter:
        return second
    near = second.M if second.gap <= CLOSE * m else None
    third = solve_path(problem, tol, max_iter - second.n_iter, near, PATIENCE)
    third = _join(second, third, tol, m)
    return third if third.converged else _finish(problem, third, tol, max_iter)


def _alternate(
    problem: Problem, tol: float, max_iter: int, start: Floats | None, first: Solution | None
) -> Solution:
    """Run alternating linearisation while it promises to end before Newton would.

    If Newton was tried ``first`` and failed, it gets the time of LONG steps.
    """
    state = Alternating(problem, 0.0, start)
    m, most = problem.m, max_iter - (first.n_iter if first is not None else 0)
    gaps = [state.best.gap()]
    while gaps[-1] > tol * m and state.n_iter < most:
        gaps.append(state.advance(min(CHECKED_EVERY, most - state.n_iter)))
        if first is None:
            costs = (
                0.0
                if gaps[-1] > CLOSE * m
                else NEWTON_COSTS * (np.count_nonzero(state.best.M) / m**2) ** 1.5
            )
            window = 1
        else:
            costs, window = LONG, SEEN
        if len(gaps) > window and _remaining(gaps[-1 - window], gaps[-1], tol * m, window) > costs:
            break
    found = state.solution(tol)
    return found if first is None else _join(first, found, tol, m)


def _first_gap(problem: Problem) -> float:
    """Return the gap of the diagonal start."""
    d = np.diagonal(problem.folded)
    return float(np.log(d).sum()) + problem.m - problem.first_bound[1]


def _remaining(before: float, gap: float, goal: float, looks: int) -> float:
    """Return the steps still needed if the gap keeps falling as in the last ``looks``."""
    if gap <= goal or not np.isfinite(before):
        return 0.0
    pace = np.log(before / gap)
    return float(looks * CHECKED_EVERY * np.log(gap / goal) / pace) if pace > 0.0 else np.inf


def _finish(problem: Problem, so_far: Solution, tol: float, max_iter: int) -> Solution:
    """Use alternating linearisation where rounding stopped Newton's line search."""
    left = max_iter - so_far.n_iter
    if left <= 0:
        return so_far
    return _join(so_far, solve_alm(problem, tol, left, start=so_far.M), tol, problem.m)


def _join(first: Solution, second: Solution, tol: float, m: int) -> Solution:
    """Return the better of two primal and of two dual points; add up their steps."""
    best = first if first.value < second.value else second
    proved = first if first.dual > second.dual else second
    dual, Z = proved.dual, proved.Z
    gap = max(best.value - dual, 0.0)
    steps = first.n_iter + second.n_iter
    return replace(best, dual=dual, Z=Z, n_iter=steps, own_gap=gap, converged=gap <= tol * m)


@dataclass(frozen=True)
class Settings:
    """Checked options of a call."""

    l1: float
    penalise_diagonal: bool
    tol: float
    method: str
    smoothing: float
    max_iter: int

    @property
    def on_diagonal(self) -> float:
        return self.l1 if self.penalise_diagonal else 0.0


class Method(NamedTuple):
    """A method for a block: ``run(problem, tol, max_iter, smoothing, start)``.

    ``smoothed`` names the method for the smoothed penalty, None where there is none.  ``batched``:
    small blocks are solved by Newton's method in one compiled loop.
    """

    run: Callable[[Problem, float, int, float, Floats | None], Solution]
    smoothed: str | None
    batched: bool


def _auto(p: Problem, tol: float, most: int, _: float, start: Floats | None) -> Solution:
    return solve_auto(p, tol, most, start)


def _path(p: Problem, tol: float, most: int, _: float, start: Floats | None) -> Solution:
    return solve_path(p, tol, most, start)


METHODS = {
    "auto": Method(_auto, smoothed="alm", batched=True),
    "alm": Method(solve_alm, smoothed="alm", batched=False),
    "newton": Method(_path, smoothed=None, batched=True),
}
