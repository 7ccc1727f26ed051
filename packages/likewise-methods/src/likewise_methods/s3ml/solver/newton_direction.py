"""The Newton direction: coordinate descent, then conjugate gradients.

Coordinate descent quickly finds which entries are zero and slowly how large the others are: for
strongly related variables each sweep removes a twentieth of the error.  With zeros and signs fixed,
one linear system remains with the operator X -> W X W on the free pairs, and X -> M X M, its
inverse if all pairs were free, is a good preconditioner.

A direction need not be exact, only the slope at M and the step along it.  So the model is solved in
float32 (half the memory) unless W is ill-conditioned or the end is near, where slopes are smaller
than float32 can resolve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.s3ml.objective import Floats, Problem
from likewise_methods.s3ml.solver.newton_kernels import (
    between,
    both_ways,
    pairs_product,
    sparse_sandwich,
    sweep,
)

Whole = NDArray[np.int64]
# Chosen by time on colour moments of pictures (m = 225), chains and random graphs (225, 500).
INNER = 2
SWEEPS = 4
# Coordinate descent ends when a sweep moves less than the first share of D; below the second,
# conjugate gradients are not needed.
CALM, STILL = 0.3, 0.2
# Conjugate gradients end at this share of the first residual, or after GRADIENTS steps.  The share
# is TIGHT once only a share FEW of entries became zero or non-zero: this may be the last system.
FORCING, TIGHT, FEW = 0.4, 0.1, 0.02
GRADIENTS = 400
# Systems in a row, each without the entries that the one before sent through zero.
ROUNDS = 3
SHORTEST = 0.01
# Above this share of all pairs, two full products are faster than products pair by pair.
CROWDED = 0.5
# Up to this share of non-zeros, products with M go through them alone.
HOLLOW = 0.05
# Up to this product of norms of M and W float32 will do.
WELL = 1e5
# Multiplications by m a pair costs: in a sweep, and in a product W X W.
SWEPT, SANDWICHED = 5.0, 3.0


@dataclass(frozen=True, eq=False)
class Pairs:
    """The free pairs i <= j: ``rows`` and ``columns``, and where each row begins."""

    starts: Whole
    rows: Whole
    columns: Whole
    m: int

    @classmethod
    def of(cls, starts: Whole, columns: Whole) -> Pairs:
        m = len(starts) - 1
        return cls(starts, np.repeat(np.arange(m), np.diff(starts)), columns, m)

    @cached_property
    def twice(self) -> Floats:
        """How often a pair occurs in a symmetric matrix."""
        return np.where(self.rows == self.columns, 1.0, 2.0)

    @cached_property
    def places(self) -> Whole:
        """Their places in a matrix stored row by row."""
        return self.rows * self.m + self.columns

    def some(self, keep: Whole) -> Pairs:
        """Return only the pairs at these ascending places."""
        return Pairs(
            np.searchsorted(keep, self.starts), self.rows[keep], self.columns[keep], self.m
        )

    def take(self, X: Any) -> Any:
        return X.ravel()[self.places]

    def put(self, x: Any, X: Any) -> None:
        X[self.rows, self.columns] = x
        X[self.columns, self.rows] = x

    @cached_property
    def full(self) -> tuple[Whole, Whole, Whole]:
        """The same as full rows (see ``both_ways``)."""
        begins, others, places = both_ways(self.starts, self.columns)
        return begins, others, places

    def sandwich(self, B: Any, x: Any) -> Any:
        """Return values of B X B on the pairs, X having the values x there and zeros elsewhere."""
        if 2 * len(x) > CROWDED * self.m**2:
            X = np.zeros((self.m, self.m), x.dtype)
            self.put(x, X)
            return self.take(B @ (X @ B))
        U, y = np.empty((self.m, self.m), x.dtype), np.empty_like(x)
        pairs_product(B, x, *self.full, U)
        between(B, U, self.starts, self.columns, y)
        return y


class Model:
    """The model at M: ``values`` of M and ``slopes`` A - W on the free pairs in float64.

    Other arrays are in the precision of the solve.  ``work`` counts multiplications by m**3.
    """

    def __init__(
        self, problem: Problem, M: Floats, W: Any, pairs: Pairs, fine: bool = False
    ) -> None:
        self.pairs, self.l1 = pairs, problem.l1
        self.values = pairs.take(M)
        self.slopes = pairs.take(problem.folded) - pairs.take(W)
        kind = np.float64 if fine else np.float32
        self.M, self.W = M.astype(kind), W.astype(kind, copy=False)
        self.U = np.zeros_like(self.W)
        self.work = 0.0
        self.part = Part.of(self, kind)

    def direction(self, part: Part) -> Floats:
        """Return D on the pairs, so that M + D is exactly zero where x is."""
        return np.asarray(np.where(part.x == 0.0, -self.values, part.d.astype(np.float64)))


@dataclass(eq=False)
class Part:
    """Pairs of a model: slopes ``g``, targets ``x`` = M + D, ``d`` = D, inverse curvatures."""

    pairs: Pairs
    inverted: Any
    g: Any
    x: Any
    d: Any

    @classmethod
    def of(cls, model: Model, kind: Any) -> Part:
        pairs = model.pairs
        w = np.diagonal(model.W)
        bend = w[pairs.rows] * w[pairs.columns]
        bend += np.where(pairs.rows == pairs.columns, kind(0.0), pairs.take(model.W) ** 2)
        x, g = model.values.astype(kind), model.slopes.astype(kind)
        return cls(pairs, 1.0 / bend, g, x, np.zeros_like(x))

    def some(self, keep: Whole) -> Part:
        return Part(
            self.pairs.some(keep), self.inverted[keep], self.g[keep], self.x[keep], self.d[keep]
        )

    def sweep(self, model: Model) -> tuple[float, float]:
        p = self.pairs
        model.work += SWEPT * len(self.x) / p.m**2
        changed, size = sweep(
            model.W, self.inverted, self.g, self.x, self.d, model.U, model.l1,
            p.starts, p.columns, INNER,
        )  # fmt: skip
        return float(changed), float(size)


def descend(model: Model) -> bool:
    """Run a few sweeps; return whether the last one hardly moved D.

    The first visits all free pairs, the others those that it left non-zero.
    """
    part = model.part
    changed, size = part.sweep(model)
    if changed <= CALM * size:
        return changed <= STILL * size
    keep = np.flatnonzero((part.x != 0.0) | (part.pairs.twice == 1.0))
    few = part.some(keep)
    for _ in range(SWEEPS - 1):
        changed, size = few.sweep(model)
        if changed <= CALM * size:
            break
    part.x[keep], part.d[keep] = few.x, few.d
    return changed <= STILL * size


def refine(model: Model) -> Part:
    """Refine with conjugate gradients on the support of M + D; the model never rises.

    Each system holds zeros and signs.  Entries that it would send through zero stop there, and
    another system is solved without them: a few such entries would hold up all others.
    """
    part, pairs = model.part, model.pairs
    kind = part.x.dtype.type
    flips = np.count_nonzero((part.x == 0.0) != (model.values == 0.0))
    forcing = TIGHT if flips < FEW * np.count_nonzero(part.x) else FORCING
    weight = np.where(pairs.twice == 2.0, kind(model.l1), kind(0.0))
    slope = part.g + pairs.sandwich(model.W, part.d)
    made = Part(pairs, part.inverted, part.g, part.x.copy(), part.d.copy())
    first = _System(model, made.x, weight, slope, forcing)
    system, rise = first, 0.0
    for _ in range(ROUNDS):
        step, bent = system.stop_at_zero()
        whole = np.zeros_like(made.d)
        whole[system.keep] = step
        if bent is None:
            whole_bent = pairs.sandwich(model.W, whole)
            bent = whole_bent[system.keep]
            slope = slope + whole_bent
        rise += system.rise(step, bent)
        made.d += whole
        made.x[system.keep] = np.where(system.crossed, kind(0.0), system.now + step)
        if not system.crossed.any():
            break
        system = _System(model, made.x, weight, slope, forcing, first.goal)
    if rise >= 0.0:
        made.x, made.d = part.x.copy(), part.d.copy()
        share = kind(first.length())
        made.x[first.keep] += share * first.step
        made.d[first.keep] += share * first.step
    # Descent on the model itself frees what should not be zero.
    pairs_product(model.W, made.d, *pairs.full, model.U)
    made.sweep(model)
    return made


class _System:
    """W X W = -(slope + penalty) on the support of x, solved roughly: ``step``."""

    def __init__(
        self, model: Model, x: Any, weight: Any, slope: Any, forcing: float, goal: float = 0.0
    ) -> None:
        self.keep = np.flatnonzero((x != 0.0) | (weight == 0.0))
        support = model.pairs.some(self.keep)
        self.now, self.weight, self.slope = x[self.keep], weight[self.keep], slope[self.keep]
        b = -self.slope - self.weight * np.sign(self.now)
        solved = conjugate_gradients(model.W, model.M, b, support, forcing, goal)
        self.step, self.bent, self.goal, turns = solved
        model.work += turns * 2 * SANDWICHED * len(self.keep) / support.m**2
        self.twice = support.twice
        self.crossed = (self.now * (self.now + self.step) < 0.0) & (self.weight > 0.0)

    def stop_at_zero(self) -> tuple[Any, Any]:
        """Return the step stopped where it would cross zero, and W X W of it if known."""
        if not self.crossed.any():
            return self.step, self.bent
        return np.where(self.crossed, -self.now, self.step), None

    def rise(self, step: Any, bent: Any) -> float:
        """Return what a step adds to the model."""
        penalty = self.weight * (np.abs(self.now + step) - np.abs(self.now))
        return float(np.dot(self.twice, (self.slope + 0.5 * bent) * step + penalty))

    def length(self) -> float:
        """Return how far along the step the model falls, signs changing; 0 if it does not."""
        length = 1.0
        while length > SHORTEST:
            share = self.now.dtype.type(length)
            if self.rise(share * self.step, share * self.bent) < 0.0:
                return length
            length *= 0.5
        return 0.0


def conjugate_gradients(
    W: Any, M: Any, b: Any, pairs: Pairs, forcing: float, goal: float = 0.0
) -> tuple[Any, Any, float, int]:
    """Return (x with W X W = B on the pairs, roughly; W X W; the residual goal; steps taken).

    Preconditioned by X -> M X M.  A ``goal`` from an earlier system replaces ``forcing``.
    """
    kind = b.dtype.type
    x, r = np.zeros_like(b), b
    inverted = _preconditioner(M, pairs)
    twice = pairs.twice.astype(kind)
    p = z = inverted(r)
    size = float(np.dot(twice * r, z))
    goal = goal if goal > 0.0 else forcing**2 * size
    turns = 0
    while turns < GRADIENTS and size > goal:
        h = pairs.sandwich(W, p)
        bend = float(np.dot(twice * p, h))
        if bend <= 0.0:
            break
        x = x + kind(size / bend) * p
        r = r - kind(size / bend) * h
        z = inverted(r)
        size, old = float(np.dot(twice * r, z)), size
        p = z + kind(size / old) * p
        turns += 1
    return x, b - r, goal, turns


def _preconditioner(M: Any, pairs: Pairs) -> Callable[[Any], Any]:
    """Return the map r -> M R M on the pairs."""
    if np.count_nonzero(M) > HOLLOW * M.size:
        return partial(pairs.sandwich, M)
    rows, places = np.nonzero(M)
    begins = np.searchsorted(rows, np.arange(pairs.m + 1))
    U = np.empty_like(M)

    def inverted(r: Any) -> Any:
        y = np.empty_like(r)
        sparse_sandwich(M, begins, places, r, pairs.starts, pairs.columns, U, y)
        return y

    return inverted
