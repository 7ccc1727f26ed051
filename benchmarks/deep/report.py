"""Deep spaces against SIFT words and the holistic vector: what they find and what they cost.

Mean average precision by the sets' own protocols, fusions with measured weights, numbers of words
for ``deep-words``, CPU and bytes a picture, search time, ``add``, onnxruntime's settings, and the
plain torch model's numbers.  Run by ``make bench-deep``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.deep import costs as deep_costs
from benchmarks.deep import loop as deep_loop
from benchmarks.deep.rows import DATASETS, SPACES, SpaceRows, space_rows, task_of
from likewise.search.rank import FUSION_RANK
from likewise_methods.evaluation.datasets import RetrievalQuery
from likewise_methods.evaluation.protocols import evaluate

Row = dict[str, object]
WEIGHTS = (0.1, 0.25, 0.5, 1.0)
SIZES = (250, 500, 1000, 2000, 4000)


def main() -> None:
    options = harness.arguments(__doc__ or "")
    cv2.setNumThreads(1)
    n_timed = 150 if options.full else 50
    left_out = "caltech101" if options.full else "caltech101-full"
    there = [name for name in DATASETS if name != left_out and task_of(name) is not None]
    report = harness.Report(
        "deep",
        "Deep spaces: what they find and what they cost",
        f"{'all' if options.full else 'every second picture of caltech101, all'} pictures of the "
        f"sets; {n_timed} of each timed" + (" (FULL)" if options.full else ""),
        {"seed": 0},
    )
    rows = {(data, space): found(data, space) for data in there for space in SPACES}
    report.add("mAP by space", [precision_row(data, rows) for data in there])
    report.add("Fusion by reciprocal ranks, deep counting 1", fusions(there, rows))
    report.add("deep-words by number of words", vocabularies(there))
    rates: list[Row] = []
    for data in there:
        paths = list(rows[data, "deep"].task.paths.values())
        spaces = deep_costs.spaces_of(data)
        report.add(f"CPU a picture, {data}", deep_costs.cpu_a_picture(spaces, paths, n_timed))
        made = deep_costs.add_rates(spaces, paths, n_timed)
        rates.append({"data": data, **made, "deep / words": made["deep"] / made["words"]})
    report.add(
        "On disk and searched",
        [
            {"data": data, "space": space, **deep_costs.kept_and_searched(rows[data, space])}
            for data in there
            for space in SPACES
        ],
    )
    report.add("Pictures a CPU second in add", rates)
    paths = list(rows[there[0], "deep"].task.paths.values())
    report.add("onnxruntime, 224 pixels", deep_costs.runtime_settings(paths))
    report.write()
    # The loop of bench-loop on each space: docs/results/loop.md.
    deep_loop.main(options.seed, options.full)


def found(data: str, space: str) -> SpaceRows:
    made = space_rows(data, space)
    assert made is not None
    return made


def scores(X: Any) -> NDArray[np.float32]:
    """All against all, as the index scores them."""
    return np.asarray((X @ X.T).toarray() if hasattr(X, "tocsr") else X @ X.T, np.float32)


def ranking(matrix: NDArray[Any]) -> NDArray[np.int64]:
    """Best first, ties by number; zeros last, as they are."""
    return np.argsort(-matrix, axis=1, kind="stable")


def precision(rows: SpaceRows, order: NDArray[np.int64]) -> float:
    """mAP of a ranking of every picture for every picture, by the task's protocol."""
    place = {name: i for i, name in enumerate(rows.names)}

    def ranked(query: RetrievalQuery) -> list[str]:
        return [rows.names[i] for i in order[place[query.query]]]

    return evaluate(rows.task.queries, ranked, trapezoid=rows.task.trapezoid).mean


def precision_row(data: str, rows: dict[tuple[str, str], SpaceRows]) -> Row:
    one = rows[data, "deep"]
    row: Row = {"data": data, "pictures": len(one.names), "queries": len(one.task.queries)}
    for space in SPACES:
        here = rows[data, space]
        row[space] = precision(here, ranking(scores(here.X)))
    return row


def fusions(there: Sequence[str], rows: dict[tuple[str, str], SpaceRows]) -> list[Row]:
    """deep with one other space at several weights; what fusion of words and holistic gives."""
    made: list[Row] = []
    for data in there:
        shares = {space: shares_of(scores(rows[data, space].X)) for space in SPACES}
        deep = rows[data, "deep"]
        alone = precision(deep, ranking(shares["deep"]))
        both = precision(deep, ranking(shares["words"] + shares["holistic"]))
        for other in ("words", "holistic", "deep-words"):
            row: Row = {"data": data, "deep with": other, "deep alone": alone}
            for weight in WEIGHTS:
                fused = shares["deep"] + weight * shares[other]
                row[f"at {weight:g}"] = precision(deep, ranking(fused))
            row["words + holistic 1:1"] = both
            made.append(row)
    return made


def shares_of(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """What each picture gets for its rank: 1 / (60 + rank), nothing without a word in common.

    The picture that asks has no rank.
    """
    asked = matrix.copy()
    np.fill_diagonal(asked, np.inf)
    order = ranking(asked)
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(len(order))[None], axis=1)
    return np.where(matrix > 0, 1 / (FUSION_RANK + places), 0.0)


def vocabularies(there: Sequence[str]) -> list[Row]:
    made: list[Row] = []
    for data in there:
        chosen = found(data, "deep-words")
        row: Row = {"data": data, "pictures": len(chosen.names)}
        row["words chosen"] = int(chosen.X.shape[1])
        row["mAP chosen"] = precision(chosen, ranking(scores(chosen.X)))
        for size in SIZES:
            some = space_rows(data, "deep-words", n_words=size)
            assert some is not None
            row[f"{size}"] = precision(some, ranking(scores(some.X)))
        made.append(row)
    return made
