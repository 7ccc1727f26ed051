"""The main table of the SOLIS benchmark: all methods on all draws of a collection."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.solis.idf import IdfWeights
from benchmarks.solis.methods import RIVALS, fused, linear_svm, rival_value, rocchio, solis
from benchmarks.solis.protocol import METHODS, Draw, timed
from benchmarks.solis.tuning import WORKERS, Tuned
from likewise_methods.index.inverted import InvertedIndex

Row = dict[str, object]
Made = list[tuple[str, float, Row]]


class Table:
    """Collects what each method did on each draw; a row is the mean."""

    def __init__(self) -> None:
        self.found: dict[str, list[Row]] = {}

    def add(self, name: str, group: str, value: float, **more: object) -> None:
        self.found.setdefault(name, []).append({"AP": value, "group": group, **more})

    def rows(self) -> list[Row]:
        made: list[Row] = []
        for name, found in self.found.items():
            by_draw = np.mean(list(self._grouped(name).values()), axis=0)
            row: Row = {
                "method": name,
                "mAP %": f"{100 * by_draw.mean():.2f}",
                "±": f"{100 * _error(by_draw):.2f}",
            }
            for key in found[0]:
                if key not in ("AP", "group"):
                    value = self.mean(name, key)
                    # Between 99 and 100 % decimals are what matters.
                    row[key] = f"{value:.2f}" if "%" in key else float(f"{value:.4g}")
            made.append(row)
        return made

    def gap(self, name: str, other: str) -> tuple[float, float, int]:
        """Mean AP of one minus the other's, its standard error over draws, paired; draws."""
        mine, its = self._grouped(name), self._grouped(other)
        by_draw = np.mean([np.subtract(mine[g], its[g]) for g in mine], axis=0)
        return float(by_draw.mean()), _error(by_draw), len(by_draw)

    def mean(self, name: str, key: str = "AP") -> float:
        return float(np.mean([float(str(f[key])) for f in self.found[name] if key in f]))

    def _grouped(self, name: str) -> dict[str, list[float]]:
        groups: dict[str, list[float]] = {}
        for found in self.found[name]:
            groups.setdefault(str(found["group"]), []).append(float(str(found["AP"])))
        return groups


def _error(by_draw: Any) -> float:
    n = len(by_draw)
    return float(by_draw.std(ddof=1)) / n**0.5 if n > 1 else float("nan")


def learnt(weights: Any, draw: Draw, touched: Any, seconds: float, search: bool) -> Row:
    """Sparsity in both senses, postings a query, and times; of a search only where wanted."""
    return {
        "sparsity %": 100 * np.mean(weights == 0),
        "of touched %": 100 * np.mean(weights[touched] == 0),
        "postings a query": draw.postings(weights),
        "training s": seconds,
        **(searched(weights, draw) if search else {}),
    }


def searched(weights: Any, draw: Draw) -> Row:
    """Times of indexing the retrieval set without zero-weight words, and of a search over it."""
    question = draw.questions[0]
    gallery, queries = draw.X[question.gallery], draw.X[question.queries]

    def build() -> InvertedIndex:
        index = InvertedIndex.build(gallery)
        index.compact(weights)
        return index

    index, seconds = timed(build)
    search = partial(index.search, queries, gallery.shape[0], weights=weights)
    search()
    _, spent = timed(lambda: [search() for _ in range(5)])
    return {"index s": seconds, "query ms": 1000 * spent / 5 / queries.shape[0]}


def compare(draws: list[Draw], tuned: Tuned, tf: Any, cost: Any) -> Table:
    """All methods on all draws, two at a time; searches are timed on the first of each group."""
    idf2 = IdfWeights(2).fit(draws[0].X).weights_
    first = {draw.group: draw for draw in reversed(draws)}
    table = Table()

    def made(draw: Draw) -> Made:
        return _compared(draw, tuned, tf, cost, idf2, search=first[draw.group] is draw)

    with ThreadPoolExecutor(WORKERS) as pool:
        for draw, found in zip(draws, pool.map(made, draws), strict=True):
            for name, value, more in found:
                table.add(name, draw.group, value, **more)
    return table


def _compared(draw: Draw, tuned: Tuned, tf: Any, cost: Any, idf2: Any, *, search: bool) -> Made:
    """Name, mean AP and the rest, of every method on one draw."""
    flat = np.ones(draw.X.shape[1])
    touched = draw.touched()
    plain = [
        q.mean_ap((tf[q.queries] @ tf[q.gallery].T).toarray().astype(float)) for q in draw.questions
    ]
    made: Made = [("cosine (tf)", float(np.mean(plain)), {})]

    def weighted(name: str, w: Any, seconds: float) -> None:
        made.append((name, draw.ranked(w), learnt(w, draw, touched, seconds, search)))

    def fitted(name: str, method: str, point: Any, **options: Any) -> tuple[Any, float]:
        learner = solis(method, draw, *point, **options)
        _, seconds = timed(partial(learner.fit, draw.X, draw.triplets))
        weighted(name, learner.weights_, seconds)
        return learner, seconds

    weighted("TF-IDF", flat, 0.0)
    weighted("idf squared", idf2, 0.0)
    for name, (_, make) in RIVALS.items():
        rival = make(tuned.rivals[name].best[0])
        learner, seconds = timed(partial(rival.fit, draw.X, draw.triplets))
        more = learnt(learner.weights_, draw, touched, seconds, search)
        made.append((name, rival_value(learner, draw), more))
    for m in METHODS:
        learner, seconds = fitted(f"SOLIS {m}", m, tuned.zeros[m].best)
        both = fused(learner, draw, tuned.times[m].best[0])
        weighted(f"SOLIS {m}, fused with TF-IDF", both, seconds)
    for m in METHODS:
        fitted(f"SOLIS {m}, sparse", m, tuned.zeros[m].sparse)
    for m, choice in tuned.costly.items():
        fitted(f"SOLIS {m}, word_cost", m, choice.best, word_cost=cost)
        fitted(f"SOLIS {m}, word_cost, sparse", m, choice.sparse, word_cost=cost)
    for m in METHODS:
        fitted(f"SOLIS {m}, from ones", m, tuned.ones[m].best, start="ones")
    yardsticks: dict[str, Callable[[Draw, float], float]] = {
        "Rocchio": rocchio,
        "linear SVM": linear_svm,
    }
    for name, choice in tuned.yardsticks.items():
        made.append((name, yardsticks[name](draw, choice.best[0]), {}))
    return made
