"""What kinds of visual words share: descriptors counted over a learned vocabulary.

A kind chooses the descriptors and the number of words, and may learn a projection first.  Words are
compared by tf-idf; they have places in the picture, so they can explain a hit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.jobs import Progress
from likewise.spaces import base
from likewise.spaces.base import LearnedGeneration, Pixels, Places, Space, Survey
from likewise.vision.deep.recipes import Projection
from likewise.vision.local import LocalFeatures
from likewise_methods.coding import Vocabulary, Weighting, count


class WordAssigner(NamedTuple):
    """A vocabulary, the projection before it, and the number of words for each descriptor."""

    vocabulary: Vocabulary
    projection: Projection | None = None
    soft: int = 1

    def assign(
        self, descriptors: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the words of each descriptor and their shares, both (descriptors, words each)."""
        each = min(self.soft, self.vocabulary.n_words)
        if len(descriptors) == 0:
            return np.zeros((0, each), np.int32), np.zeros((0, each), np.float32)
        rows = descriptors if self.projection is None else self.projection(descriptors)
        if each == 1:
            words = self.vocabulary.quantise(rows)[:, None]
            return words, np.ones(words.shape, np.float32)
        return self.vocabulary.quantise_soft(rows, each)

    def count_words(self, descriptors: NDArray[np.float32]) -> tuple[Any, Any]:
        """Return the words of one picture's descriptors and how often each occurs."""
        if len(descriptors) == 0:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        words, shares = self.assign(descriptors)
        row = count(words, self.vocabulary.n_words, shares)
        return row.indices, row.data


@lru_cache(maxsize=4)
def open_vocabulary(path: str) -> Vocabulary:
    """Open a vocabulary by its file and keep it, because files never change."""
    return Vocabulary.open(Path(path))


@lru_cache(maxsize=4)
def open_projection(path: str) -> Projection:
    """Open a projection by its file and keep it."""
    return Projection.open(Path(path))


def nearest_words(root: Path, among: Mapping[str, str], of: Mapping[str, str]) -> Any:
    """Map each word of one generation (files ``of``) to the nearest of another (``among``).

    Words behind a projection are projected back approximately, then projected by the other one.
    """
    words = open_vocabulary(str(root / of["vocabulary"])).words_
    if of.get("projection") != among.get("projection"):
        words = open_projection(str(root / of["projection"])).back(words)
        words = open_projection(str(root / among["projection"]))(words)
    found = open_vocabulary(str(root / among["vocabulary"])).quantise(words)
    return found.astype(np.int64)


FIRST_WORDS_AT = 300
"""Pictures after which the first words are learned, so that search works while add goes on."""
KEEP_PICTURES = base.SAMPLE_PICTURES
"""Of at most so many pictures that words were learned from, they are counted at once, while the
descriptors are in memory: to read and describe a picture again costs more than that."""
_ROUNDS = 12
_DESCRIPTORS_A_WORD = 8
"""Descriptors a word needs: with fewer, no two pictures share it."""
_GRAPH_ABOVE, _CELLS_UP_TO = 10_000, 200_000
"""More words than this are looked for in a graph, by default; in cells, if at most so many."""

Samples = list[tuple[int, Any]]


