"""The six small figures of docs/results/README.md, drawn from the tables of the pages behind them.

``python -m benchmarks.glance``.  Nothing is measured here: every number is read from a CSV that a
benchmark left, so that no figure can say something else than its page.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import figures, harness

OURS, PEER, THIRD, GREY = "#0072b2", "#d55e00", "#009e73", "#777777"
SIZE = (3.4, 1.5)
PAPER = {"paper, exact": 45.8e3, "paper, hashed": 1.52e3}
"""ms for one picture over 1.2 million, as the SISO paper reports them."""

Row = dict[str, str]


def rows(page: str, table: str, folder: Path | None = None) -> list[Row]:
    """The rows of the first table of a page whose name begins so."""
    path = (folder or harness.RESULTS) / f"{page}.csv"
    with path.open(newline="") as file:
        every = list(csv.DictReader(file))
    found = next((row["table"] for row in every if row["table"].startswith(table)), None)
    if found is None:
        raise LookupError(f"{path}: no table begins with {table!r}")
    return [row for row in every if row["table"] == found]


def siso(axis: Any) -> None:
    here = [r for r in rows("siso-speed", "Time against the number") if r["search"] == "exact"]
    x, y = [float(r["pictures"]) for r in here], [float(r["ms a query"]) for r in here]
    axis.loglog(x, y, "o-", color=OURS, markersize=3)
    axis.annotate("ours, exact", (x[1], y[1]), (0, 5), textcoords="offset points", color=OURS)
    for (name, ms), mark in zip(PAPER.items(), ("s", "D"), strict=True):
        axis.plot([1.2e6], [ms], mark, color=PEER, markersize=4)
        axis.annotate(
            name, (1.2e6, ms), (-6, -3), textcoords="offset points", color=PEER, ha="right"
        )
    axis.set(title="SISO: ms for one picture over n", xlim=(7e3, 2e6), ylim=(8, 1.5e5))


def psc(axis: Any) -> None:
    here = rows("psc-speed", "Time against the number of words")
    x = [float(r["K"]) for r in here]
    for name, column, colour in (("SC", "SC, us", PEER), ("PSC, exact", "exact PSC, us", OURS)):
        y = [float(r[column]) for r in here]
        axis.loglog(x, y, "o-", color=colour, markersize=3)
        axis.annotate(name, (x[1], y[1]), (0, 5), textcoords="offset points", color=colour)
    axis.set(title="PSC: µs for a code over K words", ylim=(0.8, 5e3))


def s3ml(axis: Any) -> None:
    here = rows("s3ml", "Second set")
    kinds = [("QUIC (skggm)", "QUIC", PEER), ("skglm, dual", "skglm", THIRD)]
    kinds.append(("gglasso (ADMM)", "gglasso", GREY))
    for place, (solver, name, colour) in enumerate(reversed(kinds)):
        times = [float(r["times ours"]) for r in here if r["solver"] == solver]
        axis.plot(times, [place] * len(times), "o", color=colour, markersize=4, alpha=0.8)
        axis.annotate(name, (0.21, place), va="center", color=colour)
    axis.axvline(1, color=OURS)
    axis.annotate("ours", (1, 2.45), (3, 0), textcoords="offset points", color=OURS, va="center")
    axis.set(
        title="Inverse covariance: times as long as ours",
        xscale="log", xlim=(0.2, 60), ylim=(-0.6, 2.8), yticks=[],
    )  # fmt: skip
    axis.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    axis.minorticks_off()


def ordinal(axis: Any) -> None:
    here = rows("ordinal", "Against cblearn: plain fits")
    bars = []
    for loss in ("GNMDS", "STE"):
        same = [r for r in here if (r["loss"], r["objects"]) == (loss, "1000")]
        theirs = next(r for r in same if r["library"].startswith("cblearn"))
        ours = next(r for r in same if r["solver"] == "adagrad")
        bars += [(f"cblearn, {loss}", float(theirs["CPU s"]), PEER)]
        bars += [(f"ours, {loss}", float(ours["CPU s"]), OURS)]
    bar_chart(axis, bars, "Map of 1,000 objects: time of a fit (log)", "{:.2g} s")
    axis.set(xscale="log", xlim=(0.03, 40))
    axis.tick_params(axis="x", which="both", bottom=False, labelbottom=False)


def solis(axis: Any) -> None:
    here = {r["method"]: float(r["mAP %"]) for r in rows("solis", "oxford1k, 100,000 words: ")}
    shown = [
        ("linear SVM", "linear SVM", GREY), ("Rocchio", "Rocchio", GREY), ("LMNN", "LMNN", PEER),
        ("SOLIS ada", "SOLIS (ADA)", OURS), ("OASIS", "OASIS", PEER), ("TF-IDF", "TF-IDF", GREY),
    ]  # fmt: skip
    bars = [(name, here[method], colour) for method, name, colour in shown]
    bar_chart(axis, bars, "SOLIS: mAP, oxford1k, 100,000 words", "{:.0f}")
    axis.set_xlim(0, 100)


def staying(axis: Any) -> None:
    here = [r for r in rows("staying", "learning") if r["set"] == "caltech101"]
    ours = next(r for r in here if r["method"] == "local metric")
    counts = [name for name in ("1", "3", "10", "30", "100", "300", "1000") if ours[name]]
    axis.semilogx(
        [int(c) for c in counts], [float(ours[c]) for c in counts], "o-", color=OURS, markersize=3
    )
    axis.annotate("local metric", (30, 84.6), color=OURS, ha="right")
    for method, name, colour in (
        ("fitted space, nothing learned", "nothing learned", GREY),
        ("deep, nothing learned", "the network's own features", PEER),
    ):
        level = float(next(r for r in here if r["method"] == method)["0"])
        axis.axhline(level, color=colour, linewidth=1)
        axis.annotate(
            name, (1000, level), (0, -9), textcoords="offset points", color=colour, ha="right"
        )
    axis.set(title="Staying: mAP after n judged pages", ylim=(71, 88))


def bar_chart(axis: Any, bars: list[tuple[str, float, str]], title: str, form: str) -> None:
    """Named bars, the first one on top, each with its number."""
    names, lengths, colours = zip(*reversed(bars), strict=True)
    made = axis.barh(names, lengths, color=colours, height=0.7)
    axis.bar_label(made, [form.format(length) for length in lengths], padding=2)
    axis.set_title(title)
    axis.set_xticks([])
    axis.tick_params(axis="y", length=0)


PANELS: dict[str, Callable[[Any], None]] = {
    "siso": siso, "psc": psc, "s3ml": s3ml, "ordinal": ordinal, "solis": solis, "staying": staying,
}  # fmt: skip


def main() -> None:
    plt = figures.pyplot()
    # One size for all text: the page shows the figures as large as they are drawn.
    small = {"font.size": 7.5, "axes.titlesize": 8, "axes.spines.top": False}
    with plt.rc_context({**small, "axes.spines.right": False, "axes.titlelocation": "left"}):
        for name, draw in PANELS.items():
            drawn, axis = plt.subplots(figsize=SIZE, layout="constrained")
            draw(axis)
            figures.save(drawn, f"glance-{name}.svg")


if __name__ == "__main__":
    main()
