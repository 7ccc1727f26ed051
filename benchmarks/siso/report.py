"""``make bench-siso``: SISO and hash-SISO against six other ways to tag.

Quality and time at 10 to 100 % of the training pictures; every method chooses among six settings on
the same validation part of the training pictures.  Speed of the lasso itself: ``siso_speed``.
"""

from __future__ import annotations

from typing import Any

from benchmarks import harness
from benchmarks.siso.figure import draw
from benchmarks.siso.methods import METHODS, N_SETTINGS, Method, Settings, said
from benchmarks.siso.results import Results, by_share, scorings, with_all, write_runs
from benchmarks.siso.runs import (
    SEEDS,
    SHARES,
    TUNING_QUERIES,
    TUNING_ROWS,
    chosen,
    induction,
    run,
    tune,
    tuning_size,
    warm_up,
)
from benchmarks.siso.sets import FULL_SIZE, FULL_TEST, Task, tasks
from benchmarks.siso.trends import TIE, trends

Row = dict[str, Any]
PREFACE = (
    "How well SISO tags, beside the methods its paper compares it with, on data that is at hand. "
    "How fast its lasso is, and what an index costs and saves on up to a million pictures, is on "
    "[another page](siso-speed.md) (`make bench-siso-speed`)."
)


def settings_for(task: Task, methods: list[Method]) -> dict[tuple[str, float], Settings]:
    """What each method chose for each share; shares of one tuning size share the choice."""
    made: dict[tuple[str, float], Settings] = {}
    for method in methods:
        for share in SHARES:
            if method.like:
                made[method.name, share] = made[method.like, share]
            else:
                made[method.name, share] = chosen(tune(task, method, tuning_size(task, share)))
    return made


def runs_of(task: Task, methods: list[Method]) -> list[Row]:
    """All runs of a task.  With all pictures only methods that draw lots run for every seed."""
    choice = settings_for(task, methods)
    made = []
    for method in methods:
        for share in SHARES:
            again = share < 1 or method.chance or len(task.X) > 10_000
            for seed in SEEDS if again else SEEDS[:1]:
                settings = choice[method.name, share]
                row = run(task, method, share, seed, settings)
                made.append(
                    {
                        "task": task.name,
                        "method": method.name,
                        "share": share,
                        "seed": seed,
                        "settings": settings,
                        **row,
                    }
                )
    return made


def part_in(task: Task) -> list[Method]:
    """The methods of a task."""
    return [m for m in METHODS if not task.methods or m.name in task.methods]


def alphas(task: Task) -> Row:
    """Validation MAP of SISO for every alpha, at the largest tuning size."""
    tried = tune(task, METHODS[0], tuning_size(task, SHARES[-1]))
    return {"data": task.name} | {said(row["settings"]): f"{100 * row['MAP']:.1f}" for row in tried}


def joined(task: Task, results: Results) -> list[Row]:
    """Graph methods with the queries in the graph, and with queries that come later."""
    made = []
    last = SHARES[-1]
    for method in part_in(task):
        if method.kind == "graph":
            one = results.some(task.name, method.name, last)[0]
            later = induction(task, method, one["settings"])
            made.append(
                {
                    "data": task.name,
                    "method": method.name,
                    "MAP %, in the graph": f"{100 * one['MAP']:.1f}",
                    "MAP %, joined later": f"{100 * later['MAP']:.1f}",
                    "construction s, in the graph": one["construction s"],
                    "construction s, joined later": later["construction s"],
                    "prediction ms, joined later": later["prediction ms"],
                }
            )
    return made


def at_edges(results: Results) -> str:
    """Which settings lie at an end of what was tried, so that more might lie beyond."""
    found: dict[str, list[str]] = {}
    for method in METHODS:
        tried = {key: sorted({s[key] for s in method.grid}) for s in method.grid[:1] for key in s}
        for task in results.tasks:
            for row in results.some(task, method.name, SHARES[-1])[:1]:
                for key, values in tried.items():
                    if len(values) > 2 and row["settings"][key] in (values[0], values[-1]):
                        text = f"{method.name} {key} {row['settings'][key]:g}"
                        found.setdefault(text, []).append(task)
    if not found:
        return "No setting chosen for all pictures lies at an end of its range."
    parts = "; ".join(f"{text} ({', '.join(where)})" for text, where in found.items())
    return f"Settings chosen for all pictures that lie at an end of their range: {parts}."


