"""Does learning from judgements help?  The loop on four sets, against its honest yardsticks.

The judge knows the truth; what a method makes of its answers is measured on pictures it was not
told about.  See ``loop_protocol`` for the two protocols, ``loop_methods`` for the contestants,
``loop_transfer`` for what a profile does to queries nobody judged.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks import harness
from benchmarks.loop import data as loop_data
from benchmarks.loop import figure as loop_figure
from benchmarks.loop import latency as loop_latency
from benchmarks.loop import transfer as loop_transfer
from benchmarks.loop.data import Pictures
from benchmarks.loop.methods import BOTH, PLAIN, PROFILE, QUERY, ROCCHIO
from benchmarks.loop.protocol import ROUNDS, Tally
from benchmarks.loop.runs import (
    NOISY,
    Row,
    Size,
    cell,
    contest,
    contestants,
    gap_rows,
    loop_rows,
    own_rows,
    told_rows,
    tuned,
    verdict,
    wrong_clicks,
)
from likewise_methods.solis import judging
from likewise_methods.solis.expansion import RULE

__all__ = ["loop_rows", "main"]

Sets = list[tuple[str, Pictures | None, Size]]


def sets(seed: int, full: bool) -> Sets:
    """Collections and how much of each is asked."""
    many = tuple(range(10 if full else 5))
    times = 2 if full else 1
    found: Sets = [
        ("oxford1k, 50,000 words", loop_data.oxford(50_000, seed), Size(many, 3 * times)),
        ("corel1k, 5,000 words", loop_data.corel(5_000, seed), Size(many, times)),
        ("caltech101, 10,000 words", loop_data.caltech(10_000, seed), Size(many[:3], times)),
        ("planted views, 5,000 words", loop_data.planted(5_000, seed), Size(many, times)),
    ]
    if full:
        found.insert(
            1, ("oxford1k, 10,000 words", loop_data.oxford(10_000, seed), Size(many, 3 * times))
        )
    return found


QUERIES = {
    "same": "same class",
    "other": "other classes",
    "mixed": "all classes, judged in turn",
    "clicked": "same class, one click each; plain: the query part",
}


def transfer_rows(title: str, pictures: Pictures, size: Size) -> tuple[Tally, list[Row]]:
    """What the profile does for the same class, other classes, in mixed use, after a click."""
    seeds = size.seeds[:3]
    groups = None if len(pictures.groups) <= 25 else 25
    learner = judging.profile_learner
    one = loop_transfer.one_class(pictures, learner, seeds, groups=groups)
    mixed = loop_transfer.mixed(pictures, learner, seeds)
    clicked = loop_transfer.after_one_click(pictures, learner, seeds, groups)
    rows: list[Row] = []
    for tally, stages in (
        (one, [f"{kind} {n}" for kind in ("same", "other") for n in loop_transfer.TAUGHT]),
        (clicked, [loop_transfer.CLICKED]),
        (mixed, [f"mixed {n}" for n in loop_transfer.MIXED]),
    ):
        known = [stage for stage in stages if tally.values["plain"].get(stage)]
        rows += [{"set": title, **_transfer_row(tally, stage)} for stage in known]
    return one, rows


def _transfer_row(tally: Tally, stage: str) -> Row:
    kind, count = stage.split()
    return {
        "queries": QUERIES[kind],
        "judgements": int(count),
        "plain": cell(tally, "plain", stage),
        "with the profile": cell(tally, "profile", stage),
        "change": verdict(*tally.gap("profile", "plain", [stage])),
        "lost more than 2 points, %": round(100 * loop_transfer.harmed(tally, stage), 1),
    }


def noisy_rows(title: str, by_share: dict[float, Tally]) -> list[Row]:
    """Wrong clicks: told and own loop."""
    rows: list[Row] = []
    first = next(iter(by_share.values()))
    for name in NOISY:
        if name not in first.values:
            continue
        row: Row = {"set": title, "method": name}
        for stage in ("round 1", "round 3", f"frozen {ROUNDS}"):
            for wrong, tally in by_share.items():
                row[f"{stage}, {100 * wrong:.0f} % wrong"] = cell(tally, name, stage)
        rows.append(row)
    return rows


def twice(title: str, tally: Tally) -> list[Row]:
    """The goal of oxford1k: at least twice no learning after three judgements."""
    rows: list[Row] = []
    for stage in ("1 click", "3 clicks", "10 clicks", "round 1", "round 3"):
        plain, learnt = tally.mean(PLAIN, stage), tally.mean(BOTH, stage)
        rows.append(
            {
                "set": title,
                "told": stage,
                "no learning": f"{100 * plain:.1f}",
                "product": f"{100 * learnt:.1f}",
                "ratio": f"{learnt / plain:.2f}",
            }
        )
    return rows


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Run and write docs/results/loop.md; ``--full`` takes more seeds, queries and words."""
    options = harness.arguments(__doc__ or "")
    report = harness.Report(
        "loop",
        "The loop: does a search that learns from judgements find more?",
        "FULL" if options.full else "default size",
        {
            "seed": options.seed,
            "beta": RULE.beta,
            "gamma": RULE.gamma,
            "patience": RULE.patience,
            "smoothing": RULE.smoothing,
            "sharpness": RULE.sharpness,
            "eta": judging.ETA,
            "delta": judging.DELTA,
            "margin": judging.MARGIN,
            "caps": f"{judging.JUDGEMENT_REACH} and {judging.SESSION_REACH}",
        },
    )
    tallies: dict[str, Tally] = {}
    noisy: dict[str, dict[float, Tally]] = {}
    taught: dict[str, Tally] = {}
    musts: list[Row] = []
    parts: list[Row] = []
    profiles: list[Row] = []
    clicks: list[Row] = []
    methods_of: dict[str, dict[str, tuple[float, ...]]] = {}
    for title, pictures, size in sets(options.seed, options.full):
        if pictures is None:
            report.left_out.append(f"{title} (not here)")
            continue
        start = time.process_time()
        constants = methods_of[title] = tuned(pictures, size)
        methods = contestants(pictures, constants)
        tally = tallies[title] = contest(pictures, size, methods)
        fewer = Size(size.seeds[: len(size.seeds) // 2], size.each, size.groups)
        noisy[title] = wrong_clicks(pictures, fewer, methods, tally)
        taught[title], rows = transfer_rows(title, pictures, size)
        profiles += rows
        clicks += noisy_rows(title, noisy[title])
        musts += gap_rows(title, tally, (ROCCHIO, "Rocchio, tuned"))
        parts += gap_rows(title, tally, (QUERY, PROFILE, "linear SVM"))
        say(f"{title}: {time.process_time() - start:.0f} s, {constants}")
    oxford = [title for title in tallies if title.startswith("oxford")]
    report.add("The goals: the product minus Rocchio, points", musts)
    report.add(
        "The goals: twice no learning after three judgements",
        [row for title in oxford for row in twice(title, tallies[title])],
    )
    report.add("The product minus its parts and the SVM, points", parts)
    for title, tally in tallies.items():
        count = len(tally.values[PLAIN]["3 clicks"])
        distinct = len({key[:2] for key in tally.values[PLAIN]["3 clicks"]})
        of = f"{count} cases, {distinct} distinct queries"
        report.add(f"{title}, told: mAP on the rest ({of})", told_rows(tally, methods_of[title]))
        report.add(f"{title}, own loop", own_rows(tally, methods_of[title]))
    report.add("A profile alone, on queries nobody judged", profiles)
    report.add("Wrong clicks", clicks)
    loop_figure.rounds(tallies)
    loop_figure.clicks_and_transfer(noisy, taught, np.array(loop_transfer.TAUGHT))
    report.write()
    # From judgement to answer, and replay: docs/results/loop.md.
    loop_latency.main(options.seed)
    return 0
