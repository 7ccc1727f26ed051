"""What judgements teach a dense space: a metric around each query, from pairs that people judged.

A judgement says of some pictures that they are like its query, and of others that they are not.
Each is a pair, and a pair is a difference of rows, d = x - q, shortened where it is longer than
neighbours differ: that a stranger is far says nothing.  Around a query of one's own the
pairs of judgements about *similar* pictures count most.  Let s_j = max(0, u . c_j), u the query and
c_j the middle of what was alike in judgement j, all of unit length, and s the largest of them.
Judgement j counts k = s_j s^3.  With (numbers are those of docs/methods/staying.md, (10) to
(16))

    S = sum of k d d' / 2 over pairs that are alike, n = sum of k                            (11)
    A = I + S / (g N),  N = 4 N0 + n                                                         (12)
    D, m likewise of pairs that are not alike, N = N0 + m:
    B = I + D / (g N),  C = I + (m / 2n) S / (g N), which is I where n = 0                   (13)
    M = A^-1 + 3 (C^-1 - B^-1)                                                               (14)
    asked: u + c (M - I) u, with c <= 1 the largest so that |c (M - I) u| <= min(1, e / 2),
           e = sum of k / largest k, a session counting 1.5 at most: one judgement moves a
           query by at most half its length, one session by at most three quarters           (15)

the query is asked as (15).  Directions in which liked pictures differ from their query count less,
those in which disliked ones differ *more than liked ones do* count more.  That is what C is for: it
is what B would be if the disliked pictures were half of them strays among the liked ones.  Where
nearly all of a page is right, most of what is disliked is a slip of the finger, and without C those
slips would raise the very directions in which a class varies.  Both kinds of pair are measured
against the same prior, since both are near: they come from one page of answers.  (Against
strangers, as in the closed form of Köstinger et al. 2012, a page of judgements would say mostly
that pages are of near pictures.)  g is what two neighbours differ by a column,
``FittedSpace.scale_``.  What is alike counts less than what is not, by its prior and its factor:
that one class varies in a direction says little about the next class, but that two classes differ
there serves both.

Three things follow.  What nobody judged keeps M = I: there k is 0.  Where the nearest judgement is
about something only a little alike, s^3 keeps M near I however many such judgements there are; N0
holds against a few.  A^-1, B^-1 and C^-1 lie between 0 and I, so that a direction counts between -3
and 4 times, and (15) bounds what all of them do together.  And only the query's row moves, so that
every index over the collection's rows serves every profile.

The lessons are a set.  What comes out is a function of that set alone: judging, taking back,
rolling back and merging in any order give the same bits on one machine.
"""

from __future__ import annotations

import hashlib
import math
import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.intervals import Spread
from likewise_methods.validation import number, whole

Rows = NDArray[np.float32]
Floats = NDArray[np.float64]

PRIOR = 200.0
"""N0 until enough was judged to choose it, and the least it may be: pairs that what nobody judged
counts for.  Chosen on draws of corel1k, caltech101, cifar10 and oxford1k so that classes nobody
judged lose less than half a point there, and that with one click in five wrong nothing is lost
(docs/results/staying.md)."""
PRIORS = (200.0, 500.0, 1500.0, np.inf)
"""What N0 is chosen from; infinity learns nothing."""
NEARNESS = 3
"""Power of the largest cosine by which all counts are multiplied: s^3.  Less teaches more where
classes are broad (cifar10) and harms classes nobody judged (oxford1k, caltech101)."""
LEAST = 0.14
"""A judgement counts nothing where s_j is below this: many strangers do not make a neighbour."""
JUDGEMENT_PAIRS = 20.0
"""The most one judgement counts on either side, in pairs: no list teaches more than a page."""
ALIKE_PRIOR, UNLIKE_FACTOR, STRAYS = 4.0, 3.0, 0.5
"""The factors of (12), (14) and (13)."""
JUDGEMENT_REACH, REACH = 0.5, 1.0
"""How far a query may move, in its own length: by one judgement, and by all there are (15)."""
SESSION_JUDGEMENTS = 1.5
"""Judgements that one session counts for in (15), at most: a bad afternoon is not all there is."""
NEAREST = 128
"""Judgements that count for one query, at most: those that count most."""
CHOOSE_FROM = 32
"""Judgements from which on N0 is chosen; then again whenever there are twice as many."""
HELD_OUT = 24
"""Judgements that are asked about, each by the others, to choose N0."""
TOLD_BY_OTHERS = 48
"""Judgements that are asked about, each by the others, to say how well that works."""
_FEW = 16
"""Lessons that come or go one by one; more are packed anew together."""
_LONE = np.iinfo(np.int64).min
"""In the place of the session of a lesson that has none."""


