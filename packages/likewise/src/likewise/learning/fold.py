"""The fold: one profile's weights in one sparse space, judgement by judgement.

Everything a step needs is in the item and in the codes of its pictures, so the same items give
the same bits whenever and wherever they are folded.  After each judgement the weights it moved
are brought back within reach: no word further than ``JUDGEMENT_REACH`` from where the judgement
found it, nor further than ``SESSION_REACH`` from where the session did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.segments import unpack_sparse
from likewise.errors import DamagedCollection
from likewise.learning.history import WEIGHTS, Item
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

_STATE, _GIVEN = "profile state", "profile weights"
_STARTS = {"ones": 1.0, "zeros": 0.0}
# A checkpoint is only good for the constants it was folded with.
_RULE = [ETA, DELTA, MARGIN, L1, LIMIT, JUDGEMENT_REACH, SESSION_REACH]


class ImportedWeights:
    """Weights that came in whole: those of ``words``; all others keep ``start``."""

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
    """The state after some items: a learner, the session it is in, and how often it was right."""

    def __init__(self, width: int, start: str = "ones") -> None:
        self.n_items = 0
        self.session = 0
        self.agreed = self.agreed_plain = self.asked = 0
        self.gains = Spread()
        self._start = start
        self._learner = _begin_learner(width, start)
        self._before: NDArray[np.float64] = self._learner.weights_

    @property
    def weights(self) -> NDArray[np.float64]:
        """One number a word; read-only, and never changed by what is folded later."""
        return self._learner.weights_

    @property
    def learner(self) -> SOLIS:
        return self._learner

    @property
    def start_weight(self) -> float:
        """The weight of a word nothing was said about, as a number."""
        return _STARTS[self._start]

    @property
    def start(self) -> str:
        """What words weigh that nothing was said about: ``ones``; ``zeros`` in a sparse profile."""
        return self._start

    def fold(
        self,
        item: Item,
        codes: Mapping[int, bytes],
        given: Callable[[int], bytes | None],
    ) -> None:
        """Take in one item.  Pictures without a code in this space are left out."""
        self.n_items += 1
        if item.kind == WEIGHTS:
            blob = given(item.number)
            if blob is not None:
                self._take_over(ImportedWeights.unpack(blob))
            return
        triplets, order = plan_triplets(item, codes)
        if not len(triplets):
            return
        width = self._learner.n_features_in_
        X = unpack_sparse([codes[subject] for subject in order], width)
        if item.session != self.session:
            self.session = item.session
            self._before = self._learner.weights_
        words, local = np.unique(X.indices, return_inverse=True)
        found = self._learner.weights_of(words)
        self._count_agreement(X, words, local, found, triplets)
        self._learner.partial_fit(*lesson(X, triplets, item.weight))
        self._limit_change(words, found)

    def _take_over(self, given: ImportedWeights) -> None:
        width = self._learner.n_features_in_
        if given.start not in _STARTS or (len(given.words) and given.words.max() >= width):
            raise DamagedCollection("weights in the log do not fit their space; restore a backup")
        self._start = given.start
        self._learner = _begin_learner(width, given.start)
        self._learner.assign(given.words, given.weights)
        self._before = self._learner.weights_

    def _count_agreement(self, X: Any, words: Any, local: Any, weights: Any, triplets: Any) -> None:
        """Ask before learning: how many of the triplets were right already, and plainly."""
        rows = sparse.csr_array((X.data, local, X.indptr), shape=(X.shape[0], len(words)))
        query = np.zeros(len(words))
        query[local[: X.indptr[1]]] = X.data[: X.indptr[1]]
        right = []
        for by in (weights, 1.0):
            scores = rows @ (query * by)
            right.append(int(np.sum(scores[triplets[:, 1]] > scores[triplets[:, 2]])))
        self.agreed += right[0]
        self.agreed_plain += right[1]
        self.asked += len(triplets)
        self.gains = self.gains.add((right[0] - right[1]) / len(triplets))

    def _limit_change(self, words: Any, found: Any) -> None:
        """Bring weights back within reach of where judgement and session found them."""
        now = self._learner.weights_of(words)
        start = self._before[words]
        held = within_reach(now, found, start)
        far = held != now
        if far.any():
            self._learner.assign(words[far], held[far])

    # -- checkpoints ------------------------------------------------------------------------

    def pack(self) -> bytes:
        """The exact state as a blob; only touched words take space."""
        meta, arrays = self._learner.state()
        words = arrays["words"]
        return pack_arrays(
            _STATE,
            {
                **meta, "start": self._start, "n_items": self.n_items, "session": self.session,
                "rule": _RULE,
                "agreed": [self.agreed, self.agreed_plain, self.asked],
                "gains": list(self.gains),
            },
            {**arrays, "before": self._before[words]},
        )  # fmt: skip

    @classmethod
    def unpack(cls, blob: bytes) -> ProfileState:
        meta, arrays = _unpack_blob(blob, _STATE)
        if meta.get("rule") != _RULE or "gains" not in meta:
            raise DamagedCollection("a checkpoint of an older rule; fold from the log instead")
        made = cls(int(meta["width"]), str(meta["start"]))
        made._learner.restore(meta, arrays)
        made.n_items, made.session = int(meta["n_items"]), int(meta["session"])
        made.agreed, made.agreed_plain, made.asked = (int(n) for n in meta["agreed"])
        n, total, squares = meta["gains"]
        made.gains = Spread(int(n), float(total), float(squares))
        before = made._before.copy()
        before[arrays["words"]] = arrays["before"]
        made._before = before
        return made


def plan_triplets(item: Item, codes: Mapping[int, bytes]) -> tuple[NDArray[np.int64], list[int]]:
    """Triplets over rows, and the subjects of those rows: query, liked, negatives."""
    nothing = np.zeros((0, 3), np.int64)
    if item.query not in codes:
        return nothing, []
    liked = [s for s in item.liked if s in codes]
    negatives = [s for s in item.disliked if s in codes]
    if not item.disliked and liked:
        negatives = [s for s in item.negatives if s in codes]
    # Order and seed come from what the pictures are, not from their numbers: those depend on
    # what else was ever said, and undone.
    liked.sort(key=codes.__getitem__)
    negatives.sort(key=codes.__getitem__)
    # Liked pictures that have no code here must not turn the judgement into a mere dislike.
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
