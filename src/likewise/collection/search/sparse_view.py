"""A sparse space, ready to search: mapped segments and fresh rows under one inverted index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.coding.bow import BagOfWords
from likewise.collection.spaces.base import Space
from likewise.collection.store import segments as seg
from likewise.collection.store.row_formats import apply_idf, open_idf
from likewise.collection.store.store import Store
from likewise.index.inverted import InvertedIndex

Hits = tuple[NDArray[np.int64], NDArray[np.float32]]


class SparseView:
    """One generation of a sparse space, ready to search.

    ``smaller`` names segments that have a copy compacted for a profile, which is then taken.
    """

    takes_compacted = True

    def __init__(
        self,
        store: Store,
        space: Space,
        smaller: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        self.space = space
        self.root = store.root
        self.remembered: dict[bytes, Any] = {}
        self.segments = [row.name for row in store.segments(space.name, space.generation)]
        self.idf: BagOfWords | None = open_idf(store.root, space)
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
            self._fresh.add(apply_idf(self.idf, raw), ids)
            self._last_vector = new[-1][0]
        dead = store.tombstones(self._last_tombstone)
        if dead:
            gone = np.array([image for _, image in dead], np.int64)
            for index in (*self._sealed, self._fresh):
                here = index.contains(gone)
                if here.any():
                    index.remove(gone[here])
            self._last_tombstone = dead[-1][0]
        self.index = InvertedIndex.union([*self._sealed, self._fresh])

    def __len__(self) -> int:
        return len(self.index)

    def search(self, query: Any, k: int, weights: Any = None) -> Hits:
        """Ids and scores of the k best; ``query`` is one raw row."""
        k = min(k, len(self.index))
        if k == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        ids, scores = self.index.search(apply_idf(self.idf, query), k, weights)
        return ids[0], scores[0]

    def frequency(self) -> tuple[NDArray[np.int64], int]:
        """In how many pictures each word is, and of how many; frozen with the idf where there is
        one, counted in the index otherwise."""
        if self.idf is not None:
            return self.idf.df_, self.idf.n_pictures_
        if self._frequency is None or self._frequency[0] is not self.index:
            whole = self.index
            if self.smaller:
                # A compacted copy has forgotten words that pictures still have.
                full = [seg.open_index(self.root, name) for name in self.segments]
                whole = InvertedIndex.union([*full, self._fresh])
            self._frequency = (self.index, whole.frequencies())
        return self._frequency[1], len(self.index)

    def row_of(self, image: int) -> Any:
        """The weighted row of a picture of the collection; None if it has none."""
        if not self.index.contains(np.array([image]))[0]:
            return None
        return self.index.rows([image])

    def rows_of(self, images: Iterable[int]) -> tuple[list[int], Any]:
        """Those of the pictures that have a row, and their weighted rows."""
        asked = np.fromiter(images, np.int64)
        index = self.index
        here = asked[index.contains(asked)]
        return here.tolist(), index.rows(here)

    def search_row(self, row: Any, k: int, weights: Any = None) -> Hits:
        """As ``search``, for a row that is weighted already."""
        k = min(k, len(self.index))
        if k == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        ids, scores = self.index.search(row, k, weights)
        return ids[0], scores[0]
