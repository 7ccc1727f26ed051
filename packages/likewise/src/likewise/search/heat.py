"""Where two pictures are alike: a score as a sum over the places of each of them.

A network's row is the mean of a map of cells.  What ranks is that row made linear in its cells
(``Space.split_row``), so that the score of two pictures is the sum over the cells of one of them of
``<cell, row of the other>``: nothing is estimated, and the numbers of a heat map add up to the
score that ranked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_ROWS = ("top", "middle", "bottom")
_COLUMNS = ("left", "middle", "right")
_THIRDS = 3


class Area(NamedTuple):
    """A ninth of a picture by its name, and its share of what speaks for the likeness."""

    name: str
    share: float


@dataclass(frozen=True)
class HeatMap:
    """What each cell of a picture adds to the score.

    Attributes
    ----------
    cells : array of shape (rows, columns)
        Negative cells speak against the likeness.
    box : (x, y, width, height)
        What the cells cover, in pixels of the picture.
    rest : float
        What lies nowhere in this picture: in a query, what the pictures that were liked and
        disliked under it add.

    See Also
    --------
    Explanation : has one of each picture.
    """

    cells: NDArray[np.float64]
    box: tuple[int, int, int, int]
    rest: float = 0.0

    @property
    def total(self) -> float:
        """All cells and the rest: the score."""
        return float(self.cells.sum()) + self.rest

    def areas(self, most: int = 3) -> list[Area]:
        """Ninths of the picture that speak most for the likeness, for where nothing can be drawn.

        >>> cells = np.zeros((7, 7))
        >>> cells[0, :2], cells[3, 3] = 2.0, 1.0
        >>> [(one.name, round(one.share, 2)) for one in HeatMap(cells, (0, 0, 70, 70)).areas()]
        [('top left', 0.8), ('middle', 0.2)]
        """
        warm = np.maximum(self.cells, 0)
        if warm.sum() <= 0:
            return []
        down, across = (_thirds(n) for n in self.cells.shape)
        shares = down @ warm @ across.T / warm.sum()
        found = [
            Area(_name(row, column), float(shares[row, column]))
            for row in range(_THIRDS)
            for column in range(_THIRDS)
            if shares[row, column] > 0
        ]
        return sorted(found, key=lambda one: -one.share)[:most]


def _thirds(n: int) -> NDArray[np.float64]:
    """How much of each of n equal lengths lies in each third of them all: (3, n)."""
    edges = np.arange(n + 1) / n * _THIRDS
    low, high = edges[:-1], edges[1:]
    thirds = np.arange(_THIRDS)[:, None]
    inside = np.minimum(high, thirds + 1) - np.maximum(low, thirds)
    return np.asarray(np.maximum(inside, 0) * n / _THIRDS)


def _name(row: int, column: int) -> str:
    words = [_ROWS[row], _COLUMNS[column]]
    return "middle" if words == ["middle", "middle"] else " ".join(words)
