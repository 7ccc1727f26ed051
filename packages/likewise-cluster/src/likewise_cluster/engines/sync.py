"""Sync: copies of a collection's rows in engines, and a comparison of both sides.

The catalog is the source of truth.  Each generation of a space is a separate store: it is created,
filled, compared with ours and named in the catalog; then earlier generations are deleted.  After
that every change of a picture is recorded in the catalog (``catalog/engine_sync.py``) and sent in
that order.  After an interruption the same call continues and sends no row twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from likewise.catalog import changes as change
from likewise.catalog import jobs
from likewise.catalog.engine_sync import (
    ENGINE,
    EngineChoice,
    SyncState,
    count_pending,
    engine_choice,
    is_copy,
    last_number,
    pending_sync,
    put_sync_states,
    sync_states,
)
from likewise.catalog.filters import plain_where
from likewise.catalog.listing import dates_of, folders_of, ids_after, last_id
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import counts, tags_of_many
from likewise.engines import Engine, EngineError, Facts, RowStore, Where, open_engine
from likewise.errors import CollectionBusy, CollectionError
from likewise.search.dense_view import EXACT_BEYOND
from likewise.search.engine_views import OWNER, kind_of, store_name, where_of
from likewise.search.views import SpaceView, Views
from likewise_cluster.engines.row_sync import (
    Differences,
    Part,
    Sent,
    differences,
    send_all,
    send_some,
)
from likewise_cluster.engines.sync_thread import SyncThread
from likewise_methods.validation import whole

_SAMPLES = 16
"""Pictures that are searched with on both sides, for the best ``_SAMPLE_K``."""
_SAMPLE_K = 20
_FILTERS = 3
_PART = 512
_QUICK = {"attempts": 2, "timeout": 10}
"""How patient a sync of a few changes is; adding pictures must not wait long for an engine."""


@dataclass(frozen=True)
class SyncedSpace:
    """A space after a push: what was sent, and what still differs."""

    space: str
    generation: int
    pictures: int
    sent: Sent
    wrong: tuple[str, ...]
    dropped: tuple[str, ...] = ()


class EngineSync:
    """Copies of a collection's rows in engines; ``Collection.engine_sync`` makes it.

    Parameters
    ----------
    store : Store
        Of the collection.
    views : Views
        Its rows, ready to search.

    See Also
    --------
    likewise.engines.open_engine : opens an engine.
    """

    def __init__(self, store: Store, views: Views) -> None:
        self._store = store
        self._views = views

    def start(self) -> SyncThread:
        """Start a thread that sends changes as they happen."""
        return SyncThread(self, self._store)

    # -- engines in use --------------------------------------------------------------------

    def pushed(self) -> dict[str, dict[str, int]]:
        """Return the complete generations in each engine."""
        return {at: dict(one.spaces) for at, one in self._states().items()}

    def waiting(self) -> dict[str, int]:
        """Return how many changed pictures wait to be sent, by address."""
        return {at: count_pending(self._store, one.upto) for at, one in self._states().items()}

    def forget(self, address: str) -> None:
        """Stop sending to an engine; its content stays."""
        states = sync_states(self._store)
        if states.pop(address, None) is None:
            raise CollectionError(f"nothing was pushed to {address}")
        with self._store.write() as c:
            put_sync_states(c, self._store, states)
            choice = engine_choice(self._store)
            if choice is not None and choice.address == address:
                change.drop_setting(c, ENGINE)

    def _states(self) -> dict[str, SyncState]:
        """Return the states of engines that hold a complete generation."""
        return {at: one for at, one in sync_states(self._store).items() if one.spaces}

    @property
    def engine(self) -> EngineChoice | None:
        """The engine that answers searches; None: the embedded index."""
        return engine_choice(self._store)

    def answer_from(
        self, address: str | None, *, first: tuple[str, int] | None = None
    ) -> EngineChoice | None:
        """Choose what answers searches, in every process that opens the collection.

        Parameters
        ----------
        address : str or None
            An engine that was pushed to; None for the embedded index.
        first : (str, int), optional
            Two stages for sparse spaces: a dense space that was pushed, and how many of the nearest
            by it are searched.  For tens of millions of pictures; others are not found.

        Returns
        -------
        EngineChoice or None
        """
        if address is None:
            with self._store.write(durable=True) as c:
                change.drop_setting(c, ENGINE)
            return None
        pushed = self.pushed().get(address)
        if pushed is None:
            raise CollectionError(
                f"nothing was pushed to {address}; 'likewise admin push --to {address}' does it"
            )
        if first is not None:
            self._check_first(first, pushed, address)
        choice = EngineChoice(address, *(first or ()))
        with self._store.write(durable=True) as c:
            change.put_setting(c, ENGINE, asdict(choice))
        return choice

    def _check_first(self, first: tuple[str, int], pushed: Iterable[str], address: str) -> None:
        name, limit = first
        whole(limit, "the number of first pictures")
        spaces = self._views.spaces()
        dense = [one for one in pushed if one in spaces and not spaces[one].row_format.is_sparse]
        if name not in dense:
            raise CollectionError(
                f"{name!r} is no dense space in {address}; of {', '.join(dense) or 'none'}"
            )

    # -- sending changes --------------------------------------------------------------------

    def send_changes(self, *, attempts: int = _QUICK["attempts"]) -> dict[str, str]:
        """Send what changed since (pictures, tags, folders, removals) to every engine.

        Parameters
        ----------
        attempts : int, default=2
            How often an engine that is unavailable is asked.

        Returns
        -------
        dict of str to str
            Why changes are still pending, by address: an unavailable engine, a new generation, or
            another process that sends now.
        """
        states = self._states()
        if states and is_copy(self._store):
            # New pictures would get ids that the original has sent for other pictures.
            return dict.fromkeys(states, "this collection is a copy, or was moved")
        waiting: dict[str, str] = {}
        for address, state in states.items():
            if old := self._outdated(state):
                waiting[address] = f"{', '.join(old)} changed as a whole"
            if not count_pending(self._store, state.upto):
                continue
            try:
                with (
                    self._store.engine_lease(),
                    closing(
                        open_engine(address, attempts=attempts, timeout=_QUICK["timeout"])
                    ) as engine,
                ):
                    self._send_pending(engine, address)
            except (EngineError, CollectionBusy) as error:
                waiting[address] = str(error)
        return waiting

    def _outdated(self, state: SyncState) -> list[str]:
        """Return spaces of an engine whose generation is outdated, or that were dropped."""
        spaces = self._views.spaces()
        return [
            name
            for name, number in state.spaces.items()
            if name not in spaces or spaces[name].generation != number
        ]

    def _send_pending(self, engine: Engine, address: str) -> None:
        """Send recorded changes in order; the caller holds the lease."""
        stores: dict[str, tuple[SpaceView, RowStore]] = {}
        state = sync_states(self._store).get(address)
        while state is not None and (part := pending_sync(self._store, state.upto, _PART)):
            images = sorted(image for _, image in part)
            for name in state.spaces.keys() - set(self._outdated(state)):
                view = self._views.view(name)
                if name not in stores or stores[name][0].space.generation != view.space.generation:
                    # A store that was deleted in the engine must not be created with these few rows
                    # only.
                    stores[name] = (view, self._open(engine, view, create=False))
                here, rows = view.rows_of(images)
                ids = np.array(here, np.int64)
                send_some(images, (ids, rows, facts_of(self._store, here)), stores[name][1])
            # A picture that changed meanwhile has a new number, and is sent again.
            state = self._put_state(address, upto=part[-1][0], last=max(state.last, *images))

    def _put_state(self, address: str, **changed: Any) -> SyncState | None:
        """Record in the catalog what an engine holds; None: it was forgotten meanwhile."""
        with self._store.write(durable=True) as c:
            states = sync_states(self._store)
            if address not in states:
                return None
            states[address] = replace(states[address], **changed)
            put_sync_states(c, self._store, states)
            return states[address]

    # -- whole spaces -----------------------------------------------------------------------

    def push(
        self, address: str, spaces: Iterable[str] = (), *, report: jobs.Report = jobs.silent
    ) -> list[SyncedSpace]:
        """Update an engine to the content of the collection; only differences are sent.

        All spaces that have rows, or those named.  A space that still differs is reported and is
        not used.
        """
        names = self._chosen(spaces)
        with self._store.engine_lease(), closing(open_engine(address)) as engine:
            # Record changes from here on, so that none is lost between reading and switching.
            begun = self._begin(address)
            done = [self._push(engine, address, name, report) for name in names]
            if not any(one.wrong for one in done) and set(names) >= self.pushed()[address].keys():
                self._put_state(address, upto=begun)
            return done

    def compare(
        self, address: str, spaces: Iterable[str] = (), *, report: jobs.Report = jobs.silent
    ) -> dict[str, list[str]]:
        """Return what differs between the collection and an engine, by space."""
        found: dict[str, list[str]] = {}
        with closing(open_engine(address)) as engine:
            stores = engine.names()
            for name in self._chosen(spaces):
                view = self._views.view(name)
                if store_name(view) not in stores:
                    found[name] = [f"generation {view.space.generation} is not there"]
                else:
                    store = self._open(engine, view, create=False)
                    found[name] = self._disagreements(view, store, report)
        return found

    def store_in(self, engine: Engine, space: str) -> RowStore:
        """Open the store of a space's live generation in an engine, to search it directly."""
        return self._open(engine, self._views.view(space), create=False)

    def where(self, conditions: Mapping[str, Any]) -> Where:
        """Return a filter of ``search`` as a store takes it.

        A store applies tags, folders and dates; for other conditions (cameras, formats, own
        metadata) the catalog gives a list of pictures.
        """
        return where_of(self._store, plain_where(conditions))

    def _chosen(self, spaces: Iterable[str]) -> list[str]:
        known = {name: one for name, one in self._views.spaces().items() if one.generation}
        chosen = list(dict.fromkeys(spaces)) or list(known)
        for name in chosen:
            if name not in known:
                has = ", ".join(known) or "none"
                raise CollectionError(f"there are no rows of a space {name!r}; of {has}")
        return chosen

    def _begin(self, address: str) -> int:
        """Start noting changes for an engine; returns the number that a push covers."""
        with self._store.write(durable=True) as c:
            states = {} if is_copy(self._store) else sync_states(self._store)
            begun = last_number(self._store)
            if address not in states:
                states[address] = SyncState({}, begun, 0)
                put_sync_states(c, self._store, states)
            return begun

    def _push(self, engine: Engine, address: str, name: str, report: jobs.Report) -> SyncedSpace:
        view = self._views.view(name)
        generation = view.space.generation
        store = self._open(engine, view, create=True)
        total, last = len(view), last_id(self._store)
        sent = send_all(
            self._parts(view),
            store,
            report=lambda n: report(jobs.Progress(f"pushing {name}", n, max(total, n))),
        )
        wrong = self._disagreements(view, store, report)
        dropped: list[str] = []
        if not wrong:
            state = sync_states(self._store)[address]
            spaces = {**state.spaces, name: generation}
            self._put_state(address, spaces=spaces, last=max(state.last, last))
            dropped = _drop_earlier(engine, name, generation)
        return SyncedSpace(name, generation, store.count(), sent, tuple(wrong), tuple(dropped))

    def _open(self, engine: Engine, view: SpaceView, *, create: bool) -> RowStore:
        return engine.store(
            store_name(view), kind_of(view), owner=self._owner(), exact=True, create=create
        )

    def _owner(self) -> str:
        found = self._store.setting(OWNER)
        if found is None:
            found = secrets.token_hex(8)
            with self._store.write() as c:
                change.put_setting(c, OWNER, found)
        return str(found)

    # -- comparing --------------------------------------------------------------------------

    def _parts(self, view: SpaceView) -> Iterator[Part]:
        """Return all rows as they are compared, with the facts of their pictures."""
        after = 0
        while ids := ids_after(self._store, after, _PART):
            after = ids[-1]
            here, rows = view.rows_of(ids)
            if here:
                yield np.array(here, np.int64), rows, facts_of(self._store, here)

    def _disagreements(self, view: SpaceView, store: RowStore, report: jobs.Report) -> list[str]:
        """Describe what differs between both sides; empty when nothing does."""
        total, stage = len(view), f"comparing {view.space.name}"
        apart = differences(
            self._parts(view), store, report=lambda n: report(jobs.Progress(stage, n, total))
        )
        wrong = _describe(apart)
        here, there = len(view), store.count()
        if here != there:
            wrong.append(f"{here:,} pictures here, {there:,} there")
        for where in self._sample_filters():
            passing = len(view.rows_of(sorted(self._store.matching(where)))[0])
            answer = store.count(self.where(where))
            if answer != passing:
                wrong.append(f"{passing:,} pictures pass {where} here, {answer:,} there")
        return wrong + self._other_answers(view, store)

    def _sample_filters(self) -> list[dict[str, Any]]:
        """Return filters by tags, folders and a date whose results are counted on both sides."""
        found: list[dict[str, Any]] = [
            {"tag": row.tag} for row in counts(self._store, limit=_FILTERS)
        ]
        found += [{"folder": root} for root in self._store.roots()[:_FILTERS]]
        dates = sorted(dates_of(self._store, self._samples()).values())
        if dates:
            found += [{key: dates[len(dates) // 2]} for key in ("after", "before")]
        return found

    def _other_answers(self, view: SpaceView, store: RowStore) -> list[str]:
        """Describe searches whose results differ between both sides."""
        wrong = []
        for image in self._samples():
            row = view.row_of(image)
            if row is None:
                continue
            # Longer answers come from comparing all rows, not from an approximate graph.
            ids, scores = view.search_row(row, max(_SAMPLE_K, EXACT_BEYOND + 1))
            found = store.search(row, _SAMPLE_K)
            same = np.array_equal(found[0], ids[:_SAMPLE_K])
            if not same or not np.array_equal(found[1], scores[:_SAMPLE_K]):
                wrong.append(f"a search with picture {image} finds other pictures or scores there")
        return wrong

    def _samples(self) -> list[int]:
        """Return a few pictures, evenly spread over all of them."""
        step = max(self._store.n_images() // _SAMPLES, 1)
        ids: list[int] = []
        after = 0
        while part := ids_after(self._store, after, step):
            ids.append(part[0])
            after = part[-1]
        return ids[:_SAMPLES]


def facts_of(store: Store, ids: Sequence[int]) -> list[Facts]:
    """Return what filters read of pictures."""
    tags, folders, dates = tags_of_many(store, ids), folders_of(store, ids), dates_of(store, ids)
    return [
        Facts(
            tuple(tag for tag, _ in tags.get(image, ())),
            tuple(folders.get(image, ())),
            dates.get(image),
        )
        for image in ids
    ]


def _drop_earlier(engine: Engine, space: str, generation: int) -> list[str]:
    """Delete the other generations of a space, which are not searched any more."""
    gone = []
    for name in engine.names():
        of, _, number = name.rpartition("-")
        if of == space and number.isdecimal() and int(number) != generation:
            engine.drop(name)
            gone.append(name)
    return gone


def _describe(apart: Differences) -> list[str]:
    kinds = (
        (apart.missing, "are not there"),
        (apart.extra, "are there and not here"),
        (apart.rows, "have another row there"),
        (apart.facts, "have other tags, folders or dates there"),
    )
    return [f"{len(ids):,} pictures {what} (the first: {ids[0]})" for ids, what in kinds if ids]
