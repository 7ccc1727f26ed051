"""ProfileStates from more than clicks: triplets from a file, labels, the whole log at once.

All of it goes through the log, the only source of learning.  A sparse profile is the exception
that proves it: its weights are learned in one go from the lessons of another profile, and come
into its own log whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.segments import unpack_sparse
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError, InvalidInput
from likewise.learning.fold import ImportedWeights, ProfileState, plan_triplets
from likewise.learning.history import WEIGHTS, Item
from likewise.learning.judge import commit_comparisons
from likewise.learning.profile_states import ProfileStates
from likewise.search.views import Views
from likewise_methods.solis import SOLIS, triplets_from_labels

_CHUNK = 200
ENOUGH = 200
"""Triplets a sparse profile wants at least: it knows nothing but what they say."""
HELD_OUT = 0.2
"""Share of the lessons, the newest, that a sparse profile is judged by and not taught."""
_PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""Multiples of the measured l1, most sparse first."""


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
        Share of triplets held back that are right with it, and with the profile it comes from.
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


def learn_triplets(
    views: Views,
    triplets: Sequence[tuple[int, int, int]],
    profile: str,
    source: str,
    report: Report,
    person: str | None = None,
) -> int:
    """Comparisons into the log, some hundred at a time; gives how many."""
    for row in triplets:
        if len(set(row)) != 3:
            raise InvalidInput(f"{row} names a picture twice; three different ones expected")
    for start in range(0, len(triplets), _CHUNK):
        chunk = triplets[start : start + _CHUNK]
        commit_comparisons(views, chunk, profile, source, person)
        report(Progress("writing comparisons", start + len(chunk), len(triplets)))
    return len(triplets)


