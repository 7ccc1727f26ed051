"""The reliability of confidence, drawn: what was said against what was right."""

from __future__ import annotations

from pathlib import Path

from benchmarks import figures
from benchmarks.tags.quality import Quality, reliability

_COLOURS = {"deep-dense": "#d55e00", "holistic": "#0072b2", "look": "#009e73"}


def draw(found: list[Quality], folder: Path | None = None) -> None:
    """A panel for each set and number of tagged pictures, a line for each space; PNG."""
    panels = list(dict.fromkeys(_panel(one) for one in found))
    drawn, axes = figures.pyplot().subplots(
        1, len(panels), figsize=(3.2 * len(panels), 3.5), squeeze=False, sharey=True
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        axis.plot([0, 1], [0, 1], color="#999999", linewidth=1)
        for one in (one for one in found if _panel(one) == panel):
            points = reliability(one.said("top"))
            most = max(n for n, _, _ in points)
            colour = _COLOURS.get(one.setting.space, "#999999")
            said, right = [p[1] for p in points], [p[2] for p in points]
            axis.plot(said, right, color=colour, linewidth=1, label=one.setting.space)
            sizes = [8 + 120 * n / most for n, _, _ in points]
            axis.scatter(said, right, s=sizes, color=colour, alpha=0.6, linewidths=0)
        axis.set(title=panel, xlabel="confidence said", xlim=(0, 1), ylim=(0, 1))
        axis.title.set_fontsize(9)
    axes[0][0].set_ylabel("share right")
    axes[0][0].legend(fontsize=8, loc="lower right")
    drawn.tight_layout()
    figures.save(drawn, "tags.png", folder=folder)


def _panel(one: Quality) -> str:
    return f"{one.setting.data}, {one.splits[0].tagged} tagged"
