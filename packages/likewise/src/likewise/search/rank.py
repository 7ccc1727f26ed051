"""Ranking: search the views of a similarity, filter, and fuse where there are several.

``both`` fuses the rankings of words and the best dense space by reciprocal ranks, of their first
thousand places (or ten times k).  Filters never change the ranking of a space: the search goes
deeper until enough pictures pass.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import CollectionError
from likewise.search.engine_views import EngineView, LazyFilter
from likewise.search.query import ResolvedQuery, SearchRequest, query_row
from likewise.search.reranker import ProfileReranker
from likewise.search.similarities import Similarity
from likewise.search.typed.evidence import Reason
from likewise.search.views import SpaceView, View, Views

# Cormack, Clarke & Büttcher (2009): rank r counts 1 / (60 + r).
FUSION_RANK = 60.0
FUSION_DEPTH = 1000
"""Places of each ranking that fusion looks at, or ten times k if that is more."""
DEEPEST = 50_000
"""Places down to which an engine is searched for pictures that pass a filter of a fused ranking;
from there on the rankings of those that pass are fused."""
FindReasons = Callable[[Iterable[int]], dict[int, tuple[Reason, ...]]]


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
    """Pictures found, best first; ``hint`` says what would improve the result, if anything.

    ``behind`` counts judgements that do not count yet: after an old judgement among very many was
    undone or contradicted, they are learned again, and until then the ranking is the earlier one.
    ``away`` is None where all pictures were searched; otherwise it names the engine that did not
    answer, and only pictures that it does not hold yet were searched.
    """

    hint: str | None = None
    behind: int = 0
    away: str | None = None


@dataclass(frozen=True)
class Answer:
    """Ids and scores of a search, best first; ``hint`` and ``behind`` as in :class:`Hits`.

    ``total`` is how many pictures typed words could show; ``engine_unavailable`` is ``Hits.away``.
    """

    ids: list[int]
    scores: list[float]
    hint: str | None = None
    total: int = 0
    behind: int = 0
    engine_unavailable: str | None = None
    find_reasons: FindReasons | None = None

    def reasons(self, images: Iterable[int]) -> dict[int, tuple[Reason, ...]]:
        """Return why pictures were found; only typed words have reasons."""
        return {} if self.find_reasons is None else self.find_reasons(images)


def rank(
    views: Views,
    request: SearchRequest,
    *,
    allowed: Container[int] | None = None,
    reranker: ProfileReranker | None = None,
) -> tuple[list[int], list[float]]:
    """Return ids and scores, best first: at most k that are allowed and score above the cut-off.

    Pictures that a reranker puts last come after all others, if at all.
    """
    query, k, above = request.query, request.k, request.above
    searched = similarity_views(views, request.similarity)
    rows = {name: query_row(view, query) for name, view in searched.items()}
    last: Set[int] = frozenset()
    if reranker is not None:
        rows = {name: reranker.row(searched[name], row) for name, row in rows.items()}
        last = reranker.ranked_last
    first_stages = {
        name: _first_stage(views, view, query, reranker) for name, view in searched.items()
    }
    size = max(len(view) for view in searched.values())
    own = query.own_pictures
    enough = wanted = k + len(own) + len(last)
    engines = all(isinstance(view, EngineView) for view in searched.values())
    passing = allowed if engines and isinstance(allowed, LazyFilter) else None
    while True:
        # A fused ranking is of all pictures; only very deep ones are of those that pass the filter.
        filtered = passing is not None and (len(searched) == 1 or wanted > DEEPEST)
        if filtered:
            wanted = enough
        ids, scores = _rank_once(
            request.similarity, searched, rows, min(wanted, size), first_stages,
            passing if filtered else None,
        )  # fmt: skip
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
    views: Views, view: View, query: ResolvedQuery, reranker: ProfileReranker | None
) -> tuple[SpaceView, Any] | None:
    """Return view and row of the first of an engine's two stages; None where it has one stage."""
    if not isinstance(view, EngineView) or view.first_space is None or query.vector is not None:
        return None
    first = views.view(view.first_space)
    try:
        row = query_row(first, query)
    except CollectionError:
        return None  # a picture without a row there is searched for among all
    return first, row if reranker is None else reranker.row(first, row)


def similarity_views(views: Views, similarity: Similarity) -> dict[str, View]:
    """Return the views that a similarity ranks by, by space: those of its model if it has one."""
    if similarity.model is not None:
        return {similarity.model.space: views.models.view(similarity.model.name)}
    return {name: views.search_view(name, similarity.profile) for name in similarity.spaces}


def _put_last(found: list[tuple[int, float]], last: Set[int]) -> list[tuple[int, float]]:
    """Move some pictures behind all others, and lower their scores to match."""
    if not last:
        return found
    first = [hit for hit in found if hit[0] not in last]
    lowest = first[-1][1] if first else np.inf
    return first + [(image, min(score, lowest)) for image, score in found if image in last]


def _rank_once(
    similarity: Similarity,
    views: Mapping[str, View],
    rows: Mapping[str, Any],
    wanted: int,
    first_stages: Mapping[str, tuple[SpaceView, Any] | None],
    passing: LazyFilter | None,
) -> tuple[Sequence[int], Sequence[float]]:
    """Rank by the one view, or fuse the rankings of several; return the ``wanted`` best."""

    def search(name: str, view: View, depth: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if isinstance(view, EngineView):
            return view.search_row(rows[name], depth, passing=passing, first=first_stages[name])
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
