"""Search by typed words, as a profile learned to: evidence, meaning and verdicts, fused.

A picture's score is what is written about it (0 to 3, ``search/typed/evidence.py``) and how far it
looks as meant (below 1, reciprocal ranks), so that certain things come first and looks decide
between equals; liked pictures come before all others, disliked and unwanted ones last or not at
all.  Equal scores are in the order of ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._validation import number, whole
from likewise.collection.feedback.profile_states import ProfileStates
from likewise.collection.feedback.reranker import ProfileReranker
from likewise.collection.filters_and_metadata import plain_where
from likewise.collection.search.query import ResolvedQuery
from likewise.collection.search.rank import FUSION_DEPTH, Reranker, rank
from likewise.collection.search.similarities import Similarity
from likewise.collection.search.typed import evidence, meaning
from likewise.collection.search.typed.evidence import Found, NearTag
from likewise.collection.search.typed.meaning import Ranking, Statistics
from likewise.collection.search.typed.parse import Term, TypedQuery, read_text, text_key
from likewise.collection.search.typed.reasons import Reason, Struck
from likewise.collection.search.typed.texts import ONLY_WRITTEN, Texts, missing_hint
from likewise.collection.search.views import Views
from likewise.collection.spaces.base import Space, TextRow
from likewise.collection.spaces.registry import open_spaces
from likewise.collection.store import log_tables, written
from likewise.collection.store.store import Store

MOST_LOOKS = 0.999
"""What looks count at most: less than anything written about a whole query."""
LIKES_COUNT = 3
"""Liked pictures beyond this make the space of looks count no more."""
BESIDE = 0.5
"""What the picture of a query counts among its looks, beside the words."""

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class TypedAnswer:
    """Pictures that answer to typed words, best first, and what is known of why.

    ``hint`` says what would make the answer better; None where nothing is missing.
    """

    ids: list[int]
    scores: list[float]
    hint: str | None
    names: tuple[str, ...] = ()
    _store: Store | None = None
    _terms: tuple[Term, ...] = ()
    _near: tuple[NearTag, ...] = ()
    _struck: Struck = field(default_factory=Struck)
    _seen: Set[int] = frozenset()
    _liked: Set[int] = frozenset()
    _text: str = ""
    _beside: str = ""

    def reasons(self, images: Iterable[int]) -> dict[int, tuple[Reason, ...]]:
        """Why some of the pictures are there, the most certain reason first."""
        asked = list(images)
        if self._store is None or not asked:
            return {}
        said = written.written_about(self._store, asked)
        dates = {
            term.typed: set(evidence.dated(self._store, term.span).tolist())
            for term in self._terms
            if term.span is not None
        }
        found: dict[int, tuple[Reason, ...]] = {}
        for image in asked:
            taken = {typed: image in ids for typed, ids in dates.items()}
            why = [Reason("liked", self._text)] if image in self._liked else []
            if image in said:
                why += evidence.reasons_written(
                    said[image], self._terms, self._near, taken, self._struck
                )
            if image in self._seen and self.names:
                why.append(Reason("looks", ", ".join(self.names)))
            if image in self._seen and self._beside:
                why.append(Reason("like", self._beside))
            found[image] = tuple(why)
        return found


class TypedSearcher:
    """Answers typed words over one collection."""

    def __init__(self, views: Views, states: ProfileStates) -> None:
        self._store, self._views, self._states = views.store, views, states
        self.texts = Texts(views.store)
        self._statistics = Statistics(views)

    def ask(
        self,
        text: str,
        k: int,
        similarity: Similarity,
        *,
        picture: ResolvedQuery | None = None,
        where: Mapping[str, Any] | None = None,
        above: float | None = None,
        without: Iterable[str] = (),
        today: date | None = None,
        weight: float = BESIDE,
        picture_reranker: Reranker | None = None,
    ) -> TypedAnswer:
        """The k pictures that answer best; ``weight`` is what a picture beside the words counts."""
        k, weight = whole(k, "k"), number(weight, "weight", least=0, most=1)
        struck = Struck(without)
        query = read_text(text, today or date.today())
        if not self._store.highest_id():
            return TypedAnswer([], [], None)
        allowed = self._store.matching(plain_where(where)) if where else None
        asked = _Asked(query, struck, similarity, picture)
        spaces = open_spaces(self._store)
        reader = None if struck.kind("looks") else meaning.text_space(spaces, self.texts)
        said = self._verdicts(asked)
        near = self.texts.near_tags(query) if reader is not None or self._has_tags() else []
        minus = self.texts.near_tags(query, unwanted=True) if query.minus else []
        found = self._count_liked(
            evidence.gather(self._store, query.terms, near, struck), said.own_liked
        )
        unwanted = evidence.gather_unwanted(self._store, query.minus, minus)
        row = self._read(reader, query, struck)
        size = self._store.n_images()
        depth = max(FUSION_DEPTH, 10 * k)
        while True:
            rankings = self._rankings(asked, said, reader, spaces, row, min(depth, size))
            if picture is not None:
                rankings = self._beside(asked, rankings, weight, min(depth, size), picture_reranker)
            seen, looks = meaning.fuse(rankings)
            if not rankings and not query.terms:
                # Only words that are not wanted: everything else, in the order of ids.
                seen = np.array(sorted(self._store.ids()), np.int64)
                looks = np.zeros(len(seen))
            ids, scores = _combine(found, seen, looks, unwanted)
            out = set(unwanted.surely.tolist()) | asked.apart
            keep = np.array(
                [i not in out and (allowed is None or i in allowed) for i in ids.tolist()], bool
            )
            if above is not None:
                keep &= scores >= above
            if keep.sum() >= k or depth >= size or (above is not None and not keep.all()):
                break
            depth *= 8
        ids, scores = _put_last(ids[keep], scores[keep], said.last)
        order = np.lexsort((ids, -scores))[:k]
        return TypedAnswer(
            ids[order].tolist(), scores[order].tolist(), self._hint(reader, spaces, query),
            () if row is None else row.names, self._store, query.terms, tuple(near), struck,
            frozenset(seen.tolist()), said.own_liked, query.text,
            self._beside_what(picture, row, said),
        )  # fmt: skip

    @staticmethod
    def _beside_what(picture: ResolvedQuery | None, row: TextRow | None, said: _Said) -> str:
        """What else than words the looks of an answer are compared with, for its reasons."""
        if picture is not None:
            return "the picture"
        return "what was liked" if row is None and said.liked else ""

    # -- parts ------------------------------------------------------------------------------

    def _has_tags(self) -> bool:
        return bool(written.tag_names(self._store, 1))

    def _read(self, reader: Space | None, query: TypedQuery, struck: Struck) -> TextRow | None:
        if reader is None or not (query.meaning or query.unwanted):
            return None
        return meaning.read_texts(
            reader, self.texts, self._statistics, query.meaning, query.unwanted,
            struck.values("looks"),
        )  # fmt: skip

    def _rankings(
        self,
        asked: _Asked,
        said: _Said,
        reader: Space | None,
        spaces: Mapping[str, Space],
        row: TextRow | None,
        depth: int,
    ) -> list[Ranking]:
        """Pictures by the text's row, and by its first answers and what was liked."""
        found: list[Ranking] = []
        first: Sequence[int] = ()
        if row is not None and reader is not None:
            ids, _ = meaning.dense_view(self._views, reader).search_row(row.row, depth)
            found.append(Ranking(ids, 1.0))
            first = [i for i in ids[: 4 * meaning.FIRST].tolist() if i not in said.last]
            first = first[: meaning.FIRST]
        n_liked = len(said.liked)
        space = meaning.feedback_space(spaces, reader)
        if space is None or not (first or n_liked) or asked.struck.kind("looks"):
            return found
        view = meaning.dense_view(self._views, space)
        start = first or sorted(said.liked)
        _, rows = view.rows_of(start)
        if not len(rows):
            return found
        middle = rows.astype(np.float64).mean(axis=0)
        asking = np.asarray(middle / (np.linalg.norm(middle) or 1.0), np.float32)
        if said.reranker is not None:
            asking = said.reranker.row(view, asking)
        ids, _ = view.search_row(asking, depth)
        found.append(Ranking(ids, 1.0 + min(n_liked, LIKES_COUNT)))
        return found

    def _beside(
        self,
        asked: _Asked,
        rankings: list[Ranking],
        weight: float,
        depth: int,
        reranker: Reranker | None,
    ) -> list[Ranking]:
        """The rankings of a text with that of the picture it was asked beside."""
        assert asked.picture is not None
        ids, _ = rank(
            self._views, asked.similarity, asked.picture, depth, allowed=None, above=None,
            reranker=reranker,
        )  # fmt: skip
        alone = Ranking(np.array(ids, np.int64), weight if rankings else 1.0)
        total = sum(one.weight for one in rankings) or 1.0
        others = [Ranking(one.ids, (1 - weight) * one.weight / total) for one in rankings]
        return [one for one in (*others, alone) if one.weight > 0]

    def _verdicts(self, asked: _Asked) -> _Said:
        """What was said under this text, and under texts that mean the like."""
        profile = asked.similarity.profile
        if profile is None or asked.struck.kind("liked"):
            return _Said()
        near: list[int] = []
        if asked.picture is None:
            known = log_tables.text_subjects(self._store)
            near = self.texts.near_texts(asked.query.meaning or asked.query.text, known)
        reranker = ProfileReranker(self._store, self._states, profile, asked.key, near=near)
        own, liked = (
            frozenset(log_tables.subjects_in_collection(self._store, some).values())
            for some in (reranker.own_liked, reranker.liked)
        )
        return _Said(reranker, own, liked, frozenset(reranker.last))

    @staticmethod
    def _count_liked(found: Found, liked: Set[int]) -> Found:
        """Evidence, with what a person liked for this very query before all else."""
        if not liked:
            return found
        more = np.array(sorted(liked), np.int64)
        ids = np.union1d(found.ids, more)
        values = np.zeros(len(ids))
        values[np.searchsorted(ids, found.ids)] = found.values
        values[np.searchsorted(ids, more)] = evidence.LIKED
        return Found(ids, values)

    def _hint(
        self, reader: Space | None, spaces: Mapping[str, Space], query: TypedQuery
    ) -> str | None:
        if not query.meaning or reader is not None:
            return None
        if not any(one.text_rank is not None and one.generation for one in spaces.values()):
            return f"{ONLY_WRITTEN}; to find pictures by meaning: likewise space add deep-dense"
        return missing_hint()


