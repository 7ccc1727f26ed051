"""``psc`` and ``vlad``: dense SIFT coded, pooled into one vector a picture, and whitened.

Learning takes two passes over a sample: descriptors for the codebooks, pooled vectors for the
whitening.  Where the sample is the whole collection, the pooled vectors are kept, and the rows of
all pictures are a matrix product.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.catalog.jobs import Progress
from likewise.errors import InvalidInput
from likewise.spaces import base
from likewise.spaces.base import LearnedGeneration, Pixels, Recipe, Space, Survey
from likewise.vision.local import DenseSIFT, LocalFeatures
from likewise_methods.coding import VLAD, MaxPooling, Whitening
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays
from likewise_methods.psc import ProductSparseCoder

Floats = NDArray[np.float32]

_KIND = "pooled coder"


def dense_sift(recipe: Mapping[str, Any]) -> DenseSIFT:
    """Return the descriptors of a recipe: one every ``step`` pixels, at each of its ``sizes``."""
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
        """Return the pooled vector of a picture before whitening."""
        if isinstance(self.coder, VLAD):
            return self.coder.encode(descriptors)
        return MaxPooling(self.coder).pool(descriptors)

    def vector(self, descriptors: Floats) -> Floats:
        """Return the vector of a picture; zeros where it has no descriptors."""
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
        """Write one checksummed file."""
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
        """Read what ``save`` wrote; raise ``DamagedFile`` if it changed."""
        meta, arrays = open_arrays(path, _KIND)
        try:
            if "codebook" in arrays:  # those of a product coder are numbered
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
    """Return the parameters of a product coder, without its codebooks."""
    return {
        "alpha": float(coder.alpha),
        "method": coder.method,
        "split": coder.split,
        "subspaces": len(coder.codebooks_),
    }


def coder_arrays(coder: ProductSparseCoder) -> dict[str, NDArray[Any]]:
    """Return the codebooks of a product coder in the precision they were learned in."""
    return {f"codebook {i}": book for i, book in enumerate(coder.codebooks_)}


def product_coder(
    meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> ProductSparseCoder:
    """Make the coder of ``coder_meta`` and ``coder_arrays``; KeyError or ValueError if invalid."""
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
    """Open a pooled coder by its file and keep it, because files never change."""
    return PooledCoder.open(path)


CODEBOOK_PICTURES = 500
"""Pictures whose descriptors the codebooks are learned from, at most."""
DESCRIPTORS = 60_000
"""Descriptors the codebooks are learned from, at most: an equal share of each picture."""
RIDGE = 1.0
"""How far whitening stops short: the share of the strongest variance added to each.

