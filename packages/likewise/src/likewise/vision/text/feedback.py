"""From words to pictures that are alike: the first pictures of a text become the query.

A text finds pictures by what the network has names for; pictures find their like by everything it
sees.  So the mean of the ten pictures that the text likes best is asked in the space where pictures
are compared, twice, and the text keeps a fifth of the say (docs/methods/words.md, (5)).  Where the
first ten are wrong, that finds more of the wrong: therefore every fourth picture shown is the
text's own next one, and a person who likes one of those is on the way again.  What is liked takes
the place of the ten.

Scores are standardised over the pictures that are compared, so that texts and looks can be added.
Figures, and on what the constants were chosen: docs/results/words.md.
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
    """How much of the score is the text's: it fades as pictures are liked."""
    return TEXT_SHARE / (1 + n_liked)


def mean_row(rows: Any) -> Floats:
    """The mean of some rows, of unit length: what is asked for pictures like them."""
    rows = np.asarray(rows, np.float64)
    if rows.ndim != 2 or not len(rows):
        raise InvalidInput(f"rows has shape {rows.shape}; at least one row expected")
    mean = rows.mean(axis=0)
    return np.asarray(mean / (np.linalg.norm(mean) or 1.0))


def standardised(scores: Any) -> Floats:
    """Scores with mean 0 and deviation 1; all 0 where they do not differ."""
    scores = np.asarray(scores, np.float64)
    deviation = scores.std()
    return np.asarray((scores - scores.mean()) / (deviation if deviation > 0 else 1.0))


def fused(text: Any, looks: Any, n_liked: int = 0) -> Floats:
    """Scores by a text and by looks, over the same pictures, as one."""
    share = text_share(n_liked)
    return share * standardised(text) + (1 - share) * standardised(looks)


def second_look(text: Any, rows: Any) -> Floats:
    """Scores of pictures by a text alone made better by their rows in a space of pictures.

    ``rows`` are of unit length, one a picture, in the order of the text's scores.
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
    return fused(text, found)


def liked_look(text: Any, rows: Any, liked: Sequence[int]) -> Floats:
    """Scores of pictures by a text and by those of them that were liked."""
    rows = np.asarray(rows)
    return fused(text, rows @ mean_row(rows[list(liked)]), len(liked))


def interleaved(best: Sequence[int], own: Sequence[int]) -> list[int]:
    """Pictures of ``best`` in their order, every fourth place given to the next of ``own``.

    >>> interleaved([1, 2, 3, 4, 5], [9, 1, 8])
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
