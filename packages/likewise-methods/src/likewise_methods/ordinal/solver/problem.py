"""What an ordinal solver is given and what it gives back.

A :class:`Problem` is the mean loss over comparisons, F(X) = (1/|P|) sum f(a, b), with its gradient
(docs/methods/ordinal.md, (1) and (6)), as a function of padded points; the loss is a plain object
that names its kernels.  Every solver keeps a :class:`Record` per epoch, counted in gradient
evaluations of single comparisons, so that all of them can be drawn on one axis: one full gradient
(or one look at F alone, which costs nearly as much) is |P| evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel
from likewise_methods.ordinal.solver.loops import FAST, HALF, LANES, gap, hint, objects

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]


class Loss(Protocol):
    """A loss of (a, b): its number, its kernels and what it is good for.

    See Also
    --------
    likewise_methods.ordinal.STE : one of the four.
    Problem : the mean of it.
    """

    @property
    def name(self) -> str: ...
    @property
    def parameter(self) -> float: ...
    @property
    def convex(self) -> bool:
        """Convex in the Gram matrix."""

    @property
    def kernels(self) -> Any:
        """A module with ``evaluate``, ``sweep``, ``svrg`` and ``online``."""


class Record(NamedTuple):
    """One point of a solver's way: evaluations of the loss so far, F, and the step.

    See Also
    --------
    Solution : has all of them.
    """

    evaluations: int
    objective: float
    step: float


class Solution(NamedTuple):
    """Points (not padded), their F, the way there, and why it ended.

    See Also
    --------
    solve_svrg : gives it.
    likewise_methods.ordinal.OrdinalEmbedding : the estimator.
    """

    points: Floats
    objective: float
    history: list[Record]
    ended: str


Watch = Callable[[Record, Floats], None]


def pad(points: Any) -> Floats:
    """A copy with zero columns up to a multiple of four."""
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
    """a = |x_i - x_j|^2 and b = |x_l - x_k|^2 of every comparison: all that scoring needs.

    Parameters
    ----------
    points : array of shape (n, p)
        Places of the objects.
    rows : int array of shape (m, 3) or (m, 4)
        The comparisons.

    Returns
    -------
    a, b : array of shape (m,)
        What should be small, and what should be large.

    See Also
    --------
    Problem : the loss of them.
    """
    a, b = np.empty(len(rows)), np.empty(len(rows))
    _squares(pad(points), rows, a, b)
    return a, b


@dataclass(frozen=True)
class Problem:
    """F over comparisons: the mean loss.

    Parameters
    ----------
    rows : int32 array of shape (m, 3) or (m, 4)
        The comparisons.
    n_objects : int
        Objects there are.
    loss : Loss
        Of one comparison.

    See Also
    --------
    solve_svrg : minimises it.

    References
    ----------
    docs/methods/ordinal.md, (1) and (6).
    """

    rows: Rows
    n_objects: int
    loss: Loss

    @property
    def size(self) -> int:
        """Number of comparisons |P|."""
        return len(self.rows)

    def count_objects(self) -> int:
        """How many objects some comparison names."""
        seen = np.zeros(self.n_objects, np.bool_)
        for column in self.rows.T:
            seen[column] = True
        return int(seen.sum())

    def value(self, X: Floats) -> float:
        """F."""
        none = np.zeros((0, X.shape[1]))
        total = self.loss.kernels.sweep(X, self.rows, self.loss.parameter, none)
        return float(total / self.size)

    def gradient(self, X: Floats, out: Floats) -> float:
        """F, and its gradient into ``out``."""
        out[:] = 0.0
        total = self.loss.kernels.sweep(X, self.rows, self.loss.parameter, out)
        out /= self.size
        return float(total / self.size)


@dataclass
class Journal:
    """Keeps the records and the best finite point seen."""

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
        """One record; keeps X when it is the best so far."""
        record = Record(self.evaluations, float(objective), float(step))
        self.history.append(record)
        if objective < self.best:
            self.best = float(objective)
            self.points = X[:, : self.width].copy()
        if self.watch is not None:
            self.watch(record, X[:, : self.width])

    def solution(self, ended: str) -> Solution:
        """The best point; there is one as soon as a start with finite F was noted."""
        assert self.points is not None
        return Solution(self.points, self.best, self.history, ended)
