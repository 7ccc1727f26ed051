"""The data sets of the SISO benchmark as tasks: tagged rows, queries, their true tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.readers.ilsvrc import read_ilsvrc2010
from benchmarks.readers.mulan import read_mulan
from benchmarks.readers.nuswide import read_nuswide, read_nuswide_lite
from benchmarks.readers.records import FeatureTable, data_root
from benchmarks.siso.features import cifar_rows, why_not
from likewise.errors import DatasetError
from likewise_methods.siso.inputs import dense

# Training and test pictures of CIFAR-10: codes over wide rows take several times as long.
SIZES = {"holistic": (5_000, 1_000), "deep": (2_000, 500), "sift": (2_000, 1_000)}
FULL_SIZE = (28_000, 1_000)
_KEPT = (5_000, 1_000)
# Test pictures of the large sets: SISO takes up to a tenth of a second for each.
FULL_TEST = {"NUS-WIDE": 5_000, "NUS-WIDE-LITE": 5_000, "ILSVRC2010": 1_000}
# Graphs and kernels over a million pictures and a thousand classes do not fit a machine.
SCALABLE = ("SISO", "hash-SISO", "KNN", "ridge (RRML)")


@dataclass(frozen=True, eq=False)
class Task:
    """``Y`` is CSR, ``T`` dense 0/1; ``one_class`` says whether every picture has exactly one tag.

    ``methods`` limits who takes part (empty: all); ``about`` is a line for the page.
    """

    name: str
    X: NDArray[np.float32]
    Y: Any
    Q: NDArray[np.float32]
    T: NDArray[np.uint8]
    one_class: bool
    about: str
    methods: tuple[str, ...] = ()


def corel5k(root: Path) -> Task:
    """The canonical 4,500 / 500 split over the tags that occur in both parts."""
    table = read_mulan(root)
    made = from_table("Corel5k", table, "499 presences of visual words (Mulan)")
    both = np.flatnonzero((np.asarray(made.Y.sum(axis=0)).ravel() > 0) & made.T.any(axis=0))
    about = made.about + f", {len(both)} tags that occur in both parts"
    return Task(made.name, made.X, made.Y[:, both], made.Q, made.T[:, both], False, about)


def scene(root: Path) -> Task:
    """1,211 / 1,196 pictures of six kinds of scenes, some of two."""
    return from_table("Scene", read_mulan(root), "294 colour moments (Mulan)")


def cifar(feature: str, n_train: int, n_test: int) -> Task:
    """CIFAR-10 with one of three kinds of rows; any beginning of them is balanced."""
    kept = _KEPT if n_train <= _KEPT[0] and n_test <= _KEPT[1] else (n_train, n_test)
    rows = cifar_rows(feature, *kept)
    X, labels, Q, truth = rows.X[:n_train], rows.labels[:n_train], rows.Q[:n_test], rows.truth
    q = len(rows.classes)
    kind = {
        "holistic": "428-D holistic features",
        "deep": "1280-D deep features",
        "sift": "bag of dense SIFT over 1,000 words",
    }[feature]
    about = f"{kind}, {len(X):,} training and {len(Q):,} test pictures, {q} classes"
    T = np.eye(q, dtype=np.uint8)[truth[:n_test]]
    Y = sp.csr_array(np.eye(q)[labels])
    return Task(f"CIFAR-10 {feature}", X, Y, Q, T, True, about)


def nuswide(root: Path, *, lite: bool = False) -> Task:
    """NUS-WIDE: each block of the 426 or 428 columns at unit length, then the whole row."""
    table = read_nuswide_lite(root) if lite else read_nuswide(root)
    X = np.array(table.X, np.float32)
    for block in table.blocks.values():
        X[:, block] = unit(X[:, block])
    name = "NUS-WIDE-LITE" if lite else "NUS-WIDE"
    whole = FeatureTable(name, X, table.Y, labels=table.labels, split=table.split)
    return from_table(name, whole, f"{X.shape[1]} numbers, blocks normalised", FULL_TEST[name])


def ilsvrc2010(root: Path) -> Task:
    """ILSVRC2010 bags of 1,000 words, validation pictures as queries."""
    table = read_ilsvrc2010(root, parts=("train", "val"))
    q = len(table.labels)
    Y = sp.csr_array(
        (np.ones(len(table.Y)), np.asarray(table.Y), np.arange(len(table.Y) + 1)),
        shape=(len(table.Y), q),
    )
    split = ["test" if part == "val" else part for part in table.split]
    whole = FeatureTable("ILSVRC2010", table.X, Y, labels=table.labels, split=split)
    made = from_table("ILSVRC2010", whole, "bags of 1,000 words", FULL_TEST["ILSVRC2010"])
    return Task(made.name, made.X, made.Y, made.Q, made.T, True, made.about, SCALABLE)


def from_table(name: str, table: FeatureTable, what: str, most_test: int | None = None) -> Task:
    """Train and test parts of a table; rows of zeros left out, test pictures drawn if too many."""
    X = unit(dense(table.X))
    some = np.abs(X).sum(axis=1) > 0
    train = np.flatnonzero(some & (np.asarray(table.split) == "train"))
    test = np.flatnonzero(some & (np.asarray(table.split) == "test"))
    if most_test is not None and len(test) > most_test:
        test = np.sort(np.random.default_rng(0).choice(test, most_test, replace=False))
    Y = sp.csr_array(table.Y).astype(np.float64)
    about = f"{what}, {len(train):,} training and {len(test):,} test pictures, {Y.shape[1]:,} tags"
    T = Y[test].toarray().astype(np.uint8)
    return Task(name, X[train], Y[train], X[test], T, False, about)


def unit(X: NDArray[Any]) -> NDArray[np.float32]:
    """Rows of unit length; rows of zeros stay."""
    X = np.asarray(X, np.float32)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1), np.float32)


# name of the folder below the data, how it is read, what to say where it is missing
_LARGE: dict[str, tuple[Callable[[Path], Task], str]] = {
    "nuswide-lite": (
        lambda root: nuswide(root, lite=True),
        "the official NUS-WIDE-LITE files (Normalized_CM55_Lite_Train.dat, ..., "
        "Lite_Labels_*_Train.txt, Concepts81.txt)",
    ),
    "nuswide": (
        nuswide,
        "the official NUS-WIDE files (Train_Normalized_CM55.dat, ..., Labels_*_Train.txt, "
        "Concepts81.txt)",
    ),
    "ilsvrc2010": (
        ilsvrc2010,
        "the official ILSVRC2010 bags of words (train/n*.sbow.mat, val/val.*.sbow.mat, "
        "ILSVRC2010_validation_ground_truth.txt, meta.mat)",
    ),
}
_SMALL: dict[str, Callable[[Path], Task]] = {"corel5k-mulan": corel5k, "scene-mulan": scene}


def tasks(full: bool, missing: list[str]) -> Iterator[Task]:
    """One task after the other, so that one set at a time is in memory.

    What is not on this machine is said in ``missing``, with the place where it would be looked for.
    """
    root = data_root()
    for folder, read in _SMALL.items():
        if root is not None and (root / folder).is_dir():
            yield read(root / folder)
        else:
            missing.append(f"{folder} is not below the data folder (LIKEWISE_DATA)")
    for feature in SIZES:
        reason = why_not(feature)
        if reason:
            missing.append(f"CIFAR-10 {feature}: {reason}")
        else:
            yield cifar(feature, *(FULL_SIZE if full else SIZES[feature]))
    if full:
        yield from large(root, missing)


def large(root: Path | None, missing: list[str]) -> Iterator[Task]:
    """NUS-WIDE-LITE, NUS-WIDE and ILSVRC2010, where a user has them in their official layouts."""
    for folder, (read, layout) in _LARGE.items():
        if root is None or not (root / folder).is_dir():
            missing.append(f"{folder}: put {layout} below LIKEWISE_DATA/{folder}")
            continue
        try:
            yield read(root / folder)
        except DatasetError as error:
            missing.append(f"{folder}: {error}")
