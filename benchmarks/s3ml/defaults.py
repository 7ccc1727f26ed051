"""How S3ML's default settings were chosen: a small grid on data that no result table uses.

Standardised rows, 5 % of the labels, 1-NN error relative to that of plain distance; the geometric
mean over the sets decides.  Digits and the scenes of Mulan (where they are on this machine) are
real; four generated sets have Gaussian classes with correlated noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.readers.mulan import read_mulan
from benchmarks.readers.records import data_root
from benchmarks.s3ml.uci import Table, error, labelled
from likewise_methods.s3ml.lrml import LRML
from likewise_methods.s3ml.s3ml import S3ML

Row = dict[str, object]
# An error of 0 would make the geometric mean 0.
LEAST = 0.005

# (dissimilar, strength, l1, floor); the first is the default.
GRID: list[tuple[float | None, float, float, float]] = [
    (0.2, 5, 0.01, 0.1),
    (0.2, 5, 0.003, 0.1),
    (0.2, 5, 0.03, 0.1),
    (0.2, 5, 0.1, 0.1),
    (0.2, 1, 0.01, 0.1),
    (0.2, 20, 0.01, 0.1),
    (0.1, 5, 0.01, 0.1),
    (0.5, 5, 0.01, 0.1),
    (1.0, 5, 0.01, 0.1),
    (None, 5, 0.01, 0.1),
    (None, 0.9, 0.01, 0.1),
    (0.2, 5, 0.01, 0.02),
]


def tables() -> list[Table]:
    """The data, standardised."""
    rng = np.random.default_rng(5)
    X, y = load_digits(return_X_y=True)
    some = rng.permutation(len(X))[:500]
    made = [Table("digits", X[some], y[some]), *_scenes(rng)]
    for name, m, classes, sharing in (
        ("6 features", 6, 3, 6),
        ("12 features", 12, 3, 12),
        ("30 features", 30, 2, 30),
        ("6 of 20 features", 20, 3, 6),
    ):
        made.append(Table(name, *_gaussian(rng, m, classes, sharing)))
    return [Table(t.name, _standardised(t.X), t.y) for t in made]


def _scenes(rng: np.random.Generator) -> list[Table]:
    root = data_root()
    if root is None or not (root / "scene-mulan").is_dir():
        return []
    data = read_mulan(root / "scene-mulan")
    Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y)
    one = rng.permutation(np.flatnonzero(Y.sum(axis=1) == 1))[:400]
    X: Any = data.X
    return [Table("scene", np.asarray(X, np.float64)[one], Y[one].argmax(axis=1))]


def _gaussian(rng: np.random.Generator, m: int, classes: int, sharing: int) -> tuple[Any, Any]:
    """Class means in the first ``sharing`` features, correlated noise in all."""
    y = np.arange(240) % classes
    means = rng.normal(size=(classes, m)) * (np.arange(m) < sharing) * 3 / np.sqrt(sharing)
    noise = rng.normal(size=(m, m)) * np.exp(0.6 * rng.normal(size=m)) / np.sqrt(m)
    return means[y] + rng.normal(size=(240, m)) @ noise, y


def _standardised(X: Any) -> Any:
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def rows(n_draws: int, seed: int) -> list[Row]:
    """A row for each setting, and LRML for comparison."""
    models: dict[str, Any] = {
        _name(setting): S3ML(
            prior="identity",
            dissimilar=setting[0],
            strength=setting[1],
            l1=setting[2],
            floor=setting[3],
            tol=1e-4,
        )
        for setting in GRID
    }
    models["LRML"] = LRML()
    made: dict[str, dict[str, float]] = {name: {} for name in models}
    for table in tables():
        draws = [labelled(table.y, 500_000 + 1000 * seed + draw) for draw in range(n_draws)]
        plain = np.eye(table.X.shape[1])
        base = np.mean([error(table.X, table.y, known, plain) for known in draws])
        for name, model in models.items():
            errors = [
                error(table.X, table.y, known, model.fit(table.X, known).components_)
                for known in draws
            ]
            made[name][table.name] = float((np.mean(errors) + LEAST) / (base + LEAST))
        print(
            table.name, {name: round(row[table.name], 2) for name, row in made.items()}, flush=True
        )
    return [
        {"setting": name, **row, "mean": float(np.exp(np.mean(np.log(list(row.values())))))}
        for name, row in made.items()
    ]


def _name(setting: tuple[float | None, float, float, float]) -> str:
    weight, strength, l1, floor = setting
    told = "each pair 1" if weight is None else f"dissimilar {weight:g}"
    first = " (default)" if setting == GRID[0] else ""
    return f"{told}, strength {strength:g}, l1 {l1:g}, floor {floor:g}{first}"
