"""The small figures of the overview: drawn from the tables of the pages, and all of them shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import figures, glance

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_every_figure_is_shown() -> None:
    shown = re.findall(r"\(glance-([a-z0-9]+)\.svg\)", (RESULTS / "README.md").read_text())
    assert shown == list(glance.PANELS)
    for name in shown:
        assert (RESULTS / f"glance-{name}.svg").is_file()


def test_rows_are_those_of_one_table() -> None:
    found = glance.rows("siso-speed", "Time against", RESULTS)
    assert {row["table"] for row in found} == {found[0]["table"]}
    assert any(row["search"] == "exact" for row in found)
    with pytest.raises(LookupError, match=r"siso-speed\.csv: no table begins with 'Nothing'"):
        glance.rows("siso-speed", "Nothing", RESULTS)


def test_the_pages_have_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra bench")
    monkeypatch.setattr("benchmarks.harness.RESULTS", RESULTS)
    for draw in glance.PANELS.values():
        drawn, axis = figures.pyplot().subplots()
        draw(axis)
        assert axis.lines or axis.patches
        assert axis.get_title(loc="left") or axis.get_title()
        figures.pyplot().close(drawn)
