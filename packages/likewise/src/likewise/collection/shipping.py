"""Shipping: the rows of a collection in another engine, and whether both sides agree.

The catalog stays the truth.  A generation of a space is a store of its own there: it is made,
filled, compared with ours, named in the catalog as the one that counts, and only then are earlier
generations deleted.  From then on every change of a picture is noted in the catalog
(``store/unshipped.py``) and sent in that order.  Whoever is killed in between starts again; what
is there is not sent twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from likewise.catalog import changes as change
from likewise.catalog import jobs
from likewise.catalog.filters import plain_where
from likewise.catalog.listing import dates_of, folders_of, ids_after, last_id
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import counts, tags_of_many
from likewise.catalog.unshipped import (
    ENGINE,
    EngineChoice,
    Told,
    count_unshipped,
    engine_choice,
    is_copy,
    last_number,
    put_told,
    told,
    unshipped,
)
from likewise.engines.addresses import Engine, open_engine
from likewise.engines.errors import EngineError
from likewise.engines.protocol import Facts, Where
from likewise.engines.retries import Retries
from likewise.engines.shipping import Differences, Part, Shipped, differences, ship, update
from likewise.errors import CollectionBusy, CollectionError
from likewise.search.dense_view import EXACT_BEYOND
from likewise.search.engine_views import OWNER, kind_of, store_name
from likewise.search.lazy_filter import where_of
from likewise.search.views import SpaceView, Views
from likewise_cluster.engines.qdrant import QdrantRows
from likewise_methods.validation import whole

SAMPLED = 16
"""Pictures that are searched with on both sides."""
SAMPLED_K = 20
FEW_RETRIES = Retries(times=2)
"""Whoever adds pictures does not wait long for an engine."""
FEW_SECONDS = 10
"""… nor for one request of it, where the address does not say otherwise."""
_FILTERS = 3
_PART = 512


@dataclass(frozen=True)
class SpaceThere:
    """A space that was pushed: what it took, and what was found different afterwards."""

    space: str
    generation: int
    pictures: int
    shipped: Shipped
    wrong: tuple[str, ...]
    dropped: tuple[str, ...] = ()


class Shipping:
    """Rows of a collection in another engine."""

    def __init__(self, store: Store, views: Views) -> None:
        self._store = store
        self._views = views

    def pushed(self) -> dict[str, dict[str, int]]:
        """Which generations are whole in which engine."""
        return {at: dict(said.spaces) for at, said in told(self._store).items() if said.spaces}

    def waiting(self) -> dict[str, int]:
        """How many pictures changed since each engine was told of them."""
        return {
            address: count_unshipped(self._store, said.upto)
            for address, said in told(self._store).items()
            if said.spaces
        }

    def send_new(self, *, retries: Retries = FEW_RETRIES) -> dict[str, str]:
        """Send what changed since (pictures, tags, folders, removals) to every engine there is.

        Parameters
        ----------
        retries : Retries, optional
            How often an engine that is away is asked again.

        Returns
        -------
        dict of str to str
            What waits all the same, in words, by address: an engine that is away, a new generation,
            somebody else who sends just now.
        """
        said = {at: one for at, one in told(self._store).items() if one.spaces}
        if said and is_copy(self._store):
            # The ids of new pictures would be those of others that the original has sent.
            return dict.fromkeys(said, "this collection is a copy, or was moved")
        waiting: dict[str, str] = {}
        for address, one in said.items():
            old = self._old(one)
            if old:
                waiting[address] = f"{', '.join(old)} changed as a whole"
            if not count_unshipped(self._store, one.upto):
                continue
            try:
                with (
                    self._store.shipping_lease(),
                    open_engine(address, retries=retries, timeout=FEW_SECONDS) as engine,
                ):
                    self._send(engine, address)
            except (EngineError, CollectionBusy) as error:
                waiting[address] = str(error)
        return waiting

    def _old(self, said: Told) -> list[str]:
        """Spaces whose generation is another one by now, or that are gone."""
        spaces = self._views.spaces()
        return [
            name
            for name, number in said.spaces.items()
            if name not in spaces or spaces[name].generation != number
        ]

    def _send(self, engine: Engine, address: str) -> None:
        """Send what was noted, in its order; the lease is held."""
        stores: dict[str, tuple[SpaceView, QdrantRows]] = {}
        said = told(self._store).get(address)
        while said is not None and (part := unshipped(self._store, said.upto, _PART)):
            images = sorted(image for _, image in part)
            for name in said.spaces.keys() - set(self._old(said)):
                view = self._views.view(name)
                if name not in stores or stores[name][0].space.generation != view.space.generation:
                    # One that was deleted over there must not come back with these few only.
                    stores[name] = (view, self._open(engine, view, create=False))
                here, rows = view.rows_of(images)
                ids = np.array(here, np.int64)
                update(images, (ids, rows, facts_of(self._store, here)), stores[name][1])
            # What changed while it was sent has a new number, and is sent once more.
            upto, last = part[-1][0], max(said.last, *images)
            said = self._tell(address, upto=upto, last=last)

    def _tell(self, address: str, **said: Any) -> Told | None:
        """Note in the catalog what an engine was told; None: it was forgotten meanwhile."""
        with self._store.write(durable=True) as c:
            now = told(self._store)
            if address not in now:
                return None
            now[address] = replace(now[address], **said)
            put_told(c, self._store, now)
            return now[address]

    def forget(self, address: str) -> None:
        """Send nothing there any more; what is there stays."""
        if address not in told(self._store):
            raise CollectionError(f"nothing was pushed to {address}")
        with self._store.write() as c:
            left = {one: said for one, said in told(self._store).items() if one != address}
            put_told(c, self._store, left)
            choice = engine_choice(self._store)
            if choice is not None and choice.address == address:
                change.drop_setting(c, ENGINE)

    # -- who answers ------------------------------------------------------------------------

    @property
    def engine(self) -> EngineChoice | None:
        """The engine that answers searches; None: the embedded index."""
        return engine_choice(self._store)

    def answer_from(
        self, address: str | None, *, first: tuple[str, int] | None = None
    ) -> EngineChoice | None:
        """Choose who answers searches, in every process that opens the collection.

        Parameters
        ----------
        address : str or None
            An engine that was pushed to; None for the embedded index.
        first : (str, int), optional
            Two stages for sparse spaces: a dense space that was pushed, and how many of the nearest
            by it are looked at.  For tens of millions of pictures; what is not among them stays
            unfound.

        Returns
        -------
        EngineChoice or None
        """
        made = None
        if address is not None:
            there = self.pushed().get(address)
            if there is None:
                raise CollectionError(
                    f"nothing was pushed to {address}; 'likewise admin push --to {address}' does it"
                )
            if first is not None:
                self._check_first(first, there, address)
            made = EngineChoice(address, *(first or ()))
        with self._store.write(durable=True) as c:
            if made is None:
                change.drop_setting(c, ENGINE)
            else:
                change.put_setting(c, ENGINE, asdict(made))
        return made

    def _check_first(self, first: tuple[str, int], there: Mapping[str, int], address: str) -> None:
        name, limit = first
        whole(limit, "the number of first pictures")
        dense = [
            one for one in there if one in (all_ := self._views.spaces())
            and not all_[one].row_format.is_sparse
        ]  # fmt: skip
        if name not in dense:
            raise CollectionError(
                f"{name!r} is no dense space in {address}; of {', '.join(dense) or 'none'}"
            )

    def push(
        self,
        address: str,
        spaces: Iterable[str] = (),
        *,
        retries: Retries | None = None,
        report: jobs.Report = jobs.silent,
    ) -> list[SpaceThere]:
        """Bring an engine to what the collection holds; only what differs is sent.

        All spaces that have rows, or those named.  A space that does not agree afterwards is not
        switched to, and says what is wrong.
        """
        names = self._chosen(spaces)
        with self._store.shipping_lease(), open_engine(address, retries=retries) as engine:
            # Changes are noted from here on, so that none falls between reading and switching.
            begun = self._begin(address)
            done = [self._push(engine, address, name, report) for name in names]
            if not any(one.wrong for one in done) and set(names) >= self.pushed()[address].keys():
                self._tell(address, upto=begun)
            return done

    def _begin(self, address: str) -> int:
        """Have changes noted for an engine; gives the number up to which they are all to come."""
        with self._store.write(durable=True) as c:
            now = {} if is_copy(self._store) else told(self._store)
            begun = last_number(self._store)
            if address not in now:
                now[address] = Told({}, begun, 0)
                put_told(c, self._store, now)
            return begun

    def compare(
        self,
        address: str,
        spaces: Iterable[str] = (),
        *,
        retries: Retries | None = None,
        report: jobs.Report = jobs.silent,
    ) -> dict[str, list[str]]:
        """What differs between the collection and an engine, by space; nothing is changed."""
        found: dict[str, list[str]] = {}
        with open_engine(address, retries=retries) as engine:
            there = engine.names()
            for name in self._chosen(spaces):
                view = self._views.view(name)
                if store_name(view) not in there:
                    found[name] = [f"generation {view.space.generation} is not there"]
                    continue
                store = self._open(engine, view)
                found[name] = self._disagreements(view, store, report)
        return found

    def _chosen(self, spaces: Iterable[str]) -> list[str]:
        known = {name: one for name, one in self._views.spaces().items() if one.generation}
        chosen = list(dict.fromkeys(spaces)) or list(known)
        for name in chosen:
            if name not in known:
                has = ", ".join(known) or "none"
                raise CollectionError(f"there are no rows of a space {name!r}; of {has}")
        return chosen

    def _push(self, engine: Engine, address: str, name: str, report: jobs.Report) -> SpaceThere:
        view = self._views.view(name)
        generation = view.space.generation
        store = self._open(engine, view)
        strangers = store.strangers()
        if strangers:
            raise CollectionError(
                f"{engine.address} holds {strangers:,} pictures of another collection; push to "
                "another name"
            )
        total, last = len(view), last_id(self._store)
        stage = f"pushing {name}"
        done = ship(
            self._parts(view),
            store,
            report=lambda n: report(jobs.Progress(stage, n, max(total, n))),
        )
        wrong = self._disagreements(view, store, report)
        dropped: list[str] = []
        if not wrong:
            self._switch(address, name, generation, last)
            dropped = self._drop_earlier(engine, name, generation)
        return SpaceThere(name, generation, store.count(), done, tuple(wrong), tuple(dropped))

    def store_in(self, engine: Engine, space: str) -> QdrantRows:
        """The store of a space's live generation in an engine, for whoever asks it directly."""
        return self._open(engine, self._views.view(space))

    def where(self, conditions: Mapping[str, Any]) -> Where:
        """A filter as ``search`` takes it, as a store takes it.

        Tags, folders and dates are the engine's to look up; what else there is (cameras, formats,
        own metadata) the catalog answers, as a list of pictures.
        """
        return where_of(self._store, plain_where(conditions))

    def _open(self, engine: Engine, view: SpaceView, *, create: bool = True) -> QdrantRows:
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

    def _switch(self, address: str, space: str, generation: int, last: int) -> None:
        """Name the generation that counts there."""
        now = told(self._store)[address]
        spaces = {**now.spaces, space: generation}
        self._tell(address, spaces=spaces, last=max(now.last, last))

    def _drop_earlier(self, engine: Engine, space: str, generation: int) -> list[str]:
        """Delete the other generations of a space, now that nobody asks for them."""
        gone = []
        for name, kind in engine.names().items():
            of, _, number = name.rpartition("-")
            if of == space and number.isdecimal() and int(number) != generation:
                engine.store(name, kind, owner=self._owner()).drop()
                gone.append(name)
        return gone

    # -- both sides -------------------------------------------------------------------------

    def _parts(self, view: SpaceView, after: int = 0) -> Iterator[Part]:
        """Rows as they are compared, with what filters ask of their pictures."""
        while ids := ids_after(self._store, after, _PART):
            after = ids[-1]
            here, rows = view.rows_of(ids)
            if here:
                yield np.array(here, np.int64), rows, facts_of(self._store, here)

    def _disagreements(self, view: SpaceView, store: QdrantRows, report: jobs.Report) -> list[str]:
        """What is not the same on both sides, in words; empty when all is well."""
        total, stage = len(view), f"comparing {view.space.name}"
        apart = differences(
            self._parts(view), store, report=lambda n: report(jobs.Progress(stage, n, total))
        )
        wrong = _spell(apart)
        here, there = len(view), store.count()
        if here != there:
            wrong.append(f"{here:,} pictures here, {there:,} there")
        for where in self._some_filters():
            passing = len(view.rows_of(sorted(self._store.matching(where)))[0])
            answer = store.count(where_of(self._store, plain_where(where)))
            if answer != passing:
                wrong.append(f"{passing:,} pictures pass {where} here, {answer:,} there")
        return wrong + self._other_answers(view, store)

    def _some_filters(self) -> list[dict[str, Any]]:
        """Filters whose answers are counted on both sides: tags, folders, a date."""
        found: list[dict[str, Any]] = [
            {"tag": row.tag} for row in counts(self._store, limit=_FILTERS)
        ]
        found += [{"folder": root} for root in self._store.roots()[:_FILTERS]]
        dates = sorted(dates_of(self._store, self._sample()).values())
        if dates:
            found += [{key: dates[len(dates) // 2]} for key in ("after", "before")]
        return found

    def _other_answers(self, view: SpaceView, store: QdrantRows) -> list[str]:
        """Searches with some pictures that both sides answer differently."""
        wrong = []
        for image in self._sample():
            row = view.row_of(image)
            if row is None:
                continue
            # Longer answers are found by comparing all rows, which a graph does not.
            ids, scores = view.search_row(row, max(SAMPLED_K, EXACT_BEYOND + 1))
            found = store.search(row, SAMPLED_K)
            same = np.array_equal(found[0], ids[:SAMPLED_K])
            if not same or not np.array_equal(found[1], scores[:SAMPLED_K]):
                wrong.append(f"a search with picture {image} finds other pictures or scores there")
        return wrong

    def _sample(self) -> list[int]:
        """A few pictures, evenly spread over all of them."""
        n = self._store.n_images()
        step = max(n // SAMPLED, 1)
        ids: list[int] = []
        after = 0
        while part := ids_after(self._store, after, step):
            ids.append(part[0])
            after = part[-1]
        return ids[:SAMPLED]


def facts_of(store: Store, ids: Sequence[int]) -> list[Facts]:
    """What filters ask of pictures."""
    tags, folders, dates = tags_of_many(store, ids), folders_of(store, ids), dates_of(store, ids)
    return [
        Facts(
            tuple(tag for tag, _ in tags.get(image, ())),
            tuple(folders.get(image, ())),
            dates.get(image),
        )
        for image in ids
    ]


def _spell(apart: Differences) -> list[str]:
    said = (
        (apart.missing, "are not there"),
        (apart.extra, "are there and not here"),
        (apart.rows, "have another row there"),
        (apart.facts, "have other tags, folders or dates there"),
    )
    return [f"{len(ids):,} pictures {what} (the first: {ids[0]})" for ids, what in said if ids]
