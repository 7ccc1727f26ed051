"""Judge a few queries by known answers and measure what that does for all other queries.

Each judged query dislikes the first wrong answers and likes the first right ones that come after a
wrong one.  All other queries are searched before and after.  They are compared twice: among all
pictures; and among pictures that were not clicked, by queries that were not clicked, so that a
picture that was pointed at does not count as found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likewise.collection.collection import Collection
from likewise.search.rank import Hit
from likewise_lab.evaluation.retrieval import Ranker
from likewise_methods.evaluation import RetrievalQuery, average_precision

PROFILE = "demo"
LOOKED_AT = 60
"""Answers that are looked at: three screens, as the first shows mostly views of one photograph."""
CLICKS = 3
"""The most pictures liked, and the most disliked, in one judgement."""


class Gain(NamedTuple):
    """A number of queries and their mean average precision before and after."""

    queries: int
    before: float
    after: float


@dataclass(frozen=True)
class JudgedQuery:
    """One query and what was clicked."""

    query: RetrievalQuery
    image: int
    liked: Sequence[int]
    disliked: Sequence[int]


@dataclass(frozen=True)
class OtherQuery:
    """A query that was not judged, with all answers before and after.

    ``unseen`` is its average precision among pictures that were not clicked; None where it was
    clicked itself, or no right picture is left.
    """

    query: RetrievalQuery
    image: int
    right: frozenset[int]
    before: Sequence[Hit]
    after: Sequence[Hit]
    value_before: float
    value_after: float
    unseen: tuple[float, float] | None

    @property
    def gain(self) -> float:
        return self.value_after - self.value_before


@dataclass(frozen=True)
class Lesson:
    """What a few judgements did for queries that were not judged.

    Attributes
    ----------
    profile : str
        The profile that learned.
    judged : sequence of JudgedQuery
        The judgements.
    others : sequence of OtherQuery
        All other queries.

    See Also
    --------
    teach : judge and measure.
    """

    profile: str
    judged: Sequence[JudgedQuery]
    others: Sequence[OtherQuery]

    @property
    def clicks(self) -> int:
        """Likes and dislikes together."""
        return sum(len(one.liked) + len(one.disliked) for one in self.judged)

    @property
    def clicked(self) -> set[int]:
        """Every picture that was a judged query, liked or disliked."""
        return {i for one in self.judged for i in (one.image, *one.liked, *one.disliked)}

    @property
    def groups(self) -> list[str]:
        """Groups of the judged queries, in order."""
        return list(dict.fromkeys(one.query.group for one in self.judged))

    def gain(self, groups: Iterable[str] | None = None) -> Gain:
        """Gain of queries not judged, among all pictures; None: of all groups with judgements."""
        named = set(self.groups if groups is None else groups)
        return _mean(
            (one.value_before, one.value_after) for one in self.others if one.query.group in named
        )

    @property
    def unseen(self) -> Gain:
        """Gain of the same groups by queries and among pictures that were not clicked."""
        named = set(self.groups)
        return _mean(one.unseen for one in self.others if one.unseen and one.query.group in named)

    @property
    def elsewhere(self) -> Gain:
        """Gain of all groups without judgements, which must not lose anything."""
        return self.gain({one.query.group for one in self.others} - set(self.groups))

    def best_of(self, group: str) -> OtherQuery | None:
        """Return the query of a group that gained most, of those not clicked."""
        there = [one for one in self.others if one.query.group == group and one.unseen]
        return max(there, key=lambda one: one.gain, default=None)

    @property
    def worst(self) -> OtherQuery | None:
        """The query that lost most; None where none lost."""
        worst = min(self.others, key=lambda one: one.gain, default=None)
        return worst if worst is not None and worst.gain < 0 else None


def teach(
    col: Collection, queries: Sequence[RetrievalQuery], ranker: Ranker, judged: Sequence[str]
) -> Lesson | None:
    """Judge some queries in a profile that is emptied first, and measure the others.

    Parameters
    ----------
    col : Collection
        The pictures.
    queries : sequence of RetrievalQuery
        Queries with known answers and a group each.
    ranker : Ranker
        Maps names to pictures.
    judged : sequence of str
        Names of the queries that are judged, in order.

    Returns
    -------
    Lesson or None
        None where there is nothing to judge: the first answers were all right or all wrong.

    See Also
    --------
    run : the whole demo.
    """
    if PROFILE in col.profiles:
        col.profiles.roll_back(0, profile=PROFILE)
    else:
        col.profiles.create(PROFILE)
    asked = {query.name: query for query in queries if ranker.id_of(query.query) is not None}
    before = {name: _ask(col, ranker, query) for name, query in asked.items()}
    made = [
        one
        for name in judged
        if name in asked and (one := _judge(col, ranker, asked[name])) is not None
    ]
    if not made:
        return None
    clicked = Lesson(PROFILE, made, ()).clicked
    names = {one.query.name for one in made}
    others = [
        _compare(col, ranker, query, before[name], clicked)
        for name, query in asked.items()
        if name not in names
    ]
    return Lesson(PROFILE, made, others)


def _judge(col: Collection, ranker: Ranker, query: RetrievalQuery) -> JudgedQuery | None:
    """Dislike the first wrong answers and like the first right ones after a wrong one."""
    image, right = _ids(ranker, query)
    shown = [hit.id for hit in col.search(image, LOOKED_AT, by=PROFILE)]
    wrong = [i for i in shown if i not in right]
    if not wrong or len(wrong) == len(shown):
        return None
    late = [i for i in shown[shown.index(wrong[0]) :] if i in right]
    # Where all right answers came first, these are liked.
    liked = (late or [i for i in shown if i in right])[:CLICKS]
    disliked = wrong[:CLICKS]
    col.judge(image, liked, disliked, profile=PROFILE)
    return JudgedQuery(query, image, liked, disliked)


def _compare(
    col: Collection,
    ranker: Ranker,
    query: RetrievalQuery,
    before: Sequence[Hit],
    clicked: AbstractSet[int],
) -> OtherQuery:
    image, right = _ids(ranker, query)
    after = _ask(col, ranker, query)
    unseen = None
    if image not in clicked and right - clicked:
        unseen = (_value(before, right, clicked), _value(after, right, clicked))
    return OtherQuery(
        query, image, right, before, after, _value(before, right), _value(after, right), unseen
    )  # fmt: skip


def _ask(col: Collection, ranker: Ranker, query: RetrievalQuery) -> Sequence[Hit]:
    """Return all pictures but the query itself, best first."""
    return col.search(_ids(ranker, query)[0], len(col), by=PROFILE)


def _ids(ranker: Ranker, query: RetrievalQuery) -> tuple[int, frozenset[int]]:
    image = ranker.id_of(query.query)
    assert image is not None, "asked for above"
    right = {i for name in query.positives if (i := ranker.id_of(name)) is not None}
    return image, frozenset(right - {image})


def _value(
    hits: Sequence[Hit], right: AbstractSet[int], without: AbstractSet[int] = frozenset()
) -> float:
    left = [hit.id for hit in hits if hit.id not in without]
    return average_precision([i in right for i in left], len(right - without))


def _mean(pairs: Iterable[tuple[float, float] | None]) -> Gain:
    values = [pair for pair in pairs if pair is not None]
    if not values:
        return Gain(0, 0.0, 0.0)
    before, after = np.mean(values, axis=0).tolist()
    return Gain(len(values), before, after)
