"""Byte order marks, blank lines and carriage returns say nothing and change nothing."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from benchmarks.readers.comparisons import read_triplets
from benchmarks.readers.mat5 import read_mat5
from likewise.errors import DatasetError


@pytest.mark.parametrize(
    "text",
    [
        "0,1,2\n3,4,5\n",
        "\ufeff0,1,2\n3,4,5\n",
        "0,1,2\r\n3,4,5\r\n",
        "0,1,2\n\n3,4,5\n   \n\n",
    ],
)
def test_csv(tmp_path: Path, text: str) -> None:
    path = tmp_path / "triplets.csv"
    path.write_bytes(text.encode())
    assert np.array_equal(read_triplets(path).triplets, [[0, 1, 2], [3, 4, 5]])


def test_a_struct_without_a_field_width_is_refused(tmp_path: Path) -> None:
    def element(kind: int, body: bytes) -> bytes:
        return struct.pack("<II", kind, len(body)) + body + bytes(-len(body) % 8)

    matrix = element(6, struct.pack("<II", 2, 0))  # class: struct
    matrix += element(5, struct.pack("<ii", 1, 1)) + element(1, b"s") + element(5, b"")
    path = tmp_path / "struct.mat"
    path.write_bytes(b" " * 124 + b"\x00\x01IM" + element(14, matrix))
    with pytest.raises(DatasetError, match=r"struct\.mat: not a readable MATLAB 5 file"):
        read_mat5(path)
