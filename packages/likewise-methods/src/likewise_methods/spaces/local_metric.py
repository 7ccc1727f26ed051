"""Learn a metric around each query of a dense space from judged pairs.

A judgement names pictures that are like its query and pictures that are not.  Each gives a pair, a
difference of rows d = x - q, shortened to the distance of neighbours.  For a new query, pairs of
judgements about *similar* pictures count most.  Let s_j = max(0, u . c_j) for the query u and the
mean c_j of query and liked pictures of judgement j, all of unit length, and s the largest s_j.
Judgement j counts k = s_j s^3.  With the equations of docs/methods/staying.md, (10) to (16):

    S = sum of k d d' / 2 over similar pairs, n = sum of k                                   (11)
    A = I + S / (g N),  N = 4 N0 + n                                                         (12)
    D, m the same for dissimilar pairs, N = N0 + m:
    B = I + D / (g N),  C = I + (m / 2n) S / (g N), which is I where n = 0                   (13)
    M = A^-1 + 3 (C^-1 - B^-1)                                                               (14)
    search with u + c (M - I) u, with the largest c <= 1 so that |c (M - I) u| <= min(1, e / 2),
           e = sum of k / largest k, where a session counts at most 1.5: one judgement moves a
           query by at most half its length, one session by at most three quarters           (15)

Directions in which liked pictures differ from their query count less; directions in which disliked
pictures differ *more than liked ones* count more.  C is what B would be if half of the disliked
pictures were liked ones: without C, wrong clicks on a page of mostly good results would raise the
directions in which a class varies.  Both kinds of pairs have the same prior, since both come from
one page of similar results (Köstinger et al. 2012 compare with random pairs).  g is the mean
difference of neighbours per column, ``FittedSpace.scale_``.  Similar pairs count less than
dissimilar ones, by their prior and factor: how one class varies says little about other classes.

Queries far from all judgements keep M = I, since k is 0; s^3 keeps M near I if the nearest
judgement is only a little similar, and N0 if there are few.  A^-1, B^-1 and C^-1 lie between 0 and
I, so a direction counts between -3 and 4 times, and (15) bounds the total.  Only the query's row
changes, so every index serves every profile.

The result is a function of the set of lessons: their order, and lessons added and discarded, do not
change a bit on the same machine.
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
"""N0 before it is chosen, and its minimum: the weight of the untaught metric in pairs.  With it
classes without judgements lose less than half a point on corel1k, caltech101, cifar10 and oxford1k,
and one wrong click in five does no harm (docs/results/staying.md)."""
PRIORS = (200.0, 500.0, 1500.0, np.inf)
"""Candidates for N0; infinity learns nothing."""
NEARNESS = 3
"""Power of the largest cosine in k: s^3.  A smaller one learns more in broad classes (cifar10) and
harms classes without judgements (oxford1k, caltech101)."""
MIN_COSINE = 0.14
"""A judgement with a smaller s_j counts 0."""
JUDGEMENT_PAIRS = 20.0
"""The most that one judgement counts, in pairs of one kind."""
ALIKE_PRIOR, UNLIKE_FACTOR, STRAYS = 4.0, 3.0, 0.5
"""The factors of (12), (14) and (13)."""
JUDGEMENT_REACH, REACH = 0.5, 1.0
"""The most that one judgement, and all of them, move a query, in its length (15)."""
SESSION_JUDGEMENTS = 1.5
"""The most judgements that one session counts for in (15)."""
NEAREST = 128
"""The most judgements that count for one query."""
CHOOSE_FROM = 32
"""N0 is chosen from so many judgements on, and again when there are twice as many."""
HELD_OUT = 24
"""Judgements that are tested, each without its own lessons, to choose N0."""
TESTED = 48
"""Judgements that are tested, each without its own lessons, for :meth:`LocalMetric.agreement`."""
_FEW = 16
"""Up to so many added or removed lessons are applied one by one."""
_LONE = np.iinfo(np.int64).min
"""Stands for no session."""


class Lesson(NamedTuple):
    """One judgement as rows of unit length.

    Attributes
    ----------
    order : int
        Its number in time.
    query : array of shape (width,)
        The query.
    liked, disliked : array of shape (n, width)
        Rows of liked and of disliked pictures.
    weight : float
        Weight of the disliked pictures.
    session : int or None
        The session; None for one of its own.

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
        """A hash of the content; lessons are summed in the order of their keys."""
        parts = (self.query, self.liked, self.disliked, np.float64(self.weight))
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes() + b"|")
        return digest.digest()


