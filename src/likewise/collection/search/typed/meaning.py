"""Pictures by meaning: a typed text becomes a row of a space, then its first answers do.

The space that reads text (``Space.text_rank``) ranks all pictures by the text's row.  The first
five are then the query in the space fitted to the collection (pseudo-feedback), and both rankings
are fused by reciprocal ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.search.dense_view import DenseView
from likewise.collection.search.rank import FUSION_RANK
from likewise.collection.search.similarities import fusion_partner
from likewise.collection.search.typed.texts import Texts
from likewise.collection.search.views import Views
from likewise.collection.spaces.base import Space, TextRow, ranked_spaces
from likewise.collection.store import written

FIRST = 5
"""Pictures that pseudo-feedback asks with."""
MINUS = 0.5
"""How much of the row of unwanted words is taken from that of the wanted ones."""
SAMPLE = 2_048
"""Pictures from which it is learned how a collection differs, at most."""
_DIGITS = 4

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


class Ranking(NamedTuple):
    """Pictures, best first, and what this ranking counts among others."""

    ids: Ids
    weight: float


def text_space(spaces: Mapping[str, Space], texts: Texts) -> Space | None:
    """The space that answers typed words here; None: there is none."""
    found = [
        (one.text_rank, place, one)
        for place, one in enumerate(spaces.values())
        if one.text_rank is not None and one.generation
    ]
    # The model is opened only for a collection that has rows to ask.
    return next((one for _, _, one in sorted(found, key=lambda e: e[:2])
                 if one.can_read_text(texts.words)), None)  # fmt: skip


def feedback_space(spaces: Mapping[str, Space], asked: Space | None) -> Space | None:
    """Where first answers and liked pictures become a query: the space fitted to the one asked."""
    dense = {n: one for n, one in spaces.items() if one.generation and not one.row_format.is_sparse}
    if asked is not None:
        fitted = [one for one in dense.values() if one.takes_rows_of == asked.name]
        best = ranked_spaces({one.name: one for one in fitted}, lambda one: one.default_rank)
        return best[0] if best else asked
    best = ranked_spaces(dense, lambda one: one.default_rank)
    return best[0] if best else dense.get(fusion_partner(spaces))


class Statistics:
    """What of a collection's rows typed words are measured against; made anew as it grows.

    A function of the pictures there are, rounded down to four binary digits of their number: the
    same for every process, and at most an eighth behind.
    """

    def __init__(self, views: Views) -> None:
        self._views, self._lock = views, threading.Lock()
        self._kept: dict[str, tuple[Any, Any]] = {}
        self._sampled: tuple[int, int, list[int]] | None = None

    def of(self, space: Space, make: Callable[[Any], Any]) -> Any:
        """What ``make`` gives of a sample of the rows of a space."""
        with self._lock:
            ids = self._sample()
            key = (space.generation, tuple(ids))
            kept = self._kept.get(space.name)
            if kept is None or kept[0] != key:
                _, rows = dense_view(self._views, space).rows_of(ids)
                kept = self._kept[space.name] = (key, make(rows))
            return kept[1]

    def _sample(self) -> list[int]:
        store = self._views.store
        n = store.n_images()
        zeros = max(n.bit_length() - _DIGITS, 0)
        rounded, revision = n >> zeros << zeros, store.revision
        kept = self._sampled
        if kept is None or kept[:2] != (revision, rounded):
            kept = self._sampled = revision, rounded, written.sample_ids(store, rounded, SAMPLE)
        return kept[2]


def dense_view(views: Views, space: Space) -> DenseView:
    """The view of a dense space."""
    view = views.view(space.name)
    assert isinstance(view, DenseView)
    return view


def read_texts(
    space: Space,
    texts: Texts,
    statistics: Statistics,
    wanted: str,
    unwanted: str,
    struck: frozenset[str],
) -> TextRow | None:
    """What was typed as one row of a space; None where nothing in it has a meaning there."""
    words = texts.words
    state = statistics.of(space, lambda rows: space.text_state(words, rows))
    row = space.read_text(words, wanted, state, struck) if wanted else None
    away = space.read_text(words, unwanted, state, frozenset()) if unwanted else None
    if away is None:
        return row
    if row is None:
        return TextRow(-away.row, ())
    made = row.row - MINUS * away.row
    return TextRow(np.asarray(made / (np.linalg.norm(made) or 1.0), np.float32), row.names)


def fuse(rankings: Sequence[Ranking]) -> tuple[Ids, Floats]:
    """Reciprocal ranks, weighed: ids ascending, and values of at most 1 (first in all of them)."""
    if not rankings:
        return np.zeros(0, np.int64), np.zeros(0)
    ids = np.unique(np.concatenate([one.ids for one in rankings]))
    values = np.zeros(len(ids))
    total = sum(one.weight for one in rankings)
    for one in rankings:
        share = (FUSION_RANK + 1) / (FUSION_RANK + 1 + np.arange(len(one.ids)))
        values[np.searchsorted(ids, one.ids)] += one.weight / total * share
    return ids, values
