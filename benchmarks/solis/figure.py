"""The figure of the SOLIS benchmark: how much mAP a sparser weight vector costs."""

from __future__ import annotations

import itertools

from benchmarks import figures
from benchmarks.solis.protocol import METHODS

Row = dict[str, object]
COLUMNS = 2


def draw(panels: dict[str, tuple[list[Row], float]]) -> None:
    """Sparsity among touched words against mAP, one panel a collection; SVG and PNG."""
    down = -(-len(panels) // COLUMNS)
    drawn, axes = figures.pyplot().subplots(
        down, COLUMNS, figsize=(5 * COLUMNS, 3.6 * down), squeeze=False
    )
    colours = dict(zip(METHODS, ("#0072b2", "#d55e00", "#009e73", "#cc79a7"), strict=True))
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (title, (rows, plain)) in zip(axes.flat, panels.items(), strict=False):
        for method, word_cost in itertools.product(METHODS, ("none", "df")):
            here = [r for r in rows if (r["method"], r["word_cost"]) == (method, word_cost)]
            axis.plot(
                [r["of touched %"] for r in here],
                [r["mAP %"] for r in here],
                "o-" if word_cost == "none" else "x:",
                color=colours[method],
                label=method.upper() + ("" if word_cost == "none" else ", cost by df"),
                markersize=4,
            )
        axis.axhline(100 * plain, color="grey", linewidth=1, label="TF-IDF")
        axis.set(title=title, xlabel="touched words with weight zero, %", ylabel="mAP, %")
    if panels:
        axes[0][0].legend(fontsize=7)
    drawn.tight_layout()
    figures.save(drawn, "solis.svg")
