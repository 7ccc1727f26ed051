"""What to ask next: comparisons whose answers would teach a map most.

A small map is drawn of the pictures compared so far and of some nobody compared, from what was
said and from the space; the ordinal room knows which questions it is least sure about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.errors import CollectionError
from likewise.collection.models.constraints import Comparison
from likewise.collection.models.map import combine_comparisons
from likewise.collection.models.map_data import gather_comparisons
from likewise.collection.store.store import SpaceRow, Store

STRANGERS = 200
"""Pictures nobody compared that may be asked about, drawn anew each time."""
MOST_COMPARED = 1_000
"""Comparisons that count when questions are chosen, the newest."""
_DIMENSIONS = 3
_SPARE = 4


class ComparisonQuestion(NamedTuple):
    """A question: is the anchor nearer to the left or to the right picture?  By id."""

    anchor: int
    left: int
    right: int


def suggest_questions(
    store: Store,
    space: SpaceRow,
    said: Sequence[Comparison],
    row_of: Callable[[int], Any],
    k: int,
    seed: int,
) -> list[ComparisonQuestion]:
    """At most k questions about pictures of the collection, none of them answered before."""
    from likewise.ordinal.embedding import OrdinalEmbedding
    from likewise.ordinal.suggesting import suggest_comparisons

    newest = said[-MOST_COMPARED:]
    compared = len({s for one in newest for s in (one.anchor, one.nearer, one.farther)})
    given, _ = gather_comparisons(
        store, space, newest, row_of,
        anchors=compared + STRANGERS, labels=None, seed=seed,
    )  # fmt: skip
    if len(given.X) < 3:
        raise CollectionError(
            f"{len(given.X)} pictures have a vector in space {space.name!r}; a question needs 3"
        )
    _, triplets = combine_comparisons(given, "both", given.said)
    dimensions = min(_DIMENSIONS, len(given.X) - 1)
    made = OrdinalEmbedding(dimensions, loss="tste", random_state=seed)
    made.fit(triplets, n_objects=len(given.X))
    asked = {(a, *sorted((b, c))) for a, b, c in given.said.tolist()}
    found: list[ComparisonQuestion] = []
    # What the space says counts as known, so that nobody is asked what goes without saying.
    known = np.concatenate([given.made, given.said])
    best = suggest_comparisons(made.embedding_, _SPARE * k, known=known, random_state=seed)
    for a, b, c in np.asarray(best).tolist():
        question = (a, *sorted((b, c)))
        ids = given.ids[[a, b, c]].tolist()
        if question not in asked and min(ids) > 0 and len(set(ids)) == 3 and len(found) < k:
            asked.add(question)
            found.append(ComparisonQuestion(*ids))
    return found
