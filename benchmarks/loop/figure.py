"""The figures of the loop benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks import figures
from benchmarks.loop.methods import BOTH, PLAIN, PROFILE, QUERY, ROCCHIO
from benchmarks.loop.protocol import ROUNDS, Tally

STYLE: dict[str, tuple[str, str, str]] = {
    PLAIN: ("no learning", "#888888", "-"),
    "OASIS": ("OASIS", "#56b4e9", ":"),
    "SOLIS from zeros": ("SOLIS from zeros", "#0072b2", ":"),
    PROFILE: ("profile part", "#0072b2", "--"),
    "linear SVM": ("linear SVM", "#cc79a7", "-."),
    ROCCHIO: ("Rocchio 3, .5", "#e69f00", "--"),
    "Rocchio, tuned": ("Rocchio, tuned", "#e69f00", "-"),
    QUERY: ("query part", "#009e73", "--"),
    BOTH: ("both (product)", "#d55e00", "-"),
}


def rounds(tallies: Mapping[str, Tally], name: str = "loop") -> None:
    """mAP on the common rest (above) and positives found in the own loop (below), by round."""
    drawn, axes = figures.pyplot().subplots(
        2, len(tallies), figsize=(4 * len(tallies), 7), squeeze=False
    )
    numbers = np.arange(1, ROUNDS + 1)
    for column, (title, tally) in enumerate(tallies.items()):
        for row, stage in enumerate(("round", "found")):
            axis = axes[row][column]
            for method, (label, colour, line) in STYLE.items():
                if method not in tally.values:
                    continue
                values = [_mean(tally, method, f"{stage} {r}") for r in numbers]
                width = 2.2 if method == BOTH else 1.3
                axis.plot(numbers, values, line, color=colour, label=label, linewidth=width)
            axis.set_xticks(numbers)
            axis.set_ylim(bottom=0)
            axis.set_xlabel("rounds of 20 judged")
        axes[0][column].set_title(title, fontsize=10)
    axes[0][0].set_ylabel("mAP on the rest, same judgements, %")
    axes[1][0].set_ylabel("positives found, own loop, %")
    axes[1][-1].legend(fontsize=7, loc="lower right")
    drawn.tight_layout()
    figures.save(drawn, f"{name}.svg")


def _mean(tally: Tally, method: str, stage: str) -> float:
    known = tally.values[method].get(stage)
    return 100 * tally.mean(method, stage) if known else float("nan")


def clicks_and_transfer(
    noisy: Mapping[str, Mapping[float, Tally]], taught: Mapping[str, Tally], counts: Any
) -> None:
    """Wrong clicks (above) and what a profile does for queries never judged (below)."""
    drawn, axes = figures.pyplot().subplots(
        2, len(noisy), figsize=(4 * len(noisy), 7), squeeze=False
    )
    for column, (title, by_share) in enumerate(noisy.items()):
        axis = axes[0][column]
        for method, (label, colour, line) in STYLE.items():
            if method not in next(iter(by_share.values())).values:
                continue
            values = [_mean(tally, method, f"frozen {ROUNDS}") for tally in by_share.values()]
            axis.plot([100 * w for w in by_share], values, line, color=colour, label=label)
        axis.set(title=title, xlabel="wrong clicks, %")
        axis.set_ylim(bottom=0)
        below = axes[1][column]
        tally = taught[title]
        for kind, colour in (("same", "#0072b2"), ("other", "#d55e00")):
            stages = [f"{kind} {n}" for n in counts if f"{kind} {n}" in tally.values["plain"]]
            gaps = [tally.gap("profile", "plain", [stage]) for stage in stages]
            below.errorbar(
                [int(stage.split()[1]) for stage in stages],
                [100 * gap for gap, _ in gaps],
                [100 * error for _, error in gaps],
                color=colour,
                capsize=3,
                label=f"queries of {'the same class' if kind == 'same' else 'other classes'}",
            )
        below.axhline(0, color="grey", linewidth=1)
        below.set_xlabel("judgements of one class")
    axes[0][0].set_ylabel(f"frozen mAP after {ROUNDS} rounds, %")
    axes[1][0].set_ylabel("change of mAP by the profile alone, points")
    axes[0][0].legend(fontsize=7)
    axes[1][0].legend(fontsize=7)
    drawn.tight_layout()
    figures.save(drawn, "loop-clicks.svg")