class Lesson(NamedTuple):
    """One judgement as rows of unit length.

    Attributes
    ----------
    order : int
        Its place in time.
    query : array of shape (width,)
        The row that was asked with.
    liked, disliked : array of shape (n, width)
        Rows of the pictures that are like it and that are not.
    weight : float
        Counts for what is not alike.
    session : int or None
        Names the sitting it was made in; None: one of its own.

    See Also
    --------
    LocalMetric : learns from lessons.
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

    Nothing is fitted: lessons come and go at any time, and what is learned is a function of the
    set of them.

    Parameters
    ----------
    width : int
        Columns of a row.
    scale : float
        Half the squared difference of two neighbours, a column (``FittedSpace.scale_``); above 0.
    prior : float, optional
        N0, the pairs that what nobody judged counts for; None chooses it by the judgements.

    Attributes
    ----------
    lessons : list of Lesson
        By their place in time.

    See Also
    --------
    FittedSpace : makes the rows.
    likewise_methods.solis.expand : what a judgement makes of its own query.
    likewise_methods.solis.profile_learner : the same for sparse rows.

    References
    ----------
    Köstinger et al., Large scale metric learning from equivalence constraints, CVPR 2012 (the
    closed form of pair covariances).

    docs/methods/staying.md, (10) to (16).

    Examples
    --------
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
        # One thread may judge while another asks.
        self._lock = threading.Lock()
        self._lessons: list[_Prepared] = []
        self._version = 0
        # The lessons as a query finds them, and what came or went since: (came, lesson).
        self._packed: _Packed | None = None
        self._changes: list[tuple[bool, _Prepared]] = []
        self._chosen: tuple[tuple[tuple[int, bytes], ...], float] | None = None
        # One thread chooses, which takes a while; the others wait for what it finds.
        self._choosing = threading.Lock()
        # How many lessons the choice is of and the last of their places in time, while it holds;
        # and the first place where one came or went while somebody was choosing.
        self._settled: tuple[int, int] | None = None
        self._touched: float = np.inf
        self._agreement: tuple[int, Agreement | None, Spread] | None = None

    def __len__(self) -> int:
        return len(self._lessons)

    @property
    def lessons(self) -> list[Lesson]:
        """The lessons by their place in time."""
        return sorted((one.lesson for one in list(self._lessons)), key=lambda one: one.order)

    def add(
        self,
        order: int,
        query: Any,
        liked: Any,
        disliked: Any,
        weight: float = 1.0,
        session: int | None = None,
    ) -> LocalMetric:
        """Learn one judgement; nothing alike and nothing unlike teaches nothing.

        Parameters
        ----------
        order : int
            Its place in time, by which it can be discarded.
        query : array of shape (width,)
            The row that was asked with.
        liked, disliked : array of shape (n, width)
            Rows of pictures that are like it and that are not, any n from 0.
        weight : float, default=1.0
            Counts for what is not alike; 0 or more.
        session : int, optional
            The sitting it was made in.

        Returns
        -------
        LocalMetric
            Itself.
        """
        made = Lesson(
            order,
            self._rows(query, "query")[0],
            self._rows(liked, "liked"),
            self._rows(disliked, "disliked"),
            number(weight, "weight", least=0),
            session,
        )
        if len(made.liked) or len(made.disliked):
            prepared = _prepare(made, self.scale)
            with self._lock:
                insort(self._lessons, prepared, key=_place)
                self._note_change(came=True, one=prepared)
        return self

    def discard(self, orders: Iterable[int]) -> LocalMetric:
        """Forget the lessons of these places in time, as if they had never been given.

        Parameters
        ----------
        orders : iterable of int
            Their places in time.

        Returns
        -------
        LocalMetric
            Itself.
        """
        gone = set(orders)
        with self._lock:
            kept = [one for one in self._lessons if one.lesson.order not in gone]
            left = [one for one in self._lessons if one.lesson.order in gone]
            self._lessons = kept
            for one in left:
                self._note_change(came=False, one=one)
        return self

    def _note_change(self, *, came: bool, one: _Prepared) -> None:
        """Under the lock: a lesson came or went."""
        self._version += 1
        self._touched = min(self._touched, one.lesson.order)
        if self._settled is not None and one.lesson.order <= self._settled[1]:
            self._settled = None
        if self._packed is not None:
            self._changes.append((came, one))
            if len(self._changes) > _FEW:
                self._packed = None
                self._changes.clear()

    def first(self, n: int) -> LocalMetric:
        """What the first ``n`` lessons in time teach alone."""
        n = whole(n, "n", 0)
        made = LocalMetric(self.width, self.scale, self.prior)
        # Lessons that came in whole share their place in time: those are told apart by their keys.
        order = sorted(range(len(self)), key=lambda at: self._lessons[at].lesson.order)
        made._lessons = [self._lessons[at] for at in sorted(order[:n])]
        made._chosen = self._chosen  # by which lessons it was chosen is kept with it
        return made

    def ask(self, row: Any) -> Rows:
        """The query's row as these lessons ask it; as it is (unit length) where they are silent.

        Parameters
        ----------
        row : array of shape (width,)
            A query.

        Returns
        -------
        float32 array of shape (width,)
            What to search with, by inner products.
        """
        u = self._rows(row, "row")[0].astype(np.float64)
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior) or not u.any():
            return np.asarray(u, np.float32)
        return np.asarray(_asked(self._around(u), u, prior), np.float32)

    def ask_parts(self, row: Any, parts: Floats) -> Floats:
        """What each part of a query's row adds to what :meth:`ask` makes of it.

        Around one query (5) is a linear map, the same for all rows: it is applied to ``parts``,
        which add up to the row of unit length.
        """
        u = self._rows(row, "row")[0].astype(np.float64)
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior) or not u.any():
            return np.asarray(parts, np.float64)
        pairs = self._around(u)
        share = _kept_share(pairs, _correction(pairs, u, prior))
        return np.asarray(parts + share * _correction(pairs, parts.T, prior).T)

    def used_prior(self) -> float:
        """N0: as given, or as the judgements choose it."""
        if self.prior is not None:
            return self.prior
        return self._settled_choice() or self._choose()

    def _settled_choice(self) -> float | None:
        """N0 where nothing changed that it is chosen by; None: it must be looked at again."""
        with self._lock:
            if len(self._lessons) < CHOOSE_FROM:
                return PRIOR
            if self._settled is None or self._chosen is None:
                return None
            return self._chosen[1] if self._settled[0] == _first(len(self._lessons)) else None

    def _choose(self) -> float:
        with self._choosing:
            found = self._settled_choice()
            if found is not None:  # another thread was quicker
                return found
            with self._lock:
                self._touched = np.inf
                first = sorted(self._lessons, key=lambda one: one.lesson.order)
            del first[_first(len(first)) :]
            if len(first) < CHOOSE_FROM:  # some went meanwhile
                return PRIOR
            # By content: a lesson that a later judgement contradicts keeps its place and says less.
            said = tuple((one.lesson.order, one.key) for one in first)
            if self._chosen is None or self._chosen[0] != said:
                self._chosen = said, _choose_prior(first)
            with self._lock:
                # What came later than those changes nothing.
                last = first[-1].lesson.order
                self._settled = (len(first), last) if self._touched > last else None
            return self._chosen[1]

    def influence(self, row: Any) -> float:
        """Pairs that count for a query, alike and not, each by how near its judgement is."""
        u = self._rows(row, "row")[0].astype(np.float64)
        if not self._lessons:
            return 0.0
        around = self._around(u)
        return around.alike.n + around.unlike.n

    def overall(self) -> Floats:
        """M with every judgement counted alike: what was learned on the whole."""
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior):
            return np.eye(self.width)
        plain = np.eye(self.width)
        with self._lock:
            pairs = self._pack().everywhere()
        return plain + _correction(pairs, plain, prior)

    def agreement(self) -> Agreement | None:
        """Up to ``TOLD_BY_OTHERS`` judgements, evenly spread in time, each asked by all the others.

        Only lessons about other queries tell: what was said about a query itself is no test.  None
        where no judgement has pictures of both kinds.  (N0, where it is chosen, is one of four
        values chosen by such judgements: a slight advantage.)
        """
        return self._tested()[0]

    def gains(self) -> Spread:
        """What learning adds to the share that is right, judgement by judgement, of those that
        :meth:`agreement` asks about."""
        return self._tested()[1]

    def _tested(self) -> tuple[Agreement | None, Spread]:
        if not self._lessons:
            return None, Spread()
        with self._lock:
            version, found = self._version, self._agreement
            lessons = self._lessons.copy()
        if found is None or found[0] != version:
            prior = self.used_prior()
            # A copy of its own: others may judge while it is asked, which takes a while.
            asked = _told_by_others(_Packed(lessons), (prior, np.inf), TOLD_BY_OTHERS)
            made = None
            if asked:
                learned, plain = np.mean([one.right for one in asked], axis=0).tolist()
                made = Agreement(learned, plain, sum(one.comparisons for one in asked))
            gains = Spread()
            for one in asked:
                gains = gains.add(one.right[0] - one.right[1])
            self._agreement = found = version, made, gains
        return found[1:]

    def _around(self, u: Floats) -> _Pairs:
        with self._lock:
            return self._pack().around(u)

    def _pack(self) -> _Packed:
        """Under the lock: all lessons, as a query finds them."""
        if self._packed is None:
            self._packed = _Packed(self._lessons)
        for came, one in self._changes:
            if came:
                self._packed.insert(one)
            else:
                self._packed.remove(one)
        self._changes.clear()
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


class _Prepared(NamedTuple):
    """A lesson and what is needed of it whenever it counts; ``about`` is the same for one query.

    ``alike`` and ``unlike`` are its differences, shortened, times the root of what each counts
    over 2 g: their squares add up to S / g and D / g.
    """

    key: bytes
    lesson: Lesson
    about: int
    centre: Rows
    alike: Rows
    unlike: Rows
    n_alike: float
    n_unlike: float


def _first(n: int) -> int:
    """The 2^m lessons in time that N0 is chosen by: others when there are twice as many."""
    return 1 << n.bit_length() >> 1


def _place(one: _Prepared) -> tuple[bytes, int]:
    """Lessons are summed in this order, whenever they came."""
    return one.key, one.lesson.order


def _prepare(lesson: Lesson, scale: float) -> _Prepared:
    query = lesson.query + np.float32(0)  # a zero has one sign
    digest = hashlib.blake2b(query.tobytes(), digest_size=8).digest()
    centre = _unit((query + lesson.liked.sum(axis=0, dtype=np.float32))[None])[0]
    longest = 2 * scale * len(query)
    sides: list[Rows] = []
    counts: list[float] = []
    for rows, weight in ((lesson.liked, 1.0), (lesson.disliked, lesson.weight)):
        # No side counts more than so many pairs.
        each = weight * min(1.0, JUDGEMENT_PAIRS / max(len(rows), 1))
        d = _shorten(rows - query, longest)
        sides.append(np.asarray(d * np.sqrt(each / (2 * scale)), np.float32))
        counts.append(each * len(rows))
    about = int.from_bytes(digest, "little", signed=True)
    return _Prepared(lesson.key, lesson, about, centre, sides[0], sides[1], counts[0], counts[1])


class _Side(NamedTuple):
    """Pairs of one kind: X, whose X'X is S / g or D / g, and how many they are; X'X where it is
    the smaller matrix, else XX'."""

    X: Rows
    n: float
    square: Floats


