"""SOLIS against its rivals, TF-IDF, Rocchio and a linear SVM: the paper's tables as trends.

Parameters of every method are chosen by mAP on draws of their own; figures come from other draws.
Every mAP is recomputed from the scores a method gives to pictures it was not trained on.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness
from benchmarks.solis import data as solis_data
from benchmarks.solis import figure as solis_figure
from benchmarks.solis import findings as solis_findings
from benchmarks.solis import preface as solis_preface
from benchmarks.solis import speed as solis_speed
from benchmarks.solis import widths as solis_widths
from benchmarks.solis.curves import cost_table, curves
from benchmarks.solis.data import Bags
from benchmarks.solis.protocol import Draw, draws, shared_draws
from benchmarks.solis.table import Table, compare
from benchmarks.solis.tuning import Tuned, tune_all
from likewise.similarity.fixed import posting_cost

Row = dict[str, object]

VALIDATION = [1000, 1001, 1002]
SHARED_TRIPLETS = 12_600


@dataclass(frozen=True)
class Plan:
    """A collection and how much of it is drawn; ``training`` pictures a group for the shared w."""

    title: str
    make: Callable[[], Bags | None]
    seeds: list[int]
    groups: int | None
    training: int | None = None


@dataclass
class Found:
    """What the collections gave, by title."""

    tables: dict[str, Table] = field(default_factory=dict)
    shared: dict[str, Table] = field(default_factory=dict)
    tuned: dict[str, Tuned] = field(default_factory=dict)
    panels: dict[str, tuple[list[Row], float]] = field(default_factory=dict)
    costs: dict[str, list[Row]] = field(default_factory=dict)


def plans(seed: int, full: bool) -> list[Plan]:
    """Default: what ends in time on two cores; full: all groups, ten draws everywhere."""
    many, some = list(range(10)), list(range(10 if full else 5))
    few = None if full else 4
    return [
        Plan("oxford1k, 10,000 words", lambda: solis_data.oxford(10_000, seed), many, None, 7),
        Plan("oxford1k, 100,000 words", lambda: solis_data.oxford(100_000, seed), many, None, 7),
        Plan("corel1k, 5,000 words", lambda: solis_data.corel(5_000, seed), some, few, 30),
        Plan("planted views, 5,000 words", lambda: solis_data.planted(5_000, seed), some, few),
    ]


def one_a_group(plan: Plan, bags: Bags, curve_draws: int, found: Found, report: Report) -> None:
    """A weight vector a group: the paper's Tables I to III, and the curves."""
    X, title = bags.tf_idf, plan.title
    cost = posting_cost(X)
    tuned = tune_all(draws(bags, X, VALIDATION, plan.groups), cost, yardsticks=True)
    say(f"{title}: {tuned.shown()}")
    taken = draws(bags, X, plan.seeds, plan.groups)
    table = compare(taken, tuned, bags.tf, cost)
    found.tables[title], found.tuned[title] = table, tuned
    report.add(f"{title}: {len(taken)} draws of a group", table.rows())
    same = draws(bags, X, plan.seeds[:curve_draws], plan.groups)
    rows = curves(same, tuned, cost)
    # Of the same draws as the curves: draws differ by more than methods do.
    found.panels[title] = rows, float(np.mean([d.ranked(np.ones(X.shape[1])) for d in same]))
    found.costs[title] = cost_table(rows)
    heading = f"{title}: postings at equal mAP, with and without word_cost"
    report.add(heading, found.costs[title])
    report.notes.append(f"{title}: {used(taken, bags)}")
    report.notes.append(f"{title}: chosen {tuned.shown()}.  Points tried: {_tried(tuned)}.")


def one_for_all(plan: Plan, bags: Bags, n_draws: int, found: Found, report: Report) -> None:
    """One weight vector for all groups: the paper's Tables IV to VI."""
    assert plan.training is not None
    X, title = bags.tf_idf, f"{plan.title}, shared"
    cost = posting_cost(X)
    validation = shared_draws(bags, X, VALIDATION, plan.training, SHARED_TRIPLETS)
    tuned = tune_all(validation, cost, yardsticks=False)
    say(f"{title}: {tuned.shown()}")
    taken = shared_draws(bags, X, plan.seeds[:n_draws], plan.training, SHARED_TRIPLETS)
    table = compare(taken, tuned, bags.tf, cost)
    found.shared[title], found.tuned[title] = table, tuned
    report.add(
        f"{plan.title}: one shared w for {len(bags.groups)} groups, {len(taken)} draws",
        table.rows(),
    )
    report.notes.append(
        f"{title}: {plan.training} training pictures a group, {len(taken[0].negatives)} of no "
        f"group, {SHARED_TRIPLETS:,} triplets at random, {len(bags.groups)} x 5 queries a draw; "
        f"chosen {tuned.shown()}.  Points tried: {_tried(tuned)}."
    )


