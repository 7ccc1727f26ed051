"""Ranking: the views of a similarity are asked, filtered, and fused where there are several.

``both`` fuses the rankings of words and the best dense space by reciprocal ranks, of their first
thousand places (or ten times what is asked for).  Filters never change the ranking of a space:
more is asked for until enough of it passes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.errors import CollectionError
from likewise.search.engine_views import EngineView
from likewise.search.passing import Passing
from likewise.search.query import ResolvedQuery, query_row
from likewise.search.similarities import Similarity
from likewise.search.typed.reasons import Reason
from likewise.search.views import SpaceView, View, Views

# Cormack, Clarke & Büttcher (2009): rank r counts 1 / (60 + r).
FUSION_RANK = 60.0
FUSION_DEPTH = 1000
"""Places of each ranking that fusion looks at, or ten times k if that is more."""
DEEPEST = 50_000
"""Places down to which an engine is asked for pictures that pass a filter of a fused ranking; then
the rankings of those that pass are fused."""


@dataclass(frozen=True)
class Hit:
    """One picture found; higher scores are better.  Typed words have ``reasons``.

    See Also
    --------
    Collection : ``search`` gives them.
    """

    id: int
    path: str
    score: float
    reasons: tuple[Reason, ...] = ()


class Hits(list[Hit]):
    """Pictures found, best first; ``hint`` says what would make the answer better, if anything.

    ``behind`` is 0 where all that was judged counts.  After an old judgement among very many was
    taken back or contradicted, it counts those still to be learned anew: until then the ranking
    is that of before.  ``away`` is None where all pictures were searched; else it says which engine
    did not answer, and that only pictures it does not hold yet were.
    """

    hint: str | None = None
    behind: int = 0
    away: str | None = None


class Reranker(Protocol):
    """What was learned, as far as it bears on one query."""

    last: Set[int]

    def row(self, view: View, row: Any) -> Any:
        """The query's row in a space, changed by what was learned."""

    def split(self, view: View, row: Any, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What parts that add up to the query's row become by the same change.

        Their sum falls short of :meth:`row` by what was mixed into the query.
        """


def rank(
    views: Views,
    similarity: Similarity,
    query: ResolvedQuery,
    k: int,
    *,
    allowed: Container[int] | None,
    above: float | None,
    reranker: Reranker | None = None,
) -> tuple[list[int], list[float]]:
    """Ids and scores, best first: at most k that are allowed and score above the cut-off.

    Pictures a reranker names last come after all others, if at all.
    """
    asked = similarity_views(views, similarity)
    rows = {name: query_row(view, query) for name, view in asked.items()}
    last: Set[int] = frozenset()
    if reranker is not None:
        rows = {name: reranker.row(asked[name], row) for name, row in rows.items()}
        last = reranker.last
    firsts = {name: _first_stage(views, view, query, reranker) for name, view in asked.items()}
    size = max(len(view) for view in asked.values())
    own = query.own
    enough = wanted = k + len(own) + len(last)
    engines = all(isinstance(view, EngineView) for view in asked.values())
    passing = allowed if engines and isinstance(allowed, Passing) else None
    while True:
        # Places in a fused ranking are those among all pictures, whatever passes.
        filtered = passing is not None and (len(asked) == 1 or wanted > DEEPEST)
        if filtered:
            wanted = enough
        ids, scores = _rank_once(
            similarity, asked, rows, min(wanted, size), firsts, passing if filtered else None
        )
        keep = [
            (int(i), float(s))
            for i, s in zip(ids, scores, strict=True)
            if int(i) not in own
            and (filtered or allowed is None or int(i) in allowed)
            and (above is None or s >= above)
        ]
        low = above is not None and len(scores) > 0 and float(scores[-1]) < above
        if filtered or len(keep) - len(last) >= k or wanted >= size or low:
            keep = _put_last(keep, last)[:k]
            return [i for i, _ in keep], [s for _, s in keep]
        wanted = min(size, 8 * wanted)


def _first_stage(
    views: Views, view: View, query: ResolvedQuery, reranker: Reranker | None
) -> tuple[SpaceView, Any] | None:
    """The view and the row of the first of two stages; None: there is one."""
    if not isinstance(view, EngineView) or view.first_space is None or query.vector is not None:
        return None
    first = views.view(view.first_space)
    try:
        row = query_row(first, query)
    except CollectionError:
        return None  # a picture without a row there is searched for among all
    return first, row if reranker is None else reranker.row(first, row)


def similarity_views(views: Views, similarity: Similarity) -> dict[str, View]:
    """The views a similarity ranks by, by space: its model's own where it has one."""
    if similarity.model is not None:
        return {similarity.model.space: views.models.view(similarity.model.name)}
    return {name: views.asked(name, similarity.profile) for name in similarity.spaces}


def _put_last(found: list[tuple[int, float]], last: Set[int]) -> list[tuple[int, float]]:
    """Some pictures after all others, with scores that say so."""
    if not last:
        return found
    first = [hit for hit in found if hit[0] not in last]
    floor = first[-1][1] if first else np.inf
    return first + [(image, min(score, floor)) for image, score in found if image in last]


def _rank_once(
    similarity: Similarity,
    views: Mapping[str, View],
    rows: Mapping[str, Any],
    wanted: int,
    firsts: Mapping[str, tuple[SpaceView, Any] | None],
    passing: Passing | None,
) -> tuple[Sequence[int], Sequence[float]]:
    def search(name: str, view: View, depth: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if isinstance(view, EngineView):
            return view.search_row(rows[name], depth, passing=passing, first=firsts[name])
        return view.search_row(rows[name], depth)

    if len(views) == 1:
        ((name, view),) = views.items()
        ids, scores = search(name, view, wanted)
        return ids.tolist(), scores.tolist()
    depth = max(FUSION_DEPTH, 10 * wanted)
    total: dict[int, float] = {}
    for name, view in views.items():
        ids, scores = search(name, view, depth)
        # Pictures without a word in common are in no order; their places would be noise.
        ordered = ids if view.space.row_format.ranks_zero else ids[scores > 0]
        for place, image in enumerate(ordered.tolist()):
            share = similarity.spaces[name] / (FUSION_RANK + 1 + place)
            total[image] = total.get(image, 0.0) + share
    order = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:wanted]
    return [image for image, _ in order], [score for _, score in order]
