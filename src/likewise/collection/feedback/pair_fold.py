"""The fold of a profile in a dense space: the pairs of every judgement that stands.

The lessons are a set (``similarity/local_metric.py``): whatever was judged, taken back, rolled back
or merged in whatever order, the items that stand are all that counts.  So there is no checkpoint:
the codes of the log are the state, and bringing it up to date reads those of new items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from likewise.collection.feedback.history import WEIGHTS, Item
from likewise.collection.spaces.base import Space
from likewise.collection.store import log_tables
from likewise.collection.store.store import Store
from likewise.similarity.local_metric import Agreement, LocalMetric

NOTICED = 0.05
"""A direction that counts more or less by this share is one that changed."""
_CHUNK = 500
_DIGITS = 4
"""Binary digits of the number of judgements that figures are made of."""


class PairFigures(NamedTuple):
    """How well judgements are told by the others, and the share of directions that changed."""

    agreement: Agreement | None
    changed: float


class PairFold:
    """A metric and the items in it; ``made_in`` is what its codes belong to."""

    def __init__(self, made_in: tuple[int, int], metric: LocalMetric) -> None:
        self.made_in, self.metric = made_in, metric
        self._items: dict[int, Item] = {}
        self._figures: tuple[tuple[int, ...], PairFigures] | None = None

    def update(self, store: Store, space: Space, items: Sequence[Item]) -> None:
        """Bring the metric to the items that stand."""
        standing = {item.number: item for item in items if item.kind != WEIGHTS}
        gone = [
            number
            for number, item in self._items.items()
            if number not in standing or not _teach_alike(standing[number], item)
        ]
        self.metric.discard(gone)
        if gone:
            # What comes back under the same number may say something else.
            self._figures = None
        for number in gone:
            del self._items[number]
        new = [item for number, item in standing.items() if number not in self._items]
        for start in range(0, len(new), _CHUNK):
            chunk = new[start : start + _CHUNK]
            subjects: set[int] = set().union(*(item.subjects() for item in chunk))
            codes = log_tables.codes(store, space.name, space.generation, subjects)
            for item in chunk:
                add_lesson(self.metric, item, codes, space)
                self._items[item.number] = item

    def figures(self) -> PairFigures:
        """Of the first judgements in time, nearly all: asked again when some more have come.

        It costs about a hundred searches, which nobody should pay for after each of many
        judgements; and it is a function of the judgements alone, whoever asks and when.
        """
        n = round_down(len(self.metric))
        orders = tuple(one.order for one in self.metric.lessons[:n])
        if self._figures is None or self._figures[0] != orders:
            first = self.metric.first(n)
            values = np.linalg.eigvalsh(first.overall())
            changed = float(np.mean(np.abs(values - 1) > NOTICED))
            self._figures = orders, PairFigures(first.agreement(), changed)
        return self._figures[1]


def round_down(n: int) -> int:
    """A number without all but its first binary digits: at most an eighth less.

    >>> [round_down(n) for n in (3, 15, 17, 63, 1000)]
    [3, 15, 16, 60, 960]
    """
    zeros = max(n.bit_length() - _DIGITS, 0)
    return n >> zeros << zeros


def _teach_alike(one: Item, other: Item) -> bool:
    """Whether two states of an item are the same lesson: sessions do not count here."""
    return replace(one, session=0, at=0.0) == replace(other, session=0, at=0.0)


def add_lesson(metric: LocalMetric, item: Item, codes: Mapping[int, bytes], space: Space) -> None:
    """One judgement or comparison; pictures without a code in this space are left out."""
    if item.query not in codes:
        return
    liked = sorted(codes[s] for s in item.liked if s in codes)
    disliked = sorted(codes[s] for s in item.disliked if s in codes)
    weight = 1.0
    if not item.disliked and liked:
        # Passed over, or drawn by chance: nobody said that they are unlike the query.
        disliked = sorted(codes[s] for s in item.negatives if s in codes)
        weight = item.weight
    # Liked pictures that have no code here must not turn the judgement into a mere dislike.
    if item.liked and not liked:
        return

    def rows(blobs: Sequence[bytes]) -> object:
        if not blobs:
            return np.zeros((0, space.width), np.float32)
        return space.row_format.unpack(blobs, space.width)

    query = space.row_format.unpack([codes[item.query]], space.width)[0]
    metric.add(item.number, query, rows(liked), rows(disliked), weight)
