"""MATLAB 5: the same values as SciPy on good files, one kind of error on bad ones."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from benchmarks.readers.mat5 import read_mat5
from likewise.errors import DatasetError
from tests.benchmarks.readers.test_readers_support import refusal

VALUES: dict[str, Any] = {
    "a": np.arange(30.0).reshape(5, 6),
    "small": np.array([[7]], dtype=np.uint8),
    "cube": np.arange(24, dtype=np.int16).reshape(2, 3, 4),
    "flags": np.array([[True, False]]),
    "empty": np.zeros((0, 3)),
    "word": "Caf\u00e9 \u4e2d",
    "s": {"x": 1.5, "cells": np.array(["text", np.arange(5)], dtype=object)},
}


@pytest.mark.parametrize("packed", [True, False])
def test_the_values_are_those_of_scipy(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.mat"
    savemat(path, VALUES, do_compression=packed)
    mine, theirs = read_mat5(path), loadmat(path)
    for name in ("a", "small", "cube", "flags", "empty"):
        np.testing.assert_array_equal(mine[name], theirs[name])
        assert mine[name].dtype == theirs[name].dtype
    assert mine["word"] == "Caf\u00e9 \u4e2d"
    assert mine["s"][0]["x"] == 1.5
    assert mine["s"][0]["cells"][0] == "text"
    assert mine["s"][0]["cells"][1].ravel().tolist() == [0, 1, 2, 3, 4]
    assert list(read_mat5(path, "small")) == ["small"]
    assert "has no variable 'b'" in refusal(read_mat5, path, "b")


@pytest.mark.parametrize("packed", [True, False])
def test_damage_is_a_dataset_error_or_none(tmp_path: Path, packed: bool) -> None:
    # The unpacked kind ended the process in SciPy's reader.
    path = tmp_path / "a.mat"
    savemat(path, VALUES, do_compression=packed)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    messages = []
    for trial in range(400):
        raw = bytearray(whole)
        if trial % 3:
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        else:
            raw = raw[: int(rng.integers(len(raw)))]
        path.write_bytes(raw)
        try:
            read_mat5(path)
        except DatasetError as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert all("a.mat: not a readable MATLAB 5 file" in message for message in messages)


def test_a_huge_shape_asks_for_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"c": np.array([1.0, 2.0], dtype=object)}, do_compression=False)
    raw = path.read_bytes()
    shape = struct.pack("<ii", 1, 2)
    assert raw.count(shape) == 1
    path.write_bytes(raw.replace(shape, struct.pack("<ii", 1 << 30, 1 << 30)))
    assert "values announced in" in refusal(read_mat5, path)


def test_a_packed_variable_must_end(tmp_path: Path) -> None:
    packed = zlib.compress(bytes(1000))[:-4]
    header = b" " * 124 + b"\x00\x01IM"
    (tmp_path / "a.mat").write_bytes(header + struct.pack("<II", 15, len(packed)) + packed)
    assert "cut short or too large" in refusal(read_mat5, tmp_path / "a.mat")


@pytest.mark.parametrize("value", [np.array([1j]), np.zeros(0, dtype=[("f", object)])])
def test_other_kinds(tmp_path: Path, value: Any) -> None:
    savemat(tmp_path / "a.mat", {"v": value})
    if value.dtype.kind == "c":
        assert "'v' is neither real numbers" in refusal(read_mat5, tmp_path / "a.mat")
    else:
        assert read_mat5(tmp_path / "a.mat")["v"] == []


def test_files_that_are_none(tmp_path: Path) -> None:
    assert "a.mat is not there" in refusal(read_mat5, tmp_path / "a.mat")
    for raw in (b"", b"text" * 100):
        (tmp_path / "a.mat").write_bytes(raw)
        assert "no MATLAB 5 header" in refusal(read_mat5, tmp_path / "a.mat")
