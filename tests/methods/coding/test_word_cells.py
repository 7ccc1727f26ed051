"""Words in cells: how often the nearest is found, exact distances, files of both kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.coding.word_cells import WordCells
from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays

Floats = NDArray[np.float32]


def descriptors(n: int, seed: int, width: int = 128) -> Floats:
    """Like RootSIFT: roots of histograms, one shape with some of another and something of its own.

    A word is as far from the next descriptor as in photographs: .16, where any two are .53 apart.
    """
    rng = np.random.default_rng(seed)
    shapes = np.random.default_rng(7).gamma(0.3, size=(400, width))
    one, other = shapes[rng.integers(400, size=(2, n))]
    mixed = one + 0.5 * rng.random((n, 1)) * other + 0.5 * rng.gamma(0.3, size=(n, width))
    return np.asarray(np.sqrt(mixed / mixed.sum(axis=1, keepdims=True)), np.float32)


@pytest.fixture(scope="module")
def words() -> Floats:
    return descriptors(3_000, 0)


@pytest.fixture(scope="module")
def cells(words: Floats) -> WordCells:
    return WordCells.build(words)


def test_nearly_always_the_nearest_word(cells: WordCells, words: Floats) -> None:
    X = descriptors(1_000, 1)
    ids, distances = cells.nearest(X)
    every = ((X**2).sum(1)[:, None] - 2.0 * (X @ words.T) + (words**2).sum(1)).astype(float)
    nearest = every.argmin(axis=1)
    assert (ids == nearest).mean() > 0.97
    # The others get a word hardly further away.
    least = every[np.arange(len(X)), nearest]
    assert distances.mean() < 1.003 * least.mean()


def test_distances_are_exact(cells: WordCells, words: Floats) -> None:
    X = descriptors(300, 2)
    ids, distances = cells.nearest(X)
    exact = ((X.astype(float) - words[ids]) ** 2).sum(axis=1)
    assert np.abs(distances - exact).max() < 1e-6
    ids, distances = cells.nearest(words[:50])
    assert ids.tolist() == list(range(50))
    assert (distances == 0).all()


def test_a_row_does_not_depend_on_its_company(cells: WordCells) -> None:
    X = descriptors(40, 3)
    together = cells.nearest(X)
    alone = [cells.nearest(X[i : i + 1]) for i in range(len(X))]
    assert together[0].tolist() == [int(ids[0]) for ids, _ in alone]
    assert together[1].tolist() == [float(d[0]) for _, d in alone]
    assert [len(part) for part in cells.nearest(X[:0])] == [0, 0]


def test_the_first_of_equal_words() -> None:
    words = np.repeat(descriptors(20, 4, width=11), 3, axis=0)
    ids, distances = WordCells.build(words).nearest(words)
    assert ids.tolist() == [3 * (i // 3) for i in range(60)]
    assert (distances == 0).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_words(n: int) -> None:
    words = descriptors(n, 5, width=3)
    assert WordCells.build(words).nearest(words)[0].tolist() == list(range(n))


def test_which_vocabularies_have_cells(words: Floats) -> None:
    assert Vocabulary.from_words(words)._cells is not None
    assert Vocabulary.from_words(words[:1_999])._cells is None
    assert Vocabulary.from_words(words, assignment="exact")._cells is None
    assert Vocabulary.from_words(words[:50], assignment="cells")._cells is not None


def test_soft_words_are_compared_with_all(words: Floats) -> None:
    X = descriptors(50, 6)
    soft = Vocabulary.from_words(words).quantise_soft(X, 3, sigma=0.3)
    exact = Vocabulary.from_words(words, assignment="exact").quantise_soft(X, 3, sigma=0.3)
    assert (soft[0] == exact[0]).all()
    assert (soft[1] == exact[1]).all()


def test_cells_are_saved_and_old_files_stay_exact(words: Floats, tmp_path: Path) -> None:
    X = descriptors(500, 8)
    made = Vocabulary.from_words(words)
    made.save(tmp_path / "new.lwv")
    opened = Vocabulary.open(tmp_path / "new.lwv")
    assert opened._cells is not None
    assert (opened.quantise(X) == made.quantise(X)).all()
    assert opened.distortion(X) == made.distortion(X)
    # A file from before there were cells has neither of their arrays.
    meta, arrays = open_arrays(tmp_path / "new.lwv", Vocabulary.kind)
    arrays = {name: array for name, array in arrays.items() if not name.startswith("cell_")}
    save_arrays(tmp_path / "old.lwv", Vocabulary.kind, meta, arrays)
    old = Vocabulary.open(tmp_path / "old.lwv")
    assert old._cells is None
    exact = Vocabulary.from_words(words, assignment="exact")
    assert (old.quantise(X) == exact.quantise(X)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"cell_of_word": np.zeros(7, np.int32)},
        {"cell_of_word": np.zeros(3_000, np.int32)},
        {"cell_of_word": np.full(3_000, 10_000, np.int32)},
        {"cell_of_word": np.full(3_000, -1, np.int32)},
        {"cell_centres": np.zeros((1, 3), np.float32)},
    ],
)
def test_damaged_cells(
    words: Floats, wrong: dict[str, NDArray[np.generic]], tmp_path: Path
) -> None:
    Vocabulary.from_words(words).save(tmp_path / "v.lwv")
    meta, arrays = open_arrays(tmp_path / "v.lwv", Vocabulary.kind)
    save_arrays(tmp_path / "w.lwv", Vocabulary.kind, meta, {**arrays, **wrong})
    with pytest.raises(DamagedFile, match="not a usable vocabulary"):
        Vocabulary.open(tmp_path / "w.lwv")


def test_a_way_that_there_is_not(words: Floats) -> None:
    with pytest.raises(InvalidInput, match="assignment is 'codes'"):
        Vocabulary.from_words(words, assignment="codes")  # type: ignore[arg-type]
