"""Retrieval as in the paper's SUN397 table: class-made triplets, out of sample through KernelMap.

The paper: 18 classes x (60 + 40) pictures, 70,000 triplets, p = 18.  Here: the ten classes of
corel1k x (60 + 40), as many triplets a picture, p = 10.  The 40 test pictures of a class are asked
for each other; the query is not among the answers (the released code keeps it: spec, O14).
"""

# ruff: noqa: I001 - the harness pins threads before numerical libraries are loaded
from __future__ import annotations

from likewise.bench import harness  # noqa: F401

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.bench.deep_rows import space_rows
from likewise.bench.ordinal_data import Rows, flipped
from likewise.bench.ordinal_people import SOLVERS
from likewise.bench.ordinal_runs import LOSSES, TITLES
from likewise.ordinal.embedding import OrdinalEmbedding
from likewise.ordinal.kernel_map import KernelMap

Row = dict[str, object]
Floats = NDArray[np.float64]
TRAIN, TEST = 60, 40
A_PICTURE = 65  # triplets: 70,000 for 1,080 pictures
NOISE = (0.0, 0.05, 0.1)
SPACES = ("holistic", "deep-dense")
RECALL_AT = (40, 60, 80, 100)


class Scores(NamedTuple):
    """AP@40 over 39, precision at 40, recall at K."""

    map: float
    precision: float
    recall: tuple[float, ...]


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
        return {"tables": [], "facts": {}, "notes": ["corel1k: not here; retrieval left out."]}
    seeds = range(3 if full else 1)
    results: dict[tuple[str, str, float, str], list[Scores]] = {}
    plain: dict[str, list[Scores]] = {space: [] for space in SPACES}
    for s in seeds:
        _one_draw(seed + s, read, results, plain)
    tables = [[_heading(space), _rows(space, results, plain[space])] for space in SPACES]
    facts = {
        space: {
            f"{loss} {solver} {level}": float(np.mean([r.map for r in found]))
            for (loss, solver, level, where), found in results.items()
            if where == space
        }
        for space in SPACES
    }
    for space in SPACES:
        facts[space]["plain"] = float(np.mean([r.map for r in plain[space]]))
    return {"tables": tables, "facts": facts, "notes": []}


def _heading(space: str) -> str:
    return f"Retrieval on corel1k through KernelMap, {space} features: MAP by noise"


def _one_draw(seed: int, read: Any, results: Any, plain: Any) -> None:
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
                model = OrdinalEmbedding(
                    10, loss=loss, solver=solver, random_state=seed,
                    epochs=60 if solver in ("batch", "lbfgs", "convex") else 20,
                ).fit(rows, n)  # fmt: skip
                for space in SPACES:
                    mapped = KernelMap().fit(features[space][train], model.embedding_)
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


def _rows(space: str, results: Any, plain: list[Scores]) -> list[Row]:
    def mean(found: list[Scores], of: str) -> float:
        return round(float(np.mean([getattr(f, of) for f in found])), 4)

    def recall(found: list[Scores]) -> dict[str, object]:
        values = np.mean([f.recall for f in found], axis=0)
        return {f"recall@{k}": round(float(v), 3) for k, v in zip(RECALL_AT, values, strict=True)}

    rows: list[Row] = [
        {
            "loss": "none",
            "solver": "features as they are",
            **{f"MAP, {100 * level:.0f} % noise": mean(plain, "map") for level in NOISE},
            "precision@40": mean(plain, "precision"),
            **recall(plain),
        }
    ]
    for loss in LOSSES:
        for solver in SOLVERS:
            if (loss, solver, 0.0, space) not in results:
                continue
            clean = results[loss, solver, 0.0, space]
            rows.append(
                {
                    "loss": TITLES[loss],
                    "solver": solver,
                    **{
                        f"MAP, {100 * level:.0f} % noise": mean(
                            results[loss, solver, level, space], "map"
                        )
                        for level in NOISE
                    },
                    "precision@40": mean(clean, "precision"),
                    **recall(clean),
                }
            )
    return rows
