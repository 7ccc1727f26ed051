"""The benchmark of the server runs, on a collection small enough for a test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import harness
from benchmarks.collection.report import generate
from benchmarks.server import report as server


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads another process's clock")
def test_every_table_is_filled(tmp_path: Path) -> None:
    generate(tmp_path / "small.lw", 300, 0)
    report = harness.Report("server", "The server at work", "300 pictures")
    server.measure(
        report, tmp_path / "small.lw", 300, requests=6, judgements=3, load=12, clients=(2,)
    )
    tables = dict(report.sections)
    assert list(tables) == [
        "One request at a time",
        "From a judgement to the re-ranked answer",
        "Requests a second",
        "Memory",
    ]
    for heading in list(tables)[:2]:
        for row in tables[heading]:
            assert 0 < float(str(row["CPU p50 ms"])) <= float(str(row["CPU p99 ms"])), row
    by_what = {row["what"]: row for row in tables["From a judgement to the re-ranked answer"]}
    assert set(by_what) == {"judge", "search again", "both", "undo"}
    assert [row["requests"] for row in tables["Requests a second"]] == [12]
    assert all(float(str(row["resident MB"])) > 10 for row in tables["Memory"])
    written = report.write(tmp_path)
    assert "requests/s" in written.read_text()
