"""A sparse space, ready to search: mapped segments and fresh rows in one inverted index.

While there are few rows and no segment, a search compares all rows and needs no compiled kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import segments as seg
from likewise.catalog.segments import apply_idf, open_idf
from likewise.catalog.store import Store
from likewise.spaces.base import Space
from likewise_methods.coding import BagOfWords
from likewise_methods.index import EMPTY_INDEX, InvertedIndex, SmallIndex
from likewise_methods.kernels import prefer_numpy

IdsAndScores = tuple[NDArray[np.int64], NDArray[np.float32]]


class SparseView:
    """One generation of a sparse space, ready to search.

    ``compacted`` names segments with a copy compacted for a profile, which is used instead.
    """

    takes_compacted = True

    def __init__(
        self,
        store: Store,
        space: Space,
        compacted: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        self.space = space
        self.root = store.root
        self.remembered: dict[bytes, Any] = {}
        self.segments = [row.name for row in store.segments(space.name, space.generation)]
        self.idf: BagOfWords | None = open_idf(store.root, space)
        self.compacted = dict(compacted or {})
        files = [self.compacted.get(name, (name, 0))[0] for name in self.segments]
        self._sealed = [
            seg.open_index(store.root, name)
            if name == file
            else InvertedIndex.open(store.root / file)
            for name, file in zip(self.segments, files, strict=True)
        ]
        self._fresh = InvertedIndex()
        self._few = EMPTY_INDEX if not self._sealed else None
        self._last_vector = 0
        self._last_tombstone = 0
        self._index = InvertedIndex()
        self._frequency: tuple[SmallIndex | InvertedIndex, NDArray[np.int64]] | None = None
        self._lock = threading.Lock()
        self.update(store)

    def update(self, store: Store) -> None:
        """Read rows and removals since the last time."""
        # Another thread may use ``index``, which moves the few rows into it.
        with self._lock:
            self._update(store)

    def _update(self, store: Store) -> None:
        new = store.vectors(self.space.name, self.space.generation, self._last_vector)
        if new:
            ids = np.array([image for _, image, _ in new], np.int64)
            blobs, width = [vector for _, _, vector in new], self.space.width
            few = self._few
            if few is not None and self.idf is None:
                self._few = few.with_rows(seg.sparse_rows(blobs, width), ids)
            elif few is not None:
                self._few = few.with_rows(apply_idf(self.idf, seg.unpack_sparse(blobs, width)), ids)
            else:
                rows = apply_idf(self.idf, seg.unpack_sparse(blobs, width))
                again = np.intersect1d(ids, self._fresh.ids)
                if len(again):
                    self._fresh.remove(again)
                self._fresh.add(rows, ids)
            self._last_vector = new[-1][0]
        dead = store.tombstones(self._last_tombstone)
        if dead:
            gone = np.array([image for _, image in dead], np.int64)
            if self._few is not None:
                self._few = self._few.without(gone)
            for index in (*self._sealed, self._fresh):
                here = index.contains(gone)
                if here.any():
                    index.remove(gone[here])
            self._last_tombstone = dead[-1][0]
        if self._few is None:
            self._index = InvertedIndex.union([*self._sealed, self._fresh])
        elif not prefer_numpy(self._few.n_values):
            self._index_few(self._few)

    def _index_few(self, few: SmallIndex) -> None:
        """Move the few rows into an index; searches in other threads use either."""
        if len(few):
            self._fresh.add(few.rows(few.ids), few.ids)
        self._index = InvertedIndex.union([self._fresh])
        self._few = None

    @property
    def index(self) -> InvertedIndex:
        """The inverted index; few rows are moved into it first."""
        few = self._few
        if few is not None:
            with self._lock:
                if self._few is not None:
                    self._index_few(self._few)
        return self._index

    def _rows(self) -> SmallIndex | InvertedIndex:
        few = self._few
        return self._index if few is None else few

    def __len__(self) -> int:
        return len(self._rows())

    def frequency(self) -> tuple[NDArray[np.int64], int]:
        """Return how many pictures have each word, and how many there are (of the idf if any)."""
        if self.idf is not None:
            return self.idf.df_, self.idf.n_pictures_
        rows = self._rows()
        if self._frequency is None or self._frequency[0] is not rows:
            whole = rows
            if self.compacted:
                # A compacted copy lacks words that pictures still have.
                full = [seg.open_index(self.root, name) for name in self.segments]
                for index, copy in zip(full, self._sealed, strict=True):
                    index.remove(index.ids[~copy.contains(index.ids)])
                whole = InvertedIndex.union([*full, self._fresh])
            self._frequency = (rows, whole.frequencies())
        return self._frequency[1], len(rows)

    def count_words(self) -> NDArray[np.int64]:
        """Count the pictures with each word among those that are searched now."""
        return self._rows().frequencies()

    def row_of(self, image: int) -> Any:
        """Return a picture's weighted row; None if none."""
        rows = self._rows()
        if not rows.contains(np.array([image]))[0]:
            return None
        return rows.rows([image])

    def packed_row(self, image: int) -> bytes | None:
        """Return a picture's weighted row, packed for the catalog; None if none."""
        rows = self._rows()
        if not isinstance(rows, SmallIndex):
            found = self.row_of(image)
            return None if found is None else self.space.row_format.pack(found)
        return seg.pack_sparse(*rows.row_at(image)) if image in rows.ids else None

    def rows_of(self, images: Iterable[int]) -> tuple[list[int], Any]:
        """Return the pictures that have a row, and their weighted rows."""
        wanted = np.fromiter(images, np.int64)
        rows = self._rows()
        here = wanted[rows.contains(wanted)]
        return here.tolist(), rows.rows(here)

    def search_row(self, row: Any, k: int) -> IdsAndScores:
        """Return ids and scores of the k best for a weighted row."""
        rows = self._rows()
        k = min(k, len(rows))
        if k == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        ids, scores = rows.search(row, k)
        return ids[0], scores[0]
