"""``psc`` and ``vlad``: dense SIFT coded, pooled into one vector a picture, and whitened.

Learning takes two passes over a sample: descriptors for the codebooks, pooled vectors for the
whitening.  Where the sample is everything the pooled vectors are kept, and the rows of all pictures
are a matrix product.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.catalog.jobs import Progress
from likewise.errors import InvalidInput
from likewise.spaces import base
from likewise.spaces.base import LearnedGeneration, Pixels, Recipe, Space, Survey
from likewise.spaces.pooled_coder import PooledCoder, dense_sift, open_coder
from likewise.vision.local import LocalFeatures
from likewise_methods.coding import VLAD, Whitening
from likewise_methods.psc import ProductSparseCoder

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

Floats = NDArray[np.float32]
_SAMPLING = "descriptors for the codebooks"

FitProgress = Callable[[int, int, float], None]


class PooledSpace(Space):
    """Codes of dense descriptors, pooled."""

    must_learn = True
    sample_stage = _SAMPLING

    @abstractmethod
    def fit_coder(self, X: Floats, n_words: int, seed: int, progress: FitProgress) -> Any:
        """Codebooks from descriptors."""

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        sizes = recipe["sizes"]
        if not isinstance(sizes, list | tuple):
            raise InvalidInput(f"sizes is {sizes!r}; a list of patch sizes expected")
        dense_sift(recipe)

    def extract(self, picture: Pixels, shared: dict[str, Any]) -> LocalFeatures:
        """Dense descriptors of a picture, made once for all pooled spaces with the same grid."""
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
        """Some descriptors, or with a draft of the codebooks (words, values, width) pooled."""
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
        # Named by no generation: swept when the job ends, or by the next one.
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
        # Directions found in a few hundred pictures are poor; beyond the sample nothing is gained.
        few = self.n_pictures < base.SAMPLE_PICTURES
        return few and n_pictures >= 2 * max(self.n_pictures, 1)

    # -- looking after it -------------------------------------------------------------------

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
    """An equal share of each picture's descriptors, in the order of the pictures."""
    each = max(DESCRIPTORS // max(len(numbers), 1), 16)
    found = survey.sample(space, numbers, _SAMPLING, most=each)
    parts = [part for _, part in found]
    whole: Floats = np.concatenate([np.zeros((0, 128), np.float16), *parts]).astype(np.float32)
    if len(whole) > DESCRIPTORS:
        rng = np.random.default_rng(survey.seed)
        whole = whole[np.sort(rng.choice(len(whole), DESCRIPTORS, replace=False))]
    return whole


def _csr(rows: Sequence[tuple[Any, Any, int]]) -> Any:
    """Pooled vectors as (words, values, width), as one matrix."""
    starts = np.cumsum([0, *(len(words) for words, _, _ in rows)])
    words = np.concatenate([words for words, _, _ in rows])
    values = np.concatenate([values for _, values, _ in rows])
    return sparse.csr_array((values, words, starts), shape=(len(rows), rows[0][2]))
