"""INRIA Holidays: groups by the hundred, the query ends in 00."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.readers.holidays import read_holidays
from tests.benchmarks.readers.test_readers_support import grow, refusal

NAMES = ["100000", "100001", "100002", "100100", "100101", "149901"]


@pytest.mark.parametrize("folder", ["jpg/", ""])
def test_official_layout(tmp_path: Path, folder: str) -> None:
    data = read_holidays(grow(tmp_path, {f"{folder}{name}.jpg": "" for name in NAMES}))
    assert len(data) == 6
    by_name = {query.name: query for query in data.queries}
    assert list(by_name) == ["100000", "100100", "149900"]
    assert by_name["100000"].positives == {"100001", "100002"}
    assert by_name["100100"].positives == {"100101"}
    assert by_name["100000"].present
    # A partial copy: the group is there, its query is not.
    assert not by_name["149900"].present
    assert by_name["149900"].positives == {"149901"}


@pytest.mark.parametrize("name", ["1000", "img001", "1000000", "10000\u0660"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    grow(tmp_path, {"jpg/100000.jpg": "", f"jpg/{name}.jpg": ""})
    assert f"{name}.jpg: the name is not six digits" in refusal(read_holidays, tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    assert "jpg/NNNNNN.jpg" in refusal(read_holidays, tmp_path / "gone")
    assert "no pictures below" in refusal(read_holidays, tmp_path)
