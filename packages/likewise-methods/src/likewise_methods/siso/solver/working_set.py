"""The working set of one query: its columns, their Gram matrix, the code on it, the factor.

Better columns take the places of columns outside the support, so the set stays as large as the
support plus the new columns of one round, and nothing moves in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel
from likewise_methods.siso.objective import relative_gap
from likewise_methods.siso.solver.cholesky import DEPENDENT, append, project
from likewise_methods.siso.solver.coordinate_descent import descend
from likewise_methods.siso.solver.dictionary import Floats, Ids
from likewise_methods.siso.solver.feature_sign import search
from likewise_methods.siso.solver.homotopy import DONE, PAUSED, STUCK, follow

# More pivots than this in one walk mean rounding trouble, not a hard problem.
_PIVOTS = 20_000
_EPOCHS = 2_000
# Places for columns at first.
_ROOM = 320


@kernel
def _place(G, block, at, w):  # type: ignore[no-untyped-def]
    """Write rows and columns ``at`` of the symmetric G from ``block`` (len(at), w)."""
    for i in range(at.shape[0]):
        for k in range(w):
            G[at[i], k] = block[i, k]
    for k in range(w):
        row = G[k]
        for i in range(at.shape[0]):
            row[at[i]] = block[i, k]


@kernel
def _rebase(c, b, s, w, level):  # type: ignore[no-untyped-def]
    """Set bounds for which x is optimal; return the largest error on the support."""
    wrong = 0.0
    for k in range(w):
        if s[k] != 0.0:
            b[k] = s[k] * c[k]
            wrong = max(wrong, abs(b[k] - level))
        else:
            b[k] = max(level, abs(c[k]) * (1 + 1e-12))
    return wrong


@kernel
def _factor(G, U, x, s, act, size):  # type: ignore[no-untyped-def]
    """Compute U of the support of x, in order of position; dependent columns become zero."""
    w, n = size[0], 0
    u = np.empty(U.shape[0])
    for j in range(w):
        s[j] = 0.0
        if x[j] == 0.0:
            continue
        rest = project(U, n, G, act, j, u)
        if rest <= DEPENDENT * G[j, j] or n == U.shape[0]:
            x[j] = 0.0
            continue
        append(U, n, u, rest)
        act[n] = j
        s[j] = 1.0 if x[j] > 0 else -1.0
        n += 1
    size[1] = n


class WorkingSet:
    """Everything about one query; reused for the next one."""

    def __init__(self, width: int, n: int, *, solver: str, nonnegative: bool) -> None:
        self.solver, self.nonnegative = SOLVERS[solver], nonnegative
        # No more columns than this are independent.  Untouched memory costs nothing.
        most = min(width, n)
        self.size = np.zeros(3, np.int64)
        self.rows = np.empty((0, width))
        self.G = np.empty((0, 0))
        self.U = np.empty((most, most))
        self.act = np.zeros(most + 1, np.int64)
        self.x, self.c, self.b, self.s = (np.zeros(0) for _ in range(4))
        self.ids = np.zeros(0, np.int64)

    @property
    def w(self) -> int:
        return int(self.size[0])

    @property
    def support(self) -> int:
        return int(np.count_nonzero(self.x[: self.w]))

    def begin(self, y: Floats) -> None:
        """Start a new query; keep the arrays."""
        self.y, self.r = y, y.copy()
        self.size[:] = 0
        self.level = np.inf
        self.settled = True

    def _make_room(self, w: int) -> None:
        have = len(self.ids)
        if w <= have:
            return
        room = max(w, int(1.6 * have), _ROOM)
        old = self.w
        for name in ("x", "c", "b", "s", "ids"):
            array = getattr(self, name)
            more = np.zeros(room, array.dtype)
            more[:old] = array[:old]
            setattr(self, name, more)
        rows, G = np.empty((room, self.rows.shape[1])), np.zeros((room, room))
        rows[:old], G[:old, :old] = self.rows[:old], self.G[:old, :old]
        self.rows, self.G = rows, G

    def outside(self) -> tuple[Ids, Floats]:
        """Return positions without a coefficient, and the size of their correlations."""
        at = np.flatnonzero(self.x[: self.w] == 0)
        c = self.c[at]
        return at, c if self.nonnegative else np.abs(c)

    def admit(self, ids: Ids, rows: Floats, c: Floats, free: Ids) -> Ids:
        """Add columns, first at the positions ``free``; return the ids they replaced.

        ``c`` are their correlations with the current residual.
        """
        new, old = len(ids), self.w
        at = np.concatenate([free[:new], np.arange(old, old + max(0, new - len(free)))])
        w = max(old, int(at.max(initial=-1)) + 1)
        self._make_room(w)
        gone = self.ids[free[:new]].copy()
        self.ids[at], self.rows[at], self.c[at] = ids, rows, c
        self.x[at] = self.s[at] = 0.0
        _place(self.G, rows @ self.rows[:w].T, at, w)
        self.size[0] = w
        return gone

    def refresh(self) -> None:
        """Recompute residual and correlations from the columns, free of accumulated error."""
        w = self.w
        np.subtract(self.y, self.x[:w] @ self.rows[:w], out=self.r)
        np.dot(self.rows[:w], self.r, out=self.c[:w])

    def start_from(self, x: Floats) -> None:
        """Start from these coefficients of the columns admitted so far."""
        w = self.w
        self.x[:w] = np.maximum(x, 0) if self.nonnegative else x
        _factor(self.G, self.U, self.x, self.s, self.act, self.size)
        self.refresh()

    def solve(self, target: float, most_entries: int, precision: float) -> None:
        """Solve for ``target``, or part of the way; ``level`` is where it ended."""
        self.solver.run(self, target, most_entries, precision)
        self.refresh()

    def _walk(self, target: float, most_entries: int, _: float) -> None:
        for _ in range(8):
            wrong = _rebase(self.c, self.b, self.s, self.w, self.level)
            state, left = follow(
                self.G, self.U, self.x, self.c, self.b, self.s, self.act, self.size,
                target, self.nonnegative, most_entries, _PIVOTS,
            )  # fmt: skip
            self.level = target + left * (self.level - target)
            if state == STUCK:
                _factor(self.G, self.U, self.x, self.s, self.act, self.size)
            elif state == PAUSED or wrong <= 1e-6 * self.level:
                break
            self.refresh()
        self.settled = state in (DONE, PAUSED)

    def _search(self, target: float, _: int, __: float) -> None:
        for _ in range(8):
            state = search(
                self.G, self.U, self.x, self.c, self.b, self.s, self.act, self.size,
                target, self.nonnegative, _PIVOTS,
            )  # fmt: skip
            if state == DONE:
                break
            _factor(self.G, self.U, self.x, self.s, self.act, self.size)
            self.refresh()
        self.settled, self.level = state == DONE, target

    def _descend(self, target: float, _: int, precision: float) -> None:
        state, taken = descend(
            self.G, self.x, self.c, self.w, target, self.nonnegative, precision, _EPOCHS
        )
        self.size[2] += taken
        self.s[: self.w] = np.sign(self.x[: self.w])
        self.settled, self.level = state == DONE, target

    def polish(self) -> None:
        """Recompute factor and residual, where only rounding prevents progress."""
        if self.solver.factors:
            _factor(self.G, self.U, self.x, self.s, self.act, self.size)
        self.refresh()

    def gap(self, gamma: float, beyond: float) -> float:
        """Return the relative gap if no column outside correlates more than ``beyond``."""
        c = self.c[: self.w]
        inside = float((c if self.nonnegative else np.abs(c)).max(initial=0.0))
        return relative_gap(
            float(self.y @ self.r),
            float(self.r @ self.r),
            float(np.abs(self.x[: self.w]).sum()),
            max(inside, beyond),
            gamma,
            self.nonnegative,
        )

    def objective(self, gamma: float) -> float:
        """Return 1/2 |r|^2 + gamma |x|_1."""
        return 0.5 * float(self.r @ self.r) + gamma * float(np.abs(self.x[: self.w]).sum())

    def code(self) -> tuple[Ids, NDArray[Any]]:
        """Return the columns with a coefficient, ascending, and the coefficients."""
        at = np.flatnonzero(self.x[: self.w])
        order = np.argsort(self.ids[at])
        return self.ids[at][order], self.x[at][order]


class Solver(NamedTuple):
    """A solver of the lasso on a working set.

    ``run`` takes the set to a target; it may pause after so many entries, or stop at a precision.
    ``factors``: it needs the factor of the support.
    """

    run: Callable[[WorkingSet, float, int, float], None]
    factors: bool


SOLVERS = {
    "homotopy": Solver(WorkingSet._walk, factors=True),
    "feature-sign": Solver(WorkingSet._search, factors=True),
    "cd": Solver(WorkingSet._descend, factors=False),
}
