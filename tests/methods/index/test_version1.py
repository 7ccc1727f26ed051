"""Indexes that the first release saved, in ``version1``, are opened and give the same answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.layout import DamagedIndex
from tests.methods.index.reference import DictIndex, assert_same

SAVED = Path(__file__).with_name("version1")
REMOVED = {"float32": [9, 150], "uint8": [9, 150, 30]}
"""In both, two blocks; in the second, words 5 and 17 were compacted away."""


def rows() -> np.ndarray:
    grid = np.arange(60 * 40).reshape(60, 40)
    return np.where(grid * 7919 % 11 < 3, (grid * 31 % 17 + 1) / 8, 0).astype(np.float32)


@pytest.mark.parametrize("impacts", ["float32", "uint8"])
def test_an_old_index_is_built_anew(impacts: str, tmp_path: Path) -> None:
    truth = DictIndex()
    truth.add(rows(), list(range(0, 180, 3)))
    truth.remove(REMOVED[impacts])
    queries = np.vstack([rows()[:6], np.eye(40)[[5, 17, 20]]])
    opened = InvertedIndex.open(SAVED / impacts)
    for k in (1, 4, 70):
        assert_same(opened, truth, queries, k)
    opened.verify()
    kept = np.delete(rows(), [i // 3 for i in REMOVED[impacts]], axis=0)
    counts = (kept != 0).sum(axis=0)
    if impacts == "uint8":
        counts[[5, 17]] = 0
    assert opened.frequencies().tolist() == counts.tolist()
    opened.save(tmp_path / "anew")
    again = InvertedIndex.open(tmp_path / "anew")
    assert_same(again, truth, queries, 5)
    assert all(block.path is not None for block in again._state.blocks)


@pytest.mark.parametrize("impacts", ["float32", "uint8"])
def test_damage_in_an_old_index_is_found(impacts: str, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    shutil.copytree(SAVED / impacts, folder)
    whole = InvertedIndex.open(folder).scores(rows()[:3])
    refused = right = 0
    for path in sorted(folder.iterdir()):
        good = path.read_bytes()
        for at in range(0, len(good), 61):
            path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
            try:
                np.testing.assert_array_equal(InvertedIndex.open(folder).scores(rows()[:3]), whole)
                right += 1
            except DamagedIndex:
                refused += 1
        path.write_bytes(good)
    # Only padding may be damaged unnoticed.
    assert refused > 20 * right
