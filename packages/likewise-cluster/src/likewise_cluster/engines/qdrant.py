"""Rows in Qdrant, ranked as the embedded index ranks them.

Qdrant scores in float32 and returns only pictures whose score is not 0, so its results are only
candidates.  A few more candidates than wanted are scored again in float64, and more are requested
until it is proved that no other picture belongs among the best.  Pictures that share no word, whose
score is 0, are added by id.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.engines.errors import EngineRefused
from likewise.engines.protocol import Facts, FirstStage, Found, Ids, Listed, RowKind, Where
from likewise.engines.scores import (
    best_of,
    dense_query,
    dense_scores,
    sparse_query,
    sparse_scores,
)
from likewise.errors import CollectionError, InvalidInput
from likewise_cluster.engines import points as pt
from likewise_cluster.engines.answers import (
    check_among,
    check_candidates,
    check_numbers,
    check_page,
    text_in,
    texts_in,
)
from likewise_cluster.engines.points import (
    Candidate,
    Numbers,
    Point,
    PointFilter,
    Points,
    SearchOptions,
    SparseNumbers,
    point_filter,
)
from likewise_cluster.engines.rows import ROUNDING, check_put, error_bounds, marks_of, no_rows
from likewise_methods.index import id_vector
from likewise_methods.lazy_imports import sparse
from likewise_methods.sparse_rows import Rows
from likewise_methods.validation import whole

MORE = 16
"""Candidates beyond k: with them rounding seldom requires a second request."""
BREADTH = 1000
"""Dense candidates of a walk along the engine's graph, or as many as are wanted if that is more."""
_BATCH = 256
"""Points of one request."""
_PAGE = 1024


