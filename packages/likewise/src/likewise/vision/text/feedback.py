"""Pseudo-relevance feedback: the first pictures of a text become a query by picture.

A text finds pictures only by the classes that the network can name; a query by picture uses all
that it sees.  So the mean row of the ten best pictures of the text is searched, twice, and the text
keeps a fifth of the score (docs/methods/words.md, (5)).  Wrong pictures among the ten would find
more wrong ones, so every fourth picture shown is the next best of the text alone, which a person
can like.  Liked pictures replace the ten.

Scores are standardised over the compared pictures, so that both kinds can be added.
docs/results/words.md has the figures, and the data on which the constants were chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput

FIRST = 10
ROUNDS = 2
TEXT_SHARE = 0.2
EVERY = 4

Floats = NDArray[np.float64]


def text_share(n_liked: int = 0) -> float:
    """Return the text's share of the score, which falls as pictures are liked."""
    return TEXT_SHARE / (1 + n_liked)


def mean_row(rows: Any) -> Floats:
    """Return the mean of rows at unit length, the query for pictures like them."""
    rows = np.asarray(rows, np.float64)
    if rows.ndim != 2 or not len(rows):
        raise InvalidInput(f"rows has shape {rows.shape}; at least one row expected")
    mean = rows.mean(axis=0)
    return np.asarray(mean / (np.linalg.norm(mean) or 1.0))


def standardise(scores: Any) -> Floats:
    """Scale scores to mean 0 and deviation 1, or to 0 if they are all equal."""
    scores = np.asarray(scores, np.float64)
    deviation = scores.std()
    return np.asarray((scores - scores.mean()) / (deviation if deviation > 0 else 1.0))


def fuse(text: Any, looks: Any, n_liked: int = 0) -> Floats:
    """Add the scores of a text and of a query by picture."""
    share = text_share(n_liked)
    return share * standardise(text) + (1 - share) * standardise(looks)


def second_look(text: Any, rows: Any) -> Floats:
    """Improve the scores of a text by the rows of the pictures, (5).

    ``rows`` are of unit length, one for each of the text's scores.
    """
    rows = np.asarray(rows)
    found = np.asarray(text, np.float64)
    if rows.ndim != 2 or found.shape != rows.shape[:1]:
        raise InvalidInput(f"text has shape {found.shape} for rows of shape {rows.shape}")
    if not len(rows):
        return found
    for _ in range(ROUNDS):
        first = np.argsort(-found, kind="stable")[:FIRST]
        found = np.asarray(rows @ mean_row(rows[first]))
    return fuse(text, found)


def liked_look(text: Any, rows: Any, liked: Sequence[int]) -> Floats:
    """Score pictures by a text and by the liked ones among them."""
    rows = np.asarray(rows)
    return fuse(text, rows @ mean_row(rows[list(liked)]), len(liked))


def interleave_rankings(best: Sequence[int], own: Sequence[int]) -> list[int]:
    """Merge two rankings: every fourth place goes to the next of ``own``, the others to ``best``.

    >>> interleave_rankings([1, 2, 3, 4, 5], [9, 1, 8])
    [1, 2, 3, 9, 4, 5, 8]
    """
    made: list[int] = []
    seen: set[int] = set()
    sources = [iter(best), iter(own)]
    while True:
        wanted = len(made) % EVERY == EVERY - 1
        for source in (sources[wanted], sources[not wanted]):
            found = next((one for one in source if one not in seen), None)
            if found is not None:
                break
        else:
            return made
        seen.add(found)
        made.append(found)
