"""Deep features: the activations of one network as vectors.

:class:`DeepSparse` keeps the strongest of the pooled activations, for the inverted index;
:class:`DeepDense` keeps all of them; :class:`DeepCells` gives the cells of the final map, each with
its place, as local features, which :class:`Projection` shortens for a vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.vision.deep.graph import CELL, MAP, N_CHANNELS, POOLED
from likewise.vision.deep.network import PREPARATION, network
from likewise.vision.deep.runtime import Preparation
from likewise.vision.local import LocalFeatures
from likewise.vision.pixels import Pixels, as_pixels
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays
from likewise_methods.validation import whole

Floats = NDArray[np.float32]

N_DEEP = N_CHANNELS
KEEP = 128
"""Activations that a sparse vector keeps of 1280: .01 to .02 mAP less than all of them on three
sets, .004 more on the fourth, and 44 % fewer bytes (docs/results/deep.md)."""
CELLS_SIZE = 320
"""The side of pictures for the map of cells, 10 x 10 of them."""
BATCH = 64
"""Pictures in a forward pass of :func:`activations_of`: enough to keep a device busy."""
_PROJECTION = "projection"


def activations(picture: Pixels) -> Floats:
    """Return the 1280 pooled activations of a picture: 0 to 6, about a third above 0."""
    return np.asarray(network().run(PREPARATION(picture)[None], POOLED)[0])


def activations_of(pictures: Iterable[Pixels], batch: int = BATCH) -> Iterator[Floats]:
    """Yield :func:`activations` of many pictures, ``batch`` of them in a forward pass.

    This is faster on a CUDA device (``LIKEWISE_DEVICE=cuda``), where a pass costs the same for one
    picture as for many.  The last digits may differ from those of single passes.
    """
    whole(batch, "batch")
    left = iter(pictures)
    while some := list(islice(left, batch)):
        prepared = np.stack([PREPARATION(picture) for picture in some])
        yield from network().run(prepared, POOLED)


def activation_map(picture: Pixels) -> Floats:
    """Return the map whose mean :func:`activations` are: (rows, columns, 1280)."""
    (cells,) = network().run(PREPARATION(picture)[None], MAP)
    return np.ascontiguousarray(cells.transpose(1, 2, 0))


def strongest(values: Floats, keep: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the ``keep`` largest positive entries: their numbers and their roots at unit length.

    The square root keeps a few strong channels from dominating.  Ties go to the lower number.

    >>> strongest(np.array([0.0, 9.0, 16.0, 1.0], np.float32), 2)
    (array([1, 2]), array([0.6, 0.8], dtype=float32))
    """
    # A partition finds the smallest entry that is kept, so that few have to be sorted.
    least = np.partition(values, -keep)[-keep] if keep < len(values) else -np.inf
    chosen = np.flatnonzero((values > 0) & (values >= least))
    if len(chosen) > keep:
        chosen = np.sort(chosen[np.argsort(-values[chosen], kind="stable")[:keep]])
    roots = np.sqrt(values[chosen], dtype=np.float32)
    return chosen, unit(roots)


def unit(values: Floats) -> Floats:
    """Return the vector at length 1; one of zeros is unchanged."""
    norm = float(np.linalg.norm(values))
    return np.asarray(values / norm, np.float32) if norm > 0 else values


@dataclass(frozen=True)
class DeepSparse:
    """The strongest activations of a picture, for the inverted index.

    Parameters
    ----------
    keep : int, default=128
        Entries kept, 1 to 1280.

    See Also
    --------
    DeepDense : all of them.
    likewise_methods.index.InvertedIndex : searches such rows.
    """

    keep: int = KEEP

    def __post_init__(self) -> None:
        whole(self.keep, "keep", 1, N_DEEP)

    def extract(
        self, picture: Pixels, pooled: Floats | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the numbers and weights of the entries kept.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3)
            RGB.
        pooled : float32 array of shape (1280,), optional
            The pooled activations, which save the forward pass.

        Returns
        -------
        numbers : int64 array
            Entries kept, ascending.
        weights : float32 array
            Of unit length.
        """
        return strongest(activations(picture) if pooled is None else pooled, self.keep)

    def split(self, cells: Floats) -> NDArray[np.float64]:
        """Split the row over the cells of a map, (rows, columns, 1280), in proportion to each
        entry's activations."""
        total = cells.sum(axis=(0, 1), dtype=np.float64)
        chosen, weights = strongest(cells.mean(axis=(0, 1), dtype=np.float32), self.keep)
        made = np.zeros(cells.shape, np.float64)
        made[..., chosen] = cells[..., chosen] * (weights / total[chosen])
        return made


