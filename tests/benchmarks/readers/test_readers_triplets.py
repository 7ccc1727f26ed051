"""Triplets from any file: one array, every row checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from benchmarks.readers.comparisons import read_triplets
from tests.benchmarks.readers.test_readers_support import grow, refusal


@pytest.mark.parametrize("heading", ["", "a,b,c\n", "\nanchor, nearer, farther\n"])
def test_csv(tmp_path: Path, heading: str) -> None:
    data = read_triplets(grow(tmp_path, {"t.csv": heading + "0,1,2\r\n\n3, 2 ,1.0\n"}) / "t.csv")
    assert data.triplets.tolist() == [[0, 1, 2], [3, 2, 1]]
    assert data.triplets.dtype == np.int64
    assert data.n_objects == 4
    assert data.name == "t"


def test_json(tmp_path: Path) -> None:
    rows = [[0, 1, 2], [3, 2, 1]]
    grow(tmp_path, {"list.json": json.dumps(rows), "object.json": json.dumps({"mine": rows})})
    assert read_triplets(tmp_path / "list.json", n_objects=9).n_objects == 9
    assert read_triplets(tmp_path / "object.json", key="mine").triplets.tolist() == rows
    assert "has no 'answers'; it holds mine" in refusal(read_triplets, tmp_path / "object.json")


def test_mat_counts_from_one_unless_told(tmp_path: Path) -> None:
    savemat(tmp_path / "t.mat", {"triplets": np.array([[1, 2, 3], [4, 3, 2]], dtype=np.uint16)})
    assert read_triplets(tmp_path / "t.mat").triplets.tolist() == [[0, 1, 2], [3, 2, 1]]
    assert read_triplets(tmp_path / "t.mat", first_id=0).n_objects == 5
    assert "has no variable 'other'" in refusal(read_triplets, tmp_path / "t.mat", key="other")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,1,2\n0,1\n", "t.csv, line 2: 2 values where 3 were expected"),
        ("0,1\n", "t.csv, line 1: 2 values where 3"),
        ("0,1,x\n1,2,3\n", "t.csv, line 1: 'x' is not a finite number"),
        ("0,1,2\n0,1,1.5\n", "t.csv, row 2: (0, 1, 1.5); whole numbers expected"),
        ("0,1,2\n0,1,1e300\n", "row 2"),
        ("0,1,2\n0,-1,1\n", "t.csv, row 2: (0, -1, 1); ids start at 0"),
        ("0,1,2\n5,1,5\n", "t.csv, row 2: (5, 1, 5); three different objects expected"),
        ("0,1,9\n", "row 1: (0, 1, 9); ids end at 8"),
        ("", "is empty"),
        ("a,b,c\n", "holds no rows"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_bad_csv(tmp_path: Path, text: str | bytes, expected: str) -> None:
    path = grow(tmp_path, {"t.csv": text}) / "t.csv"
    assert expected in refusal(read_triplets, path, n_objects=9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[0, 1, 2], [0, 1]]", "t.json, answers, row 2: [0, 1] where 3 whole numbers"),
        ("[[0, 1, 2.0]]", "row 1: [0, 1, 2.0]"),
        ("[[0, 1, true]]", "row 1: [0, 1, True]"),
        ("[[0, 1, 1]]", "row 1: (0, 1, 1); three different"),
        ("[[0, 1, 99999999999999999999]]", "beyond 64 bits"),
        ("[]", "holds no triplets"),
        ("3", "answers is not a list"),
        ("[[0, 1, 2]", "t.json: not JSON"),
        ("[" * 100_000, "t.json: not JSON"),
    ],
)
def test_bad_json(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refusal(read_triplets, grow(tmp_path, {"t.json": text}) / "t.json")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.ones((4, 4)), "triplets have the shape (4, 4); three columns expected"),
        (np.array([[0, 1, 2]]), "row 1: (0, 1, 2); ids start at 1"),
        (np.array([[1, 2, 2.5]]), "row 1: (1, 2, 2.5); whole numbers"),
        ("text", "t.mat"),
    ],
)
def test_bad_mat(tmp_path: Path, value: Any, expected: str) -> None:
    savemat(tmp_path / "t.mat", {"triplets": value})
    assert expected in refusal(read_triplets, tmp_path / "t.mat")


def test_unknown_suffix_and_missing_file(tmp_path: Path) -> None:
    path = grow(tmp_path, {"t.txt": ""}) / "t.txt"
    assert "suffix '.txt'; .csv, .json or .mat expected" in refusal(read_triplets, path)
    assert "t.csv is not there" in refusal(read_triplets, tmp_path / "t.csv")
