"""Pages of results: each says in ten lines what holds; the overview says nothing beyond them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAGES = sorted(set(RESULTS.glob("*.md")) - {RESULTS / "README.md"})
# `machines.md` is written by a program; the other begins with how it was attacked.
WITHOUT = {"machines", "trust"}
OVERVIEW = (RESULTS / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_begins_with_what_holds_and_what_does_not(page: Path) -> None:
    if page.stem in WITHOUT:
        pytest.skip("has a beginning of its own")
    head = re.split(r"^(?:<!--|## )", page.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
    places = [head.index(word) for word in ("**Holds.**", "**Does not.**", "**For you.**")]
    assert places == sorted(places)
    start = head[: places[0]].splitlines()
    assert [line for line in start if line] == start[:1], "something stands before the summary"
    after = head[places[0] :].split("**For you.**")
    summary = after[0] + after[1].split("\n\n")[0]
    assert len([line for line in summary.splitlines() if line]) <= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_overview_leads_to_every_page(page: Path) -> None:
    assert f"({page.name})" in OVERVIEW


def claims() -> list[list[str]]:
    rows = [line for line in OVERVIEW.splitlines() if line.startswith("| ") and "[bench-" in line]
    assert len(rows) > 15
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim[0])
def test_a_claim_has_its_figures_from_its_page(claim: list[str]) -> None:
    """Whoever measures again finds here which rows to renew."""
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
    page = (RESULTS / "siso-speed.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| 1,000,000 | exact |"))
    seconds = float(row.split("|")[4]) / 1000
    assert f"**{seconds:.2f} s on one processor thread**" in OVERVIEW
    for paper, told in ((45.8, "158"), (1.52, "5.2")):
        assert f"{paper / seconds:.3g}".startswith(told)
        assert told in OVERVIEW