def label_pictures(store: Store, labels: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """(ids, labels) of the pictures that have one: their folder's name, or their one tag."""
    found: dict[int, str] = {}
    if labels == "folders":
        for row in store.every_image():
            if row.path:
                found[row.id] = os.path.basename(os.path.dirname(row.path))
    elif labels == "tags":
        for row in store.every_image():
            tags = store.tags_of(row.id)
            if len(tags) == 1:
                found[row.id] = tags[0][0]
    else:
        raise InvalidInput(f'labels is {labels!r}; "folders" or "tags" expected')
    names, counts = np.unique(list(found.values()), return_counts=True)
    if len(names) < 2 or counts.max(initial=0) < 2:
        raise CollectionError(
            f"by their {labels} there are {len(names)} kind(s) of pictures; two are needed, and "
            "two pictures of one of them"
        )
    return np.array(list(found), np.int64), np.array(list(found.values()))


def draw_triplets(
    ids: NDArray[np.int64], labels: NDArray[Any], n: int, seed: int
) -> list[tuple[int, int, int]]:
    """Triplets at random: two of one label, one of another."""
    rows = triplets_from_labels(labels, n, random_state=seed)
    return [(int(ids[a]), int(ids[b]), int(ids[c])) for a, b, c in rows]


def learn_sparse(
    store: Store, states: ProfileStates, profile: str, space: SpaceRow, cost: Any, report: Report
) -> tuple[SparseOutcome, ImportedWeights | None]:
    """Weights from zero, with a penalty where postings are, if they agree no less.

    The newest fifth of the lessons decides: the most sparse weights learned from the others that
    are right about it as often as the profile is (which gets the same others).  Then all lessons
    count.  Weights the profile was given whole count for what it is compared with; as they are no
    lessons, a sparse profile does not take them over.
    """
    with states.lock:
        every = list(states.history(profile).items)
    items = [item for item in every if item.kind != WEIGHTS]
    whole = _lessons(store, space, items)
    n = len(whole.triplets)
    if n < ENOUGH:
        reason = f"{n} triplets so far; {ENOUGH} are needed before a sparse profile is worth it"
        return SparseOutcome(False, reason, n), None
    cut = int(len(items) * (1 - HELD_OUT))
    known, asked = whole.item < cut, whole.item >= cut
    if not known.any() or not asked.any():
        return SparseOutcome(False, "one judgement alone cannot be held out", n), None
    before = ProfileState(space.width)
    codes = log_tables.codes(store, space.name, space.generation, whole.subjects)
    for item in every[: every.index(items[cut])]:
        before.fold(
            item,
            codes,
            lambda n: log_tables.imported_weights(store, n, space.name, space.generation),
        )
    margins = _margins(whole, before.weights, asked)
    agreement_before = float(np.mean(margins > 0))
    for done, times in enumerate(_PENALTIES):
        report(Progress("learning sparse weights", done, len(_PENALTIES)))
        made = _fit(whole, known, cost, times)
        agreement = float(np.mean(_margins(whole, made.weights_, asked) > 0))
        if agreement >= agreement_before:
            final = _fit(whole, np.ones(n, bool), cost, times)
            words = np.flatnonzero(final.weights_)
            # Ranking does not know their scale; later judgements do: a word weighs 1 on average.
            weights = final.weights_[words] / max(final.weights_[words].mean(), 1e-300)
            outcome = SparseOutcome(
                True, "agrees no less than the profile on lessons held out", n, agreement,
                agreement_before, len(words), space.width,
            )  # fmt: skip
            return outcome, ImportedWeights("zeros", words, weights)
    reason = "no sparse weights agree as often as the profile on lessons held out"
    return SparseOutcome(False, reason, n, agreement, agreement_before, 0, space.width), None


@dataclass(frozen=True)
class _Lessons:
    """All triplets of some items over one matrix; ``item`` says which item each came from."""

    subjects: list[int]
    X: Any
    triplets: NDArray[np.int64]
    weight: NDArray[np.float64]
    item: NDArray[np.int64]


def _lessons(store: Store, space: SpaceRow, items: Sequence[Item]) -> _Lessons:
    subjects: set[int] = set().union(*(item.subjects() for item in items))
    codes = log_tables.codes(store, space.name, space.generation, subjects)
    place = {subject: row for row, subject in enumerate(codes)}
    X = unpack_sparse(list(codes.values()), space.width)
    parts, weights, numbers = [np.zeros((0, 3), np.int64)], [np.zeros(0)], [np.zeros(0, np.int64)]
    for number, item in enumerate(items):
        triplets, order = plan_triplets(item, codes)
        if len(triplets):
            parts.append(np.array([place[subject] for subject in order])[triplets])
            weights.append(np.full(len(triplets), item.weight))
            numbers.append(np.full(len(triplets), number))
    return _Lessons(
        list(codes), X, np.concatenate(parts), np.concatenate(weights), np.concatenate(numbers)
    )


def _fit(lessons: _Lessons, known: NDArray[np.bool_], cost: Any, times: float) -> SOLIS:
    triplets, weight = lessons.triplets[known], lessons.weight[known]
    options: Mapping[str, Any] = {"nonnegative": True, "word_cost": cost}
    probe = SOLIS("ada", **options).fit(lessons.X, triplets, weight)
    scales = probe.scales_
    return SOLIS(
        "ada", l1=times * scales["l1"], eta=scales["eta"], delta=scales["delta"], **options
    ).fit(lessons.X, triplets, weight)


def _margins(lessons: _Lessons, weights: Any, which: NDArray[np.bool_]) -> Any:
    anchors, nearer, farther = lessons.triplets[which].T
    X = lessons.X.astype(np.float64)
    Q = X[anchors].multiply(weights[None, :]).tocsr()
    return np.asarray(Q.multiply(X[nearer] - X[farther]).sum(axis=1)).ravel()


def posting_costs(frequency: Iterable[int]) -> Any:
    """Postings of each word over their mean: the penalty is put where a search pays."""
    counts = np.maximum(np.asarray(frequency, np.float64), 1.0)
    return counts / counts.mean()
