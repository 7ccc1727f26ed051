"""The figure of the S3ML benchmark: error, MAP, and CPU time of T against the number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks import figures

SHOWN = {
    "Euclidean": "#999999",
    "LRML": "#e69f00",
    "NCA": "#56b4e9",
    "LMNN": "#009e73",
    "ITML": "#f0e442",
    "SDML": "#cc79a7",
    "S2ML": "#d55e00",
    "S3ML": "#0072b2",
}
WAYS = {"dense": "o--", "push": "s-", "dense, theta 0": "^--", "matrix-free": "v-"}


def draw(parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Three panels; SVG and PNG in docs/results."""
    drawn, axes = figures.pyplot().subplots(3, 1, figsize=(9, 11))
    _bars(axes[0], parts["uci"].get("errors", {}), "1-NN error, %")
    _bars(axes[1], parts["retrieval"].get("precision", {}), "MAP, %")
    rows = parts["propagation"].get("rows", [])
    for way, style in WAYS.items():
        here = [r for r in rows if r["way"] == way and r["features"] == 225]
        axes[2].loglog([r["rows"] for r in here], [r["CPU s"] for r in here], style, label=way)
    axes[2].set(xlabel="rows, 225 features", ylabel="CPU s of T, one thread")
    axes[2].legend(fontsize=8)
    drawn.tight_layout()
    figures.save(drawn, "s3ml.svg")


def _bars(axis: Any, found: Mapping[str, Mapping[str, Any]], title: str) -> None:
    """A group of bars for each set."""
    width = 0.8 / len(SHOWN)
    for m, (method, colour) in enumerate(SHOWN.items()):
        values = [np.array(f.get(method, [np.nan]), float) for f in found.values()]
        heights = [100 * np.nanmean(v) if not np.isnan(v).all() else 0 for v in values]
        if any(heights):
            places = np.arange(len(heights)) + (m - len(SHOWN) / 2) * width
            axis.bar(places, heights, width, color=colour, label=method)
    axis.set_xticks(range(len(found)), [name.replace(", ", ",\n") for name in found], fontsize=8)
    axis.set_ylabel(title)
    # Room above the bars, so that no name hides one.
    axis.set_ylim(0, 1.3 * axis.get_ylim()[1])
    axis.legend(fontsize=7, ncol=4, loc="upper right")
