"""A million dense rows: memory and CPU time of an answer, beside faiss; ``python -m
benchmarks.staying.scale``.

Rows have 128 numbers and unit length.  They are drawn like features of pictures: the variance of
the i-th principal direction falls as 1 / i (directions are turned at random); there is one centre
for a hundred rows, with sizes that differ as 1 / sqrt(rank); a row is its centre and 0.8 times
something drawn like a centre; and all share a mean, as activations do.  Questions are fresh draws
around the same centres and are no row of the collection.

Ours is the product's own view over a collection on disk; every engine runs in a process of its own,
after its libraries and kernels were loaded.  What it found is judged here, by float64 products.
The graph is over 200,000 rows, with --full over all.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.jobs import silent
from likewise.collection.collection import Collection
from likewise.ingest.generations import start_generation
from likewise.search.dense_view import DenseView
from likewise.spaces import graphs
from likewise.spaces import rows as space_rows
from likewise.spaces.registry import open_spaces

N, N_GRAPH, WIDTH, K, ASKED = 1_000_000, 200_000, 128, 20, 100
TITLE = "What stays as a collection grows"
_SPACE = "rows"
_CHUNK = 50_000
_MODULE = "benchmarks.staying.scale"

Floats = NDArray[np.float32]
Row = dict[str, object]


class Features:
    """The distribution that rows and questions are drawn from."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        turn = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
        scale = 1 / np.sqrt(np.arange(1, WIDTH + 1))
        self.basis: Floats = np.asarray(scale[:, None] * turn, np.float32)
        n_centres = max(n // 100, 1)
        self.mean = rng.standard_normal(WIDTH, dtype=np.float32) @ self.basis
        self.centres = rng.standard_normal((n_centres, WIDTH), dtype=np.float32) @ self.basis
        share = 1 / np.sqrt(np.arange(1, n_centres + 1))
        self.share = np.cumsum(share) / share.sum()

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        of = np.minimum(np.searchsorted(self.share, rng.random(n)), len(self.centres) - 1)
        own = rng.standard_normal((n, WIDTH), dtype=np.float32) @ self.basis
        rows = self.mean + self.centres[of] + np.float32(0.8) * own
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows, np.float32)


def generate(n: int, seed: int) -> tuple[Floats, Floats]:
    """Rows and questions."""
    features = Features(n, seed)
    rng = np.random.default_rng([seed, 1])
    rows = np.empty((n, WIDTH), np.float32)
    for at in range(0, n, _CHUNK):
        rows[at : at + _CHUNK] = features.draw(min(_CHUNK, n - at), rng)
    return rows, features.draw(ASKED, np.random.default_rng([seed, 2]))


def best_by_definition(rows: Floats, questions: Floats) -> NDArray[np.int64]:
    """The K best of each question: float64 products of all."""
    found = np.zeros((len(questions), 0), np.int64)
    values = np.zeros((len(questions), 0))
    asked = questions.astype(np.float64)
    for at in range(0, len(rows), _CHUNK):
        some = asked @ rows[at : at + _CHUNK].astype(np.float64).T
        ids = np.broadcast_to(np.arange(at, at + some.shape[1]), some.shape)
        found, values = np.hstack([found, ids]), np.hstack([values, some])
        # None ties here: what is drawn is continuous.
        order = np.argpartition(-values, K - 1, axis=1)[:, :K]
        found = np.take_along_axis(found, order, 1)
        values = np.take_along_axis(values, order, 1)
    return np.take_along_axis(found, np.argsort(-values, axis=1), 1)


def collection_of(root: Path, rows: Floats) -> None:
    """A collection with these rows, in segments, of pictures 1, 2, ..."""
    with Collection.create(root, deep=False) as col:
        store = col._store
        col.spaces.add(_SPACE, {"feature": "own"})
        start_generation(store, _SPACE, rows.shape[1])
        for serial, start in enumerate(range(0, len(rows), seg.FULL)):
            part = rows[start : start + seg.FULL]
            ids = np.arange(start + 1, start + 1 + len(part))
            name = space_rows.segment_name(_SPACE, 1, 0, serial)
            n_bytes = seg.write_dense(root, name, seg.DenseRows(ids, part))
            with store.write() as c:
                change.put_segment(c, name, _SPACE, 1, len(part), n_bytes)


def grow_graph(root: Path) -> float:
    """The product's graph over a collection; CPU seconds."""
    start = time.process_time()
    with Collection.open(root) as col:
        graphs.grow_graphs(col._store, silent, above=0)
    return time.process_time() - start


# -- one engine, in a process of its own -------------------------------------------------------


def open_view(root: Path) -> DenseView:
    with Collection.open(root) as col:
        return DenseView(col._store, open_spaces(col._store)[_SPACE])


def chunks_of(path: Path, n: int) -> Iterator[Floats]:
    """Rows of the file, read and not mapped: pages of a mapping would count as memory."""
    with open(path, "rb") as file:
        for at in range(0, n, _CHUNK):
            size = min(_CHUNK, n - at) * WIDTH
            yield np.fromfile(file, np.float32, size).reshape(-1, WIDTH)


def ours(folder: Path, name: str, n: int) -> Callable[[Floats], Any]:
    view = open_view(folder / name)
    return lambda question: view.search_row(question, K)[0] - 1


def faiss_flat(folder: Path, name: str, n: int) -> Callable[[Floats], Any]:
    import faiss

    index = faiss.IndexFlatIP(WIDTH)
    for rows in chunks_of(folder / name, n):
        index.add(rows)
    return lambda question: index.search(question[None], K)[1][0]


