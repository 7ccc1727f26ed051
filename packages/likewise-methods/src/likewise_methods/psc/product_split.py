"""How a descriptor is cut into parts (Ge et al. 2014): which columns go where.

SIFT is a grid of 4 rows by 4 columns of cells with 8 orientations each, orientations running
fastest.  "horizontal" and "vertical" cut the grid by a horizontal or a vertical line, "structural"
parts the orientations; "contiguous" takes neighbouring columns of any vector, SIFT or not.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.validation import one_of

Split = Literal["contiguous", "horizontal", "vertical", "structural"]
SPLITS = ("contiguous", "horizontal", "vertical", "structural")
_GRID = (4, 4, 8)
_AXIS = {"horizontal": 0, "vertical": 1, "structural": 2}
_OF = {"horizontal": "rows of cells", "vertical": "columns of cells", "structural": "orientations"}


def columns(width: int, m: int, split: str) -> list[NDArray[np.int64]]:
    """Column numbers of the m parts of vectors with ``width`` columns."""
    one_of(split, "split", SPLITS)
    everything = np.arange(width)
    if split == "contiguous":
        if width % m:
            raise InvalidInput(
                f"{width} columns cannot be cut into {m} equal parts; choose n_subspaces among "
                f"the divisors of {width}"
            )
        return list(everything.reshape(m, -1))
    if width != int(np.prod(_GRID)):
        raise InvalidInput(
            f'split="{split}" is for SIFT with 128 columns, X has {width}; use "contiguous"'
        )
    axis = _AXIS[split]
    if _GRID[axis] % m:
        raise InvalidInput(
            f'split="{split}" cuts {_GRID[axis]} {_OF[split]}, which {m} parts do not divide; '
            "use another n_subspaces or split"
        )
    return [part.ravel() for part in np.split(everything.reshape(_GRID), m, axis=axis)]


def columns_of(widths: list[int]) -> list[NDArray[np.int64]]:
    """Neighbouring columns, as many for each part as its words have."""
    ends = np.cumsum(widths)
    return np.split(np.arange(ends[-1]), ends[:-1])
