"""A handful of judgements by the truth, and what they changed: the demo's proof that it learns.

The queries that went worst are asked, the first answers judged as a person who knows would, and
asked again.  What is compared is the ranking of the pictures that were *not* judged (the residual
collection), so that nothing is counted as found that was merely pointed at; and, for all queries
nobody judged, the mean before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from likewise.collection.collection import Collection
from likewise.collection.search.rank import Hit
from likewise.evaluation.datasets import RetrievalQuery
from likewise.evaluation.metrics import average_precision
from likewise.evaluation.retrieval import Ranker, Task

PROFILE = "demo"
LOOKED_AT = 20
"""Answers a person looks at."""
CLICKS = 5
"""Pictures liked, and pictures disliked, at most, in one judgement."""


@dataclass(frozen=True)
class JudgedQuery:
    """One query before and after one judgement on it."""

    query: RetrievalQuery
    image: int
    liked: Sequence[int]
    disliked: Sequence[int]
    before: Sequence[Hit]
    after: Sequence[Hit]
    residual_before: float
    residual_after: float


@dataclass(frozen=True)
class Lesson:
    """What a handful of judgements did: the queries judged, and the mean of others before and
    after.

    See Also
    --------
    teach : gives it.
    """

    profile: str
    judged: Sequence[JudgedQuery]
    others_before: float
    others_after: float

    @property
    def residual_before(self) -> float:
        return float(np.mean([one.residual_before for one in self.judged]))

    @property
    def residual_after(self) -> float:
        return float(np.mean([one.residual_after for one in self.judged]))


def teach(col: Collection, task: Task, ranker: Ranker, worst: int = 8) -> Lesson | None:
    """Judge the queries that went worst, in a profile of its own that begins anew each time.

    Parameters
    ----------
    col : Collection
        The pictures.
    task : Task
        Questions whose answers are known.
    ranker : Ranker
        Asks them.
    worst : int, default=8
        Queries to judge.

    Returns
    -------
    Lesson or None
        None where no query leaves anything to learn: all went well, or nothing right was among the
        first answers.

    See Also
    --------
    run : the whole demo.
    """
    if PROFILE in col.profiles:
        col.profiles.roll_back(0, profile=PROFILE)
    else:
        col.profiles.create(PROFILE)
    before = ranker.score(task, PROFILE).average_precisions
    judged: list[JudgedQuery] = []
    for query in sorted(ranker.queries, key=lambda query: before[query.name]):
        if len(judged) == worst:
            break
        one = _judge(col, ranker, query)
        if one is not None:
            judged.append(one)
    if not judged:
        return None
    judged = [_again(col, ranker, one) for one in judged]
    after = ranker.score(task, PROFILE).average_precisions
    names = {one.query.name for one in judged}
    others = [name for name in before if name not in names] or list(before)
    return Lesson(
        PROFILE,
        judged,
        float(np.mean([before[name] for name in others])),
        float(np.mean([after[name] for name in others])),
    )


def _judge(col: Collection, ranker: Ranker, query: RetrievalQuery) -> JudgedQuery | None:
    """One judgement: the first few right and the first few wrong of what a person looks at."""
    image = ranker.id_of(query.query)
    if image is None:
        return None
    names = ranker.rank(query, PROFILE)
    shown = [name for name in names if name != query.query][:LOOKED_AT]
    right = [name for name in shown if name in query.positives][:CLICKS]
    wrong = [name for name in shown if name not in query.positives][:CLICKS]
    rest = query.positives - {*right, query.query}
    if not right or not wrong or not rest:
        return None
    liked, disliked = ([i for n in some if (i := ranker.id_of(n))] for some in (right, wrong))
    seen = {*right, *wrong}
    hits = col.search(image, LOOKED_AT, by=PROFILE)
    value = _residual(names, query, seen)
    col.judge(image, liked, disliked, profile=PROFILE)
    return JudgedQuery(query, image, liked, disliked, hits, (), value, 0.0)


def _again(col: Collection, ranker: Ranker, one: JudgedQuery) -> JudgedQuery:
    seen = {name for i in (*one.liked, *one.disliked) for name in ranker.names_of(i)}
    return replace(
        one,
        after=col.search(one.image, LOOKED_AT, by=PROFILE),
        residual_after=_residual(ranker.rank(one.query, PROFILE), one.query, seen),
    )


def _residual(names: Sequence[str], query: RetrievalQuery, seen: set[str]) -> float:
    left = [name for name in names if name not in seen and name != query.query]
    wanted = query.positives - seen - {query.query}
    return average_precision([name in wanted for name in left], len(wanted))
