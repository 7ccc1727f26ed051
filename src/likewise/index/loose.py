"""A few rows that are not laid out as a block yet, and their exact scores without a kernel.

Laying rows out and searching the layout is the work of kernels, and the first kernel of a process
costs a second of processor time.  A command that asks one question of a small collection is done
before that: every row is looked at, and the sums are those of ``scoring``, in the same order and to
the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise._csr import Rows
from likewise.index.layout import Array

ENTRIES = 1 << 16
"""Stored values of a block up to which its rows may stay loose."""
_FLOAT32_MAX = float(np.finfo(np.float32).max)


class LooseRows(NamedTuple):
    """What a block is made of: ids and canonical rows, and how they are to be laid out."""

    ids: Array
    ends: Array
    words: Array
    values: Array
    width: int
    quantised: bool
    drop: Array | None

    def living_rows(self, dead: Array) -> tuple[Array, Array, Array, Array]:
        """Ids, row lengths, words and values of the living."""
        lengths = np.diff(self.ends)
        alive = dead == 0
        kept = np.repeat(alive, lengths)
        return self.ids[alive], lengths[alive], self.words[kept], self.values[kept]

    def row_at(self, position: int) -> tuple[Array, Array]:
        """Words and values of one picture."""
        span = slice(self.ends[position], self.ends[position + 1])
        return self.words[span].copy(), self.values[span].copy()

    def scores(self, words: Array, values: Array) -> Array:
        """The score of every picture for one query, float32.

        ``bincount`` adds its weights one after the other: the products of a picture in ascending
        order of words, in float64, rounded once at the end.
        """
        pictures = np.repeat(np.arange(len(self.ids)), np.diff(self.ends))
        place = np.minimum(np.searchsorted(words, self.words), max(len(words) - 1, 0))
        shared = words[place] == self.words if len(words) else np.zeros(len(self.words), bool)
        products = values[place[shared]] * self.values[shared].astype(np.float64)
        exact = np.bincount(pictures[shared], weights=products, minlength=len(self.ids))
        return exact.clip(-_FLOAT32_MAX, _FLOAT32_MAX).astype(np.float32)


def search_loose(
    parts: list[tuple[LooseRows, Array]], queries: Rows, k: int
) -> tuple[Array, Array]:
    """Ids and scores of the k best of every query over loose rows and which of them are dead.

    There are at least k living pictures.  Ties go to the smaller id.
    """
    alive = [dead == 0 for _, dead in parts]
    ids = np.concatenate([rows.ids[keep] for (rows, _), keep in zip(parts, alive, strict=True)])
    n = len(queries.ends) - 1
    best_ids, best = np.empty((n, k), np.int64), np.empty((n, k), np.float32)
    for q in range(n):
        span = slice(queries.ends[q], queries.ends[q + 1])
        words, values = queries.words[span], queries.values[span]
        found = [
            rows.scores(words, values)[keep] for (rows, _), keep in zip(parts, alive, strict=True)
        ]
        scores = np.concatenate(found)
        order = np.lexsort((ids, -scores))[:k]
        best_ids[q], best[q] = ids[order], scores[order]
    return best_ids, best
