"""Retrieval with pooled codes: mAP before and after whitening, and what fuses well with words."""

from __future__ import annotations

from typing import Any

from benchmarks import harness
from benchmarks.deep.report import precision, ranking, scores, shares_of
from benchmarks.deep.rows import SpaceRows, space_rows
from benchmarks.psc.data import Dense, dense, there
from benchmarks.psc.rows import Coder, Work, made, psc, sc, vlad
from likewise.spaces.pooled import RIDGE, VladSpace
from likewise.vision.local import DenseSIFT
from likewise_methods.coding.whitening import Whitening

Row = dict[str, object]
SETS = ("oxford1k", "corel1k")
COMPONENTS = 128
RIDGES = (0.0, RIDGE)
OTHERS = ("deep-dense", "vlad", "psc", "holistic")
"""Dense spaces that can stand beside words in ``both``."""


def recipe(full: bool) -> DenseSIFT:
    """As in the spaces of a collection; with --full three scales and step 5, as in the paper."""
    sizes, step, side = ((16, 24, 32), 5, 576) if full else ((16, 24), 8, 400)
    return DenseSIFT(sizes, step, max_side=side, root=False)


def add_retrieval(report: harness.Report, full: bool) -> None:
    """Tables of mAP by coder and whitening, and of fusions with words."""
    every = 1 if full else 2
    few = 4 if full else 8
    plan: list[tuple[Coder, int]] = [
        (vlad(64), 1), (vlad(VladSpace.defaults["n_words"]), 1), (psc(64), every),
        (psc(128), every), (sc(1024), few), (psc(32), few),
    ]  # fmt: skip
    coded: list[Row] = []
    both: list[Row] = []
    for name in there(SETS):
        data = dense(name, recipe(full))
        assert data is not None
        pooled: dict[str, Any] = {}
        for coder, each in plan:
            work = Work(data, f"{name}-{full}", each)
            row, whitened = _row(name, coder, work, report)
            coded.append(row)
            pooled[f"{coder.name} {coder.n_words}"] = whitened
        both.append(_fused(name, pooled["PSC 16384"], pooled["VLAD 256"]))
    title = f"mAP by pooled codes, raw and whitened to {COMPONENTS} columns"
    report.add(title, coded)
    report.add("What `both` could be: words fused 1:1 with a dense space, mAP", both)


def _row(name: str, coder: Coder, work: Work, report: harness.Report) -> tuple[Row, Any]:
    """One coder on one set; the second answer are its rows as the collection's space has them."""
    seed = int(str(report.parameters.get("seed", 0)))
    found = made(coder, work, spatial=False, seed=seed)
    row: Row = {
        "data": name,
        "coder": coder.name,
        "words": coder.n_words,
        "descriptors coded": round(found.descriptors),
        "raw columns": int(found.rows.shape[1]),
        "raw": _precision(work.data, found.rows),
    }
    for ridge in RIDGES:
        made_of = Whitening(COMPONENTS, ridge=ridge).fit_transform(found.rows)
        label = "whitened" if ridge == 0 else f"whitened, ridge {ridge:g}"
        row[label] = _precision(work.data, made_of)
    row["CPU ms a picture"] = found.milliseconds
    print(row, flush=True)
    return row, Whitening(COMPONENTS, ridge=RIDGE).fit_transform(found.rows)


def _precision(data: Dense, rows: Any) -> float:
    return precision(_space(data, rows), ranking(scores(rows)))


def _space(data: Dense, rows: Any) -> SpaceRows:
    return SpaceRows(rows, list(data.task.paths), data.labels, data.task)


def _fused(name: str, psc_rows: Any, vlad_rows: Any) -> Row:
    """Words alone, and with each dense space at equal weight, as ``both`` fuses."""
    words = space_rows(name, "words")
    assert words is not None
    found: dict[str, Any] = {"psc": psc_rows, "vlad": vlad_rows}
    for space in ("holistic", "deep-dense"):
        kept = space_rows(name, space)
        assert kept is not None
        found[space] = kept.X
    own = shares_of(scores(words.X))
    row: Row = {"data": name, "words": precision(words, ranking(scores(words.X)))}
    for space in OTHERS:
        row[space] = precision(words, ranking(scores(found[space])))
    for space in OTHERS:
        fused = own + shares_of(_positive(scores(found[space])))
        row[f"words + {space}"] = precision(words, ranking(fused))
    print(row, flush=True)
    return row


def _positive(matrix: Any) -> Any:
    """Scores of a dense space, all of which have a rank: shifted so that none counts as absent."""
    return matrix - matrix.min() + 1.0
