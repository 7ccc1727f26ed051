"""Results pages have one form, and their figures are those of the CSV files next to them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import glance, harness, pages

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAGES = sorted(set(RESULTS.glob("*.md")) - {RESULTS / "README.md"})
OVERVIEW = (RESULTS / "README.md").read_text()
MOST_WORDS = 850
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_fits_on_two_screens(page: Path) -> None:
    assert len(page.read_text().split()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_says_what_holds_and_what_does_not(page: Path) -> None:
    text = page.read_text()
    head = re.split(r"^(?:<!--|## )", text, maxsplit=1, flags=re.MULTILINE)[0]
    labels = ("**What holds.**", "**What does not.**", "**For you.**", "`make ")
    places = [head.index(label) for label in labels]
    assert places == sorted(places)
    start = head[: places[0]].splitlines()
    assert [line for line in start if line] == start[:1], "something stands before the summary"
    limits = text.split("\n## What this does not show\n\n")[1]
    assert limits.startswith("- ")
    assert "\n## " not in limits


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_overview_links_every_page(page: Path) -> None:
    assert f"({page.name})" in OVERVIEW


def linked(page: Path) -> list[Path]:
    """Return the CSV files that a page links to, without the one about all runs."""
    names = dict.fromkeys(re.findall(r"\(([\w-]+\.csv)\)", page.read_text()))
    return [RESULTS / name for name in names if name != harness.RUNS]


def test_every_csv_file_is_linked_by_one_page() -> None:
    files = [path for page in PAGES for path in linked(page)]
    assert sorted(files) == sorted(set(RESULTS.glob("*.csv")) - {RESULTS / harness.RUNS})


def numbers(text: str) -> list[str]:
    return [found.replace(",", "") for found in _NUMBER.findall(text)]


def shown(page: Path) -> list[str]:
    """Return the numbers in tables that no run updates."""
    text = page.read_text()
    inside = {i for first, end in pages.blocks(text).values() for i in range(first, end)}
    lines = text.splitlines()
    rows = [line for i, line in enumerate(lines) if line.startswith("|") and i not in inside]
    return [number for row in rows for number in numbers(row)]


def measured(page: Path) -> set[float]:
    """Return the numbers in the CSV files of a page, names of columns included."""
    rows = [row for path in linked(page) for row in harness.read_csv(path)]
    cells = {cell for row in rows for pair in row.items() for cell in pair if cell}
    return {float(number) for cell in cells for number in numbers(cell)}


# `machines.md` is written whole by a program.
@pytest.mark.parametrize(
    "page", sorted({*PAGES} - {RESULTS / "machines.md"}), ids=lambda path: path.stem
)
def test_figures_of_tables_written_by_hand_are_measured(page: Path) -> None:
    """A number of the page is a number of its CSV files, rounded."""
    known = np.array(sorted(measured(page)))
    wrong = []
    for number in dict.fromkeys(shown(page)):
        mantissa, _, power = number.partition("e")
        half = 0.5 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
        if np.abs(known - float(number)).min() > half * (1 + 1e-9):
            wrong.append(number)
    assert wrong == []


def claims() -> list[list[str]]:
    rows = [line for line in OVERVIEW.splitlines() if line.startswith("| ") and "[bench-" in line]
    assert len(rows) > 15
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim[0])
def test_a_claim_has_its_figures_from_its_page(claim: list[str]) -> None:
    """After a new measurement this finds the rows to update."""
    _, ours, peer, ratio, where = claim
    (name,) = re.findall(r"\((\S+\.md)\)", where)
    page = (RESULTS / name).read_text()
    for figure in re.findall(r"\d[\d,]*\.?\d*(?:e-\d+)?", f"{ours} {peer}"):
        assert re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", page), (
            f"{figure} is not in {name}"
        )
    (target,) = re.findall(r"\[bench-([a-z0-9-]+)\]", where)
    module = target.replace("first-minute", "first_minute").split("-")
    folder = RESULTS.parents[1] / "benchmarks"
    assert (
        folder.joinpath(*module).is_dir() or folder.joinpath(*module).with_suffix(".py").is_file()
    )
    assert ratio


def test_the_headline_is_the_measured_one() -> None:
    rows = glance.rows("siso-speed", "Time against the number", RESULTS)
    row = next(r for r in rows if r["pictures"] == "1000000" and r["search"] == "exact")
    seconds = round(float(row["ms a query"])) / 1000
    assert f"**{seconds:.2f} s on one processor thread**" in OVERVIEW
    for paper, ratio in ((45.8, "158"), (1.52, "5.2")):
        assert f"{paper / seconds:.3g}".startswith(ratio)
        assert ratio in OVERVIEW
