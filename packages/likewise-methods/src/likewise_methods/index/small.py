"""A small inverted index in NumPy, with the same results as ``InvertedIndex`` to the bit.

Loading numba takes 0.6 s of processor time, and compiling its kernels on a new machine ten seconds
or more.  A small or new collection is searched and taught without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise_methods.errors import InvalidInput
from likewise_methods.index.layout import Array
from likewise_methods.index.rows import id_vector, picture_rows, query_rows
from likewise_methods.lazy_imports import sparse
from likewise_methods.sparse_rows import Rows


@dataclass(frozen=True, eq=False)
class SmallIndex:
    """Sparse rows, all scored for every query; ids ascend.

    Immutable: adding or removing returns a new object.  Scores and rankings equal those of
    :class:`~likewise_methods.index.InvertedIndex`.
    """

    ids: Array
    stored: Rows
    row_of_entry: Array
    """The row of each stored value."""

    @classmethod
    def build(cls, X: Any, ids: Any) -> SmallIndex:
        """Build from rows and ids."""
        rows = picture_rows(X)
        return cls._sorted(id_vector(ids, len(rows.ends) - 1), rows)

    @classmethod
    def _sorted(cls, ids: Array, rows: Rows) -> SmallIndex:
        order = np.argsort(ids, kind="stable")
        taken = rows if np.array_equal(order, np.arange(len(ids))) else _take(rows, order)
        return cls(ids[order], taken, np.repeat(np.arange(len(ids)), np.diff(taken.ends)))

    def with_rows(self, X: Any, ids: Any) -> SmallIndex:
        """Add rows; existing ids get the new row."""
        rows = picture_rows(X)
        names = id_vector(ids, len(rows.ends) - 1)
        old = self.without(names)
        return SmallIndex._sorted(np.concatenate([old.ids, names]), _join(old.stored, rows))

    def without(self, ids: Any) -> SmallIndex:
        """Remove these ids, if present."""
        kept = np.flatnonzero(~np.isin(self.ids, id_vector(ids, None)))
        if len(kept) == len(self.ids):
            return self
        return SmallIndex._sorted(self.ids[kept], _take(self.stored, kept))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_values(self) -> int:
        """Number of stored values."""
        return len(self.stored.values)

    def contains(self, ids: Any) -> Array:
        """Return whether each id is present."""
        return np.isin(id_vector(ids, None), self.ids)

    def rows(self, ids: Any) -> sparse.csr_array:
        """Return the rows (float32) of these ids, in their order."""
        names = id_vector(ids, None)
        places = np.searchsorted(self.ids, names)
        here = places < len(self.ids)
        here[here] = self.ids[places[here]] == names[here]
        if not here.all():
            raise InvalidInput(f"id {names[~here][0]} is not in the index")
        found = _take(self.stored, places)
        shape = (len(names), self.stored.width)
        return sparse.csr_array((found.values, found.words.astype(np.int64), found.ends), shape)

    def row_at(self, image: int) -> tuple[Array, Array]:
        """Return words and values of a picture."""
        at = int(np.searchsorted(self.ids, image))
        part = slice(self.stored.ends[at], self.stored.ends[at + 1])
        return self.stored.words[part], self.stored.values[part]

    def frequencies(self) -> Array:
        """Return the number of pictures with each word, int64."""
        return np.bincount(self.stored.words, minlength=self.stored.width).astype(np.int64)

    def search(self, Q: Any, k: int, weights: Any = None) -> tuple[Array, Array]:
        """Return the k best pictures of every query; k is at most the number of rows."""
        queries = query_rows(Q, weights)
        n = len(queries.ends) - 1
        ids, scores = np.empty((n, k), np.int64), np.empty((n, k), np.float32)
        spread = np.zeros(max(queries.width, self.stored.width))
        for q in range(n):
            part = slice(queries.ends[q], queries.ends[q + 1])
            spread[queries.words[part]] = queries.values[part]
            found = self._scores(spread)
            # Ids ascend: a stable sort puts the smaller id first.
            best = np.argsort(-found, kind="stable")[:k]
            ids[q], scores[q] = self.ids[best], found[best]
            spread[queries.words[part]] = 0
        return ids, scores

    def _scores(self, spread: Array) -> Array:
        """Return one score per row; ``bincount`` adds in the order of words, as the index does."""
        terms = self.stored.values * spread[self.stored.words]
        return np.bincount(self.row_of_entry, terms, len(self.ids)).astype(np.float32)


EMPTY_INDEX = SmallIndex(
    np.zeros(0, np.int64),
    Rows(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32), 0),
    np.zeros(0, np.int64),
)


def _take(rows: Rows, order: Array) -> Rows:
    """Return some rows, in this order."""
    sizes = np.diff(rows.ends)[order]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
    entries = np.repeat(rows.ends[:-1][order], sizes) + within
    return Rows(ends, rows.words[entries], rows.values[entries], rows.width)


def _join(first: Rows, second: Rows) -> Rows:
    return Rows(
        np.concatenate([first.ends, first.ends[-1] + second.ends[1:]]),
        np.concatenate([first.words, second.words]),
        np.concatenate([first.values, second.values]),
        max(first.width, second.width),
    )
