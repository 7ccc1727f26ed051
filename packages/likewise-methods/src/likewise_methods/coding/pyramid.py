"""The spatial pyramid: pooled codes of the whole picture and of the cells of finer grids.

Lazebnik et al. (2006), Yang et al. (2009).  Only the cells of the finest grid are pooled from
descriptors; a coarser region is the maximum (or sum) of its cells (docs/methods/psc.md, (16)).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from likewise_methods.coding.pooling import (
    Buffer,
    Cells,
    Normalise,
    checked_normalise,
    normalise_rows,
    stack_rows,
)
from likewise_methods.coding.word_search import ROWS_AT_ONCE, Floats
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer
from likewise_methods.validation import one_of, whole


class PlacedDescriptors(NamedTuple):
    """Descriptors (or codes) of a picture, their (x, y) positions, and its (width, height)."""

    descriptors: Any
    positions: ArrayLike
    size: tuple[float, float]


class SpatialPyramid(Transformer):
    """Pooled codes per region: the whole picture, then each finer grid row by row.

    There is nothing to learn; the coder must be fitted.

    Parameters
    ----------
    coder : fitted coder, optional
        As for :class:`MaxPooling`.
    levels : tuple of int, default=(1, 2, 4)
        Regions per side, coarse to fine; each must divide the last.
    pooling : {"max", "sum"}, default="max"
        "sum" gives histograms of hard assignments.
    normalise : {"l2", "l1", None}, default="l2"
        The norm that is 1 for the vector.
    by_region : bool, default=False
        Normalise each region instead of the whole vector.
    batch : int, default=8192
        Number of descriptors coded at a time.

    See Also
    --------
    MaxPooling : pools the whole picture.

    References
    ----------
    Lazebnik et al., 2006; Yang et al., 2009.

    docs/methods/psc.md, (16).

    Examples
    --------
    >>> codes = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> picture = (codes, [[1.0, 1.0], [8.0, 8.0]], (10, 10))
    >>> made = SpatialPyramid(levels=(1, 2), normalise=None).transform([picture])
    >>> made.toarray().reshape(5, 2).tolist()  # the whole picture, then its quarters
    [[1.0, 2.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    """

    def __init__(
        self,
        coder: Any = None,
        *,
        levels: tuple[int, ...] = (1, 2, 4),
        pooling: Literal["max", "sum"] = "max",
        normalise: Normalise = "l2",
        by_region: bool = False,
        batch: int = ROWS_AT_ONCE,
    ) -> None:
        self.coder = coder
        self.levels = levels
        self.pooling = pooling
        self.normalise = normalise
        self.by_region = by_region
        self.batch = batch

    def fit(self, X: object = None, y: object = None) -> Self:
        """Do nothing; the coder must be fitted."""
        return self

    def transform(self, pictures: Iterable[Any]) -> sparse.csr_array:
        """Return one sparse row per picture.

        Parameters
        ----------
        pictures : iterable of (descriptors, positions, (width, height))
            Positions are in pixels, their centres at whole numbers, as local features give them.

        Returns
        -------
        float32 CSR array of shape (pictures, regions * words)
        """
        return stack_rows(self.pool(*picture) for picture in pictures)

    def pool(self, descriptors: Any, positions: ArrayLike, size: tuple[float, float]) -> Floats:
        """Return the vector of one picture."""
        levels = self._checked_levels()
        finest = levels[-1]
        one_of(self.pooling, "pooling", ("max", "sum"))
        checked_normalise(self.normalise)
        cells = cells_of(positions, size, finest)
        rows = descriptors if hasattr(descriptors, "shape") else np.asarray(descriptors)
        if rows.shape[0] != len(cells):
            raise InvalidInput(f"{rows.shape[0]} descriptors at {len(cells)} positions")
        batch = whole(self.batch, "batch")
        buffer = Buffer(finest * finest, self.pooling)
        for a in range(0, len(cells), batch):
            buffer.put(self.coder, rows[a : a + batch], cells[a : a + batch])
        regions = coarser(buffer.pooled_rows(self.coder), levels, self.pooling)
        if self.by_region:
            return normalise_rows(regions, self.normalise).reshape(-1)
        made: Floats = normalise_rows(regions.reshape(1, -1), self.normalise)[0]
        return made

    def _checked_levels(self) -> list[int]:
        levels = [whole(level, "a level") for level in self.levels]
        if not levels or sorted(set(levels)) != levels or any(levels[-1] % n for n in levels):
            raise InvalidInput(
                f"levels is {self.levels!r}; growing numbers that divide the last expected"
            )
        return levels


def cells_of(positions: ArrayLike, size: tuple[float, float], n: int) -> Cells:
    """Return the cell of each position in an n by n grid over the picture, row by row."""
    places = np.asarray(positions, np.float64)
    if places.size == 0:
        return np.zeros(0, np.int64)
    if places.ndim != 2 or places.shape[1] != 2:
        raise InvalidInput(f"positions have shape {places.shape}; one (x, y) a row expected")
    sides = np.asarray(size, np.float64)
    if sides.shape != (2,) or not (np.isfinite(sides).all() and (sides > 0).all()):
        raise InvalidInput(f"size is {size!r}; (width, height) in pixels expected")
    if not np.isfinite(places).all():
        raise InvalidInput("positions have NaN or inf")
    # Pixel centres are at whole numbers: the picture starts at -0.5.
    along = np.clip(np.floor((places + 0.5) / sides * n), 0, n - 1).astype(np.int64)
    return np.ascontiguousarray(along[:, 1] * n + along[:, 0])


def coarser(finest: Floats, levels: list[int], pooling: str) -> Floats:
    """Return all regions, coarse to fine, from the cells of the finest grid."""
    n, width = levels[-1], finest.shape[1]
    parts = []
    for level in levels:
        side = n // level
        blocks = finest.reshape(level, side, level, side, width)
        pooled = blocks.max(axis=(1, 3)) if pooling == "max" else blocks.sum(axis=(1, 3))
        parts.append(pooled.reshape(-1, width))
    return np.concatenate(parts)
