"""Suggested questions against random ones: held-out error against the number of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.ordinal.data import Rows, Split, error_of, people, planted
from likewise_methods.ordinal.embedding import OrdinalEmbedding
from likewise_methods.ordinal.suggestions import suggest_comparisons

Row = dict[str, object]
# Answers that are there to be asked for in one round, so that a round stays short.
POOL = 4_000


def section(seed: int, full: bool) -> dict[str, Any]:
    """zappos85, where nearly every question was answered, and planted points."""
    repeats = 10 if full else 5
    tables: list[Any] = []
    curves: dict[str, Any] = {}
    real = people("zappos85", seed)
    if real is not None:
        tables += _one("zappos85, 3 dimensions", real, 3, 200, 100, 1_500, repeats, curves)
    made = planted(100, 3, 200_000, 10_000, seed)
    tables += _one("planted: 100 points in 3 dimensions", made, 3, 200, 100, 1_500, repeats, curves)
    return {"tables": tables, "curves": curves}


def _one(
    title: str,
    split: Split,
    p: int,
    first: int,
    batch: int,
    most: int,
    repeats: int,
    curves: dict[str, Any],
) -> list[Any]:
    ways: dict[str, Callable[[Any, Rows, Rows, np.random.Generator], Rows]] = {
        "random": _random,
        "suggested": _suggested,
    }
    counts = list(range(first, most + 1, batch))
    found = {
        how: np.array([_asked(split, p, counts, batch, choose, s) for s in range(repeats)])
        for how, choose in ways.items()
    }
    rows: list[dict[str, object]] = []
    for at in (0, len(counts) // 4, len(counts) // 2, len(counts) - 1):
        gap = found["suggested"][:, at] - found["random"][:, at]
        rows.append(
            {
                "answers": counts[at],
                **{how: round(float(e[:, at].mean()), 4) for how, e in found.items()},
                "suggested - random": round(float(gap.mean()), 4),
                "± standard error": round(float(gap.std(ddof=1) / np.sqrt(repeats)), 4),
            }
        )
    along = (found["suggested"] - found["random"]).mean(axis=1)
    rows.append(
        {
            "answers": "mean along the way",
            "suggested - random": round(float(along.mean()), 4),
            "± standard error": round(float(along.std(ddof=1) / np.sqrt(repeats)), 4),
        }
    )
    curves[title] = {
        "counts": counts,
        **{how: e.mean(axis=0).tolist() for how, e in found.items()},
    }
    return [[f"Which questions? {title}: held-out error after so many answers", rows]]


def _asked(
    split: Split,
    p: int,
    counts: list[int],
    batch: int,
    choose: Callable[[Any, Rows, Rows, np.random.Generator], Rows],
    seed: int,
) -> list[float]:
    """Errors after the first random answers and after each further batch."""
    rng = np.random.default_rng([seed, 3])
    order = rng.permutation(len(split.train))
    known = split.train[order[: counts[0]]]
    rest = split.train[order[counts[0] :]]
    out = []
    for _ in counts:
        model = OrdinalEmbedding(p, n_init=2, random_state=seed).fit(known, split.n)
        out.append(error_of(model.embedding_, split.test))
        pool = rest[rng.choice(len(rest), min(POOL, len(rest)), replace=False)]
        # In the pool the nearer stands first; nothing may be read from that.
        known = np.vstack([known, choose(model, pool, known, rng)[:batch]])
    return out


def _random(model: Any, pool: Rows, known: Rows, rng: np.random.Generator) -> Rows:
    return pool


def _suggested(model: Any, pool: Rows, known: Rows, rng: np.random.Generator) -> Rows:
    """The best questions of the pool, answered as the pool has it."""
    turned = rng.random(len(pool)) < 0.5
    asked = np.where(turned[:, None], pool[:, [0, 2, 1]], pool)
    best = suggest_comparisons(model, 100, known=known, candidates=asked, random_state=rng)
    answers = {(a, *sorted((b, c))): (a, b, c) for a, b, c in pool.tolist()}
    rows = [answers[(a, *sorted((b, c)))] for a, b, c in best.tolist()]
    return np.array(rows, np.int32)
