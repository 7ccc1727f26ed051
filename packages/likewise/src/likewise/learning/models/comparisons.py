"""Comparisons that people made: list and add them, suggest questions, report the agreement.

A question is an anchor and two pictures, in either order; an answer says which of the two is
nearer.  The same question may have been asked several times, of several people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.log_tables import model
from likewise.catalog.pictures import PictureName, Pictures
from likewise.catalog.store import SpaceRow
from likewise.errors import InvalidInput
from likewise.learning import judge as judging
from likewise.learning import pending_answers
from likewise.learning.log import check_person
from likewise.learning.models import questions
from likewise.learning.models import rows as model_rows
from likewise.learning.models.constraints import Comparison, active_comparisons, profile_items
from likewise.learning.models.map import (
    DIRECTIONS,
    FEWEST,
    FOLDS,
    MapData,
    agree_held_out,
    gather_comparisons,
    split_folds,
)
from likewise.learning.models.rows import agreement_plain
from likewise.learning.profile_states import ProfileStates
from likewise.search.dense_view import DenseView
from likewise.search.learned_models import Basis
from likewise.search.similarities import DEFAULT, resolve_profile
from likewise.search.views import Views
from likewise_methods.evaluation import UNTESTED, Interval, Spread, mean_interval
from likewise_methods.validation import whole

REPORTED = 500
"""Pictures without comparisons in a report, at most."""
_DIMENSIONS = 5


class ComparisonRecord(NamedTuple):
    """A comparison in effect, by id (None for a picture that is not in the collection).

    Attributes
    ----------
    number : int
        Its line in the log.
    anchor, nearer, farther : int or None
        The anchor is closer to the second than to the third.
    person : str or None
        The name of who made it; None: the owner.
    source : str
        Its source.
    at : float
        When it was made, in seconds since 1970.

    See Also
    --------
    ComparisonQuestion : the question.
    """

    number: int
    anchor: int | None
    nearer: int | None
    farther: int | None
    person: str | None
    source: str
    at: float = 0.0


@dataclass(frozen=True)
class Annotator:
    """One person's comparisons: how many, and how often a map learned without them agrees.

    ``repeated`` counts answers to questions that have other answers too (perhaps of the same
    person); ``agreement_repeated`` is the share of these others that agree.
    """

    person: str | None
    comparisons: int
    agreement: float | None
    repeated: int
    agreement_repeated: float | None


class PairAgreement(NamedTuple):
    """Two people, how many questions both answered, and how often they agree."""

    one: str | None
    other: str | None
    questions: int
    agreement: float


@dataclass(frozen=True)
class ComparisonReport:
    """How many comparisons are in effect, and how often they agree with a map and each other.

    Attributes
    ----------
    comparisons, questions, pictures : int
        Comparisons in effect, different questions, and pictures in them.
    repeated, contradicted : int
        Questions with several answers, and with both.
    space : str
        The space that agreement is measured in.
    agreement, agreement_plain : float or None
        That of a map learned without the tested comparison, and of the space alone; None where
        there are too few.
    sources : dict of str to int
        Comparisons by source.
    annotators : tuple of Annotator
        How often each person agrees.
    between : tuple of PairAgreement
        How often two people agree.
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
        """How much a map adds to the agreement, in 95 of 100 cases; None for too few."""
        return mean_interval(self.gains)


