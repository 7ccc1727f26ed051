"""The index as a dictionary of rows: slow, obvious, and right to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise_methods.index.inverted import InvertedIndex

LARGEST = float(np.finfo(np.float32).max)


class DictIndex:
    """{id: {word: value}}; a score is a float64 sum in ascending order of words."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[int, float]] = {}

    def add(self, X: np.ndarray[Any, Any], ids: list[int]) -> None:
        for row, id_ in zip(np.asarray(X, np.float32), ids, strict=True):
            self.rows[id_] = {int(j): float(row[j]) for j in np.flatnonzero(row)}

    def remove(self, ids: list[int]) -> None:
        for id_ in ids:
            del self.rows[id_]

    def score(self, id_: int, query: np.ndarray[Any, Any]) -> np.float32:
        total = 0.0
        for word, value in sorted(self.rows[id_].items()):
            if word < len(query) and query[word] != 0.0:
                total += float(query[word]) * value
        return np.float32(min(max(total, -LARGEST), LARGEST))

    def search(
        self, Q: Any, k: int, weights: Any = None
    ) -> tuple[list[list[int]], list[list[float]]]:
        ids, scores = [], []
        for query in np.asarray(Q, np.float64):
            folded = query if weights is None else query * np.asarray(weights, np.float64)
            ranked = sorted((-self.score(i, folded), i) for i in self.rows)[:k]
            gap = k - len(ranked)
            ids.append([i for _, i in ranked] + [-1] * gap)
            scores.append([float(-s) for s, _ in ranked] + [float("-inf")] * gap)
        return ids, scores


def assert_same(
    index: InvertedIndex, truth: DictIndex, Q: Any, k: int, weights: Any = None
) -> None:
    ids, scores = index.search(Q, k, weights)
    expected_ids, expected_scores = truth.search(Q, k, weights)
    assert ids.dtype == np.int64
    assert scores.dtype == np.float32
    assert scores.tolist() == expected_scores
    assert ids.tolist() == expected_ids


# Few distinct values make ties; the extremes make rounding and underflow visible.
VALUES = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 0.5, 0.1, 0.3, -1, -0.7, 1e-30, 1e20, 1e-42])


def random_rows(
    rng: np.random.Generator, n: int, width: int, tame: bool = False
) -> np.ndarray[Any, Any]:
    values = np.maximum(VALUES[:-3], 0) if tame else VALUES
    return rng.choice(values, size=(n, width)).astype(np.float32)
