"""The figures of the SISO benchmark: MAP and time against the number of training pictures."""

from __future__ import annotations

from pathlib import Path

from benchmarks import figures
from benchmarks.siso.results import Results

COLOURS = {
    "SISO": ("#d55e00", "o-"),
    "hash-SISO": ("#d55e00", "o:"),
    "KNN": ("#0072b2", "s-"),
    "ridge (RRML)": ("#009e73", "^-"),
    "SVM": ("#000000", "D-"),
    "LNP": ("#cc79a7", "v-"),
    "EGSSC": ("#e69f00", "x-"),
    "LSMP-like": ("#56b4e9", "+-"),
}


def draw(results: Results, folder: Path | None = None) -> None:
    """One column a data set: MAP above, CPU seconds below; SVG and PNG."""
    n = max(len(results.tasks), 1)
    drawn, axes = figures.pyplot().subplots(2, n, figsize=(3.4 * n, 6.4), squeeze=False)
    for column, task in enumerate(results.tasks):
        above, below = axes[0][column], axes[1][column]
        for method in results.methods(task):
            colour, style = COLOURS[method]
            rows = [results.mean(task, method, s, "rows") for s in results.shares]
            maps = [100 * results.mean(task, method, s) for s in results.shares]
            times = [results.total(task, method, s) for s in results.shares]
            above.plot(rows, maps, style, color=colour, label=method, markersize=4)
            below.semilogy(rows, times, style, color=colour, markersize=4)
        above.set(title=task, ylabel="MAP, %" if column == 0 else "")
        label = "CPU s: construction and 1,000 pictures" if column == 0 else ""
        below.set(xlabel="training pictures", ylabel=label)
    if results.tasks:
        # Of the task with most methods: all others show some of the same.
        most = max(axes[0], key=lambda axis: len(axis.get_lines()))
        drawn.legend(*most.get_legend_handles_labels(), loc="lower center", ncols=8, fontsize=8)
    drawn.tight_layout(rect=(0, 0.05, 1, 1))
    figures.save(drawn, "siso.svg", folder=folder)
