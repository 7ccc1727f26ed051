"""Who judges what, and what is asked afterwards: nothing that is asked or found was ever judged.

Half of every class (and half of the pictures of no class) is the judged half.  A judgement is a
random query of that half with the twenty best of that half, as the fitted space shows them without
any profile, so that all methods are told the same; a query asked again is shown the next twenty.
Then queries of the other half search the other half.  The space itself is fitted to all pictures,
since it sees neither classes nor judgements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.staying.data import Floats, Ints, Pictures, Rows
from likewise_methods.evaluation.metrics import average_precision
from likewise_methods.solis.judging import N_RANDOM, RANDOM_WEIGHT
from likewise_methods.spaces.local_metric import LocalMetric

Booleans = NDArray[np.bool_]
Scores = Callable[[Ints], Floats]
"""Scores of all pictures, a row for each query."""

SHOWN = 20
PAGES = 3
"""How often one query is asked at most: beyond, pages hold hardly anything that is alike."""
ASKED = 192
COUNTS = (1, 3, 10, 30, 100, 300, 1000)
FIRST_SEED = 500
"""The constants were chosen on draws of smaller seeds."""

PAGE, LIKES, PASSED = "page", "likes", "passed over"


class Judgement(NamedTuple):
    """A query, what was said to be like it, what not, and what the latter weighs."""

    query: int
    liked: Ints
    disliked: Ints
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Split:
    """One draw: which pictures are of the judged half, and which queries are asked."""

    pictures: Pictures
    seed: int
    judged: Booleans
    queries: Ints

    @classmethod
    def draw(cls, pictures: Pictures, seed: int, asked: int = ASKED) -> Split:
        rng = np.random.default_rng([seed, 1])
        judged = np.zeros(len(pictures), bool)
        queries = []
        each = max(1, asked // len(pictures.classes))
        for label in np.unique(pictures.labels):
            members = rng.permutation(np.flatnonzero(pictures.labels == label))
            half = len(members) // 2
            judged[members[:half]] = True
            if label >= 0:
                queries.append(np.sort(members[half:][:each]))
        return cls(pictures, seed, judged, np.concatenate(queries))

    def to_judge(self, classes: Ints | None = None) -> Ints:
        """Queries of the judged half, of these classes (None: of all)."""
        chosen = self.pictures.classes if classes is None else classes
        return np.flatnonzero(self.judged & np.isin(self.pictures.labels, chosen))

    def half_of_classes(self) -> tuple[Ints, Ints]:
        """Classes that are judged, and the others."""
        mixed = np.random.default_rng([self.seed, 2]).permutation(self.pictures.classes)
        cut = len(mixed) // 2
        return np.sort(mixed[:cut]), np.sort(mixed[cut:])


def searched(pictures: Pictures, query: int, half: Booleans) -> Ints:
    """Pictures of a half that a query can find: neither itself nor its junk."""
    left = half.copy()
    left[query] = False
    left[pictures.junk.get(int(pictures.labels[query]), [])] = False
    return np.flatnonzero(left)


def judgements(
    split: Split,
    count: int,
    *,
    classes: Ints | None = None,
    wrong: float = 0.0,
    kind: str = PAGE,
    ask: Callable[[int], Any] | None = None,
) -> Iterator[Judgement]:
    """At most ``count``, fewer where ``PAGES`` times the queries are fewer.

    ``ask`` gives the row a query is asked with (None: its own row in the fitted space).  A share
    ``wrong`` of what is said is the opposite of the truth.  ``kind``: everything shown is judged;
    likes alone, with random pictures as negatives; or likes, with what was passed over.
    """
    pictures, rng = split.pictures, np.random.default_rng([split.seed, 3])
    order = rng.permutation(split.to_judge(classes))
    for number in range(min(count, PAGES * len(order))):
        query, page = int(order[number % len(order)]), number // len(order)
        there = searched(pictures, query, split.judged)
        row = pictures.rows[query] if ask is None else ask(query)
        best = there[np.argsort(-(pictures.rows[there] @ row), kind="stable")]
        shown = best[page * SHOWN : (page + 1) * SHOWN]
        alike = pictures.labels[shown] == pictures.labels[query]
        alike ^= rng.random(len(shown)) < wrong
        if kind == PAGE:
            yield Judgement(query, shown[alike], shown[~alike])
        elif alike.any():
            yield _likes(query, shown, alike, there, kind, rng)
        else:  # nobody likes anything on this page, and nothing is said
            yield Judgement(query, shown[:0], shown[:0])


def _likes(
    query: int, shown: Ints, alike: Booleans, there: Ints, kind: str, rng: np.random.Generator
) -> Judgement:
    """As the product resolves likes: what stands above the last of them counts as passed over if
    the page is known, else some random pictures count a little."""
    above = np.arange(len(shown)) < np.flatnonzero(alike).max()
    passed = shown[above & ~alike]
    if kind == PASSED and len(passed):
        return Judgement(query, shown[alike], passed)
    others = np.setdiff1d(there, shown[alike])
    drawn = rng.choice(others, min(N_RANDOM, len(others)), replace=False)
    return Judgement(query, shown[alike], drawn, RANDOM_WEIGHT)


class Learner(Protocol):
    """Something that is told judgements and ranks with what it knows by then."""

    def judge(self, said: Judgement) -> None: ...

    def scores(self) -> Scores: ...


class Local:
    """The product's: a metric around each query, over the rows of the fitted space."""

    def __init__(self, pictures: Pictures, prior: float | None = None) -> None:
        self.rows = pictures.rows
        self.metric = LocalMetric(self.rows.shape[1], pictures.space.scale_, prior)
        self._told = 0

    def judge(self, said: Judgement) -> None:
        rows = self.rows
        # What was drawn by chance teaches no pairs, as in the product.
        unlike = said.disliked if said.weight == 1.0 else said.disliked[:0]
        self.metric.add(self._told, rows[said.query], rows[said.liked], rows[unlike])
        self._told += 1

    def ask(self, query: int) -> Any:
        return self.metric.ask(self.rows[query])

    def scores(self) -> Scores:
        return lambda queries: np.stack([self.ask(q) for q in queries]) @ self.rows.T