class Comparisons:
    """Comparisons of a collection, pending answers, and questions worth asking."""

    def __init__(self, views: Views, states: ProfileStates, pictures: Pictures) -> None:
        self._store, self._views, self._states = views.store, views, states
        self._pictures = pictures

    def add(
        self,
        anchor: PictureName,
        nearer: PictureName,
        farther: PictureName,
        *,
        profile: str = DEFAULT,
        person: str | None = None,
        at_once: bool = False,
    ) -> int:
        """Log that ``anchor`` is closer to ``nearer`` than to ``farther``; return its number.

        ``person`` is the name of who answers, where several people compare.  The answer is pending,
        in a profile of that person's answers, and changes no ranking before :meth:`take_in`; maps
        use it. ``at_once`` makes the profile itself learn one triplet.  Unlike a judgement, it is
        no statement about either picture alone.
        """
        name = resolve_profile(self._store, profile)
        who = check_person(person)
        id_of = self._pictures.id_of
        row = (id_of(anchor), id_of(nearer), id_of(farther))
        if len(set(row)) != 3:
            raise InvalidInput(f"{row} names a picture twice; three different ones expected")
        if not at_once:
            name = pending_answers.answers_of(self._store, name, who)
        (number,) = judging.commit_comparisons(self._views, [row], name, "compare", who)
        self._states.fold_new_lines(name)
        return number

    def profiles(self) -> dict[str, pending_answers.AnswerProfile]:
        """Return the profiles that hold pending answers, by name."""
        return {one.profile: one for one in pending_answers.answer_profiles(self._store)}

    def waiting(self, profile: str = DEFAULT) -> list[pending_answers.PendingAnswers]:
        """Return the pending answers for a profile, by person."""
        name = resolve_profile(self._store, profile)
        return pending_answers.count_pending(self._store, self._states, name)

    def take_in(
        self, answers: str | None = None, *, profile: str = DEFAULT
    ) -> list[pending_answers.PendingAnswers]:
        """Apply pending answers to a profile: all, or those of one profile of answers.

        Each person's answers become one line of the log; a roll-back removes them again.
        """
        name = resolve_profile(self._store, profile)
        return pending_answers.apply_pending(self._store, self._states, name, answers)

    def undo(self, number: int, *, profile: str = DEFAULT) -> int:
        """Withdraw an answer, whether pending or applied."""
        name = resolve_profile(self._store, profile)
        return pending_answers.undo(self._store, self._states, name, number)

    def all(self, profile: str = DEFAULT) -> list[ComparisonRecord]:
        """Return every comparison in effect, in the order of the log."""
        said = self._active(profile)[0]
        subjects = {s for one in said for s in (one.anchor, one.nearer, one.farther)}
        here = log_tables.subjects_in_collection(self._store, subjects)
        return [
            ComparisonRecord(
                one.number, here.get(one.anchor), here.get(one.nearer), here.get(one.farther),
                one.person, one.source, one.at,
            )
            for one in said
        ]  # fmt: skip

    def count_by_person(self, profile: str = DEFAULT) -> dict[str | None, int]:
        """Count the comparisons in effect by person."""
        return dict(Counter(one.person for one in self._active(profile)[0]))

    def count_since_map(self, name: str = "map", *, profile: str = DEFAULT) -> int:
        """Count the comparisons a map has not learned yet; all without such a map."""
        known = model(self._store, name)
        since = 0 if known is None else known.position
        return sum(one.number > since for one in self._active(profile)[0])

    def suggest(
        self,
        k: int = 10,
        *,
        space: str | None = None,
        profile: str = DEFAULT,
        seed: int | None = None,
    ) -> list[questions.ComparisonQuestion]:
        """Suggest questions whose answers would teach a map most; :meth:`add` takes the answers.

        Both pictures offered are among the anchor's nearest neighbours, and no near-duplicates.
        Answered questions are not asked again; with ``seed`` None they change with every line of
        the log.
        """
        k = whole(k, "k", 1)
        said, position = self._active(profile)
        row = model_rows.dense_space(self._store, space)
        view = self._views.view(row.name)
        assert isinstance(view, DenseView)
        return questions.suggest_questions(
            self._store, view, said, k, position if seed is None else seed
        )

    def report(
        self, *, space: str | None = None, profile: str = DEFAULT, seed: int = 0
    ) -> ComparisonReport:
        """Report how many comparisons there are, from whom, and how often they agree."""
        row = model_rows.dense_space(self._store, space)
        said, _ = self._active(profile)
        given, used = gather_comparisons(
            self._store, row, said, self._views.view(row.name).row_of,
            anchors=REPORTED + len(said), labels=None, seed=seed,
        )  # fmt: skip
        return report_comparisons(row, said, given, used, seed)

    def _active(self, profile: str) -> tuple[list[Comparison], int]:
        """Return (comparisons in effect, the last line of the log that was read)."""
        _, items, position = profile_items(self._store, self._states, profile)
        return active_comparisons(self._store, items), position


def report_comparisons(
    space: SpaceRow, said: Sequence[Comparison], given: MapData, used: NDArray[np.bool_], seed: int
) -> ComparisonReport:
    """Report how many comparisons there are, from whom, and how often they agree."""
    right = plain = None
    gains = UNTESTED
    if len(given.said) >= FEWEST:
        folds = split_folds(given.said, FOLDS, seed)
        features = Basis.fit(given.X, DIRECTIONS)(given.X)
        dimensions = min(_DIMENSIONS, max(len(given.X) - 2, 2))
        right = agree_held_out(given, features, folds, "both", dimensions, seed)
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
    """Compare every two people over the questions both answered; each question counts once."""
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
