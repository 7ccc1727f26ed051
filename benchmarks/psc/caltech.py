"""Caltech-101: how well a linear SVM recognises pictures by what each coder makes of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness
from benchmarks.psc.data import Dense, dense
from benchmarks.psc.kernels import (
    chi_squared,
    chosen_penalty,
    class_accuracy,
    draws,
)
from benchmarks.psc.rows import Coder, Work, fisher, llc, made, psc, sc, vlad, vq
from likewise.vision.local import DenseSIFT
from likewise_methods.coding.linear import factor, products

Row = dict[str, object]
DATA = "caltech101-full"
TRAIN, TEST, DRAWS = 30, 10, 3
MANY = 32
"""Classes of the default size."""
FEW = 20
"""Classes of the comparison with sparse coding, which is too slow for all."""
FEW_EVERY = 8
"""There every eighth descriptor is coded, by each method."""


def recipe(full: bool) -> DenseSIFT:
    """Pictures at most 300 pixels a side, as in the papers."""
    sizes, step = ((16, 24, 32, 40), 4) if full else ((16, 24), 8)
    return DenseSIFT(sizes, step, max_side=300, root=False)


def add_caltech(report: harness.Report, full: bool) -> None:
    """Three tables: all classes; a few beside sparse coding; the splits of the subspaces."""
    data = dense(DATA, recipe(full))
    if data is None:
        report.left_out.append("Caltech-101 (not here)")
        return
    chosen = _classes(data, len(np.unique(data.labels)) if full else MANY)
    everything = Work(data, f"{DATA}-{full}", 1, False, chosen)
    coders = [vq(4096), llc(4096), vlad(64), fisher(256), psc(64), psc(128)]
    if full:
        # The kernel of words compares every two pictures in 344,064 columns: ten minutes by itself.
        coders += [vq(16384), llc(16384)]
    warnings.simplefilter("ignore", ConvergenceWarning)
    report.add(
        f"Caltech-101, {len(np.unique(data.labels[chosen]))} classes, {TRAIN} training pictures a "
        "class",
        [_row(coder, everything, report) for coder in coders],
    )
    work = Work(data, f"{DATA}-{full}-few", FEW_EVERY, False, _classes(data, FEW))
    rows = [_row(coder, work, report) for coder in (sc(4096), psc(64), psc(128))]
    title = f"{FEW} classes, every {FEW_EVERY}th descriptor"
    report.add(f"Caltech-101, {title}: beside sparse coding", rows)
    splits: list[Row] = [{"split": "contiguous", **rows[1]}]
    splits += [
        {"split": split, **_row(psc(64, split), work, report)}
        for split in ("horizontal", "vertical", "structural")
    ]
    report.add(f"Caltech-101, {title}: how vectors are split", splits)


def _classes(data: Dense, n_classes: int) -> Any:
    """All pictures of so many classes, taken evenly from all."""
    labels = np.unique(data.labels)
    chosen = labels[:: max(1, len(labels) // n_classes)][:n_classes]
    return np.flatnonzero(np.isin(data.labels, chosen))


def _row(coder: Coder, work: Work, report: harness.Report) -> Row:
    seed = int(str(report.parameters.get("seed", 0)))
    found = made(coder, work, spatial=True, seed=seed)
    labels = work.data.labels[work.pictures]
    kernel = chi_squared(found.rows) if coder.pooled == "sum" else products(found.rows)
    rows = factor(kernel)
    drawn = draws(labels, TRAIN, TEST, DRAWS, seed)
    penalty = chosen_penalty(rows, labels, drawn[0])
    scores = [100 * class_accuracy(rows, labels, draw, penalty) for draw in drawn]
    row: Row = {
        "coder": coder.name,
        "words": coder.n_words,
        "columns": int(found.rows.shape[1]),
        "accuracy %": float(np.mean(scores)),
        "spread": float(np.std(scores)),
        "C": penalty,
        "encoding, CPU ms a picture": found.milliseconds,
        "descriptors a picture": round(found.descriptors),
    }
    print(row, flush=True)
    return row
