"""All runs of the SISO benchmark as means over seeds, and the tables made of them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.siso.methods import METHODS, said

Row = dict[str, Any]
SCORINGS = {"signed": "MAP", "positive": "MAP positive", "signed / l1 norm": "MAP by length"}
GRAPHS = {method.name for method in METHODS if method.kind == "graph"}
_COSTS = ("P@5", "R@5", "N+", "top-5 flat cost", "top-1 flat cost")


class Results:
    """Rows with task, method, share, seed, settings and figures."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self.tasks = list(dict.fromkeys(row["task"] for row in self.rows))
        self.shares = sorted({row["share"] for row in self.rows})

    def methods(self, task: str) -> list[str]:
        """Who took part in a task, in order of appearance."""
        return list(dict.fromkeys(r["method"] for r in self.rows if r["task"] == task))

    def some(self, task: str, method: str, share: float) -> list[Row]:
        """The runs of one cell, one a seed."""
        wanted = (task, method, share)
        return [r for r in self.rows if (r["task"], r["method"], r["share"]) == wanted]

    def mean(self, task: str, method: str, share: float, what: str = "MAP") -> float:
        """Mean over the seeds."""
        return float(np.mean([row[what] for row in self.some(task, method, share)]))

    def spread(self, task: str, method: str, share: float, what: str = "MAP") -> float:
        """Standard deviation over the seeds; not a number for one run."""
        values = [row[what] for row in self.some(task, method, share)]
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

    def total(self, task: str, method: str, share: float) -> float:
        """CPU seconds to construct and to tag a thousand pictures (graphs: the test pictures)."""
        return self.mean(task, method, share, "construction s") + self.mean(
            task, method, share, "prediction ms"
        )


def by_share(results: Results, task: str) -> list[Row]:
    """MAP of every method against the share of training pictures."""
    made = []
    for method in results.methods(task):
        row: Row = {"method": method}
        for share in results.shares:
            mean, spread = (f(task, method, share) for f in (results.mean, results.spread))
            row[f"{share:.0%}"] = f"{100 * mean:.1f}" + (
                "" if np.isnan(spread) else f" ± {100 * spread:.1f}"
            )
        for share in (results.shares[0], results.shares[-1]):
            chosen = results.some(task, method, share)[0]["settings"]
            row[f"settings at {share:.0%}"] = said(chosen)
        made.append(row)
    return made


def with_all(results: Results, task: str) -> list[Row]:
    """Every figure with all training pictures."""
    made = []
    last = results.shares[-1]
    for method in results.methods(task):
        one = results.some(task, method, last)[0]
        row: Row = {"method": method, "MAP %": f"{100 * results.mean(task, method, last):.1f}"}
        for what in _COSTS:
            if what in one:
                value = results.mean(task, method, last, what)
                row[what] = f"{value:.0f}" if what == "N+" else f"{value:.3f}"
        row["construction s"] = results.mean(task, method, last, "construction s")
        row["prediction ms a picture"] = (
            "(in construction)"
            if method in GRAPHS
            else results.mean(task, method, last, "prediction ms")
        )
        row["s for 1,000"] = results.total(task, method, last)
        made.append(row)
    return made


def scorings(results: Results, method: str = "SISO") -> list[Row]:
    """The same codes scored in three ways."""
    made = []
    for task in results.tasks:
        for name, what in SCORINGS.items():
            row: Row = {"data": task, "scores": name}
            for share in results.shares:
                row[f"{share:.0%}"] = f"{100 * results.mean(task, method, share, what):.1f}"
            made.append(row)
    return made


def write_runs(results: Results, path: Path) -> None:
    """Every run as a line of a CSV file."""
    rows = [{**row, "settings": said(row["settings"])} for row in results.rows]
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        table.writeheader()
        table.writerows(
            {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows
        )
