"""A dense space, ready to search: rows compared one by one or along a graph.

Memory holds codes of one byte a number; the rows of large spaces stay on disk.  Codes only
nominate, and the rows of the nominees are read from their segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import segments as seg
from likewise.catalog.read_write_lock import ReadWriteLock
from likewise.catalog.segments import comparable_rows, metric_of
from likewise.catalog.store import Store
from likewise.spaces.base import Space
from likewise.spaces.graphs import open_graph
from likewise.spaces.rows import IdPlaces, Ids, RowParts, hide_removed
from likewise_methods.kernels import prefer_numpy
from likewise_methods.neighbours import HNSW, CompactFlat, Metric, row_scores

EXACT_BEYOND = 1000
"""Longer answers come from comparing all rows, with or without a graph."""

MAPPED_FROM = 20_000
"""Sealed rows of a space from which they stay on disk; fewer are read into memory."""

_CHUNK = 8192

IdsAndScores = tuple[NDArray[np.int64], NDArray[np.float32]]


class _Covered(NamedTuple):
    """The rows that a graph covers."""

    walk: HNSW
    ids: Ids
    places: IdPlaces
    at: NDArray[np.int32]
    """Place of the row of each id in ``rows``; -1 if it is not read yet."""
    alive: NDArray[np.bool_]
    rows: RowParts

    def numbers(self, images: Ids) -> NDArray[np.int64]:
        """Return the numbers of pictures in the graph; -1 for those it lacks."""
        return hide_removed(self.places.find(images), self.alive)

    def place(self, numbers: NDArray[np.int64], first: int) -> None:
        """Record that the rows of these numbers begin at place ``first``."""
        self.at[numbers] = np.arange(first, first + len(numbers))


class DenseView:
    """One generation of a dense space, ready to search: higher scores are better in every metric.

    Rows that the space's graph covers are found by walking it, the others by comparing all; both
    ways give a picture the same score, bit for bit (``neighbours.row_scores``).
    """

    takes_compacted = False
    idf = None

    def __init__(
        self, store: Store, space: Space, compacted: Mapping[str, tuple[str, int]] | None = None
    ) -> None:
        self.compacted = dict(compacted or {})
        self.space = space
        self.root = store.root
        self.remembered: dict[bytes, Any] = {}
        self._metric: Metric = "l2" if metric_of(space) == "l2" else "ip"
        self._last_vector = 0
        self._last_tombstone = 0
        self._graph = self._open_graph()
        self._rows = RowParts(space)
        sealed = store.segments(space.name, space.generation)
        self.segments = [row.name for row in sealed]
        self._ids = self._open_segments(sum(row.n_pictures for row in sealed) >= MAPPED_FROM)
        self._alive = np.ones(len(self._ids), bool)
        self._places = IdPlaces(self._ids)
        self._flat: CompactFlat | None = None
        self._flat_covered: CompactFlat | None = None
        # Adding rows moves their memory, which no search may see.
        self._lock = ReadWriteLock()
        self.update(store)

    def _open_graph(self) -> _Covered | None:
        graph = open_graph(self.root, self.space)
        if graph is None:
            return None
        n, rows = len(graph.ids), RowParts(self.space)
        at, alive = np.full(n, -1, np.int32), np.ones(n, bool)
        return _Covered(graph.walk, graph.ids, IdPlaces(graph.ids), at, alive, rows)

    def _open_segments(self, on_disk: bool) -> Ids:
        """Open the rows of all segments; return the ids that no graph covers."""
        ids = [np.zeros(0, np.int64)]
        for name in self.segments:
            if on_disk:
                part, mapped = seg.map_dense(self.root, name)
            else:
                part, mapped = seg.read_dense(self.root, name), None
            covered = np.zeros(len(part.ids), bool)
            if self._graph is not None:
                numbers = self._graph.numbers(part.ids)
                covered = numbers >= 0
                self._graph.place(numbers[covered], len(self._graph.rows))
                self._graph.rows.add_part(part.rows, covered, mapped)
            self._rows.add_part(part.rows, ~covered, mapped)
            ids.append(part.ids[~covered])
        return np.concatenate(ids)

    def update(self, store: Store) -> None:
        """Read rows and removals since the last time."""
        with self._lock.writing():
            self._update(store)

    def _update(self, store: Store) -> None:
        new = store.vectors(self.space.name, self.space.generation, self._last_vector)
        if new:
            raw = seg.unpack_dense([vector for _, _, vector in new], self.space.width)
            ids = np.array([image for _, image, _ in new], np.int64)
            if self._graph is not None:
                numbers = self._graph.numbers(ids)
                covered = numbers >= 0
                self._graph.place(numbers[covered], len(self._graph.rows))
                self._graph.rows.add(raw[covered])
                if self._flat_covered is not None:
                    self._flat_covered.add(comparable_rows(self.space, raw[covered]))
                ids, raw = ids[~covered], raw[~covered]
            self._append(ids, raw)
            self._last_vector = new[-1][0]
        dead = store.tombstones(self._last_tombstone)
        if dead:
            gone = np.array([image for _, image in dead], np.int64)
            self._mark_dead(self._places.find(gone))
            if self._graph is not None:
                numbers = self._graph.numbers(gone)
                self._graph.alive[numbers[numbers >= 0]] = False
            self._last_tombstone = dead[-1][0]

    def _mark_dead(self, places: NDArray[np.int64]) -> None:
        self._alive[places[places >= 0]] = False

    def _append(self, ids: Ids, raw: NDArray[np.float32]) -> None:
        if not len(ids):
            return
        # Of several rows of one picture the last counts.
        self._mark_dead(self._places.find(ids))
        self._ids = np.concatenate([self._ids, ids])
        self._alive = np.concatenate([self._alive, np.zeros(len(ids), bool)])
        self._places.add(ids)
        self._alive[self._places.find(ids)] = True
        self._rows.add(raw)
        if self._flat is not None:
            self._flat.add(comparable_rows(self.space, raw))

    def __len__(self) -> int:
        covered = 0 if self._graph is None else int(self._graph.alive.sum())
        return int(self._alive.sum()) + covered

    def search_row(self, row: Any, k: int) -> IdsAndScores:
        """Return ids and scores of the k best: cosine, inner product, or minus the distance."""
        comparable = comparable_rows(self.space, np.asarray(row, np.float32).reshape(1, -1))
        with self._lock.reading():
            return self._search(comparable, k)

    def _search(self, row: NDArray[np.float32], k: int) -> IdsAndScores:
        parts: list[IdsAndScores] = []
        if self._alive.any():
            parts.append(self._from_uncovered(row, k))
        if self._graph is not None and self._graph.alive.any():
            parts.append(self._from_graph(self._graph, row, k))
        ids = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
        found = np.concatenate([np.zeros(0, np.float32), *(part[1] for part in parts)])
        order = np.lexsort((ids, -found))[:k]
        return ids[order], found[order]

    def _from_uncovered(self, row: NDArray[np.float32], k: int) -> IdsAndScores:
        """Find the best rows that no graph covers; few rows are all returned, which is faster."""
        if self._flat is None and prefer_numpy(len(self._rows) * self.space.width):
            places = np.flatnonzero(self._alive)
            values = row_scores(self._rows[places], np.arange(len(places)), row[0], self._metric)
            return self._ids[places], values
        if self._flat is None:
            self._flat = CompactFlat(self._metric, self._rows)
        places, values = self._flat.best(self._rows, self._alive, row[0], k)
        return self._ids[places], values

    def _from_graph(self, graph: _Covered, row: NDArray[np.float32], k: int) -> IdsAndScores:
        """Find the best rows that the graph covers: by a walk, or for large k by comparing all."""
        if k > EXACT_BEYOND:
            return self._from_all_covered(graph, row, k)
        # A few more: exact scores may order the last ones differently.
        dead = len(graph.ids) - int(graph.alive.sum())
        walked, _ = graph.walk.search(row, min(k + k // 8 + 4 + dead, len(graph.ids)))
        numbers = walked[0][walked[0] >= 0]
        numbers = numbers[graph.alive[numbers] & (graph.at[numbers] >= 0)]
        held = graph.rows[graph.at[numbers].astype(np.int64)]
        values = row_scores(held, np.arange(len(numbers)), row[0], self._metric)
        return graph.ids[numbers], values

    def _from_all_covered(self, graph: _Covered, row: NDArray[np.float32], k: int) -> IdsAndScores:
        # Codes made when first needed: the graph's codes have one range a column and bound less.
        if self._flat_covered is None:
            self._flat_covered = CompactFlat(self._metric, graph.rows)
        numbers = np.full(len(graph.rows), -1, np.int64)
        there = np.flatnonzero(graph.alive & (graph.at >= 0))
        numbers[graph.at[there]] = there
        places, values = self._flat_covered.best(graph.rows, numbers >= 0, row[0], k)
        return graph.ids[numbers[places]], values

    def rows_of(self, images: Iterable[int]) -> tuple[list[int], NDArray[np.float32]]:
        """Return the pictures that have a row, and their rows as they are compared."""
        wanted = np.fromiter(images, np.int64)
        with self._lock.reading():
            places = hide_removed(self._places.find(wanted), self._alive)
            covered = np.full(len(wanted), -1, np.int64)
            if self._graph is not None:
                numbers = self._graph.numbers(wanted)
                covered[numbers >= 0] = self._graph.at[numbers[numbers >= 0]]
            there = np.flatnonzero((places >= 0) | (covered >= 0))
            made = np.empty((len(there), self.space.width), np.float32)
            for start in range(0, len(there), _CHUNK):
                some = there[start : start + _CHUNK]
                loose = places[some] >= 0
                into = made[start : start + _CHUNK]
                into[loose] = self._rows[places[some[loose]]]
                if self._graph is not None:
                    into[~loose] = self._graph.rows[covered[some[~loose]]]
            return wanted[there].tolist(), made

    def row_of(self, image: int) -> Any:
        """Return a picture's row as it is compared; None if none."""
        found, rows = self.rows_of([image])
        return rows[0] if found else None

    def packed_row(self, image: int) -> bytes | None:
        """Return a picture's row as it is compared, packed for the catalog; None if none."""
        row = self.row_of(image)
        if row is None:
            return None
        kind = self.space.row_format
        return kind.pack(kind.weighted_row(self.space, row))
