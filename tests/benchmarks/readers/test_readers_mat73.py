"""MATLAB 7.3: an optional library, and a clear word where it is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from benchmarks.readers.mat5 import read_mat5
from benchmarks.readers.mat73 import read_mat73
from tests.benchmarks.readers.test_readers_support import refusal


def test_version_73_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["m"] = np.arange(6).reshape(2, 3)
        refs = [file.create_dataset(f"r{i}", data=[ord(c) for c in t]) for i, t in enumerate("xy")]
        file["names"] = np.array([[r.ref for r in refs]], dtype=h5py.ref_dtype)
    assert "a MATLAB 7.3 file where version 5 was expected" in refusal(read_mat5, path)
    matrix, names = read_mat73(path, "m", "names")
    assert matrix.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert names == ["x", "y"]
    assert "a.mat: no readable MATLAB 7.3 file with z and names" in refusal(
        read_mat73, path, "z", "names"
    )
    path.write_bytes(path.read_bytes()[:900])
    assert "no readable MATLAB 7.3 file" in refusal(read_mat73, path, "m", "names")


def test_without_h5py_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert "likewise[datasets]" in refusal(read_mat73, tmp_path / "a.mat", "m", "names")


def test_missing_files(tmp_path: Path) -> None:
    assert "a.mat is not there" in refusal(read_mat73, tmp_path / "a.mat", "m", "n")
