"""``words``: RootSIFT descriptors counted over a vocabulary learned from the collection."""

from __future__ import annotations

from functools import cache

import numpy as np

from likewise.errors import InvalidInput
from likewise.spaces.base import Pixels, Recipe
from likewise.spaces.visual_words import VisualWords
from likewise.vision.local import SIFT, LocalFeatures


class WordsSpace(VisualWords):
    """Visual words of corners and blobs, each the nearest of some ten thousand words."""

    feature = "words"
    defaults = {
        "max_features": 1500,
        "max_side": 800,
        "upright": False,
        # The number of words of a small and of a large collection, and how many pictures are large.
        "n_words": 10_000,
        "n_words_large": 100_000,
        "large_from": 5_000,
    }
    least = {
        "max_features": 1,
        "max_side": 16,
        "n_words": 2,
        "n_words_large": 2,
        "large_from": 0,
    }

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        if not isinstance(recipe["upright"], bool):
            raise InvalidInput(f"upright is {recipe['upright']!r}; true or false expected")

    def load(self) -> None:
        # Compile and cache kernels once, not in each worker with its first picture.
        _load_kernels()

    def extract(self, picture: Pixels) -> LocalFeatures:
        return SIFT(
            max_features=self.recipe["max_features"],
            max_side=self.recipe["max_side"],
            upright=self.recipe["upright"],
        ).extract(picture)

    def wanted_words(self, n_pictures: int) -> int:
        large = n_pictures >= self.recipe["large_from"]
        return int(self.recipe["n_words_large" if large else "n_words"])

    def wants_more_words(self, n_pictures: int) -> bool:
        recipe = self.recipe
        # It has fewer words than the recipe's first number: there were too few descriptors.
        few = self.width < recipe["n_words"] and n_pictures >= 2 * max(self.n_pictures, 1)
        large = n_pictures >= recipe["large_from"] and self.width < recipe["n_words_large"]
        return bool(few or (large and self.n_pictures < recipe["large_from"]))

    def next_growth(self) -> int | None:
        usual = super().next_growth()
        if usual is None or not self.generation or self.n_pictures >= self.recipe["large_from"]:
            return usual
        return min(usual, int(self.recipe["large_from"]))


@cache
def _load_kernels() -> None:
    """Describe a picture of corners to load every kernel."""
    corners = np.kron(np.indices((8, 8)).sum(axis=0) % 2, np.ones((9, 9))) * 200
    SIFT(max_features=20).extract(corners.astype(np.uint8))
