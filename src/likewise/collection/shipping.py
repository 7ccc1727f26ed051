"""Shipping: the rows of a collection in another engine, and whether both sides agree.

The catalog stays the truth.  A generation of a space is a store of its own there: it is made,
filled, compared with ours, named in the catalog as the one that counts, and only then are earlier
generations deleted.  Whoever is killed in between starts again; what is there is not sent twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.collection import jobs
from likewise.collection.errors import CollectionError
from likewise.collection.filters_and_metadata import plain_where
from likewise.collection.search.dense_view import EXACT_BEYOND
from likewise.collection.search.views import SpaceView, Views
from likewise.collection.store import changes as change
from likewise.collection.store.filters import find_folders
from likewise.collection.store.listing import dates_of, folders_of, ids_after, last_id
from likewise.collection.store.row_formats import metric_of
from likewise.collection.store.store import Store
from likewise.collection.store.tag_tables import counts, tags_of_many
from likewise.engines.addresses import Engine, open_engine
from likewise.engines.errors import EngineError
from likewise.engines.protocol import Facts, RowKind, Where
from likewise.engines.qdrant import QdrantRows
from likewise.engines.retries import Retries
from likewise.engines.shipping import Differences, Part, Shipped, differences, ship

PUSHED = "pushed"
"""The setting that says what is whole in which engine: address → space → (generation, last id)."""
PUSHED_FROM = "pushed_from"
"""The setting that says where the collection lay then: a copy must not send its own pictures."""
OWNER = "shipping_owner"
"""The setting that tells this collection's rows from another's."""
SAMPLED = 16
"""Pictures that are searched with on both sides."""
SAMPLED_K = 20
FEW_RETRIES = Retries(times=2)
"""Whoever adds pictures does not wait long for an engine."""
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
        return {
            address: {space: generation for space, (generation, _) in there.items()}
            for address, there in self._store.setting(PUSHED, {}).items()
        }

    def send_new(self, *, retries: Retries = FEW_RETRIES) -> dict[str, str]:
        """Send pictures that came since to every engine that was pushed to.

        What waits for the next :meth:`push` comes back in words, by address: an engine that is
        away, a new generation.  Tags and removals wait for it too, unmentioned.
        """
        waiting: dict[str, str] = {}
        pushed = self._store.setting(PUSHED, {})
        if pushed and self._store.setting(PUSHED_FROM) != str(self._store.root):
            # The ids of new pictures would be those of others that the original has sent.
            return dict.fromkeys(pushed, "this collection is a copy, or was moved")
        for address, there in pushed.items():
            try:
                with open_engine(address, retries=retries) as engine:
                    old = [name for name, at in there.items() if not self._send(engine, name, *at)]
                if old:
                    waiting[address] = f"{', '.join(old)} changed as a whole"
            except EngineError as error:
                waiting[address] = str(error)
        return waiting

    def _send(self, engine: Engine, space: str, generation: int, last: int) -> bool:
        """Send the pictures after ``last``; False where the generation is another one by now."""
        known = self._views.spaces().get(space)
        if known is None or known.generation != generation:
            return False
        view = self._views.view(space)
        if ids_after(self._store, last, 1):
            store = self._open(engine, view)
            for ids, rows, facts in self._parts(view, last):
                store.put(ids, rows, facts)
                self._switch(engine.address, space, generation, int(ids[-1]))
        return True

    def forget(self, address: str) -> None:
        """Send nothing there any more; what is there stays."""
        pushed = self._store.setting(PUSHED, {})
        if address not in pushed:
            raise CollectionError(f"nothing was pushed to {address}")
        with self._store.write() as c:
            left = {one: there for one, there in pushed.items() if one != address}
            change.put_setting(c, PUSHED, left)

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
        with open_engine(address, retries=retries) as engine:
            return [self._push(engine, name, report) for name in names]

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

    def _push(self, engine: Engine, name: str, report: jobs.Report) -> SpaceThere:
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
            self._switch(engine.address, name, generation, last)
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
        return where_of(self._store, conditions)

    def _open(self, engine: Engine, view: SpaceView) -> QdrantRows:
        return engine.store(store_name(view), kind_of(view), owner=self._owner(), exact=True)

    def _owner(self) -> str:
        found = self._store.setting(OWNER)
        if found is None:
            found = secrets.token_hex(8)
            with self._store.write() as c:
                change.put_setting(c, OWNER, found)
        return str(found)

    def _switch(self, address: str, space: str, generation: int, last: int) -> None:
        """Name the generation that counts there, and the last picture that is there."""
        with self._store.write(durable=True) as c:
            pushed = self._store.setting(PUSHED, {})
            there = {**pushed.get(address, {}), space: (generation, last)}
            change.put_setting(c, PUSHED, {**pushed, address: there})
            change.put_setting(c, PUSHED_FROM, str(self._store.root))

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
            answer = store.count(where_of(self._store, where))
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


def store_name(view: SpaceView) -> str:
    """What the store of a generation is called."""
    return f"{view.space.name}-{view.space.generation}"


def kind_of(view: SpaceView) -> RowKind:
    """The kind of rows a view compares."""
    space = view.space
    is_l2 = not space.row_format.is_sparse and metric_of(space) == "l2"
    return RowKind(space.row_format.is_sparse, space.width, "l2" if is_l2 else "ip")


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


def where_of(store: Store, where: Mapping[str, Any]) -> Where:
    """A filter of the collection as an engine takes it (:meth:`Shipping.where`)."""
    asked = plain_where(where)
    own = {
        key: value for key, value in asked.items() if key in ("tag", "folder", "after", "before")
    }
    rest = {key: value for key, value in asked.items() if key not in own}
    only = frozenset(store.matching(rest)) if rest else None
    folders: tuple[str, ...] = ()
    if "folder" in own:
        folders = tuple(find_folders(store, own["folder"]))
        if not folders:
            only = frozenset()
    return Where(tuple(own.get("tag", ())), folders, own.get("after"), own.get("before"), only)


def _spell(apart: Differences) -> list[str]:
    said = (
        (apart.missing, "are not there"),
        (apart.extra, "are there and not here"),
        (apart.rows, "have another row there"),
        (apart.facts, "have other tags, folders or dates there"),
    )
    return [f"{len(ids):,} pictures {what} (the first: {ids[0]})" for ids, what in said if ids]
