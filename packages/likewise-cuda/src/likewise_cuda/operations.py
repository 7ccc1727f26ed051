"""The operations on a batch of queries that a machine provides.

There are two implementations: :mod:`.host` in NumPy and :mod:`.device` in CuPy.  Large arrays
belong to the operations' array module ``xp``; arrays with one number per query are NumPy's.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise_methods.siso.solver.dictionary import Floats

# An array of ``xp``.
Array = Any


class Found(NamedTuple):
    """The result of a scan of all columns outside of the working sets.

    ``ids`` (queries, pool), -1 for none, with their exact signed correlations ``c``; no unlisted
    column correlates more than ``bound``.
    """

    ids: Array
    c: Array
    bound: Floats


class Steps(NamedTuple):
    """How far the walks came, one number per query."""

    left: Floats
    state: NDArray[np.int64]
    pivots: NDArray[np.int64]
    entered: NDArray[np.int64]


class Operations(Protocol):
    """A dictionary on a machine, and the steps of a round."""

    xp: Any
    n: int
    width: int
    doubt: float
    """The largest error of a scanned correlation, as a share of |r|."""

    def slots(self, expand: int) -> int:
        """Return how many queries at a time are useful and fit the memory; 0 if none."""

    def free_unused(self) -> None:
        """Free memory that is not in use."""

    def to(self, array: NDArray[Any]) -> Array:
        """Return the array on this machine."""

    def back(self, array: Array) -> NDArray[Any]:
        """Return the array as NumPy's."""

    def scan(
        self, R: Array, floor: Floats, closely: NDArray[np.bool_], members: Array, pool: int,
        nonnegative: bool,
    ) -> Found:  # fmt: skip
        """Return the ``pool`` largest correlations with the rows of R above ``floor``.

        For queries marked ``closely``, all columns above the floor are computed in float64, so that
        ``bound`` is exact down to floor plus doubt.
        """

    def columns(self, ids: Array) -> Array:
        """Return columns of the lasso in float64, zeros for -1: (queries, listed, width)."""

    def product(self, a: Array, b: Array, *, ta: bool = False, tb: bool = False) -> Array:
        """Return batched matrix products a b in float64, with a or b transposed on request."""

    def place(
        self, T: Array, rows: Array, columns: Array, WN: Array, NN: Array, at: Array, came: Array
    ) -> None:
        """Write new columns into their places: rows, and rows and columns of the tableau."""

    def refresh(self, Y: Array, x: Array, rows: Array, ids: Array, R: Array, c: Array) -> None:
        """Set R = Y - x rows and c = rows R."""

    def walk(
        self, T: Array, x: Array, c: Array, s: Array, ids: Array, level: Floats, target: Floats,
        entries: NDArray[np.int64], mode: NDArray[np.int64], most: int, nonnegative: bool,
    ) -> Steps:  # fmt: skip
        """Walk (mode 1) or build tableaux (2) of the queries; 0 skips one."""
