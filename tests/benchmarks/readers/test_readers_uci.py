"""UCI Car: words become ranks that go up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.readers.uci import read_uci_car
from tests.benchmarks.readers.test_readers_support import development, grow, refusal

GOOD = "low,med,5more,4,big,high,vgood\n"


@pytest.mark.data
def test_uci_car() -> None:
    data = read_uci_car(development("uci-car"))
    assert data.X.shape == (1728, 6)
    assert dict(zip(data.labels, np.bincount(data.Y).tolist(), strict=True)) == {
        "unacc": 1210,
        "acc": 384,
        "good": 69,
        "vgood": 65,
    }
    assert data.X.max(axis=0).tolist() == [3, 3, 3, 2, 2, 2]
    # An unsafe car, and a car for two, is never acceptable: the ranks are the right way round.
    assert set(data.Y[data.X[:, 5] == 0]) == {0}
    assert set(data.Y[data.X[:, 3] == 0]) == {0}
    hot = read_uci_car(development("uci-car"), one_hot=True)
    assert hot.X.shape == (1728, 21)
    assert (hot.X.sum(axis=1) == 6).all()


def test_ranks_and_one_hot(tmp_path: Path) -> None:
    grow(tmp_path, {"car.data": GOOD + "vhigh,low,2,2,small,low,unacc\n"})
    data = read_uci_car(tmp_path / "car.data")
    assert data.X.tolist() == [[0, 1, 3, 1, 2, 2], [3, 0, 0, 0, 0, 0]]
    assert data.Y.tolist() == [3, 0]
    hot = read_uci_car(tmp_path, one_hot=True)
    assert [n for n, v in zip(hot.features, hot.X[0], strict=True) if v] == [
        "buying=low",
        "maint=med",
        "doors=5more",
        "persons=4",
        "lug_boot=big",
        "safety=high",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("low,med,2,2\n", "car.data, line 2: 4 fields where 7 were expected"),
        ("low,med,2,2,big,tall,acc\n", "line 2: safety is 'tall'; one of low, med, high"),
        ("low,med,2,2,big,low,fine\n", "line 2: class is 'fine'"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, expected: str) -> None:
    assert expected in refusal(read_uci_car, grow(tmp_path, {"car.data": GOOD + line}))


def test_missing_or_empty(tmp_path: Path) -> None:
    assert "car.data is not there" in refusal(read_uci_car, tmp_path)
    assert "is empty" in refusal(read_uci_car, grow(tmp_path, {"car.data": "\n"}))
