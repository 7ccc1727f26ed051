"""CIFAR-10 pictures as three kinds of rows: holistic, deep, and a bag of dense SIFT.

Made once and kept in the cache.  Training and test pictures are taken class by class in turn from
the set's own parts; visual words are learned from the training pictures alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.readers.folders import read_folders
from benchmarks.readers.records import data_root
from benchmarks.siso.data import in_turn
from likewise.images.decode import Picture, decode
from likewise.vision.deep.network import is_installed
from likewise.vision.deep.recipes import DeepDense
from likewise.vision.holistic import Holistic
from likewise.vision.local import DenseSIFT
from likewise_methods.coding.bow import count
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays

N_WORDS = 1000
# Patches that fit into 32 x 32 pixels.
SIFT_RECIPE = DenseSIFT(patch_sizes=(8, 12, 16), step=2)
# Pictures whose descriptors the words are learned from.
_WORD_PICTURES = 1000
_KIND = "bench.siso quality"
# Part of the cache's name; grows when the rows would be others.
_VERSION = 1


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows with one class each, for training and for test."""

    X: NDArray[np.float32]
    labels: NDArray[np.int64]
    Q: NDArray[np.float32]
    truth: NDArray[np.int64]
    classes: list[str]


def why_not(feature: str) -> str:
    """What is missing for a kind of rows; nothing where they can be made."""
    root = data_root()
    if root is None or not (root / "cifar10.tar.gz").exists():
        return "cifar10.tar.gz is not among the data"
    if feature == "deep" and not is_installed():
        return "the extra deep is not installed"
    return ""


def cifar_rows(feature: str, n_train: int, n_test: int) -> ClassRows:
    """Rows of CIFAR-10; ``feature`` is "holistic", "deep" or "sift"."""
    name = f"cifar10-quality-{feature}-{n_train}-{n_test}-{_VERSION}.arrays"
    path = harness.cache_dir() / name
    try:
        meta, arrays = open_arrays(path, _KIND)
    except (OSError, DamagedFile):
        made = _made(feature, n_train, n_test)
        fields: dict[str, NDArray[Any]] = {
            "X": made.X,
            "labels": made.labels,
            "Q": made.Q,
            "truth": made.truth,
        }
        save_arrays(path, _KIND, {"classes": made.classes}, fields)
        return made
    return ClassRows(**{key: np.array(a) for key, a in arrays.items()}, classes=meta["classes"])


def _made(feature: str, n_train: int, n_test: int) -> ClassRows:
    root = data_root()
    assert root is not None
    images = read_folders(root / "cifar10.tar.gz")
    train = in_turn(images.labels, images.part("train"), n_train)
    test = in_turn(images.labels, images.part("test"), n_test)
    place = {int(row): i for i, row in enumerate(np.concatenate([train, test]))}
    # 3 kB a picture: all of them fit, and the archive is read once.
    held: dict[int, Picture] = {}
    for row, content in images.pictures():
        if row in place:
            held[place[row]] = decode(content)
    pictures = [held[i] for i in range(len(place))]
    rows = described(feature, pictures, len(train))
    n = len(train)
    return ClassRows(
        rows[:n], images.labels[train], rows[n:], images.labels[test], list(images.classes)
    )


def described(feature: str, pictures: list[Any], n_train: int) -> NDArray[np.float32]:
    """One unit row a picture."""
    if feature == "sift":
        return bags(pictures, n_train)
    recipe = DeepDense() if feature == "deep" else Holistic()
    rows = np.stack([recipe.extract(picture) for picture in pictures])
    return _unit(rows.astype(np.float32))


def bags(pictures: list[Any], n_train: int, n_words: int = N_WORDS) -> NDArray[np.float32]:
    """Counts of visual words, unit length; words from the first training pictures."""
    some = pictures[: min(n_train, _WORD_PICTURES)]
    words = Vocabulary(n_words, n_iter=10, random_state=0)
    words.fit(SIFT_RECIPE.extract(picture).descriptors for picture in some)
    numbers = [words.quantise(SIFT_RECIPE.extract(p).descriptors) for p in pictures]
    return _unit(count(numbers, n_words).toarray())


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)