def notes(missing: list[str], full: bool) -> list[str]:
    """What a reader must know to read the tables."""
    made = [
        "MAP in %: for each tag the test pictures are ranked by its score; mean over tags that "
        "have one. ± is the standard deviation over the seeds, which draw the training pictures; "
        "with all of them only methods that draw lots themselves (hashing) differ. Test pictures "
        "are always the same.",
        f"Settings: each method (hash-SISO: those of SISO) chooses among {N_SETTINGS} by MAP on "
        f"{TUNING_QUERIES} training pictures (a fifth of a smaller set), fitted on as many others "
        f"as the share has, at most {TUNING_ROWS:,}; drawn with a seed that no table shows. "
        "Shares above that bound therefore share a choice.",
        'hash-SISO is `search="lsh", certify=False`: with `certify` its scores are those of '
        "SISO, whatever the index finds.",
        "LNP, EGSSC and LSMP-like have the test pictures in their graph, as in the papers; all "
        "their time is construction. LSMP-like is the l1 graph with EGSSC's update: LSMP's own "
        "objective is not in the SISO paper. SVM trains on at most 10,000 pictures.",
        "CPU time, one thread, on a shared machine: read ratios. Making the features is not "
        "counted. `s for 1,000` is construction plus a thousand predictions.",
        "CIFAR-10: of its 50,000 training and 10,000 test pictures as many as the headings say, "
        "class by class in turn"
        + ("" if full else f"; fewer of the wide rows, to end in time (FULL=1: {FULL_SIZE[0]:,})")
        + ". The visual words are learned from training pictures. A top-5 flat cost over ten "
        "classes is .5 by chance.",
        f"A gap within {100 * TIE:g} points of MAP ({TIE:g} of flat cost) is called a tie. The "
        "paper's LASSO, a general solver over all pictures, is timed on the page on speed.",
        "MAP and time against the number of training pictures: siso.svg; every run: siso-runs.csv.",
    ]
    if full:
        limits = ", ".join(f"{name} {n:,}" for name, n in FULL_TEST.items())
        made.append(f"Of the large sets so many test pictures are drawn: {limits}.")
    else:
        made.append(
            "FULL=1 also runs NUS-WIDE-LITE, NUS-WIDE and ILSVRC2010 from their official files "
            "below LIKEWISE_DATA/nuswide-lite, nuswide and ilsvrc2010."
        )
    return made + [f"Not run: {text}." for text in missing]


def main() -> None:
    full = harness.arguments(__doc__ or "").full
    report = harness.Report(
        "siso",
        "SISO against six other ways to tag",
        "full" if full else "default",
        {"shares": ", ".join(f"{s:.0%}" for s in SHARES), "seeds": ", ".join(map(str, SEEDS))},
        preface=[PREFACE],
    )
    warm_up()
    missing: list[str] = []
    rows: list[Row] = []
    paths: list[Row] = []
    later: list[Row] = []
    about: dict[str, str] = {}
    for task in tasks(full, missing):
        rows += runs_of(task, part_in(task))
        paths.append(alphas(task))
        later += joined(task, Results(rows))
        about[task.name] = task.about
    results = Results(rows)
    report.add("Which of the paper's trends hold, and which do not", trends(results))
    for task_name, what in about.items():
        report.add(f"{task_name} ({what}): MAP % against training pictures",
                   by_share(results, task_name))  # fmt: skip
        report.add(f"{task_name}: all training pictures", with_all(results, task_name))
    report.add("Signed against positive scores (SISO), MAP %", scorings(results))
    report.add("SISO's alpha: MAP % on the validation part", paths)
    report.add("Graph methods: queries in the graph, or joined later", later)
    report.notes += [*notes(missing, full), at_edges(results)]
    draw(results)
    path = report.write()
    write_runs(results, path.with_name("siso-runs.csv"))
