"""Learned models, ready to search: one row of the model per picture, up to date with the catalog.

Rows of the pictures that a model was learned with are read from its file; later ones are
transformed once.  A search compares all rows; they are short (128 numbers at most), and the best of
a million takes some tens of milliseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import segments as seg
from likewise.catalog.log_tables import Model, last_tombstone, last_vector, model
from likewise.catalog.read_write_lock import ReadWriteLock
from likewise.catalog.segments import comparable_rows
from likewise.catalog.store import Store
from likewise.errors import DamagedCollection, UnknownName
from likewise.search.learned_models import (
    Floats32,
    Ids,
    LearnedModel,
    Map,
    PlacedRow,
    check_fits,
    open_model,
    open_model_rows,
    place_rows,
)
from likewise.spaces.base import Space
from likewise.spaces.graphs import dense_rows
from likewise.spaces.registry import open_spaces
from likewise_methods.index import DamagedIndex
from likewise_methods.neighbours import Flat

_TRIES = 3
T = TypeVar("T")


class ModelView:
    """One model over the present pictures; scores are minus the distance."""

    idf = None

    def __init__(self, store: Store, row: Model, space: Space) -> None:
        self.row, self.space = row, space
        self.remembered: dict[bytes, Any] = {}
        self.root = store.root
        self.fitted: LearnedModel = open_model(store.root, row)
        self._lock = ReadWriteLock()
        self._flat: Flat | None = None
        self._ids: Ids = np.zeros(0, np.int64)
        self._rows: Floats32 = np.zeros((0, 0), np.float32)
        self._alive: NDArray[np.bool_] = np.zeros(0, bool)
        self._place: dict[int, int] = {}
        self._segments: list[str] = []
        self._begin(store)

    def _begin(self, store: Store) -> None:
        space = self.space
        self._last_vector = last_vector(store, space.name, space.generation)
        self._last_tombstone = last_tombstone(store)
        self._segments = self._names(store)
        if self._replaceable:
            # The user may have replaced vectors: stored rows may be outdated.
            ids, rows = dense_rows(store, space)
            self._take(ids, place_rows(self.fitted, ids, rows))
            return
        ids, rows = open_model_rows(self.root, self.row)
        here = np.isin(ids, np.fromiter(store.ids(), np.int64))
        self._take(ids[here], rows[here])
        self._fill(store, self._segments)

    @property
    def _replaceable(self) -> bool:
        return not self.space.describes_pictures

    def _names(self, store: Store) -> list[str]:
        return [row.name for row in store.segments(self.space.name, self.space.generation)]

    def _take(self, ids: Ids, rows: Floats32) -> None:
        self._ids, self._rows = ids, np.ascontiguousarray(rows, np.float32)
        self._alive = np.ones(len(ids), bool)
        self._place = {int(image): i for i, image in enumerate(ids)}
        self._flat = None

    def _fill(self, store: Store, segments: list[str]) -> None:
        """Add rows of pictures that are newer than the model's file."""
        missing = store.ids() - set(self._place)
        if missing:
            fresh = store.vectors(self.space.name, self.space.generation)
            self._add([(image, blob) for _, image, blob in fresh if image in missing])
            missing -= set(self._place)
        for name in segments if missing else ():
            part = seg.read_dense(self.root, name)
            here = np.isin(part.ids, np.fromiter(missing, np.int64))
            if here.any():
                self._append(part.ids[here], comparable_rows(self.space, part.rows[here]))
                missing -= set(part.ids[here].tolist())

    def update(self, store: Store) -> None:
        """Read rows and removals since the last time."""
        with self._lock.writing():
            segments = self._names(store)
            if segments != self._segments and self._replaceable:
                self._begin(store)
                return
            space = self.space
            new = store.vectors(space.name, space.generation, self._last_vector)
            if new:
                self._add([(image, blob) for _, image, blob in new])
                self._last_vector = new[-1][0]
            dead = store.tombstones(self._last_tombstone)
            for _, image in dead:
                if image in self._place:
                    self._alive[self._place.pop(image)] = False
            if dead:
                self._last_tombstone = dead[-1][0]
            if segments != self._segments:
                # A row may have been added and sealed between two updates.
                self._fill(store, [name for name in segments if name not in self._segments])
                self._segments = segments

    def _add(self, found: list[tuple[int, bytes]]) -> None:
        if found:
            raw = seg.unpack_dense([blob for _, blob in found], self.space.width)
            ids = np.array([image for image, _ in found], np.int64)
            self._append(ids, comparable_rows(self.space, raw))

    def _append(self, ids: Ids, rows: Any) -> None:
        made = place_rows(self.fitted, ids, rows)
        for image in ids.tolist():
            if image in self._place:
                self._alive[self._place[image]] = False
        start = len(self._ids)
        self._ids = np.concatenate([self._ids, ids])
        self._rows = np.concatenate([self._rows.reshape(start, made.shape[1]), made])
        self._alive = np.concatenate([self._alive, np.ones(len(ids), bool)])
        self._place |= {int(image): start + i for i, image in enumerate(ids)}
        if self._flat is not None:
            self._flat.add(made[:, : self.fitted.n_ranked])

    def __len__(self) -> int:
        return len(self._place)

    def row_of(self, image: int) -> PlacedRow | None:
        """Return a picture's row of the model; None if none."""
        with self._lock.reading():
            at = self._place.get(image)
            return None if at is None else PlacedRow(self._rows[at, : self.fitted.n_ranked])

    def map_points(self) -> tuple[Ids, Floats32]:
        """Return the ids of all pictures, ascending, and where a map draws them."""
        assert isinstance(self.fitted, Map)
        with self._lock.reading():
            at = np.flatnonzero(self._alive)
            at = at[np.argsort(self._ids[at])]
            return self._ids[at], self.fitted.drawing_columns(self._rows[at])

    def search_row(self, row: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return ids and scores of the k nearest; ``row`` is of the space, or a PlacedRow."""
        if isinstance(row, PlacedRow):
            asked = row.row
        else:
            given = comparable_rows(self.space, np.asarray(row, np.float32).reshape(1, -1))
            asked = self.fitted.transform(given)[0, : self.fitted.n_ranked]
        with self._lock.reading():
            if not self._place:
                return np.zeros(0, np.int64), np.zeros(0, np.float32)
            if self._flat is None:
                self._flat = Flat("l2", self._rows[:, : self.fitted.n_ranked])
            places, scores = self._flat.best(self._rows, self._alive, asked, k)
            ids = self._ids[places]
        order = np.lexsort((ids, -scores))[:k]
        return ids[order], scores[order]


class ModelViews:
    """The views of all models, opened at their first use."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._views: dict[str, tuple[int, ModelView]] = {}

    def view(self, name: str) -> ModelView:
        """Return the up-to-date view of a model; refuse one learned with another generation."""

        def forget() -> None:
            self._views.pop(name, None)

        with self._lock:
            return retry(self._store, lambda: self._current(name), forget)

    def _current(self, name: str) -> ModelView:
        store = self._store
        with store.snapshot():
            revision = store.revision
            seen, view = self._views.get(name, (-1, None))
            if view is not None and seen == revision:
                return view
            row = model(store, name)
            if row is None:
                self._views.pop(name, None)
                raise UnknownName(f"there is no learned metric or map {name!r}")
            space = check_fits(row, open_spaces(store).get(row.space))
            if view is not None and view.row == row and view.space.recipe == space.recipe:
                view.update(store)
            else:
                view = ModelView(store, row, space)
            self._views[name] = (revision, view)
            return view


def retry(store: Store, read: Callable[[], T], forget: Callable[[], None]) -> T:
    """Read files that a job may replace between reading the catalog and opening them.

    If the catalog has not changed since, the damage is real.
    """
    for _ in range(_TRIES):
        revision = store.revision
        try:
            return read()
        except (DamagedCollection, DamagedIndex, FileNotFoundError):
            forget()
            if store.revision == revision:
                raise
    return read()
