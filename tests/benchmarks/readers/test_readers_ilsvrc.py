"""ILSVRC2010 bags of words: struct arrays as the development kit writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from benchmarks.readers.ilsvrc import read_ilsvrc2010, read_sbow
from tests.benchmarks.readers.test_readers_support import grow, refusal

TRUTH = "data/ILSVRC2010_validation_ground_truth.txt"


def write_sbow(path: Path, pictures: dict[str, list[Any]], dtype: type = np.uint16) -> Path:
    """As the kit does: struct('ID', …, 'sbow', struct('word', …, 'x', …, 'y', …, …))."""
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.empty((len(pictures), 1), dtype=[("ID", object), ("sbow", object)])
    for row, (name, words) in enumerate(pictures.items()):
        word = np.array(words, dtype=dtype).reshape(1, -1)
        place = np.zeros(word.shape, dtype=np.float32)
        fields = {"word": word, "x": place, "y": place, "scale": place, "norm": place}
        array[row, 0] = (name, fields)
    savemat(path, {"image_sbow": array}, do_compression=True)
    return path


def write_meta(path: Path, synsets: dict[int, str], children: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [("ILSVRC2010_ID", object), ("WNID", object), ("num_children", object)]
    rows = [(i, wnid, 0) for i, wnid in synsets.items()]
    rows += [(len(synsets) + 1 + i, f"n9999999{i}", 2) for i in range(children)]
    array = np.empty((len(rows), 1), dtype=fields)
    for row, values in enumerate(rows):
        array[row, 0] = values
    savemat(path, {"synsets": array})


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    write_sbow(
        tmp_path / "train/n00000002.sbow.mat", {"n00000002_7": [0, 999, 0], "n00000002_9": []}
    )
    write_sbow(tmp_path / "train/n00000001.sbow.mat", {"n00000001_1": [5]})
    write_sbow(tmp_path / "val/val.0001.sbow.mat", {"val_1": [1], "val_2": [2]})
    write_sbow(tmp_path / "val/val.0002.sbow.mat", {"val_3": [3, 3]})
    grow(tmp_path, {TRUTH: "2\n1\n2\n"})
    return tmp_path


def test_one_file(kit: Path) -> None:
    ids, counts = read_sbow(kit / "train/n00000002.sbow.mat")
    assert ids == ["n00000002_7", "n00000002_9"]
    assert sparse.issparse(counts)
    assert counts.shape == (2, 1000)
    assert counts[0, 0] == 2
    assert counts[0, 999] == 1
    assert counts[1].nnz == 0


def test_parts_together_go_by_the_numbers_of_the_kit(kit: Path) -> None:
    # The kit's order is not the alphabet's; internal synsets are no classes.
    write_meta(kit / "data/meta.mat", {2: "n00000001", 1: "n00000002"}, children=2)
    data = read_ilsvrc2010(kit)
    assert list(data.labels) == ["n00000002", "n00000001"]
    assert list(data.split) == ["train"] * 3 + ["val"] * 3
    assert list(data.ids) == [
        "n00000001_1",
        "n00000002_7",
        "n00000002_9",
        "val_1",
        "val_2",
        "val_3",
    ]
    assert data.Y.tolist() == [1, 0, 0, 1, 0, 1]
    assert data.X.shape == (6, 1000)
    assert data.X[5, 3] == 2


def test_one_part_needs_no_kit(kit: Path) -> None:
    train = read_ilsvrc2010(kit, parts=["train"])
    assert list(train.labels) == ["n00000001", "n00000002"]
    assert train.Y.tolist() == [0, 1, 1]
    val = read_ilsvrc2010(kit, parts=["val"])
    assert list(val.labels) == ["1", "2"]
    assert val.Y.tolist() == [1, 0, 1]
    assert "no meta.mat below" in refusal(read_ilsvrc2010, kit)


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        ("1\n", "1 classes for 3 val pictures"),
        ("1\nx\n1\n", "line 2: 'x'"),
        ("1\n0\n1\n", "line 2: '0' where a whole number, 1 to 1000"),
    ],
)
def test_bad_class_lists(kit: Path, truth: str, expected: str) -> None:
    message = refusal(read_ilsvrc2010, grow(kit, {TRUTH: truth}), parts=["val"])
    assert expected in message
    assert "ILSVRC2010_validation_ground_truth.txt" in message


def test_missing_parts(kit: Path, tmp_path: Path) -> None:
    (kit / TRUTH).unlink()
    assert "no ILSVRC2010_validation_ground_truth.txt" in refusal(
        read_ilsvrc2010, kit, parts=["val"]
    )
    (kit / "val/val.0001.sbow.mat").unlink()
    assert "val.0001.sbow.mat is missing" in refusal(read_ilsvrc2010, kit, parts=["val"])
    assert "no .sbow.mat files of test" in refusal(read_ilsvrc2010, kit, parts=["test"])
    assert "part 'dev'" in refusal(read_ilsvrc2010, kit, parts=["dev"])


def test_a_synset_the_kit_does_not_know(kit: Path) -> None:
    write_meta(kit / "data/meta.mat", {1: "n00000002", 2: "n00000003"})
    assert "synset n00000001 is not among those of meta.mat" in refusal(read_ilsvrc2010, kit)
    write_meta(kit / "data/meta.mat", {1: "n00000002", 3: "n00000001"})
    assert "has ILSVRC2010_ID 2" in refusal(read_ilsvrc2010, kit)


@pytest.mark.parametrize(
    ("words", "dtype", "expected"),
    [
        ([1000], np.uint16, "picture 2: word 1000 where 0 to 999"),
        ([-1], np.int16, "picture 2: word -1"),
        ([1.5], np.float64, "picture 2: word 1.5"),
        (["a"], str, "word holds no numbers"),
    ],
)
def test_words_out_of_range(tmp_path: Path, words: list[Any], dtype: type, expected: str) -> None:
    path = write_sbow(tmp_path / "n00000001.sbow.mat", {"a": [], "b": words}, dtype)
    assert expected in refusal(read_sbow, path)


def test_other_variables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "n00000001.sbow.mat"
    savemat(path, {"other": 1})
    assert "has no variable 'image_sbow'" in refusal(read_sbow, path)
    savemat(path, {"image_sbow": np.ones((2, 2))})
    assert "image_sbow is not a struct array" in refusal(read_sbow, path)
    array = np.empty((1, 1), dtype=[("ID", object), ("sbow", object)])
    array[0, 0] = ("a", 3)
    savemat(path, {"image_sbow": array})
    assert "picture 1: sbow is not one struct" in refusal(read_sbow, path)