Full whitening makes directions that a thousand pictures cannot tell from noise as loud as the
strongest, and loses up to half the mAP (docs/results/psc.md has both).
"""
_ROUNDS = 12
_DRAFT = "draft"

# Dense SIFT of both: patches of these sizes, every ``step`` pixels, of pictures this large.
GRID: dict[str, Any] = {"sizes": [16, 24], "step": 8, "max_side": 400}

_SAMPLING = "descriptors for the codebooks"

FitProgress = Callable[[int, int, float], None]


class PooledSpace(Space):
    """Dense descriptors, coded and pooled."""

    must_learn = True
    sample_stage = _SAMPLING

    @abstractmethod
    def fit_coder(self, X: Floats, n_words: int, seed: int, progress: FitProgress) -> Any:
        """Learn codebooks from descriptors."""

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        sizes = recipe["sizes"]
        if not isinstance(sizes, list | tuple):
            raise InvalidInput(f"sizes is {sizes!r}; a list of patch sizes expected")
        dense_sift(recipe)

    def extract(self, picture: Pixels, shared: dict[str, Any]) -> LocalFeatures:
        """Return the dense descriptors of a picture, computed once for all with this grid."""
        sift = dense_sift(self.recipe)
        if repr(sift) not in shared:
            shared[repr(sift)] = sift.extract(picture)
        found: LocalFeatures = shared[repr(sift)]
        return found

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        coder = open_coder(str(self.root / self.files["coder"]))
        return coder.vector(self.extract(picture, shared).descriptors)

    # -- learning ---------------------------------------------------------------------------

    def sample(self, picture: Pixels, number: int, **options: Any) -> Any:
        """Return some descriptors of a picture, or its pooled vector (words, values, width).

        It is pooled where there are draft codebooks.
        """
        found = self.extract(picture, {}).descriptors
        if len(found) == 0:
            return None
        if _DRAFT not in self.files:
            rng = np.random.default_rng(number)
            picked = np.sort(rng.permutation(len(found))[: options["most"]])
            return found[picked].astype(np.float16)
        pooled = open_coder(str(self.root / self.files[_DRAFT])).pool(found)
        words = np.flatnonzero(pooled)
        return words.astype(np.int32), pooled[words], len(pooled)

    def learn(self, survey: Survey) -> LearnedGeneration | None:
        X = sample_descriptors(self, survey, survey.choose(CODEBOOK_PICTURES))
        if len(X) < 16:
            return None
        survey.report(Progress("learning codebooks", 0, 0))
        coder = PooledCoder(
            self.fit_coder(
                X,
                # Fewer words where there are few descriptors.
                max(2, min(int(self.recipe["n_words"]), len(X) // 8)),
                survey.seed,
                lambda done, of, _: survey.report(Progress("learning codebooks", done, of)),
            )
        )
        # No generation names it, so this job or the next deletes it.
        draft = survey.new_file(".part.lwc")
        coder.save(self.root / draft)
        chosen = survey.choose(base.SAMPLE_PICTURES)
        stage = "vectors for the whitening"
        found = survey.sample(replace(self, files={_DRAFT: draft}), chosen, stage)
        (self.root / draft).unlink(missing_ok=True)
        if len(found) < 3:
            return None
        numbers, rows = [number for number, _ in found], _csr([row for _, row in found])
        components = min(int(self.recipe["components"]), len(found) - 1, rows.shape[1])
        survey.report(Progress("whitening", 0, 0))
        whitening = Whitening(components, ridge=RIDGE).fit(rows)
        files = {"coder": survey.new_file(".lwc")}
        PooledCoder(coder.coder, whitening).save(self.root / files["coder"])
        known: Iterable[tuple[int, Any]] = ()
        if len(chosen) == survey.n_pictures:
            # Those without descriptors get the zero vector when they are described.
            known = zip(numbers, whitening.transform(rows), strict=True)
        return LearnedGeneration(components, files, known)

    def has_outgrown(self, n_pictures: int) -> bool:
        if not self.generation:
            return True
        # Directions learned from a few hundred pictures are poor; pictures beyond the sample add
        # nothing.
        few = self.n_pictures < base.SAMPLE_PICTURES
        return few and n_pictures >= 2 * max(self.n_pictures, 1)

    # -- checking --------------------------------------------------------------------------

    def verify(self) -> Iterable[str]:
        if "coder" not in self.files:
            yield "its codebooks are not named"
        elif (width := PooledCoder.open(self.root / self.files["coder"]).width) != self.width:
            yield f"vectors of {width} columns, {self.width} in the catalog"


class ProductCodesSpace(PooledSpace):
    """Product sparse codes, pooled by their maximum."""

    feature = "psc"
    defaults = {
        # Words of each of two sub-codebooks: their products are the words that are pooled.
        "n_words": 128,
        "alpha": 0.3,
        "components": 128,
        **GRID,
    }
    least = {"n_words": 2, "components": 1, "step": 1, "max_side": 16}
    fusion_rank = 2
    tags_beside = "holistic"

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        super().check_recipe(recipe)
        alpha = recipe["alpha"]
        number = isinstance(alpha, int | float) and not isinstance(alpha, bool)
        if not (number and np.isfinite(alpha) and alpha > 0):
            raise InvalidInput(f"alpha is {alpha!r}; a positive number expected")

    def fit_coder(self, X: Floats, n_words: int, seed: int, progress: FitProgress) -> Any:
        return ProductSparseCoder(
            n_words,
            alpha=self.recipe["alpha"],
            n_iter=_ROUNDS,
            random_state=seed,
            progress=progress,
        ).fit(X)


class VladSpace(PooledSpace):
    """Residuals to the nearest word, added up."""

    feature = "vlad"
    defaults = {"n_words": 256, "intra": True, "components": 128, **GRID}
    least = {"n_words": 2, "components": 1, "step": 1, "max_side": 16}
    fusion_rank = 1

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        super().check_recipe(recipe)
        if not isinstance(recipe["intra"], bool):
            raise InvalidInput(f"intra is {recipe['intra']!r}; true or false expected")

    def fit_coder(self, X: Floats, n_words: int, seed: int, progress: FitProgress) -> Any:
        return VLAD(n_words, intra=self.recipe["intra"], n_iter=_ROUNDS, random_state=seed).fit(X)


def sample_descriptors(space: Space, survey: Survey, numbers: Sequence[int]) -> Floats:
    """Return an equal share of the descriptors of each picture, in order of the pictures."""
    each = max(DESCRIPTORS // max(len(numbers), 1), 16)
    found = survey.sample(space, numbers, _SAMPLING, most=each)
    parts = [part for _, part in found]
    whole: Floats = np.concatenate([np.zeros((0, 128), np.float16), *parts]).astype(np.float32)
    if len(whole) > DESCRIPTORS:
        rng = np.random.default_rng(survey.seed)
        whole = whole[np.sort(rng.choice(len(whole), DESCRIPTORS, replace=False))]
    return whole


def _csr(rows: Sequence[tuple[Any, Any, int]]) -> Any:
    """Return pooled vectors (words, values, width) as one matrix."""
    starts = np.cumsum([0, *(len(words) for words, _, _ in rows)])
    words = np.concatenate([words for words, _, _ in rows])
    values = np.concatenate([values for _, values, _ in rows])
    return sparse.csr_array((values, words, starts), shape=(len(rows), rows[0][2]))
