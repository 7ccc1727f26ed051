"""Comparisons as a whole: what is gathered for a map, and how far people agree.

A question is an anchor and two pictures, whichever way round; an answer says which of the two is
nearer.  The same question may have been asked several times, of several people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.feedback.lessons import labelled
from likewise.collection.models import map as map_learning
from likewise.collection.models.map import Compared, from_labels, from_neighbours
from likewise.collection.models.told import Comparison, subject_rows
from likewise.collection.search.learned_models import Basis
from likewise.collection.search.model_rows import agreement_plain, sample_rows
from likewise.collection.store import log as feedback
from likewise.collection.store.store import SpaceRow, Store

REPORTED = 500
"""Pictures nobody compared that stand beside the others in a report, at most."""
_DIMENSIONS = 5


class Ask(NamedTuple):
    """A question: is the anchor nearer to the left or to the right picture?  By id."""

    anchor: int
    left: int
    right: int


class Told3(NamedTuple):
    """A comparison that stands, by id (None for a picture that is not in the collection)."""

    number: int
    anchor: int | None
    nearer: int | None
    farther: int | None
    by: str | None
    source: str


@dataclass(frozen=True)
class Annotator:
    """One person's comparisons: how many, and how often a map learned without them agrees.

    ``repeated`` counts answers to questions somebody answered too (perhaps the same person), and
    ``agreement_repeated`` is the share of those other answers that say the same.
    """

    by: str | None
    comparisons: int
    agreement: float | None
    repeated: int
    agreement_repeated: float | None


class Between(NamedTuple):
    """Two people, the questions both answered, and how often their answers are the same."""

    one: str | None
    other: str | None
    questions: int
    agreement: float


@dataclass(frozen=True)
class ComparisonReport:
    """How many comparisons stand, and how much they agree: with a map, and with each other.

    ``agreement`` is that of a map learned without the comparison asked, ``agreement_plain`` that
    of the space alone; None where there are too few.  ``contradicted`` counts questions with both
    answers.
    """

    comparisons: int
    questions: int
    pictures: int
    repeated: int
    contradicted: int
    space: str
    agreement: float | None
    agreement_plain: float | None
    sources: dict[str, int]
    annotators: tuple[Annotator, ...]
    between: tuple[Between, ...]


def gather(
    store: Store,
    space: SpaceRow,
    said: Sequence[Comparison],
    row_of: Callable[[int], Any],
    *,
    anchors: int,
    labels: str | None,
    seed: int,
) -> tuple[Compared, NDArray[np.bool_]]:
    """Pictures and comparisons for a map; the mask says which comparisons could be used."""
    subjects = {s for one in said for s in (one.anchor, one.nearer, one.farther)}
    rows = subject_rows(store, space, subjects, row_of)
    place = {subject: at for at, subject in enumerate(rows)}
    used = np.array(
        [all(s in place for s in (one.anchor, one.nearer, one.farther)) for one in said], bool
    )
    triplets = np.array(
        [
            (place[one.anchor], place[one.nearer], place[one.farther])
            for one, fits in zip(said, used, strict=True)
            if fits
        ],
        np.int64,
    ).reshape(-1, 3)
    here = feedback.subjects_in_collection(store, rows)
    own = np.array([here.get(subject, 0) for subject in rows], np.int64)
    more = max(anchors - len(rows), 0)
    ids, others = sample_rows(store, space, more, seed, avoid=set(own.tolist()))
    whole = np.array(list(rows.values()), np.float32).reshape(len(rows), space.width)
    names = np.concatenate([own, ids])
    X = np.concatenate([whole, others])
    if labels is None:
        made, made_from = from_neighbours(X, seed), "space"
    else:
        known = dict(zip(*(part.tolist() for part in labelled(store, labels)), strict=True))
        made = from_labels(np.array([str(known.get(i, "")) for i in names.tolist()]), seed)
        made_from = labels
    return Compared(names, X, len(rows), triplets, made, made_from), used


def report(
    space: SpaceRow, said: Sequence[Comparison], given: Compared, used: NDArray[np.bool_], seed: int
) -> ComparisonReport:
    """What stands, who said it, and how far it hangs together."""
    right = plain = None
    if len(given.said) >= map_learning.FEWEST:
        folds = map_learning.held_out_folds(given.said, map_learning.FOLDS, seed)
        features = Basis.fit(given.X, map_learning.DIRECTIONS)(given.X)
        dimensions = min(_DIMENSIONS, max(len(given.X) - 2, 2))
        right = map_learning.held_out(given, features, folds, "both", dimensions, seed)
        plain = float(agreement_plain(space, given.X, given.said).mean())
    kept = [one for one, fits in zip(said, used, strict=True) if fits]
    answers: dict[tuple[int, int, int], list[Comparison]] = {}
    for one in said:
        near, far = sorted((one.nearer, one.farther))
        answers.setdefault((one.anchor, near, far), []).append(one)
    names = sorted({one.by for one in said}, key=lambda by: by or "")
    return ComparisonReport(
        len(said),
        len(answers),
        len({s for one in said for s in (one.anchor, one.nearer, one.farther)}),
        sum(len(some) > 1 for some in answers.values()),
        sum(len({one.nearer for one in some}) > 1 for some in answers.values()),
        space.name,
        None if right is None else float(right.mean()),
        plain,
        dict(Counter(one.source for one in said)),
        tuple(_annotator(by, said, kept, right, answers) for by in names),
        tuple(_between(names, answers)),
    )


def _annotator(
    by: str | None,
    said: Sequence[Comparison],
    kept: Sequence[Comparison],
    right: NDArray[np.bool_] | None,
    answers: dict[tuple[int, int, int], list[Comparison]],
) -> Annotator:
    agreed = None
    mine = np.array([one.by == by for one in kept], bool)
    if right is not None and mine.any():
        agreed = float(right[mine].mean())
    repeated = same = others = 0
    for some in answers.values():
        for one in some if len(some) > 1 else ():
            if one.by == by:
                repeated += 1
                others += len(some) - 1
                same += sum(o.nearer == one.nearer for o in some) - 1
    share = same / others if others else None
    return Annotator(by, sum(one.by == by for one in said), agreed, repeated, share)


def _between(
    names: Sequence[str | None], answers: dict[tuple[int, int, int], list[Comparison]]
) -> list[Between]:
    """Every two people that answered the same questions; a question counts once, by shares."""
    found = []
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            shares = []
            for some in answers.values():
                mine = [a.nearer for a in some if a.by == one]
                theirs = [a.nearer for a in some if a.by == other]
                if mine and theirs:
                    shares.append(np.mean([a == b for a in mine for b in theirs]))
            if shares:
                found.append(Between(one, other, len(shares), float(np.mean(shares))))
    return found
