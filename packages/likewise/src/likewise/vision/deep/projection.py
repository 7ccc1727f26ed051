"""Cells of a network's map, 1280 numbers each, brought down to 128 by principal components.

Words of 1280 numbers would be ten times the bytes and the work.  No whitening: it would make the
directions of least variance, of which a few hundred pictures say little, as loud as the rest.
Rows come out at unit length, so that distances between words are angles.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays

Floats = NDArray[np.float32]
_KIND = "projection"


class Projection:
    """The mean and the principal directions of some rows; learned by :meth:`fit`."""

    def __init__(self, mean: Floats, directions: Floats) -> None:
        self.mean, self.directions = mean, directions

    @classmethod
    def fit(cls, batches: Iterable[NDArray[Any]], width: int) -> Projection:
        """The ``width`` directions of largest variance of all rows of all batches.

        The covariance is added up in float64, a batch at a time; directions have their largest
        entry positive, so that the same rows give the same directions (on one machine the same
        bits; elsewhere up to rounding) and never their mirror images.
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
        """Rows in the new coordinates, at unit length (a row at the mean stays zero)."""
        made = (np.asarray(rows, np.float32) - self.mean) @ self.directions.T
        norms = np.linalg.norm(made, axis=1, keepdims=True)
        return np.asarray(made / np.where(norms > 0, norms, 1), np.float32)

    def back(self, rows: NDArray[Any]) -> Floats:
        """Rows in the old coordinates, as far as the directions kept can tell.

        Their length is lost: it is the one that the mean and the directions suggest.
        """
        return np.asarray(self.mean + np.asarray(rows, np.float32) @ self.directions, np.float32)

    def save(self, path: str | Path) -> None:
        """One checksummed file."""
        save_arrays(path, _KIND, {}, {"mean": self.mean, "directions": self.directions})

    @classmethod
    def open(cls, path: str | Path) -> Projection:
        """What ``save`` wrote; ``DamagedFile`` when it is not that any more."""
        _, arrays = open_arrays(path, _KIND)
        mean, directions = arrays.get("mean"), arrays.get("directions")
        if mean is None or directions is None or directions.shape[1:] != mean.shape:
            raise DamagedFile(f"{path}: not a usable projection")
        return cls(mean, directions)
