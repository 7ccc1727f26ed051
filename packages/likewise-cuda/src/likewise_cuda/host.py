"""The operations in NumPy: float32 scans, one query's tableau at a time.

This is slow (``lasso`` on the processor is fast).  Tests compare the CUDA kernels with it, and test
the rounds with it where there is no device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_cuda.operations import Found, Steps
from likewise_cuda.tableau import build, walk
from likewise_methods.siso.solver.dictionary import Dictionary, Floats

# More pivots than this in one walk mean rounding trouble, not a hard problem.
PIVOTS = 20_000


class HostOperations:
    """A dictionary in memory."""

    def __init__(self, dictionary: Dictionary, room: int = 32_768) -> None:
        self.xp: Any = np
        self.n, self.width = dictionary.n, dictionary.width
        self._dictionary = dictionary
        self._rows = dictionary.rows(np.arange(self.n))
        self._scan_rows = self._rows.astype(np.float32)
        self._room = room
        self.doubt = float(dictionary.doubt(np.ones((1, 1)))[0])

    def slots(self, expand: int) -> int:
        return 16

    def free_unused(self) -> None:
        """Do nothing: no memory is cached."""

    def to(self, array: NDArray[Any]) -> NDArray[Any]:
        return array

    def back(self, array: NDArray[Any]) -> NDArray[Any]:
        return array

    def scan(
        self, R: Floats, floor: Floats, closely: NDArray[np.bool_], members: NDArray[np.int64],
        pool: int, nonnegative: bool,
    ) -> Found:  # fmt: skip
        C = R.astype(np.float32) @ self._scan_rows.T
        C = C if nonnegative else np.abs(C)
        ids = np.full((len(R), pool), -1, np.int64)
        c, bound = np.zeros((len(R), pool)), np.empty(len(R))
        doubt = self.doubt * np.linalg.norm(R, axis=1)
        for i, own in enumerate(C):
            own[members[i][members[i] >= 0]] = 0.0
            above = np.flatnonzero(own > floor[i])
            best = np.sort(above[np.argsort(-own[above], kind="stable")[:pool]])
            rest = np.setdiff1d(above, best)
            ids[i, : len(best)] = best
            c[i, : len(best)] = self._rows[best] @ R[i]
            bound[i] = floor[i] + doubt[i]
            if closely[i] and 0 < len(rest) <= self._room:
                exact = self._rows[rest] @ R[i]
                bound[i] = max(bound[i], float((exact if nonnegative else np.abs(exact)).max()))
            elif len(rest):
                bound[i] = float(own[rest].max()) + doubt[i]
        return Found(ids, c, bound)

    def columns(self, ids: NDArray[np.int64]) -> Floats:
        return np.where((ids >= 0)[..., None], self._rows[np.maximum(ids, 0)], 0.0)

    def product(self, a: Floats, b: Floats, *, ta: bool = False, tb: bool = False) -> Floats:
        a = a.transpose(0, 2, 1) if ta else a
        return np.asarray(np.matmul(a, b.transpose(0, 2, 1) if tb else b))

    def place(
        self, T: Floats, rows: Floats, columns: Floats, WN: Floats, NN: Floats,
        at: NDArray[np.int32], came: NDArray[np.int32],
    ) -> None:  # fmt: skip
        for i in range(len(T)):
            new = np.flatnonzero(at[i] >= 0)
            where = at[i][new]
            rows[i][where] = columns[i][new]
            T[i][where] = WN[i][:, new].T
            T[i][:, where] = WN[i][:, new]
            T[i][np.ix_(where, where)] = NN[i][np.ix_(new, new)]

    def refresh(
        self, Y: Floats, x: Floats, rows: Floats, ids: NDArray[np.int64], R: Floats, c: Floats
    ) -> None:
        R[:] = Y - np.einsum("bw,bwk->bk", x, rows)
        c[:] = np.where(ids >= 0, np.einsum("bwk,bk->bw", rows, R), 0.0)

    def walk(
        self, T: Floats, x: Floats, c: Floats, s: NDArray[np.int8], ids: NDArray[np.int64],
        level: Floats, target: Floats, entries: NDArray[np.int64], mode: NDArray[np.int64],
        most: int, nonnegative: bool,
    ) -> Steps:  # fmt: skip
        made = Steps(np.zeros(len(T)), *(np.zeros(len(T), np.int64) for _ in range(3)))
        for i in range(len(T)):
            if mode[i] == 2:
                build(T[i], x[i], s[i])
            elif mode[i] == 1:
                one = walk(
                    T[i], x[i], c[i], s[i], ids[i] < 0, level=float(level[i]),
                    target=float(target[i]), entries=int(entries[i]), most=most,
                    nonnegative=nonnegative, limit=PIVOTS,
                )  # fmt: skip
                for name, value in one._asdict().items():
                    getattr(made, name)[i] = value
        return made
