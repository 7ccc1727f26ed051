"""What people said: held-out error by loss, solver, dimension, number and noise of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.ordinal.data import (
    PEOPLE,
    Split,
    error_of,
    flipped,
    material_votes,
    people,
)
from benchmarks.ordinal.runs import LOSSES, TITLES
from likewise_methods.ordinal.cross_validation import cross_validate, noise_from_repeats
from likewise_methods.ordinal.embedding import OrdinalEmbedding

Row = dict[str, object]
SOLVERS = ("svrg-sbb", "svrg", "sgd", "adagrad", "batch", "lbfgs", "convex")
NOISE = (0.0, 0.05, 0.1)
DIMENSIONS = {
    "zappos85": (1, 2, 3, 5, 10),
    "material-appearance": (1, 2, 3, 5, 10),
    "music-aset400": (2, 5, 10, 20),
}
COUNTS = {
    "zappos85": (1_000, 3_000, 10_000, 30_000),
    "material-appearance": (1_000, 3_000, 10_000, None),
    "music-aset400": (1_000, 3_000, None),
}
# Subsampled: zappos85 has nearly all possible triplets, far more than anybody would ask.
TABLE_COUNT = {"zappos85": 10_000, "material-appearance": None, "music-aset400": None}
TABLE_DIMENSION = {"zappos85": 5, "material-appearance": 5, "music-aset400": 10}


def fitted(split: Split, rows: Any, p: int, loss: str, solver: str, seed: int) -> Any:
    """The package's estimator with its defaults; convex for fewer epochs."""
    epochs = 20 if solver == "convex" else None
    model = OrdinalEmbedding(p, loss=loss, solver=solver, epochs=epochs, random_state=seed)
    return model.fit(rows, split.n)


def errors(
    split: Split, p: int, loss: str, solver: str, count: int | None, noise: float, seeds: range
) -> list[float]:
    """Held-out errors, one a seed; noise is in the training comparisons only."""
    out = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 5])
        rows = split.train[rng.permutation(len(split.train))[:count]]
        model = fitted(split, flipped(rows, noise, rng), p, loss, solver, seed)
        out.append(error_of(model.embedding_, split.test))
    return out


def section(seed: int, full: bool) -> dict[str, Any]:
    """Three collections of comparisons; more draws when ``full``."""
    seeds = range(10 if full else 3)
    tables: list[Any] = []
    curves: dict[str, Any] = {}
    left_out: list[str] = []
    sizes: list[Row] = []
    for name in PEOPLE:
        split = people(name, seed)
        if split is None:
            left_out.append(f"{name} (not here)")
            continue
        sizes.append(
            {
                "collection": name,
                "objects": split.n,
                "comparisons to draw from": len(split.train),
                "held out": len(split.test),
            }
        )
        tables.append([_heading(name, split), by_method(name, split, seeds, full)])
        lines, curves[name] = by_size(name, split, seeds)
        tables.append([f"{name}: by dimension and number of comparisons (STE, svrg-sbb)", lines])
        if name == "material-appearance":
            said = votes(split, seeds)
            tables += [["material-appearance by single votes", said]] if said else []
    noise = noise_table(seed)
    if noise:
        tables.append(["How noisy were the answers? Cross-validated on the training part", noise])
    tables.append(["What people compared", sizes])
    return {"tables": tables, "curves": curves, "left_out": left_out}


def _heading(name: str, split: Split) -> str:
    count = TABLE_COUNT[name] or len(split.train)
    return (
        f"{name}: held-out error by loss and solver, {count:,} comparisons, "
        f"{TABLE_DIMENSION[name]} dimensions"
    )