class VisualWords(Space):
    """Descriptors counted over a vocabulary."""

    vector_type = "sparse"
    must_learn = True
    idf: ClassVar[Weighting | None] = "tf-idf"
    # A picture that cannot be read now has an empty row.
    placeholder = b""
    has_places = True
    stage = "counting words"
    sample_stage = "descriptors for the words"

    @abstractmethod
    def extract(self, picture: Pixels) -> LocalFeatures:
        """Return the descriptors that are counted."""

    @abstractmethod
    def wanted_words(self, n_pictures: int) -> int:
        """Return how many words a collection of this size should have."""

    @abstractmethod
    def wants_more_words(self, n_pictures: int) -> bool:
        """Return whether the vocabulary has become too small."""

    def learn_projection(self, survey: Survey, chosen: Sequence[int]) -> tuple[Space, Samples]:
        """Learn a projection before the words; return the space with it, and samples if any."""
        return self, []

    def n_words(self, n_pictures: int, n_descriptors: int) -> int:
        """Return how many words a collection gets: fewer while there are few descriptors a word."""
        return max(1, min(self.wanted_words(n_pictures), n_descriptors // _DESCRIPTORS_A_WORD))

    def assigner(self) -> WordAssigner:
        """Return the assigner of descriptors to words in this generation."""
        return WordAssigner(self._vocabulary(), self._projection(), self.recipe.get("soft", 1))

    def _vocabulary(self) -> Vocabulary:
        return open_vocabulary(str(self.root / self.files["vocabulary"]))

    def _projection(self) -> Projection | None:
        file = self.files.get("projection")
        return None if file is None else open_projection(str(self.root / file))

    # -- describing and explaining ----------------------------------------------------------

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return self.assigner().count_words(self.extract(picture).descriptors)

    def find_places(self, picture: Pixels) -> Places:
        found = self.extract(picture)
        words, shares = self.assigner().assign(found.descriptors)
        return Places(words, shares, found.positions, found.scales, found.responses)

    # -- learning ---------------------------------------------------------------------------

    def sample(self, picture: Pixels, number: int, **options: Any) -> Any:
        """Return descriptors of one picture, projected where there is a projection."""
        found = self.extract(picture).descriptors
        projection = self._projection()
        if projection is not None and len(found):
            found = projection(found)
        # Half precision is a thousandth of a unit descriptor's length: far below a word's size.
        return found.astype(np.float16)

    def learn(self, survey: Survey) -> LearnedGeneration | None:
        chosen = survey.choose(base.SAMPLE_PICTURES)
        learning, found = self.learn_projection(survey, chosen)
        if not found:
            found = survey.sample(learning, chosen, self.sample_stage)
        total = sum(len(rows) for _, rows in found)
        if total < _DESCRIPTORS_A_WORD:
            return None
        n_words = self.n_words(survey.n_pictures, total)
        stage = f"learning {n_words:,} words"
        survey.report(Progress(stage, 0, _ROUNDS))
        # A cell index assigns in half of the time of a graph, but holds the words in memory twice
        # and returns only one word for each descriptor.
        in_cells = self.recipe.get("soft", 1) == 1 and _GRAPH_ABOVE < n_words <= _CELLS_UP_TO
        vocabulary = Vocabulary(
            n_words,
            n_iter=_ROUNDS,
            assignment="cells" if in_cells else "auto",
            random_state=survey.seed,
            n_threads=survey.n_threads,
            progress=lambda done, of, _: survey.report(Progress(stage, done, of)),
        ).fit(rows.astype(np.float32) for _, rows in found if len(rows))
        files = {**learning.files, "vocabulary": survey.new_file(".lwv")}
        vocabulary.save(self.root / files["vocabulary"])
        # The samples are already projected.
        assigner = WordAssigner(vocabulary, None, self.recipe.get("soft", 1))
        rows: list[tuple[int, Any]] = []
        counted = found[:KEEP_PICTURES]
        for number, descriptors in counted:
            # No separate stage: these pictures were read before.
            survey.report(Progress("counting words of the sample", len(rows), len(counted)))
            rows.append((number, assigner.count_words(descriptors.astype(np.float32))))
        return LearnedGeneration(vocabulary.n_words, files, rows)

    def has_outgrown(self, n_pictures: int) -> bool:
        return not self.generation or self.wants_more_words(n_pictures)

    def next_growth(self) -> int | None:
        # Keep search current during a long add: first words early, and a new idf whenever the
        # collection has doubled.
        return 2 * max(self.n_pictures, 1) if self.generation else FIRST_WORDS_AT

    def has_same_columns(self, other: Space) -> bool:
        return self.files.get("vocabulary") == other.files.get("vocabulary")

    def match_columns(self, other: Space) -> NDArray[np.int64] | None:
        if self.has_same_columns(other):
            return np.arange(self.width)
        found: NDArray[np.int64] = nearest_words(self.root, other.files, self.files)
        return found

    # -- checking --------------------------------------------------------------------------

    def verify(self) -> Iterable[str]:
        needed = {"vocabulary", "bag"} | ({"projection"} if "components" in self.recipe else set())
        if not needed <= set(self.files):
            yield "its vocabulary or its idf is not named"
        # Read the files themselves, not the objects this process keeps.
        if "projection" in self.files:
            Projection.open(self.root / self.files["projection"])
        if "vocabulary" in self.files:
            words = Vocabulary.open(self.root / self.files["vocabulary"]).n_words
            if words != self.width:
                yield f"{words} words in the vocabulary, {self.width} in the catalog"
