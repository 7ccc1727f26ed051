"""Choosing parameters for the SOLIS benchmark: one rule for every method.

A window on a ladder of values is tried on the validation draws and widened while a choice lies at
its edge, so that no method is judged by a badly placed grid.  What cannot be widened, because
the ladder ends, is said.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.solis.methods import (
    BETAS,
    GAINS,
    RIVALS,
    SHARES,
    SVM_C,
    TIMES,
    Ladder,
    fused,
    linear_svm,
    rival_value,
    rocchio,
    solis,
)
from benchmarks.solis.protocol import METHODS, Draw

Point = tuple[float, ...]
# Quality, and the share of words left at their start (0 where that is not wanted).
Value = tuple[float, float]

SLACK = 0.01
# Points this close are alike; the one tried first is taken, so that noise widens no window.
TIE = 0.002
WORKERS = 2


@dataclass(frozen=True)
class Choice:
    """The best point; the sparsest within a point of mAP of it; points tried; ends reached.

    ``edge`` names the parameters of the best point whose ladder ends there.
    """

    best: Point
    sparse: Point
    quality: float
    tried: int
    edge: tuple[int, ...]


def climb(ladders: Sequence[Ladder], value: Callable[[Point], Value]) -> Choice:
    """Try the window, widen it where a choice lies at its edge, until none does."""
    windows = [list(ladder.window) for ladder in ladders]
    known: dict[tuple[int, ...], Value] = {}

    def at(place: tuple[int, ...]) -> Point:
        return tuple(ladder.values[i] for ladder, i in zip(ladders, place, strict=True))

    with ThreadPoolExecutor(WORKERS) as pool:
        while True:
            inside = itertools.product(*(range(low, high + 1) for low, high in windows))
            fresh = [place for place in inside if place not in known]
            known.update(zip(fresh, pool.map(value, map(at, fresh)), strict=True))
            top = max(quality for quality, _ in known.values())
            best = next(p for p in known if known[p][0] >= top - TIE)
            enough = [p for p in known if known[p][0] >= top - SLACK]
            # Where sparsity is not wanted it is 0 for all, and the best stays.
            sparse = max(enough, key=lambda place: (known[place][1], place == best))
            if not _widened(windows, ladders, best, sparse):
                break
    ends = tuple(
        axis
        for axis, (ladder, place) in enumerate(zip(ladders, best, strict=True))
        if place in (0, len(ladder.values) - 1)
    )
    return Choice(at(best), at(sparse), known[best][0], len(known), ends)


def _widened(
    windows: list[list[int]],
    ladders: Sequence[Ladder],
    best: tuple[int, ...],
    sparse: tuple[int, ...],
) -> bool:
    """Widen where the best lies at an edge; the sparsest asks only for more of the penalty."""
    moved = False
    for axis, window in enumerate(windows):
        if best[axis] == window[0] > 0:
            window[0] -= 1
            moved = True
        highest = max(best[axis], sparse[axis]) if axis == 0 else best[axis]
        if highest == window[1] < len(ladders[axis].values) - 1:
            window[1] += 1
            moved = True
    return moved


@dataclass(frozen=True)
class Tuned:
    """What was chosen for each method of a collection."""

    zeros: dict[str, Choice]
    ones: dict[str, Choice]
    costly: dict[str, Choice]  # with word_cost, from zeros
    rivals: dict[str, Choice]
    times: dict[str, Choice]  # of the fusion with TF-IDF
    yardsticks: dict[str, Choice]

    def shown(self) -> str:
        """One line of all choices; an exclamation mark where the ladder ends."""
        parts = []
        for start, found in (
            ("from zeros", self.zeros),
            ("from ones", self.ones),
            ("with word_cost", self.costly),
        ):
            parts.append(
                f"{start} (l1 / lambda_max, e) "
                + ", ".join(f"{m} {_pair(c.best)}{_mark(c)}" for m, c in found.items())
            )
        parts.append("sparse " + ", ".join(f"{m} {_pair(c.sparse)}" for m, c in self.zeros.items()))
        single = {**self.rivals, **{f"fused {m}": c for m, c in self.times.items()}}
        single |= self.yardsticks
        parts.append(", ".join(f"{name} {c.best[0]:g}{_mark(c)}" for name, c in single.items()))
        return "; ".join(parts)

    def tried(self) -> dict[str, int]:
        """Points tried, a method."""
        made = {f"SOLIS {m}": c.tried for m, c in self.zeros.items()}
        return made | {name: c.tried for name, c in self.rivals.items()}


def _pair(point: Point) -> str:
    return f"({point[0]:g}, {point[1]:g})"


def _mark(choice: Choice) -> str:
    return "!" if choice.edge else ""


def tune_solis(method: str, draws: list[Draw], **options: Any) -> Choice:
    """l1 and the step, by mean AP; from ones nothing is sparse, so only the best counts there."""
    from_zeros = options.get("start", "zeros") == "zeros"

    def value(point: Point) -> Value:
        found = []
        for draw in draws:
            w = solis(method, draw, *point, **options).fit(draw.X, draw.triplets).weights_
            found.append((draw.ranked(w), float(np.mean(w == 0)) if from_zeros else 0.0))
        quality, still = np.mean(found, axis=0)
        return float(quality), float(still)

    return climb((SHARES, GAINS), value)


def tune_one(ladder: Ladder, draws: list[Draw], value: Callable[[float, Draw], float]) -> Choice:
    """One parameter, by mean AP."""
    return climb((ladder,), lambda p: (float(np.mean([value(p[0], d) for d in draws])), 0.0))


def tune_rival(name: str, draws: list[Draw]) -> Choice:
    """The rival's one parameter."""
    ladder, make = RIVALS[name]
    return tune_one(ladder, draws, lambda v, d: rival_value(make(v).fit(d.X, d.triplets), d))


def tune_fusion(method: str, point: Point, draws: list[Draw]) -> Choice:
    """How much of the learnt weights is added to plain ones."""
    learners = {id(d): solis(method, d, *point).fit(d.X, d.triplets) for d in draws}
    return tune_one(TIMES, draws, lambda v, d: d.ranked(fused(learners[id(d)], d, v)))


def tune_all(draws: list[Draw], cost: Any, *, yardsticks: bool) -> Tuned:
    """Everything, on the same validation draws."""
    for draw in draws:
        for method in METHODS:
            solis(method, draw, 0.0, 1.0)  # measures the scales, before threads want them
    zeros = {m: tune_solis(m, draws) for m in METHODS}
    return Tuned(
        zeros=zeros,
        ones={m: tune_solis(m, draws, start="ones") for m in METHODS},
        costly={"ada": tune_solis("ada", draws, word_cost=cost)},
        rivals={name: tune_rival(name, draws) for name in RIVALS},
        times={m: tune_fusion(m, zeros[m].best, draws) for m in METHODS},
        yardsticks={
            "Rocchio": tune_one(BETAS, draws, lambda v, d: rocchio(d, v)),
            "linear SVM": tune_one(SVM_C, draws, lambda v, d: linear_svm(d, v)),
        }
        if yardsticks
        else {},
    )
