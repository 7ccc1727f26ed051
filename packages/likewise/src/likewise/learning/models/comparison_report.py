"""How far the comparisons people made agree: with a map, and with each other.

A question is an anchor and two pictures, whichever way round; an answer says which of the two is
nearer.  The same question may have been asked several times, of several people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.store import SpaceRow
from likewise.learning.models import map as map_learning
from likewise.learning.models.constraints import Comparison
from likewise.learning.models.map import MapData
from likewise.search.learned_models import Basis
from likewise.search.model_rows import agreement_plain
from likewise_methods.evaluation import UNTESTED, Interval, Spread, mean_interval

REPORTED = 500
"""Pictures nobody compared that stand beside the others in a report, at most."""
_DIMENSIONS = 5


@dataclass(frozen=True)
class Annotator:
    """One person's comparisons: how many, and how often a map learned without them agrees.

    ``repeated`` counts answers to questions somebody answered too (perhaps the same person), and
    ``agreement_repeated`` is the share of those other answers that say the same.
    """

    person: str | None
    comparisons: int
    agreement: float | None
    repeated: int
    agreement_repeated: float | None


class PairAgreement(NamedTuple):
    """Two people, the questions both answered, and how often their answers are the same."""

    one: str | None
    other: str | None
    questions: int
    agreement: float


@dataclass(frozen=True)
class ComparisonReport:
    """How many comparisons stand, and how much they agree: with a map, and with each other.

    Attributes
    ----------
    comparisons, questions, pictures : int
        That stand, that were asked, and that they name.
    repeated, contradicted : int
        Questions with several answers, and with both.
    space : str
        The space that agreement is measured in.
    agreement, agreement_plain : float or None
        That of a map learned without the comparison asked, and of the space alone; None where
        there are too few.
    sources : dict of str to int
        Where comparisons came from.
    annotators : tuple of Annotator
        How far each person agrees.
    between : tuple of PairAgreement
        How far two people do.
    gains : Spread
        Differences of the two agreements, comparison by comparison.

    See Also
    --------
    ComparisonRecord : one comparison.
    likewise_methods.ordinal.cross_validate : how many are enough.
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
    between: tuple[PairAgreement, ...]
    gains: Spread = UNTESTED

    @property
    def gain(self) -> Interval | None:
        """What a map adds to the share that agrees, in 95 of 100 cases; None for too few."""
        return mean_interval(self.gains)


def report_comparisons(
    space: SpaceRow, said: Sequence[Comparison], given: MapData, used: NDArray[np.bool_], seed: int
) -> ComparisonReport:
    """What stands, who said it, and how far it hangs together."""
    right = plain = None
    gains = UNTESTED
    if len(given.said) >= map_learning.FEWEST:
        folds = map_learning.split_folds(given.said, map_learning.FOLDS, seed)
        features = Basis.fit(given.X, map_learning.DIRECTIONS)(given.X)
        dimensions = min(_DIMENSIONS, max(len(given.X) - 2, 2))
        right = map_learning.agree_held_out(given, features, folds, "both", dimensions, seed)
        alone = agreement_plain(space, given.X, given.said)
        plain = float(alone.mean())
        for learned, before in zip(right.tolist(), alone.tolist(), strict=True):
            gains = gains.add(float(learned) - float(before))
    kept = [one for one, fits in zip(said, used, strict=True) if fits]
    answers: dict[tuple[int, int, int], list[Comparison]] = {}
    for one in said:
        near, far = sorted((one.nearer, one.farther))
        answers.setdefault((one.anchor, near, far), []).append(one)
    people = sorted({one.person for one in said}, key=lambda person: person or "")
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
        tuple(_annotator(person, said, kept, right, answers) for person in people),
        tuple(_compare_people(people, answers)),
        gains,
    )


def _annotator(
    person: str | None,
    said: Sequence[Comparison],
    kept: Sequence[Comparison],
    right: NDArray[np.bool_] | None,
    answers: dict[tuple[int, int, int], list[Comparison]],
) -> Annotator:
    agreed = None
    mine = np.array([one.person == person for one in kept], bool)
    if right is not None and mine.any():
        agreed = float(right[mine].mean())
    repeated = same = others = 0
    for some in answers.values():
        for one in some if len(some) > 1 else ():
            if one.person == person:
                repeated += 1
                others += len(some) - 1
                same += sum(o.nearer == one.nearer for o in some) - 1
    share = same / others if others else None
    return Annotator(person, sum(one.person == person for one in said), agreed, repeated, share)


def _compare_people(
    people: Sequence[str | None], answers: dict[tuple[int, int, int], list[Comparison]]
) -> list[PairAgreement]:
    """Every two people that answered the same questions; a question counts once, by shares."""
    found = []
    for at, one in enumerate(people):
        for other in people[at + 1 :]:
            shares = []
            for some in answers.values():
                mine = [a.nearer for a in some if a.person == one]
                theirs = [a.nearer for a in some if a.person == other]
                if mine and theirs:
                    shares.append(np.mean([a == b for a in mine for b in theirs]))
            if shares:
                found.append(PairAgreement(one, other, len(shares), float(np.mean(shares))))
    return found
