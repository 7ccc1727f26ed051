"""The searchable state of a collection in memory, brought up to date before each search.

A view belongs to one generation of one space.  Segments are mapped, fresh rows are indexed here;
when the catalog's revision moved, only what changed is taken in.  Views are replaced, never
changed under a search, so searches in other threads go on with the one they have.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.coding.bow import BagOfWords
from likewise.collection.errors import CollectionError, DamagedCollection
from likewise.collection.search.model_views import ModelView, ModelViews
from likewise.collection.spaces.graphs import Graph, metric_of, open_graph, prepared
from likewise.collection.spaces.rows import bag_of, weighted
from likewise.collection.store import segments as seg
from likewise.collection.store.log import compacted_segments
from likewise.collection.store.store import SPACES_DROPPED, SpaceRow, Store
from likewise.collection.turns import Turns
from likewise.index.errors import DamagedIndex
from likewise.index.inverted import InvertedIndex
from likewise.neighbours.protocol import Metric
from likewise.neighbours.scores import Flat, scores

EXACT_BEYOND = 1000
"""Answers longer than this are found by comparing all rows, graph or not."""

Hits = tuple[NDArray[np.int64], NDArray[np.float32]]


class SparseView:
    """One generation of a sparse space, ready to search.

    ``smaller`` names segments that have a copy compacted for a profile, which is then taken.
    """

    def __init__(
        self,
        store: Store,
        space: SpaceRow,
        smaller: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        self.space = space
        self.root = store.root
        self.remembered: dict[bytes, Any] = {}
        self.segments = [row.name for row in store.segments(space.name, space.generation)]
        self.bag: BagOfWords | None = bag_of(store.root, space)
        self.smaller = dict(smaller or {})
        files = [self.smaller.get(name, (name, 0))[0] for name in self.segments]
        self._sealed = [
            seg.open_index(store.root, name)
            if name == file
            else InvertedIndex.open(store.root / file)
            for name, file in zip(self.segments, files, strict=True)
        ]
        self._fresh = InvertedIndex()
        self._last_vector = 0
        self._last_tombstone = 0
        self.index = InvertedIndex()
        self._frequency: tuple[InvertedIndex, NDArray[np.int64]] | None = None
        self.update(store)

    def update(self, store: Store) -> None:
        """Take in fresh rows and removals since the last time."""
        new = store.vectors(self.space.name, self.space.generation, self._last_vector)
        if new:
            ids = np.array([image for _, image, _ in new], np.int64)
            again = np.intersect1d(ids, self._fresh.ids)
            if len(again):
                self._fresh.remove(again)
            raw = seg.unpack_sparse([vector for _, _, vector in new], self.space.width)
            self._fresh.add(weighted(self.bag, raw), ids)
            self._last_vector = new[-1][0]
        dead = store.tombstones(self._last_tombstone)
        if dead:
            gone = np.array([image for _, image in dead], np.int64)
            for index in (*self._sealed, self._fresh):
                here = index.known(gone)
                if here.any():
                    index.remove(gone[here])
            self._last_tombstone = dead[-1][0]
        self.index = InvertedIndex.united([*self._sealed, self._fresh])

    def __len__(self) -> int:
        return len(self.index)

    def search(self, query: Any, k: int, weights: Any = None) -> Hits:
        """Ids and scores of the k best; ``query`` is one raw row."""
        k = min(k, len(self.index))
        if k == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        ids, scores = self.index.search(weighted(self.bag, query), k, weights)
        return ids[0], scores[0]

    def frequency(self) -> tuple[NDArray[np.int64], int]:
        """In how many pictures each word is, and of how many; frozen with the idf where there is
        one, counted in the index otherwise."""
        if self.bag is not None:
            return self.bag.df_, self.bag.n_pictures_
        if self._frequency is None or self._frequency[0] is not self.index:
            whole = self.index
            if self.smaller:
                # A compacted copy has forgotten words that pictures still have.
                full = [seg.open_index(self.root, name) for name in self.segments]
                whole = InvertedIndex.united([*full, self._fresh])
            self._frequency = (self.index, whole.frequencies())
        return self._frequency[1], len(self.index)

    def row_of(self, image: int) -> Any:
        """The ranked row of a picture of the collection; None if it has none."""
        if not self.index.known(np.array([image]))[0]:
            return None
        return self.index.rows([image])

    def search_ranked(self, row: Any, k: int, weights: Any = None) -> Hits:
        """As ``search``, for a row that is weighted already."""
        k = min(k, len(self.index))
        if k == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        ids, scores = self.index.search(row, k, weights)
        return ids[0], scores[0]


def _gathered(
    space: SpaceRow, parts: list[seg.DenseRows], masks: list[NDArray[np.bool_]]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Ids and prepared rows that the masks take; a segment at a time, so as to hold them once."""
    chosen = [part.ids[mask] for part, mask in zip(parts, masks, strict=True)]
    ids = np.concatenate([np.zeros(0, np.int64), *chosen])
    rows = np.empty((len(ids), space.width), np.float32)
    end = 0
    for part, mask in zip(parts, masks, strict=True):
        start, end = end, end + int(mask.sum())
        rows[start:end] = prepared(space, part.rows[mask])
    return ids, rows


