"""The figure of the SOLIS benchmark: how much mAP a sparser weight vector costs."""

# ruff: noqa: I001 - the harness pins threads before numerical libraries are loaded
from __future__ import annotations

from likewise.bench import harness

import itertools

from likewise.bench.solis_protocol import METHODS

Row = dict[str, object]


def draw(panels: dict[str, tuple[list[Row], float]]) -> None:
    """Sparsity against mAP, one panel a collection; left as SVG and PNG in docs/results."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn, axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 4), squeeze=False)
    colours = dict(zip(METHODS, ("#0072b2", "#d55e00", "#009e73", "#cc79a7"), strict=True))
    for axis, (title, (rows, plain)) in zip(axes[0], panels.items(), strict=True):
        for method, word_cost in itertools.product(METHODS, ("none", "df")):
            here = [r for r in rows if (r["method"], r["word_cost"]) == (method, word_cost)]
            axis.plot(
                [r["sparsity %"] for r in here],
                [r["mAP %"] for r in here],
                "o-" if word_cost == "none" else "x:",
                color=colours[method],
                label=method.upper() + ("" if word_cost == "none" else ", cost by df"),
                markersize=4,
            )
        axis.axhline(100 * plain, color="grey", linewidth=1, label="TF-IDF")
        axis.set(title=title, xlabel="weights that are exactly zero, %", ylabel="mAP, %")
    axes[0][0].legend(fontsize=7)
    drawn.tight_layout()
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    drawn.savefig(harness.RESULTS / "solis.svg", metadata={"Date": None})
    drawn.savefig(harness.RESULTS / "solis.png", dpi=110)
    pyplot.close(drawn)
