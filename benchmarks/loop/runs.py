"""The runs of the loop benchmark: tuning of the rivals, the contest, wrong clicks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.loop.data import REPORTED, TUNING, Case, Pictures, cases
from benchmarks.loop.methods import (
    BOTH,
    DENSE,
    FIXED,
    GRIDS,
    PLAIN,
    PROFILE,
    QUERY,
    ROCCHIO,
    Method,
)
from benchmarks.loop.protocol import CLICKS, ROUNDS, Tally, common, own

Row = dict[str, object]
CLICKED = [f"{n} click{'s' if n > 1 else ''}" for n in CLICKS]
TOLD = [f"round {r}" for r in range(1, ROUNDS + 1)]
JUDGED_BY = ("3 clicks", "round 1", "round 3", "round 5")
"""Stages whose mean chooses a rival's constant."""
WRONG = (0.1, 0.2)
NOISY = (PLAIN, ROCCHIO, "Rocchio, tuned", "linear SVM", QUERY, PROFILE, BOTH)
TUNED_WITH = 1000
TUNED_GROUPS = 32


@dataclass(frozen=True)
class Size:
    """How many queries of each group, under which seeds; groups None: all."""

    seeds: Sequence[int]
    each: int
    groups: int | None = None


def tuned(pictures: Pictures, size: Size) -> dict[str, tuple[float, ...]]:
    """The constant of each rival that is best on queries of the tuning half."""
    tuning = list(cases(pictures, [TUNED_WITH], size.each, TUNING, TUNED_GROUPS))
    best: dict[str, tuple[float, ...]] = {}
    for name, (make, grid) in GRIDS.items():
        if not pictures.sparse and name not in DENSE:
            continue
        values = {point: _value(tuning, make(*point)) for point in grid}
        best[name] = max(values, key=lambda point: values[point])
    return best


def _value(tuning: Sequence[Case], method: Method) -> float:
    tally = Tally()
    for case in tuning:
        tally.add("", case, common(case, method))
    return float(np.nanmean([tally.mean("", s) for s in JUDGED_BY if s in tally.values[""]]))


def contestants(
    pictures: Pictures, constants: Mapping[str, tuple[float, ...]]
) -> dict[str, Method]:
    """All methods by name, in the order of the tables."""
    rivals = {name: GRIDS[name][0](*point) for name, point in constants.items()}
    fixed = {name: make() for name, make in FIXED.items() if pictures.sparse or name in DENSE}
    first = {name: fixed.pop(name) for name in (PLAIN, ROCCHIO)}
    return {**first, **rivals, **fixed}


def contest(pictures: Pictures, size: Size, methods: Mapping[str, Method]) -> Tally:
    """Both protocols, all methods, all cases of the reported half."""
    tally = Tally()
    for case in cases(pictures, size.seeds, size.each, REPORTED, size.groups):
        for name, method in methods.items():
            tally.add(name, case, {**common(case, method), **own(case, method)})
    return tally


def wrong_clicks(
    pictures: Pictures, size: Size, methods: Mapping[str, Method], right: Tally
) -> dict[float, Tally]:
    """The contest again with a share of the clicks turned round; ``right`` is the contest with
    none, over the same cases or more."""
    asked = list(cases(pictures, size.seeds, size.each, REPORTED, size.groups))
    names = [name for name in NOISY if name in methods]
    found = {0.0: right.only(names, asked)}
    for wrong in WRONG:
        tally = found[wrong] = Tally()
        for case in asked:
            for name in names:
                told = common(case, methods[name], wrong, clicks=False)
                tally.add(name, case, {**told, **own(case, methods[name], wrong)})
    return found


# -- tables ------------------------------------------------------------------------------------


def cell(tally: Tally, method: str, stage: str) -> str:
    """Mean in per cent, and the spread over seeds."""
    if not tally.values[method].get(stage):
        return ""
    spread = tally.spread(method, stage)
    wide = "" if np.isnan(spread) else f" ±{100 * spread:.1f}"
    return f"{100 * tally.mean(method, stage):.1f}{wide}"


def told_rows(tally: Tally, constants: Mapping[str, tuple[float, ...]]) -> list[Row]:
    """mAP on the common rest."""
    return [
        {
            "method": _named(name, constants),
            **{stage: cell(tally, name, stage) for stage in (*CLICKED, *TOLD)},
        }
        for name in tally.values
    ]


def own_rows(tally: Tally, constants: Mapping[str, tuple[float, ...]]) -> list[Row]:
    """Found, frozen mAP and mAP on the method's own rest."""
    stages = {
        **{f"found %, round {r}": f"found {r}" for r in (1, 2, 3, 5)},
        **{f"frozen mAP, {r}": f"frozen {r}" for r in (1, 3, 5)},
        **{f"own rest, {r}": f"own rest {r}" for r in (1, 3)},
    }
    return [
        {
            "method": _named(name, constants),
            **{title: cell(tally, name, stage) for title, stage in stages.items()},
        }
        for name in tally.values
    ]


def _named(name: str, constants: Mapping[str, tuple[float, ...]]) -> str:
    point = constants.get(name)
    return name if point is None else f"{name} ({', '.join(f'{v:g}' for v in point)})"


def gap_rows(
    title: str, tally: Tally, others: Sequence[str], mine: str = BOTH, key: str = "set"
) -> list[Row]:
    """The product minus its rivals: the musts, with the noise they are judged by."""
    kinds = {
        "clicks (1, 3, 10)": CLICKED,
        "rounds told (1 to 5)": TOLD,
        "own loop, found": [f"found {r}" for r in range(2, ROUNDS + 1)],
        "own loop, frozen mAP": [f"frozen {r}" for r in range(1, ROUNDS + 1)],
    }
    rows: list[Row] = []
    for other in others:
        row: Row = {key: title, "minus": other}
        for kind, stages in kinds.items():
            row[kind] = verdict(*tally.gap(mine, other, stages))
        rows.append(row)
    return rows


def verdict(gap: float, error: float) -> str:
    """A gap in points, its standard error over queries, and whether it is more than noise."""
    if gap > 2 * error:
        said = "above"
    elif gap < -2 * error:
        said = "below"
    else:
        said = "within noise"
    return f"{100 * gap:+.1f} ±{100 * error:.1f} {said}"


def loop_rows(
    name: str,
    X: Any,
    groups: Mapping[str, Any],
    junk: Mapping[str, Any] | None = None,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    each: int = 2,
    n_groups: int | None = None,
) -> list[Row]:
    """The contest over rows of your own: one table row a method, columns as in the other tables.

    ``X`` is sparse (words, activations) or a dense array; ``groups`` names the rows that are right
    for one another, ``junk`` those that are left out for a group.
    """
    rows: Any = X
    if sp.issparse(X):  # scikit-learn's SVM takes no wider numbers of columns
        whole = rows.tocsr()
        short = (whole.data, whole.indices.astype(np.int32), whole.indptr.astype(np.int32))
        rows = sp.csr_array(short, shape=whole.shape)
    apart = {g: np.asarray(i, np.int64) for g, i in (junk or {}).items()}
    pictures = Pictures(name, rows, {g: np.asarray(i) for g, i in groups.items()}, apart)
    size = Size(seeds, each, n_groups)
    constants = tuned(pictures, size)
    tally = contest(pictures, size, contestants(pictures, constants))
    told, loops = told_rows(tally, constants), own_rows(tally, constants)
    return [{"set": name, **a, **b} for a, b in zip(told, loops, strict=True)]
