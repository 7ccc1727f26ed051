"""``make bench-siso``: SISO and hash-SISO against six other ways to tag.

Quality and time at 10 to 100 % of the training pictures; every method chooses among six settings on
the same validation part of the training pictures.  Speed of the lasso itself: ``siso_speed``.
"""

from __future__ import annotations

from typing import Any

from benchmarks import harness
from benchmarks.siso.figure import draw
from benchmarks.siso.methods import METHODS, Method, Settings, said
from benchmarks.siso.results import Results, by_share, scorings, with_all, write_runs
from benchmarks.siso.runs import (
    SEEDS,
    SHARES,
    chosen,
    induction,
    run,
    tune,
    tuning_size,
    warm_up,
)
from benchmarks.siso.sets import Task, tasks

Row = dict[str, Any]


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


def at_edges(results: Results) -> list[Row]:
    """Which settings lie at an end of what was tried, so that more might lie beyond."""
    made: list[Row] = []
    for method in METHODS:
        tried = {key: sorted({s[key] for s in method.grid}) for s in method.grid[:1] for key in s}
        for task in results.tasks:
            for row in results.some(task, method.name, SHARES[-1])[:1]:
                for key, values in tried.items():
                    value = row["settings"][key]
                    if len(values) > 2 and value in (values[0], values[-1]):
                        made.append(
                            {"data": task, "method": method.name, "setting": key, "value": value}
                        )
    return made


def main() -> None:
    full = harness.arguments(__doc__ or "").full
    report = harness.Report(
        "siso",
        "SISO against six other ways to tag",
        "full" if full else "default",
        {"shares": ", ".join(f"{s:.0%}" for s in SHARES), "seeds": ", ".join(map(str, SEEDS))},
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
    for task_name, what in about.items():
        report.add(f"{task_name} ({what}): MAP % against training pictures",
                   by_share(results, task_name))  # fmt: skip
        report.add(f"{task_name}: all training pictures", with_all(results, task_name))
    report.add("Signed against positive scores (SISO), MAP %", scorings(results))
    report.add("SISO's alpha: MAP % on the validation part", paths)
    report.add("Graph methods: queries in the graph, or joined later", later)
    report.add("Settings at an end of their range, all pictures", at_edges(results))
    report.left_out += missing
    draw(results)
    path = report.write()
    write_runs(results, path.with_name("siso-runs.csv"))
