"""What judgements teach a dense space: a metric around each query, from pairs that people judged.

A judgement says of some pictures that they are like its query, and of others that they are not.
Each is a pair, and a pair is a difference of rows, d = x - q, shortened where it is longer than
neighbours differ: that a stranger is far says nothing.  Around a query of one's own the
pairs of judgements about *similar* pictures count most: judgement j counts k = max(0, u . c_j)^3,
u the query and c_j the middle of what was alike in j, all of unit length.  With

    S = sum of k d d' / 2 over pairs that are alike, n = sum of k                             (1)
    A = (N I + S / g) / (N + n),  N = 4 N0 + n                                                (2)
    D, m, B likewise of pairs that are not alike, with N = N0 + m                             (3)
    M = I + (A^-1 - I) + 1.5 (I - B^-1)                                                       (4)
    asked: u + c (M - I) u, with c <= 1 the largest so that |c (M - I) u| <= min(1, e / 2),
           e = sum of k / largest k, a session counting 1.5 at most: one judgement moves a
           query by at most half its length, one session by at most three quarters            (5)

the query is asked as (5).  Directions in which liked pictures differ from their query count less,
those in which disliked ones do count more.  Both kinds of pair are measured against the same prior,
since both are near: they come from one page of answers.  (Against strangers, as in the closed form
of Köstinger et al. 2012, a page of judgements would say mostly that pages are of near pictures.)
g is what two neighbours differ by a column, ``FittedSpace.scale_``.  What is alike counts less than
what is not, by its prior and its factor: that one class varies in a direction says little about the
next class, but that two classes differ there serves both.

Three things follow.  What nobody judged keeps M = I: there k is 0, and N0 holds against a little.
A^-1 and B^-1 lie between 0 and (N + n) / N < 2, so that no direction ever counts more than 3.5
times, and (5) bounds what all of them do together.  And only the query's row moves, so that every
index over the collection's rows serves every profile.

The lessons are a set.  What comes out is a function of that set alone: judging, taking back,
rolling back and merging in any order give the same bits on one machine.
"""

from __future__ import annotations

import hashlib
from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._validation import number, whole
from likewise.errors import InvalidInput

Rows = NDArray[np.float32]
Floats = NDArray[np.float64]

PRIOR = 100.0
"""N0 until enough was judged to choose it, and the least it may be: pairs that what nobody judged
counts for.  Chosen on draws of corel1k, caltech101 and cifar10 so that classes nobody judged lose
less than half a point there (docs/results/staying.md)."""
PRIORS = (100.0, 300.0, 1000.0, 3000.0, np.inf)
"""What N0 is chosen from; infinity learns nothing."""
SHARPNESS = 3
"""Power of the cosine by which a judgement counts for a query."""
LEAST = 0.02
"""A judgement counts nothing below this: many strangers do not make a neighbour."""
JUDGEMENT_PAIRS = 20.0
"""The most one judgement counts on either side, in pairs: no list teaches more than a page."""
ALIKE_PRIOR, UNLIKE_FACTOR = 4.0, 1.5
"""The factors of (2) and (4)."""
JUDGEMENT_REACH, REACH = 0.5, 1.0
"""How far a query may move, in its own length: by one judgement, and by all there are (5)."""
SESSION_JUDGEMENTS = 1.5
"""Judgements that one session counts for in (5), at most: a bad afternoon is not all there is."""
NEAREST = 128
"""Judgements that count for one query, at most: those that count most."""
CHOOSE_FROM = 32
"""Judgements from which on N0 is chosen; then again whenever there are twice as many."""
HELD_OUT = 24
"""Judgements that are asked about, each by the others, to choose N0."""
TOLD_BY_OTHERS = 48
"""Judgements that are asked about, each by the others, to say how well that works."""


class Lesson(NamedTuple):
    """One judgement as rows of unit length; ``order`` is its place in time.

    ``weight`` counts for what is not alike.  ``session`` names
    the sitting it was made in; None: one of its own.
    """

    order: int
    query: Rows
    liked: Rows
    disliked: Rows
    weight: float = 1.0
    session: int | None = None

    @property
    def key(self) -> bytes:
        """The same for the same content; lessons are summed in the order of their keys."""
        parts = (self.query, self.liked, self.disliked, np.float64(self.weight))
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes() + b"|")
        return digest.digest()


class Agreement(NamedTuple):
    """How well judgements are told by those about other queries.

    ``learned`` is the share of a judgement's (liked, disliked) pairs that come in the right order,
    ``plain`` that without learning, both the mean over the judgements asked about, so that a long
    one counts no more than a short one; ``comparisons`` is how many pairs that were.
    """

    learned: float
    plain: float
    comparisons: int


