"""What a batch of queries asks of the machine it runs on.

Two answers: :mod:`.host` in NumPy and :mod:`.device` in CuPy.  Large arrays belong to the
operations' own array module ``xp``; one number a query is always NumPy's.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise_methods.siso.solver.dictionary import Floats

# An array of ``xp``.
Array = Any


class Found(NamedTuple):
    """What a scan of all columns found outside of the working sets.

    ``ids`` (queries, pool), -1 for none, with their exact correlations ``c``, signed; no column
    that is not listed correlates more than ``bound``.
    """

    ids: Array
    c: Array
    bound: Floats


class Steps(NamedTuple):
    """How far the walks came, a number a query each."""

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
    """How far a scanned correlation may be from the exact one, as a share of |r|."""

    def slots(self, expand: int) -> int:
        """How many queries at a time are worth while and fit the memory; 0: not even one."""

    def tidy(self) -> None:
        """Give memory that is not in use back."""

    def to(self, array: NDArray[Any]) -> Array:
        """An array of this machine."""

    def back(self, array: Array) -> NDArray[Any]:
        """An array of NumPy."""

    def scan(
        self, R: Array, floor: Floats, closely: NDArray[np.bool_], members: Array, pool: int,
        nonnegative: bool,
    ) -> Found:  # fmt: skip
        """The ``pool`` largest correlations with the rows of R above ``floor``.

        Where it is to look ``closely``, all columns above the floor are computed in float64, so
        that ``bound`` is exact down to floor plus doubt.
        """

    def columns(self, ids: Array) -> Array:
        """Columns of the lasso in float64, zeros for -1: (queries, listed, width)."""

    def product(self, a: Array, b: Array, *, ta: bool = False, tb: bool = False) -> Array:
        """Matrix products a b of a batch, either transposed, in float64."""

    def place(
        self, T: Array, rows: Array, columns: Array, WN: Array, NN: Array, at: Array, came: Array
    ) -> None:
        """Newcomers into their places: rows, and rows and columns of the tableau."""

    def refresh(self, Y: Array, x: Array, rows: Array, ids: Array, R: Array, c: Array) -> None:
        """R = Y - x rows and c = rows R."""

    def walk(
        self, T: Array, x: Array, c: Array, s: Array, ids: Array, level: Floats, target: Floats,
        entries: NDArray[np.int64], mode: NDArray[np.int64], most: int, nonnegative: bool,
    ) -> Steps:  # fmt: skip
        """Walk (mode 1) or build tableaux (2) of the queries; 0 leaves one alone."""
