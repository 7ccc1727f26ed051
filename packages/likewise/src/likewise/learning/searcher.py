"""Search as a profile learned to: a query, a similarity, and what was said about the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from likewise.catalog.filters import plain_where
from likewise.errors import CollectionError, InvalidInput, NoPlaces
from likewise.learning.profile_states import ProfileStates
from likewise.learning.reranker import ProfileReranker
from likewise.learning.similarities import Similarities
from likewise.learning.typed_search import BESIDE, TypedAnswer, TypedSearcher
from likewise.search import explain as explaining
from likewise.search.duplicates import find_duplicates
from likewise.search.engine_views import noting
from likewise.search.passing import Passing
from likewise.search.pixels import PixelsOf
from likewise.search.query import Query, Region, ResolvedQuery, resolve_query
from likewise.search.rank import Hit, Hits, rank, similarity_views
from likewise.search.similarities import Similarity
from likewise.search.typed.parse import clean_text, text_key
from likewise.search.typed.reasons import Reason, Struck
from likewise.search.views import Views
from likewise.spaces.base import ranked_spaces
from likewise.spaces.registry import open_spaces
from likewise_methods.validation import whole


class Ranking(NamedTuple):
    """Ids and scores, best first; ``behind`` and ``away`` as in :class:`Hits`."""

    ids: list[int]
    scores: list[float]
    behind: int = 0
    away: str | None = None


class Searcher:
    """Ranks pictures by a similarity, and says why."""

    def __init__(self, views: Views, states: ProfileStates, similarities: Similarities) -> None:
        self._store, self._views, self._states = views.store, views, states
        self._similarities = similarities
        self.typed = TypedSearcher(views, states)
        """Answers typed words."""

    def resolve_query(self, query: Query, region: Region | None = None) -> ResolvedQuery:
        """A query read once, for several searches and judgements: a file is decoded here."""
        return resolve_query(self._store, query, region, self._views.pixels_of)

    def decode_with(self, pixels_of: PixelsOf) -> None:
        """Have queries decoded by something else than this process."""
        self._views.pixels_of = pixels_of

    def resolve(
        self, query: Query | None, text: str | None, region: Region | None = None
    ) -> ResolvedQuery:
        """A picture, typed words, or words beside a picture."""
        if text is None:
            if query is None:
                raise InvalidInput("nothing is asked; a picture or text expected")
            return self.resolve_query(query, region)
        clean = clean_text(text)
        if query is None:
            return ResolvedQuery(key=text_key(clean), text=clean)
        picture = self.resolve_query(query, region)
        if picture.key is None:
            raise InvalidInput("words go beside a picture; a vector is none")
        return replace(picture, key=text_key(clean, picture.key), text=clean)

    def ask(
        self,
        text: str,
        k: int,
        *,
        query: Query | None = None,
        by: str = "default",
        region: Region | None = None,
        **options: Any,
    ) -> TypedAnswer:
        """Typed words, alone or beside a picture; see :class:`TypedSearcher`."""
        similarity = self._similarities.find(by)
        if query is None:
            if region is not None:
                raise InvalidInput("words have no region; give the picture it is of")
            with noting() as away:
                found = self.typed.ask(text, k, similarity, **options)
            return replace(found, away=_first(away))
        picture = self.resolve_query(query, region)
        reranker = self._reranker(similarity, picture)
        with noting() as away:
            found = self.typed.ask(
                text, k, similarity, picture=picture, picture_reranker=reranker, **options
            )
        behind = 0 if reranker is None else reranker.behind
        return replace(found, behind=max(found.behind, behind), away=_first(away))

    def rank(
        self,
        query: Query,
        k: int,
        *,
        by: str = "default",
        where: Mapping[str, Any] | None = None,
        region: Region | None = None,
        above: float | None = None,
    ) -> tuple[list[int], list[float]]:
        """Ids and scores of the k pictures most alike, best first."""
        found = self.ranking(query, k, by=by, where=where, region=region, above=above)
        return found.ids, found.scores

    def ranking(
        self,
        query: Query,
        k: int,
        *,
        by: str = "default",
        where: Mapping[str, Any] | None = None,
        region: Region | None = None,
        above: float | None = None,
    ) -> Ranking:
        """:meth:`rank`, and whether all that was judged is in it yet."""
        k = whole(k, "k")
        similarity = self._similarities.find(by)
        question = self.resolve_query(query, region)
        allowed = Passing(self._store, plain_where(where) if where else None)
        if self._views.engine.state() is None:
            allowed.look()
        if not self._store.highest_id():
            return Ranking([], [])
        reranker = self._reranker(similarity, question)
        with noting() as away:
            ids, scores = rank(
                self._views, similarity, question, k, allowed=allowed, above=above,
                reranker=reranker,
            )  # fmt: skip
        behind = 0 if reranker is None else reranker.behind
        return Ranking(ids, scores, behind, _first(away))

    def search(
        self,
        query: Query | None,
        k: int,
        *,
        text: str | None = None,
        without: Iterable[str] = (),
        weight: float = BESIDE,
        today: date | None = None,
        **options: Any,
    ) -> Hits:
        """:meth:`rank` or :meth:`ask`, with the paths of the pictures."""
        why: Mapping[int, tuple[Reason, ...]] = {}
        made = Hits()
        if text is not None:
            answer = self.ask(
                text, k, query=query, without=without, weight=weight, today=today, **options
            )
            ids, scores, made.hint = answer.ids, answer.scores, answer.hint
            made.behind, made.away = answer.behind, answer.away
            why = answer.reasons(ids)
        else:
            if Struck(without).keys:
                raise InvalidInput("without belongs to text; a picture alone has no reasons")
            question = self.resolve(query, None, options.pop("region", None))
            ids, scores, made.behind, made.away = self.ranking(question, k, **options)
        paths = self._store.paths(ids)
        # A picture removed since the views were taken has no row any more.
        made += [
            Hit(i, paths[i], s, why.get(i, ()))
            for i, s in zip(ids, scores, strict=True)
            if i in paths
        ]
        return made

    def count_ranked(self, by: str = "default") -> int:
        """How many pictures a similarity can rank: those that have its vectors."""
        similarity = self._similarities.find(by)
        if not self._store.highest_id():
            return 0
        found = max(map(len, similarity_views(self._views, similarity).values()))
        return max(0, found - len(self._store.hidden()))

    def explain(
        self, query: Query, hit: int, *, top: int, by: str, region: Region | None
    ) -> explaining.Explanation:
        """What makes the score of a query and a hit, as the similarity counts it."""
        similarity = self._similarities.find(by)
        space = explaining.explaining_space(open_spaces(self._store), similarity)
        if space is None:
            raise NoPlaces(
                f"{by!r} has no places to explain by: it compares pictures as a whole; "
                "--by look, deep or words has"
            )
        reranker = None
        if similarity.profile is not None:
            reranker = self._reranker(similarity, self.resolve_query(query, region))
        made = explaining.explain(self._views, query, hit, top, space, region, reranker)
        return replace(made, exact=similarity.model is None and len(similarity.spaces) == 1)

    def duplicates(self, space: str | None, threshold: float | None) -> list[list[Hit]]:
        """Groups of pictures linked by a score of at least ``threshold``."""
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

    def _reranker(self, similarity: Similarity, question: ResolvedQuery) -> ProfileReranker | None:
        """What was learned for a query; None for a similarity that is no profile."""
        if similarity.profile is None:
            return None
        return ProfileReranker(self._store, self._states, similarity.profile, question.key)


def _first(said: Sequence[str]) -> str | None:
    """One engine answers: what it did not is said once."""
    return said[0] if said else None