class QdrantEngine:
    """A Qdrant collection: one named vector for each store."""

    def __init__(self, points: Points) -> None:
        self.address = points.address
        self._points = points

    def names(self) -> dict[str, RowKind]:
        return self._points.names()

    def store(
        self,
        name: str,
        kind: RowKind,
        *,
        owner: str = "",
        exact: bool = False,
        create: bool = True,
    ) -> QdrantRows:
        store = QdrantRows(self._points, name, kind, owner=owner, exact=exact, create=create)
        if create and owner and (foreign := store.count_foreign()):
            raise CollectionError(
                f"{self.address} holds {foreign:,} pictures of another collection; push to "
                "another name"
            )
        return store

    def drop(self, name: str) -> None:
        kind = self.names().get(name)
        if kind is not None:
            self.store(name, kind).drop()

    def close(self) -> None:
        self._points.close()

    def __enter__(self) -> QdrantEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class QdrantRows:
    """One named vector of a Qdrant collection as a store of rows.

    ``owner`` marks its pictures; with ``exact`` dense rows are compared one by one.
    """

    def __init__(
        self,
        points: Points,
        name: str,
        kind: RowKind,
        *,
        owner: str = "",
        exact: bool = False,
        create: bool = True,
    ) -> None:
        self.kind = kind
        self.name = name
        self.owner = owner
        self.exact = exact
        self._points = points
        self._lock = threading.Lock()
        self._mark_field, self._reach_field = fields_of(name)
        known = points.names().get(name)
        if known is None and not create:
            raise EngineRefused(f"{points.address} does not hold {name!r}; push to it again")
        if known is None:
            points.create(name, kind, self._reach_field)
        elif known.is_sparse != kind.is_sparse or (not kind.is_sparse and known != kind):
            raise EngineRefused(
                f"{points.address} holds {known} under {name!r}; {kind} expected. Delete it there, "
                "or push to another name"
            )
        self._reach = points.largest(self._reach_field)

    # -- changes ----------------------------------------------------------------------------

    def put(self, ids: Any, rows: Any, facts: Sequence[Facts] | None = None) -> None:
        names, made, said = check_put(self.kind, ids, rows, facts)
        marks, reach = marks_of(self.kind, made), error_bounds(self.kind, made)
        with self._lock:
            self._reach = max(self._reach, float(reach.max(initial=0.0)))
        stores = [name for name in self._points.names() if name != self.name]
        for start in range(0, len(names), _BATCH):
            some = range(start, min(start + _BATCH, len(names)))
            others = self._other_vectors([int(names[i]) for i in some], stores)
            self._points.upsert(
                [
                    self._point(int(names[i]), made, i, said[i], marks[i], float(reach[i]), others)
                    for i in some
                ]
            )

    def _other_vectors(self, ids: list[int], stores: list[str]) -> dict[int, Point]:
        """Return the points of pictures in other stores: a point is replaced as a whole."""
        if not stores:
            return {}
        found = self._points.retrieve(ids, stores, True)
        return {one.id: one for one in check_among(self._points.address, found, ids)}

    def _point(
        self,
        image: int,
        rows: Any,
        at: int,
        facts: Facts,
        mark: str,
        reach: float,
        others: Mapping[int, Point],
    ) -> Point:
        old = others.get(image, Point(image, {}, {}))
        other = {key: value for key, value in old.payload.items() if key.startswith(PREFIXES)}
        payload = {**other, **payload_of(facts), self._mark_field: mark, self._reach_field: reach}
        if self.owner:
            payload[pt.OWNER] = self.owner
        return Point(image, {**old.vectors, self.name: self._numbers(rows, at)}, payload)

    def _numbers(self, rows: Any, at: int) -> Numbers:
        if not self.kind.is_sparse:
            dense: NDArray[np.float32] = rows[at]
            return dense
        start, end = rows.indptr[at], rows.indptr[at + 1]
        return SparseNumbers(rows.indices[start:end].astype(np.int64), rows.data[start:end])

    def remove(self, ids: Any) -> None:
        gone = np.unique(id_vector(ids, None)).tolist()
        others = tuple(pt.HasVector(name) for name in self._points.names() if name != self.name)
        for start in range(0, len(gone), _PAGE):
            some = gone[start : start + _PAGE]
            if others:
                self._points.delete_vector(some, self.name)
            # A picture that is in no store any more is deleted.
            self._points.delete(PointFilter((pt.IdIn(frozenset(some)),), others))

    def retag(self, tags: Mapping[int, Sequence[str]]) -> None:
        same: dict[tuple[str, ...], list[int]] = {}
        for image, said in tags.items():
            same.setdefault(tuple(said), []).append(int(image))
        for said, ids in same.items():
            for start in range(0, len(ids), _PAGE):
                self._points.set_payload(ids[start : start + _PAGE], {pt.TAGS: list(said)})

    def drop(self) -> None:
        """Delete this store, and pictures that are in no other."""
        others = tuple(pt.HasVector(name) for name in self._points.names() if name != self.name)
        self._points.delete(PointFilter((pt.HasVector(self.name),), others))
        self._points.drop(self.name, [self._mark_field, self._reach_field])

    # -- searches ---------------------------------------------------------------------------

    def search(
        self, row: Any, k: int, where: Where | None = None, *, first: FirstStage | None = None
    ) -> Found:
        """Return the k best that pass; with ``first``, among the nearest of another store."""
        k, passing = whole(k, "k"), point_filter(where)
        if self.kind.is_sparse:
            return self._search_sparse(sparse_query(self.kind, row), k, passing, first)
        if first is not None:
            raise InvalidInput("dense rows are searched in one stage; first is for sparse rows")
        return self._search_dense(dense_query(self.kind, row), k, passing)

    def _search_sparse(
        self, query: Rows, k: int, passing: PointFilter, first: FirstStage | None
    ) -> Found:
        words = query.words.astype(np.int64)
        asked = SparseNumbers(words, query.values.astype(np.float32))
        slack = self._slack(query.values)
        limit = k + MORE
        while True:
            ids, values, worst = self._candidates(asked, limit, passing, query, first)
            # Some pictures may score exactly 0 in float32, so it does not return them.
            others = max(0.0 if worst is None else worst, 0.0) + slack
            if len(values) >= k and _kth(values, k) > np.float32(others):
                return best_of(ids, values, k)
            if worst is None:
                return self._fill(ids, values, k, self._within(passing, first), query)
            limit *= 4

    def _within(self, passing: PointFilter, first: FirstStage | None) -> PointFilter:
        """Add the pictures of the first stage to a filter."""
        if first is None:
            return passing
        how = SearchOptions(self.exact, max(BREADTH, first.limit), with_vectors=False)
        found = self._points.nearest(first.store, first.query, first.limit, passing, how)
        check_candidates(self._points.address, found, self.kind, first.limit)
        nearest = pt.IdIn(frozenset(one.id for one in found))
        return PointFilter((*passing.all_of, nearest), passing.none_of)

    def _search_dense(self, query: NDArray[np.float32], k: int, passing: PointFilter) -> Found:
        limit = k + MORE
        while True:
            ids, values, worst = self._candidates(query, limit, passing, query)
            if worst is None:
                return best_of(ids, values, k)
            last = _kth(values, k)
            if self._dense_bound(worst, query) < last - 2 * ROUNDING * abs(last):
                return best_of(ids, values, k)
            limit *= 4

    def _candidates(
        self,
        asked: Numbers,
        limit: int,
        passing: PointFilter,
        query: Any,
        first: FirstStage | None = None,
    ) -> tuple[Ids, NDArray[np.float32], float | None]:
        """Return ids, exact scores, and the engine's score of the last (None: no others)."""
        found: Sequence[Candidate] = []
        if not isinstance(asked, SparseNumbers) or len(asked.words):
            # Its sparse index is exact as it is.
            exact = self.exact and (not self.kind.is_sparse or first is not None)
            dense = limit if first is None else first.limit
            how = SearchOptions(exact, max(BREADTH, dense), first)
            found = self._points.nearest(self.name, asked, limit, passing, how)
            check_candidates(self._points.address, found, self.kind, limit)
        ids = np.array([one.id for one in found], np.int64)
        rows = self._matrix([one.vector for one in found if one.vector is not None])
        values = self._scores(rows, query)
        return ids, values, None if len(found) < limit else found[-1].score

    def _scores(self, rows: Any, query: Any) -> NDArray[np.float32]:
        if self.kind.is_sparse:
            return sparse_scores(rows, query)
        return dense_scores(self.kind, rows, query)

    def _slack(self, query: NDArray[Any]) -> float:
        """Bound the error of the engine's score of any picture (``error_bounds``)."""
        return 1.01 * ROUNDING * float(np.linalg.norm(query.astype(np.float64))) * self._reach

    def _dense_bound(self, worst: float, query: NDArray[np.float32]) -> float:
        """Bound the score of rows that the engine ranks below one of score ``worst``."""
        if self.kind.metric == "ip":
            return worst + self._slack(query)
        # Qdrant gives the distance.
        return -worst * (1 - 1.01 * (len(query) + 4) * ROUNDING)

    def _fill(
        self, ids: Ids, values: NDArray[np.float32], k: int, passing: PointFilter, query: Rows
    ) -> Found:
        """Return the best of these, of hidden pictures, and of those that share no word.

        ``ids`` are all that the engine returns.  The others score 0; the smallest ids come first.
        """
        hidden, scored = self._hidden(ids, passing, query)
        ids, values = np.concatenate([ids, hidden]), np.concatenate([values, scored])
        above, known = int((values > 0).sum()), set(ids.tolist())
        zeros: list[int] = []
        passing, first = passing.having(self.name), 0
        while above + len(zeros) < k:
            wanted = min(_PAGE, k + len(known))
            page = self._points.scroll(passing, first, wanted, None, False)
            check_page(self._points.address, page, first, wanted)
            if not page:
                break
            first = page[-1].id + 1
            zeros += [one.id for one in page if one.id not in known]
        ids = np.concatenate([ids, np.array(zeros, np.int64)])
        return best_of(ids, np.concatenate([values, np.zeros(len(zeros), np.float32)]), k)

    def _hidden(self, known: Ids, passing: PointFilter, query: Rows) -> Found:
        """Find pictures that share a word, but whose terms cancel to exactly 0 in float32.

        Qdrant does not return them.  A query for the same words with different positive values
        does, and their true score is computed here.
        """
        words = query.words.astype(np.int64)
        if len(words) < 2:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        golden = (np.arange(len(words)) * 0.6180339887498949) % 1.0
        asked = SparseNumbers(words, (1.0 + golden).astype(np.float32))
        rest = PointFilter(passing.all_of, (*passing.none_of, pt.IdIn(frozenset(known.tolist()))))
        limit = MORE
        while True:
            ids, values, worst = self._candidates(asked, limit, rest, query)
            if worst is None:
                return ids, values
            limit *= 4

    def rows(self, ids: Any) -> tuple[Ids, Any]:
        asked, address = id_vector(ids, None), self._points.address
        found: dict[int, Numbers] = {}
        for start in range(0, len(asked), _BATCH):
            some = asked[start : start + _BATCH].tolist()
            held = self._points.retrieve(some, [self.name], False)
            for one in check_among(address, held, some):
                if self.name in one.vectors:
                    found[one.id] = check_numbers(address, one.vectors[self.name], self.kind)
        here = [one for one in asked.tolist() if one in found]
        return np.array(here, np.int64), self._matrix([found[one] for one in here])

    def _matrix(self, vectors: Sequence[Numbers]) -> Any:
        """Return one matrix with ascending words."""
        if not vectors:
            return no_rows(self.kind)
        if not self.kind.is_sparse:
            return np.array(vectors, np.float32)
        parts = [one for one in vectors if isinstance(one, SparseNumbers)]
        ends = np.cumsum([0, *(len(one.words) for one in parts)])
        words = np.concatenate([one.words for one in parts])
        values = np.concatenate([one.values for one in parts])
        made = sparse.csr_array((values, words, ends), shape=(len(parts), self.kind.width))
        made.sort_indices()
        return made

    def count(self, where: Where | None = None) -> int:
        return self._points.count(point_filter(where).having(self.name))

    def listed(self, ids: Any = None) -> Iterator[list[Listed]]:
        address = self._points.address
        if ids is None:
            passing, first = PointFilter().having(self.name), 0
            while page := self._points.scroll(passing, first, _PAGE, None, True):
                yield self._listed(check_page(address, page, first, _PAGE))
                first = page[-1].id + 1
            return
        asked = np.unique(id_vector(ids, None)).tolist()
        for start in range(0, len(asked), _PAGE):
            some = asked[start : start + _PAGE]
            passing = PointFilter((pt.IdIn(frozenset(some)),)).having(self.name)
            page = self._points.scroll(passing, 0, len(some), None, True)
            yield self._listed(check_among(address, page, some))

    def _listed(self, page: Sequence[Point]) -> list[Listed]:
        address = self._points.address
        return [
            Listed(
                one.id, str(one.payload.get(self._mark_field, "")), facts_of(address, one.payload)
            )
            for one in page
        ]

    def count_foreign(self) -> int:
        """Return how many pictures of this store another owner put there."""
        return self._points.count(
            PointFilter((pt.HasVector(self.name),), (pt.FieldIs(pt.OWNER, self.owner),))
        )


def _kth(values: NDArray[np.float32], k: int) -> float:
    """Return the k-th largest value."""
    return float(np.partition(values, len(values) - k)[len(values) - k])


PREFIXES = ("mark_", "reach_")
"""How fields of a payload begin that belong to one store."""


def fields_of(name: str) -> tuple[str, str]:
    """Return the payload fields of a named vector: its row's fingerprint and error bound.

    The name is hashed: it may hold characters that a path into a payload cannot.
    """
    short = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
    return f"mark_{short}", f"reach_{short}"


def payload_of(facts: Facts) -> dict[str, Any]:
    """Return facts as fields of a payload."""
    made: dict[str, Any] = {
        pt.TAGS: list(facts.tags),
        pt.FOLDERS: list(facts.folders),
        pt.INSIDE: facts.all_folders(),
    }
    if facts.date is not None:
        made[pt.DATE] = facts.date
    if facts.moment is not None:
        made[pt.MOMENT] = facts.moment
    return made


def facts_of(address: str, payload: pt.Payload) -> Facts:
    """Return facts from fields of a payload."""
    return Facts(
        texts_in(address, payload, pt.TAGS),
        texts_in(address, payload, pt.FOLDERS),
        text_in(address, payload, pt.DATE),
    )
