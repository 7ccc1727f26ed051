"""The figure: queries nobody judged, against how much was judged, one panel a set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks import figures
from benchmarks.staying.learning import DEEP, LOCAL, OLD, SPACE, Outcome
from benchmarks.staying.protocol import COUNTS

LINES = {
    "with what was judged": (SPACE, LOCAL, "#d55e00", "-"),
    "without judgements": (SPACE, None, "#888888", "-"),
    "before: old space, old profile": (DEEP, OLD, "#0072b2", "--"),
}
TICKS = (0, 1, 10, 100, 1000)
_LEAST_SPAN = 4.0


def draw(outcomes: Sequence[Outcome], name: str = "staying") -> None:
    """mAP of queries nobody judged by the number of judgements; 0 stands left of 1."""
    if not outcomes:
        return
    drawn, axes = figures.pyplot().subplots(
        1, len(outcomes), figsize=(2.6 * len(outcomes), 3.1), squeeze=False
    )
    for axis, outcome in zip(axes[0], outcomes, strict=True):
        counts = [n for n in COUNTS if outcome.maps[LOCAL].get(n)]
        places = [place(n) for n in (0, *counts)]
        drawn_values = []
        for label, (start, learned, colour, line) in LINES.items():
            first = float(np.mean(outcome.maps[start][0]))
            rest = [
                first if learned is None else float(np.mean(outcome.maps[learned][n]))
                for n in counts
            ]
            width = 2.2 if learned == LOCAL else 1.5
            axis.plot(places, [first, *rest], line, color=colour, label=label, linewidth=width)
            drawn_values += [first, *rest]
        low, high = min(drawn_values), max(drawn_values)
        spare = max(_LEAST_SPAN - (high - low), 0) / 2 + 0.08 * (high - low)
        axis.set_ylim(low - spare, min(high + spare, 100))
        axis.set_xticks([place(n) for n in TICKS], [f"{n:,}" for n in TICKS], fontsize=8)
        axis.set_xlim(-0.9, place(TICKS[-1]) + 0.15)
        axis.tick_params(axis="y", labelsize=8)
        axis.set_title(outcome.name, fontsize=10)
        axis.grid(axis="y", color="#dddddd", linewidth=0.6)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0][0].set_ylabel("mAP, %", fontsize=9)
    handles, labels = axes[0][0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="upper center", ncol=3, fontsize=9, frameon=False)
    drawn.supxlabel("pages of 20 judged, about other queries than those asked", fontsize=9)
    drawn.tight_layout(rect=(0, 0, 1, 0.91))
    figures.save(drawn, f"{name}.svg")


def place(count: int) -> float:
    """Where a number stands on the axis: tens are equally far apart, and so are 0 and 1."""
    return float(np.log10(count)) if count else -0.7
