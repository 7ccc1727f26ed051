"""Verdicts follow from gaps and their errors, and the preface sorts claims by them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.solis.findings import Claim, claim
from benchmarks.solis.preface import preface
from benchmarks.solis.table import Table

GAPS = {"clear": 0.05, "faint": 0.01, "worse": -0.05}


def table(gap: float, draws: int = 4) -> Table:
    """Two groups; "one" beats TF-IDF by about ``gap``."""
    made = Table()
    for group in ("a", "b"):
        for shift in np.array([-0.02, 0.02, -0.01, 0.01])[:draws]:
            made.add("TF-IDF", group, 0.4)
            made.add("one", group, 0.4 + gap + shift)
    return made


def said(*names: str) -> Claim:
    tables = {name: table(GAPS[name]) for name in names}
    return claim("It is so.", tables, lambda _: ("one", "TF-IDF"), "the gap")


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (("clear",), "holds"),
        (("faint",), "within error"),
        (("worse",), "does not hold"),
        (("worse", "faint"), "does not hold, within error on 1"),
        (("clear", "faint", "worse"), "holds on 1 of 3, within error on 1"),
    ],
)
def test_gaps_within_error_decide_nothing(names: tuple[str, ...], verdict: str) -> None:
    assert said(*names).verdict == verdict
    assert f"It is so. Here: {verdict} (the gap, points of mAP: " in said(*names).line


def test_gaps_carry_their_errors() -> None:
    assert "faint +1.0 ± 0.9 (within error)" in said("faint").line
    assert "clear +5.0 ± 0.9)" in said("clear").line


def test_few_draws_need_a_larger_gap() -> None:
    """0.03 is 3.3 standard errors of four draws (limit 3.2) and far inside those of two."""
    for draws, verdict in ((4, "holds"), (2, "within error"), (1, "within error")):
        found = claim("So.", {"x": table(0.03, draws)}, lambda _: ("one", "TF-IDF"), "gap")
        assert found.verdict == verdict


def test_the_preface_sorts_claims() -> None:
    claims = [said("clear"), said("clear", "worse"), said("faint"), said("worse")]
    text = "\n\n".join(preface(claims, ["A fact."], {}))
    order = [
        "on every collection:\n\n- It is so.\n\nHeld on some collections only:\n\n- It is so.  "
        "(holds on 1, the reverse on 1 of 2)",
        "all gaps are within error:\n\n- It is so.\n\nDid not hold on any collection:\n\n"
        "- It is so.  (the reverse on 1 of 1)",
        "- A fact.",
        "natural ends): none.",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
