"""Search by typed words: written evidence, meaning and verdicts, added up.

A picture's score is what is written about it (0 to 3, ``search/typed/evidence.py``) plus how much
it looks like what is meant (below 1): docs/methods/words.md, (6).  So what is certain comes first,
and looks decide between equals; liked pictures come before all others, disliked and unwanted ones
last or not at all.  Equal scores are in the order of ids.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables, word_index
from likewise.search.query import SearchRequest
from likewise.search.rank import FUSION_DEPTH, Answer, rank
from likewise.search.reranker import LearnedState, ProfileReranker
from likewise.search.typed import evidence, meaning
from likewise.search.typed.evidence import Reason, ScoredPictures
from likewise.search.typed.meaning import ONLY_WRITTEN, RowSearch, Statistics, Texts, missing_hint
from likewise.search.typed.parse import TypedQuery, parse_text, text_key
from likewise.search.views import Views
from likewise.spaces.base import Space, TextRow
from likewise.spaces.registry import open_spaces
from likewise.vision.text.feedback import FIRST, mean_row, text_share

MAX_LOOKS = 0.999
"""The most that looks count: less than anything written about a whole query."""
UNSURE = "I do not understand these words well. Try simpler English words."
"""The hint where looks cannot be trusted."""
CONVINCING = 1 / (1 + math.exp(-0.75))
"""Looks from which they are a reason: three quarters of a deviation above the collection, so that
most pictures have it where half of the collection looks as meant."""

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


class TypedSearcher:
    """Searches one collection by typed words."""

    def __init__(self, views: Views, states: LearnedState) -> None:
        self.store, self.views, self.states = views.store, views, states
        self.texts = Texts(views.store)
        self.statistics = Statistics(views)

    def search(
        self, request: SearchRequest, picture_reranker: ProfileReranker | None = None
    ) -> Answer:
        """Return the k best pictures; ``picture_reranker`` is for the picture of the query."""
        if not self.store.highest_id():
            return Answer([], [])
        return _TypedSearch(self, request, picture_reranker).answer()


@dataclass(frozen=True)
class _Feedback:
    """Judgements that count for a text.

    ``own_liked`` were liked under this text, ``liked`` also under similar ones; ``ranked_last``
    are pictures that come after all others.
    """

    reranker: ProfileReranker | None = None
    own_liked: Set[int] = frozenset()
    liked: Set[int] = frozenset()
    ranked_last: Set[int] = frozenset()


class _TypedSearch:
    """One search by typed words, and the reasons for its answer."""

    def __init__(
        self, owner: TypedSearcher, request: SearchRequest, reranker: ProfileReranker | None
    ) -> None:
        assert request.text is not None
        self._store, self._views, self._states = owner.store, owner.views, owner.states
        self._texts, self._statistics = owner.texts, owner.statistics
        self._request, self._text, self._ignored = request, request.text, request.ignored
        self._has_picture, self._picture_reranker = request.query.has_picture, reranker
        self._spaces = open_spaces(self._store)
        self._reader: Space | None = None
        if not self._ignored.has_kind("looks"):
            self._reader = meaning.text_space(self._spaces, self._texts)
        self._feedback = self._find_feedback()
        self._near = self._texts.near_tags(self._text)
        self._text_row = self._find_text_row()
        self._seen: Ids = np.zeros(0, np.int64)
        self._convincing: frozenset[int] = frozenset()

    def answer(self) -> Answer:
        """Find pictures, deeper and deeper until k of them are allowed."""
        request, text, store = self._request, self._text, self._store
        k, above, last = request.k, request.above, self._feedback.ranked_last
        allowed = store.allowed(request.where)
        minus = self._texts.near_tags(text, unwanted=True) if text.minus else []
        found = _add_liked(
            evidence.score_written(store, text.terms, self._near, self._ignored),
            self._feedback.own_liked,
        )
        unwanted = evidence.find_unwanted(store, text.minus, minus)
        left_out = set(unwanted.surely.tolist())
        if request.query.image is not None:
            left_out.add(request.query.image)
        size = store.n_images()
        depth = max(FUSION_DEPTH, 10 * k)
        while True:
            seen, looks = self._score_looks(min(depth, size))
            if not len(seen) and not text.terms and text.minus:
                # Only unwanted words: all other pictures, in the order of ids.
                seen = np.array(sorted(store.ids()), np.int64)
                looks = np.zeros(len(seen))
            ids, scores = _add_up(found, seen, looks, unwanted)
            keep = np.array(
                [i not in left_out and (allowed is None or i in allowed) for i in ids.tolist()],
                bool,
            )
            if above is not None:
                keep &= scores >= above
            if keep.sum() >= k or depth >= size or (above is not None and not keep.all()):
                break
            depth *= 8
        self._seen = seen
        n_kept, is_cut = int(keep.sum()), len(looks) > 0 and depth < size
        ids, scores = _put_last(ids[keep], scores[keep], last)
        order = np.lexsort((ids, -scores))[:k]
        rerankers = [self._feedback.reranker, self._picture_reranker]
        return Answer(
            ids[order].tolist(),
            scores[order].tolist(),
            self._hint(),
            # Looks put all pictures in an order.
            max(n_kept, size - len(left_out)) if is_cut else n_kept,
            max((one.behind for one in rerankers if one is not None), default=0),
            find_reasons=self._reasons,
        )

    def _find_text_row(self) -> TextRow | None:
        text = self._text
        if self._reader is None or not (text.meaning or text.unwanted):
            return None
        return meaning.text_row(
            self._reader, self._texts, self._statistics, text.meaning, text.unwanted,
            self._ignored.values_of("looks"),
        )  # fmt: skip

    def _score_looks(self, depth: int) -> tuple[Ids, Floats]:
        """Score pictures by looks: by the text, its first answers, liked ones and the picture."""
        feedback = self._feedback
        searches: list[RowSearch] = []
        own: list[int] = []
        if self._text_row is not None and self._reader is not None:
            share = text_share(len(feedback.liked))
            searches.append(
                meaning.search_by_row(self._views, self._reader, self._text_row.row, share, depth)
            )
            own = searches[0].found[0].tolist()
        space = meaning.feedback_space(self._spaces, self._reader)
        if space is not None and not self._ignored.has_kind("looks"):
            row = self._feedback_row(space, own)
            if row is not None:
                share = 1 - sum(one.share for one in searches)
                searches.append(meaning.search_by_row(self._views, space, row, share, depth))
        ids, values = meaning.score_by_meaning(self._views, self._statistics, searches)
        # The first picture always has this reason: it is why it is the first.
        enough = min(CONVINCING, float(values.max(initial=0.0)))
        self._convincing = frozenset(ids[values >= enough].tolist())
        if own and len(searches) > 1 and not feedback.liked:
            values = meaning.interleave(ids, values, own)
        if not self._has_picture:
            return ids, values
        like, _ = rank(
            self._views,
            SearchRequest(self._request.query, self._request.similarity, depth),
            reranker=self._picture_reranker,
        )
        weight = self._request.picture_weight if len(ids) else 1.0
        return meaning.mix(meaning.reciprocal(like), (ids, values), weight)

    def _feedback_row(self, space: Space, own: Sequence[int]) -> Any:
        """Return the mean row of liked pictures, else of the text's first answers; None if none."""
        feedback = self._feedback
        view = meaning.dense_view(self._views, space)
        _, liked = view.rows_of(sorted(feedback.liked))
        if len(liked):
            row: Any = np.asarray(mean_row(liked), np.float32)
        else:
            first = [image for image in own if image not in feedback.ranked_last][:FIRST]
            row = meaning.row_of_first_answers(self._views, space, first, feedback.ranked_last)
        if row is None or feedback.reranker is None:
            return row
        return feedback.reranker.row(view, row)

    def _find_feedback(self) -> _Feedback:
        """Find judgements under this text, and under texts of similar meaning."""
        request, store = self._request, self._store
        profile = request.similarity.profile
        if profile is None or self._ignored.has_kind("liked"):
            return _Feedback()
        near: list[int] = []
        if not self._has_picture:
            near = self._texts.near_texts(self._text.meaning, self._comparable_texts())
        picture_key = request.query.key if self._has_picture else None
        key = text_key(self._text.text, picture_key or b"")
        reranker = ProfileReranker(store, self._states, profile, key, near=near)
        own, liked = (
            frozenset(log_tables.subjects_in_collection(store, some).values())
            for some in (reranker.own_liked, reranker.liked)
        )
        return _Feedback(reranker, own, liked, frozenset(reranker.ranked_last))

    def _comparable_texts(self) -> dict[int, str]:
        """Return judged texts, by subject, that have the same dates and the same unwanted words.

        Vectors say little about either: "beach" and "beach -people" are near to each other.
        """
        found: dict[int, str] = {}
        for subject, text in log_tables.text_subjects(self._store).items():
            judged = parse_text(text, self._request.today)
            if judged.meaning and _dates_and_unwanted(judged) == _dates_and_unwanted(self._text):
                found[subject] = judged.meaning
        return found

    def _hint(self) -> str | None:
        """Say what would improve the answer, if anything."""
        looks_ignored = self._ignored.has_kind("looks") or self._ignored.values_of("looks")
        if not self._text.meaning or looks_ignored:
            return None
        if self._reader is not None:
            return UNSURE if self._text_row is None or self._text_row.unsure else None
        if not any(one.text_rank is not None and one.generation for one in self._spaces.values()):
            from likewise.vision.deep.network import can_run, what_it_needs

            command = "likewise admin spaces add deep-dense"
            # The space alone would stay empty where the network that fills it cannot run.
            first = "" if can_run() else f"{what_it_needs()}, then "
            return f"{ONLY_WRITTEN}; to find pictures by meaning: {first}{command}"
        return missing_hint()

    def _reasons(self, images: Iterable[int]) -> dict[int, tuple[Reason, ...]]:
        """Say why pictures were found, the most certain reason first."""
        images = list(images)
        if not images:
            return {}
        texts = word_index.written_about(self._store, images)
        dates = {
            term.typed: set(evidence.find_dated(self._store, term.span).tolist())
            for term in self._text.terms
            if term.span is not None
        }
        names = () if self._text_row is None else self._text_row.names
        like = ""
        if self._has_picture:
            like = "the picture"
        elif self._text_row is None and self._feedback.liked:
            like = "what was liked"
        seen = frozenset(self._seen.tolist())
        found: dict[int, tuple[Reason, ...]] = {}
        for image in images:
            taken = {typed: image in ids for typed, ids in dates.items()}
            liked = image in self._feedback.own_liked
            why = [Reason("liked", self._text.text)] if liked else []
            if image in texts:
                why += evidence.reasons_written(
                    texts[image], self._text.terms, self._near, taken, self._ignored
                )
            if image in self._convincing and names:
                why.append(Reason("looks", ", ".join(names)))
            if image in seen and like:
                why.append(Reason("like", like))
            found[image] = tuple(why)
        return found


