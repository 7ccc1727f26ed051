"""Results pages: hand-written text survives a run, every table reaches the CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks import harness, pages

BY_HAND = """# A toy

A sentence by hand.

<!-- run: toy -->
Size: old.
<!-- end -->

## A heading that was changed

<!-- table: speed -->
| ms |
|---|
| 1 |
<!-- end -->

What it means, by hand.

| a table | by hand |
|---|---|
| 1 | 2 |

## error

<!-- table: error -->
| old |
<!-- end -->

- a note at the end
"""


def run(folder: Path, **tables: list[dict[str, object]]) -> str:
    report = harness.Report("toy", "A toy", "tiny", {"seed": 3})
    for name, rows in tables.items():
        report.add(name, rows)
    return report.write(folder).read_text()


def saved(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_hand_written_text_survives(tmp_path: Path) -> None:
    (tmp_path / "toy.md").write_text(BY_HAND)
    text = run(tmp_path, speed=[{"ms": 7}], error=[{"new": 8}])
    assert "| 7 |" in text
    assert "| 1 |\n<!-- end" not in text
    assert "| old |" not in text
    assert "Size: tiny." in text
    assert "Size: old." not in text

    def outside(page: str) -> list[str]:
        lines = page.splitlines()
        inside = {i for first, end in pages.blocks(page).values() for i in range(first, end)}
        return [line for i, line in enumerate(lines) if i not in inside]

    assert outside(text) == outside(BY_HAND)


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    tables: dict[str, list[dict[str, object]]] = {"speed": [{"ms": 7}], "error": [{"new": 8}]}
    first = run(tmp_path, **tables)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(tmp_path, **tables) == first
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert first.startswith("# A toy\n\n<!-- run: toy -->\nSize: tiny. Machine: ")


def test_a_table_that_is_not_on_the_page_goes_to_the_csv_file_only(tmp_path: Path) -> None:
    (tmp_path / "toy.md").write_text(BY_HAND)
    text = run(tmp_path, memory=[{"MB": 3}])
    assert "MB" not in text
    assert "From an earlier run" not in text, "no CSV file had those tables"
    assert saved(tmp_path / "toy.csv") == [{"table": "memory", "MB": "3"}]


def test_tables_not_measured_stay_and_are_named(tmp_path: Path) -> None:
    run(tmp_path, speed=[{"ms": 7}], error=[{"share": 0.5}])
    text = run(tmp_path, speed=[{"ms": 9}])
    assert "| 0.5 |" in text
    assert "From an earlier run: error." in text
    rows = saved(tmp_path / "toy.csv")
    assert sorted((row["table"], row["ms"], row["share"]) for row in rows) == [
        ("error", "", "0.5"),
        ("speed", "9", ""),
    ]


def test_two_reports_share_a_page(tmp_path: Path) -> None:
    (tmp_path / "toy.md").write_text(
        BY_HAND + "\n<!-- run: clock -->\n<!-- end -->\n<!-- table: time -->\n<!-- end -->\n"
    )
    run(tmp_path, speed=[{"ms": 7}], error=[{"share": 0.5}])
    report = harness.Report("clock", "A clock", "small", page="toy")
    report.add("time", [{"s": 4}])
    assert report.write(tmp_path) == tmp_path / "toy.md"
    text = (tmp_path / "toy.md").read_text()
    assert "<!-- run: toy -->\nSize: tiny." in text
    assert "<!-- run: clock -->\nSize: small." in text
    assert "| 4 |" in text
    assert "From an earlier run" not in text
    assert saved(tmp_path / "clock.csv") == [{"table": "time", "s": "4"}]


def test_a_table_belongs_to_the_last_run_that_measured_it(tmp_path: Path) -> None:
    run(tmp_path, speed=[{"ms": 7}], error=[{"share": 0.5}])
    harness.Report("other", "Other", "big", sections=[("speed", [])]).write(tmp_path)
    report = harness.Report("toy", "A toy", "huge", sections=[("speed", [{"ms": 1}])])
    report.left_out.append("a peer")
    report.write(tmp_path)
    rows = saved(tmp_path / harness.RUNS)
    assert [(row["report"], row["tables"], row["size"], row["left out"]) for row in rows] == [
        ("other", "speed", "big", ""),
        ("toy", "error", "tiny", ""),
        ("toy", "speed", "huge", "a peer"),
    ]
    assert rows[1]["parameters"] == "seed 3"
    assert "numpy" in rows[1]["machine"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<!-- tabel: speed -->\n<!-- end -->", "line 1: <!-- tabel: speed --> is no marker"),
        ("<!-- speed -->\n<!-- end -->", "is no marker; there are <!-- run: REPORT -->"),
        ("a\n<!-- end -->", "line 2: <!-- end --> without a beginning"),
        ("<!-- table: a -->\n| 1 |", "<!-- table: a --> has no <!-- end -->"),
        ("<!-- run: a -->\n<!-- table: a -->", "before the <!-- end --> of <!-- run: a -->"),
        (2 * "<!-- table: a -->\n<!-- end -->\n", "line 3: a second <!-- table: a -->"),
    ],
)
def test_broken_markers_are_reported_before_anything_is_measured(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy.md").write_text(text)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    with pytest.raises(pages.PageError) as error:
        harness.Report("toy", "A toy", "tiny")
    assert why in str(error.value)
    assert (tmp_path / "toy.md").read_text() == text


RESULTS = Path(__file__).parents[2] / "docs" / "results"
# `machines.md` is written whole by `make test-machines`, the overview by hand.
PAGES = sorted(set(RESULTS.glob("*.md")) - {RESULTS / "machines.md", RESULTS / "README.md"})


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_the_blocks_of_a_page_are_those_of_its_csv_files(path: Path) -> None:
    """Otherwise a run would not find them, and they would grow old."""
    found = pages.blocks(path.read_text())
    reports = [key.removeprefix("run: ") for key in found if key.startswith("run: ")]
    assert reports
    known = {
        f"table: {row['table']}"
        for name in reports
        for row in harness.read_csv(RESULTS / f"{name}.csv")
    }
    assert {key for key in found if key.startswith("table: ")} <= known


def test_the_circumstances_of_every_table_are_recorded() -> None:
    runs = harness.read_csv(RESULTS / harness.RUNS)
    recorded = {(row["report"], name) for row in runs for name in row["tables"].split(" | ")}
    apart = {harness.RUNS, "machines.csv", "siso-runs.csv"}
    files = [path for path in RESULTS.glob("*.csv") if path.name not in apart]
    tables = {(path.stem, row["table"]) for path in files for row in harness.read_csv(path)}
    assert recorded == tables
    assert all(row["machine"] and row["date"] for row in runs)
