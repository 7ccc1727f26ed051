"""Pictures by meaning: a typed text becomes a row of a space, then its first answers do.

The space that reads text (``Space.text_rank``) scores pictures by the text's row.  The first ten
are then the query in the space fitted to the collection, twice, and the text keeps a fifth of the
say; what is liked takes the place of the ten (docs/methods/words.md, (5)).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import word_index
from likewise.catalog.segments import comparable_rows, metric_of
from likewise.search.dense_view import DenseView, Hits
from likewise.search.engine_views import EngineView
from likewise.search.rank import FUSION_RANK
from likewise.search.similarities import fusion_partner
from likewise.search.sparse_view import SparseView
from likewise.search.typed.texts import Texts
from likewise.search.views import Views
from likewise.spaces.base import Space, TextRow, ranked_spaces
from likewise.vision.text.feedback import FIRST, ROUNDS, interleaved, mean_row
from likewise_methods.neighbours import Metric, row_scores

MINUS = 0.5
"""How much of the row of unwanted words is taken from that of the wanted ones."""
WOVEN = 200
"""Places that a text's own answers are woven into; nobody looks for them further down."""
SAMPLE = 2_048
"""Pictures from which it is learned how a collection differs, at most."""
_DIGITS = 4

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    return best[0] if best else dense.get(fusion_partner(spaces) or "")


class Statistics:
    """What of a collection's rows typed words are measured against; made anew as it grows.

    A function of the pictures there are, rounded down to four binary digits of their number: the
    same for every process, and at most an eighth behind.
    """

    def __init__(self, views: Views) -> None:
        self._views, self._lock = views, threading.Lock()
        self._rows: dict[str, tuple[Any, NDArray[np.float32]]] = {}
        self._made: dict[str, tuple[Any, Any]] = {}
        self._sampled: tuple[int, int, list[int]] | None = None

    def rows(self, space: Space) -> NDArray[np.float32]:
        """A sample of the rows of a space, as they are compared."""
        with self._lock:
            return self._keyed(space)[1]

    def of(self, space: Space, make: Callable[[Any], Any]) -> Any:
        """What ``make`` gives of that sample."""
        with self._lock:
            key, rows = self._keyed(space)
            kept = self._made.get(space.name)
            if kept is None or kept[0] != key:
                kept = self._made[space.name] = (key, make(rows))
            return kept[1]

    def _keyed(self, space: Space) -> tuple[Any, NDArray[np.float32]]:
        ids = self._sample()
        key = (space.generation, tuple(ids))
        kept = self._rows.get(space.name)
        if kept is None or kept[0] != key:
            _, rows = dense_view(self._views, space).rows_of(ids)
            kept = self._rows[space.name] = (key, rows)
        return kept

    def _sample(self) -> list[int]:
        store = self._views.store
        n = store.n_images()
        zeros = max(n.bit_length() - _DIGITS, 0)
        rounded, revision = n >> zeros << zeros, store.revision
        kept = self._sampled
        if kept is None or kept[:2] != (revision, rounded):
            kept = self._sampled = revision, rounded, word_index.sample_ids(store, rounded, SAMPLE)
        return kept[2]


def dense_view(views: Views, space: Space) -> DenseView | EngineView:
    """What a search asks of a dense space."""
    view = views.asked(space.name)
    assert not isinstance(view, SparseView)
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
    return TextRow(
        np.asarray(made / (np.linalg.norm(made) or 1.0), np.float32), row.names, row.unsure
    )


class Part(NamedTuple):
    """One way to see what is meant: a row of a space, and its share of the say."""

    space: Space
    row: NDArray[np.float32]
    share: float
    found: Hits
    """What it finds, best first."""


def see(views: Views, space: Space, row: NDArray[np.float32], share: float, depth: int) -> Part:
    """A row of a space, with the first ``depth`` pictures it finds."""
    return Part(space, row, share, dense_view(views, space).search_row(row, depth))