class LocalMetric:
    """Lessons over rows of ``width`` columns, and how they change a query.

    Parameters
    ----------
    width : columns of a row.
    scale : half the squared difference of two neighbours, a column (``FittedSpace.scale_``).
    prior : N0; None chooses it by the judgements.

    >>> query, like, unlike = np.eye(3)[0], [[0.8, 0.6, 0.0]], [[0.8, 0.0, 0.6]]
    >>> metric = LocalMetric(3, scale=0.05).add(0, query, like, unlike)
    >>> row = metric.ask(np.array([0.8, 0.5, 0.33]))
    >>> bool(row[1] / row[2] < 0.5 / 0.33)  # the second column differs among what is alike
    True
    """

    def __init__(self, width: int, scale: float, prior: float | None = None) -> None:
        self.width = whole(width, "width")
        self.scale = number(scale, "scale", above=0)
        self.prior = None if prior is None else number(prior, "prior", above=0)
        self._lessons: list[tuple[bytes, Lesson]] = []
        self._packed: _Packed | None = None
        self._chosen: tuple[tuple[int, ...], float] | None = None
        self._agreement: tuple[_Packed, Agreement | None] | None = None

    def __len__(self) -> int:
        return len(self._lessons)

    @property
    def lessons(self) -> list[Lesson]:
        """The lessons by their place in time."""
        return sorted((lesson for _, lesson in self._lessons), key=lambda one: one.order)

    def add(
        self,
        order: int,
        query: Any,
        liked: Any,
        disliked: Any,
        weight: float = 1.0,
        session: int | None = None,
    ) -> LocalMetric:
        """Learn one judgement; nothing alike and nothing unlike teaches nothing."""
        made = Lesson(
            order,
            self._rows(query, "query")[0],
            self._rows(liked, "liked"),
            self._rows(disliked, "disliked"),
            number(weight, "weight", least=0),
            session,
        )
        if len(made.liked) or len(made.disliked):
            insort(self._lessons, (made.key, made), key=lambda one: (one[0], one[1].order))
            self._packed = None
        return self

    def discard(self, orders: Iterable[int]) -> LocalMetric:
        """Forget the lessons of these places in time, as if they had never been given."""
        gone = set(orders)
        kept = [one for one in self._lessons if one[1].order not in gone]
        if len(kept) != len(self._lessons):
            self._lessons, self._packed = kept, None
        return self

    def first(self, n: int) -> LocalMetric:
        """What the first ``n`` lessons in time teach alone."""
        n = whole(n, "n", 0)
        made = LocalMetric(self.width, self.scale, self.prior)
        # Lessons that came in whole share their place in time: those are told apart by their keys.
        order = sorted(range(len(self)), key=lambda at: self._lessons[at][1].order)
        made._lessons = [self._lessons[at] for at in sorted(order[:n])]
        made._chosen = self._chosen  # by which lessons it was chosen is kept with it
        return made

    def ask(self, row: Any) -> Rows:
        """The query's row as these lessons ask it; as it is (unit length) where they are silent."""
        u = self._rows(row, "row")[0].astype(np.float64)
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior) or not u.any():
            return np.asarray(u, np.float32)
        sums = _sums(self._pack().around(u), self.scale)
        return np.asarray(_asked(sums, u, prior), np.float32)

    def used_prior(self) -> float:
        """N0: as given, or as the judgements choose it."""
        if self.prior is not None:
            return self.prior
        n = len(self._lessons)
        if n < CHOOSE_FROM:
            return PRIOR
        # Of the first 2^m in time: asked again only when there are twice as many, or one is gone.
        first = self.lessons[: 1 << (n.bit_length() - 1)]
        orders = tuple(one.order for one in first)
        if self._chosen is None or self._chosen[0] != orders:
            self._chosen = orders, choose_prior(first, self.scale)
        return self._chosen[1]

    def influence(self, row: Any) -> float:
        """Pairs that count for a query, alike and not, each by how near its judgement is."""
        u = self._rows(row, "row")[0].astype(np.float64)
        if not self._lessons:
            return 0.0
        return float(self._pack().around(u).weights.sum())

    def overall(self) -> Floats:
        """M with every judgement counted alike: what was learned on the whole."""
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior):
            return np.eye(self.width)
        pairs = self._pack().everywhere()
        plain = np.eye(self.width)
        return plain + _correction(_sums(pairs, self.scale), plain, prior)

    def agreement(self) -> Agreement | None:
        """Up to ``TOLD_BY_OTHERS`` judgements, evenly spread in time, each asked by all the others.

        Only lessons about other queries tell: what was said about a query itself is no test.  None
        where no judgement has pictures of both kinds.  (N0, where it is chosen, is one of five
        values chosen by such judgements: a slight advantage.)
        """
        if not self._lessons:
            return None
        packed = self._pack()
        if self._agreement is None or self._agreement[0] is not packed:
            prior = self.used_prior()
            asked = told_by_others(
                self.lessons, self.scale, (prior, np.inf), TOLD_BY_OTHERS, packed
            )
            made = None
            if asked:
                learned, plain = np.mean([one.right for one in asked], axis=0).tolist()
                made = Agreement(learned, plain, sum(one.comparisons for one in asked))
            self._agreement = packed, made
        return self._agreement[1]

    def _pack(self) -> _Packed:
        if self._packed is None:
            self._packed = _Packed([lesson for _, lesson in self._lessons], self.scale)
        return self._packed

    def _rows(self, X: Any, name: str) -> Rows:
        made = np.asarray(X, np.float32)
        made = made.reshape(-1, self.width) if made.size == 0 else np.atleast_2d(made)
        if made.ndim != 2 or made.shape[1] != self.width:
            raise InvalidInput(
                f"{name} has shape {np.shape(X)}; rows of {self.width} columns expected"
            )
        if not np.isfinite(made).all():
            raise InvalidInput(f"{name} has NaN or infinite values")
        return _unit(made)