class DenseView:
    """A dense space, ready to search: higher scores are better for every metric.

    Rows that the space's graph covers are found by walking it, the others by comparing all; a
    picture's score is the same bits whichever way found it (``neighbours.scores``).
    """

    def __init__(self, store: Store, space: SpaceRow) -> None:
        self.space = space
        self.root = store.root
        self.remembered: dict[bytes, Any] = {}
        self.segments = [row.name for row in store.segments(space.name, space.generation)]
        self._graph = open_graph(store.root, space)
        self._metric: Metric = "l2" if metric_of(space) == "l2" else "ip"
        self._last_vector = 0
        self._last_tombstone = 0
        parts = [seg.read_dense(store.root, name) for name in self.segments]
        covered = self._graph.ids if self._graph is not None else np.zeros(0, np.int64)
        inside = [np.isin(part.ids, covered) for part in parts]
        # Rows the graph covers are kept here too: for queries by id, and for answers so long (or
        # so narrowly filtered) that comparing all is better than walking.
        self._kept_ids, self._kept_rows = _gathered(space, parts, inside)
        self._kept_order = np.argsort(self._kept_ids, kind="stable")
        self._ids, self._matrix = _gathered(space, parts, [~mask for mask in inside])
        self._alive = np.ones(len(self._ids), bool)
        self._place = {int(image): i for i, image in enumerate(self._ids)}
        self._in_graph = set(covered.tolist())
        self._flat: Flat | None = None
        # Rows are added in place, and their memory moves: never under a search.
        self._turns = Turns()
        self.update(store)

    def update(self, store: Store) -> None:
        with self._turns.changing():
            self._update(store)

    def _update(self, store: Store) -> None:
        new = store.vectors(self.space.name, self.space.generation, self._last_vector)
        if new:
            raw = seg.unpack_dense([vector for _, _, vector in new], self.space.width)
            ids = np.array([image for _, image, _ in new], np.int64)
            rows = prepared(self.space, raw)
            late = np.array([image not in self._in_graph for image in ids.tolist()], bool)
            self._kept_ids = np.concatenate([self._kept_ids, ids[~late]])
            self._kept_rows = np.concatenate([self._kept_rows, rows[~late]])
            self._kept_order = np.argsort(self._kept_ids, kind="stable")
            self._append(ids[late], rows[late])
            self._last_vector = new[-1][0]
        dead = store.tombstones(self._last_tombstone)
        for _, image in dead:
            self._in_graph.discard(image)
            if image in self._place:
                self._alive[self._place.pop(image)] = False
        if dead:
            self._last_tombstone = dead[-1][0]

    def _append(self, ids: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
        for image in ids.tolist():
            if image in self._place:
                self._alive[self._place[image]] = False
        start = len(self._ids)
        self._ids = np.concatenate([self._ids, ids])
        self._matrix = np.concatenate([self._matrix, rows])
        self._alive = np.concatenate([self._alive, np.ones(len(ids), bool)])
        self._place |= {int(image): start + i for i, image in enumerate(ids)}
        if self._flat is not None and len(ids):
            self._flat.add(rows)

    def __len__(self) -> int:
        return int(self._alive.sum()) + len(self._in_graph)

    def search(self, query: Any, k: int, weights: Any = None) -> Hits:
        """Ids and scores of the k best: cosine, inner product, or minus the distance."""
        if weights is not None:
            raise CollectionError(f"space {self.space.name!r} is dense and takes no word weights")
        row = prepared(self.space, np.asarray(query, np.float32).reshape(1, -1))
        with self._turns.looking():
            return self._search(row, k)

    def _search(self, row: NDArray[np.float32], k: int) -> Hits:
        parts: list[Hits] = []
        if self._alive.any():
            if self._flat is None:
                self._flat = Flat(self._metric, self._matrix)
            places, values = self._flat.best(self._matrix, self._alive, row[0], k)
            parts.append((self._ids[places], values))
        if self._graph is not None and self._in_graph:
            parts.append(self._from_graph(self._graph, row, k))
        ids = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
        found = np.concatenate([np.zeros(0, np.float32), *(part[1] for part in parts)])
        order = np.lexsort((ids, -found))[:k]
        return ids[order], found[order]

    def _from_graph(self, graph: Graph, row: NDArray[np.float32], k: int) -> Hits:
        """The best of the rows the graph covers: by a walk, or all compared for a long answer."""
        if k > EXACT_BEYOND:
            names = self._kept_ids
        else:
            # A few more: the walk's own values may order the last ones otherwise.
            dead = len(graph.ids) - len(self._in_graph)
            walked, _ = graph.walk.search(row, min(k + k // 8 + 4 + dead, len(graph.ids)))
            names = graph.ids[walked[0][walked[0] >= 0]]
        names = names[np.array([image in self._in_graph for image in names.tolist()], bool)]
        at = np.searchsorted(self._kept_ids, names, sorter=self._kept_order)
        places = self._kept_order[at]
        return names, scores(self._kept_rows, places, row[0], self._metric)

    def row_of(self, image: int) -> Any:
        with self._turns.looking():
            return self._row_of(image)

    def rows_of(self, images: Iterable[int]) -> tuple[list[int], NDArray[np.float32]]:
        """Those of the pictures that have a row, and their rows, as they are compared."""
        with self._turns.looking():
            covered = self._kept_ids.tolist() if self._in_graph else []
            kept = {image: at for at, image in enumerate(covered)}
            found = [i for i in images if i in self._place or (i in self._in_graph and i in kept)]
            made = np.empty((len(found), self.space.width), np.float32)
            for at, image in enumerate(found):
                place = self._place.get(image)
                made[at] = self._kept_rows[kept[image]] if place is None else self._matrix[place]
            return found, made

    def _row_of(self, image: int) -> Any:
        if image in self._place:
            return self._matrix[self._place[image]]
        if image in self._in_graph:
            found = np.flatnonzero(self._kept_ids == image)
            return self._kept_rows[found[0]] if len(found) else None
        return None

    def search_ranked(self, row: Any, k: int, weights: Any = None) -> Hits:
        return self.search(row, k, weights)


SpaceView = SparseView | DenseView
View = SpaceView | ModelView


class Views:
    """The views of all spaces, kept in step with the catalog."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.models = ModelViews(store)
        self._lock = threading.Lock()
        self._revision = -1
        self._dropped = 0
        self._spaces: dict[str, SpaceRow] = {}
        self._views: dict[tuple[str, str | None], SpaceView] = {}

    def view(self, name: str, profile: str | None = None) -> SpaceView:
        """The up-to-date view of a space that has a generation; compacted for a profile if so."""
        with self._lock:
            for attempt in range(4):
                try:
                    return self._current(name, profile)
                except (DamagedCollection, DamagedIndex, FileNotFoundError):
                    # A job may have replaced segments between our look at the catalog and at
                    # the files; if the catalog did not move, the damage is real.
                    self._views = {key: v for key, v in self._views.items() if key[0] != name}
                    if attempt == 3 or self.store.revision == self._revision:
                        raise
            raise AssertionError("unreachable")

    def _current(self, name: str, profile: str | None) -> SpaceView:
        store = self.store
        with store.snapshot():
            revision = store.revision
            if revision != self._revision:
                self._spaces = store.spaces()
                self._revision = revision
                dropped = store.setting(SPACES_DROPPED, 0)
                if dropped != self._dropped:
                    self._dropped = dropped
                    self._views.clear()
                self._stale = set(self._views)
            space = self._spaces.get(name)
            if space is None:
                raise CollectionError(
                    f"there is no space {name!r}; there are {', '.join(self._spaces)}"
                )
            if not space.generation:
                raise CollectionError(
                    f"space {name!r} has no vectors yet; add pictures (or vectors) first"
                )
            smaller: Mapping[str, tuple[str, int]] = {}
            if profile is not None and space.kind == "sparse":
                smaller = compacted_segments(store, profile)
                if not any(row.name in smaller for row in store.segments(name, space.generation)):
                    profile, smaller = None, {}
            key = (name, profile)
            view = self._views.get(key)
            if view is not None and key in self._stale:
                segments = [row.name for row in store.segments(name, space.generation)]
                same = (
                    view.space.generation == space.generation
                    and view.space.files == space.files
                    and view.segments == segments
                    and getattr(view, "smaller", {}) == smaller
                )
                if same:
                    view.update(store)
                else:
                    view = None
                self._stale.discard(key)
            if view is None:
                if space.kind == "sparse":
                    view = SparseView(store, space, smaller)
                else:
                    view = DenseView(store, space)
                self._views[key] = view
            return view

    def spaces(self) -> dict[str, SpaceRow]:
        """Spaces as the catalog has them now."""
        return self.store.spaces()