@dataclass(frozen=True)
class DeepDense:
    """All 1280 pooled activations, at unit length.

    See Also
    --------
    DeepSparse : the strongest of them.
    likewise_methods.spaces.FittedSpace : makes a space of such rows that fits a collection.
    """

    def extract(self, picture: Pixels, pooled: Floats | None = None) -> Floats:
        """Return the vector.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3)
            RGB.
        pooled : float32 array of shape (1280,), optional
            The pooled activations, which save the forward pass.

        Returns
        -------
        float32 array of shape (1280,)
        """
        return unit(activations(picture) if pooled is None else pooled)

    def split(self, cells: Floats) -> NDArray[np.float64]:
        """Split the row over the cells of a map, (rows, columns, 1280)."""
        length = float(np.linalg.norm(cells.sum(axis=(0, 1), dtype=np.float64)))
        return np.asarray(cells, np.float64) / (length or 1.0)


@dataclass(frozen=True)
class DeepCells:
    """The cells of the final map as local features: 1280-D, unit length, with their places.

    Parameters
    ----------
    size : int, default=320
        Side of the square that the picture is resized to.

    See Also
    --------
    LocalFeatures : what comes out.
    likewise_methods.coding.Vocabulary : makes words of them.
    """

    size: int = CELLS_SIZE

    def __post_init__(self) -> None:
        if self.size % CELL:
            raise InvalidInput(f"size is {self.size!r}; a multiple of {CELL} expected")
        self._preparation()

    def _preparation(self) -> Preparation:
        return Preparation(self.size, PREPARATION.scale, PREPARATION.mean, PREPARATION.std)

    def extract(self, picture: Pixels) -> LocalFeatures:
        """Describe the cells, row by row; places and sides are in pixels of the picture given.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3)
            RGB.

        Returns
        -------
        LocalFeatures
        """
        height, width = as_pixels(picture).shape[:2]
        (cells,) = network().run(self._preparation()(picture)[None], MAP)
        rows = np.ascontiguousarray(cells.reshape(N_CHANNELS, -1).T)
        norms = np.linalg.norm(rows, axis=1)
        a_side = self.size // CELL
        middles = (np.arange(a_side) + 0.5) / a_side
        xs, ys = np.meshgrid(middles * width - 0.5, middles * height - 0.5)
        n = len(rows)
        return LocalFeatures(
            descriptors=np.asarray(rows / np.where(norms > 0, norms, 1)[:, None], np.float32),
            positions=np.column_stack([xs.ravel(), ys.ravel()]).astype(np.float32),
            scales=np.full(n, max(width, height) / a_side, np.float32),
            angles=np.zeros(n, np.float32),
            responses=norms,
        )


class Projection:
    """Principal components of cells: their mean and directions, learned by :meth:`fit`.

    It shortens rows of 1280 numbers to 128, a tenth of the bytes and the work.  There is no
    whitening: a few hundred pictures say little about the directions of least variance.  Rows come
    out at unit length, so that distances between words are angles.
    """

    def __init__(self, mean: Floats, directions: Floats) -> None:
        self.mean, self.directions = mean, directions

    @classmethod
    def fit(cls, batches: Iterable[NDArray[Any]], width: int) -> Projection:
        """Find the ``width`` directions of largest variance of all rows of all batches.

        Sums are in float64.  The largest entry of a direction is positive, so that the same rows
        give the same directions (the same bits on one machine) and never their mirror images.
        """
        total, count = 0.0, 0
        products: Any = 0.0
        for batch in batches:
            rows = np.asarray(batch, np.float64)
            products = products + rows.T @ rows
            total = total + rows.sum(axis=0)
            count += len(rows)
        if count < 2:
            raise InvalidInput(f"{count} rows; at least 2 expected")
        mean = np.asarray(total) / count
        covariance = products / count - np.outer(mean, mean)
        _, vectors = np.linalg.eigh(covariance)
        kept = vectors[:, ::-1][:, : min(width, count - 1, len(mean))].T
        largest = kept[np.arange(len(kept)), np.abs(kept).argmax(axis=1)]
        directions = kept * np.sign(largest)[:, None]
        return cls(mean.astype(np.float32), directions.astype(np.float32))

    def __call__(self, rows: NDArray[Any]) -> Floats:
        """Project rows and scale them to unit length (a row at the mean becomes zero)."""
        made = (np.asarray(rows, np.float32) - self.mean) @ self.directions.T
        norms = np.linalg.norm(made, axis=1, keepdims=True)
        return np.asarray(made / np.where(norms > 0, norms, 1), np.float32)

    def back(self, rows: NDArray[Any]) -> Floats:
        """Return projected rows in the old coordinates, approximately and without their length."""
        return np.asarray(self.mean + np.asarray(rows, np.float32) @ self.directions, np.float32)

    def save(self, path: str | Path) -> None:
        """Write one checksummed file."""
        save_arrays(path, _PROJECTION, {}, {"mean": self.mean, "directions": self.directions})

    @classmethod
    def open(cls, path: str | Path) -> Projection:
        """Read what ``save`` wrote, or raise ``DamagedFile``."""
        _, arrays = open_arrays(path, _PROJECTION)
        mean, directions = arrays.get("mean"), arrays.get("directions")
        if mean is None or directions is None or directions.shape[1:] != mean.shape:
            raise DamagedFile(f"{path}: not a usable projection")
        return cls(mean, directions)
