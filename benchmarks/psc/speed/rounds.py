"""The two ratios that were asked for, measured so that a busy machine cannot decide them.

APSC, exact PSC and SPAMS in both its settings take turns, ROUNDS times over; a ratio is taken
within each round, where all met about the same machine, and the median of the rounds counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.psc.speed.data import ALPHA, NAMES, Floats, halves
from benchmarks.psc.speed.peers import Row, spams_codes, spams_version, timed
from likewise_methods.psc.product_coder import ProductSparseCoder

ROUNDS = 7
BAR, EXACT_BAR = 2.5, 2.0


def _ours(coder: ProductSparseCoder, X: Any, n: int) -> Any:
    return coder.marginals(X[:n])


def _spams(parts: Sequence[Any], books: Sequence[Floats], cholesky: bool, n: int) -> Any:
    return spams_codes([part[:n] for part in parts], books, ALPHA / 4, cholesky=cholesky)


def take_turns(X: Any, books: Sequence[Floats]) -> dict[str, list[float]]:
    """CPU microseconds a vector of each way in each round."""
    parts = halves(X)
    ways: dict[str, Callable[[int], Any]] = {}
    for method in ("approximate", "exact"):
        coder = ProductSparseCoder(len(books[0]), 2, ALPHA, method, codebooks=books)
        ways[NAMES[method]] = partial(_ours, coder, X)
    for cholesky in (False, True) if spams_version() else ():
        name = "SPAMS, cholesky" if cholesky else "SPAMS"
        ways[name] = partial(_spams, parts, books, cholesky)
    for way in ways.values():
        way(2000)
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            seconds, _ = timed(partial(way, len(X)))
            taken[name].append(1e6 * seconds / len(X))
    return taken


def table(taken: dict[str, list[float]]) -> list[Row]:
    """Median, least and largest of each way."""
    return [
        {
            "coder": name,
            "rounds": len(times),
            "us a vector, median": float(np.median(times)),
            "least": min(times),
            "largest": max(times),
        }
        for name, times in taken.items()
    ]


def ratios(taken: dict[str, list[float]]) -> list[Row]:
    """Ratios of times within a round, which a busy machine moves less than the times."""
    ours, exact = (np.array(taken[NAMES[m]]) for m in ("approximate", "exact"))
    peers = [np.array(times) for name, times in taken.items() if name.startswith("SPAMS")]
    made = []
    if peers:
        faster = np.minimum.reduce(peers)
        made.append(_ratio("SPAMS, the faster setting, over APSC", faster / ours, f">= {BAR:g}"))
    return [*made, _ratio("exact PSC over APSC", exact / ours, f"<= {EXACT_BAR:g}")]


def _ratio(name: str, ratio: Any, wanted: str) -> Row:
    return {
        "times": name,
        "median": round(float(np.median(ratio)), 2),
        "least": round(float(ratio.min()), 2),
        "largest": round(float(ratio.max()), 2),
        "wanted": wanted,
    }