def curve(
    split: Split, said: Iterable[Judgement], learner: Learner, counts: Sequence[int]
) -> Iterator[tuple[int, Floats]]:
    """Average precision of the asked queries after each of these numbers of judgements."""
    for told, one in enumerate(said, 1):
        learner.judge(one)
        if told in counts:
            yield told, precisions(split, learner.scores())


def inner(rows: Floats | Rows) -> Scores:
    """Inner products of rows as they are."""
    return lambda queries: np.asarray(rows[queries] @ rows.T)


def precisions(split: Split, scores: Scores, queries: Ints | None = None) -> Floats:
    """Average precision of every query of the draw, on the half nobody judged."""
    asked = split.queries if queries is None else queries
    found = scores(asked)
    return np.array(
        [
            precision(split.pictures, int(query), row, ~split.judged)
            for query, row in zip(asked, found, strict=True)
        ]
    )


def precision(pictures: Pictures, query: int, scores: Floats, half: Booleans) -> float:
    hits = ranked(pictures, query, scores, half)
    return average_precision(hits, trapezoid=pictures.trapezoid)


def ranked(pictures: Pictures, query: int, scores: Floats, half: Booleans) -> Booleans:
    """Whether each picture of a half is right, best first; equal scores by number."""
    there = searched(pictures, query, half)
    best = there[np.argsort(-scores[there], kind="stable")]
    return np.asarray(pictures.labels[best] == pictures.labels[query])


def counts_for(split: Split, classes: Ints | None = None, most: int = COUNTS[-1]) -> Sequence[int]:
    """Numbers of judgements that this draw has queries for."""
    there = PAGES * len(split.to_judge(classes))
    return [count for count in COUNTS if count <= min(there, most)]
