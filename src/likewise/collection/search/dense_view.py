"""A dense space, ready to search: all rows in memory, compared one by one or along a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.errors import CollectionError
from likewise.collection.read_write_lock import ReadWriteLock
from likewise.collection.spaces.base import Space
from likewise.collection.spaces.graphs import Graph, open_graph
from likewise.collection.store import segments as seg
from likewise.collection.store.row_formats import comparable_rows, metric_of
from likewise.collection.store.store import Store
from likewise.neighbours.protocol import Metric
from likewise.neighbours.scores import Flat, scores

EXACT_BEYOND = 1000
"""Answers longer than this are found by comparing all rows, graph or not."""

Hits = tuple[NDArray[np.int64], NDArray[np.float32]]


def _gather(
    space: Space, parts: list[seg.DenseRows], masks: list[NDArray[np.bool_]]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Ids and comparable rows that the masks take; a segment at a time, so as to hold them once."""
    chosen = [part.ids[mask] for part, mask in zip(parts, masks, strict=True)]
    ids = np.concatenate([np.zeros(0, np.int64), *chosen])
    rows = np.empty((len(ids), space.width), np.float32)
    end = 0
    for part, mask in zip(parts, masks, strict=True):
        start, end = end, end + int(mask.sum())
        rows[start:end] = comparable_rows(space, part.rows[mask])
    return ids, rows


class DenseView:
    """A dense space, ready to search: higher scores are better for every metric.

    Rows that the space's graph covers are found by walking it, the others by comparing all; a
    picture's score is the same bits whichever way found it (``neighbours.scores``).
    """

    takes_compacted = False
    idf = None

    def __init__(
        self, store: Store, space: Space, smaller: Mapping[str, tuple[str, int]] | None = None
    ) -> None:
        self.smaller = dict(smaller or {})
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
        self._kept_ids, self._kept_rows = _gather(space, parts, inside)
        self._kept_order = np.argsort(self._kept_ids, kind="stable")
        self._ids, self._matrix = _gather(space, parts, [~mask for mask in inside])
        self._alive = np.ones(len(self._ids), bool)
        self._place = {int(image): i for i, image in enumerate(self._ids)}
        self._in_graph = set(covered.tolist())
        self._flat: Flat | None = None
        # Rows are added in place, and their memory moves: never under a search.
        self._lock = ReadWriteLock()
        self.update(store)

    def update(self, store: Store) -> None:
        with self._lock.writing():
            self._update(store)

    def _update(self, store: Store) -> None:
        new = store.vectors(self.space.name, self.space.generation, self._last_vector)
        if new:
            raw = seg.unpack_dense([vector for _, _, vector in new], self.space.width)
            ids = np.array([image for _, image, _ in new], np.int64)
            rows = comparable_rows(self.space, raw)
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
        row = comparable_rows(self.space, np.asarray(query, np.float32).reshape(1, -1))
        with self._lock.reading():
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
        with self._lock.reading():
            return self._row_of(image)

    def rows_of(self, images: Iterable[int]) -> tuple[list[int], NDArray[np.float32]]:
        """Those of the pictures that have a row, and their rows, as they are compared."""
        with self._lock.reading():
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

    def search_row(self, row: Any, k: int, weights: Any = None) -> Hits:
        return self.search(row, k, weights)
