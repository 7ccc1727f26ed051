"""Result pages: what people wrote survives a run, and a broken marker is told."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks import harness, pages

BY_HAND = """# A toy

A sentence by hand.

<!-- run -->
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
    report = harness.Report("toy", "A toy", "tiny")
    for name, rows in tables.items():
        report.add(name, rows)
    return report.write(folder).read_text()


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
    assert run(tmp_path, **tables) == first
    assert first.startswith("# A toy\n\n<!-- run -->\nSize: tiny.\n")


def test_a_new_table_comes_under_its_heading(tmp_path: Path) -> None:
    (tmp_path / "toy.md").write_text(BY_HAND)
    text = run(tmp_path, memory=[{"MB": 3}])
    assert text.endswith(
        "- a note at the end\n\n## memory\n\n<!-- table: memory -->\n| MB |\n|---|\n| 3 |\n"
        "<!-- end -->\n"
    )


def test_tables_not_measured_stay_and_are_named(tmp_path: Path) -> None:
    run(tmp_path, speed=[{"ms": 7}], error=[{"share": 0.5}])
    text = run(tmp_path, speed=[{"ms": 9}])
    assert "| 0.5 |" in text
    assert "From an earlier run: error." in text
    rows = list(csv.DictReader((tmp_path / "toy.csv").read_text().splitlines()))
    assert sorted((row["table"], row["ms"], row["share"]) for row in rows) == [
        ("error", "", "0.5"),
        ("speed", "9", ""),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<!-- tabel: speed -->\n<!-- end -->", "line 1: <!-- tabel: speed --> is no marker"),
        ("<!-- speed -->\n<!-- end -->", "is no marker; there are <!-- run -->"),
        ("a\n<!-- end -->", "line 2: <!-- end --> without a beginning"),
        ("<!-- table: a -->\n| 1 |", "<!-- table: a --> has no <!-- end -->"),
        ("<!-- run -->\n<!-- table: a -->", "before the <!-- end --> of <!-- run -->"),
        (2 * "<!-- table: a -->\n<!-- end -->\n", "line 3: a second <!-- table: a -->"),
    ],
)
def test_broken_markers_are_told_before_anything_is_measured(
    text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy.md").write_text(text)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    with pytest.raises(pages.PageError) as error:
        harness.Report("toy", "A toy", "tiny")
    assert told in str(error.value)
    assert (tmp_path / "toy.md").read_text() == text


PAGES = Path(__file__).parents[2] / "docs" / "results"


# Written whole by ``make test-machines``, and by hand: they are no benchmark's.
OURS = sorted(path for path in PAGES.glob("*.md") if path.stem not in ("machines", "README"))


@pytest.mark.parametrize("path", OURS, ids=lambda p: p.stem)
def test_every_page_can_be_renewed(path: Path) -> None:
    found = pages.blocks(path.read_text())
    assert pages.RUN in found
    assert len(found) > 1