class _Pairs(NamedTuple):
    """Differences, what each counts, which of them are alike, and how many judgements they are.

    ``judgements`` is e of equation (5).
    """

    differences: Rows
    weights: Floats
    alike: NDArray[np.bool_]
    judgements: float


class _Packed:
    """Lessons as a few arrays."""

    def __init__(self, lessons: Sequence[Lesson], scale: float) -> None:
        self.centres = _unit(
            np.stack([one.query + one.liked.sum(axis=0, dtype=np.float32) for one in lessons])
        )
        counts = np.array([len(one.liked) + len(one.disliked) for one in lessons])
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        differences = np.concatenate(
            [np.concatenate([one.liked, one.disliked]) - one.query for one in lessons]
        )
        self._differences = _shorten(differences, 2 * scale * differences.shape[1])
        self._alike = np.concatenate(
            [np.repeat([True, False], [len(one.liked), len(one.disliked)]) for one in lessons]
        )
        # Those without a session have one each.
        named = [
            one.session if one.session is not None else -1 - at for at, one in enumerate(lessons)
        ]
        self._sessions = np.array(named, np.int64)
        self._queries = np.stack([one.query for one in lessons])
        self._weights = np.concatenate([_pair_weights(one) for one in lessons])

    def around(self, u: Floats, without: Rows | None = None) -> _Pairs:
        """The pairs of the judgements nearest to a query, none of those about ``without``."""
        counts = np.maximum(self.centres.astype(np.float64) @ u, 0.0) ** SHARPNESS
        if without is not None:
            counts[(self._queries == without).all(axis=1)] = 0.0
        near = np.flatnonzero(counts > LEAST)
        if len(near) > NEAREST:
            # Stable, so that equal ones are taken in the order of their keys.
            near = np.sort(near[np.argsort(-counts[near], kind="stable")[:NEAREST]])
        return self._take(near, counts)

    def everywhere(self) -> _Pairs:
        """All pairs, all judgements alike."""
        return self._take(np.arange(len(self.centres)), np.ones(len(self.centres)))

    def _take(self, lessons: NDArray[np.int64], counts: Floats) -> _Pairs:
        starts, ends = self._starts[lessons], self._starts[lessons + 1]
        lengths = ends - starts
        ends_of = np.cumsum(lengths)
        places = np.arange(int(lengths.sum())) + np.repeat(starts - (ends_of - lengths), lengths)
        weights = self._weights[places] * np.repeat(counts[lessons], lengths)
        number_of = _count_judgements(counts[lessons], self._sessions[lessons])
        return _Pairs(self._differences[places], weights, self._alike[places], number_of)


def _count_judgements(counts: Floats, sessions: NDArray[np.int64]) -> float:
    """e of equation (5)."""
    most = float(counts.max(initial=0.0))
    if not most:
        return 0.0
    _, which = np.unique(sessions, return_inverse=True)
    each = np.bincount(which, counts / most)
    return float(np.minimum(each, SESSION_JUDGEMENTS).sum())


class Told(NamedTuple):
    """A judgement as others tell it: with each N0, the share of its pairs in the right order."""

    right: list[float]
    comparisons: int