class _Pairs(NamedTuple):
    """Pairs of both kinds as they count for a query, and how many judgements that is: e of (15)."""

    alike: _Side
    unlike: _Side
    judgements: float


class _Packed:
    """Prepared lessons in the order of their keys, and what finds those near a query.

    A lesson more or less moves rows in place.  Made anew after each judgement, tables as long as
    all that was ever said would be left behind in the memory of every thread that judges: the
    system's allocator keeps what a thread gives back for that thread.
    """

    def __init__(self, prepared: Sequence[_Prepared]) -> None:
        self.prepared = list(prepared)
        # Each may have room for more.
        self._centres = np.array([one.centre for one in prepared], np.float64)
        self._about = np.array([one.about for one in prepared], np.int64)
        self._sessions = np.array([_session(one) for one in prepared], np.int64)

    def insert(self, one: _Prepared) -> None:
        """A lesson more."""
        n, at = len(self.prepared), bisect_left(self.prepared, _place(one), key=_place)
        self.prepared.insert(at, one)
        self._centres, self._about, self._sessions = (
            _make_room(table, n, at) for table in (self._centres, self._about, self._sessions)
        )
        self._centres[at], self._about[at], self._sessions[at] = (
            one.centre, one.about, _session(one)
        )  # fmt: skip

    def remove(self, one: _Prepared) -> None:
        """A lesson less."""
        n, at = len(self.prepared), bisect_left(self.prepared, _place(one), key=_place)
        del self.prepared[at]
        for table in (self._centres, self._about, self._sessions):
            _move(table, at + 1, n, -1)

    def around(self, u: Floats, without: int | None = None) -> _Pairs:
        """The pairs of the judgements nearest to a query, none of those about ``without``."""
        n = len(self.prepared)
        counts = np.maximum(self._centres[:n] @ u, 0.0)
        if without is not None:
            counts[self._about[:n] == without] = 0.0
        near = np.flatnonzero(counts > LEAST)
        if len(near) > NEAREST:
            # Stable, so that equal ones are taken in the order of their keys.
            near = np.sort(near[np.argsort(-counts[near], kind="stable")[:NEAREST]])
        return self._take(near, counts[near] * counts.max(initial=0.0) ** NEARNESS)

    def everywhere(self) -> _Pairs:
        """All pairs, all judgements alike."""
        return self._take(np.arange(len(self.prepared)), np.ones(len(self.prepared)))

    def _take(self, places: NDArray[np.int64], counts: Floats) -> _Pairs:
        taken = [self.prepared[at] for at in places.tolist()]
        alike = _side([one.alike for one in taken], [one.n_alike for one in taken], counts)
        unlike = _side([one.unlike for one in taken], [one.n_unlike for one in taken], counts)
        # Those without a session have one each.
        named = self._sessions[places]
        sessions = np.where(named == _LONE, -1 - places, named)
        return _Pairs(alike, unlike, _count_judgements(counts, sessions))


