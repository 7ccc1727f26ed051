"""The benchmark of the inverted index grades what it times."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.index import report as bench
from likewise_methods.index import InvertedIndex


def test_the_benchmark_grades_the_call_it_times() -> None:
    """An index that is wrong only when given weights must not look exact."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 80), density=0.2, rng=rng, format="csr", dtype=np.float32)
    counts = np.bincount(X.indices, minlength=80)
    setting = bench.Setting("t", 300, 80, 16, 1.0, 10)
    fresh = [X[[q]] for q in range(10)]
    c = bench.Collection(setting, X, sparse.csc_array(X), counts, fresh, [])

    class Wrong(InvertedIndex):
        def search(self, Q: Any, k: int, weights: Any = None) -> Any:
            return super().search(Q if weights is None else -Q, k, weights)

    wrong = Wrong()
    wrong.add(X)
    assert {row["exact"] for row in bench.weighted_rows(c, InvertedIndex.build(X))} == {"10/10"}
    # Where hardly a word survives, many tie at zero and any answer is right.
    assert {row["exact"] for row in bench.weighted_rows(c, wrong)} != {"10/10"}
