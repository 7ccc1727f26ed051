"""Corel-1k: numbers say the class, and the list must agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.readers.corel import read_corel1k
from tests.benchmarks.readers.test_readers_support import development, grow, refusal

HEADING = "path,split,class_id,class_name\n"


@pytest.fixture
def corel(tmp_path: Path) -> Path:
    names = [f"images/{i}.jpg" for i in range(900)] + [f"queries/{i}.jpg" for i in range(100)]
    return grow(tmp_path, dict.fromkeys(names, ""))


@pytest.mark.data
def test_corel1k() -> None:
    data = read_corel1k(development("corel1k"))
    assert len(data) == 1000
    assert len(data.part("database")) == 900
    assert len(data.part("query")) == 100
    assert np.bincount(data.labels).tolist() == [100] * 10
    assert data.classes[0] == "beach"
    assert data.classes[9] == "african_people"


def test_without_a_list_classes_are_numbers(corel: Path) -> None:
    data = read_corel1k(corel)
    assert list(data.classes) == [str(c) for c in range(10)]
    assert data.paths[95] == corel / "images" / "95.jpg"
    assert data.labels[95] == 1
    assert data.paths[900 + 35] == corel / "queries" / "35.jpg"
    assert data.labels[900 + 35] == 3


def test_missing_and_strange_photos(corel: Path) -> None:
    (corel / "images" / "17.jpg").unlink()
    message = refusal(read_corel1k, corel)
    assert "has 899 photos where 900 were expected: 17.jpg is missing" in message
    grow(corel, {"images/17.jpg": "", "images/900.jpg": ""})
    assert "'900' where a whole number, 0 to 899" in refusal(read_corel1k, corel)
    (corel / "images" / "900.jpg").unlink()
    (corel / "queries").rename(corel / "elsewhere")
    assert "queries is not there" in refusal(read_corel1k, corel)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("path,class\n", "line 1: expected the heading"),
        (HEADING + "images/0.jpg,database,0\n", "line 2: 3 fields"),
        (HEADING + "images/0.jpg,database,1,bus\n", "by its number it is ('database', 0)"),
        (HEADING + "images/0.jpg,query,0,bus\n", "line 2: images/0.jpg as query"),
        (HEADING + "images/0.jpg,database,ten,bus\n", "line 2: 'ten'"),
        (
            HEADING + "images/0.jpg,database,0,bus\nimages/1.jpg,database,0,car\n",
            "line 3: class 0 is bus and car",
        ),
        (HEADING + "images/0.jpg,database,0,bus\n", "names 1 classes"),
        (HEADING + 'images/0.jpg,database,0,"' + "x" * 140_000, "not a CSV file"),
    ],
)
def test_a_list_that_disagrees(corel: Path, lines: str, expected: str) -> None:
    message = refusal(read_corel1k, grow(corel, {"labels.csv": lines}))
    assert expected in message
    assert "labels.csv" in message
