"""How soon is a typed text answered?  CPU ms of each step, over drawn rows of 1280 numbers.

Rows are drawn like activations (not negative, a shared mean, structure of low rank) and held as
coefficients, so that a million of them fit: those that are nominated are made again when they are
looked up, where a collection would read them from its file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import cpu_times
from likewise.vision.text.words import PictureWords
from likewise_methods.neighbours.compact import CompactFlat

WIDTH, RANK, K = 1_280, 48, 100
ASKED = (
    "snowy mountains",
    "a dog on a beach",
    "birthday cake with candles",
    "old car",
    "bridge at night",
    "children playing football in the park",
    "red flowers",
    "a plate of food",
    "sunset over the sea",
    "people in an African village",
)

Rows = NDArray[np.float32]


class DrawnRows:
    """Rows by their numbers: relu(coefficients times basis + mean), of unit length."""

    def __init__(self, n: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        scale = 1 / np.sqrt(np.arange(1, RANK + 1))
        self.basis = (scale[:, None] * rng.standard_normal((RANK, WIDTH))).astype(np.float32)
        self.mean = rng.standard_normal(WIDTH).astype(np.float32) * np.float32(0.5)
        self.coefficients = rng.standard_normal((n, RANK), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.coefficients)

    def __getitem__(self, places: NDArray[np.int64]) -> Rows:
        made = self.coefficients[places] @ self.basis
        made += self.mean
        np.maximum(made, 0, out=made)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return np.asarray(made, np.float32)


def speed_row(words: PictureWords, n: int) -> dict[str, object]:
    rows = DrawnRows(n)
    sample = rows[np.linspace(0, n - 1, 2_000).astype(np.int64)]
    mean, deviations = sample.mean(axis=0), words.deviations(sample)
    index = CompactFlat("ip", rows)
    alive = np.ones(n, bool)
    queries = [words.ask(text) for text in ASKED]
    asked = [words.row(query, mean, deviations) for query in queries]
    ask = cpu_times(words.ask, ASKED)
    row = cpu_times(lambda query: words.row(query, mean, deviations), queries)
    rank = cpu_times(lambda query: index.best(rows, alive, query, K), asked)
    nominated = [len(index.best(rows, alive, query, K)[0]) for query in asked]
    return {
        "pictures": n,
        "text to classes ms": f"{1e3 * ask.median:.1f}",
        "classes to row ms": f"{1e3 * row.median:.2f}",
        "ranking ms": f"{1e3 * rank.median:.0f}",
        "together ms": f"{1e3 * (ask.median + row.median + rank.median):.0f}",
        "the slowest ms": f"{1e3 * (max(ask.seconds) + max(row.seconds) + max(rank.seconds)):.0f}",
        "rows scored again": f"{np.median(nominated):.0f}",
        "codes MB": f"{index.n_bytes / 1e6:.0f}",
    }
