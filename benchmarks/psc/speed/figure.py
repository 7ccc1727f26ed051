"""Two figures of product sparse coding: time against the number of words, and IPSC's steps."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np

from benchmarks import figures

Row = dict[str, object]
_COLOURS = {"APSC": "#0072b2", "exact PSC": "#d55e00", "SC": "#009e73"}


def draw(grown: Sequence[Row], steps: Sequence[Row]) -> None:
    """psc-cost and psc-convergence, as SVG and PNG; nothing where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        return
    drawn, axis = figures.pyplot().subplots(figsize=(5.5, 4))
    K = np.array([float(str(row["K"])) for row in grown])
    for name, colour in _COLOURS.items():
        times = [float(str(row[f"{name}, us"])) for row in grown]
        axis.loglog(K, times, "o-", color=colour, label=name, markersize=4)
    start = float(str(grown[0]["APSC, us"]))
    axis.loglog(K, start * np.sqrt(K / K[0]), ":", color="grey", label="square root of K")
    axis.set(xlabel="words K = k^2", ylabel="microseconds a vector", title="Cost against words")
    axis.legend(fontsize=8)
    drawn.tight_layout()
    figures.save(drawn, "psc-cost.svg")
    drawn, axis = figures.pyplot().subplots(figsize=(5.5, 4))
    n = [row["bisections"] for row in steps]
    for column, style in (
        ("above the optimum, mean %", "o-"),
        ("where a split exists, mean %", "x:"),
    ):
        axis.semilogy(n, [row[column] for row in steps], style, label=column, markersize=5)
    axis.set(
        xlabel="bisections (0 is APSC)",
        ylabel="objective above the optimum, %",
        title="IPSC's convergence",
    )
    axis.legend(fontsize=8)
    drawn.tight_layout()
    figures.save(drawn, "psc-convergence.svg")
