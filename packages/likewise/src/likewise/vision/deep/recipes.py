"""Deep features: what a network sees, as vectors like any other.

Three readings of one network: :class:`DeepSparse` (the few strongest of the pooled activations: a
row for the inverted index), :class:`DeepDense` (all of them) and :class:`DeepCells` (the cells of
the final map, each with its place: local features, to make words of).  The first two share a
forward pass when they are given its ``activations``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.vision.deep.graph import CELL, MAP, N_CHANNELS, POOLED
from likewise.vision.deep.network import PREPARATION, network
from likewise.vision.deep.runtime import Preparation
from likewise.vision.local import LocalFeatures
from likewise.vision.pixels import Pixels, as_pixels
from likewise_methods.validation import whole

Floats = NDArray[np.float32]

N_DEEP = N_CHANNELS
KEEP = 128
"""Activations a sparse vector keeps of 1280: .01 to .02 mAP less than all of them on three sets,
.004 more on the fourth, and 44 % fewer bytes (docs/results/deep.md)."""
CELLS_SIZE = 320
"""Pixels a side for the map of cells: 10 x 10 of them."""
BATCH = 64
"""Pictures a forward pass where many are described at once: a device is busy from there on."""


def activations(picture: Pixels) -> Floats:
    """The 1280 pooled activations of a picture: numbers from 0 to 6, about a third above 0."""
    return np.asarray(network().run(PREPARATION(picture)[None], POOLED)[0])


def activations_of(pictures: Iterable[Pixels], batch: int = BATCH) -> Iterator[Floats]:
    """:func:`activations` of many pictures, in order, ``batch`` of them a forward pass.

    Pays on a CUDA device (``LIKEWISE_DEVICE=cuda``), where a pass costs the same for one picture
    as for many.  Numbers are those of single passes but for the last digits.
    """
    whole(batch, "batch")
    left = iter(pictures)
    while some := list(islice(left, batch)):
        prepared = np.stack([PREPARATION(picture) for picture in some])
        yield from network().run(prepared, POOLED)


def activation_map(picture: Pixels) -> Floats:
    """The map that :func:`activations` are the mean of: (rows, columns, 1280)."""
    (cells,) = network().run(PREPARATION(picture)[None], MAP)
    return np.ascontiguousarray(cells.transpose(1, 2, 0))


def strongest(values: Floats, keep: int) -> tuple[NDArray[np.int64], Floats]:
    """Numbers and weights of the ``keep`` largest positive entries: square root, unit l2 norm.

    The square root keeps a few loud channels from deciding alone.  Ties go to the lower number.

    >>> strongest(np.array([0.0, 9.0, 16.0, 1.0], np.float32), 2)
    (array([1, 2]), array([0.6, 0.8], dtype=float32))
    """
    # Only what might be among them is sorted: a partition finds the smallest that is kept.
    least = np.partition(values, -keep)[-keep] if keep < len(values) else -np.inf
    chosen = np.flatnonzero((values > 0) & (values >= least))
    if len(chosen) > keep:
        chosen = np.sort(chosen[np.argsort(-values[chosen], kind="stable")[:keep]])
    roots = np.sqrt(values[chosen], dtype=np.float32)
    return chosen, unit(roots)


def unit(values: Floats) -> Floats:
    """The vector at length 1; one of zeros stays as it is."""
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
        """Numbers and weights of the entries kept.

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
        """The row as a sum over the cells of a map, (rows, columns, 1280): an entry's root is
        shared out as its activation is."""
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
        """The vector.

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
        """The row as a sum over the cells of a map, (rows, columns, 1280)."""
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
        """Row by row; places and sides are in pixels of the picture given.

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
