"""How large is large: what is generated can be searched and judged, and figures are put right."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale.generate import generate
from benchmarks.scale.measure import K, measure
from benchmarks.scale.report import a_million, ends, growth
from likewise.collection.collection import Collection

# A hundred bytes of memory and two milliseconds of building a picture, above what is always there.
SMALL, LARGE = (
    {
        "pictures": n, "build CPU s": 0.002 * n, "graph CPU s": 0.0 if n < 50_000 else 5.0,
        "bytes a picture": 900, "rows": 500, "graph": 25, "open ms": 7.0,
        "first answer ms": 9.0, "search p50 ms": n / 1e4,
        "judged and answered ms": 5.0, "search meanwhile ms": 4.0, "own MB": 60 + 75e-6 * n,
        "mapped MB": 80 + 25e-6 * n,
    }
    for n in (10_000, 100_000)
)  # fmt: skip


def test_growth_is_by_factors() -> None:
    (row,) = growth([SMALL, LARGE])
    assert row["search p50"] == row["build CPU s"] == 10
    assert row["open"] == 1
    assert row["graph CPU s"] == "", "there was none before"


def test_a_million_is_what_further_pictures_add() -> None:
    row = a_million(SMALL, LARGE)
    assert row["memory of its own GB"] == pytest.approx(0.075)
    assert row["pages of files in use GB"] == pytest.approx(0.025)
    assert row["disk GB"] == pytest.approx(0.9)
    assert row["build CPU min"] == pytest.approx(2000 / 60)


def test_a_machine_ends_where_half_of_its_memory_does() -> None:
    for row in ends(SMALL, LARGE):
        gigabytes = row["memory GB"]
        assert isinstance(gigabytes, int)
        assert row["pictures, millions"] == pytest.approx(gigabytes / 2 / 0.1)
        assert row["with every page in use"] == pytest.approx(gigabytes / 2 / 0.6)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")
def test_generated_pictures_are_searched_and_judged(tmp_path: Path) -> None:
    spent = generate("words", tmp_path / "w.lw", 60, 0).seconds
    assert set(spent) == {"pictures", "rows"}
    assert measure("words", str(tmp_path / "w.lw"), "60").keys() >= {"open ms", "own MB"}
    with Collection.open(tmp_path / "w.lw") as col:
        assert len(col) > 60, "some came while it was searched"
        assert len(col.log.entries()) > 0, "some were judged"
        assert len(col.search(1, k=K, by="words")) == K
