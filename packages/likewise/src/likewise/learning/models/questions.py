"""Suggest the comparisons whose answers would improve a map most.

Questions are only about neighbours: people can say which of two pictures similar to a third is
nearer, not which of two unrelated ones.  A small map of the pictures compared so far and of some
neighbourhoods finds the most uncertain questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.store import Store
from likewise.errors import CollectionError
from likewise.learning.models.constraints import Comparison
from likewise.learning.models.map import combine_comparisons, gather_comparisons
from likewise.search.dense_view import DenseView

NEIGHBOURS = 8
"""Nearest pictures of an anchor that are asked about, without near-duplicates."""
LEAST_ANCHORS, MOST_ANCHORS = 8, 40
"""Anchors considered at once."""
SPARE_ANCHORS = 2
"""Times as many anchors are drawn; those with the nearest neighbours are used."""
AGAIN = 3
"""One anchor in so many was compared before, where there are some."""
MOST_COMPARED = 1_000
"""The newest comparisons that count when questions are chosen."""
_DIMENSIONS = 3
_SPARE = 4


class ComparisonQuestion(NamedTuple):
    """A question: is the anchor nearer to the left or to the right picture?  By id.

    See Also
    --------
    likewise_methods.ordinal.suggest_comparisons : chooses it.
    """

    anchor: int
    left: int
    right: int


def suggest_questions(
    store: Store, view: DenseView, said: Sequence[Comparison], k: int, seed: int
) -> list[ComparisonQuestion]:
    """Return at most k unanswered questions about pictures of the collection."""
    from likewise_methods.ordinal import OrdinalEmbedding, suggest_comparisons

    space = view.space
    rng = np.random.default_rng(seed)
    newest = said[-MOST_COMPARED:]
    near = _neighbourhoods(store, view, newest, k, rng)
    members = sorted({image for anchor, others in near.items() for image in (anchor, *others)})
    ids, rows = view.rows_of(members)
    given, _ = gather_comparisons(
        store, space, newest, view.row_of, anchors=0, labels=None, seed=seed,
        others=(np.array(ids, np.int64), rows),
    )  # fmt: skip
    if len(given.X) < 3 or not near:
        raise CollectionError(
            f"{len(view)} pictures have a vector in space {space.name!r}; a question needs 3"
        )
    _, triplets = combine_comparisons(given, "both", given.said)
    dimensions = min(_DIMENSIONS, len(given.X) - 1)
    made = OrdinalEmbedding(dimensions, loss="tste", random_state=seed)
    made.fit(triplets, n_objects=len(given.X))
    asked = {(a, *sorted((b, c))) for a, b, c in given.said.tolist()}
    found: list[ComparisonQuestion] = []
    # Comparisons from the space count as known, so that obvious questions are not asked.
    best = suggest_comparisons(
        made.embedding_,
        _SPARE * k,
        known=np.concatenate([given.made, given.said]),
        candidates=_candidates(given.ids, near, rng),
        random_state=seed,
    )
    for a, b, c in np.asarray(best).tolist():
        question = (a, *sorted((b, c)))
        picked = given.ids[[a, b, c]].tolist()
        if question not in asked and min(picked) > 0 and len(set(picked)) == 3 and len(found) < k:
            asked.add(question)
            found.append(ComparisonQuestion(*picked))
    return found


def _neighbourhoods(
    store: Store, view: DenseView, said: Sequence[Comparison], k: int, rng: np.random.Generator
) -> dict[int, list[int]]:
    """Return anchors with the pictures near each: some drawn at random, some compared before.

    Of those drawn, the ones with the nearest neighbours: others have no similar pictures.
    """
    n = int(np.clip(2 * k, LEAST_ANCHORS, MOST_ANCHORS))
    subjects = {one.anchor for one in said}
    before = sorted(set(log_tables.subjects_in_collection(store, subjects).values()))
    again = rng.permutation(before)[: n // AGAIN].tolist() if before else []
    every = np.fromiter(sorted(store.ids()), np.int64)
    drawn = rng.permutation(every)[: SPARE_ANCHORS * n].tolist()
    found: dict[int, tuple[float, list[int]]] = {}
    for anchor in dict.fromkeys([*again, *drawn]):
        row = view.row_of(anchor)
        if row is None:
            continue
        ids, scores = view.search_row(row, 2 * NEIGHBOURS + 1)
        kept = (ids != anchor) & (scores < view.space.duplicates_from)
        if np.count_nonzero(kept) < 2:
            kept = ids != anchor
        if np.count_nonzero(kept) >= 2:
            nearest = float(scores[kept][:NEIGHBOURS].mean())
            found[int(anchor)] = nearest, ids[kept][:NEIGHBOURS].tolist()
    order = sorted(found, key=lambda one: (one not in again, -found[one][0], one))
    return {anchor: found[anchor][1] for anchor in order[:n]}


def _candidates(
    ids: NDArray[np.int64], near: dict[int, list[int]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return every pair of an anchor's neighbours, by index in ``ids``, in random order."""
    place = {image: at for at, image in enumerate(ids.tolist()) if image}
    rows = [
        (place[anchor], place[one], place[other])
        for anchor, others in near.items()
        for one, other in combinations(others, 2)
        if anchor in place and one in place and other in place
    ]
    made = np.array(rows, np.int64).reshape(-1, 3)
    # The order must not reveal the answer.
    turned = rng.random(len(made)) < 0.5
    made[turned] = made[turned][:, [0, 2, 1]]
    return made