def second_look(
    views: Views, space: Space, first: Sequence[int], apart: Set[int]
) -> NDArray[np.float32] | None:
    """The mean of a text's first answers as a query, asked again (``features.text.feedback``)."""
    view, row = dense_view(views, space), None
    for _ in range(ROUNDS):
        _, rows = view.rows_of(first)
        if not len(rows):
            return row
        row = np.asarray(mean_row(rows), np.float32)
        ids, _ = view.search_row(row, FIRST + len(apart))
        first = [image for image in ids.tolist() if image not in apart][:FIRST]
    return row


def look(views: Views, statistics: Statistics, parts: Sequence[Part]) -> tuple[Ids, Floats]:
    """Pictures that look as meant: ids, ascending, and values between 0 and 1.

    Every part nominates what it finds and scores what the others found.  Scores are
    standardised by a sample of the collection, so that those of two spaces can be added.
    """
    if not parts or not any(len(part.found[0]) for part in parts):
        return np.zeros(0, np.int64), np.zeros(0)
    ids = np.unique(np.concatenate([part.found[0] for part in parts]))
    total = np.zeros(len(ids))
    for part in parts:
        some, values = part.found
        mine = np.full(len(ids), np.nan)
        mine[np.searchsorted(ids, some)] = values
        lacking = ids[np.isnan(mine)]
        if len(lacking):
            have, rows = dense_view(views, part.space).rows_of(lacking.tolist())
            mine[np.searchsorted(ids, np.array(have, np.int64))] = _scores(part, rows)
        sample = _scores(part, statistics.rows(part.space))
        mean, deviation = (float(sample.mean()), float(sample.std())) if len(sample) else (0.0, 0.0)
        standard = (mine - mean) / (deviation if deviation > 0 else 1.0)
        # A picture without a row in this space is as far off as any.
        total += part.share * np.where(np.isnan(standard), np.nanmin(standard), standard)
    return ids, 1 / (1 + np.exp(-total / sum(part.share for part in parts)))


def _scores(part: Part, rows: NDArray[np.float32]) -> Floats:
    """Scores of rows, to the bit as the view has them."""
    metric: Metric = "l2" if metric_of(part.space) == "l2" else "ip"
    asked = comparable_rows(part.space, part.row[None])[0]
    return row_scores(rows, np.arange(len(rows)), asked, metric).astype(np.float64)


def weave(ids: Ids, values: Floats, own: Sequence[int]) -> Floats:
    """Values such that every fourth picture is the text's own next one, best values first.

    Where the first answers are wrong, all that look like them are wrong too; a person who likes one
    of the text's own is on the way again.
    """
    order = np.lexsort((ids, -values))
    best, there = ids[order], set(ids.tolist())
    first = interleaved(best[:WOVEN].tolist(), [image for image in own[:WOVEN] if image in there])
    head = np.array(first[:WOVEN], np.int64)
    woven = np.concatenate([head, best[~np.isin(best, head)]])
    made = np.empty(len(ids))
    made[np.searchsorted(ids, woven)] = values[order]
    return made


def reciprocal(ids: Sequence[int]) -> tuple[Ids, Floats]:
    """A ranking as values of at most 1, by reciprocal ranks; ids ascending."""
    some = np.array(ids, np.int64)
    order = np.argsort(some)
    values = (FUSION_RANK + 1) / (FUSION_RANK + 1 + np.arange(len(some), dtype=np.float64))
    return some[order], np.asarray(values[order], np.float64)


def mix(one: tuple[Ids, Floats], other: tuple[Ids, Floats], share: float) -> tuple[Ids, Floats]:
    """Two lists of values as one, the first with this share of the say."""
    ids = np.union1d(one[0], other[0])
    values = np.zeros(len(ids))
    values[np.searchsorted(ids, one[0])] += share * one[1]
    values[np.searchsorted(ids, other[0])] += (1 - share) * other[1]
    return ids, values
