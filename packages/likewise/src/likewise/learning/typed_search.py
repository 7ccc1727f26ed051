"""Search by typed words, as a profile learned to: evidence, meaning and verdicts, fused.

A picture's score is what is written about it (0 to 3, ``search/typed/evidence.py``) and how far it
looks as meant (below 1): docs/methods/words.md, (6).  So it is that certain things come first and
looks decide between equals; liked pictures come before all others, disliked and unwanted ones last
or not at all.  Equal scores are in the order of ids.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables, word_index
from likewise.catalog.filters import plain_where
from likewise.catalog.store import Store
from likewise.learning.profile_states import ProfileStates
from likewise.learning.reranker import ProfileReranker
from likewise.search.query import ResolvedQuery
from likewise.search.rank import FUSION_DEPTH, Reranker, rank
from likewise.search.similarities import Similarity
from likewise.search.typed import evidence, meaning
from likewise.search.typed.evidence import Found, NearTag
from likewise.search.typed.meaning import Part, Statistics
from likewise.search.typed.parse import Term, TypedQuery, read_text, text_key
from likewise.search.typed.reasons import Reason, Struck
from likewise.search.typed.texts import ONLY_WRITTEN, Texts, missing_hint
from likewise.search.views import Views
from likewise.spaces.base import Space, TextRow
from likewise.spaces.registry import open_spaces
from likewise.vision.text.feedback import FIRST, mean_row, text_share
from likewise_methods.validation import number, whole

MOST_LOOKS = 0.999
"""What looks count at most: less than anything written about a whole query."""
UNSURE = (
    "nothing that pictures are told apart by is near to these words; other words, or English ones, "
    "may find more"
)
"""The hint where looks are not to be trusted."""
CONVINCING = 1 / (1 + math.exp(-0.75))
"""Looks from which on a picture is said to look as meant: three quarters of a deviation above the
collection, so that it is said of most of them where half of the collection does."""
BESIDE = 0.5
"""What the picture of a query counts among its looks, beside the words."""

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TypedAnswer:
    """Pictures that answer to typed words, best first, and what is known of why.

    ``hint`` says what would make the answer better; None where nothing is missing.  ``total`` is
    how many pictures could be answered with, ``behind`` and ``away`` are those of :class:`Hits`.
    """

    ids: list[int]
    scores: list[float]
    hint: str | None
    total: int = 0
    names: tuple[str, ...] = ()
    _store: Store | None = None
    _terms: tuple[Term, ...] = ()
    _near: tuple[NearTag, ...] = ()
    _struck: Struck = field(default_factory=Struck)
    _seen: Set[int] = frozenset()
    _looks: Set[int] = frozenset()
    _liked: Set[int] = frozenset()
    _text: str = ""
    _beside: str = ""
    behind: int = 0
    away: str | None = None

    def reasons(self, images: Iterable[int]) -> dict[int, tuple[Reason, ...]]:
        """Why some of the pictures are there, the most certain reason first."""
        asked = list(images)
        if self._store is None or not asked:
            return {}
        said = word_index.written_about(self._store, asked)
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
            if image in self._looks and self.names:
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
        today = today or date.today()
        query = read_text(text, today)
        if not self._store.highest_id():
            return TypedAnswer([], [], None)
        allowed = self._store.allowed(plain_where(where) if where else None)
        asked = _Asked(query, struck, similarity, picture, today)
        spaces = open_spaces(self._store)
        reader = None if struck.kind("looks") else meaning.text_space(spaces, self.texts)
        said = self._verdicts(asked)
        near = self.texts.near_tags(query)
        minus = self.texts.near_tags(query, unwanted=True) if query.minus else []
        found = self._count_liked(
            evidence.gather(self._store, query.terms, near, struck), said.own_liked
        )
        unwanted = evidence.gather_unwanted(self._store, query.minus, minus)
        row = self._read(reader, query, struck)
        size = self._store.n_images()
        depth = max(FUSION_DEPTH, 10 * k)
        while True:
            seen, values, convincing = self._looks(
                asked, said, reader, spaces, row, min(depth, size)
            )
            if picture is not None:
                looks = seen, values
                seen, values = self._beside(
                    asked, looks, weight, min(depth, size), picture_reranker
                )
            if not len(seen) and not query.terms and query.minus:
                # Only words that are not wanted: everything else, in the order of ids.
                seen = np.array(sorted(self._store.ids()), np.int64)
                values = np.zeros(len(seen))
            ids, scores = _combine(found, seen, values, unwanted)
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
            ids[order].tolist(), scores[order].tolist(), self._hint(asked, reader, spaces, row),
            _total(int(keep.sum()), len(values) > 0 and depth < size, size - len(out)),
            () if row is None else row.names, self._store, query.terms, tuple(near), struck,
            frozenset(seen.tolist()), convincing, said.own_liked, query.text,
            self._beside_what(picture, row, said),
            0 if said.reranker is None else said.reranker.behind,
        )  # fmt: skip

    @staticmethod
    def _beside_what(picture: ResolvedQuery | None, row: TextRow | None, said: _Said) -> str:
        """What else than words the looks of an answer are compared with, for its reasons."""
        if picture is not None:
            return "the picture"
        return "what was liked" if row is None and said.liked else ""

    # -- parts ------------------------------------------------------------------------------

    def _read(self, reader: Space | None, query: TypedQuery, struck: Struck) -> TextRow | None:
        if reader is None or not (query.meaning or query.unwanted):
            return None
        return meaning.read_texts(
            reader, self.texts, self._statistics, query.meaning, query.unwanted,
            struck.values("looks"),
        )  # fmt: skip

    def _looks(
        self,
        asked: _Asked,
        said: _Said,
        reader: Space | None,
        spaces: Mapping[str, Space],
        row: TextRow | None,
        depth: int,
    ) -> tuple[Ids, Floats, frozenset[int]]:
        """Pictures that look as meant, by the text's row, its first answers and what was liked.

        The last are those that look so to a degree that can be told as a reason.
        """
        parts: list[Part] = []
        own: list[int] = []
        if row is not None and reader is not None:
            share = text_share(len(said.liked))
            parts.append(meaning.see(self._views, reader, row.row, share, depth))
            own = parts[0].found[0].tolist()
        space = meaning.feedback_space(spaces, reader)
        if space is not None and not asked.struck.kind("looks"):
            asking = self._asking(space, said, own)
            if asking is not None:
                share = 1 - sum(part.share for part in parts)
                parts.append(meaning.see(self._views, space, asking, share, depth))
        ids, values = meaning.look(self._views, self._statistics, parts)
        # Of the first answer it is said in any case: it is why it is the first.
        enough = min(CONVINCING, float(values.max(initial=0.0)))
        convincing = frozenset(ids[values >= enough].tolist())
        if own and len(parts) > 1 and not said.liked:
            values = meaning.weave(ids, values, own)
        return ids, values, convincing

    def _asking(self, space: Space, said: _Said, own: Sequence[int]) -> Any:
        """What was liked, or else the text's first answers, as a row; None: there is neither."""
        view = meaning.dense_view(self._views, space)
        _, liked = view.rows_of(sorted(said.liked))
        if len(liked):
            row: Any = np.asarray(mean_row(liked), np.float32)
        else:
            first = [image for image in own if image not in said.last][:FIRST]
            row = meaning.second_look(self._views, space, first, said.last)
        if row is None or said.reranker is None:
            return row
        return said.reranker.row(view, row)

    def _beside(
        self,
        asked: _Asked,
        looks: tuple[Ids, Floats],
        weight: float,
        depth: int,
        reranker: Reranker | None,
    ) -> tuple[Ids, Floats]:
        """The looks of a text, mixed with likeness to the picture it was asked beside."""
        assert asked.picture is not None
        ids, _ = rank(
            self._views, asked.similarity, asked.picture, depth, allowed=None, above=None,
            reranker=reranker,
        )  # fmt: skip
        return meaning.mix(meaning.reciprocal(ids), looks, weight if len(looks[0]) else 1.0)

    def _verdicts(self, asked: _Asked) -> _Said:
        """What was said under this text, and under texts that mean the like."""
        profile = asked.similarity.profile
        if profile is None or asked.struck.kind("liked"):
            return _Said()
        near: list[int] = []
        if asked.picture is None:
            near = self.texts.near_texts(asked.query.meaning, self._judged_alike(asked))
        reranker = ProfileReranker(self._store, self._states, profile, asked.key, near=near)
        own, liked = (
            frozenset(log_tables.subjects_in_collection(self._store, some).values())
            for some in (reranker.own_liked, reranker.liked)
        )
        return _Said(reranker, own, liked, frozenset(reranker.last))

    def _judged_alike(self, asked: _Asked) -> dict[int, str]:
        """Judged texts, by subject, that have the same dates and the same words unwanted.

        Vectors say little about either: "beach" and "beach -people" are near to each other.
        """
        found: dict[int, str] = {}
        for subject, text in log_tables.text_subjects(self._store).items():
            judged = read_text(text, asked.today)
            if judged.meaning and _besides(judged) == _besides(asked.query):
                found[subject] = judged.meaning
        return found

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
        self,
        asked: _Asked,
        reader: Space | None,
        spaces: Mapping[str, Space],
        row: TextRow | None,
    ) -> str | None:
        # Nothing is missing of what somebody did not want to count.
        struck = asked.struck.kind("looks") or asked.struck.values("looks")
        if not asked.query.meaning or struck:
            return None
        if reader is not None:
            return UNSURE if row is None or row.unsure else None
        if not any(one.text_rank is not None and one.generation for one in spaces.values()):
            from likewise.vision.deep.network import can_run, what_it_needs

            way = "likewise space add deep-dense"
            # The space alone would stay empty where the network that fills it cannot run.
            first = "" if can_run() else f"{what_it_needs()}, then "
            return f"{ONLY_WRITTEN}; to find pictures by meaning: {first}{way}"
        return missing_hint()


@dataclass(frozen=True)
class _Asked:
    """One question."""

    query: TypedQuery
    struck: Struck
    similarity: Similarity
    picture: ResolvedQuery | None
    today: date

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


def _besides(query: TypedQuery) -> tuple[frozenset[str], frozenset[str]]:
    """Dates of a query, and words that are not wanted."""
    return (
        frozenset(term.folded for term in query.terms if term.span is not None),
        frozenset(term.folded for term in query.minus),
    )


def _total(kept: int, is_cut: bool, others: int) -> int:
    """How many pictures there are to answer with; looks put all of them in an order."""
    return max(kept, others) if is_cut else kept


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
