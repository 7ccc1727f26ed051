"""What is asked in the loop benchmark, and how an answer is scored.

Two protocols.  *Common*: all methods are told the same pictures, those the plain search shows, and
ranked on the same rest; this compares what they make of judgements.  *Own*: every method shows its
own twenty best of what it has not shown yet and is told about those; this is the loop as a person
sees it.  There each method leaves another rest (a good one leaves the hard positives only), so mAP
on its own rest misleads: the share of positives found, and AP with what was shown frozen in the
order shown, are the figures to compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from benchmarks.loop.data import Booleans, Case, Floats, Ints, best_first
from benchmarks.loop.methods import Method, Session
from likewise_methods.evaluation.metrics import average_precision

SHOWN = 20
ROUNDS = 5
CLICKS = (1, 3, 10)
Values = dict[str, float]


def rest_ap(case: Case, scores: Floats, rest: Booleans) -> float:
    """Trapezoid AP on the pictures of ``rest``; NaN where none of them is right."""
    hits = case.relevant[best_first(scores, rest)]
    return average_precision(hits, trapezoid=True) if hits.any() else float("nan")


def tell(session: Session, pictures: Ints, said: Booleans) -> None:
    """One judgement of these pictures."""
    session.judge(pictures[said[pictures]], pictures[~said[pictures]])


def common(case: Case, method: Method, wrong: float = 0.0, *, clicks: bool = True) -> Values:
    """AP on what the plain search has not shown, after clicks on its first twenty one at a time
    ("3 clicks") and after whole rounds of twenty ("round 2")."""
    found: Values = {}
    said = case.said(wrong)
    if clicks:
        session = method(case)
        rest = unseen(case, case.plain[:SHOWN])
        for n, picture in enumerate(case.plain[: max(CLICKS)], 1):
            tell(session, np.array([picture]), said)
            if n in CLICKS:
                found[f"{n} click{'s' if n > 1 else ''}"] = rest_ap(case, session.scores(), rest)
    session = method(case)
    for r in range(1, ROUNDS + 1):
        tell(session, case.plain[(r - 1) * SHOWN : r * SHOWN], said)
        rest = unseen(case, case.plain[: r * SHOWN])
        # The rest is the same for all methods, so none is asked where nothing can be found.
        if case.relevant[rest].any():
            found[f"round {r}"] = rest_ap(case, session.scores(), rest)
    return found


def own(case: Case, method: Method, wrong: float = 0.0) -> Values:
    """After every round of the method's own twenty: share of positives found, frozen AP, own AP."""
    found: Values = {}
    said = case.said(wrong)
    session = method(case)
    shown = np.zeros(0, np.int64)
    scores = session.scores()
    total = int((case.relevant & case.searched).sum())
    for r in range(1, ROUNDS + 1):
        fresh = best_first(scores, unseen(case, shown))[:SHOWN]
        shown = np.concatenate([shown, fresh])
        tell(session, fresh, said)
        scores = session.scores()
        rest = unseen(case, shown)
        found[f"found {r}"] = case.relevant[shown].sum() / total
        ranking = np.concatenate([shown, best_first(scores, rest)])
        found[f"frozen {r}"] = average_precision(case.relevant[ranking], trapezoid=True)
        found[f"own rest {r}"] = rest_ap(case, scores, rest)
    return found


def unseen(case: Case, shown: Ints) -> Booleans:
    rest = case.searched.copy()
    rest[shown] = False
    return rest


class Tally:
    """What each method did in each case; means, and gaps with the noise of the choice of query."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, dict[tuple[str, int, int], float]]] = {}

    def add(self, method: str, case: Case, values: Mapping[str, float]) -> None:
        for stage, value in values.items():
            here = self.values.setdefault(method, {}).setdefault(stage, {})
            if not np.isnan(value):
                here[case.group, case.query, case.seed] = value

    def only(self, methods: Iterable[str], cases: Iterable[Case]) -> Tally:
        """The part about these methods and cases."""
        keys = {(case.group, case.query, case.seed) for case in cases}
        part = Tally()
        for method in methods:
            for stage, values in self.values[method].items():
                here = part.values.setdefault(method, {}).setdefault(stage, {})
                here.update((key, value) for key, value in values.items() if key in keys)
        return part

    def mean(self, method: str, stage: str) -> float:
        return _mean_and_error(self.values[method].get(stage, {}))[0]

    def spread(self, method: str, stage: str) -> float:
        """Standard deviation of the seeds' means."""
        by_seed: dict[int, list[float]] = {}
        for (_, _, seed), value in self.values[method][stage].items():
            by_seed.setdefault(seed, []).append(value)
        means = [float(np.mean(v)) for v in by_seed.values()]
        return float(np.std(means, ddof=1)) if len(means) > 1 else float("nan")

    def gap(self, method: str, other: str, stages: Iterable[str]) -> tuple[float, float]:
        """Mean of one minus the other over these stages, and its standard error over queries."""
        gaps: dict[tuple[str, int, int], list[float]] = {}
        for stage in stages:
            theirs = self.values[other].get(stage, {})
            for key, value in self.values[method].get(stage, {}).items():
                if key in theirs:
                    gaps.setdefault(key, []).append(value - theirs[key])
        return _mean_and_error({key: float(np.mean(v)) for key, v in gaps.items()})


def _mean_and_error(values: Mapping[tuple[str, int, int], float]) -> tuple[float, float]:
    """Mean over cases, and the standard error over distinct queries: a query asked under several
    seeds is one query, so more seeds do not make small sets look certain."""
    if not values:
        return float("nan"), float("nan")
    by_query: dict[tuple[str, int], list[float]] = {}
    for (group, query, _), value in values.items():
        by_query.setdefault((group, query), []).append(value)
    means = np.array([np.mean(v) for v in by_query.values()])
    error = float(means.std(ddof=1) / len(means) ** 0.5) if len(means) > 1 else float("nan")
    return float(np.mean(list(values.values()))), error
