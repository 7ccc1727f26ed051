"""Gaps between methods, paired over draws: what a claim about them has to be read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.stats import t as student

from benchmarks.solis.protocol import METHODS
from benchmarks.solis.table import Table

Row = dict[str, object]
Pair = Callable[[Table], tuple[str, str]]
RIVALS = ("QPAO", "OASIS", "LEGO", "LMNN")
_ADAPTIVE = ["SOLIS afb", "SOLIS ada"]


def _least(table: Table, names: list[str]) -> str:
    return min(names, key=table.mean)


def _most(table: Table, names: list[str]) -> str:
    return max(names, key=table.mean)


def _best_weights(table: Table) -> str:
    return _most(table, [*(name for name in table.found if name.startswith("SOLIS")), *RIVALS])


def _worse_adaptive_minus(rival: str) -> Pair:
    return lambda table: (_least(table, _ADAPTIVE), rival)


_ALWAYS: dict[str, Pair] = {
    "the worst of the four minus TF-IDF": lambda t: (
        _least(t, [f"SOLIS {method}" for method in METHODS]),
        "TF-IDF",
    ),
    "the worse of AFB, ADA minus the better of TG, DA": lambda t: (
        _least(t, _ADAPTIVE),
        _most(t, ["SOLIS tg", "SOLIS da"]),
    ),
    "ADA from ones minus from zeros": lambda _: ("SOLIS ada, from ones", "SOLIS ada"),
}
# A weight vector a group (the paper's Table I), and one for all groups (its Table IV).
ONE_A_GROUP: dict[str, Pair] = {
    **_ALWAYS,
    **{f"the worse of AFB, ADA minus {rival}": _worse_adaptive_minus(rival) for rival in RIVALS},
    "ADA fused with TF-IDF minus alone": lambda _: ("SOLIS ada, fused with TF-IDF", "SOLIS ada"),
    "best weights minus Rocchio with the same positives": lambda t: (_best_weights(t), "Rocchio"),
    "best weights minus SVM": lambda t: (_best_weights(t), "linear SVM"),
}
ONE_FOR_ALL: dict[str, Pair] = {
    **_ALWAYS,
    "ADA minus OASIS": lambda _: ("SOLIS ada", "OASIS"),
    "ADA minus LEGO": lambda _: ("SOLIS ada", "LEGO"),
}


def gap_rows(tables: Mapping[str, Table], pairs: Mapping[str, Pair]) -> list[Row]:
    """Points of mAP and their standard error, a row a pair and a column a collection."""
    return [
        {
            "points of mAP": name,
            **{title: _gap(table, *pair(table)) for title, table in tables.items()},
        }
        for name, pair in pairs.items()
    ]


def _gap(table: Table, one: str, other: str) -> str:
    gap, error, n = table.gap(one, other)
    # Few draws: Student's interval, 2.3 standard errors for ten of them.  One draw: nothing.
    reach = error * float(student.ppf(0.975, n - 1)) if n > 1 else np.inf
    within = "" if abs(gap) >= reach else " (within error)"
    return f"{100 * gap:+.1f} ± {100 * error:.1f}{within}"
