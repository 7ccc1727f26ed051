"""Learn from the items of a history: weights in a sparse space, a metric in a dense one.

A sparse space folds items in order (:class:`ProfileState`).  A step needs only the item and the
codes of its pictures, so the same items always give the same bits.  After each judgement its
changes of weights are limited: at most ``JUDGEMENT_REACH`` from the value before it, and at most
``SESSION_REACH`` from the value before its session.

In a dense space the training pairs are a set (:class:`PairFold`): only the items in effect count,
in whatever order they were judged, undone or merged, so there are no checkpoints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.segments import unpack_sparse
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import DamagedCollection
from likewise.learning.history import WEIGHTS, History, Item
from likewise.spaces.base import Space
from likewise_methods.evaluation import Spread
from likewise_methods.lazy_imports import sparse
from likewise_methods.neighbours import DamagedFile, pack_arrays, unpack_arrays
from likewise_methods.solis import (
    DELTA,
    ETA,
    JUDGEMENT_REACH,
    L1,
    LIMIT,
    MARGIN,
    SESSION_REACH,
    SOLIS,
    judgement_triplets,
    lesson,
    profile_learner,
    within_reach,
)
from likewise_methods.spaces import Agreement, LocalMetric

NOTICED = 0.05
"""A direction whose weight changed by at least this share counts as changed."""
CHUNK = 500
"""Items whose codes are read at once."""
_DIGITS = 4
"""Binary digits of the number of judgements that figures are computed from."""
_STATE, _GIVEN, _PAIRS = "profile state", "profile weights", "profile lessons"
_STARTS = {"ones": 1.0, "zeros": 0.0}
# A checkpoint is valid only for the constants it was folded with.
_RULE = [ETA, DELTA, MARGIN, L1, LIMIT, JUDGEMENT_REACH, SESSION_REACH]


class ImportedWeights:
    """Imported weights: those of ``words``; all other words have ``start``."""

    def __init__(self, start: str, words: Any, weights: Any) -> None:
        self.start = start
        self.words = np.asarray(words, np.int64)
        self.weights = np.asarray(weights, np.float64)

    def pack(self) -> bytes:
        arrays = {"words": self.words, "weights": self.weights}
        return pack_arrays(_GIVEN, {"start": self.start}, arrays)

    @classmethod
    def unpack(cls, blob: bytes) -> ImportedWeights:
        meta, arrays = _unpack_blob(blob, _GIVEN)
        return cls(str(meta["start"]), arrays["words"], arrays["weights"])


class ProfileState:
    """The weights learned from some items in a sparse space, and how often they predicted right."""

    def __init__(self, width: int, start: str = "ones") -> None:
        self.n_items = 0
        self.session = 0
        self.agreed = self.agreed_plain = self.tested = 0
        self.gains = Spread()
        self._start = start
        self._learner = _begin_learner(width, start)
        self._before_session: NDArray[np.float64] = self._learner.weights_

    @property
    def weights(self) -> NDArray[np.float64]:
        """One number per word; read-only, and never changed by later folds."""
        return self._learner.weights_

    @property
    def learner(self) -> SOLIS:
        return self._learner

    @property
    def start_weight(self) -> float:
        """The weight of a word without learned weight."""
        return _STARTS[self._start]

    @property
    def start(self) -> str:
        """The name of that weight: ``ones``, or ``zeros`` in a sparse profile."""
        return self._start

    def fold(
        self,
        item: Item,
        codes: Mapping[int, bytes],
        read_imported: Callable[[int], bytes | None],
    ) -> None:
        """Learn one item; pictures without a code in this space are left out."""
        self.n_items += 1
        if item.kind == WEIGHTS:
            blob = read_imported(item.number)
            if blob is not None:
                self._import_weights(ImportedWeights.unpack(blob))
            return
        triplets, order = plan_triplets(item, codes)
        if not len(triplets):
            return
        width = self._learner.n_features_in_
        X = unpack_sparse([codes[subject] for subject in order], width)
        if item.session != self.session:
            self.session = item.session
            self._before_session = self._learner.weights_
        words, local = np.unique(X.indices, return_inverse=True)
        before = self._learner.weights_of(words)
        self._count_agreement(X, words, local, before, triplets)
        self._learner.partial_fit(*lesson(X, triplets, item.weight))
        self._limit_change(words, before)

    def _import_weights(self, given: ImportedWeights) -> None:
        width = self._learner.n_features_in_
        if given.start not in _STARTS or (len(given.words) and given.words.max() >= width):
            raise DamagedCollection("weights in the log do not fit their space; restore a backup")
        self._start = given.start
        self._learner = _begin_learner(width, given.start)
        self._learner.assign(given.words, given.weights)
        self._before_session = self._learner.weights_

    def _count_agreement(self, X: Any, words: Any, local: Any, weights: Any, triplets: Any) -> None:
        """Count the triplets that are right before learning them, with and without weights."""
        rows = sparse.csr_array((X.data, local, X.indptr), shape=(X.shape[0], len(words)))
        query = np.zeros(len(words))
        query[local[: X.indptr[1]]] = X.data[: X.indptr[1]]
        right = []
        for by in (weights, 1.0):
            scores = rows @ (query * by)
            right.append(int(np.sum(scores[triplets[:, 1]] > scores[triplets[:, 2]])))
        self.agreed += right[0]
        self.agreed_plain += right[1]
        self.tested += len(triplets)
        self.gains = self.gains.add((right[0] - right[1]) / len(triplets))

    def _limit_change(self, words: Any, before: Any) -> None:
        """Limit how far a judgement and its session moved the weights."""
        now = self._learner.weights_of(words)
        limited = within_reach(now, before, self._before_session[words])
        changed = limited != now
        if changed.any():
            self._learner.assign(words[changed], limited[changed])

    # -- checkpoints ------------------------------------------------------------------------

    def pack(self) -> bytes:
        """Return the exact state as a blob of the words that changed."""
        meta, arrays = self._learner.state()
        words = arrays["words"]
        return pack_arrays(
            _STATE,
            {
                **meta, "start": self._start, "n_items": self.n_items, "session": self.session,
                "rule": _RULE,
                "agreed": [self.agreed, self.agreed_plain, self.tested],
                "gains": list(self.gains),
            },
            {**arrays, "before": self._before_session[words]},
        )  # fmt: skip

    @classmethod
    def unpack(cls, blob: bytes) -> ProfileState:
        meta, arrays = _unpack_blob(blob, _STATE)
        if meta.get("rule") != _RULE or "gains" not in meta:
            raise DamagedCollection("a checkpoint of an older rule; fold from the log instead")
        made = cls(int(meta["width"]), str(meta["start"]))
        made._learner.restore(meta, arrays)
        made.n_items, made.session = int(meta["n_items"]), int(meta["session"])
        made.agreed, made.agreed_plain, made.tested = (int(n) for n in meta["agreed"])
        n, total, squares = meta["gains"]
        made.gains = Spread(int(n), float(total), float(squares))
        before = made._before_session.copy()
        before[arrays["words"]] = arrays["before"]
        made._before_session = before
        return made


def plan_triplets(item: Item, codes: Mapping[int, bytes]) -> tuple[NDArray[np.int64], list[int]]:
    """Return triplets over rows, and the subjects of those rows: query, liked, negatives."""
    nothing = np.zeros((0, 3), np.int64)
    if item.query not in codes:
        return nothing, []
    liked = [s for s in item.liked if s in codes]
    negatives = [s for s in item.disliked if s in codes]
    if not item.disliked and liked:
        negatives = [s for s in item.negatives if s in codes]
    # Order and seed depend on codes, not on subject numbers, which depend on the whole log.
    liked.sort(key=codes.__getitem__)
    negatives.sort(key=codes.__getitem__)
    # If liked pictures lack a code, the judgement must not become a dislike only.
    if not negatives or (item.liked and not liked):
        return nothing, []
    order = [item.query, *liked, *negatives]
    content = hashlib.blake2b(b"".join(codes[s] for s in order), digest_size=8).digest()
    seed = int.from_bytes(content, "little")
    return judgement_triplets(len(liked), len(negatives), seed=seed), order


def _begin_learner(width: int, start: str) -> SOLIS:
    learner = profile_learner()
    learner.start = start
    return learner.begin(width)


def _unpack_blob(blob: bytes, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        return unpack_arrays(blob, kind)
    except DamagedFile as error:
        raise DamagedCollection(f"in the catalog: {error}; restore a backup") from error


# -- dense spaces ---------------------------------------------------------------------------


class PairFigures(NamedTuple):
    """How well held-out judgements are predicted, and the share of directions that changed."""

    agreement: Agreement | None
    changed: float
    gains: Spread = Spread()


class PairFold:
    """A metric learned from pairs, and the items in it; ``codes_version`` as in ProfileStates."""

    def __init__(self, codes_version: tuple[int, int], metric: LocalMetric) -> None:
        self.codes_version, self.metric = codes_version, metric
        self._items: dict[int, Item] = {}
        self._digest = b""
        self._figures: tuple[tuple[int, ...], PairFigures] | None = None

    def update(self, store: Store, space: Space, history: History) -> None:
        """Add the new items of a history to the metric, and discard those that no longer count."""
        digest, n = history.digests[-1], len(self._items)
        if digest == self._digest:
            return
        if history.digests[n : n + 1] == [self._digest]:
            new = history.items[n:]
        else:
            new = self._discard_gone({item.number: item for item in history.items})
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            codes = item_codes(store, space, chunk)
            for item in chunk:
                if item.kind == WEIGHTS:
                    self._add_imported(store, space, item.number)
                elif (found := training_rows(item, codes, space)) is not None:
                    rows, liked = found
                    self.metric.add(
                        item.number, rows[0], rows[1 : 1 + liked], rows[1 + liked :],
                        session=item.session,
                    )  # fmt: skip
                self._items[item.number] = item
        self._digest = digest

    def _discard_gone(self, active: Mapping[int, Item]) -> list[Item]:
        """Discard items that changed or no longer count; return the items to add."""
        gone = [
            number
            for number, item in self._items.items()
            if number not in active or not _teach_the_same(active[number], item)
        ]
        self.metric.discard(gone)
        if gone:
            self._figures = None
        for number in gone:
            del self._items[number]
        return [item for number, item in active.items() if number not in self._items]

    def _add_imported(self, store: Store, space: Space, number: int) -> None:
        blob = log_tables.imported_weights(store, number, space.name, space.generation)
        if blob is None:
            return
        given = ImportedPairs.unpack(blob)
        placed = space.place(given.rows)
        start = 0
        for liked, disliked in given.counts:
            rows = placed[start : start + 1 + liked + disliked]
            self.metric.add(number, rows[0], rows[1 : 1 + liked], rows[1 + liked :])
            start += len(rows)

    def figures(self) -> PairFigures:
        """Return figures over nearly all judgements, the first in time.

        They cost about a hundred searches, so they are computed again only after some more
        judgements; their number depends on the judgements alone.
        """
        n = round_down(len(self.metric))
        orders = tuple(one.order for one in self.metric.lessons[:n])
        if self._figures is None or self._figures[0] != orders:
            first = self.metric.first(n)
            values = np.linalg.eigvalsh(first.overall())
            changed = float(np.mean(np.abs(values - 1) > NOTICED))
            self._figures = orders, PairFigures(first.agreement(), changed, first.gains())
        return self._figures[1]


def _teach_the_same(one: Item, other: Item) -> bool:
    """Return whether two versions of an item differ only in their time."""
    return one is other or replace(one, at=0.0) == replace(other, at=0.0)


def round_down(n: int) -> int:
    """Round a number down to its first binary digits: at most an eighth less.

    >>> [round_down(n) for n in (3, 15, 17, 63, 1000)]
    [3, 15, 16, 60, 960]
    """
    zeros = max(n.bit_length() - _DIGITS, 0)
    return n >> zeros << zeros


class ImportedPairs(NamedTuple):
    """Imported judgements, as rows of the *source* space, which stay valid when it is fitted again.

    The rows of each are the query, the similar and the dissimilar ones; ``counts`` has one row per
    judgement: (similar, dissimilar).
    """

    rows: NDArray[np.float32]
    counts: NDArray[np.int64]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"rows": self.rows, "counts": self.counts}

    def pack(self) -> bytes:
        return pack_arrays(_PAIRS, {}, self.arrays())

    @classmethod
    def unpack(cls, blob: bytes) -> ImportedPairs:
        _, arrays = _unpack_blob(blob, _PAIRS)
        try:
            return cls(arrays["rows"], arrays["counts"])
        except KeyError as error:
            raise DamagedCollection(f"in the catalog: {error}; restore a backup") from error

    def is_usable(self, width: int) -> bool:
        """Return whether shapes fit together and all numbers are finite."""
        rows, counts = self
        return bool(
            rows.ndim == 2
            and rows.shape[1] == width
            and rows.dtype == np.float32
            and np.isfinite(rows).all()
            and counts.ndim == 2
            and counts.shape[1] == 2
            and counts.dtype.kind in "iu"
            # Check each count first, because their sum may overflow 64 bits.
            and ((counts >= 0) & (counts <= len(rows))).all()
            and (counts.sum(axis=1) > 0).all()
            and int(counts.sum()) + len(counts) == len(rows)
            and rows.any(axis=1).all()
        )


def item_codes(store: Store, space: SpaceRow, items: Sequence[Item]) -> dict[int, bytes]:
    """Return the codes of every subject of some items."""
    subjects: set[int] = set().union(*(item.subjects() for item in items))
    return log_tables.codes(store, space.name, space.generation, subjects)


class TrainingRows(NamedTuple):
    """The training rows of an item: the query, ``n_liked`` similar ones, then dissimilar ones."""

    rows: NDArray[np.float32]
    n_liked: int


def training_rows(item: Item, codes: Mapping[int, bytes], space: SpaceRow) -> TrainingRows | None:
    """Return the training rows of an item in a space; None if there are none.

    A typed text has no row, so the mean of the liked pictures is the query: a function of the log
    alone, whatever model read the text.  A single liked picture is itself that mean, so only its
    dissimilar pictures are learned.  Rows are sorted by their codes.
    """
    if item.query not in codes and not item.typed:
        return None
    liked = sorted(codes[s] for s in item.liked if s in codes)
    # Liked pictures without a code must not turn the judgement into a mere dislike.
    if item.liked and not liked:
        return None
    disliked = sorted(codes[s] for s in item.disliked if s in codes)
    if not item.disliked and liked and item.weight == 1.0:
        # Pictures shown and not chosen count; pictures drawn at random would only add noise.
        disliked = sorted(codes[s] for s in item.negatives if s in codes)
    if not liked and not disliked:
        return None
    unpack = space.row_format.unpack
    if not item.typed:
        return TrainingRows(unpack([codes[item.query], *liked, *disliked], space.width), len(liked))
    if not liked or (len(liked) == 1 and not disliked):
        return None
    rows = unpack([*liked, *disliked], space.width)
    if len(liked) == 1:
        return TrainingRows(rows, 0)
    mean = rows[: len(liked)].astype(np.float64).mean(axis=0).astype(np.float32)
    return TrainingRows(np.concatenate([mean[None], rows]), len(liked)) if mean.any() else None