def _session(one: _Prepared) -> int:
    return _LONE if one.lesson.session is None else one.lesson.session


def _make_room(table: NDArray[Any], n: int, at: int) -> NDArray[Any]:
    """A table whose first ``n`` rows are used, with a free one at a place; the same if it has
    room."""
    if n == len(table):
        larger = np.empty((n + n // 2 + _FEW, *table.shape[1:]), table.dtype)
        larger[:n] = table
        table = larger
    _move(table, at, n, 1)
    return table


def _move(table: NDArray[Any], start: int, stop: int, by: int) -> None:
    """Rows of a table to other places in it, where they may overlap."""
    # As one long row, for which NumPy needs no copy.
    flat, width = table.reshape(-1), math.prod(table.shape[1:])
    flat[(start + by) * width : (stop + by) * width] = flat[start * width : stop * width]


def _side(parts: Sequence[Rows], numbers: Sequence[float], counts: Floats) -> _Side:
    """The sums of (11), whatever N0."""
    if not parts:
        return _Side(np.zeros((0, 0), np.float32), 0.0, np.zeros((0, 0)))
    roots = np.sqrt(counts).astype(np.float32)
    X = np.concatenate(parts) * np.repeat(roots, [len(part) for part in parts])[:, None]
    square = X.T @ X if len(X) > X.shape[1] else X @ X.T
    return _Side(X, float(np.dot(numbers, counts)), square.astype(np.float64))


def _count_judgements(counts: Floats, sessions: NDArray[np.int64]) -> float:
    """e of equation (15)."""
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


def _told_by_others(packed: _Packed, priors: Sequence[float], n: int) -> list[Told]:
    """Up to ``n`` queries with both kinds, evenly spread in time, each asked by all lessons about
    other queries.

    All that was said about one query is one judgement here: on a page people like one picture and
    dislike the next, each by a click.
    """
    timely = sorted(packed.prepared, key=lambda one: one.lesson.order)
    about: dict[int, list[Lesson]] = {}
    for one in timely:
        about.setdefault(one.about, []).append(one.lesson)
    both = [
        query
        for query, said in about.items()
        if any(len(one.liked) for one in said) and any(len(one.disliked) for one in said)
    ]
    places = np.linspace(0, len(both) - 1, min(n, len(both)), dtype=int)
    found = []
    for held in (both[at] for at in places.tolist()):
        said = about[held]
        liked, disliked = (
            np.concatenate(rows) for rows in zip(*(one[2:4] for one in said), strict=True)
        )
        u = said[0].query.astype(np.float64)
        pairs = packed.around(u, without=held)
        right = []
        for prior in priors:
            row = u if np.isinf(prior) else _asked(pairs, u, prior)
            before = (liked @ row)[:, None] - (disliked @ row)[None, :]
            right.append(float(np.mean(before > 0)))
        found.append(Told(right, len(liked) * len(disliked)))
    return found


def _choose_prior(timely: Sequence[_Prepared]) -> float:
    """N0 of ``PRIORS`` by which judgements are best told by those about other queries.

    The least N0 wins that is not worse than the best by more than the standard error of their
    difference: equation (16).
    """
    asked = _told_by_others(_Packed(sorted(timely, key=_place)), PRIORS, HELD_OUT)
    if len(asked) < 2:
        return PRIOR
    share = np.array([one.right for one in asked])
    worse = share[:, [int(share.mean(axis=0).argmax())]] - share
    error = worse.std(axis=0, ddof=1) / np.sqrt(len(share))
    return PRIORS[int(np.argmax(worse.mean(axis=0) <= error))]


def _asked(pairs: _Pairs, u: Floats, prior: float) -> Floats:
    """Equation (15)."""
    change = _correction(pairs, u, prior)
    return u + _kept_share(pairs, change) * change


def _kept_share(pairs: _Pairs, change: Floats) -> float:
    """c of equation (5)."""
    length = float(np.linalg.norm(change))
    limit = min(REACH, JUDGEMENT_REACH * pairs.judgements)
    return 1.0 if length <= limit else limit / length


def _correction(pairs: _Pairs, u: Floats, prior: float) -> Floats:
    """(M - I) u, equation (14); u is one query, or the columns of a matrix."""
    alike, unlike = pairs.alike, pairs.unlike
    found = _shrunk(alike, ALIKE_PRIOR * prior + alike.n, u)
    if unlike.n:
        N = prior + unlike.n
        found -= UNLIKE_FACTOR * _shrunk(unlike, N, u)
        if alike.n:
            found += UNLIKE_FACTOR * _shrunk(alike, N * alike.n / (STRAYS * unlike.n), u)
    return found


def _shrunk(side: _Side, N: float, u: Floats) -> Floats:
    """((I + X'X / N)^-1 - I) u, by whichever of X'X and XX' is smaller."""
    X, square = side.X, side.square
    if not len(X):
        return np.zeros_like(u)
    A = square.copy()
    A.flat[:: len(A) + 1] += N
    if len(X) > X.shape[1]:
        return np.asarray(N * np.linalg.solve(A, u) - u)
    return np.asarray(-(X.T @ np.linalg.solve(A, X @ u)))


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