def _dates_and_unwanted(query: TypedQuery) -> tuple[frozenset[str], frozenset[str]]:
    return (
        frozenset(term.folded for term in query.terms if term.span is not None),
        frozenset(term.folded for term in query.minus),
    )


def _add_liked(found: ScoredPictures, liked: Set[int]) -> ScoredPictures:
    """Put pictures that were liked for this very query before all other evidence."""
    if not liked:
        return found
    more = np.array(sorted(liked), np.int64)
    ids = np.union1d(found.ids, more)
    values = np.zeros(len(ids))
    values[np.searchsorted(ids, found.ids)] = found.values
    values[np.searchsorted(ids, more)] = evidence.LIKED
    return ScoredPictures(ids, values)


def _add_up(
    found: ScoredPictures, seen: Ids, looks: Floats, unwanted: evidence.Unwanted
) -> tuple[Ids, Floats]:
    """Return ids, ascending, and scores: what is written, plus looks, less what is unwanted."""
    ids = np.union1d(found.ids, seen)
    scores = np.zeros(len(ids))
    scores[np.searchsorted(ids, found.ids)] += found.values
    scores[np.searchsorted(ids, seen)] += MAX_LOOKS * looks
    likely, costs = unwanted.likely
    at = np.searchsorted(ids, likely)
    there = np.flatnonzero(at < len(ids))
    there = there[ids[at[there]] == likely[there]]
    scores[at[there]] -= costs[there]
    return ids, scores


def _put_last(ids: Ids, scores: Floats, last: Set[int]) -> tuple[Ids, Floats]:
    """Lower the scores of some pictures below all others; they keep their own order."""
    if not last or not len(ids):
        return ids, scores
    late = np.isin(ids, np.array(sorted(last), np.int64))
    lowest = min(float(scores[~late].min(initial=0.0)), 0.0)
    made = scores.copy()
    made[late] = lowest - 1.0 - (scores[late].max(initial=0.0) - scores[late])
    return ids, made