def faiss_graph(folder: Path, name: str, n: int) -> Callable[[Floats], Any]:
    """As our graphs were: float32 rows, 16 links, queues of 64."""
    import faiss

    index = faiss.IndexHNSWFlat(WIDTH, 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = 64, 64
    for rows in chunks_of(folder / name, n):
        index.add(rows)
    return lambda question: index.search(question[None], K)[1][0]


ENGINES = {"ours": ours, "faiss flat": faiss_flat, "faiss graph": faiss_graph}


def memory() -> tuple[float, float]:
    """MB this process holds now: of its own, and of files it has mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kb = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    return int(kb["RssAnon"]) * 1024 / 1e6, int(kb["RssFile"]) * 1024 / 1e6


def measure(engine: str, folder: str, name: str, n: str) -> dict[str, float]:
    """Open, ask every question twice (the first time untimed), say what is held."""
    import faiss

    faiss.omp_set_num_threads(1)
    root = Path(folder)
    # Libraries and kernels are loaded before memory is looked at.
    small, questions = np.load(root / "small.npy"), np.load(root / "questions.npy")
    for some in ("small.lw", "small-graph.lw"):
        open_view(root / some).search_row(small[0], K)
    before = memory()
    start = time.process_time()
    search = ENGINES[engine](root, name, int(n))
    search(questions[0])
    opened = time.process_time() - start
    found: list[Any] = []
    timing = harness.cpu_times(lambda q: found.append(search(q)), list(questions), warm_up=ASKED)
    after = memory()
    np.save(root / "found.npy", np.array(found[-ASKED:]))
    return {
        "median": 1e3 * timing.median,
        "p99": 1e3 * timing.p99,
        "opened": opened,
        "added": sum(after) - sum(before),
        "mapped": after[1] - before[1],
        "libraries": sum(before),
    }


# -- the table ---------------------------------------------------------------------------------


def run(engine: str, folder: Path, name: str, n: int, right: NDArray[np.int64]) -> Row:
    """One row of the table, without its name; what was found is judged here."""
    said = harness.in_process(_MODULE, engine, str(folder), name, str(n))
    found = np.load(folder / "found.npy")
    recall = np.mean([len(set(a) & set(b)) / K for a, b in zip(found, right, strict=True)])
    same = sum(a.tolist() == b.tolist() for a, b in zip(found, right, strict=True))
    return {
        "rows": n,
        "CPU ms": float(said["median"]),
        "p99": float(said["p99"]),
        f"recall@{K}": round(float(recall), 4),
        "whole answers right": f"{same}/{len(right)}",
        "added MB": round(float(said["added"]), 1),
        "of it files": round(float(said["mapped"]), 1),
        "libraries MB": round(float(said["libraries"]), 1),
        "open CPU s": float(said["opened"]),
    }


def compare(name: str, ours: Row, peer_name: str, peer: Row) -> list[Row]:
    """Two rows; the peer's time and memory as multiples of ours."""
    times = {
        "times its CPU": float(str(peer["CPU ms"])) / float(str(ours["CPU ms"])),
        "times its MB": float(str(peer["added MB"])) / float(str(ours["added MB"])),
    }
    return [
        {"engine": name, **ours},
        {"engine": peer_name, **peer, **{key: f"{value:.2f}" for key, value in times.items()}},
    ]


def tables(folder: Path, n: int, n_graph: int, seed: int) -> list[Row]:
    rows, questions = generate(n, seed)
    np.save(folder / "questions.npy", questions)
    rows.tofile(folder / "rows.f32")
    small = rows[:2000]
    np.save(folder / "small.npy", small)
    for name in ("small.lw", "small-graph.lw"):
        collection_of(folder / name, small)
    grow_graph(folder / "small-graph.lw")
    # Compiled here if need be, so that no process that is measured does it.
    harness.in_process(_MODULE, "ours", str(folder), "small-graph.lw", str(len(small)))

    collection_of(folder / "exact.lw", rows)
    right = best_by_definition(rows, questions)
    exact = run("ours", folder, "exact.lw", n, right)
    made = compare(
        "ours, all rows",
        exact,
        "faiss IndexFlatIP",
        run("faiss flat", folder, "rows.f32", n, right),
    )
    (folder / "exact.lw").rename(folder / "whole.lw")
    graph = folder / "whole.lw"
    if n_graph < n:
        graph = folder / "graph.lw"
        collection_of(graph, rows[:n_graph])
        right = best_by_definition(rows[:n_graph], questions)
    del rows
    grown = grow_graph(graph)
    walked = run("ours", folder, graph.name, n_graph, right)
    print(f"our graph grew in {grown:.0f} CPU s", flush=True)
    made += compare(
        "ours, a graph",
        walked,
        "faiss IndexHNSWFlat",
        run("faiss graph", folder, "rows.f32", n_graph, right),
    )
    made[2]["open CPU s"] = f"{walked['open CPU s']:.3g}, grown in {grown:.0f}"
    made[3]["open CPU s"] = f"grown in {float(str(made[3]['open CPU s'])):.0f}"
    return made


def write(rows: list[Row], size: str, folder: Path | None = None) -> Path:
    """Write the table to its CSV file and update the page."""
    report = harness.Report("staying-scale", TITLE, size, page="staying")
    report.add("scale", rows)
    return report.write(folder)


def main() -> None:
    options = harness.arguments(__doc__.splitlines()[0])
    n_graph = N if options.full else N_GRAPH
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        rows = tables(Path(folder), N, n_graph, options.seed)
    size = f"{N:,} rows, graphs over {n_graph:,}, {ASKED} questions, k {K}, seed {options.seed}"
    write(rows, size)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.stdout.write(json.dumps(measure(*sys.argv[2:6])) + "\n")
    else:
        main()
