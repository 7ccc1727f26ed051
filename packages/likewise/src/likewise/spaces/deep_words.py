"""``deep-words``: cells of a network's map, projected, and counted as visual words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from likewise.spaces import base
from likewise.spaces.base import Pixels, Recipe, Space, Survey
from likewise.spaces.deep import NetworkSpace
from likewise.spaces.visual_words import Samples, VisualWords
from likewise.vision.deep.graph import CELL
from likewise.vision.deep.network import MODEL, builtin_card
from likewise.vision.deep.recipes import CELLS_SIZE, DeepCells, Projection
from likewise.vision.local import LocalFeatures

PROJECTION_PICTURES = 400
"""Pictures whose cells a projection is learned from, at most: 40,000 cells."""
_MOST_WORDS = 16_000


class DeepWordsSpace(VisualWords, NetworkSpace):
    """Visual words of the cells of a network."""

    feature = "deep-words"
    defaults = {
        "model": MODEL,
        "size": CELLS_SIZE,
        "components": 128,
        # The number of words that each cell is assigned to.
        "soft": 5,
        # None: chosen from the data.
        "n_words": None,
    }
    least = {"size": 16, "components": 1, "soft": 1, "n_words": 2}
    # The root limits the weight of large uniform areas such as a sky of twenty similar cells.
    idf = "sqrt-tf-idf"

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        super().check_recipe(recipe)
        DeepCells(recipe["size"])

    def extract(self, picture: Pixels) -> LocalFeatures:
        return DeepCells(self.recipe["size"]).extract(picture)

    @property
    def cells(self) -> int:
        """Return the cells of one picture."""
        return int((self.recipe["size"] // CELL) ** 2)

    def wanted_words(self, n_pictures: int) -> int:
        """Return five times the root of the cells, if the recipe does not say.

        There are fewer kinds of things than of corners.  On two of the four sets of
        docs/results/deep.md fewer words were better, by up to .035 mAP; on the other two a few more
        were, by up to .012.
        """
        usual = min(round(5 * (n_pictures * self.cells) ** 0.5), _MOST_WORDS)
        return int(self.recipe["n_words"] or usual)

    def wants_more_words(self, n_pictures: int) -> bool:
        # The number of words grows with the root of the number of pictures in the collection,
        # including those that could not be read when learning.
        cells = self.cells * min(n_pictures, base.SAMPLE_PICTURES)
        more = self.n_words(n_pictures, cells) >= 2 * self.width
        return more and n_pictures >= 2 * max(self.n_pictures, 1)

    def learn_projection(self, survey: Survey, chosen: Sequence[int]) -> tuple[Space, Samples]:
        every = -(-len(chosen) // PROJECTION_PICTURES)
        found = survey.sample(self, chosen[::every], "descriptors for the words")
        some = [rows for _, rows in found if len(rows)]
        if sum(map(len, some)) < 2:
            return self, [(number, rows[:0]) for number, rows in found]
        made = Projection.fit(some, self.recipe["components"])
        files = {"projection": survey.new_file(".lwp")}
        made.save(self.root / files["projection"])
        learning = replace(self, files=files)
        if every > 1:
            return learning, []
        return learning, [
            (number, made(rows).astype(np.float16) if len(rows) else rows) for number, rows in found
        ]

    def card(self) -> dict[str, Any]:
        return builtin_card(cells=self.recipe["size"])