@dataclass(frozen=True)
class _Asked:
    """One question."""

    query: TypedQuery
    struck: Struck
    similarity: Similarity
    picture: ResolvedQuery | None

    @property
    def key(self) -> bytes:
        beside = b"" if self.picture is None else self.picture.key or b""
        return text_key(self.query.text, beside)

    @property
    def apart(self) -> set[int]:
        """The picture that is asked with is no answer."""
        image = None if self.picture is None else self.picture.image
        return set() if image is None else {image}


@dataclass(frozen=True)
class _Said:
    """What people said that bears on a text: pictures liked under it, or under near ones too, and
    pictures that come last."""

    reranker: ProfileReranker | None = None
    own_liked: Set[int] = frozenset()
    liked: Set[int] = frozenset()
    last: Set[int] = frozenset()


def _combine(
    found: Found,
    seen: Ids,
    looks: NDArray[np.float64],
    unwanted: evidence.Unwanted,
) -> tuple[Ids, NDArray[np.float64]]:
    """Ids, ascending, and their scores: what is written, what is seen, less what is unwanted."""
    ids = np.union1d(found.ids, seen)
    scores = np.zeros(len(ids))
    scores[np.searchsorted(ids, found.ids)] += found.values
    scores[np.searchsorted(ids, seen)] += MOST_LOOKS * looks
    likely, costs = unwanted.likely
    at = np.searchsorted(ids, likely)
    there = np.flatnonzero(at < len(ids))
    there = there[ids[at[there]] == likely[there]]
    scores[at[there]] -= costs[there]
    return ids, scores


def _put_last(
    ids: Ids, scores: NDArray[np.float64], last: Set[int]
) -> tuple[Ids, NDArray[np.float64]]:
    """Some pictures after all others, with scores that say so."""
    if not last or not len(ids):
        return ids, scores
    late = np.isin(ids, np.array(sorted(last), np.int64))
    floor = min(float(scores[~late].min(initial=0.0)), 0.0)
    made = scores.copy()
    # Below everything, and still in their own order.
    made[late] = floor - 1.0 - (scores[late].max(initial=0.0) - scores[late])
    return ids, made
