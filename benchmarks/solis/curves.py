"""mAP, sparsity and postings of SOLIS along l1, and what a cost per posting saves at equal mAP."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.solis.methods import solis
from benchmarks.solis.protocol import METHODS, Draw
from benchmarks.solis.tuning import WORKERS, Tuned

Row = dict[str, object]

CURVE = (3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)
LEVELS = (1.0, 0.97, 0.9, 0.8)


def curves(draws: list[Draw], tuned: Tuned, cost: Any) -> list[Row]:
    """Each method at the step chosen for it, with and without the cost."""
    touched = [d.touched() for d in draws]

    def point(where: tuple[str, bool, float]) -> Row:
        method, with_cost, share = where
        options = {"word_cost": cost} if with_cost else {}
        gain = tuned.zeros[method].best[1]
        found = []
        for d, t in zip(draws, touched, strict=True):
            w = solis(method, d, share, gain, **options).fit(d.X, d.triplets).weights_
            found.append((d.ranked(w), np.mean(w == 0), np.mean(w[t] == 0), d.postings(w)))
        means = np.mean(found, axis=0)
        return {
            "method": method,
            "word_cost": "df" if with_cost else "none",
            "l1 / lambda_max": share,
            "mAP %": round(100 * means[0], 2),
            "sparsity %": round(100 * means[1], 2),
            "of touched %": round(100 * means[2], 2),
            "postings a query": round(means[3]),
        }

    for draw in draws:
        for method in METHODS:
            solis(method, draw, 0.0, 1.0)  # measures the scales, before threads want them
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(point, itertools.product(METHODS, (False, True), CURVE)))


def postings_needed(rows: list[Row], method: str, word_cost: str, level: float) -> float:
    """Fewest postings on a curve at which mAP reaches ``level``, interpolated in the logarithm."""
    here = [r for r in rows if r["method"] == method and r["word_cost"] == word_cost]
    pairs = sorted((float(str(r["postings a query"])), float(str(r["mAP %"]))) for r in here)
    for (p0, m0), (p1, m1) in itertools.pairwise([(1.0, 0.0), *pairs]):
        if m0 < level <= m1:
            share = (level - m0) / (m1 - m0)
            return float(np.exp((1 - share) * np.log(max(p0, 1)) + share * np.log(max(p1, 1))))
    return float("nan")


def cost_table(rows: list[Row]) -> list[Row]:
    """At equal mAP: postings with and without the cost."""
    made: list[Row] = []
    for method in METHODS:
        tops = [
            max(
                float(str(r["mAP %"])) for r in rows if (r["method"], r["word_cost"]) == (method, c)
            )
            for c in ("none", "df")
        ]
        for share in LEVELS:
            level = share * min(tops)
            plain, dear = (postings_needed(rows, method, c, level) for c in ("none", "df"))
            made.append(
                {
                    "method": method,
                    "of the top": f"{100 * share:g} %",
                    "mAP %": round(level, 2),
                    "postings a query, no cost": round(plain),
                    "with cost": round(dear),
                    "saved %": round(100 * (1 - dear / plain), 1),
                }
            )
    return made
