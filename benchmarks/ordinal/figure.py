"""The figures of the ordinal benchmark, from the sections' curves alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import figures
from benchmarks.ordinal.runs import LOSSES, TITLES

SHOWN = {
    "SVRG-SBB_eps": ("#d55e00", "-"),
    "SVRG-SBB_0, no guards": ("#e69f00", "-"),
    "SVRG, tuned": ("#009e73", "-"),
    "SVRG, untuned": ("#009e73", ":"),
    "SGD, tuned": ("#0072b2", "-"),
    "SGD, untuned": ("#0072b2", ":"),
    "AdaGrad, tuned": ("#56b4e9", "-"),
    "GD fixed, tuned": ("#cc79a7", "-"),
    "GD fixed, untuned": ("#cc79a7", ":"),
    "GD Armijo": ("#999999", "--"),
    "L-BFGS": ("#000000", "-"),
    "convex": ("#999999", "-."),
}


def draw(sections: Mapping[str, Mapping[str, Any]]) -> None:
    """All figures there are curves for."""
    if "paper" in sections:
        synthetic(sections["paper"]["curves"])
        steps(sections["paper"]["steps"])
    people = sections.get("people", {}).get("curves", {})
    asked = sections.get("questions", {}).get("curves", {})
    if people or asked:
        panels(people, asked)


def synthetic(curves: Mapping[str, Any]) -> None:
    """Test error against passes, a panel a loss; bands are quartiles."""
    pyplot = figures.pyplot()
    drawn, axes = pyplot.subplots(2, 2, figsize=(11, 8), sharex=True)
    for axis, loss in zip(axes.flat, LOSSES, strict=True):
        for name, (colour, style) in SHOWN.items():
            if name not in curves[loss]:
                continue
            grid, low, middle, high = curves[loss][name]
            axis.plot(grid, middle, style, color=colour, label=name, linewidth=1.4)
            axis.fill_between(grid, low, high, color=colour, alpha=0.15, linewidth=0)
        axis.set(title=TITLES[loss], yscale="log", ylabel="generalisation error")
    for axis in axes[1]:
        axis.set(xlabel="gradient evaluations / comparisons (passes)")
    axes[0][0].legend(fontsize=7, ncol=2)
    drawn.tight_layout()
    figures.save(drawn, "ordinal.svg")


def steps(curves: Mapping[str, Any]) -> None:
    """Step size by epoch of the printed algorithm, SBB_0 beside SBB_eps."""
    pyplot = figures.pyplot()
    drawn, axes = pyplot.subplots(1, len(LOSSES), figsize=(14, 3.4))
    for axis, loss in zip(axes.flat, LOSSES, strict=True):
        for name, (epochs, low, middle, high) in curves[loss].items():
            colour = "#e69f00" if "SBB_0" in name else "#d55e00"
            axis.plot(epochs, middle, color=colour, label=name.split(",")[0])
            axis.fill_between(epochs, low, high, color=colour, alpha=0.2, linewidth=0)
        axis.set(title=TITLES[loss], yscale="log", xlabel="epoch", ylabel="step")
    axes[0].legend(fontsize=8)
    drawn.tight_layout()
    figures.save(drawn, "ordinal-steps.svg")


def panels(people: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Error by number of comparisons and dimension; suggested against random questions."""
    pyplot = figures.pyplot()
    count = len(people) + len(asked)
    across = min(3, count)
    down = -(-count // across)
    drawn, axes = pyplot.subplots(down, across, figsize=(4.6 * across, 3.6 * down), squeeze=False)
    spots = iter(axes.flat)
    for name, curve in people.items():
        axis = next(spots)
        for p, errors in curve["errors"].items():
            axis.plot(curve["counts"], errors, "o-", markersize=4, label=f"{p} dimensions")
        axis.set(title=f"{name} (STE, svrg-sbb)", xscale="log", xlabel="comparisons",
                 ylabel="held-out error", ylim=(0, None))  # fmt: skip
        axis.legend(fontsize=7)
    for title, curve in asked.items():
        axis = next(spots)
        for how, style in (("random", "o--"), ("suggested", "o-")):
            axis.plot(curve["counts"], curve[how], style, markersize=3, label=f"{how} questions")
        axis.set(title=title, xlabel="answers", ylabel="held-out error", ylim=(0, None))
        axis.legend(fontsize=7)
    for axis in spots:
        axis.axis("off")
    drawn.tight_layout()
    figures.save(drawn, "ordinal-people.svg")
