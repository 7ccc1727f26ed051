"""The searcher: builds a request from what a caller passes, ranks, and explains."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from likewise.catalog.filters import plain_where
from likewise.errors import CollectionError, InvalidInput, NoPlaces
from likewise.search.duplicates import find_duplicates
from likewise.search.engine_views import LazyFilter, engine_warnings
from likewise.search.explain import Explainer
from likewise.search.query import (
    PICTURE_WEIGHT,
    DecodePixels,
    Query,
    Region,
    ResolvedQuery,
    SearchRequest,
    resolve_query,
)
from likewise.search.rank import Answer, Hit, Hits, rank, similarity_views
from likewise.search.reranker import LearnedState, ProfileReranker
from likewise.search.similarities import Similarities, Similarity, explaining_space
from likewise.search.typed.evidence import IgnoredReasons
from likewise.search.typed.parse import clean_text, parse_text, text_key
from likewise.search.typed.search import TypedSearcher
from likewise.search.views import Views
from likewise.spaces.base import ranked_spaces
from likewise.spaces.registry import open_spaces
from likewise_methods.validation import number, whole


class Searcher:
    """Ranks pictures by a similarity, and explains hits."""

    def __init__(self, views: Views, states: LearnedState, similarities: Similarities) -> None:
        self._store, self._views, self._states = views.store, views, states
        self._similarities = similarities
        self.typed = TypedSearcher(views, states)

    def search(self, query: Query | None, k: int, **options: Any) -> Hits:
        """Return the k best pictures with paths and reasons; options as for :meth:`request`."""
        answer = self.find(query, k, **options)
        paths, why = self._store.paths(answer.ids), answer.reasons(answer.ids)
        hits = Hits(
            Hit(i, paths[i], score, why.get(i, ()))
            for i, score in zip(answer.ids, answer.scores, strict=True)
            if i in paths  # else it was removed during the search
        )
        hits.hint, hits.behind, hits.away = answer.hint, answer.behind, answer.engine_unavailable
        return hits

    def find(self, query: Query | None, k: int, **options: Any) -> Answer:
        """Return ids and scores of the k best pictures; options as for :meth:`request`."""
        request = self.request(query, k, **options)
        reranker = self._reranker(request.similarity, request.query)
        with engine_warnings() as warnings:
            if request.text is not None:
                answer = self.typed.search(request, reranker)
            else:
                answer = self._rank(request, reranker)
        return replace(answer, engine_unavailable=warnings[0]) if warnings else answer

    def _rank(self, request: SearchRequest, reranker: ProfileReranker | None) -> Answer:
        allowed: Container[int] | None
        if self._views.engine.state() is None:
            allowed = self._store.allowed(request.where)
        else:
            allowed = LazyFilter(self._store, request.where)
        if not self._store.highest_id():
            return Answer([], [])
        ids, scores = rank(self._views, request, allowed=allowed, reranker=reranker)
        return Answer(ids, scores, behind=0 if reranker is None else reranker.behind)

    def request(
        self,
        query: Query | None,
        k: int,
        *,
        text: str | None = None,
        by: str = "default",
        where: Mapping[str, Any] | None = None,
        region: Region | None = None,
        above: float | None = None,
        without: Iterable[str] = (),
        weight: float = PICTURE_WEIGHT,
        today: date | None = None,
    ) -> SearchRequest:
        """Check the arguments of a search; resolve its query, its similarity and its words."""
        ignored, today = IgnoredReasons(without), today or date.today()
        if text is None and ignored.keys:
            raise InvalidInput("without belongs to text; a picture alone has no reasons")
        if text is not None and query is None and region is not None:
            raise InvalidInput("words have no region; give the picture it is of")
        return SearchRequest(
            query=self.resolve(query, text if query is None else None, region),
            similarity=self._similarities.find(by),
            k=whole(k, "k"),
            where=plain_where(where) if where else None,
            above=above,
            text=None if text is None else parse_text(text, today),
            ignored=ignored,
            picture_weight=number(weight, "weight", least=0, most=1),
            today=today,
        )

    def resolve(
        self, query: Query | None, text: str | None = None, region: Region | None = None
    ) -> ResolvedQuery:
        """Resolve a picture, typed words, or both; several searches and judgements can share it."""
        clean = None if text is None else clean_text(text)
        if query is None:
            if clean is None:
                raise InvalidInput("the query is empty; a picture or text expected")
            return ResolvedQuery(key=text_key(clean), text=clean)
        picture = resolve_query(self._store, query, region, self._views.decode_pixels)
        if clean is None:
            return picture
        if picture.key is None:
            raise InvalidInput("words go with a picture; a vector is not one")
        return replace(picture, key=text_key(clean, picture.key), text=clean)

    def decode_with(self, decode_pixels: DecodePixels) -> None:
        """Decode queries by a function instead of in this process."""
        self._views.decode_pixels = decode_pixels

    def count_ranked(self, by: str = "default") -> int:
        """Count the pictures that a similarity can rank: those that have its vectors."""
        similarity = self._similarities.find(by)
        if not self._store.highest_id():
            return 0
        found = max(map(len, similarity_views(self._views, similarity).values()))
        return max(0, found - len(self._store.hidden()))

    def explainer(
        self,
        query: Query,
        by: str = "default",
        region: Region | None = None,
        resolved: ResolvedQuery | None = None,
    ) -> Explainer:
        """Return an explainer of a query's hits; ``resolved`` saves decoding the query again."""
        similarity = self._similarities.find(by)
        space = explaining_space(open_spaces(self._store), similarity)
        if space is None:
            raise NoPlaces(
                f"{by!r} has no places to explain by: it compares pictures as a whole; use --by "
                "look, deep or words ('likewise admin spaces add' adds one)"
            )
        resolved = self.resolve(query, region=region) if resolved is None else resolved
        return Explainer(
            self._views,
            query,
            resolved,
            space,
            region=region,
            reranker=self._reranker(similarity, resolved),
            exact=similarity.model is None and len(similarity.spaces) == 1,
        )

    def duplicates(self, space: str | None, threshold: float | None) -> list[list[Hit]]:
        """Return groups of pictures linked by a score of at least ``threshold`` in a space."""
        known = open_spaces(self._store)
        if space is None:
            best = ranked_spaces(known, lambda one: one.duplicates_rank)
            space = best[0].name if best else next(iter(known))
        if space not in known:
            raise CollectionError(
                f"{space!r} is no space; near-duplicates are found in one of {', '.join(known)}"
            )
        if threshold is None:
            threshold = known[space].duplicates_from
        return find_duplicates(self._views, space, threshold)

    def _reranker(self, similarity: Similarity, query: ResolvedQuery) -> ProfileReranker | None:
        """Return the reranker of a picture query; None for words, or without a profile."""
        if similarity.profile is None or not query.has_picture:
            return None
        return ProfileReranker(self._store, self._states, similarity.profile, query.key)
