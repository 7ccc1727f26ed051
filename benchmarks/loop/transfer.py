"""What a profile does for queries nobody judged: of the same class, and of other classes.

One class: a person judges the twenty best of several queries of one class; the profile is then
tried on queries of that class that were never asked, on pictures that were never judged, and on
queries of other classes, which ought to stay as they were.  Mixed: the judgements go round all
classes in turn, as a person's do over the weeks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.loop.data import REPORTED, TUNING, Case, Floats, Pictures, best_first
from benchmarks.loop.methods import Teacher
from benchmarks.loop.protocol import SHOWN, Tally, rest_ap
from likewise_methods.solis.expansion import RULE, expand

Learner = Callable[[], Any]
TAUGHT = (1, 3, 7)
MIXED = (10, 30, 100)
ASKED = 4
OTHERS = 6
HARMED = 0.02
CLICKED = "clicked 7"


@dataclass
class Lesson:
    """A profile in the making, and what was judged on the way."""

    teacher: Teacher
    judged: set[int] = field(default_factory=set)

    def ask(self, case: Case, wrong: float = 0.0) -> None:
        """Show the twenty best under the profile and learn from what is said of them."""
        shown = best_first(scores(case, self.teacher.weights()), case.searched)[:SHOWN]
        said = case.said(wrong)
        self.teacher.judge(case.query, shown[said[shown]], shown[~said[shown]])
        self.judged |= {case.query, *shown.tolist()}


def scores(case: Case, weights: Floats) -> Floats:
    return case.pictures.score(case.pictures.row(case.query) * weights)


def halves(pictures: Pictures, group: str, tune: bool) -> tuple[Any, Any]:
    """(queries to judge, queries to try) of a group; tuning never sees the reported half."""
    known = pictures.half(group, TUNING)
    if not tune:
        return known, pictures.half(group, REPORTED)
    return known[::2], known[1::2]


def one_class(
    pictures: Pictures,
    make: Learner,
    seeds: Sequence[int],
    *,
    groups: int | None = None,
    wrong: float = 0.0,
    tune: bool = False,
    capped: bool = True,
) -> Tally:
    """Stages "same 3", "other 3" after three judgements, and the same with "plain " before."""
    tally = Tally()
    names = list(pictures.groups)
    for seed in seeds:
        for number, group in enumerate(names[:groups]):
            rng = np.random.default_rng([seed, number])
            teach, ask = (rng.permutation(half) for half in halves(pictures, group, tune))
            strangers = rng.permutation([name for name in names if name != group])[:OTHERS]
            others = [
                Case(pictures, name, int(rng.choice(halves(pictures, name, tune)[1])), seed)
                for name in strangers.tolist()
            ]
            lesson = Lesson(Teacher(pictures, make(), seed, capped))
            for count, query in enumerate(teach[: max(TAUGHT)].tolist(), 1):
                lesson.ask(Case(pictures, group, query, seed), wrong)
                if count in TAUGHT:
                    asked = [Case(pictures, group, q, seed) for q in ask[:ASKED].tolist()]
                    _try(tally, lesson, asked, f"same {count}", fresh=True)
                    _try(tally, lesson, others, f"other {count}", fresh=False)
    return tally


def mixed(
    pictures: Pictures,
    make: Learner,
    seeds: Sequence[int],
    *,
    tune: bool = False,
    capped: bool = True,
    groups: int | None = None,
) -> Tally:
    """Judgements of all classes in turn; stages "mixed 30" and so on, on all classes."""
    tally = Tally()
    names = list(pictures.groups)[:groups]
    for seed in seeds:
        rng = np.random.default_rng([seed, 99])
        parts = {group: halves(pictures, group, tune) for group in names}
        pool = [(g, q) for g in names for q in parts[g][0].tolist()]
        asked = [Case(pictures, g, int(rng.choice(parts[g][1])), seed) for g in names]
        lesson = Lesson(Teacher(pictures, make(), seed, capped))
        for count, place in enumerate(rng.permutation(len(pool)).tolist()[: max(MIXED)], 1):
            group, query = pool[place]
            lesson.ask(Case(pictures, group, query, seed))
            if count in MIXED:
                _try(tally, lesson, asked, f"mixed {count}", fresh=True)
    return tally


def _try(tally: Tally, lesson: Lesson, asked: Sequence[Case], stage: str, *, fresh: bool) -> None:
    """AP of the queries with and without the profile; ``fresh``: on pictures never judged."""
    for case in asked:
        rest = case.searched.copy()
        if fresh:
            rest[list(lesson.judged)] = False
        plain = rest_ap(case, scores(case, np.ones(case.pictures.X.shape[1])), rest)
        learnt = rest_ap(case, scores(case, lesson.teacher.weights()), rest)
        tally.add("plain", case, {stage: plain})
        tally.add("profile", case, {stage: learnt})


def harmed(tally: Tally, stage: str) -> float:
    """Share of queries that lost more than .02."""
    plain, learnt = (tally.values[name][stage] for name in ("plain", "profile"))
    return float(np.mean([plain[key] - learnt[key] > HARMED for key in plain]))


def after_one_click(
    pictures: Pictures, make: Learner, seeds: Sequence[int], groups: int | None = None
) -> Tally:
    """Does a profile help where the query part works too?  Seven judgements of the class before;
    then a new query with its first picture judged: "plain" is the query part alone."""
    tally = Tally()
    for seed in seeds:
        for number, group in enumerate(list(pictures.groups)[:groups]):
            rng = np.random.default_rng([seed, number])
            teach, ask = (rng.permutation(half) for half in halves(pictures, group, False))
            lesson = Lesson(Teacher(pictures, make(), seed, True))
            for query in teach[: max(TAUGHT)].tolist():
                lesson.ask(Case(pictures, group, query, seed))
            for query in ask[:ASKED].tolist():
                case = Case(pictures, group, query, seed)
                rest = case.searched.copy()
                rest[[*lesson.judged, *case.plain[:SHOWN].tolist()]] = False
                row = _one_click(case)
                plain = rest_ap(case, pictures.score(row), rest)
                learnt = rest_ap(case, pictures.score(row * lesson.teacher.weights()), rest)
                tally.add("plain", case, {CLICKED: plain})
                tally.add("profile", case, {CLICKED: learnt})
    return tally


def _one_click(case: Case) -> Floats:
    X, first = case.pictures.X, case.plain[:1]
    right = case.relevant[first]
    made = expand(
        X[[case.query]],
        X[first[right]],
        X[first[~right]],
        frequency=case.pictures.frequency,
        n_pictures=len(case.pictures),
        rule=RULE,
    )
    return np.asarray(made.toarray()[0], np.float64)
