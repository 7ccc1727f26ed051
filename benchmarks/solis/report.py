"""SOLIS against its rivals, TF-IDF, Rocchio and a linear SVM: the paper's tables as trends.

Parameters of every method are chosen by mAP on draws of their own; figures come from other draws.
Every mAP is recomputed from the scores a method gives to pictures it was not trained on.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness
from benchmarks.solis import data as solis_data
from benchmarks.solis import figure as solis_figure
from benchmarks.solis import speed as solis_speed
from benchmarks.solis import widths as solis_widths
from benchmarks.solis.curves import cost_table, curves
from benchmarks.solis.data import Bags
from benchmarks.solis.gaps import ONE_A_GROUP, ONE_FOR_ALL, gap_rows
from benchmarks.solis.protocol import Draw, draws, shared_draws
from benchmarks.solis.table import Table, compare
from benchmarks.solis.tuning import Tuned, tune_all
from likewise_methods.solis.solis import posting_cost

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
    drawn: list[Row] = field(default_factory=list)


def plans(seed: int, full: bool) -> list[Plan]:
    """Default: what ends in half an hour on two cores; full: also 10,000 words, whose rows share
    most and take longest, all groups and ten draws everywhere."""
    many, some = list(range(10)), list(range(10 if full else 5))
    few = None if full else 4
    slow = Plan("oxford1k, 10,000 words", lambda: solis_data.oxford(10_000, seed), many, None, 7)
    return [
        *([slow] if full else []),
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
    heading = f"{title}: postings at equal mAP, with and without word_cost"
    report.add(heading, cost_table(rows))
    found.drawn.append({"collection": title, **used(taken, bags)})


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
    found.drawn.append({"collection": title, **used(taken, bags), "groups": len(bags.groups)})


def used(taken: list[Draw], bags: Bags) -> Row:
    """How much of a collection the draws take."""
    triplets = sorted({len(d.triplets) for d in taken})
    negatives = sorted({len(d.negatives) for d in taken})
    return {
        "groups": len({d.group for d in taken}),
        "of": len(bags.groups),
        "draws": len(taken),
        "triplets a draw": " or ".join(f"{n:,}" for n in triplets),
        "negatives": " or ".join(map(str, negatives)),
    }


def say(text: str) -> None:
    print(f"[{time.process_time():.0f} CPU s] {text}", file=sys.stderr, flush=True)


Report = harness.Report


PARTS = ("collections", "speed", "widths")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and write docs/results/solis.md; ``--full`` takes more draws and groups."""
    options = harness.arguments_with_parts(__doc__ or "", PARTS, arguments)
    parts = options.parts
    seed, full = options.seed, options.full
    # The number of iterations is a point of the grid: stopping at it is no news.
    warnings.simplefilter("ignore", ConvergenceWarning)
    report = Report(
        "solis",
        "SOLIS: sparse online learning of similarity, against its rivals and honest yardsticks",
        "FULL" if full else "default size",
        {"seed": seed, "training positives": 7, "negatives": 300, "queries": 5},
    )
    if "speed" in parts:
        speed, read = solis_speed.speed(seed, 1_000_000)
        report.add("Speed: 100,000 words, one thread", speed)
        report.add("Speed: what memory allows", read)
        say("speed: done")
    if "widths" in parts:
        wide = solis_widths.widths(seed, 1_000_000 if full else 100_000)
        report.add(
            "Generated collections: time, sparsity and accuracy against the number of words", wide
        )
        say("widths: done")
    if "collections" in parts:
        collections(seed, full, report)
    report.write()
    say("done")
    return 0


def collections(seed: int, full: bool, report: Report) -> None:
    """Every collection, and what all of them say."""
    found = Found()
    for plan in plans(seed, full):
        bags = plan.make()
        if bags is None:
            report.left_out.append(f"{plan.title} (not here)")
            continue
        one_a_group(plan, bags, 10 if full else 2, found, report)
        if plan.training is not None:
            one_for_all(plan, bags, 10 if full else 5, found, report)
        say(f"{plan.title}: done")
    conclude(report, found)
    solis_figure.draw(found.panels)


def conclude(report: Report, found: Found) -> None:
    """Gaps between methods, what was drawn and chosen, curves."""
    report.add("Gaps, one weight vector a group", gap_rows(found.tables, ONE_A_GROUP))
    if found.shared:
        report.add("Gaps, one shared w", gap_rows(found.shared, ONE_FOR_ALL))
    report.add("Draws", found.drawn)
    report.add(
        "Chosen on the validation draws",
        [
            {
                "collection": title,
                "chosen": tuned.shown(),
                "points tried": ", ".join(f"{name} {n}" for name, n in tuned.tried().items()),
            }
            for title, tuned in found.tuned.items()
        ],
    )
    for title, (rows, _) in found.panels.items():
        report.add(f"{title}: along l1 (the figure solis.svg)", rows)
