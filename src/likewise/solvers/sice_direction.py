"""The Newton direction of sparse inverse covariance: coordinate descent, then conjugate gradients.

Coordinate descent finds quickly which entries are zero and slowly how large the others are: where
pictures' features hang together, each sweep takes off a twentieth of the error.  With zeros and
signs held, what is left is one linear system with the operator X -> W X W on the free pairs, and
X -> M X M, its inverse if all pairs were free, makes a good preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from likewise.solvers.sice_kernels import between, sparse_sandwich, spread, sweep
from likewise.solvers.sice_problem import Floats, Problem

Whole = NDArray[np.int64]
# Chosen by time on colour moments of pictures (m = 225) and on chains and random graphs (500).
INNER = 2
SWEEPS = 4
GRADIENTS = 40
# A sweep that moves less than this share of D ends coordinate descent, and then there is nothing
# left for conjugate gradients to do; they end at FORCING of the first residual.
CALM = 0.1
FORCING = 0.4
SHORTEST = 0.01
# From this share of all pairs on, two full products are faster than products pair by pair.
CROWDED = 0.25
# Up to this share of non-zeros, products with M go through them alone.
HOLLOW = 0.05


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
        """How often a pair stands in a symmetric matrix."""
        return np.where(self.rows == self.columns, 1.0, 2.0)

    def some(self, keep: NDArray[np.bool_]) -> Pairs:
        """Only those marked."""
        counted = np.concatenate([[0], np.cumsum(keep)])
        return Pairs(counted[self.starts], self.rows[keep], self.columns[keep], self.m)

    def take(self, X: Floats) -> Floats:
        return np.asarray(X[self.rows, self.columns])

    def put(self, x: Floats, X: Floats) -> None:
        X[self.rows, self.columns] = x
        X[self.columns, self.rows] = x

    def sandwich(self, B: Floats, x: Floats) -> Floats:
        """Values of B X B on the pairs, X having the values x there and zeros elsewhere."""
        if 2 * len(x) > CROWDED * self.m**2:
            X = np.zeros((self.m, self.m))
            self.put(x, X)
            return self.take(B @ (X @ B))
        U, y = np.empty((self.m, self.m)), np.empty(len(x))
        spread(B, x, self.starts, self.columns, U)
        between(B, U, self.starts, self.columns, y)
        return y


def descended(problem: Problem, M: Floats, W: Floats, pairs: Pairs) -> tuple[Floats, bool]:
    """A symmetric D on the free pairs by a few sweeps, and whether the last one hardly moved it."""
    D, U = np.zeros_like(M), np.zeros_like(M)
    changed = size = 0.0
    for _ in range(SWEEPS):
        changed, size = sweep(
            problem.folded, M, W, D, U, problem.l1, pairs.starts, pairs.columns, INNER
        )
        if changed <= CALM * size:
            break
    return D, changed <= CALM * size


def refined(problem: Problem, M: Floats, W: Floats, D: Floats, pairs: Pairs) -> Floats:
    """D made better by conjugate gradients on its support; the model never rises."""
    target = pairs.take(M) + pairs.take(D)
    weight = np.where(pairs.rows != pairs.columns, problem.l1, 0.0)
    keep = (target != 0.0) | (weight == 0.0)
    slope = pairs.take(problem.folded) - pairs.take(W) + pairs.sandwich(W, pairs.take(D))
    support, target, weight, slope = pairs.some(keep), target[keep], weight[keep], slope[keep]
    x, bent = conjugate_gradients(W, M, -slope - weight * np.sign(target), support)
    # Where signs change the penalty is not what the linear system took it for: go less far.
    along = float(np.sum(support.twice * slope * x))
    curve = 0.5 * float(np.sum(support.twice * bent * x))
    now = np.abs(target)
    length = 1.0
    while length > SHORTEST:
        penalty = float(np.sum(support.twice * weight * (np.abs(target + length * x) - now)))
        if length * (along + length * curve) + penalty < 0.0:
            break
        length *= 0.5
    else:
        return D
    better = D.copy()
    support.put(support.take(D) + length * x, better)
    # Descent on the model itself brings those that crossed zero back to it.
    U = np.empty_like(M)
    spread(W, pairs.take(better), pairs.starts, pairs.columns, U)
    sweep(problem.folded, M, W, better, U, problem.l1, pairs.starts, pairs.columns, INNER)
    return better


def conjugate_gradients(W: Floats, M: Floats, b: Floats, pairs: Pairs) -> tuple[Floats, Floats]:
    """x with W X W = B on the pairs, roughly, and W X W; preconditioned by X -> M X M."""
    x, r = np.zeros_like(b), b
    inverted = _preconditioner(M, pairs)
    p = z = inverted(r)
    size = first = float(np.sum(pairs.twice * r * z))
    for _ in range(GRADIENTS):
        if not size > FORCING**2 * first:
            break
        h = pairs.sandwich(W, p)
        bend = float(np.sum(pairs.twice * p * h))
        if bend <= 0.0:
            break
        x = x + (size / bend) * p
        r = r - (size / bend) * h
        z = inverted(r)
        size, old = float(np.sum(pairs.twice * r * z)), size
        p = z + (size / old) * p
    return x, b - r


def _preconditioner(M: Floats, pairs: Pairs) -> Callable[[Floats], Floats]:
    """r -> M R M on the pairs."""
    rows, places = np.nonzero(M)
    if len(rows) > HOLLOW * M.size:
        return partial(pairs.sandwich, M)
    begins = np.searchsorted(rows, np.arange(pairs.m + 1))
    U = np.empty_like(M)

    def inverted(r: Floats) -> Floats:
        y = np.empty_like(r)
        sparse_sandwich(M, begins, places, r, pairs.starts, pairs.columns, U, y)
        return y

    return inverted
