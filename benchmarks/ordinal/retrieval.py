"""Retrieval as in the paper's SUN397 table: class-made triplets, out of sample through KernelMap.

The paper: 18 classes x (60 + 40) pictures, 70,000 triplets, p = 18.  Here: the ten classes of
corel1k x (60 + 40), as many triplets a picture, p = 10.  The 40 test pictures of a class are asked
for each other; the query is not among the answers (the released code keeps it:
docs/methods/ordinal.md, O10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.deep.rows import space_rows
from benchmarks.ordinal.data import Rows, flipped
from benchmarks.ordinal.people import SOLVERS
from benchmarks.ordinal.runs import LOSSES, TITLES, within
from likewise_methods.ordinal.kernel_map import KernelMap

Row = dict[str, object]
Floats = NDArray[np.float64]
TRAIN, TEST = 60, 40
A_PICTURE = 65  # triplets: 70,000 for 1,080 pictures
NOISE = (0.0, 0.05, 0.1)
SPACES = ("holistic", "deep-dense")
RECALL_AT = (40, 60, 80, 100)
P = 10
# Passes that every solver has: a full gradient and 20 epochs of SVRG.
BUDGET = 61


class Scores(NamedTuple):
    """AP@40 over 39, precision at 40, recall at K."""

    map: float
    precision: float
    recall: tuple[float, ...]


Results = dict[tuple[str, str, float, str], list[Scores]]


def scores(places: Floats, labels: NDArray[np.int64]) -> Scores:
    """Each picture asks for the others of its class, nearest first."""
    squares = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    order = np.argsort(squares, axis=1, kind="stable")[:, :-1]
    right = labels[order] == labels[:, None]
    others = right.sum(axis=1)
    hits = np.cumsum(right, axis=1)
    ranks = np.arange(1, right.shape[1] + 1)
    ap = ((hits / ranks)[:, :TEST] * right[:, :TEST]).sum(axis=1) / others
    recall = tuple(float((hits[:, k - 1] / others).mean()) for k in RECALL_AT)
    return Scores(float(ap.mean()), float((hits[:, TEST - 1] / TEST).mean()), recall)


def class_triplets(labels: NDArray[np.int64], m: int, rng: np.random.Generator) -> Rows:
    """(i, j of the same class, k of another)."""
    n = len(labels)
    members = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    i = rng.integers(0, n, m)
    j = np.array([rng.choice(members[c]) for c in labels[i]])
    k = rng.integers(0, n, m)
    fine = (i != j) & (labels[i] != labels[k])
    return np.asarray(np.column_stack([i, j, k])[fine], np.int32)


def section(seed: int, full: bool) -> dict[str, Any]:
    """All losses, all solvers, three levels of noise."""
    read = {space: space_rows("corel1k", space) for space in SPACES}
    if any(rows is None for rows in read.values()):
        return {"tables": [], "left_out": ["retrieval (corel1k is not here)"]}
    seeds = range(10 if full else 3)
    results: Results = {}
    made: dict[tuple[str, str], list[float]] = {}
    plain: dict[str, list[Scores]] = {space: [] for space in SPACES}
    for s in seeds:
        _one_draw(seed + s, read, results, plain, made)
    tables = [t for space in SPACES for t in _tables(space, results, plain[space], made)]
    return {"tables": tables}


def _one_draw(seed: int, read: Any, results: Results, plain: Any, made: Any) -> None:
    rng = np.random.default_rng([seed, 11])
    labels = next(iter(read.values())).labels
    train, test = _halves(labels, rng)
    features = {space: _unit(read[space].X) for space in SPACES}
    for space in SPACES:
        plain[space].append(scores(features[space][test], labels[test]))
    n = len(train)
    clean = class_triplets(labels[train], A_PICTURE * n, rng)
    for level in NOISE:
        rows = flipped(clean, level, rng)
        for loss in LOSSES:
            for solver in SOLVERS:
                if solver == "convex" and loss not in ("gnmds", "ste"):
                    continue
                points, passes = within(solver, loss, rows, n, P, seed, BUDGET)
                made.setdefault((loss, solver), []).append(passes)
                for space in SPACES:
                    mapped = KernelMap().fit(features[space][train], points)
                    places = mapped.transform(features[space][test])
                    key = (loss, solver, level, space)
                    results.setdefault(key, []).append(scores(places, labels[test]))


def _halves(labels: NDArray[np.int64], rng: np.random.Generator) -> tuple[Any, Any]:
    """60 pictures of each class to train on, 40 to ask."""
    train, test = [], []
    for c in range(labels.max() + 1):
        mixed = rng.permutation(np.flatnonzero(labels == c))
        train.append(mixed[:TRAIN])
        test.append(mixed[TRAIN : TRAIN + TEST])
    return np.concatenate(train), np.concatenate(test)


def _unit(X: Any) -> Floats:
    rows = np.asarray(X, np.float64)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _tables(
    space: str, results: Results, plain: list[Scores], made: Mapping[tuple[str, str], list[float]]
) -> list[Any]:
    """Two tables of a space: MAP and precision by noise, and recall by noise."""
    nothing = {"loss": "none", "solver": "features as they are"}
    always = dict.fromkeys(NOISE, plain)
    first: list[Row] = [{**nothing, "passes": "", **_precise(always)}]
    second: list[Row] = [{**nothing, **_recalled(always)}]
    for loss in LOSSES:
        for solver in SOLVERS:
            if (loss, solver, 0.0, space) not in results:
                continue
            found = {level: results[loss, solver, level, space] for level in NOISE}
            name = {"loss": TITLES[loss], "solver": solver}
            passes = round(float(np.mean(made[loss, solver])), 1)
            first.append({**name, "passes": passes, **_precise(found)})
            second.append({**name, **_recalled(found)})
    about = f"Retrieval on corel1k through KernelMap, {space} features"
    return [
        [f"{about}: MAP and precision by share of wrong triplets", first],
        [f"{about}: recall by share of wrong triplets", second],
    ]


def _precise(found: Mapping[float, list[Scores]]) -> Row:
    return {
        f"{name}, {100 * level:.0f} %": round(float(np.mean([getattr(f, of) for f in some])), 4)
        for name, of in (("MAP", "map"), (f"precision@{TEST}", "precision"))
        for level, some in found.items()
    }


def _recalled(found: Mapping[float, list[Scores]]) -> Row:
    means = {level: np.mean([f.recall for f in some], axis=0) for level, some in found.items()}
    return {
        f"recall@{k}, {100 * level:.0f} %": round(float(values[at]), 4)
        for at, k in enumerate(RECALL_AT)
        for level, values in means.items()
    }
