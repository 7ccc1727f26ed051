"""Comparisons that people made: which stand, what to ask next, how far the answers agree."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from likewise.catalog import log_tables
from likewise.catalog.log_tables import model
from likewise.catalog.pictures import PictureName, Pictures
from likewise.errors import InvalidInput
from likewise.learning import judge as judging
from likewise.learning import waiting as answers_waiting
from likewise.learning.log import check_person
from likewise.learning.models import comparison_report, questions
from likewise.learning.models.constraints import Comparison, profile_items, standing_comparisons
from likewise.learning.models.map_data import gather_comparisons
from likewise.learning.profile_states import ProfileStates
from likewise.search import model_rows
from likewise.search.dense_view import DenseView
from likewise.search.similarities import DEFAULT, resolve_profile
from likewise.search.views import Views
from likewise_methods.validation import whole


class ComparisonRecord(NamedTuple):
    """A comparison that stands, by id (None for a picture that is not in the collection).

    Attributes
    ----------
    number : int
        Its line in the log.
    anchor, nearer, farther : int or None
        The anchor is closer to the second than to the third.
    person : str or None
        Who said so; None: the owner.
    source : str
        Where it came from.
    at : float
        When it was said, in seconds since 1970.

    See Also
    --------
    ComparisonQuestion : what is asked.
    """

    number: int
    anchor: int | None
    nearer: int | None
    farther: int | None
    person: str | None
    source: str
    at: float = 0.0


class Comparisons:
    """Answers to "which of the two is nearer?", and the questions that are worth asking."""

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
        """Say that ``anchor`` is closer to ``nearer`` than to ``farther``; gives the line's number.

        ``person`` names who says so, where several people compare.  The answer waits in a profile
        of that person's answers and changes no ranking before :meth:`take_in`; maps know it.
        ``at_once`` teaches the profile itself one triplet.  Unlike a judgement it is no verdict on
        either picture.
        """
        name = resolve_profile(self._store, profile)
        who = check_person(person)
        id_of = self._pictures.id_of
        row = (id_of(anchor), id_of(nearer), id_of(farther))
        if len(set(row)) != 3:
            raise InvalidInput(f"{row} names a picture twice; three different ones expected")
        if not at_once:
            name = answers_waiting.answers_of(self._store, name, who)
        (number,) = judging.commit_comparisons(self._views, [row], name, "compare", who)
        self._states.fold_in_use(name)
        return number

    def profiles(self) -> dict[str, answers_waiting.AnswerProfile]:
        """The profiles that only hold answers, by name: whose they are, and for which profile."""
        return {one.profile: one for one in answers_waiting.answer_profiles(self._store)}

    def waiting(self, profile: str = DEFAULT) -> list[answers_waiting.Waiting]:
        """Whose answers a profile has not taken in, and how many."""
        name = resolve_profile(self._store, profile)
        return answers_waiting.count_waiting(self._store, self._states, name)

    def take_in(
        self, answers: str | None = None, *, profile: str = DEFAULT
    ) -> list[answers_waiting.Waiting]:
        """Have a profile learn the answers that wait: all, or those of one profile of answers.

        One line of the log for each person, which says whose they are; a roll-back takes them out.
        """
        name = resolve_profile(self._store, profile)
        return answers_waiting.take_in(self._store, self._states, name, answers)

    def undo(self, number: int, *, profile: str = DEFAULT) -> int:
        """Take an answer back, wherever it stands: while it waits, and where it was taken in."""
        name = resolve_profile(self._store, profile)
        return answers_waiting.undo(self._store, self._states, name, number)

    def all(self, profile: str = DEFAULT) -> list[ComparisonRecord]:
        """Every comparison that stands, in the order of the log."""
        said = self._standing(profile)[0]
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
        """How many comparisons stand, by who made them."""
        return dict(Counter(one.person for one in self._standing(profile)[0]))

    def count_since_map(self, name: str = "map", *, profile: str = DEFAULT) -> int:
        """Comparisons that stand and that a map has not heard; all where there is no such map."""
        known = model(self._store, name)
        since = 0 if known is None else known.position
        return sum(one.number > since for one in self._standing(profile)[0])

    def suggest(
        self,
        k: int = 10,
        *,
        space: str | None = None,
        profile: str = DEFAULT,
        seed: int | None = None,
    ) -> list[questions.ComparisonQuestion]:
        """Questions whose answers would teach a map most; :meth:`add` takes the answers.

        Both pictures offered are among the anchor's nearest neighbours, and no near-duplicates.
        Questions that were answered already are not asked again; with ``seed`` None there are
        others after every line of the log.
        """
        k = whole(k, "k", 1)
        said, position = self._standing(profile)
        row = model_rows.dense_space(self._store, space)
        view = self._views.view(row.name)
        assert isinstance(view, DenseView)
        return questions.suggest_questions(
            self._store, view, said, k, position if seed is None else seed
        )

    def report(
        self, *, space: str | None = None, profile: str = DEFAULT, seed: int = 0
    ) -> comparison_report.ComparisonReport:
        """How many comparisons stand, who made them, and how far they agree with each other."""
        row = model_rows.dense_space(self._store, space)
        said, _ = self._standing(profile)
        given, used = gather_comparisons(
            self._store, row, said, self._views.view(row.name).row_of,
            anchors=comparison_report.REPORTED + len(said), labels=None, seed=seed,
        )  # fmt: skip
        return comparison_report.report_comparisons(row, said, given, used, seed)

    def _standing(self, profile: str) -> tuple[list[Comparison], int]:
        """(comparisons that stand, the last line of the log that was read)."""
        _, items, position = profile_items(self._store, self._states, profile)
        return standing_comparisons(self._store, items), position
