"""From local features to words: nearest words, alone or shared, after a projection or without.

RootSIFT descriptors get one word each.  Cells of a network's map are projected first and shared
between a few words each, because there are a hundred of them in a picture and not a thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.projection import Projection
from likewise_methods.coding import Vocabulary, count


class WordAssigner(NamedTuple):
    """A vocabulary, what its descriptors go through first, and how many words each gets."""

    vocabulary: Vocabulary
    projection: Projection | None = None
    soft: int = 1

    def assign(
        self, descriptors: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Words of each descriptor and their shares, both (descriptors, words each)."""
        each = min(self.soft, self.vocabulary.n_words)
        if len(descriptors) == 0:
            return np.zeros((0, each), np.int32), np.zeros((0, each), np.float32)
        rows = descriptors if self.projection is None else self.projection(descriptors)
        if each == 1:
            words = self.vocabulary.quantise(rows)[:, None]
            return words, np.ones(words.shape, np.float32)
        return self.vocabulary.quantise_soft(rows, each)

    def count_words(self, descriptors: NDArray[np.float32]) -> tuple[Any, Any]:
        """Term counts of one picture's descriptors: words and how often each."""
        if len(descriptors) == 0:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        words, shares = self.assign(descriptors)
        row = count(words, self.vocabulary.n_words, shares)
        return row.indices, row.data


@lru_cache(maxsize=4)
def open_vocabulary(path: str) -> Vocabulary:
    """A vocabulary by its file; files never change, so they may be kept."""
    return Vocabulary.open(Path(path))


@lru_cache(maxsize=4)
def open_projection(path: str) -> Projection:
    """A projection by its file, kept like a vocabulary."""
    return Projection.open(Path(path))


def nearest_words(root: Path, among: Mapping[str, str], of: Mapping[str, str]) -> Any:
    """For each word of one generation (its files: ``of``) the nearest of another (``among``).

    Words that were learned behind a projection are brought back by it, as well as it can, and go
    through the other one.
    """
    words = open_vocabulary(str(root / of["vocabulary"])).words_
    if of.get("projection") != among.get("projection"):
        words = open_projection(str(root / of["projection"])).back(words)
        words = open_projection(str(root / among["projection"]))(words)
    found = open_vocabulary(str(root / among["vocabulary"])).quantise(words)
    return found.astype(np.int64)
