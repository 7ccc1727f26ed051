"""Searches that an engine answers, merged with what the engine does not hold yet.

Pictures that changed since the last sync (``catalog/engine_sync.py``) are answered from the
catalog, whatever the engine returns of them, so an answer equals that of the embedded index.  An
engine that fails is not asked for a while; until then the catalog's part is the answer, with a
warning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.engine_sync import (
    EngineChoice,
    count_pending,
    engine_choice,
    is_copy,
    pending_sync,
    sync_states,
)
from likewise.catalog.filters import find_folders
from likewise.catalog.moments import bound_of
from likewise.catalog.segments import comparable_rows, metric_of
from likewise.catalog.store import Store
from likewise.engines.breaker import Breaker
from likewise.engines.errors import EngineError, EngineRefused
from likewise.engines.opening import open_engine
from likewise.engines.protocol import (
    Engine,
    FirstStage,
    Found,
    Ids,
    RowKind,
    RowStore,
    Where,
    plain_rows,
)
from likewise.engines.scores import best_of, scores
from likewise.errors import InvalidInput
from likewise.plugins import PluginError
from likewise.search.dense_view import EXACT_BEYOND, DenseView
from likewise.search.sparse_view import SparseView
from likewise.spaces.graphs import FLAT_BELOW

OWNER = "shipping_owner"
"""The setting that distinguishes this collection's rows from another's."""
ATTEMPTS, TIMEOUT = 2, 5
"""How often a search asks, and for how many seconds where the address does not say."""
_ENGINE_KEYS = ("tag", "folder", "after", "before")
"""Conditions that engines apply."""

LocalView = SparseView | DenseView
Answer = TypeVar("Answer")
_WARNINGS: ContextVar[list[str] | None] = ContextVar("warnings", default=None)


@contextmanager
def engine_warnings() -> Iterator[list[str]]:
    """Collect warnings of searches that an unavailable engine could not answer."""
    warnings: list[str] = []
    token = _WARNINGS.set(warnings)
    try:
        yield warnings
    finally:
        _WARNINGS.reset(token)


@dataclass(frozen=True)
class EngineState:
    """What the engine that answers holds, and what it does not hold yet."""

    key: tuple[int, str]
    choice: EngineChoice
    spaces: Mapping[str, int]
    upto: int
    waiting: Ids
    """Pictures that the catalog answers for."""
    stale: frozenset[int]
    """Those of them of which the engine may hold an earlier state."""


class EngineSearch:
    """The engine that answers the searches of a collection, and whether it is available."""

    def __init__(self, store: Store) -> None:
        self._catalog = store
        self._lock = threading.Lock()
        self._state: tuple[int, EngineState | None] = (-1, None)
        self._engine: tuple[str, Engine] | None = None
        self._stores: dict[Any, RowStore] = {}
        self._complete: set[str] = set()
        self._fresh: dict[str, tuple[Any, Ids, Any]] = {}
        self.breaker = Breaker()

    def state(self) -> EngineState | None:
        """Return the state at this revision; None: the embedded index answers."""
        store = self._catalog
        seen, state = self._state
        if seen == store.revision:
            return state
        with store.snapshot():
            revision = store.revision
            state = self._read(revision)
        self._state = (revision, state)
        return state

    def _read(self, revision: int) -> EngineState | None:
        choice = engine_choice(self._catalog)
        synced = None if choice is None else sync_states(self._catalog).get(choice.address)
        if choice is None or synced is None or is_copy(self._catalog):
            return None
        changed = sorted(image for _, image in pending_sync(self._catalog, synced.upto))
        waiting = np.array(changed, np.int64)
        stale = frozenset(waiting[waiting <= synced.last].tolist())
        key = (revision, choice.address)
        return EngineState(key, choice, synced.spaces, synced.upto, waiting, stale)

    def ask(
        self, state: EngineState, local: LocalView, exact: bool, ask: Callable[[RowStore], Answer]
    ) -> Answer | None:
        """Return what ``ask`` gives for the engine's store; None, with a warning, if it fails."""
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
        n, warnings = len(state.waiting), _WARNINGS.get()
        waits = "1 picture that waits" if n == 1 else f"{n:,} pictures that wait"
        sentence = f"{reason}. Until it is back only the {waits} to be sent there can be found"
        if warnings is not None and sentence not in warnings:
            warnings.append(sentence)
        return None

    def _store(self, state: EngineState, local: LocalView, exact: bool) -> RowStore:
        """Return the store of a view's generation, kept open until the next sync."""
        address = state.choice.address
        key = (address, state.upto, local.space.name, local.space.generation, exact)
        with self._lock:
            if self._engine is None or self._engine[0] != address:
                self._close()
                self._engine = (address, _open(address))
            found = self._stores.get(key)
            if found is None:
                self._stores = {k: v for k, v in self._stores.items() if k[:2] == key[:2]}
                found = self._engine[1].store(
                    store_name(local), kind_of(local), exact=exact, create=False,
                    owner=str(self._catalog.setting(OWNER, "")),
                )  # fmt: skip
                self._check_complete(address, found, local, state)
                self._stores[key] = found
            return found

    def _check_complete(
        self, address: str, rows: RowStore, local: LocalView, state: EngineState
    ) -> None:
        """Refuse a store that lacks pictures it was sent: it was deleted or emptied.

        Counted once for each connection and generation, since millions take time to count.
        """
        if rows.name in self._complete:
            return
        # In this order: a picture that is sent meanwhile is counted twice, never left out.
        due = len(local) - count_pending(self._catalog, state.upto)
        there = rows.count()
        if there < due:
            now = sync_states(self._catalog).get(address)
            if now is None or now.upto != state.upto:
                return  # a sync happened meanwhile, perhaps of a removal: counted the next time
            raise EngineRefused(
                f"{address} holds {there:,} of the {due:,} pictures it was sent in "
                f"{local.space.name!r}; 'likewise admin push --to {address}' sends what is missing"
            )
        self._complete.add(rows.name)

    def fresh(self, state: EngineState, local: LocalView) -> tuple[Ids, Any]:
        """Return the pictures that the catalog answers for, and their rows."""
        key = (state.key, local.space.generation)
        with self._lock:
            kept = self._fresh.get(local.space.name)
        if kept is None or kept[0] != key:
            ids, rows = local.rows_of(state.waiting.tolist())
            kept = (key, np.array(ids, np.int64), plain_rows(kind_of(local), rows))
            with self._lock:
                self._fresh[local.space.name] = kept
        return kept[1:]

    def close(self) -> None:
        """Close the connection; the next search opens another."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        engine, self._engine = self._engine, None
        self._stores = {}
        self._complete = set()
        if engine is not None:
            engine[1].close()


class EngineView:
    """A space whose rows an engine searches; single rows are read from the segments here."""

    takes_compacted = False

    def __init__(self, local: LocalView, engine: EngineSearch, state: EngineState) -> None:
        self.local = local
        self.space, self.idf, self.root = local.space, local.idf, local.root
        self.remembered = local.remembered
        self._engine, self._state = engine, state
        self._kind = kind_of(local)

    @property
    def first_space(self) -> str | None:
        """The space of the first of two stages; None: there is one stage."""
        choice = self._state.choice
        here = self._kind.is_sparse and choice.first_space in self._state.spaces
        return choice.first_space if here else None

    def __len__(self) -> int:
        return len(self.local)

    def row_of(self, image: int) -> Any:
        """Return the row of a picture; None if it has none."""
        return self.local.row_of(image)

    def rows_of(self, images: Iterable[int]) -> tuple[list[int], Any]:
        """Return those of the pictures that have a row, and their rows."""
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
        """Return ids and scores of the k best that pass; ``row`` has its weights folded in.

        ``first`` is the view and the row of the first of two stages.
        """
        assert weights is None
        k = min(k, len(self.local))
        if not k:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        query = row if self._kind.is_sparse else _comparable(self.local, row)
        fresh = self._search_fresh(query, k, passing)
        where = Where() if passing is None else passing.there
        where = replace(where, but=where.but | self._state.stale)
        exact = not self._kind.is_sparse and (len(self.local) < FLAT_BELOW or k > EXACT_BEYOND)
        stage = None
        if first is not None:
            limit = self._state.choice.first_limit
            stage = FirstStage(store_name(first[0]), _comparable(*first), limit)
        found = self._engine.ask(
            self._state, self.local, exact, lambda store: self._ask(store, query, k, where, stage)
        )
        if found is None:
            return fresh
        ids, values = np.concatenate([found[0], fresh[0]]), np.concatenate([found[1], fresh[1]])
        return best_of(ids, values, k)

    def _ask(
        self, store: RowStore, query: Any, k: int, where: Where, stage: FirstStage | None
    ) -> Found:
        found = store.search(query, k, where, first=stage)
        waiting = self._state.waiting
        if np.isin(found[0], waiting).any():
            # They are being sent right now.
            every = where.but | frozenset(waiting.tolist())
            found = store.search(query, k, replace(where, but=every), first=stage)
        return found

    def _search_fresh(self, query: Any, k: int, passing: LazyFilter | None) -> Found:
        ids, rows = self._engine.fresh(self._state, self.local)
        if passing is not None and len(ids):
            at = np.flatnonzero(np.isin(ids, list(passing.of(ids.tolist()))))
            ids, rows = ids[at], rows[at]
        if not len(ids):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        return best_of(ids, scores(self._kind, rows, query), k)


def store_name(view: LocalView) -> str:
    """Return the name of the store of a generation."""
    return f"{view.space.name}-{view.space.generation}"


def kind_of(view: LocalView) -> RowKind:
    """Return the kind of rows a view compares."""
    space = view.space
    is_l2 = not space.row_format.is_sparse and metric_of(space) == "l2"
    return RowKind(space.row_format.is_sparse, space.width, "l2" if is_l2 else "ip")


def _comparable(view: LocalView, row: Any) -> NDArray[np.float32]:
    made = comparable_rows(view.space, np.asarray(row, np.float32).reshape(1, -1))
    found: NDArray[np.float32] = made[0]
    return found


def _open(address: str) -> Engine:
    try:
        return open_engine(address, attempts=ATTEMPTS, timeout=TIMEOUT)
    except (InvalidInput, PluginError) as error:
        raise EngineRefused(str(error)) from error


class LazyFilter:
    """The pictures that pass a filter (as ``plain_where`` gives it), without hidden ones.

    An engine takes it as conditions; the catalog is asked only for the rest.
    """

    def __init__(self, store: Store, where: Mapping[str, Any] | None) -> None:
        self._store, self._where = store, where
        self._all: Container[int] | None = None
        self._is_read = False
        self._conditions: Where | None = None

    def __contains__(self, image: object) -> bool:
        if not self._is_read:
            self._all, self._is_read = self._store.allowed(self._where), True
        return self._all is None or image in self._all

    def of(self, images: Sequence[int]) -> set[int]:
        """Return those of some pictures that pass."""
        return self._store.passing(self._where, images)

    @property
    def there(self) -> Where:
        """The filter as an engine takes it."""
        if self._conditions is None:
            self._conditions = where_of(self._store, self._where or {})
        return self._conditions


def where_of(store: Store, where: Mapping[str, Any]) -> Where:
    """Translate a filter (as ``plain_where`` gives it) for an engine.

    The engine looks up tags, folders and dates.  The catalog answers the rest (cameras, formats,
    own metadata) as a list of pictures.  Hidden pictures are listed.
    """
    rest = {key: value for key, value in where.items() if key not in _ENGINE_KEYS}
    # What the catalog lists has no hidden pictures in it.
    only = frozenset(store.matching(rest)) if rest else None
    but = frozenset() if rest else frozenset(store.hidden())
    folders: tuple[str, ...] = ()
    if "folder" in where:
        folders = tuple(find_folders(store, where["folder"]))
        if not folders:
            only = frozenset()
    after, before = (
        bound_of(key, where[key]) if key in where else None for key in ("after", "before")
    )
    return Where(tuple(where.get("tag", ())), folders, after, before, only, but)
