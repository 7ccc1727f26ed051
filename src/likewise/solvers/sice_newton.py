"""A second-order active-set method (in the manner of QUIC; Hsieh et al. 2011).

Each step minimises a quadratic model of the smooth part plus the exact penalty over the free pairs
and then searches along that direction, a Cholesky factorisation being the test for positive
definiteness.  Entries that leave the model as zero are zero to the bit.
"""

from __future__ import annotations

import numpy as np

from likewise.solvers.sice_bounds import refuse_if_falling
from likewise.solvers.sice_direction import Pairs, descended, refined
from likewise.solvers.sice_kernels import boxed, free_pairs
from likewise.solvers.sice_problem import Floats, Problem, Solution, cholesky, inverse, logdet

ARMIJO = 1e-3
SHORTEST = 1e-12
# A model is worth solving well once it is true: after a full step that promised less than this
# share of m.
NEAR = 0.1
# Near the end F moves by less than its own rounding error while the gap, which is of first order
# in what is wrong with M, still falls: full steps are then taken on trust, as long as it does.
ROUNDING = 4e-15


def solve_newton(
    problem: Problem, tol: float, max_iter: int, start: Floats | None = None
) -> Solution:
    """Minimise until the gap is at most tol * m; an infinite tol only asks for a finite gap."""
    state = _Iterate(problem, start)
    n_iter = 0
    while not state.value - state.dual <= tol * problem.m or state.dual == -np.inf:
        if n_iter == max_iter or not state.step():
            break
        n_iter += 1
    gap = max(state.value - state.dual, 0.0)
    return Solution(state.M, state.value, state.dual, n_iter, gap <= tol * problem.m, gap)


class _Iterate:
    """M with its inverse, objective and best dual value."""

    def __init__(self, problem: Problem, start: Floats | None) -> None:
        self.problem = problem
        m = problem.m
        self.starts = np.empty(m + 1, np.int64)
        self.columns = np.empty(m * (m + 1) // 2, np.int64)
        self.Z = np.empty((m, m))
        self.near = False
        self.diagonal = start is None
        self.dual = -np.inf
        if start is None:
            d = np.diagonal(problem.folded)
            self.M, self.W = np.diag(1.0 / d), np.diag(d)
            self.value = float(np.log(d).sum()) + m
            self._bound()
        else:
            factor = cholesky(start)
            if factor is None:
                raise ValueError("start is not positive definite")
            self._take(start, factor, problem.linear(start) - logdet(factor))

    def _take(self, M: Floats, factor: Floats, value: float) -> None:
        self.M, self.value = M, value
        self.W = inverse(factor)
        self._bound()

    def _bound(self) -> None:
        boxed(self.W, self.problem.folded, self.problem.l1, self.Z)
        self.dual = max(self.dual, self.problem.dual_value(self.Z))

    def step(self) -> bool:
        """One Newton step; False where rounding leaves no progress to be made."""
        problem, M, W = self.problem, self.M, self.W
        n = free_pairs(problem.folded, M, W, problem.l1, self.starts, self.columns)
        pairs = Pairs.of(self.starts, self.columns[:n])
        D, calm = self._first(pairs) if self.diagonal else descended(problem, M, W, pairs)
        self.diagonal = False
        if self.near and not calm:
            better = refined(problem, M, W, D, pairs)
            if self._search(better, pairs):
                return True
        return self._search(D, pairs)

    def _first(self, pairs: Pairs) -> tuple[Floats, bool]:
        """The direction from the diagonal start, where the model falls apart into its entries."""
        A, D = self.problem.folded, np.zeros_like(self.M)
        off = pairs.take(A)
        d = np.diagonal(A)
        shrunk = np.sign(off) * np.maximum(np.abs(off) - self.problem.l1, 0.0)
        shrunk[pairs.rows == pairs.columns] = 0.0
        pairs.put(-shrunk / (d[pairs.rows] * d[pairs.columns]), D)
        return D, True

    def _search(self, D: Floats, pairs: Pairs) -> bool:
        """Go along D as far as F falls (Armijo); False if it does not."""
        problem, before = self.problem, self.value - self.dual
        promised = _promised(problem, self.M, self.W, D, pairs)
        slack = ROUNDING * (abs(self.value) + problem.m)
        length = 1.0
        while promised < 0.0 and length > SHORTEST:
            trial = self.M + length * D
            factor = cholesky(trial)
            if factor is not None:
                linear = problem.linear(trial)
                refuse_if_falling(problem, trial, linear)
                value = linear - logdet(factor)
                if value <= self.value + ARMIJO * length * promised + slack:
                    self.near = length == 1.0 and -promised < NEAR * problem.m
                    self._take(trial, factor, value)
                    return -promised > slack or self.value - self.dual < 0.5 * before
            length *= 0.5
        return False


def _promised(problem: Problem, M: Floats, W: Floats, D: Floats, pairs: Pairs) -> float:
    """The slope of F along D, with the whole step's change of the penalty."""
    d, c = pairs.take(D), pairs.take(M)
    slope = float(np.sum(pairs.twice * (pairs.take(problem.folded) - pairs.take(W)) * d))
    off = pairs.twice == 2.0
    return slope + 2.0 * problem.l1 * float(np.sum((np.abs(c + d) - np.abs(c))[off]))
