"""The picture of a cross-validated curve; matplotlib is imported when somebody draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise_methods.ordinal.validating import Curve

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def plot_curve(curve: Curve, axis: Any = None) -> Any:
    """Held-out error against comparisons, a line a dimension, the noise rate dashed."""
    if axis is None:
        from matplotlib import pyplot

        axis = pyplot.subplots()[1]
    for d, p in enumerate(curve.dimensions):
        axis.errorbar(
            curve.counts,
            curve.error[d],
            yerr=curve.spread[d],
            marker="o",
            markersize=4,
            capsize=2,
            color=_COLOURS[d % len(_COLOURS)],
            label=f"{p} dimension{'s' if p > 1 else ''}",
        )
    label = "noise, at most" if curve.noise.at_most else "noise, from repeats"
    axis.axhline(curve.noise.rate, color="grey", linestyle="--", linewidth=1, label=label)
    axis.set(xlabel="comparisons", ylabel="held-out error", ylim=(0, None))
    axis.legend(fontsize=8)
    return axis
