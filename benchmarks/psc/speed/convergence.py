"""Objectives of APSC, IPSC and exact PSC on real SIFT, and time against the number of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.psc.speed.data import ALPHA, NAMES, SIZES, Floats, halves, trained
from benchmarks.psc.speed.peers import Row, judge_parts, product_words, timed
from likewise_methods.psc.product_coder import ProductSparseCoder
from likewise_methods.psc.sparse_coder import SparseCoder


def objectives(X: Any, books: Sequence[Floats]) -> tuple[list[Row], list[Row]]:
    """APSC, IPSC and exact on the same vectors; and IPSC after each bisection."""
    parts, k = halves(X), len(books[0])

    def coded(method: str, **more: Any) -> tuple[Any, Floats]:
        coder = ProductSparseCoder(k, 2, ALPHA, method, codebooks=books, **more)  # type: ignore[arg-type]
        found = coder.marginals(X)
        return found, judge_parts(parts, found, books, ALPHA)[0]

    found, best = coded("exact")
    tops = [
        2 * ((part - u.astype(np.float64) @ book) @ book.T).max(axis=1)
        for part, u, book in zip(parts, found, books, strict=True)
    ]
    some = np.asarray(found[0].sum(axis=1)).ravel() > 0
    least = np.minimum(*tops)
    missing = some & (least <= 1e-6)
    rows: list[Row] = []
    for method, mass, name in (
        ("approximate", "geometric", "APSC"),
        ("approximate", "optimal", "APSC, optimal mass"),
        ("iterative", "geometric", "IPSC, 10 bisections"),
        ("exact", "geometric", "exact"),
    ):
        F = coded(method, mass=mass)[1]
        over = F / best - 1
        rows.append(
            {
                "coder": name,
                "objective": f"{F.mean():.5f}",
                "above the optimum, mean %": round(100 * float(over.mean()), 4),
                "99th percentile %": round(100 * float(np.quantile(over, 0.99)), 3),
                "worst %": round(100 * float(over.max()), 2),
                "mean % where no split exists": round(100 * float(over[missing].mean()), 3)
                if missing.any()
                else "",
                "share without split %": round(100 * float(missing.mean()), 3),
            }
        )
    steps: list[Row] = []
    for n_steps in range(13):
        u, F = coded("iterative", n_steps=n_steps)
        steps.append(
            {
                "bisections": n_steps,
                "objective": f"{F.mean():.6f}",
                "above the optimum, mean %": 100 * float((F / best - 1).mean()),
                "where a split exists, mean %": 100 * float((F / best - 1)[~missing].mean()),
            }
        )
        del u
    return rows, steps


def growth(X: Any, train: Any, full: bool) -> list[Row]:
    """Time a vector against the number of words K = k^2: PSC, and SC, Gram blocks on the fly."""
    rows: list[Row] = []
    for k in SIZES:
        books = trained(train[: max(20_000, 100 * k)], k, 6)
        row: Row = {"k": k, "K": k * k}
        for method in ("approximate", "exact"):
            coder = ProductSparseCoder(k, 2, ALPHA, method, codebooks=books)
            coder.marginals(X[:1000])
            some = X if full else X[:30_000]
            seconds, found = timed(lambda coder=coder, some=some: coder.marginals(some), 3)  # type: ignore[misc]
            row[f"{NAMES[method]}, us"] = 1e6 * seconds / len(some)
        row["objective"] = round(float(judge_parts(halves(some), found, books, ALPHA)[0].mean()), 4)
        n = 200 if k <= 128 else 60
        A = product_words(books)
        sc = SparseCoder(len(A), ALPHA, "homotopy", "on-the-fly", codebook=A).fit(X[:n])
        sc.transform(X[:2])
        seconds, _ = timed(lambda sc=sc, n=n: sc.transform(X[:n]))  # type: ignore[misc]
        row["SC, us"] = 1e6 * seconds / n
        row["SC times exact PSC"] = round(row["SC, us"] / float(str(row["exact PSC, us"])), 1)  # type: ignore[operator]
        rows.append(row)
        print(row, flush=True)
    return rows


def slope(rows: Sequence[Row], column: str) -> float:
    """The power of K that times follow, by least squares on logarithms."""
    K, y = ([float(str(r[name])) for r in rows] for name in ("K", column))
    return float(np.polyfit(np.log(K), np.log(y), 1)[0])
