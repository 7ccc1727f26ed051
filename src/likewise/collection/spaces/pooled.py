"""Pooled spaces: dense SIFT coded, pooled into one vector a picture, and whitened.

``psc`` pools product sparse codes by their maximum, ``vlad`` adds up residuals.  What is learned
(codebooks, and the whitening of the pooled vectors) is one file of a generation: workers open it
by its name and keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.coding.aggregate import VLAD
from likewise.coding.pooling import MaxPooling
from likewise.coding.product import ProductSparseCoder
from likewise.coding.whitening import Whitening
from likewise.errors import InvalidInput
from likewise.features.local import DenseSIFT, LocalFeatures
from likewise.neighbours.container import DamagedFile, open_arrays, save_arrays

Floats = NDArray[np.float32]

_KIND = "pooled coder"
_ROUNDS = 12


def dense_sift(recipe: Mapping[str, Any]) -> DenseSIFT:
    """The descriptors of a recipe; one for every pixel ``step``, at each of its ``sizes``."""
    return DenseSIFT(
        patch_sizes=tuple(recipe["sizes"]),
        step=recipe["step"],
        max_side=recipe["max_side"],
        root=recipe.get("root", True),
    )


def described(recipe: Mapping[str, Any], picture: Any, shared: dict[str, Any]) -> LocalFeatures:
    """Dense descriptors of a picture, made once for all pooled spaces with the same grid."""
    key = repr(recipe_sift := dense_sift(recipe))
    if key not in shared:
        shared[key] = recipe_sift.extract(picture)
    found: LocalFeatures = shared[key]
    return found


class Pooled(NamedTuple):
    """A coder with its pooling, and the whitening that follows (None while it is being learned)."""

    coder: Any
    whitening: Whitening | None = None

    @classmethod
    def learned(cls, recipe: Mapping[str, Any], X: Floats, seed: int, progress: Any) -> Pooled:
        """Codebooks from descriptors; fewer words where there are few of those."""
        n_words = max(2, min(int(recipe["n_words"]), len(X) // 8))
        if recipe["feature"] == "vlad":
            vlad = VLAD(n_words, intra=recipe["intra"], n_iter=_ROUNDS, random_state=seed)
            return cls(vlad.fit(X))
        coder = ProductSparseCoder(
            n_words, alpha=recipe["alpha"], n_iter=_ROUNDS, random_state=seed, progress=progress
        )
        return cls(coder.fit(X))

    def raw(self, descriptors: Floats) -> Floats:
        """The pooled vector before whitening."""
        if isinstance(self.coder, VLAD):
            return self.coder.encode(descriptors)
        return MaxPooling(self.coder).pool(descriptors)

    def vector(self, descriptors: Floats) -> Floats:
        """The vector of a picture; zeros where it has no descriptors, which are like nothing."""
        assert self.whitening is not None
        if len(descriptors) == 0:
            return np.zeros(self.width, np.float32)
        made: Floats = self.whitening.transform(self.raw(descriptors)[None])[0]
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
            meta["whitening"], found = self.whitening.packed()
            arrays |= {f"whitening {name}": array for name, array in found.items()}
        save_arrays(path, _KIND, meta, arrays)

    @classmethod
    def open(cls, path: str | Path) -> Pooled:
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
                whitening = Whitening.unpacked(meta["whitening"], own)
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
def open_pooled(path: str) -> Pooled:
    """A pooled coder by its file; files never change, so they may be kept."""
    return Pooled.open(path)


def check_pooled(whole: Mapping[str, Any]) -> None:
    """Refuse a recipe whose grid or penalty makes no sense."""
    sizes = whole["sizes"]
    if not isinstance(sizes, list | tuple):
        raise InvalidInput(f"sizes is {sizes!r}; a list of patch sizes expected")
    dense_sift(whole)
    alpha = whole.get("alpha", 1.0)
    number = isinstance(alpha, int | float) and not isinstance(alpha, bool)
    if not (number and np.isfinite(alpha) and alpha > 0):
        raise InvalidInput(f"alpha is {alpha!r}; a positive number expected")
    if not isinstance(whole.get("intra", False), bool):
        raise InvalidInput(f"intra is {whole['intra']!r}; true or false expected")
