"""Speed and objective of product sparse coding on real SIFT, against SC, SPAMS and scikit-learn.

A part of ``make bench-psc``; alone it updates docs/results/psc.md.  Sub-codebooks are trained
on other descriptors than those coded.  The explicit codebook of plain sparse coding (SC) holds all
k^2 products of the same words, so that SC and PSC have the same optimum and differ in time alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.psc.speed.convergence import growth, objectives, slope
from benchmarks.psc.speed.data import (
    ALPHA,
    CODED,
    NAMES,
    SEED,
    K,
    halves,
    sift,
    trained,
)
from benchmarks.psc.speed.figure import draw
from benchmarks.psc.speed.peers import (
    Floats,
    Row,
    judge,
    judge_parts,
    product_words,
    sklearn_codes,
    sklearn_lasso,
    spams_codes,
    spams_version,
    timed,
)
from benchmarks.psc.speed.rounds import ratios, table, take_turns
from likewise_methods.psc.product_coder import ProductSparseCoder
from likewise_methods.psc.sparse_coder import SparseCoder

SPAMS = "SPAMS lasso (LARS)"
# How many vectors the slow ways get; the rest is multiplied.
FEW = {"likewise": 400, "nearest": 1_000, "peers": 8, "halves": 1_000}


def _row(
    name: str,
    words: str,
    seconds: float,
    n: int,
    judged: tuple[Floats, Floats] | None,
    best: Floats | None = None,
) -> Row:
    """``best`` are the optima of all vectors coded, in their order."""
    made: Row = {
        "coder": name,
        "words": words,
        "vectors": n,
        "us a vector": 1e6 * seconds / n,
        "CPU s for 1e5": seconds / n * 1e5,
    }
    if judged is not None:
        F, gap = judged
        made |= {"objective": f"{F.mean():.5f}", "mean gap": float(f"{gap.mean():.1e}")}
        if best is not None:
            made["above the optimum %"] = f"{100 * (F.mean() / best[: len(F)].mean() - 1):.4f}"
    return made


def products(X: Any, books: Sequence[Floats], best: Floats, peers: bool = True) -> list[Row]:
    """Everything that works on the halves: the floor, ours, and others."""
    parts, k, n = halves(X), len(books[0]), len(X)
    words = f"2 x {k}"
    turned = [np.ascontiguousarray(book.T, np.float32) for book in books]
    floor, _ = timed(lambda: [p @ b for p, b in zip(parts, turned, strict=True)], 3)
    rows = [_row("projection alone (the floor)", words, floor, n, None)]
    for method, name in NAMES.items():
        coder = ProductSparseCoder(k, 2, ALPHA, method, codebooks=books)  # type: ignore[arg-type]
        coder.marginals(X[:2000])
        seconds, found = timed(lambda coder=coder: coder.marginals(X), 3)  # type: ignore[misc]
        rows.append(
            _row(
                f"Likewise, {name}",
                words,
                seconds,
                n,
                judge_parts(parts, found, books, ALPHA),
                best,
            )
        )
    plus = ProductSparseCoder(k, 2, ALPHA, "approximate", "optimal", codebooks=books)
    seconds, found = timed(lambda: plus.marginals(X), 3)
    rows.append(
        _row(
            "Likewise, APSC with the optimal mass",
            words,
            seconds,
            n,
            judge_parts(parts, found, books, ALPHA),
            best,
        )
    )
    if not peers:
        return rows
    level = ALPHA / 4
    for cholesky in (False, True) if spams_version() else ():
        spams_codes([p[:100] for p in parts], books, level, cholesky=cholesky)
        seconds, found = timed(
            lambda c=cholesky: spams_codes(parts, books, level, cholesky=c),  # type: ignore[misc]
            3,
        )
        judged = judge_parts(parts, found, books, ALPHA)
        said = f"{SPAMS} on the halves" + (", cholesky" if cholesky else "")
        rows.append(_row(said, words, seconds, n, judged, best))
    for algorithm in ("lasso_lars", "lasso_cd"):
        some = [p[: FEW["halves"]] for p in parts]
        seconds, found = timed(lambda some=some, a=algorithm: sklearn_codes(some, books, level, a))  # type: ignore[misc]
        rows.append(
            _row(
                f"scikit-learn {algorithm} on the halves",
                words,
                seconds,
                len(some[0]),
                judge_parts(some, found, books, ALPHA),
                best,
            )
        )
    return rows


def explicit(X: Any, books: Sequence[Floats], best: Floats, peers: bool = True) -> list[Row]:
    """SC on all k^2 words, from few vectors; the Gram matrix is made before the clock starts."""
    A = product_words(books)
    name = f"{len(A):,} explicit"
    rows: list[Row] = []
    ways = [
        ("feature-sign", "precomputed", "likewise"),
        ("feature-sign", "on-the-fly", "likewise"),
        ("homotopy", "precomputed", "likewise"),
        ("homotopy", "on-the-fly", "likewise"),
        ("nearest", "on-the-fly", "nearest"),
    ]
    for method, gram, few in ways:
        some = X[: FEW[few]]
        coder = SparseCoder(len(A), ALPHA, method, gram, codebook=A)  # type: ignore[arg-type]
        coder.fit(some)
        coder.transform(some[:2])
        seconds, codes = timed(lambda coder=coder, some=some: coder.transform(some))  # type: ignore[misc]
        said = "200 nearest words" if method == "nearest" else f"{method}, Gram {gram}"
        rows.append(
            _row(
                f"Likewise, SC, {said}",
                name,
                seconds,
                len(some),
                judge(some, codes, A, ALPHA),
                best,
            )
        )
        print(rows[-1], flush=True)
        del coder
    if not peers:
        return rows
    few = X[: FEW["peers"]]
    if spams_version():
        # Its own Gram matrix costs as much as many vectors: the difference of two runs.
        more = X[: 3 * FEW["peers"]]
        way: dict[str, Any] = {"cholesky": True, "dtype": np.float64}
        first, _ = timed(lambda: spams_codes([few], [A], ALPHA / 2, **way))
        second, found = timed(lambda: spams_codes([more], [A], ALPHA / 2, **way))
        seconds = max(second - first, 0.0) * len(more) / (len(more) - len(few))
        judged = judge(more, found[0], A, ALPHA)
        rows.append(
            _row(
                f"{SPAMS}, cholesky, float64, without its Gram",
                name,
                seconds,
                len(more),
                judged,
                best,
            )
        )
        print(rows[-1], flush=True)
    seconds, codes = timed(lambda: sklearn_lasso(few, A, ALPHA))
    judged = judge(few, codes, A, ALPHA)
    rows.append(_row("scikit-learn Lasso", name, seconds, len(few), judged, best))
    print(rows[-1], flush=True)
    return rows


def threads(X: Any, books: Sequence[Floats]) -> list[Row]:
    """Wall time of one thread and of two, best of five."""
    rows: list[Row] = []
    for method in ("approximate", "exact"):
        coder = ProductSparseCoder(len(books[0]), 2, ALPHA, method, codebooks=books)
        coder.marginals(X[:2000])
        best = {}
        for n_threads in (1, 2):
            coder.set_params(n_threads=n_threads)
            best[n_threads] = np.inf
            for _ in range(5):
                start = time.perf_counter()
                coder.marginals(X)
                best[n_threads] = min(best[n_threads], time.perf_counter() - start)
        rows.append(
            {
                "coder": NAMES[method],
                "one thread, wall s": best[1],
                "two threads, wall s": best[2],
                "times faster": round(best[1] / best[2], 2),
            }
        )
    return rows


PARTS = ("coders", "turns", "threads", "objectives", "growth")


def add_speed(report: harness.Report, full: bool, parts: Sequence[str] = PARTS) -> None:
    """Tables and figures of this file; of parts not named the earlier run's stay."""
    X = sift()
    if X is None:
        report.left_out.append("speed (oxford1k is not here)")
        return
    coded, train = X[:CODED], X[CODED:]
    books = trained(train, K)
    if "coders" in parts:
        add_coders(report, coded, books)
    if "turns" in parts:
        taken = take_turns(coded, books)
        report.add("APSC, exact PSC and SPAMS in turns, on the same halves", table(taken))
        report.add("Ratios within those rounds", ratios(taken))
    if "threads" in parts:
        report.add("Two threads", threads(coded, books))
        report.parameters["load while threads were compared"] = round(os.getloadavg()[0], 1)
    steps, grown = None, None
    if "objectives" in parts:
        quality, steps = objectives(coded, books)
        report.add(f"Objective on the same {CODED:,} SIFT", quality)
        report.add("IPSC after each bisection (psc-convergence.svg)", steps)
    if "growth" in parts:
        grown = growth(coded, train, full)
        size = "full" if full else "default"
        report.add(f"Time against the number of words ({size} size; psc-cost.svg)", grown)
        report.add(
            "Growth with the number of words: time as K to the power",
            [{name: f"{slope(grown, name + ', us'):.2f}" for name in ("APSC", "exact PSC", "SC")}],
        )
    if steps and grown:
        draw(grown, steps)
    report.parameters["SPAMS"] = spams_version() or "not installed"


def add_coders(report: harness.Report, coded: Any, books: Sequence[Floats]) -> None:
    """Every coder once, ours and others', over two codebooks and over their products."""
    exact = ProductSparseCoder(K, 2, ALPHA, "exact", codebooks=books)
    best = judge_parts(halves(coded), exact.marginals(coded), books, ALPHA)[0]
    fast = products(coded, books, best)
    for row in fast:
        print(row, flush=True)
    rows = fast + explicit(coded, books, best)
    ours = float(str(fast[1]["us a vector"]))
    for row in rows:
        row["times APSC"] = round(float(str(row["us a vector"])) / ours, 2)
    report.add(f"Speed: {CODED:,} SIFT of oxford1k, alpha {ALPHA}, k = {K}, one thread", rows)


def measure(full: bool, parts: Sequence[str] = PARTS) -> None:
    """Write docs/results/psc.md."""
    report = harness.Report(
        "psc-speed",
        "Product sparse coding: speed and objective",
        "full" if full else "default",
        {"alpha": ALPHA, "k": K, "seed": SEED},
        page="psc",
    )
    add_speed(report, full, parts)
    report.write()


def main() -> None:
    options = harness.arguments_with_parts(__doc__ or "", PARTS)
    measure(options.full, options.parts)
