"""Few rows without a kernel: the answers of an inverted index, to its bits, by NumPy alone.

The first kernel of a process costs a second of processor time, and on a machine that never ran it
ten or more, since it is compiled there.  A collection that is a minute old is searched, and taught,
before that.
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
class FewRows:
    """Sparse rows that are all looked at for every query; ids ascend.

    Never changed: whoever adds or removes gets another one.  Scores and rankings are those of
    :class:`~likewise_methods.index.InvertedIndex`.
    """

    ids: Array
    stored: Rows
    row_of_entry: Array
    """The number of the row that each stored value belongs to."""

    @classmethod
    def build(cls, X: Any, ids: Any) -> FewRows:
        """These rows under these ids."""
        rows = picture_rows(X)
        return cls._sorted(id_vector(ids, len(rows.ends) - 1), rows)

    @classmethod
    def _sorted(cls, ids: Array, rows: Rows) -> FewRows:
        order = np.argsort(ids, kind="stable")
        taken = rows if np.array_equal(order, np.arange(len(ids))) else _take(rows, order)
        return cls(ids[order], taken, np.repeat(np.arange(len(ids)), np.diff(taken.ends)))

    def with_rows(self, X: Any, ids: Any) -> FewRows:
        """These rows too; a picture that was there has the new one."""
        rows = picture_rows(X)
        names = id_vector(ids, len(rows.ends) - 1)
        old = self.without(names)
        return FewRows._sorted(np.concatenate([old.ids, names]), _join(old.stored, rows))

    def without(self, ids: Any) -> FewRows:
        """Without those of these pictures that are here."""
        kept = np.flatnonzero(~np.isin(self.ids, id_vector(ids, None)))
        if len(kept) == len(self.ids):
            return self
        return FewRows._sorted(self.ids[kept], _take(self.stored, kept))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_values(self) -> int:
        """Numbers that a search looks at."""
        return len(self.stored.values)

    def contains(self, ids: Any) -> Array:
        """Whether each id is here."""
        return np.isin(id_vector(ids, None), self.ids)

    def rows(self, ids: Any) -> sparse.csr_array:
        """The rows of these pictures as they were added (float32), in the order of ``ids``."""
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
        """Words and values of a picture that is here."""
        at = int(np.searchsorted(self.ids, image))
        part = slice(self.stored.ends[at], self.stored.ends[at + 1])
        return self.stored.words[part], self.stored.values[part]

    def frequencies(self) -> Array:
        """In how many pictures each word is, int64."""
        return np.bincount(self.stored.words, minlength=self.stored.width).astype(np.int64)

    def search(self, Q: Any, k: int, weights: Any = None) -> tuple[Array, Array]:
        """The k best pictures of every query, as of the index; k is no more than there are."""
        queries = query_rows(Q, weights)
        n = len(queries.ends) - 1
        ids, scores = np.empty((n, k), np.int64), np.empty((n, k), np.float32)
        spread = np.zeros(max(queries.width, self.stored.width))
        for q in range(n):
            part = slice(queries.ends[q], queries.ends[q + 1])
            spread[queries.words[part]] = queries.values[part]
            found = self._scores(spread)
            # Ids ascend, so that a stable sort gives ties to the smaller one.
            best = np.argsort(-found, kind="stable")[:k]
            ids[q], scores[q] = self.ids[best], found[best]
            spread[queries.words[part]] = 0
        return ids, scores

    def _scores(self, spread: Array) -> Array:
        """One score a row.  ``bincount`` adds one value after the other, in the order of words,
        as the index does; words that the query lacks add nothing."""
        terms = self.stored.values * spread[self.stored.words]
        return np.bincount(self.row_of_entry, terms, len(self.ids)).astype(np.float32)


NO_ROWS = FewRows(
    np.zeros(0, np.int64),
    Rows(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32), 0),
    np.zeros(0, np.int64),
)


def _take(rows: Rows, order: Array) -> Rows:
    """Some rows, in that order."""
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
