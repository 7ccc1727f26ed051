"""Dictionaries for the SISO benchmark: real 428-D features of CIFAR-10, and more rows like them.

The holistic features of 28,000 training pictures and some test pictures are extracted once and
kept in the cache.  Larger dictionaries are generated: a new row is a random mix of two real rows
of one class plus noise with the covariance of the real rows, so that spectrum, coherence and the
number of non-zeros of a code stay about what they are on pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.readers.folders import read_folders
from benchmarks.readers.records import data_root
from likewise.errors import DatasetError
from likewise.images.decode import decode
from likewise.vision.holistic import N_HOLISTIC, Holistic
from likewise_methods.neighbours.container import open_arrays, save_arrays

Floats = NDArray[np.float32]

N_REAL = 28_000
N_QUERIES = 400
# How far a generated row strays from the mix it came from, relative to the real spread.
NOISE = 0.35
_KIND = "bench.siso"


@dataclass(frozen=True, eq=False)
class Tagged:
    """Unit rows with one class each, and queries that are not among them."""

    X: Floats
    labels: NDArray[np.int64]
    Q: Floats
    n_classes: int
    real: bool


def pictures() -> Tagged:
    """28,000 CIFAR-10 training pictures, class by class in turn, and 400 test pictures."""
    path = harness.cache_dir() / f"cifar10-holistic-{N_REAL}-{N_QUERIES}.arrays"
    if not path.exists():
        _extract(path)
    _, arrays = open_arrays(path, _KIND)
    X, Q = np.array(arrays["X"]), np.array(arrays["Q"])
    return Tagged(X, np.array(arrays["labels"]), Q, 10, True)


def _extract(path: Path) -> None:
    root = data_root()
    source = None if root is None else root / "cifar10.tar.gz"
    if source is None or not source.exists():
        raise DatasetError("cifar10.tar.gz is not there; the SISO benchmark needs its pictures")
    images = read_folders(source)
    train = in_turn(images.labels, images.part("train"), N_REAL)
    test = in_turn(images.labels, images.part("test"), N_QUERIES)
    place = {int(row): i for i, row in enumerate(np.concatenate([train, test]))}
    made = np.zeros((len(place), N_HOLISTIC), np.float32)
    recipe = Holistic()
    for row, content in images.pictures():
        if row in place:
            made[place[row]] = recipe.extract(decode(content))
    X, Q = made[: len(train)], made[len(train) :]
    save_arrays(path, _KIND, {}, {"X": X, "labels": images.labels[train], "Q": Q})


def in_turn(labels: NDArray[np.int64], rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """n of the rows, one of each class in turn, so that any beginning is balanced."""
    each = [rows[labels[rows] == c] for c in np.unique(labels[rows])]
    depth = min(len(e) for e in each)
    return np.stack([e[:depth] for e in each], axis=1).ravel()[:n]


def enlarged(real: Tagged, n: int, seed: int, path: Path | None = None) -> Tagged:
    """n rows: the real ones first, then generated ones; in memory or, with ``path``, on disk."""
    if n <= len(real.X):
        return Tagged(real.X[:n].copy(), real.labels[:n], real.Q, real.n_classes, True)
    width = real.X.shape[1]
    X: Any = (
        np.empty((n, width), np.float32)
        if path is None
        else np.lib.format.open_memmap(path, "w+", np.float32, (n, width))
    )
    labels = np.empty(n, np.int64)
    X[: len(real.X)], labels[: len(real.X)] = real.X, real.labels
    rng = np.random.default_rng(seed)
    centred = real.X - real.X.mean(axis=0)
    values, axes = np.linalg.eigh(np.cov(centred, rowvar=False))
    root = (NOISE * np.sqrt(np.maximum(values, 0))[:, None] * axes.T).astype(np.float32)
    members = [np.flatnonzero(real.labels == c) for c in range(real.n_classes)]
    for start in range(len(real.X), n, 20_000):
        stop = min(n, start + 20_000)
        some = rng.integers(real.n_classes, size=stop - start)
        pairs = np.empty((2, stop - start), np.int64)
        for c, own in enumerate(members):
            pairs[:, some == c] = rng.choice(own, (2, int(np.sum(some == c))))
        share = rng.random((stop - start, 1), dtype=np.float32)
        mixed = share * real.X[pairs[0]] + (1 - share) * real.X[pairs[1]]
        mixed += rng.standard_normal((stop - start, width), dtype=np.float32) @ root
        X[start:stop] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        labels[start:stop] = some
    return Tagged(X, labels, real.Q, real.n_classes, False)
