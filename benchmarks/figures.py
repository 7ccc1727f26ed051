"""Figures of benchmarks: drawn without a screen, left in docs/results, the same bytes every run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import harness


def pyplot() -> Any:
    """matplotlib's pyplot, of the extra ``bench``; imported only where something is drawn."""
    import matplotlib

    matplotlib.use("Agg")
    # Ids and dates would differ in every run.
    matplotlib.rcParams["svg.hashsalt"] = "likewise"
    from matplotlib import pyplot

    return pyplot


def save(drawn: Any, *names: str, folder: Path | None = None) -> None:
    """Write a laid out figure under these names (``siso.svg``), and let go of it."""
    folder = harness.RESULTS if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        how = {"metadata": {"Date": None}} if name.endswith(".svg") else {"dpi": 110}
        drawn.savefig(folder / name, **how)
    pyplot().close(drawn)
