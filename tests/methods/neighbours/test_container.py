"""Saved files: what was written comes back, and anything else is a typed error."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise_methods.neighbours import container
from likewise_methods.neighbours.container import DamagedFile, Streamed, open_arrays, save_arrays


def small(path: Path) -> None:
    arrays: dict[str, Any] = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.zeros((0, 4), np.int64),
    }
    save_arrays(path, "test", {"n": np.int64(3)}, arrays)


def test_round_trip(tmp_path: Path) -> None:
    small(tmp_path / "x")
    meta, arrays = open_arrays(tmp_path / "x", "test")
    assert meta == {"n": 3}
    assert arrays["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert arrays["b"].shape == (0, 4)
    assert arrays["b"].dtype == np.int64
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_every_flipped_byte_and_every_length_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    small(path)
    good = path.read_bytes()
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :])
        with pytest.raises(DamagedFile, match="x: "):
            open_arrays(path, "test")
        path.write_bytes(good[:at])
        with pytest.raises(DamagedFile):
            open_arrays(path, "test")
    path.write_bytes(good + b"\0")
    with pytest.raises(DamagedFile):
        open_arrays(path, "test")


def test_another_kind_is_named(tmp_path: Path) -> None:
    small(tmp_path / "x")
    with pytest.raises(DamagedFile, match="a saved test; a saved other expected"):
        open_arrays(tmp_path / "x", "other")
    with pytest.raises(FileNotFoundError):
        open_arrays(tmp_path / "no", "other")


@pytest.mark.parametrize(
    "arrays",
    [
        [["a", "<f4", [1 << 60]]],
        [["a", "<f4", [-1]]],
        [["a", "|O8", [1]]],
        [["a", "<f4", []]],
        [["a", "<f4"]],
        "nonsense",
        None,
        [],
    ],
)
def test_a_header_that_lies_under_a_right_checksum(tmp_path: Path, arrays: object) -> None:
    text = json.dumps({"kind": "test", "meta": {}, "arrays": arrays}).encode()
    body = container._HEAD.pack(container.MAGIC, len(text)) + text
    body += bytes(-len(body) % container.ALIGN) + b"12"
    path = tmp_path / "x"
    path.write_bytes(body + hashlib.blake2b(body, digest_size=container.DIGEST).digest())
    with pytest.raises(DamagedFile, match="header"):
        open_arrays(path, "test")


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    small(path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_arrays(path, "test", {}, {"a": np.ones(3)})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_an_array_that_comes_in_parts_is_saved_as_if_it_were_whole(tmp_path: Path) -> None:
    rows = np.arange(60, dtype=np.float32).reshape(12, 5)

    def fill(put: Callable[[Any], object]) -> None:
        for start in (0, 5, 6):
            put(rows[start : {0: 5, 5: 6, 6: 12}[start]])

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    ids = np.arange(12)
    save_arrays(whole, "thing", {}, {"ids": ids, "rows": rows})
    save_arrays(parts, "thing", {}, {"ids": ids, "rows": Streamed(np.float32, (12, 5), fill)})
    assert parts.read_bytes() == whole.read_bytes()
    with pytest.raises(ValueError, match="no array of shape"):
        save_arrays(parts, "thing", {}, {"rows": Streamed(np.float32, (13, 5), fill)})
    assert parts.read_bytes() == whole.read_bytes()
