"""Where the ordinal benchmark's comparisons come from: planted points, people, classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.readers.comparisons import read_material_appearance, read_music_aset400, read_zappos
from benchmarks.readers.records import data_root
from likewise_methods.ordinal.objective import squares

Rows = NDArray[np.int32]
Floats = NDArray[np.float64]


class Split(NamedTuple):
    """Comparisons to learn from and others to be asked."""

    n: int
    train: Rows
    test: Rows


def error_of(points: Floats, rows: Rows) -> float:
    """Share violated; ties and NaN are violated."""
    a, b = squares(np.ascontiguousarray(points), rows)
    return float(1 - np.mean(a < b))


def answered(points: Floats, questions: Rows) -> Rows:
    """The right answers about planted points."""
    a, b = squares(points, questions)
    out = questions.copy()
    out[a > b] = questions[a > b][:, [0, 2, 1]]
    return out


def planted(n: int, p: int, m: int, test: int, seed: int) -> Split:
    """Points N(0, I / 20), as in the paper; triplets without noise, test ones from the same law.

    Below a million possible triplets all are listed and drawn without replacement, test ones from
    the rest (the paper's 10,000 of 485,100); above, questions are drawn with replacement.
    """
    rng = np.random.default_rng(seed)
    points = rng.normal(0.0, np.sqrt(1 / 20), (n, p))
    if n <= 120:
        every = np.array(
            [(i, j, k) for i in range(n) for j in range(n) for k in range(j + 1, n)
             if i not in (j, k)], np.int32,
        )  # fmt: skip
        drawn = every[rng.permutation(len(every))[: m + test]]
    else:
        drawn = np.empty((0, 3), np.int32)
        while len(drawn) < m + test:
            more = rng.integers(0, n, (m + test - len(drawn) + 1000, 3), np.int32)
            a, b, c = more.T
            drawn = np.vstack([drawn, more[(a != b) & (a != c) & (b != c)]])
    right = answered(points, np.ascontiguousarray(drawn[: m + test]))
    return Split(n, right[:m], right[m:])


def flipped(rows: Rows, share: float, rng: np.random.Generator) -> Rows:
    """A share of the answers turned round."""
    out = rows.copy()
    wrong = rng.random(len(rows)) < share
    out[wrong] = rows[wrong][:, [0, 2, 1]]
    return out


def _zappos(root: Any, seed: int) -> Split:
    read = read_zappos(root / "zappos85-triplets")
    rows = np.random.default_rng(seed).permutation(read.triplets.astype(np.int32))
    return Split(read.n_objects, rows[20_000:], rows[:20_000])


def _material(root: Any, seed: int) -> Split:
    read = read_material_appearance(root / "material-appearance", which="diff")
    part = np.asarray(read.split)
    rows = read.triplets.astype(np.int32)
    train = np.random.default_rng(seed).permutation(rows[part == "train"])
    return Split(read.n_objects, train, rows[part == "test"])


def _music(root: Any, seed: int) -> Split:
    read = read_music_aset400(root / "music-aset400", labels=False)
    rows = np.random.default_rng(seed).permutation(read.triplets.astype(np.int32))
    cut = len(rows) // 5
    return Split(read.n_objects, rows[cut:], rows[:cut])


PEOPLE: dict[str, tuple[str, Callable[[Any, int], Split]]] = {
    "zappos85": ("zappos85-triplets", _zappos),
    "material-appearance": ("material-appearance", _material),
    "music-aset400": ("music-aset400", _music),
}


def people(name: str, seed: int) -> Split | None:
    """Comparisons people made; None where they are not on this machine."""
    root = data_root()
    folder, read = PEOPLE[name]
    if root is None or not (root / folder).is_dir():
        return None
    return read(root, seed)


def material_votes() -> tuple[Rows, NDArray[np.int64]] | None:
    """Test triplets of material-appearance with their votes (for, against), ties included."""
    root = data_root()
    if root is None or not (root / "material-appearance").is_dir():
        return None
    read = read_material_appearance(root / "material-appearance", which="answers")
    test = np.asarray(read.split) == "test"
    assert read.votes is not None
    return read.triplets[test].astype(np.int32), read.votes[test]
