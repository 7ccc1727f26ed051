"""Searches that another engine answers, and what becomes of them while it is away.

Rows that were shipped are searched there.  Pictures that changed since (``store/unshipped.py``) are
answered from the catalog, whatever the engine says of them, so that an answer is the one that the
embedded index gives.  An engine that does not answer is left alone for a while; until it does, the
catalog's part is the answer, and it is said so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.segments import comparable_rows, metric_of
from likewise.catalog.store import Store
from likewise.catalog.unshipped import (
    EngineChoice,
    count_unshipped,
    engine_choice,
    is_copy,
    told,
    unshipped,
)
from likewise.engines.addresses import Engine, open_engine
from likewise.engines.errors import EngineError, EngineRefused
from likewise.engines.exact import best_of, dense_query, dense_scores, sparse_query, sparse_scores
from likewise.engines.protocol import Found, Ids, RowKind, Where, plain_rows
from likewise.engines.retries import Breaker, Retries
from likewise.errors import InvalidInput
from likewise.search.dense_view import EXACT_BEYOND, DenseView
from likewise.search.lazy_filter import LazyFilter
from likewise.search.sparse_view import SparseView
from likewise.spaces.graphs import FLAT_BELOW
from likewise_cluster.engines.points import First
from likewise_cluster.engines.qdrant import QdrantRows

OWNER = "shipping_owner"
"""The setting that tells this collection's rows from another's."""
TIMEOUT = 5
"""Seconds that a search waits for an answer, where the address does not say otherwise."""
RETRIES = Retries(times=2, first=0.1, most=0.2)
"""Somebody waits: asked once more, and then answered without."""

LocalView = SparseView | DenseView
Answer = TypeVar("Answer")
_NOTED: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@contextmanager
def engine_warnings() -> Iterator[list[str]]:
    """Collect a sentence for each engine that does not answer searches inside."""
    said: list[str] = []
    token = _NOTED.set(said)
    try:
        yield said
    finally:
        _NOTED.reset(token)


@dataclass(frozen=True)
class EngineState:
    """What the engine that answers was told, and what it was not told yet."""

    key: tuple[int, str]
    choice: EngineChoice
    spaces: Mapping[str, int]
    upto: int
    waiting: Ids
    """Pictures that the catalog answers for."""
    known: frozenset[int]
    """Those of them that the engine may know, as they were."""


class _Fresh(NamedTuple):
    """Rows that the catalog answers for."""

    ids: Ids
    rows: Any


class EngineSearch:
    """The engine that answers the searches of a collection, and whether it is there."""

    def __init__(self, store: Store) -> None:
        self._catalog = store
        self._lock = threading.Lock()
        self._state: tuple[int, EngineState | None] = (-1, None)
        self._engine: tuple[str, Engine] | None = None
        self._stores: dict[Any, QdrantRows] = {}
        self._whole: set[str] = set()
        self._fresh: dict[str, tuple[Any, _Fresh]] = {}
        self.breaker = Breaker()

    def state(self) -> EngineState | None:
        """What holds at this revision; None where the embedded index answers."""
        store = self._catalog
        revision = store.revision
        seen, state = self._state
        if seen == revision:
            return state
        with store.snapshot():
            revision = store.revision
            state = self._read(revision)
        self._state = (revision, state)
        return state

    def _read(self, revision: int) -> EngineState | None:
        choice = engine_choice(self._catalog)
        said = None if choice is None else told(self._catalog).get(choice.address)
        if choice is None or said is None or is_copy(self._catalog):
            return None
        waiting = np.array(
            sorted(image for _, image in unshipped(self._catalog, said.upto)), np.int64
        )
        known = frozenset(waiting[waiting <= said.last].tolist())
        key = (revision, choice.address)
        return EngineState(key, choice, said.spaces, said.upto, waiting, known)

    def ask(
        self, state: EngineState, local: LocalView, exact: bool, ask: Callable[[QdrantRows], Answer]
    ) -> Answer | None:
        """What the engine answers; None where it is away, which is noted."""
        reason = self.breaker.reason_to_wait()
        if reason is None:
            try:
                found = ask(self._store(state, local, exact))
            except EngineError as error:
                reason = str(error)
                self.breaker.failed(reason)
                self.close()
            else:
                self.breaker.worked()
                return found
        n, said = len(state.waiting), _NOTED.get()
        waits = "1 picture that waits" if n == 1 else f"{n:,} pictures that wait"
        sentence = f"{reason}. Until it is back only the {waits} to be sent there can be found"
        if said is not None and sentence not in said:
            said.append(sentence)
        return None

    def _store(self, state: EngineState, local: LocalView, exact: bool) -> QdrantRows:
        """The store of a view's generation, kept open until somebody shipped something."""
        address = state.choice.address
        key = (address, state.upto, local.space.name, local.space.generation, exact)
        with self._lock:
            if self._engine is None or self._engine[0] != address:
                self._close()
                self._engine = (address, self._open(address))
            found = self._stores.get(key)
            if found is None:
                self._stores = {k: v for k, v in self._stores.items() if k[:2] == key[:2]}
                found = self._engine[1].store(
                    store_name(local), kind_of(local), exact=exact, create=False,
                    owner=str(self._catalog.setting(OWNER, "")),
                )  # fmt: skip
                self._check_whole(address, found, local, state)
                self._stores[key] = found
            return found

    def _check_whole(
        self, address: str, rows: QdrantRows, local: LocalView, state: EngineState
    ) -> None:
        """Refuse a store that lacks pictures it was told of: somebody deleted or emptied it.

        Asked once a connection and generation, as counting millions takes its time.
        """
        name = rows.name
        if name in self._whole:
            return
        # In this order: a picture that is sent meanwhile is counted twice, never not at all.
        due = len(local) - count_unshipped(self._catalog, state.upto)
        there = rows.count()
        if there < due:
            now = told(self._catalog).get(address)
            if now is None or now.upto != state.upto:
                return  # something was sent meanwhile, perhaps a removal: counted the next time
            raise EngineRefused(
                f"{address} holds {there:,} of the {due:,} pictures it was sent in "
                f"{local.space.name!r}; 'likewise admin push --to {address}' sends what is missing"
            )
        self._whole.add(name)

    def _open(self, address: str) -> Engine:
        try:
            return open_engine(address, retries=RETRIES, timeout=TIMEOUT)
        except InvalidInput as error:
            raise EngineRefused(str(error)) from error

    def fresh(self, state: EngineState, local: LocalView) -> _Fresh:
        """The rows of the pictures that the catalog answers for."""
        key = (state.key, local.space.generation)
        with self._lock:
            kept = self._fresh.get(local.space.name)
        if kept is None or kept[0] != key:
            ids, rows = local.rows_of(state.waiting.tolist())
            made = _Fresh(np.array(ids, np.int64), plain_rows(kind_of(local), rows))
            kept = (key, made)
            with self._lock:
                self._fresh[local.space.name] = kept
        return kept[1]

    def close(self) -> None:
        """Let go of the connection; the next search opens another."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        engine, self._engine = self._engine, None
        self._stores = {}
        self._whole = set()
        if engine is not None:
            engine[1].close()


class EngineView:
    """A space whose rows another engine searches; they are read from the segments here."""

    takes_compacted = False

    def __init__(self, local: LocalView, engine: EngineSearch, state: EngineState) -> None:
        self.local = local
        self.space, self.idf, self.root = local.space, local.idf, local.root
        self.remembered = local.remembered
        self._engine, self._state = engine, state
        self._kind = kind_of(local)

    @property
    def first_space(self) -> str | None:
        """The space by which the first of two stages looks; None: there is one stage."""
        choice = self._state.choice
        here = self._kind.is_sparse and choice.first_space in self._state.spaces
        return choice.first_space if here else None

    def __len__(self) -> int:
        return len(self.local)

    def row_of(self, image: int) -> Any:
        """The row of a picture; None if it has none."""
        return self.local.row_of(image)

    def rows_of(self, images: Iterable[int]) -> tuple[list[int], Any]:
        """Those of the pictures that have a row, and their rows."""
        return self.local.rows_of(images)

    def search_row(
        self,
        row: Any,
        k: int,
        weights: Any = None,
        *,
        passing: LazyFilter | None = None,
        first: tuple[LocalView, Any] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids and scores of the k best that pass; ``row`` has its weights folded in.

        ``first`` is the view and the row of the first of two stages.
        """
        assert weights is None
        k = min(k, len(self.local))
        if not k:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        asked = self._comparable(row)
        fresh = self._search_fresh(asked, k, passing)
        where = Where() if passing is None else passing.there
        where = replace(where, but=where.but | self._state.known)
        exact = not self._kind.is_sparse and (len(self.local) < FLAT_BELOW or k > EXACT_BEYOND)
        stage = None if first is None else self._first(*first)
        found = self._engine.ask(
            self._state, self.local, exact, lambda store: self._ask(store, asked, k, where, stage)
        )
        if found is None:
            return fresh
        ids, scores = np.concatenate([found[0], fresh[0]]), np.concatenate([found[1], fresh[1]])
        return best_of(ids, scores, k)

    def _ask(
        self, store: QdrantRows, asked: Any, k: int, where: Where, stage: First | None
    ) -> Found:
        found = store.search(asked, k, where, first=stage)
        waiting = self._state.waiting
        if np.isin(found[0], waiting).any():
            # Somebody is sending them just now.
            everybody = where.but | frozenset(waiting.tolist())
            found = store.search(asked, k, replace(where, but=everybody), first=stage)
        return found

    def _first(self, view: LocalView, row: Any) -> First:
        asked = comparable_rows(view.space, np.asarray(row, np.float32).reshape(1, -1))[0]
        return First(store_name(view), asked, self._state.choice.first_limit)

    def _comparable(self, row: Any) -> Any:
        if self._kind.is_sparse:
            return row
        return comparable_rows(self.space, np.asarray(row, np.float32).reshape(1, -1))[0]

    def _search_fresh(self, asked: Any, k: int, passing: LazyFilter | None) -> Found:
        ids, rows = self._engine.fresh(self._state, self.local)
        if passing is not None and len(ids):
            allowed = passing.of(ids.tolist())
            at = np.flatnonzero([image in allowed for image in ids.tolist()])
            ids, rows = ids[at], rows[at]
        if not len(ids):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if self._kind.is_sparse:
            scores = sparse_scores(rows, sparse_query(self._kind, asked))
        else:
            scores = dense_scores(self._kind, rows, dense_query(self._kind, asked))
        return best_of(ids, scores, k)


def store_name(view: LocalView) -> str:
    """What the store of a generation is called."""
    return f"{view.space.name}-{view.space.generation}"


def kind_of(view: LocalView) -> RowKind:
    """The kind of rows a view compares."""
    space = view.space
    is_l2 = not space.row_format.is_sparse and metric_of(space) == "l2"
    return RowKind(space.row_format.is_sparse, space.width, "l2" if is_l2 else "ip")
