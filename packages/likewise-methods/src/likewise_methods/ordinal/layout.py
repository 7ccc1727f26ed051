"""Lay a map out on a grid, each picture as near to its place as possible.

Places on a map crowd where pictures are alike.  The grid has more cells than pictures, so distant
pictures stay apart; within a crowd those in the middle choose first and the others move outwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOM = 3.0
"""Cells of the grid for each picture."""
_NEIGHBOURS = 8


def fit_to_square(places: Any) -> NDArray[np.float64]:
    """Fit places into the unit square, the longer side filling it; outliers move to its edge.

    Parameters
    ----------
    places : array of shape (n, 2)
        Places on a map.

    Returns
    -------
    array of shape (n, 2)

    See Also
    --------
    place_on_grid : gives each its own cell.
    """
    P = np.asarray(places, np.float64)
    if not len(P):
        return P.reshape(0, 2)
    low, high = np.percentile(P, 2, axis=0), np.percentile(P, 98, axis=0)
    # A few outliers must not shrink the rest of the map.
    margin = 0.12 * (high - low)
    P = np.clip(P, low - margin, high + margin)
    low, high = P.min(axis=0), P.max(axis=0)
    size = float((high - low).max()) or 1.0
    return np.asarray((P - (low + high) / 2) / size + 0.5)


def place_on_grid(places: NDArray[np.float64]) -> tuple[NDArray[np.int64], int, int]:
    """Give each picture a grid cell of its own, near its place.

    Parameters
    ----------
    places : array of shape (n, 2)
        Places on a map.

    Returns
    -------
    cells : int array of shape (n, 2)
        Column and row of each picture.
    columns, rows : int
        The size of the grid.

    See Also
    --------
    fit_to_square : places within the unit square.
    """
    n = len(places)
    if n == 0:
        return np.zeros((0, 2), np.int64), 1, 1
    low, span = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-9)
    # Screens are wider than high; only the grid is stretched, not the places.
    shape = float(np.clip(span[0] / span[1], 1.3, 2.0))
    columns = max(int(np.ceil(np.sqrt(ROOM * n * shape))), 1)
    rows = max(int(np.ceil(ROOM * n / columns)), 1)
    wanted = (places - low) / span * [columns - 1, rows - 1]
    offsets = _rings(int(np.hypot(columns, rows)) + 1)
    taken = np.zeros((columns, rows), bool)
    cells = np.zeros((n, 2), np.int64)
    for i in np.argsort(_crowding(wanted), kind="stable").tolist():
        home = np.rint(wanted[i]).astype(np.int64)
        cells[i] = _free(taken, home, offsets)
        taken[tuple(cells[i])] = True
    return cells, columns, rows


def _crowding(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance to the eighth neighbour, which is small in the middle of a crowd."""
    from likewise_methods.neighbours.exact import Exact

    k = min(_NEIGHBOURS, len(points) - 1)
    _, squares = (
        Exact("l2").build(points.astype(np.float32)).search(points.astype(np.float32), k + 1)
    )
    return np.asarray(squares[:, -1], np.float64)


def _rings(reach: int) -> NDArray[np.int64]:
    """Return steps to other cells, the nearest first."""
    side = np.arange(-reach, reach + 1)
    steps = np.array(np.meshgrid(side, side)).reshape(2, -1).T
    order = np.lexsort((steps[:, 1], steps[:, 0], (steps**2).sum(axis=1)))
    made: NDArray[np.int64] = steps[order]
    return made


def _free(
    taken: NDArray[np.bool_], home: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the nearest free cell, found ring by ring."""
    start, step = 0, 64
    while start < len(offsets):
        cells = home + offsets[start : start + step]
        inside = ((cells >= 0) & (cells < taken.shape)).all(axis=1)
        cells = cells[inside]
        free = cells[~taken[cells[:, 0], cells[:, 1]]]
        if len(free):
            made: NDArray[np.int64] = free[0]
            return made
        start, step = start + step, 4 * step
    raise AssertionError("the grid has more cells than pictures")
