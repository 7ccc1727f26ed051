"""Make a sparse profile, in which most words weigh nothing, and a smaller index for it.

Its weights are learned from zero over the judgements of another profile, and logged as a whole.
Its compacted segments give the same scores as the full index, which stays for other searches.  A
word that gains weight later is scored from the rows until the next compaction.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog import segments as seg
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.segments import unpack_sparse
from likewise.catalog.store import SpaceRow, Store
from likewise.learning.fold import ImportedWeights, ProfileState, item_codes, plan_triplets
from likewise.learning.history import WEIGHTS, Item
from likewise.learning.profile_states import ProfileStates
from likewise.search.reranker import apply_weights
from likewise.search.sparse_view import SparseView
from likewise.search.views import Views
from likewise.spaces import rows as space_rows
from likewise_methods.durable_files import rename_whole
from likewise_methods.solis import SOLIS

ENOUGH = 200
"""Triplets a sparse profile needs at least, since it starts from nothing."""
HELD_OUT = 0.2
"""Share of the judgements, the newest, that test a sparse profile."""
_PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""Multiples of the measured l1, most sparse first."""
_TIMED_QUERIES = 50


@dataclass(frozen=True)
class SparseOutcome:
    """Whether a sparse profile was made, and the figures that decided it.

    Attributes
    ----------
    made : bool
        Whether it was.
    reason : str
        Why, or why not.
    n_triplets : int
        What it was learned from.
    agreement, agreement_before : float or None
        Share of held-out triplets that are right with it, and with its source profile.
    kept_words : int
        Words whose weight is not zero.
    width : int
        All words.

    See Also
    --------
    likewise_methods.solis.tune : chooses its penalty.
    Compaction : the smaller index it allows.
    """

    made: bool
    reason: str
    n_triplets: int
    agreement: float | None = None
    agreement_before: float | None = None
    kept_words: int = 0
    width: int = 0


@dataclass(frozen=True)
class Compaction:
    """What compaction changed.

    Attributes
    ----------
    bytes_before, bytes_after : int
        Of the lists.
    postings_before, postings_after : int
        In them.
    ms_before, ms_after : float
        CPU ms of a search.

    See Also
    --------
    likewise_methods.index.InvertedIndex : the lists.
    """

    bytes_before: int
    bytes_after: int
    postings_before: int
    postings_after: int
    ms_before: float
    ms_after: float


def learn_sparse(
    store: Store, states: ProfileStates, profile: str, space: SpaceRow, cost: Any, report: Report
) -> tuple[SparseOutcome, ImportedWeights | None]:
    """Learn sparse weights from zero, if they agree no less often than the profile.

    The newest fifth of the judgements is held out.  Of the weights learned from the others, the
    sparsest that are right about it as often as the profile (learned from the same others) are
    learned once more from all.  Imported weights count for the profile, but are not copied.
    """
    with states.lock:
        every = list(states.history(profile).items)
    items = [item for item in every if item.kind != WEIGHTS]
    data = _training_set(store, space, items)
    n = len(data.triplets)
    if n < ENOUGH:
        reason = f"{n} triplets so far; {ENOUGH} are needed before a sparse profile is worth it"
        return SparseOutcome(False, reason, n), None
    cut = int(len(items) * (1 - HELD_OUT))
    known, tested = data.item < cut, data.item >= cut
    if not known.any() or not tested.any():
        return SparseOutcome(False, "one judgement alone cannot be held out", n), None
    before = ProfileState(space.width)
    codes = item_codes(store, space, items)
    for item in every[: every.index(items[cut])]:
        before.fold(
            item,
            codes,
            lambda n: log_tables.imported_weights(store, n, space.name, space.generation),
        )
    agreement_before = float(np.mean(_margins(data, before.weights, tested) > 0))
    for done, times in enumerate(_PENALTIES):
        report(Progress("learning sparse weights", done, len(_PENALTIES)))
        made = _fit(data, known, cost, times)
        agreement = float(np.mean(_margins(data, made.weights_, tested) > 0))
        if agreement >= agreement_before:
            final = _fit(data, np.ones(n, bool), cost, times)
            words = np.flatnonzero(final.weights_)
            # The scale matters to later judgements: a word weighs 1 on average.
            weights = final.weights_[words] / max(final.weights_[words].mean(), 1e-300)
            outcome = SparseOutcome(
                True, "agrees no less than the profile on held-out judgements", n, agreement,
                agreement_before, len(words), space.width,
            )  # fmt: skip
            return outcome, ImportedWeights("zeros", words, weights)
    reason = "no sparse weights agree as often as the profile on held-out judgements"
    return SparseOutcome(False, reason, n, agreement, agreement_before, 0, space.width), None


