"""One folder a class: depth decides the layout, and odd files are passed over."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.readers.folders import read_folders
from tests.benchmarks.readers.test_readers_support import development, grow, refusal


@pytest.mark.data
def test_caltech101() -> None:
    data = read_folders(development("caltech101"), skip=["BACKGROUND_Google"])
    assert len(data) == 2560
    assert len(data.classes) == 64
    assert np.bincount(data.labels).tolist() == [40] * 64
    assert data.split == ()
    assert data.archive is None
    assert all(path.is_file() for path in data.paths)
    assert all(
        p.parent.name == data.classes[k] for p, k in zip(data.paths, data.labels, strict=True)
    )


def test_classes_without_parts(tmp_path: Path) -> None:
    # MSRA-MM: one folder a query word.
    grow(tmp_path, dict.fromkeys(["cat/2.jpg", "cat/1.jpg", "Big Ben/1.gif", "cat/info.xml"], ""))
    data = read_folders(tmp_path, name="msra-mm")
    assert data.name == "msra-mm"
    assert data.classes == ["Big Ben", "cat"]
    assert [p.relative_to(tmp_path).as_posix() for p in data.paths] == [
        "Big Ben/1.gif",
        "cat/1.jpg",
        "cat/2.jpg",
    ]
    assert data.labels.tolist() == [0, 1, 1]
    assert list(data.pictures()) == list(enumerate(data.paths))


def test_parts_above_classes(tmp_path: Path) -> None:
    grow(tmp_path, dict.fromkeys(["train/cat/1.jpg", "train/dog/1.jpg", "test/dog/2.jpg"], ""))
    data = read_folders(tmp_path)
    assert list(data.split) == ["test", "train", "train"]
    assert data.classes == ["cat", "dog"]
    assert data.part("train").tolist() == [1, 2]
    assert [row for row, _ in data.pictures("test")] == [0]


def test_one_part_alone_is_a_part_but_a_wrapper_is_not(tmp_path: Path) -> None:
    grow(tmp_path, dict.fromkeys(["a/train/cat/1.jpg", "a/train/dog/1.jpg"], ""))
    assert list(read_folders(tmp_path / "a").split) == ["train", "train"]
    assert list(read_folders(tmp_path).split) == ["train", "train"]
    grow(tmp_path, dict.fromkeys(["b/101_ObjectCategories/cat/1.jpg"], ""))
    wrapped = read_folders(tmp_path / "b")
    assert wrapped.split == ()
    assert wrapped.classes == ["cat"]


def test_skipped_classes_leave_no_gap_in_the_numbers(tmp_path: Path) -> None:
    grow(tmp_path, dict.fromkeys(["BACKGROUND_Google/1.jpg", "ant/1.jpg", ".x/1.jpg"], ""))
    data = read_folders(tmp_path, skip=["BACKGROUND_Google", "Faces_easy"])
    assert data.classes == ["ant"]
    assert data.labels.tolist() == [0]
    assert "every class" in refusal(read_folders, tmp_path, skip=["BACKGROUND_Google", "ant"])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["notes.txt"], "no pictures in"),
        (["1.jpg", "cat/1.jpg"], "1.jpg is not in a class folder"),
        (["cat/1.jpg", "dog/x/1.jpg"], "lie at different depths"),
        (["a/b/c/1.jpg", "d/e/f/1.jpg"], "is not in a class folder"),
    ],
)
def test_other_layouts_are_refused(tmp_path: Path, files: list[str], expected: str) -> None:
    message = refusal(read_folders, grow(tmp_path, dict.fromkeys(files, "")))
    assert expected in message
    assert "CLASS/picture.jpg" in message


def test_nothing_there(tmp_path: Path) -> None:
    assert "gone is not there" in refusal(read_folders, tmp_path / "gone")
