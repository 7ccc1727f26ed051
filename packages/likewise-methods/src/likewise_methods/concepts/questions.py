"""Which pictures to ask about next: unsure ones, likely ones and some drawn at random.

The rule is docs/methods/concepts.md, (7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Why = Literal["unsure", "likely", "random"]

SPREAD = 0.4
"""How much of its worth a question loses when a picture like it is on the page already."""
COPY = 0.98
"""Inner product from which two pictures count as copies: one of them is asked at most."""
SHARES = (8, 2)
"""Of twelve questions so many are unsure and so many likely; the others are drawn at random."""


@dataclass(frozen=True)
class Question:
    """A picture worth asking about.

    Attributes
    ----------
    row : int
        Its row in the fitted collection.
    why : {"unsure", "likely", "random"}
        What makes it worth asking.
    chance : float
        Probability with which a random question was drawn; 1 for the others.

    See Also
    --------
    ConceptLearner : asks them.
    """

    row: int
    why: Why
    chance: float = 1.0


def draw(free: Ids, n: int, rng: np.random.Generator) -> list[Question]:
    """Draw the random questions of a page of ``n``, each free row with the same chance."""
    count = max(n - sum(round(n * share / 12) for share in SHARES), 0)
    chance = count / len(free)
    drawn = rng.choice(len(free), count, replace=False)
    return [Question(int(free[place]), "random", chance) for place in drawn.tolist()]


def choose(
    p: Floats, rows: NDArray[np.float32], free: Ids, n: int, drawn: list[Question]
) -> list[Question]:
    """Choose ``n`` questions: those drawn at random, and the best of the free rows.

    Parameters
    ----------
    p : array of shape (free,)
        Probability of each free row.
    rows : array of shape (free, columns)
        Their unit rows, which say how alike two pictures are.
    free : array of int
        Row numbers that may be asked.
    n : int
        Number of questions.
    drawn : list of Question
        The random ones, among the free rows.

    Returns
    -------
    list of Question
        At most ``n``, none twice and no two copies of one picture.
    """
    page = _Page(rows, free)
    # First on the page, so that a row's chance does not depend on what the learner thinks of it.
    for one in drawn:
        place = int(np.searchsorted(free, one.row))
        if page.open[place]:
            page.take(place, "random", one.chance)
    page.fill(p, round(n * SHARES[1] / 12), "likely")
    page.fill(-np.abs(p - 0.5), n - len(page.questions), "unsure")
    return page.questions


def choose_likely(
    p: Floats, rows: NDArray[np.float32], free: Ids, n: int, spread: float = SPREAD / 10
) -> list[Question]:
    """Choose likely rows that differ from each other, where nothing separates yet."""
    page = _Page(rows, free, spread)
    page.fill(p, n, "likely")
    return page.questions


class _Page:
    """A page of questions that is being filled: no picture twice, no two copies, few alike."""

    def __init__(self, rows: NDArray[np.float32], free: Ids, spread: float = SPREAD) -> None:
        self._rows, self._free, self._spread = rows, free, spread
        self._alike = np.zeros(len(free))
        self.open = np.ones(len(free), bool)
        self.questions: list[Question] = []

    def fill(self, worth: Floats, count: int, why: Why) -> None:
        """Add the rows of most worth, each time counting down those like what is there."""
        for _ in range(count):
            if self.open.any():
                value = np.where(self.open, worth - self._spread * self._alike, -np.inf)
                self.take(int(np.argmax(value)), why)

    def take(self, place: int, why: Why, chance: float = 1.0) -> None:
        """Add one row."""
        self.questions.append(Question(int(self._free[place]), why, chance))
        cosine = self._rows @ self._rows[place]
        self.open[cosine >= COPY] = False
        self.open[place] = False
        np.maximum(self._alike, np.maximum(cosine, 0.0) ** 4, out=self._alike)