class Agreement(NamedTuple):
    """How well judgements are predicted by those about other queries.

    ``learned`` is the share of a judgement's (liked, disliked) pairs in the right order, ``plain``
    the share without learning, both averaged over judgements; ``comparisons`` is the number of
    pairs.

    See Also
    --------
    LocalMetric : measures it.
    """

    learned: float
    plain: float
    comparisons: int


class LocalMetric:
    """A metric learned from a set of lessons, which can be added and discarded at any time.

    Parameters
    ----------
    width : int
        Number of columns.
    scale : float
        Half the squared difference of neighbours, per column (``FittedSpace.scale_``); above 0.
    prior : float, optional
        N0, the weight of the untaught metric in pairs; None chooses it from the judgements.

    Attributes
    ----------
    lessons : list of Lesson
        In the order of time.

    See Also
    --------
    FittedSpace : computes the rows.
    likewise_methods.solis.expand : changes the judged query itself.
    likewise_methods.solis.profile_learner : learns for sparse rows.

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
    >>> bool(row[1] / row[2] < 0.5 / 0.33)  # liked pictures differ in the second column
    True
    """

    def __init__(self, width: int, scale: float, prior: float | None = None) -> None:
        self.width = whole(width, "width")
        self.scale = number(scale, "scale", above=0)
        self.prior = None if prior is None else number(prior, "prior", above=0)
        # One thread may add while another searches.
        self._lock = threading.Lock()
        self._lessons: list[_Prepared] = []
        self._version = 0
        # The packed lessons, and the changes since then: (added, lesson).
        self._packed: _Packed | None = None
        self._changes: list[tuple[bool, _Prepared]] = []
        self._chosen: tuple[tuple[tuple[int, bytes], ...], float] | None = None
        # One thread chooses N0, which takes a while; the others wait.
        self._choosing = threading.Lock()
        # While the choice is valid: the number of its lessons and the last number in time; and the
        # first number in time that changed during a choice.
        self._settled: tuple[int, int] | None = None
        self._touched: float = np.inf
        self._agreement: tuple[int, Agreement | None, Spread] | None = None

    def __len__(self) -> int:
        return len(self._lessons)

    @property
    def lessons(self) -> list[Lesson]:
        """The lessons in the order of time."""
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
        """Add one judgement; without liked and disliked pictures it does nothing.

        Parameters
        ----------
        order : int
            Its number in time, for :meth:`discard`.
        query : array of shape (width,)
            The query.
        liked, disliked : array of shape (n, width)
            Rows of liked and of disliked pictures, any n from 0.
        weight : float, default=1.0
            Weight of the disliked pictures; 0 or more.
        session : int, optional
            The session.

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
        """Remove the lessons with these numbers in time.

        Parameters
        ----------
        orders : iterable of int
            Numbers in time.

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
        """Record an added or removed lesson; call it with the lock."""
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
        """Return a metric with the first ``n`` lessons in time only."""
        n = whole(n, "n", 0)
        made = LocalMetric(self.width, self.scale, self.prior)
        # Lessons with the same number in time are ordered by key.
        order = sorted(range(len(self)), key=lambda at: self._lessons[at].lesson.order)
        made._lessons = [self._lessons[at] for at in sorted(order[:n])]
        made._chosen = self._chosen
        return made

    def ask(self, row: Any) -> Rows:
        """Return the row to search with; the query itself (unit length) far from all lessons.

        Parameters
        ----------
        row : array of shape (width,)
            A query.

        Returns
        -------
        float32 array of shape (width,)
            The row to search with, by inner products.
        """
        u = self._rows(row, "row")[0].astype(np.float64)
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior) or not u.any():
            return np.asarray(u, np.float32)
        return np.asarray(_moved_query(self._around(u), u, prior), np.float32)

    def ask_parts(self, row: Any, parts: Floats) -> Floats:
        """Return the contribution of each part of a query's row to the result of :meth:`ask`.

        For one query (15) is a linear map; it is applied to ``parts``, which add up to the unit
        row.
        """
        u = self._rows(row, "row")[0].astype(np.float64)
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior) or not u.any():
            return np.asarray(parts, np.float64)
        pairs = self._around(u)
        share = _kept_share(pairs, _correction(pairs, u, prior))
        return np.asarray(parts + share * _correction(pairs, parts.T, prior).T)

    def used_prior(self) -> float:
        """Return N0, given or chosen from the judgements."""
        if self.prior is not None:
            return self.prior
        return self._settled_choice() or self._choose()

    def _settled_choice(self) -> float | None:
        """Return N0 if the lessons behind its choice did not change, else None."""
        with self._lock:
            if len(self._lessons) < CHOOSE_FROM:
                return PRIOR
            if self._settled is None or self._chosen is None:
                return None
            return self._chosen[1] if self._settled[0] == _first(len(self._lessons)) else None

    def _choose(self) -> float:
        with self._choosing:
            found = self._settled_choice()
            if found is not None:
                return found
            with self._lock:
                self._touched = np.inf
                first = sorted(self._lessons, key=lambda one: one.lesson.order)
            del first[_first(len(first)) :]
            if len(first) < CHOOSE_FROM:  # some were removed
                return PRIOR
            # Compared by content: a contradicted lesson keeps its number in time.
            said = tuple((one.lesson.order, one.key) for one in first)
            if self._chosen is None or self._chosen[0] != said:
                self._chosen = said, _choose_prior(first)
            with self._lock:
                # Later lessons do not matter.
                last = first[-1].lesson.order
                self._settled = (len(first), last) if self._touched > last else None
            return self._chosen[1]

    def influence(self, row: Any) -> float:
        """Return the weighted number of pairs that count for a query."""
        u = self._rows(row, "row")[0].astype(np.float64)
        if not self._lessons:
            return 0.0
        around = self._around(u)
        return around.alike.n + around.unlike.n

    def overall(self) -> Floats:
        """Return M with the same weight for every judgement."""
        prior = self.used_prior()
        if not self._lessons or np.isinf(prior):
            return np.eye(self.width)
        plain = np.eye(self.width)
        with self._lock:
            pairs = self._pack().everywhere()
        return plain + _correction(pairs, plain, prior)

    def agreement(self) -> Agreement | None:
        """Test up to ``TESTED`` judgements, evenly spread in time, without lessons about their
        query.

        Returns None if no judgement has pictures of both kinds.  (A chosen N0 gives a slight
        advantage, since it was chosen with such judgements.)
        """
        return self._tested()[0]

    def gains(self) -> Spread:
        """Return the gain in the share of right pairs of each tested judgement."""
        return self._tested()[1]

    def _tested(self) -> tuple[Agreement | None, Spread]:
        if not self._lessons:
            return None, Spread()
        with self._lock:
            version, found = self._version, self._agreement
            lessons = self._lessons.copy()
        if found is None or found[0] != version:
            prior = self.used_prior()
            # A copy, since other threads may add lessons meanwhile.
            asked = _test_lessons(_Packed(lessons), (prior, np.inf), TESTED)
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
        """Return the packed lessons; call it with the lock."""
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
    """A lesson and its differences; ``about`` is the same for lessons about one query.

    ``alike`` and ``unlike`` are shortened differences times the root of their weight over 2 g:
    their squares add up to S / g and D / g.
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
    """Return the number of first lessons that N0 is chosen from: the largest power of two."""
    return 1 << n.bit_length() >> 1


def _place(one: _Prepared) -> tuple[bytes, int]:
    """Return the sort key of a lesson in sums."""
    return one.key, one.lesson.order


def _prepare(lesson: Lesson, scale: float) -> _Prepared:
    query = lesson.query + np.float32(0)  # no negative zeros
    digest = hashlib.blake2b(query.tobytes(), digest_size=8).digest()
    centre = _unit((query + lesson.liked.sum(axis=0, dtype=np.float32))[None])[0]
    longest = 2 * scale * len(query)
    sides: list[Rows] = []
    counts: list[float] = []
    for rows, weight in ((lesson.liked, 1.0), (lesson.disliked, lesson.weight)):
        # The most pairs of one kind.
        each = weight * min(1.0, JUDGEMENT_PAIRS / max(len(rows), 1))
        d = _shorten(rows - query, longest)
        sides.append(np.asarray(d * np.sqrt(each / (2 * scale)), np.float32))
        counts.append(each * len(rows))
    about = int.from_bytes(digest, "little", signed=True)
    return _Prepared(lesson.key, lesson, about, centre, sides[0], sides[1], counts[0], counts[1])


class _Side(NamedTuple):
    """Pairs of one kind: X (X'X = S / g or D / g), their number, the smaller of X'X and XX'."""

    X: Rows
    n: float
    square: Floats


class _Pairs(NamedTuple):
    """Weighted pairs of both kinds for a query, and the number of judgements: e of (15)."""

    alike: _Side
    unlike: _Side
    judgements: float


class _Packed:
    """Prepared lessons in the order of their keys, in tables that find those near a query.

    Adding or removing a lesson moves rows in place: new tables after each judgement would fill the
    heap of every thread.
    """

    def __init__(self, prepared: Sequence[_Prepared]) -> None:
        self.prepared = list(prepared)
        # Tables may have free rows.
        self._centres = np.array([one.centre for one in prepared], np.float64)
        self._about = np.array([one.about for one in prepared], np.int64)
        self._sessions = np.array([_session(one) for one in prepared], np.int64)

    def insert(self, one: _Prepared) -> None:
        """Add a lesson."""
        n, at = len(self.prepared), bisect_left(self.prepared, _place(one), key=_place)
        self.prepared.insert(at, one)
        self._centres, self._about, self._sessions = (
            _make_room(table, n, at) for table in (self._centres, self._about, self._sessions)
        )
        self._centres[at], self._about[at], self._sessions[at] = (
            one.centre, one.about, _session(one)
        )  # fmt: skip

    def remove(self, one: _Prepared) -> None:
        """Remove a lesson."""
        n, at = len(self.prepared), bisect_left(self.prepared, _place(one), key=_place)
        del self.prepared[at]
        for table in (self._centres, self._about, self._sessions):
            _move(table, at + 1, n, -1)

    def around(self, u: Floats, without: int | None = None) -> _Pairs:
        """Return the pairs of the nearest judgements to a query, except those about ``without``."""
        n = len(self.prepared)
        counts = np.maximum(self._centres[:n] @ u, 0.0)
        if without is not None:
            counts[self._about[:n] == without] = 0.0
        near = np.flatnonzero(counts > MIN_COSINE)
        if len(near) > NEAREST:
            # Stable: equal ones in the order of their keys.
            near = np.sort(near[np.argsort(-counts[near], kind="stable")[:NEAREST]])
        return self._take(near, counts[near] * counts.max(initial=0.0) ** NEARNESS)

    def everywhere(self) -> _Pairs:
        """Return all pairs with equal weights."""
        return self._take(np.arange(len(self.prepared)), np.ones(len(self.prepared)))

    def _take(self, places: NDArray[np.int64], counts: Floats) -> _Pairs:
        taken = [self.prepared[at] for at in places.tolist()]
        alike = _side([one.alike for one in taken], [one.n_alike for one in taken], counts)
        unlike = _side([one.unlike for one in taken], [one.n_unlike for one in taken], counts)
        # Lessons without a session have one each.
        named = self._sessions[places]
        sessions = np.where(named == _LONE, -1 - places, named)
        return _Pairs(alike, unlike, _count_judgements(counts, sessions))


def _session(one: _Prepared) -> int:
    return _LONE if one.lesson.session is None else one.lesson.session


def _make_room(table: NDArray[Any], n: int, at: int) -> NDArray[Any]:
    """Return a table with a free row at an index; the first ``n`` rows are used."""
    if n == len(table):
        larger = np.empty((n + n // 2 + _FEW, *table.shape[1:]), table.dtype)
        larger[:n] = table
        table = larger
    _move(table, at, n, 1)
    return table


def _move(table: NDArray[Any], start: int, stop: int, by: int) -> None:
    """Move rows within a table; source and target may overlap."""
    # As one flat array, which NumPy moves without a copy.
    flat, width = table.reshape(-1), math.prod(table.shape[1:])
    flat[(start + by) * width : (stop + by) * width] = flat[start * width : stop * width]


def _side(parts: Sequence[Rows], numbers: Sequence[float], counts: Floats) -> _Side:
    """Return the sums of (11)."""
    if not parts:
        return _Side(np.zeros((0, 0), np.float32), 0.0, np.zeros((0, 0)))
    roots = np.sqrt(counts).astype(np.float32)
    X = np.concatenate(parts) * np.repeat(roots, [len(part) for part in parts])[:, None]
    square = X.T @ X if len(X) > X.shape[1] else X @ X.T
    return _Side(X, float(np.dot(numbers, counts)), square.astype(np.float64))


def _count_judgements(counts: Floats, sessions: NDArray[np.int64]) -> float:
    """Return e of (15)."""
    most = float(counts.max(initial=0.0))
    if not most:
        return 0.0
    _, which = np.unique(sessions, return_inverse=True)
    each = np.bincount(which, counts / most)
    return float(np.minimum(each, SESSION_JUDGEMENTS).sum())


class _Tested(NamedTuple):
    """A tested judgement: for each N0 the share of its pairs in the right order."""

    right: list[float]
    comparisons: int


def _test_lessons(packed: _Packed, priors: Sequence[float], n: int) -> list[_Tested]:
    """Test up to ``n`` queries with both kinds of pictures by the lessons about other queries.

    All lessons about one query count as one judgement.
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
            row = u if np.isinf(prior) else _moved_query(pairs, u, prior)
            before = (liked @ row)[:, None] - (disliked @ row)[None, :]
            right.append(float(np.mean(before > 0)))
        found.append(_Tested(right, len(liked) * len(disliked)))
    return found


def _choose_prior(timely: Sequence[_Prepared]) -> float:
    """Choose the N0 of ``PRIORS`` that predicts judgements best from those about other queries.

    The smallest N0 that is not worse than the best by more than the standard error of their
    difference, (16).
    """
    asked = _test_lessons(_Packed(sorted(timely, key=_place)), PRIORS, HELD_OUT)
    if len(asked) < 2:
        return PRIOR
    share = np.array([one.right for one in asked])
    worse = share[:, [int(share.mean(axis=0).argmax())]] - share
    error = worse.std(axis=0, ddof=1) / np.sqrt(len(share))
    return PRIORS[int(np.argmax(worse.mean(axis=0) <= error))]


def _moved_query(pairs: _Pairs, u: Floats, prior: float) -> Floats:
    """Return the row to search with, (15)."""
    change = _correction(pairs, u, prior)
    return u + _kept_share(pairs, change) * change


def _kept_share(pairs: _Pairs, change: Floats) -> float:
    """Return c of (15)."""
    length = float(np.linalg.norm(change))
    limit = min(REACH, JUDGEMENT_REACH * pairs.judgements)
    return 1.0 if length <= limit else limit / length


def _correction(pairs: _Pairs, u: Floats, prior: float) -> Floats:
    """Return (M - I) u, (14); u is one query, or the columns of a matrix."""
    alike, unlike = pairs.alike, pairs.unlike
    found = _shrunk(alike, ALIKE_PRIOR * prior + alike.n, u)
    if unlike.n:
        N = prior + unlike.n
        found -= UNLIKE_FACTOR * _shrunk(unlike, N, u)
        if alike.n:
            found += UNLIKE_FACTOR * _shrunk(alike, N * alike.n / (STRAYS * unlike.n), u)
    return found


def _shrunk(side: _Side, N: float, u: Floats) -> Floats:
    """Return ((I + X'X / N)^-1 - I) u from the smaller of X'X and XX'."""
    X, square = side.X, side.square
    if not len(X):
        return np.zeros_like(u)
    A = square.copy()
    A.flat[:: len(A) + 1] += N
    if len(X) > X.shape[1]:
        return np.asarray(N * np.linalg.solve(A, u) - u)
    return np.asarray(-(X.T @ np.linalg.solve(A, X @ u)))


def _shorten(differences: Rows, longest: float) -> Rows:
    """Shorten differences to a squared length of at most ``longest``."""
    squares = np.einsum("ij,ij->i", differences, differences, dtype=np.float64)
    factors = np.sqrt(np.minimum(1.0, longest / np.maximum(squares, np.finfo(float).tiny)))
    return np.asarray(differences * factors[:, None], np.float32)


def _unit(X: Rows) -> Rows:
    """Scale rows to unit length; rows of zeros stay zero."""
    norms = np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)
    made = np.divide(X, norms, out=np.zeros(X.shape), where=norms > 0)
    return np.asarray(made, np.float32)
