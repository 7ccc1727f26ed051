"""A second-order active-set method (in the manner of QUIC; Hsieh et al. 2011).

Each step minimises a quadratic model of the smooth part plus the exact penalty over the free pairs
(docs/methods/s3ml.md, (13)) and then searches along that direction; a Cholesky factorisation tests
positive definiteness.  Entries that leave the model as zero are exactly zero.

It begins with the M of a tree (docs/methods/s3ml.md, (21)) if F falls enough, else with the
diagonal.  From the diagonal every pair above l1 is free, and where all variables are related that
is nearly all of them, though few will stay.  At a larger l1 few are free, so ``solve_path`` follows
a falling l1: each gets a step or two and hands its M to the next.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from likewise_methods.s3ml.objective import (
    Floats,
    Problem,
    Solution,
    cholesky,
    inverse,
    logdet,
)
from likewise_methods.s3ml.solver.bounds import refuse_if_falling
from likewise_methods.s3ml.solver.newton_direction import WELL, Model, Pairs, descend, refine
from likewise_methods.s3ml.solver.newton_kernels import (
    clip_to_box,
    free_pairs,
    largest_row,
    least_gap,
    mirror,
    put_pairs,
)

ARMIJO = 1e-3
SHORTEST = 1e-12
# A model is worth solving well once it is true: after a full step that promised less than this
# share of m.
NEAR = 0.1
# No certificate (a factorisation) is computed after a step that promised so many times the goal:
# the gap left is about what the step promised, and at least a tenth of it (measured).
SURE = 30.0
# Below this gap, as a share of m, directions are computed in float64, and W unless the step before
# promised more than the other.
FINE, ROUGH = 1e-5, 1e-3
# After a step that leaves less than this share of the gap, another is always taken.
PACE = 0.2
# Multiplications by m**3 that factorising and inverting a step's M costs, in float32's time.
FACTORISED = 3.0
# Near the end F moves by less than its rounding error while the gap, of first order in the error of
# M, still falls: full steps are then accepted as long as it does.
ROUNDING = 4e-15
# l1 begins where this share of pairs is above it and is about halved each time.
SHARE, RATIO = 0.1, 0.5
LOOSE, STEPS = 0.1, 2


def solve_newton(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    patience: float = np.inf,
) -> Solution:
    """Minimise until the gap is at most tol * m; an infinite tol only asks for a finite gap.

    It also stops once more than ``patience`` (in the work of so many full products) was spent,
    unless the last step reduced the gap a lot.
    """
    state = _Iterate(problem, start, tol)
    n_iter = 0
    while not state.value - state.dual <= tol * problem.m or state.dual == -np.inf:
        before = state.value - state.dual
        if n_iter == max_iter or not state.step():
            break
        n_iter += 1
        if state.work > patience and not state.value - state.dual < PACE * before:
            break
    if not state.bounded:
        state.bound()
    gap = max(state.value - state.dual, 0.0)
    return Solution(
        state.M, state.value, state.dual, n_iter, gap <= tol * problem.m, gap, state.proof()
    )


class _Iterate:
    """M with its inverse, objective and best dual value."""

    def __init__(self, problem: Problem, start: Floats | None, tol: float = np.inf) -> None:
        self.problem, self.tol = problem, tol
        self.work = 0.0
        m = problem.m
        self.starts = np.empty(m + 1, np.int64)
        self.columns = np.empty(m * (m + 1) // 2, np.int64)
        self.Z, self.best = np.empty((m, m)), np.empty((m, m))
        self.near = self.ill = False
        self.dual = -np.inf
        begun = problem.tree if start is None else None
        self.diagonal = start is None and begun is None
        if begun is not None:
            self._take(*begun, problem.linear(begun[0]) - logdet(begun[1]))
        elif start is None:
            d = np.diagonal(problem.folded)
            self.M, self.W = np.diag(1.0 / d), np.diag(d)
            self.value = float(np.log(d).sum()) + m
            Z, self.dual = problem.first_bound
            self.best[:] = Z
            self.bounded = True
        else:
            factor = cholesky(start)
            if factor is None:
                raise ValueError("start is not positive definite")
            self._take(start, factor, problem.linear(start) - logdet(factor))

    def _take(self, M: Floats, factor: Floats, value: float, promised: float = 0.0) -> None:
        """Use M; ``promised`` is the decrease that the step to it promised."""
        self.M, self.value, m = M, value, self.problem.m
        rough = not self.ill and (self.tol >= FINE or promised > ROUGH * m)
        self.W = inverse(factor, np.float32 if rough else np.float64)
        self.ill = largest_row(M) * largest_row(self.W) > WELL
        if self.ill and rough:
            self.W = inverse(factor)
        self.bounded = False
        goal = self.tol * m
        near = 0.0 < promised < goal
        if near or (promised < SURE * goal and self._least_gap() <= goal):
            self.bound()
            if self.W.dtype == np.float32 and promised < goal < value - self.dual:
                # float32 may be the limit.
                self.W = inverse(factor)
                self.bound()

    def _least_gap(self) -> float:
        p = self.problem
        return float(least_gap(p.folded, self.W, p.l1, self.M)) if self.tol < np.inf else 0.0

    def bound(self) -> None:
        """Compute a dual value from W; keep the best."""
        clip_to_box(self.W, self.problem.folded, self.problem.l1, self.Z)
        dual = self.problem.dual_value(self.Z)
        if dual > self.dual:
            self.dual, self.Z, self.best = dual, self.best, self.Z
        self.bounded = True

    def proof(self) -> Floats | None:
        """Return the dual point of the best dual value."""
        if self.dual == -np.inf:
            return None
        mirror(self.best)
        return self.best

    def step(self) -> bool:
        """Take a Newton step; return False where rounding prevents progress."""
        problem, M, W = self.problem, self.M, self.W
        n = free_pairs(problem.folded, M, W, problem.l1, self.starts, self.columns)
        pairs = Pairs.of(self.starts, self.columns[:n])
        fine = self.ill or self.value - self.dual < FINE * problem.m
        if fine and W.dtype == np.float32:
            self.W = W = W.astype(np.float64)
        model = Model(problem, M, W, pairs, fine)
        if self.diagonal:
            self.diagonal = False
            return self._search(self._first(model), model)
        calm = descend(model)
        found = self.near and not calm and self._search(model.direction(refine(model)), model)
        found = found or self._search(model.direction(model.part), model)
        self.work += FACTORISED + model.work
        return found

    def _first(self, model: Model) -> Floats:
        """Return the direction from the diagonal start, where entries are independent."""
        off, pairs = model.slopes, model.pairs
        d = np.diagonal(self.problem.folded)
        shrunk = np.sign(off) * np.maximum(np.abs(off) - self.problem.l1, 0.0)
        shrunk[pairs.rows == pairs.columns] = 0.0
        return np.asarray(-shrunk / (d[pairs.rows] * d[pairs.columns]))

    def _search(self, d: Floats, model: Model) -> bool:
        """Go along D as far as F falls (Armijo); return False if it does not fall."""
        problem, before = self.problem, self.value - self.dual
        promised = _promised_decrease(model, d)
        c, twice = model.values, model.pairs.twice
        off = np.where(twice == 2.0, 2.0 * problem.l1, 0.0)
        A = twice * model.pairs.take(problem.folded)
        slack = ROUNDING * (abs(self.value) + problem.m)
        length = 1.0
        while promised < 0.0 and length > SHORTEST:
            x = c + length * d
            trial = np.empty_like(self.M)
            put_pairs(model.pairs.starts, model.pairs.columns, x, trial)
            factor = cholesky(trial)
            if factor is not None:
                linear = float(np.dot(A, x) + np.dot(off, np.abs(x)))
                refuse_if_falling(problem, trial, linear)
                value = linear - logdet(factor)
                if value <= self.value + ARMIJO * length * promised + slack:
                    self.near = length == 1.0 and -promised < NEAR * problem.m
                    self._take(trial, factor, value, -promised)
                    return -promised > slack or self.value - self.dual < 0.5 * before
            length *= 0.5
        return False


def _promised_decrease(model: Model, d: Floats) -> float:
    """Return the slope of F along D, with the whole step's change of the penalty."""
    twice, c = model.pairs.twice, model.values
    slope = float(np.sum(twice * model.slopes * d))
    off = twice == 2.0
    return slope + 2.0 * model.l1 * float(np.sum((np.abs(c + d) - np.abs(c))[off]))


def solve_path(
    problem: Problem,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    patience: float = np.inf,
) -> Solution:
    """Minimise until the gap is at most tol * m; without a start, along a path of l1."""
    M, spent = start, 0
    if start is None and problem.tree is None:
        for l1 in falling(problem):
            # A larger penalty only makes the box larger: bounded if the problem is.
            before = Problem(problem.S, l1, problem.penalise_diagonal)
            made = solve_newton(before, LOOSE, min(STEPS, max_iter - spent), M)
            # Without a step M is still the diagonal, from which the first step is a formula.
            M, spent = made.M if made.n_iter else M, spent + made.n_iter
    found = solve_newton(problem, tol, max_iter - spent, M, patience)
    return replace(found, n_iter=found.n_iter + spent)


def falling(problem: Problem) -> Floats:
    """Return the l1 before the problem's own, largest first; none if few pairs are above it."""
    off = np.abs(problem.S[np.triu_indices(problem.m, 1)])
    first = float(np.quantile(off, 1.0 - SHARE))
    if first <= problem.l1:
        return np.zeros(0)
    steps = int(np.ceil(np.log(first / problem.l1) / np.log(1.0 / RATIO)))
    return np.asarray(np.geomspace(first, problem.l1, steps + 1)[:-1])
