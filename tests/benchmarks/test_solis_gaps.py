"""Gaps are paired over draws, and few draws need a larger one."""

from __future__ import annotations

import numpy as np

from benchmarks.solis.gaps import ONE_A_GROUP, ONE_FOR_ALL, gap_rows
from benchmarks.solis.table import Table


def table(gap: float, draws: int = 4) -> Table:
    """Two groups; "one" beats TF-IDF by about ``gap``."""
    made = Table()
    for group in ("a", "b"):
        for shift in np.array([-0.02, 0.02, -0.01, 0.01])[:draws]:
            made.add("TF-IDF", group, 0.4)
            made.add("one", group, 0.4 + gap + shift)
    return made


def shown(gap: float, draws: int = 4) -> object:
    (row,) = gap_rows({"x": table(gap, draws)}, {"one minus": lambda _: ("one", "TF-IDF")})
    assert row["points of mAP"] == "one minus"
    return row["x"]


def test_gaps_carry_their_errors() -> None:
    assert shown(0.01) == "+1.0 ± 0.9 (within error)"
    assert shown(0.05) == "+5.0 ± 0.9"
    assert shown(-0.05) == "-5.0 ± 0.9"


def test_few_draws_need_a_larger_gap() -> None:
    """0.03 is 3.3 standard errors of four draws (limit 3.2) and far inside those of two."""
    for draws, within in ((4, False), (2, True), (1, True)):
        assert str(shown(0.03, draws)).endswith("(within error)") == within


def test_pairs_are_chosen_by_the_means() -> None:
    made = Table()
    values = {"TF-IDF": 0.3, "SOLIS tg": 0.5, "SOLIS da": 0.4, "SOLIS afb": 0.7, "SOLIS ada": 0.6}
    values |= {"QPAO": 0.8, "OASIS": 0.1, "LEGO": 0.1, "LMNN": 0.1}
    for name, value in values.items():
        made.add(name, "a", value)
    assert ONE_FOR_ALL["the worst of the four minus TF-IDF"](made) == ("SOLIS da", "TF-IDF")
    pair = ONE_A_GROUP["the worse of AFB, ADA minus the better of TG, DA"](made)
    assert pair == ("SOLIS ada", "SOLIS tg")
    assert ONE_A_GROUP["the worse of AFB, ADA minus LEGO"](made) == ("SOLIS ada", "LEGO")
    assert ONE_A_GROUP["best weights minus SVM"](made) == ("QPAO", "linear SVM")
