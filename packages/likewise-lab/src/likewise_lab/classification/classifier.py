"""A classifier of pictures: product sparse codes in a spatial pyramid, and a linear machine.

One file holds all of it: the grid of descriptors, the codebooks, the weights of each label, and
what was measured when it was trained.  Nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise.images.decode import Picture
from likewise.spaces.pooled import coder_arrays, coder_meta, dense_sift, product_coder
from likewise_methods.coding import SpatialPyramid
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays
from likewise_methods.psc import ProductSparseCoder

_KIND = "classifier"
LEVELS = (1, 2, 4)
GRID: dict[str, Any] = {"sizes": [16, 24], "step": 8, "max_side": 300, "root": False}
"""Dense SIFT as in docs/results/psc.md, where the accuracy on Caltech-101 was measured."""


class Guess(NamedTuple):
    """A label and the signed distance from its boundary; higher is surer."""

    label: str
    score: float


class PictureDescriber(NamedTuple):
    """Describes a picture as a row for the linear machine."""

    coder: ProductSparseCoder
    grid: Mapping[str, Any]

    def row(self, picture: Picture | NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return codes pooled over regions of the picture; zeros where it has no structure."""
        found = dense_sift(self.grid).extract(picture)
        pixels = picture.pixels if isinstance(picture, Picture) else picture
        height, width = pixels.shape[:2]
        pyramid = SpatialPyramid(self.coder, levels=LEVELS)
        return pyramid.pool(found.descriptors, found.positions, (width, height))

    def save(self, path: str | Path) -> None:
        """Write one checksummed file, for workers."""
        save_arrays(path, f"{_KIND} rows", self.meta(), coder_arrays(self.coder))

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote."""
        return cls.of(*open_arrays(path, f"{_KIND} rows"))

    def meta(self) -> dict[str, Any]:
        return {"grid": dict(self.grid), "coder": coder_meta(self.coder)}

    @classmethod
    def of(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build from stored values; raise KeyError, TypeError or ValueError if unusable."""
        grid = dict(meta["grid"])
        dense_sift(grid)
        return cls(product_coder(meta["coder"], arrays), grid)


class Classifier:
    """Predicts the label of a picture, one of those it was trained with.

    ``figures`` are those of the held-out part: see
    :class:`~likewise_lab.classification.training.Outcome`.
    """

    def __init__(
        self,
        labels: Sequence[str],
        described: PictureDescriber,
        weights: NDArray[np.float32],
        intercepts: NDArray[np.float32],
        figures: Mapping[str, Any],
    ) -> None:
        self.labels = tuple(labels)
        self.described = described
        self.weights, self.intercepts = weights, intercepts
        self.figures = dict(figures)

    def predict(self, picture: Picture | NDArray[np.uint8], k: int | None = None) -> list[Guess]:
        """Return the labels (the first ``k``), best first."""
        scores = self.weights @ self.described.row(picture) + self.intercepts
        order = np.argsort(-scores, kind="stable")[:k]
        return [Guess(self.labels[i], float(scores[i])) for i in order]

    def save(self, path: str | Path) -> None:
        """Write one checksummed file."""
        meta = {"labels": list(self.labels), "figures": self.figures, **self.described.meta()}
        arrays = {"weights": self.weights, "intercepts": self.intercepts}
        save_arrays(path, _KIND, meta, {**arrays, **coder_arrays(self.described.coder)})

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote; raise ``DamagedFile`` where it is damaged."""
        meta, arrays = open_arrays(path, _KIND)
        try:
            described = PictureDescriber.of(meta, arrays)
            labels = [str(label) for label in meta["labels"]]
            weights, intercepts = arrays["weights"], arrays["intercepts"]
            words = int(np.prod([len(book) for book in described.coder.codebooks_]))
            regions = sum(level**2 for level in LEVELS)
            if weights.shape != (len(labels), words * regions):
                raise ValueError(f"weights {weights.shape}, {len(labels)} labels, {words} words")
            if intercepts.shape != (len(labels),):
                raise ValueError(f"intercepts {intercepts.shape}, {len(labels)} labels")
            return cls(labels, described, weights, intercepts, dict(meta["figures"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path}: not a usable classifier ({error})") from error