def used(taken: list[Draw], bags: Bags) -> str:
    """How much of a collection the draws take."""
    triplets = sorted({len(d.triplets) for d in taken})
    negatives = sorted({len(d.negatives) for d in taken})
    groups, there = len({d.group for d in taken}), len(bags.groups)
    of = f"all {there}" if groups == there else f"the first {groups} of {there}"
    return (
        f"{of} groups; {' or '.join(f'{n:,}' for n in triplets)} triplets a draw "
        f"({' or '.join(map(str, negatives))} negatives)."
    )


def _tried(tuned: Tuned) -> str:
    return ", ".join(f"{name} {n}" for name, n in tuned.tried().items())


NOTES = [
    "![weights that are exactly zero against mAP](solis.svg)",
    "mAP: mean of groups and draws, trapezoid AP; ±: standard error over draws.  Retrieval set: "
    "all pictures not trained on, junk and the query left out; other queries of a group stay in "
    "it, as relevant pictures.  LEGO and LMNN rank by minus their distance; postings a query are "
    "those of S_w with their weights.",
    "Rows named by the method alone have the setting with the best mAP on the validation draws.  "
    "sparse: the sparsest setting within one point of mAP of that one, on the same draws.",
    "within error: a gap inside its 95 % interval (Student, paired over draws).  The worse or "
    "better of several methods is the one that looked so on the draws reported.",
    "of touched: share of exact zeros among words that some training triplet's z has; from zeros, "
    "words outside the training pictures are zero for free, whatever the penalty.",
    "Times are CPU seconds of one thread, while a second draw is worked on beside it.  Indexing "
    "and search are timed on the first draw of each group.",
    "Rocchio and the SVM get the same seven positives (the SVM also the negatives) at query time; "
    "they answer one landmark and leave nothing behind for another query.",
]


def say(text: str) -> None:
    print(f"[{time.process_time():.0f} CPU s] {text}", file=sys.stderr, flush=True)


Report = harness.Report


def main() -> int:
    """Run and write docs/results/solis.md; ``--full`` takes more draws and groups."""
    options = harness.arguments(__doc__ or "")
    seed, full = options.seed, options.full
    # The number of iterations is a point of the grid: stopping at it is no news.
    warnings.simplefilter("ignore", ConvergenceWarning)
    report = Report(
        "solis",
        "SOLIS: sparse online learning of similarity, against its rivals and honest yardsticks",
        "FULL" if full else "default size",
        {"seed": seed, "training positives": 7, "negatives": 300, "queries": 5},
        notes=list(NOTES),
    )
    found = Found()
    for plan in plans(seed, full):
        bags = plan.make()
        if bags is None:
            report.notes.append(f"{plan.title}: not here (LIKEWISE_DATA); left out.")
            continue
        one_a_group(plan, bags, 10 if full else 2, found, report)
        if plan.training is not None:
            one_for_all(plan, bags, 10 if full else 5, found, report)
        say(f"{plan.title}: done")
    speed, notes = solis_speed.speed(seed, 1_000_000)
    report.add("Speed: 100,000 words, one thread", speed)
    say("speed: done")
    wide = solis_widths.widths(seed, 1_000_000 if full else 100_000)
    report.add(
        "Generated collections: time, sparsity and accuracy against the number of words", wide
    )
    conclude(report, found, [*notes, solis_speed.goal(speed)], wide)
    solis_figure.draw(found.panels)
    report.write()
    say("done")
    return 0


def conclude(report: Report, found: Found, speed: list[str], wide: list[Row]) -> None:
    """Curves, verdicts, and the preface."""
    for title, (rows, _) in found.panels.items():
        report.add(f"{title}: along l1 (the figure solis.svg)", rows)
    made = [*solis_findings.claims(found.tables)]
    made += solis_findings.shared_claims(found.shared) if found.shared else []
    facts = [
        solis_findings.sparse_points({**found.tables, **found.shared}),
        solis_findings.sparsity({**found.tables, **found.shared}),
        solis_findings.savings(found.costs),
        solis_widths.growth(wide),
        solis_widths.learned(wide),
        speed[-1],
    ]
    report.preface += solis_preface.preface(made, facts, found.tuned)
    report.notes += [
        *speed[:-1],
        solis_findings.times(found.tables, "paper Table III"),
        solis_findings.ratios(found.tables),
        solis_findings.times(found.shared, "one shared w, paper Table VI"),
    ]
    oxfords = [title for title in found.tables if title.startswith("oxford")]
    if len(oxfords) == 2:
        report.notes.append(solis_findings.widening(found.tables, *oxfords))
    report.notes += [claim.line for claim in made]
