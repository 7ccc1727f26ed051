"""Coders with their pooling and whitening: what the pooled spaces learn, in one file.

``psc`` pools product sparse codes by their maximum, ``vlad`` adds up residuals.  Workers open the
file by its name and keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision.local import DenseSIFT
from likewise_methods.coding import VLAD, MaxPooling, Whitening
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays
from likewise_methods.psc import ProductSparseCoder

Floats = NDArray[np.float32]

_KIND = "pooled coder"


def dense_sift(recipe: Mapping[str, Any]) -> DenseSIFT:
    """The descriptors of a recipe; one for every pixel ``step``, at each of its ``sizes``."""
    return DenseSIFT(
        patch_sizes=tuple(recipe["sizes"]),
        step=recipe["step"],
        max_side=recipe["max_side"],
        root=recipe.get("root", True),
    )


class PooledCoder(NamedTuple):
    """A coder with its pooling, and the whitening that follows (None while it is being learned)."""

    coder: Any
    whitening: Whitening | None = None

    def pool(self, descriptors: Floats) -> Floats:
        """The pooled vector of a picture before whitening."""
        if isinstance(self.coder, VLAD):
            return self.coder.encode(descriptors)
        return MaxPooling(self.coder).pool(descriptors)

    def vector(self, descriptors: Floats) -> Floats:
        """The vector of a picture; zeros where it has no descriptors, which are like nothing."""
        assert self.whitening is not None
        if len(descriptors) == 0:
            return np.zeros(self.width, np.float32)
        made: Floats = self.whitening.transform(self.pool(descriptors)[None])[0]
        return made

    @property
    def width(self) -> int:
        """Columns of a vector."""
        assert self.whitening is not None
        return len(self.whitening.directions_)

    def save(self, path: str | Path) -> None:
        """One checksummed file."""
        arrays: dict[str, NDArray[Any]] = {}
        meta: dict[str, Any] = {"whitening": None}
        if isinstance(self.coder, VLAD):
            meta |= {"feature": "vlad", "intra": self.coder.intra, "power": self.coder.power}
            arrays["codebook"] = self.coder.codebook_
        else:
            meta |= {"feature": "psc", **coder_meta(self.coder)}
            arrays |= coder_arrays(self.coder)
        if self.whitening is not None:
            meta["whitening"], found = self.whitening.pack()
            arrays |= {f"whitening {name}": array for name, array in found.items()}
        save_arrays(path, _KIND, meta, arrays)

    @classmethod
    def open(cls, path: str | Path) -> PooledCoder:
        """What ``save`` wrote; ``DamagedFile`` when it is not that any more."""
        meta, arrays = open_arrays(path, _KIND)
        try:
            if meta["feature"] == "vlad":
                words = arrays["codebook"].astype(np.float32)
                coder: Any = VLAD(
                    len(words), power=meta["power"], intra=meta["intra"], codebook=words
                )
            else:
                coder = product_coder(meta, arrays)
            whitening = None
            if meta["whitening"] is not None:
                own = {
                    name.removeprefix("whitening "): array
                    for name, array in arrays.items()
                    if name.startswith("whitening ")
                }
                whitening = Whitening.unpack(meta["whitening"], own)
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path}: not a usable pooled coder ({error})") from error
        return cls(coder, whitening)


def coder_meta(coder: ProductSparseCoder) -> dict[str, Any]:
    """What a product coder is, besides its codebooks."""
    return {
        "alpha": float(coder.alpha),
        "method": coder.method,
        "split": coder.split,
        "subspaces": len(coder.codebooks_),
    }


def coder_arrays(coder: ProductSparseCoder) -> dict[str, NDArray[Any]]:
    """Its codebooks, in the precision they were learned in."""
    return {f"codebook {i}": book for i, book in enumerate(coder.codebooks_)}


def product_coder(
    meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> ProductSparseCoder:
    """The coder of ``coder_meta`` and ``coder_arrays``; KeyError or ValueError if it is not one."""
    books = [np.array(arrays[f"codebook {i}"], np.float64) for i in range(meta["subspaces"])]
    coder = ProductSparseCoder(
        len(books[0]),
        len(books),
        alpha=meta["alpha"],
        method=meta["method"],
        split=meta["split"],
        codebooks=books,
    )
    # Checked once, and not with every picture.
    return coder.fit(np.zeros((1, sum(book.shape[1] for book in books))))


@lru_cache(maxsize=4)
def open_coder(path: str) -> PooledCoder:
    """A pooled coder by its file; files never change, so they may be kept."""
    return PooledCoder.open(path)
