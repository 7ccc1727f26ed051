"""Time and memory of T = X'LX as rows grow: full matrix, matrix-free, local push.

Rows are a smooth random map of three hidden coordinates into m features, plus noise; the kNN graph
is that of the hidden coordinates, found by a k-d tree, so that the propagation is measured and not
the search for neighbours.  400 rows have labels of four classes.  Every figure comes from a process
of its own.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from benchmarks import harness
from likewise_methods.s3ml.pairs import Constraints, as_constraints
from likewise_methods.s3ml.propagation.scatter import scatter

Row = dict[str, object]
K, A, THETA = 6, 0.5, 0.01
CLASSES, LABELLED = 4, 400
WAYS = {"dense": THETA, "push": THETA, "dense, theta 0": 0.0, "matrix-free": 0.0}
MIB = 1 << 20
# Named, since the child process may be started from a run of this very file.
MODULE = "benchmarks.s3ml.propagation"


def problem(n: int, m: int) -> tuple[Any, Any, Constraints]:
    """Rows (float32), graph and labels."""
    rng = np.random.default_rng(n)
    hidden = rng.random((n, 3))
    waves = rng.normal(size=(3, m)) * 3
    X = np.empty((n, m), np.float32)
    for low in range(0, n, 50_000):
        part = hidden[low : low + 50_000]
        X[low : low + 50_000] = np.sin(part @ waves) + 0.1 * rng.normal(size=(len(part), m))
    tree = cKDTree(hidden)
    graph = np.empty((n, K), np.int32)
    for low in range(0, n, 50_000):
        _, near = tree.query(hidden[low : low + 50_000], K + 1)
        graph[low : low + 50_000] = np.asarray(near)[:, 1:]
    labels = np.full(n, -1)
    known = rng.choice(n, min(LABELLED, n // 4), replace=False)
    labels[known] = (hidden[known, 0] * CLASSES).astype(int)
    return X, graph, as_constraints(labels, None, n)


def child(way: str, n: int, m: int, kept: str) -> dict[str, Any]:
    """One measurement; T is left in a file for the parent to compare."""
    theta = WAYS[way]
    method = way.split(",")[0]
    X, graph, said = problem(2_000 if n > 2_000 else n, m)
    scatter(X[:, :2], said, graph, A, theta, method=method)
    X, graph, said = problem(n, m)
    before = harness.resident()
    forget_peak()
    start = time.process_time()
    T = scatter(X, said, graph, A, theta, method=method, progress=_told)[0]
    seconds = time.process_time() - start
    np.save(kept, T)
    return {
        "seconds": seconds,
        "peak": harness.peak() / MIB,
        "more": (harness.peak() - before) / MIB,
    }


def forget_peak() -> None:
    """Let the system count this process's peak from now on (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _told(what: str, done: int, of: int) -> None:
    sys.stderr.write(f"\r{what}: {done:,} of {of:,}")


def measure(sizes: list[tuple[str, int, int]]) -> list[Row]:
    """A row for each (way, n, m); errors are relative to the full matrix of the same n and m."""
    made: list[Row] = []
    exact: dict[tuple[int, int, float], Any] = {}
    for way, n, m in sizes:
        kept = str(harness.cache_dir() / f"s3ml-T-{way.replace(', ', '-')}-{n}-{m}.npy")
        said = harness.in_process(MODULE, way, str(n), str(m), kept)
        T = np.load(kept)
        Path(kept).unlink()
        key = (n, m, WAYS[way])
        if way.startswith("dense"):
            exact[key] = T
        reference = exact.get(key)
        off: object = ""
        if reference is not None and not way.startswith("dense"):
            off = f"{np.abs(T - reference).max() / np.abs(reference).max():.1e}"
        made.append(
            {
                "rows": n,
                "features": m,
                "way": way,
                "CPU s": round(said["seconds"], 2),
                "X MiB": round(n * m * 4 / MIB),
                "peak MiB": round(said["peak"]),
                "of it for T MiB": round(said["more"]),
                "relative error of T": off,
            }
        )
        print(made[-1], flush=True)
    return made


def sizes() -> list[tuple[str, int, int]]:
    """What is measured: the full matrix only while it fits."""
    made = []
    for n in (1_000, 4_000):
        made += [(way, n, 225) for way in WAYS]
    for n in (10_000, 100_000, 1_000_000):
        made += [(way, n, 225) for way in ("push", "matrix-free")]
    return made


if __name__ == "__main__":
    _, _, what, rows, features, file = sys.argv
    print(json.dumps(child(what, int(rows), int(features), file)))
