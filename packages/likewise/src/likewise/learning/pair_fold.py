"""The fold of a profile in a dense space: the pairs of every judgement that stands.

The lessons are a set (``similarity/local_metric.py``): whatever was judged, taken back, rolled back
or merged in whatever order, the items that stand are all that counts.  So there is no checkpoint:
the codes of the log are the state, and bringing it up to date reads those of new items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import DamagedCollection
from likewise.learning.history import WEIGHTS, History, Item
from likewise.spaces.base import Space
from likewise_methods.evaluation import Spread
from likewise_methods.neighbours import DamagedFile, pack_arrays, unpack_arrays
from likewise_methods.spaces import Agreement, LocalMetric

NOTICED = 0.05
"""A direction that counts more or less by this share is one that changed."""
_CHUNK = 500
_LESSONS = "profile lessons"
_DIGITS = 4
"""Binary digits of the number of judgements that figures are made of."""


class PairFigures(NamedTuple):
    """How well judgements are told by the others, and the share of directions that changed."""

    agreement: Agreement | None
    changed: float
    gains: Spread = Spread()


class PairFold:
    """A metric and the items in it; ``made_in`` is what its codes belong to."""

    def __init__(self, made_in: tuple[int, int], metric: LocalMetric) -> None:
        self.made_in, self.metric = made_in, metric
        self._items: dict[int, Item] = {}
        self._digest = b""
        self._figures: tuple[tuple[int, ...], PairFigures] | None = None

    def update(self, store: Store, space: Space, history: History) -> None:
        """Bring the metric to the items that stand."""
        digest, n = history.digests[-1], len(self._items)
        if digest == self._digest:
            return
        if history.digests[n : n + 1] == [self._digest]:
            new = history.items[n:]  # the rest is as it was
        else:
            new = self._discard_gone({item.number: item for item in history.items})
        for start in range(0, len(new), _CHUNK):
            chunk = new[start : start + _CHUNK]
            subjects: set[int] = set().union(*(item.subjects() for item in chunk))
            codes = log_tables.codes(store, space.name, space.generation, subjects)
            for item in chunk:
                if item.kind == WEIGHTS:
                    self._add_imported(store, space, item.number)
                else:
                    add_lesson(self.metric, item, codes, space)
                self._items[item.number] = item
        self._digest = digest

    def _discard_gone(self, standing: Mapping[int, Item]) -> list[Item]:
        """Forget what stands no more; gives the items that are new."""
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
        return [item for number, item in standing.items() if number not in self._items]

    def _add_imported(self, store: Store, space: Space, number: int) -> None:
        blob = log_tables.imported_weights(store, number, space.name, space.generation)
        if blob is None:
            return
        given = ImportedLessons.unpack(blob)
        placed = space.place(given.rows)
        start = 0
        for liked, disliked in given.counts:
            rows = placed[start : start + 1 + liked + disliked]
            self.metric.add(number, rows[0], rows[1 : 1 + liked], rows[1 + liked :])
            start += len(rows)

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
            self._figures = orders, PairFigures(first.agreement(), changed, first.gains())
        return self._figures[1]


def round_down(n: int) -> int:
    """A number without all but its first binary digits: at most an eighth less.

    >>> [round_down(n) for n in (3, 15, 17, 63, 1000)]
    [3, 15, 16, 60, 960]
    """
    zeros = max(n.bit_length() - _DIGITS, 0)
    return n >> zeros << zeros


class ImportedLessons(NamedTuple):
    """Judgements that came in whole, as rows of the *source* of a space: they outlast its fits.

    Of each lesson the query, then what is alike, then what is not; ``counts`` are (lessons, 2).
    """

    rows: NDArray[np.float32]
    counts: NDArray[np.int64]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"rows": self.rows, "counts": self.counts}

    def pack(self) -> bytes:
        return pack_arrays(_LESSONS, {}, self.arrays())

    @classmethod
    def unpack(cls, blob: bytes) -> ImportedLessons:
        try:
            _, arrays = unpack_arrays(blob, _LESSONS)
            return cls(arrays["rows"], arrays["counts"])
        except (DamagedFile, KeyError) as error:
            raise DamagedCollection(f"in the catalog: {error}; restore a backup") from error

    def is_usable(self, width: int) -> bool:
        """Whether it can be taken in: shapes that fit together, and numbers that are numbers."""
        rows, counts = self
        return bool(
            rows.ndim == 2
            and rows.shape[1] == width
            and rows.dtype == np.float32
            and np.isfinite(rows).all()
            and counts.ndim == 2
            and counts.shape[1] == 2
            and counts.dtype.kind in "iu"
            # Each on its own first: their sum may be beyond 64 bits.
            and ((counts >= 0) & (counts <= len(rows))).all()
            and (counts.sum(axis=1) > 0).all()
            and int(counts.sum()) + len(counts) == len(rows)
            and rows.any(axis=1).all()
        )


def lessons_in_source(
    store: Store, space: Space, source: SpaceRow, items: Sequence[Item]
) -> ImportedLessons:
    """What items teach, as rows of the source of a space: what a file of a profile holds."""
    rows: list[NDArray[np.float32]] = [np.zeros((0, source.width), np.float32)]
    counts: list[tuple[int, int]] = []
    for start in range(0, len(items), _CHUNK):
        chunk = items[start : start + _CHUNK]
        subjects: set[int] = set().union(*(item.subjects() for item in chunk))
        codes = log_tables.codes(store, source.name, source.generation, subjects)
        for item in chunk:
            if item.kind == WEIGHTS:
                blob = log_tables.imported_weights(store, item.number, space.name, space.generation)
                given = None if blob is None else ImportedLessons.unpack(blob)
                if given is not None:
                    rows.append(given.rows)
                    counts += [(int(a), int(b)) for a, b in given.counts]
                continue
            taught = lesson_rows(item, codes, source)
            if taught is not None:
                rows.append(taught.rows)
                counts.append((taught.n_liked, len(taught.rows) - 1 - taught.n_liked))
    shaped = np.array(counts, np.int64).reshape(-1, 2)
    return ImportedLessons(np.concatenate(rows), shaped)


def _teach_alike(one: Item, other: Item) -> bool:
    """Whether two states of an item are the same lesson, whenever it was given."""
    return one is other or replace(one, at=0.0) == replace(other, at=0.0)


def lesson_codes(item: Item, codes: Mapping[int, bytes]) -> tuple[list[bytes], list[bytes]] | None:
    """Codes of what is alike and of what is not; None: no lesson.

    Pictures without a code are left out; codes are sorted, as subjects' numbers depend on what else
    was ever said.
    """
    if item.query not in codes and not item.typed:
        return None
    liked = sorted(codes[s] for s in item.liked if s in codes)
    # Liked pictures that have no code here must not turn the judgement into a mere dislike.
    if item.liked and not liked:
        return None
    disliked = sorted(codes[s] for s in item.disliked if s in codes)
    if not item.disliked and liked:
        # Passed over counts.  Drawn by chance does not: strangers teach pairs nothing but noise.
        passed_over = item.negatives if item.weight == 1.0 else ()
        disliked = sorted(codes[s] for s in passed_over if s in codes)
    return (liked, disliked) if liked or disliked else None


class LessonRows(NamedTuple):
    """A lesson as rows: the query, then ``n_liked`` that are alike, then those that are not."""

    rows: NDArray[np.float32]
    n_liked: int


def lesson_rows(item: Item, codes: Mapping[int, bytes], space: SpaceRow) -> LessonRows | None:
    """What an item teaches in a space; None: nothing.

    Typed words have no row.  The middle of what was liked under them is the query of the lesson: a
    function of the log alone, whatever model read the words, and exact in every generation.  One
    liked picture is itself that middle, and then only says what it is unlike.
    """
    taught = lesson_codes(item, codes)
    if taught is None:
        return None
    liked, disliked = taught
    if not item.typed:
        blobs = [codes[item.query], *liked, *disliked]
        return LessonRows(space.row_format.unpack(blobs, space.width), len(liked))
    if not liked or (len(liked) == 1 and not disliked):
        return None
    rows = space.row_format.unpack([*liked, *disliked], space.width)
    if len(liked) == 1:
        return LessonRows(rows, 0)
    middle = rows[: len(liked)].astype(np.float64).mean(axis=0).astype(np.float32)
    return LessonRows(np.concatenate([middle[None], rows]), len(liked)) if middle.any() else None


def add_lesson(metric: LocalMetric, item: Item, codes: Mapping[int, bytes], space: Space) -> None:
    """One judgement or comparison."""
    taught = lesson_rows(item, codes, space)
    if taught is None:
        return
    rows, n = taught
    metric.add(item.number, rows[0], rows[1 : 1 + n], rows[1 + n :], session=item.session)
