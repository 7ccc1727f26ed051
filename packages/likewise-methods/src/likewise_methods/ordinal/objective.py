"""The objective of ordinal embedding: the mean loss over comparisons, and its gradient.

F(X) = (1/|P|) sum f(a, b) (docs/methods/ordinal.md, (1) and (6)) is a function of points padded to
a multiple of four columns.  Solvers keep a :class:`Record` per epoch and count gradient evaluations
of single comparisons: a full gradient, or F alone, which costs nearly as much, is |P| evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel
from likewise_methods.ordinal.losses import ComparisonLoss
from likewise_methods.ordinal.solver.kernels import FAST, HALF, LANES, gap, hint, objects

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]


class Record(NamedTuple):
    """One record of a run: evaluations of the loss so far, F, and the step.

    See Also
    --------
    Solution : holds the records of a run.
    """

    evaluations: int
    objective: float
    step: float


class Solution(NamedTuple):
    """Points (not padded), their F, the records of the run, and why it ended.

    See Also
    --------
    solve_svrg : returns one.
    likewise_methods.ordinal.OrdinalEmbedding : the estimator.
    """

    points: Floats
    objective: float
    history: list[Record]
    ended: str


Watch = Callable[[Record, Floats], None]


def pad(points: Any) -> Floats:
    """Return a copy with zero columns up to a multiple of four."""
    x = np.asarray(points, np.float64)
    out = np.zeros((x.shape[0], -(-x.shape[1] // LANES) * LANES))
    out[:, : x.shape[1]] = x
    return out


@kernel(fastmath=FAST)
def _squares(X, rows, a, b):  # type: ignore[no-untyped-def]
    n = rows.shape[0]
    for t in range(n):
        if t + HALF < n:
            hint(X, rows, t + HALF)
        i, j, l, k = objects(rows, t)  # noqa: E741
        a[t] = gap(X, i, j)
        b[t] = gap(X, l, k)


def squares(points: Floats, rows: Rows) -> tuple[Floats, Floats]:
    """Return a = |x_i - x_j|^2 and b = |x_l - x_k|^2 of every comparison.

    Parameters
    ----------
    points : array of shape (n, p)
        Coordinates of the objects.
    rows : int array of shape (m, 3) or (m, 4)
        The comparisons.

    Returns
    -------
    a, b : array of shape (m,)
        The distances that should be small, and those that should be large.

    See Also
    --------
    Problem : the mean loss of these distances.
    """
    a, b = np.empty(len(rows)), np.empty(len(rows))
    _squares(pad(points), rows, a, b)
    return a, b


@dataclass(frozen=True)
class Problem:
    """The mean loss over comparisons, F.

    Parameters
    ----------
    rows : int32 array of shape (m, 3) or (m, 4)
        The comparisons.
    n_objects : int
        Number of objects.
    loss : ComparisonLoss
        The loss of one comparison.

    See Also
    --------
    solve_svrg : minimises it.

    References
    ----------
    docs/methods/ordinal.md, (1) and (6).
    """

    rows: Rows
    n_objects: int
    loss: ComparisonLoss

    @property
    def size(self) -> int:
        """The number of comparisons, |P|."""
        return len(self.rows)

    def count_objects(self) -> int:
        """Return how many objects the comparisons name."""
        seen = np.zeros(self.n_objects, np.bool_)
        for column in self.rows.T:
            seen[column] = True
        return int(seen.sum())

    def value(self, X: Floats) -> float:
        """Return F."""
        none = np.zeros((0, X.shape[1]))
        total = self.loss.kernels.sweep(X, self.rows, self.loss.parameter, none)
        return float(total / self.size)

    def gradient(self, X: Floats, out: Floats) -> float:
        """Return F and write its gradient to ``out``."""
        out[:] = 0.0
        total = self.loss.kernels.sweep(X, self.rows, self.loss.parameter, out)
        out /= self.size
        return float(total / self.size)


@dataclass
class Journal:
    """The records of a run and the best finite point seen."""

    problem: Problem
    width: int
    watch: Watch | None = None
    history: list[Record] = field(default_factory=list)
    evaluations: int = 0
    best: float = np.inf
    points: Floats | None = None

    def spend(self, evaluations: int) -> None:
        """Count gradient evaluations of single comparisons."""
        self.evaluations += evaluations

    def note(self, objective: float, step: float, X: Floats) -> None:
        """Add a record; keep X if it is the best so far."""
        record = Record(self.evaluations, float(objective), float(step))
        self.history.append(record)
        if objective < self.best:
            self.best = float(objective)
            self.points = X[:, : self.width].copy()
        if self.watch is not None:
            self.watch(record, X[:, : self.width])

    def solution(self, ended: str) -> Solution:
        """Return the best point; a start with finite F must have been noted."""
        assert self.points is not None
        return Solution(self.points, self.best, self.history, ended)