@dataclass(frozen=True)
class _TrainingSet:
    """All triplets of some items over one matrix; ``item`` is the index of each one's item."""

    X: Any
    triplets: NDArray[np.int64]
    weight: NDArray[np.float64]
    item: NDArray[np.int64]


def _training_set(store: Store, space: SpaceRow, items: Sequence[Item]) -> _TrainingSet:
    codes = item_codes(store, space, items)
    place = {subject: row for row, subject in enumerate(codes)}
    X = unpack_sparse(list(codes.values()), space.width)
    parts, weights, numbers = [np.zeros((0, 3), np.int64)], [np.zeros(0)], [np.zeros(0, np.int64)]
    for number, item in enumerate(items):
        triplets, order = plan_triplets(item, codes)
        if len(triplets):
            parts.append(np.array([place[subject] for subject in order])[triplets])
            weights.append(np.full(len(triplets), item.weight))
            numbers.append(np.full(len(triplets), number))
    return _TrainingSet(X, np.concatenate(parts), np.concatenate(weights), np.concatenate(numbers))


def _fit(data: _TrainingSet, known: NDArray[np.bool_], cost: Any, times: float) -> SOLIS:
    triplets, weight = data.triplets[known], data.weight[known]
    options = {"nonnegative": True, "word_cost": cost}
    scales = SOLIS("ada", **options).fit(data.X, triplets, weight).scales_
    return SOLIS(
        "ada", l1=times * scales["l1"], eta=scales["eta"], delta=scales["delta"], **options
    ).fit(data.X, triplets, weight)


def _margins(data: _TrainingSet, weights: Any, which: NDArray[np.bool_]) -> Any:
    """Return how much nearer the nearer picture of each triplet is."""
    anchors, nearer, farther = data.triplets[which].T
    X = data.X.astype(np.float64)
    Q = X[anchors].multiply(weights[None, :]).tocsr()
    return np.asarray(Q.multiply(X[nearer] - X[farther]).sum(axis=1)).ravel()


def posting_costs(frequency: Iterable[int]) -> Any:
    """Return postings of each word over their mean, which put the penalty on costly words."""
    counts = np.maximum(np.asarray(frequency, np.float64), 1.0)
    return counts / counts.mean()


def compact(
    views: Views, profile: str, space: SpaceRow, weights: Any, report: Report
) -> Compaction:
    """Write a copy of every segment with the weighted words only, then name them in the catalog."""
    root = views.store.root
    while space_rows.seal_segment(views.store, space.name, at_least=1):
        pass
    full = views.view(space.name)
    assert isinstance(full, SparseView)
    made = []
    segments = views.store.segments(space.name, space.generation)
    mark = hashlib.blake2b(profile.encode(), digest_size=4).hexdigest()
    for done, row in enumerate(segments, 1):
        index = seg.open_index(root, row.name)
        index.compact(weights)
        name = f"{row.name}~{mark}-{time.time_ns():x}"
        part = root / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        index.save(part)
        rename_whole(part, root / name)
        made.append((row.name, name, seg.size_of(root / name)))
        report(Progress("compacting segments", done, len(segments)))
    with views.store.write(durable=True) as c:
        log_tables.drop_compacted(c, profile)
        for segment, name, n_bytes in made:
            log_tables.put_compacted(c, segment, profile, name, n_bytes)
    small = views.view(space.name, profile)
    assert isinstance(small, SparseView)
    before, after = full.index.stats(), small.index.stats()
    return Compaction(
        before.list_bytes, after.list_bytes, before.postings, after.postings,
        _milliseconds(full, full, weights), _milliseconds(small, full, weights),
    )  # fmt: skip


def _milliseconds(view: SparseView, full: SparseView, weights: Any) -> float:
    """Return the median CPU time of a search with the profile's weights; 0 without pictures."""
    ids = full.index.ids
    if not len(ids):
        return 0.0
    step = max(1, len(ids) // _TIMED_QUERIES)
    chosen = ids[::step][:_TIMED_QUERIES]
    queries = [apply_weights(full.index.rows([int(i)]), weights) for i in chosen]
    taken = []
    for query in (queries[0], *queries):
        start = time.process_time()
        view.search_row(query, 20)
        taken.append(time.process_time() - start)
    return 1000.0 * float(np.median(taken[1:]))
