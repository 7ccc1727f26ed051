"""``S3ML().fit`` as rows and pairs grow: thousands of pairs, neighbours included.

Rows are a smooth random map of six hidden coordinates into 64 features, plus noise ("waves"), or
overlapping groups of which eight directions are wide ("groups"), where neighbours are harder to
find.  Half of the pairs join rows of one class, half rows of any two.  Every figure comes from a
process of its own; the blocks of the sparse inverse are measured in one.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import harness
from benchmarks.s3ml.propagation import MIB, forget_peak
from likewise_methods.s3ml.graph import knn_graph
from likewise_methods.s3ml.pairs import as_constraints
from likewise_methods.s3ml.propagation.scatter import scatter
from likewise_methods.s3ml.s3ml import S3ML
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance

Row = dict[str, object]
FEATURES, HIDDEN = 64, 6
# Named, since the child process may be started from a run of this very file.
MODULE = "benchmarks.s3ml.many_pairs"
SIZES = (
    ("waves", 50_000, 4_400),
    ("waves", 200_000, 10_000),
    ("waves", 1_000_000, 10_000),
    ("groups", 50_000, 4_400),
    ("groups", 200_000, 10_000),
)


def problem(kind: str, n: int, n_pairs: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows (float32), pairs, and which are alike."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, FEATURES), np.float32)
    if kind == "waves":
        hidden = rng.random((n, HIDDEN))
        waves = rng.normal(size=(HIDDEN, FEATURES)) * 2
        classes = (hidden[:, 0] * 20).astype(np.int64)
        for low in range(0, n, 50_000):
            part = hidden[low : low + 50_000]
            noise = rng.normal(size=(len(part), FEATURES))
            X[low : low + 50_000] = np.sin(part @ waves) + 0.1 * noise
    else:
        classes = rng.integers(0, max(n // 500, 10), n)
        middles = rng.normal(size=(classes.max() + 1, FEATURES))
        wide = rng.normal(size=(8, FEATURES)) / 2
        for low in range(0, n, 50_000):
            own = classes[low : low + 50_000]
            spread = rng.normal(size=(len(own), 8)) @ wide
            X[low : low + 50_000] = (
                middles[own] + spread + 0.3 * rng.normal(size=(len(own), FEATURES))
            )
    return X, *_pairs(classes, n_pairs, rng)


def _pairs(classes: Any, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Half of them within a class."""
    n = len(classes)
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(classes.max() + 2))
    first = rng.integers(0, n, count)
    own = classes[first[: count // 2]]
    place = starts[own] + rng.random(len(own)) * (starts[own + 1] - starts[own])
    second = np.concatenate([order[place.astype(np.int64)], rng.integers(0, n, count - len(own))])
    drawn = np.sort(np.stack([first, second], axis=1)[first != second], axis=1)
    pairs = np.unique(drawn, axis=0)
    return pairs, classes[pairs[:, 0]] == classes[pairs[:, 1]]


def child(kind: str, n: int, n_pairs: int) -> dict[str, Any]:
    """One fit, after one of 25,000 rows for the compiler."""
    S3ML().fit(*problem(kind, 25_000, 50, 1))
    X, pairs, same = problem(kind, n, n_pairs)
    before = harness.resident()
    forget_peak()
    start = time.process_time()
    model = S3ML().fit(X, pairs, same)
    seconds = time.process_time() - start
    report = model.report_
    return {
        "pairs": len(pairs),
        "seconds": seconds,
        "peak": harness.peak() / MIB,
        "more": (harness.peak() - before) / MIB,
        "recall": report.recall,
        "gap": model.gap_,
        "counted": report.counted_similar + report.counted_dissimilar,
    }


def fits(sizes: Any = SIZES) -> list[Row]:
    """A row for each size."""
    made: list[Row] = []
    for kind, n, n_pairs in sizes:
        said = harness.in_process(MODULE, kind, str(n), str(n_pairs))
        made.append(
            {
                "rows": n,
                "kind": kind,
                "pairs": said["pairs"],
                "CPU s": round(said["seconds"], 1),
                "X MiB": round(n * FEATURES * 4 / MIB),
                "peak MiB": round(said["peak"]),
                "of it for the fit MiB": round(said["more"]),
                "recall of neighbours": round(said["recall"], 3),
                "gap": float(f"{said['gap']:.1e}"),
                "pairs that count": said["counted"],
            }
        )
        print(made[-1], flush=True)
    return made


def errors(n: int = 4_000, n_pairs: int = 1_000) -> list[Row]:
    """T by pushes against T of the full matrix, on the same graph."""
    made: list[Row] = []
    for kind in ("waves", "groups"):
        X, pairs, same = problem(kind, n, n_pairs)
        graph = knn_graph(X, 6)
        said = as_constraints(pairs, same, n).weigh(0.2)
        exact = scatter(X, said, graph, 0.5, 0.01, method="dense")[0]
        # Compilation apart.
        scatter(X, said, graph, 0.5, 0.01, method="push")
        start = time.process_time()
        T = scatter(X, said, graph, 0.5, 0.01, method="push")[0]
        seconds = time.process_time() - start
        off = np.abs(T - exact).max() / np.abs(exact).max()
        made.append(
            {
                "kind": kind,
                "rows": n,
                "pairs": len(pairs),
                "CPU s": round(seconds, 2),
                "relative error of T": f"{off:.1e}",
            }
        )
    return made


def blocks(count: int = 4_385, most: int = 8, seed: int = 0) -> list[Row]:
    """A sparse S in many small blocks."""
    rng = np.random.default_rng(seed)
    parts = []
    for size in rng.integers(1, most + 1, count):
        own = rng.normal(size=(4 * size, size))
        own[:, 1:] += 0.7 * own[:, :-1]
        parts.append(np.corrcoef(own.T).reshape(size, size))
    S = sp.csr_array(sp.block_diag(parts))
    sparse_inverse_covariance(S[:100][:, :100], 0.1)
    made: list[Row] = []
    for tol in (1e-4, 1e-6):
        seconds = []
        for _ in range(3):
            start = time.process_time()
            found = sparse_inverse_covariance(S, 0.1, tol=tol)
            seconds.append(time.process_time() - start)
        made.append(
            {
                "m": S.shape[0],
                "blocks": found.blocks,
                "largest": found.largest_block,
                "tol": tol,
                "CPU s": float(np.median(seconds)),
                "gap over m": float(f"{found.gap / S.shape[0]:.1e}"),
                "reached": "yes" if found.converged else "no",
            }
        )
    return made


if __name__ == "__main__":
    _, _, which, rows, said_pairs = sys.argv
    print(json.dumps(child(which, int(rows), int(said_pairs))))
