"""The working sets of a batch of queries: columns, tableaux and codes, one slot a query.

All slots have the same number of positions, so that one call computes for all of them.  A position
is empty (id -1), outside the support, or inside.  When new columns N join the working set,

    V = G_SS^-1 G_SN,    Z = N - A_S V,    T_SN = V,    T_ON = A_O' Z,    T_NN = Z' Z

are their columns of the tableau (docs/methods/siso.md, (24) and (25)), computed by batched matrix
products, at which devices are best.  The current inverse is not exact, and the error of a new
column would spread to all columns once it enters.  So V is corrected by the part of Z along A_S.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_cuda.operations import Array, Operations, Steps
from likewise_methods.siso.solver.dictionary import Floats, Ids

# Positions come in multiples of this: a warp of the kernel takes 32 by 32 entries at a time.
_STEP = 32


class Facts(NamedTuple):
    """Numbers of each query after a walk.

    They are y'r, r'r, |x|_1, the largest correlation in the set, the size of the support, and the
    largest difference of the support's correlations from ``level``.
    """

    yr: Floats
    rr: Floats
    l1: Floats
    inside: Floats
    support: Floats
    wrong: Floats


class Batch:
    """One slot per row of Y, with ``W`` positions each, more when needed."""

    def __init__(self, operations: Operations, Y: Floats, expand: int, nonnegative: bool) -> None:
        xp, (slots, K) = operations.xp, Y.shape
        self.operations, self.xp, self.nonnegative = operations, xp, nonnegative
        self.expand, self.slots = expand, slots
        self.most = min(K, operations.n)
        self.W = _rounded(2 * expand)
        self.Y = operations.to(Y)
        self.R = self.Y.copy()
        self.ids = xp.full((slots, self.W), -1, np.int64)
        self.x, self.c = xp.zeros((slots, self.W)), xp.zeros((slots, self.W))
        self.s = xp.zeros((slots, self.W), np.int8)
        self.T = xp.zeros((slots, self.W, self.W))
        self.rows = xp.zeros((slots, self.W, K))

    def codes(self, slots: Ids) -> list[tuple[Ids, Floats]]:
        """Return the columns with a coefficient, ascending, and the coefficients."""
        back, slots = self.operations.back, self.operations.to(slots)
        made = []
        for ids, x in zip(back(self.ids[slots]), back(self.x[slots]), strict=True):
            at = np.flatnonzero(x)
            at = at[np.argsort(ids[at])]
            made.append((ids[at], x[at]))
        return made

    def keep(self, slots: Ids) -> None:
        """Keep only these slots, in this order."""
        there = self.operations.to(slots)
        for name in ("Y", "R", "ids", "x", "c", "s", "T", "rows"):
            setattr(self, name, getattr(self, name)[there])
        self.slots = len(slots)

    def make_room(self, support: int) -> None:
        """Provide at least ``expand`` positions outside a support of this size."""
        W = _rounded(support + self.expand)
        if W <= self.W:
            return
        W, old, xp = max(W, _rounded(int(1.25 * self.W))), self.W, self.xp
        W = min(W, _rounded(self.most + self.expand))
        for name, nothing in (("ids", -1), ("x", 0), ("c", 0), ("s", 0)):
            array = getattr(self, name)
            wider = xp.full((self.slots, W), nothing, array.dtype)
            wider[:, :old] = array
            setattr(self, name, wider)
        T = xp.zeros((self.slots, W, W))
        T[:, :old, :old] = self.T
        self.T = T
        rows = xp.zeros((self.slots, W, self.rows.shape[2]))
        rows[:, :old] = self.rows
        self.rows, self.W = rows, W

    def size(self, c: Array) -> Array:
        """Return the size of correlations: signed for non-negative codes, else absolute."""
        return c if self.nonnegative else self.xp.abs(c)

    def expand_with(
        self, ids: Array, c: Array, above: Floats, replace: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Let listed columns above ``above`` join; return how many did, per query.

        The best replaces the worst column outside, and so on, while it is better.  Empty positions
        come first, and are the only ones used where nothing may be replaced.
        """
        xp, to = self.xp, self.operations.to
        size = self.size(c)
        score = xp.where((ids >= 0) & (size > to(above)[:, None]), size, -1.0)
        order = xp.argsort(-score, axis=1, kind="stable")[:, : self.expand]
        score = xp.take_along_axis(score, order, axis=1)
        outside = xp.where(self.ids < 0, -1.0, self.size(self.c))
        outside = xp.where(self.s != 0, np.inf, outside)
        at = xp.argsort(outside, axis=1, kind="stable")[:, : order.shape[1]]
        old = xp.take_along_axis(outside, at, axis=1)
        enters = (score > 0) & ((old < 0) | (to(replace)[:, None] & (old < score)))
        came = np.asarray(self.operations.back(enters.sum(axis=1)), np.int64)
        # Scores fall and those to be replaced rise, so columns that enter come first.
        if most := int(came.max(initial=0)):
            order, at, enters = order[:, :most], at[:, :most], enters[:, :most]
            new = xp.where(enters, xp.take_along_axis(ids, order, axis=1), -1)
            self._admit(new, xp.take_along_axis(c, order, axis=1), at, enters)
        return came

    def _admit(self, new: Array, c: Array, at: Array, enters: Array) -> None:
        xp, product = self.xp, self.operations.product
        columns = self.operations.columns(new)
        inside = (self.s != 0)[:, :, None]

        def onto(H: Array) -> Array:
            """Return G_SS^-1 H_S by the tableau, zeros outside the support."""
            return xp.where(inside, -product(self.T, xp.where(inside, H, 0.0)), 0.0)

        V = onto(product(self.rows, columns, tb=True))
        rest = columns - product(V, self.rows, ta=True)
        V += onto(product(self.rows, rest, tb=True))
        rest = columns - product(V, self.rows, ta=True)
        WN = xp.where(inside, V, product(self.rows, rest, tb=True))
        NN = product(rest, rest, tb=True)
        query, newcomer = xp.nonzero(enters)
        where = at[query, newcomer]
        came = xp.full(self.ids.shape, -1, np.int32)
        came[query, where] = newcomer.astype(np.int32)
        places = xp.where(enters, at, -1).astype(np.int32)
        self.operations.place(self.T, self.rows, columns, WN, NN, places, came)
        self.ids[query, where] = new[query, newcomer]
        self.c[query, where] = c[query, newcomer]
        self.x[query, where] = 0.0
        self.s[query, where] = 0

    def walk(
        self, level: Floats, target: Floats, entries: NDArray[np.int64], who: NDArray[np.bool_]
    ) -> Steps:
        """Run the homotopy of the queries ``who``."""
        return self._run(level, target, entries, who.astype(np.int64))

    def rebuild(self, slots: Ids) -> None:
        """Rebuild tableaux from the columns, free of accumulated error."""
        there = self.operations.to(slots)
        rows = self.rows[there]
        self.T[there] = self.operations.product(rows, rows, tb=True)
        mode = np.zeros(self.slots, np.int64)
        mode[slots] = 2
        nothing = np.ones(self.slots)
        self._run(nothing, nothing, np.zeros(self.slots, np.int64), mode)

    def _run(
        self, level: Floats, target: Floats, entries: NDArray[np.int64], mode: NDArray[np.int64]
    ) -> Steps:
        return self.operations.walk(
            self.T, self.x, self.c, self.s, self.ids, level, target, entries, mode, self.most,
            self.nonnegative,
        )  # fmt: skip

    def refresh(self) -> None:
        """Recompute residuals and correlations from the columns."""
        self.operations.refresh(self.Y, self.x, self.rows, self.ids, self.R, self.c)

    def facts(self, level: Floats) -> Facts:
        """Return the numbers that the rounds need of every query."""
        xp, inside = self.xp, self.s != 0
        missed = xp.abs(self.s * self.c - self.operations.to(level)[:, None])
        numbers: Any = xp.stack(
            [
                (self.Y * self.R).sum(axis=1),
                (self.R * self.R).sum(axis=1),
                xp.abs(self.x).sum(axis=1),
                xp.maximum(self.size(self.c).max(axis=1), 0.0),
                inside.sum(axis=1).astype(np.float64),
                xp.where(inside, missed, 0.0).max(axis=1),
            ]
        )
        return Facts(*self.operations.back(numbers))


def _rounded(positions: int) -> int:
    return -(-positions // _STEP) * _STEP