def by_method(name: str, split: Split, seeds: range, full: bool) -> list[Row]:
    """All losses, all solvers, with answers turned round on purpose."""
    rows: list[Row] = []
    levels = NOISE if name == "zappos85" or full else (0.0,)
    for loss in LOSSES:
        for solver in SOLVERS:
            convex = solver == "convex"
            if convex and (loss not in ("gnmds", "ste") or split.n > 400):
                continue
            row: Row = {"loss": TITLES[loss], "solver": solver}
            for level in levels:
                found = errors(
                    split, TABLE_DIMENSION[name], loss, solver, TABLE_COUNT[name], level,
                    seeds[:1] if convex else seeds,
                )  # fmt: skip
                key = f"{100 * level:.0f} % flipped" if len(levels) > 1 else "held-out error"
                row[key] = round(float(np.mean(found)), 4)
                if level == 0.0:
                    row["±"] = round(float(np.std(found)), 4)
            rows.append(row)
    return rows


def by_size(name: str, split: Split, seeds: range) -> tuple[list[Row], dict[str, Any]]:
    """STE with svrg-sbb: a row a dimension, a column a number of comparisons."""
    rows: list[Row] = []
    curve = {}
    counts = [count or len(split.train) for count in COUNTS[name]]
    for p in DIMENSIONS[name]:
        found = [
            float(np.mean(errors(split, p, "ste", "svrg-sbb", count, 0.0, seeds)))
            for count in counts
        ]
        rows.append(
            {"dimensions": p, **{f"{c:,}": round(e, 4) for c, e in zip(counts, found, strict=True)}}
        )
        curve[str(p)] = found
    return rows, {"counts": counts, "errors": curve}


def votes(split: Split, seeds: range) -> list[Row]:
    """material-appearance by single votes: no map can please both sides of a disagreement."""
    said = material_votes()
    if said is None:
        return []
    rows, counts = said
    agree, against = counts.T
    floor = float(np.minimum(agree, against).sum() / counts.sum())
    shares = []
    for seed in seeds:
        model = fitted(split, split.train, 5, "ste", "svrg-sbb", seed)
        right = model.predict(rows)
        shares.append(float(np.where(right, against, agree).sum() / counts.sum()))
    return [
        {
            "votes": int(counts.sum()),
            "against a map in 5 dimensions (STE, svrg-sbb)": round(float(np.mean(shares)), 3),
            "against the majority": round(floor, 3),
            "wrong, from how often two votes on a question differ": round(
                vote_noise(rows, counts), 3
            ),
        }
    ]


def vote_noise(rows: Any, counts: Any) -> float:
    """Flip rate of single votes, from questions with several."""
    each = np.repeat(rows, counts[:, 0], axis=0)
    other = np.repeat(rows, counts[:, 1], axis=0)[:, [0, 2, 1]]
    question = np.repeat(np.arange(len(rows)), counts[:, 0])
    again = np.repeat(np.arange(len(rows)), counts[:, 1])
    found = noise_from_repeats(np.vstack([each, other]), np.concatenate([question, again]))
    return float("nan") if found is None else found


def noise_table(seed: int) -> list[Row]:
    """The package's own helper on each collection."""
    rows = []
    for name in PEOPLE:
        split = people(name, seed)
        if split is None:
            continue
        used = split.train[:8_000]
        curve = cross_validate(
            used,
            split.n,
            dimensions=(2, 5, 10),
            shares=(0.25, 0.5, 1.0),
            folds=3,
            estimator=OrdinalEmbedding(solver="adagrad"),
            random_state=seed,
        )
        repeats = curve.noise.from_repeats
        rows.append(
            {
                "collection": name,
                "comparisons": len(used),
                "best of 2, 5, 10 dimensions": curve.best_dimension,
                "held-out error there": round(
                    float(curve.error[curve.dimensions.index(curve.best_dimension), -1]), 4
                ),
                "still falling": "yes" if curve.still_falling else "no",
                "noise, at most (where the curve levels off)": round(curve.noise.floor, 4),
                "noise, from repeats": "too few" if repeats is None else round(repeats, 4),
            }
        )
    return rows