def told_by_others(
    lessons: Sequence[Lesson],
    scale: float,
    priors: Sequence[float],
    n: int,
    packed: _Packed | None = None,
) -> list[Told]:
    """Up to ``n`` judgements that have both kinds, each asked by all lessons about other queries.

    ``lessons`` are in the order of time, and those asked about evenly spread in it; ``packed`` are
    the same ones, where they are packed already.
    """
    both = [one for one in lessons if len(one.liked) and len(one.disliked)]
    places = np.linspace(0, len(both) - 1, min(n, len(both)), dtype=int)
    if not len(places):
        return []
    if packed is None:
        packed = _Packed(sorted(lessons, key=lambda one: (one.key, one.order)), scale)
    found = []
    for at in places.tolist():
        held = both[at]
        u = held.query.astype(np.float64)
        sums = _sums(packed.around(u, without=held.query), scale)
        right = []
        for prior in priors:
            row = u if np.isinf(prior) else _asked(sums, u, prior)
            before = (held.liked @ row)[:, None] - (held.disliked @ row)[None, :]
            right.append(float(np.mean(before > 0)))
        found.append(Told(right, len(held.liked) * len(held.disliked)))
    return found


def choose_prior(lessons: Sequence[Lesson], scale: float) -> float:
    """N0 of ``PRIORS`` by which judgements are best told by those about other queries.

    The least N0 wins that is not worse than the best by more than the standard error of their
    difference.
    """
    asked = told_by_others(lessons, scale, PRIORS, HELD_OUT)
    if len(asked) < 2:
        return PRIOR
    share = np.array([one.right for one in asked])
    worse = share[:, [int(share.mean(axis=0).argmax())]] - share
    error = worse.std(axis=0, ddof=1) / np.sqrt(len(share))
    return PRIORS[int(np.argmax(worse.mean(axis=0) <= error))]


class _Side(NamedTuple):
    """Pairs of one kind, summed: S / g and n, with the factors of (2) and (4)."""

    S: Floats
    n: float
    prior: float
    factor: float


class _Sums(NamedTuple):
    """Pairs of both kinds, summed, and how many judgements they are: e of (5)."""

    sides: list[_Side]
    judgements: float


def _sums(pairs: _Pairs, scale: float) -> _Sums:
    """The sums of (1) and (3), whatever N0."""
    sides = []
    kinds = ((pairs.alike, ALIKE_PRIOR, 1.0), (~pairs.alike, 1.0, -UNLIKE_FACTOR))
    for chosen, prior, factor in kinds:
        d, counts = pairs.differences[chosen].astype(np.float64), pairs.weights[chosen]
        S = (d * (counts / (2 * scale))[:, None]).T @ d
        sides.append(_Side(S, float(counts.sum()), prior, factor))
    return _Sums(sides, pairs.judgements)


def _asked(sums: _Sums, u: Floats, prior: float) -> Floats:
    """Equation (5)."""
    change = _correction(sums, u, prior)
    length = float(np.linalg.norm(change))
    limit = min(REACH, JUDGEMENT_REACH * sums.judgements)
    return u + (change if length <= limit else change * (limit / length))


def _correction(sums: _Sums, u: Floats, prior: float) -> Floats:
    """(M - I) u, equation (4); u is one query, or the columns of a matrix."""
    found: Floats = np.zeros_like(u)
    for side in sums.sides:
        N = side.prior * prior + side.n
        A = side.S.copy()
        A[np.diag_indices_from(A)] += N
        found += side.factor * (np.linalg.solve(A / (N + side.n), u) - u)
    return found


def _pair_weights(lesson: Lesson) -> Floats:
    """What each pair counts; no side more than ``JUDGEMENT_PAIRS``."""
    sides = []
    for rows, weight in ((lesson.liked, 1.0), (lesson.disliked, lesson.weight)):
        n = len(rows)
        sides.append(np.full(n, weight * min(1.0, JUDGEMENT_PAIRS / max(n, 1))))
    return np.concatenate(sides)


def _shorten(differences: Rows, longest: float) -> Rows:
    """Differences of a squared length of at most ``longest``, which neighbours have on average."""
    squares = np.einsum("ij,ij->i", differences, differences, dtype=np.float64)
    factors = np.sqrt(np.minimum(1.0, longest / np.maximum(squares, np.finfo(float).tiny)))
    return np.asarray(differences * factors[:, None], np.float32)


def _unit(X: Rows) -> Rows:
    """Rows of unit length; a row of zeros stays one."""
    norms = np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    made = np.divide(X, norms, out=np.zeros(X.shape), where=norms > 0)
    return np.asarray(made, np.float32)
