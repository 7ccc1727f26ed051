"""The inverted index beside scipy and qdrant-edge: exact top-10, one thread, CPU time.

Generated collections with tf-idf weights.  A: 100,000 pictures, 100,000 words, 215 words a picture;
B: 1,000,000 (a quarter of it without --full), 1,000,000 words, 151.  Their words are Zipf-like, and
frequencies fitted so that a query touches as many postings as in the first measurements: about 1.1
million on A and 3.8 million on B.  C is flat: 60,000 pictures, 200 of 100,000 words, all as
frequent.  Queries are fresh draws: nothing in the collection is close to them, which is the worst
case for pruning; near-copies are shown apart.
Every top-10 is judged by float64 scores computed here.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Report, arguments_with_parts, cpu_times, cpu_times_in_turn
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.rows import query_rows, query_unit
from likewise_methods.index.scoring import (
    add_bounds,
    choose_scale,
    find_lists,
    new_plan,
    new_scratch,
)

K = 10
BASE = "scipy C[:, words] @ q"
"""The fastest way with scipy: what the others are compared with."""
_CHUNK = 50_000
Search = Callable[[Any], tuple[Any, Any]]


class Setting(NamedTuple):
    name: str
    pictures: int
    words: int
    non_zeros: int
    overlap: float  # sum over words of (share of pictures with it) squared; 0 where it is flat
    queries: int


A = Setting("A", 100_000, 100_000, 215, 11.0, 200)
B = Setting("B", 1_000_000, 1_000_000, 151, 2.9, 100)
C = Setting("C", 60_000, 100_000, 200, 0.0, 200)
SETTINGS = {"A": A, "C": C, "B": B}
TABLES = (
    "exact top-10, fresh queries",
    "weights that are mostly zero",
    "opening",
    "the collection",
)


def word_chances(setting: Setting) -> tuple[np.ndarray[Any, Any], float]:
    """Chance of each word, proportional to 1 / (rank + b), and tokens per picture; b is fitted."""

    def tokens(chance: np.ndarray[Any, Any]) -> float:
        low, high = 1.0, 50.0 * setting.non_zeros
        for _ in range(40):
            middle = (low + high) / 2
            few = (1 - np.exp(-middle * chance)).sum() < setting.non_zeros
            low, high = (middle, high) if few else (low, middle)
        return (low + high) / 2

    if not setting.overlap:
        flat = np.full(setting.words, 1 / setting.words)
        return flat, tokens(flat)
    low, high = 0.1, 20_000.0
    for _ in range(30):
        b = (low * high) ** 0.5
        chance = 1 / (np.arange(setting.words) + b)
        chance /= chance.sum()
        share = 1 - np.exp(-tokens(chance) * chance)
        low, high = (b, high) if (share * share).sum() > setting.overlap else (low, b)
    return chance, tokens(chance)


def term_counts(
    n: int, chance: np.ndarray[Any, Any], tokens: float, rng: np.random.Generator
) -> sp.csr_array:
    """n pictures of Poisson(tokens) words each."""
    edges = np.cumsum(chance)
    # Words are shuffled: a frequent word may have any number.
    number = np.random.default_rng(7).permutation(len(chance)).astype(np.int32)
    parts = []
    for first in range(0, n, _CHUNK):
        lengths = rng.poisson(tokens, min(_CHUNK, n - first))
        drawn = np.searchsorted(edges, rng.random(lengths.sum()) * edges[-1])
        words = number[np.minimum(drawn, len(number) - 1)]
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        part = sp.csr_array(
            (np.ones(len(words), np.float32), words, ends), shape=(len(lengths), len(chance))
        )
        part.sum_duplicates()
        parts.append(part)
    return sp.csr_array(sp.vstack(parts, format="csr")) if len(parts) > 1 else parts[0]


def weigh(X: sp.csr_array, idf: np.ndarray[Any, Any]) -> sp.csr_array:
    """tf-idf, rows of length one, in place."""
    X.data *= idf[X.indices]
    for first in range(0, X.shape[0], _CHUNK):
        ends = X.indptr[first : min(first + _CHUNK, X.shape[0]) + 1]
        span = X.data[ends[0] : ends[-1]]
        squares = np.add.reduceat(np.append(span * span, np.float32(0)), ends[:-1] - ends[0])
        squares[np.diff(ends) == 0] = 1
        span /= np.repeat(np.sqrt(squares), np.diff(ends))
    return X


class Collection(NamedTuple):
    setting: Setting
    X: sp.csr_array
    columns: sp.csc_array
    counts: np.ndarray[Any, Any]  # pictures per word
    fresh: list[sp.csr_array]
    copies: list[sp.csr_array]


def generate(setting: Setting, seed: int) -> Collection:
    rng = np.random.default_rng(seed)
    chance, tokens = word_chances(setting)
    X = term_counts(setting.pictures, chance, tokens, rng)
    counts = np.bincount(X.indices, minlength=setting.words)
    idf = np.log(setting.pictures / np.maximum(counts, 1)).astype(np.float32)
    weigh(X, idf)
    columns = sp.csc_array(X)
    queries = weigh(
        term_counts(setting.queries, chance, tokens * 200 / setting.non_zeros, rng), idf
    )
    fresh = [queries[[q]] for q in range(setting.queries)]
    # A near-copy keeps half of a picture's weight and takes the rest from a fresh draw.
    chosen = rng.integers(0, setting.pictures, 50)
    copies = [
        sp.csr_array((X[[d]] + q) * np.float32(0.5)) for d, q in zip(chosen, fresh, strict=False)
    ]
    return Collection(setting, X, columns, counts, fresh, copies)


def exact_scores(columns: sp.csc_array, query: sp.csr_array) -> np.ndarray[Any, Any]:
    """float64, word by word in ascending order."""
    scores = np.zeros(columns.shape[0])
    for word, value in zip(query.indices, query.data, strict=True):
        span = slice(columns.indptr[word], columns.indptr[word + 1])
        scores[columns.indices[span]] += float(value) * columns.data[span].astype(np.float64)
    return scores


def share_exact(
    columns: sp.csc_array, queries: list[Any], search: Search, folded: list[Any] | None = None
) -> str:
    """How many queries got a top-10 whose true scores are the ten highest (in float32).

    ``folded``: the queries with the weights that ``search`` itself applies, to score by.
    """
    good = 0
    for query, judge in zip(queries, queries if folded is None else folded, strict=True):
        truth = exact_scores(columns, judge).astype(np.float32)
        best = np.sort(np.partition(truth, len(truth) - K)[-K:])
        ids = np.asarray(search(query)[0]).ravel()
        good += len(set(ids.tolist())) == K and bool((np.sort(truth[ids]) == best).all())
    return f"{good}/{len(queries)}"


def best_of(scores: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    ids = np.argpartition(-scores, K)[:K]
    ids = ids[np.argsort(-scores[ids], kind="stable")]
    return ids, scores[ids]


def scipy_ways(c: Collection) -> dict[str, Search]:
    def by_columns(q: Any) -> tuple[Any, Any]:
        return best_of(c.columns[:, q.indices] @ q.data)

    def by_dense(q: Any) -> tuple[Any, Any]:
        return best_of(c.X @ q.toarray().ravel())

    def by_sparse(q: Any) -> tuple[Any, Any]:
        return best_of((c.X @ q.T).toarray().ravel())

    return {
        BASE: by_columns,
        "scipy X @ dense q": by_dense,
        "scipy X @ sparse q": by_sparse,
    }


def bounds_floor(index: InvertedIndex) -> Search:
    """Only look lists up and add them: no ranking, no proof."""
    views = [block.views() for block in index._state.blocks]
    scratch = new_scratch()

    def search(q: Any) -> tuple[Any, Any]:
        rows = query_rows(q, None)
        unit = query_unit(rows.values)
        plan = new_plan(len(rows.words))
        for v in views:
            find_lists(v, rows.words, plan)
            scale = choose_scale(v, rows.values, unit, plan)
            add_bounds(v, rows.values, unit, plan, scale, scratch)
            scratch.sums[:] = 0
            scratch.columns[:] = 0
        return None, None

    return search


def qdrant_edge(c: Collection, folder: Path) -> tuple[Search, float, float] | None:
    """Search, build seconds and bytes a posting of the peer; None where it is not installed."""
    if importlib.util.find_spec("qdrant_edge") is None:
        return None
    qe: Any = importlib.import_module("qdrant_edge")

    params = qe.EdgeSparseVectorParams(full_scan_threshold=0, memory=qe.Memory.Pinned)
    optimizers = qe.EdgeOptimizersConfig(
        default_segment_number=1, indexing_threshold=1, max_segment_size=1 << 30
    )
    folder.mkdir()
    shard = qe.EdgeShard.create(
        str(folder),
        qe.EdgeConfig(sparse_vectors={"w": params}, optimizers=optimizers, max_search_threads=1),
    )
    start = time.process_time()
    for first in range(0, c.X.shape[0], 2_000):
        part = c.X[first : first + 2_000]
        points = []
        for d in range(part.shape[0]):
            span = slice(part.indptr[d], part.indptr[d + 1])
            vector = qe.SparseVector(part.indices[span].tolist(), part.data[span].tolist())
            points.append(qe.Point(first + d, {"w": vector}, {}))
        shard.update(qe.UpdateOperation.upsert_points(points))
    while shard.optimize():
        pass
    shard.flush()
    built = time.process_time() - start
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and "wal" not in str(p))

    def search(q: Any) -> tuple[Any, Any]:
        vector = qe.SparseVector(q.indices.tolist(), q.data.tolist())
        hits = shard.search(qe.SearchRequest(qe.Query.Nearest(vector, "w"), K))
        return [hit.id for hit in hits], [hit.score for hit in hits]

    return search, built, size / c.X.nnz


def weighted_rows(c: Collection, index: InvertedIndex) -> list[dict[str, object]]:
    """Weight vectors that are mostly zero: does it matter which words survive?"""
    rows: list[dict[str, object]] = []
    present = np.flatnonzero(c.counts)
    rising = present[np.argsort(c.counts[present], kind="stable")]
    total = np.mean([c.counts[q.indices].sum() for q in c.fresh])
    for zeros in (0.9, 0.99):
        kept = max(1, round((1 - zeros) * len(rising)))
        for survivors, words in (("rare", rising[:kept]), ("frequent", rising[-kept:])):
            weights = np.zeros(c.setting.words)
            weights[words] = 1
            folded = [sp.csr_array(q.multiply(weights[None, :])) for q in c.fresh]
            for q in folded:
                q.eliminate_zeros()
            touched = np.mean([c.counts[q.indices].sum() for q in folded])
            search = partial(index.search, k=K, weights=weights)
            columns = scipy_ways(c)[BASE]
            timings = cpu_times_in_turn(
                {"ours": partial(_asked, search, 0), "theirs": partial(_asked, columns, 1)},
                list(zip(c.fresh, folded, strict=True)),
            )
            ours, theirs = timings["ours"], timings["theirs"]
            rows.append(
                {
                    "collection": c.setting.name,
                    "zeros": f"{zeros:.0%}",
                    "survivors": survivors,
                    "postings left": f"{touched / total:.1%}",
                    "CPU ms": ours.median * 1e3,
                    "p99": ours.p99 * 1e3,
                    "scipy columns CPU ms": theirs.median * 1e3,
                    "exact": share_exact(c.columns, c.fresh[:10], search, folded[:10]),
                }
            )
    return rows


def _asked(search: Search, which: int, queries: tuple[Any, Any]) -> tuple[Any, Any]:
    return search(queries[which])


def _forget_files(folder: Path) -> None:
    """Have the system drop what it keeps of these files, as after a new start of the machine.

    Pages that it has anyway are mapped by the 16 around each one asked for, whatever was advised:
    they would be counted as if the index had wanted them.
    """
    if hasattr(os, "posix_fadvise"):
        for path in folder.iterdir():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident_parts(index: InvertedIndex) -> tuple[int, int]:
    """Bytes of the lists and of the rows that this process holds of a mapped index.

    The system counts by file: rows are what a file has less once its rows are dropped.
    """
    before = _mapped_resident(index)
    for block in index._state.blocks:
        block.release_rows()
    lists = _mapped_resident(index)
    return lists, before - lists


def _mapped_resident(index: InvertedIndex) -> int:
    """Resident bytes of the files of an index (0 where the system does not tell)."""
    names = {str(block.path) for block in index._state.blocks}
    maps = Path("/proc/self/smaps")
    found, ours = 0, False
    for line in maps.read_text().splitlines() if maps.exists() else []:
        first, *rest = line.split(maxsplit=5)
        if not first.endswith(":"):
            ours = bool(rest) and rest[-1] in names
        elif ours and first == "Rss:":
            found += 1024 * int(rest[0])
    return found


def opening_row(c: Collection, index: InvertedIndex, folder: Path) -> dict[str, object]:
    index.save(folder)
    _forget_files(folder)
    start = time.perf_counter()
    opened = InvertedIndex.open(folder)
    seconds = time.perf_counter() - start
    start = time.process_time()
    opened.search(c.fresh[0], K)
    first = time.process_time() - start
    for query in c.fresh[1:]:
        opened.search(query, K)
    gc.collect()
    lists, rows = resident_parts(opened)
    return {
        "collection": c.setting.name,
        "open, ms": seconds * 1e3,
        "first search with checks, CPU ms": first * 1e3,
        "lists, MiB": index.stats().list_bytes / 2**20,
        "rows, MiB": index.stats().row_bytes / 2**20,
        "resident after its queries, MiB": (lists + rows) / 2**20,
        "of them lists": lists / 2**20,
        "rows": rows / 2**20,
    }


def measure(setting: Setting, seed: int, report: dict[str, list[dict[str, object]]]) -> None:
    c = generate(setting, seed)
    touched = float(np.mean([c.counts[q.indices].sum() for q in c.fresh]))
    folder = Path(tempfile.mkdtemp(prefix="likewise-bench-"))
    engines: dict[str, tuple[Search, float | None, str]] = {}
    start = time.process_time()
    index = InvertedIndex.build(c.X)
    built = time.process_time() - start
    report["opening"].append(opening_row(c, index, folder / "index"))
    # From here on as a collection has it: mapped.  Rows are checked beforehand, and not by whoever
    # happens to be the first to want them.
    index = InvertedIndex.open(folder / "index")
    index.verify()
    s = index.stats()
    size = f"{s.list_bytes / s.postings:.2f} + {s.row_bytes / s.entries:.2f} rows"
    engines["likewise"] = (partial(index.search, k=K), built, size)
    engines["bounds alone (floor)"] = (bounds_floor(index), None, "")
    for name, search in scipy_ways(c).items():
        engines[name] = (search, None, "8.0")
    if setting.pictures <= A.pictures:
        peer = qdrant_edge(c, folder / "qdrant")
        if peer:
            engines["qdrant-edge"] = (peer[0], peer[1], f"{peer[2]:.1f}")
        else:
            print("qdrant-edge is not installed: skipped")
    gc.collect()
    fast = {name: engine[0] for name, engine in engines.items() if "X @" not in name}
    timings = cpu_times_in_turn(fast, c.fresh * 2)
    copies = cpu_times_in_turn(
        {name: search for name, search in fast.items() if "floor" not in name}, c.copies
    )
    rows = []
    for name in sorted(engines, key=lambda name: name != BASE):
        search, built_seconds, size = engines[name]
        slow = name not in fast
        timing = cpu_times(search, c.fresh[:5]) if slow else timings[name]
        row: dict[str, object] = {"collection": setting.name, "engine": name}
        row |= {"CPU ms": timing.median * 1e3, "p99": timing.p99 * 1e3}
        row["times scipy columns"] = timings[BASE].median / timing.median
        row["exact"] = (
            ""
            if "floor" in name
            else share_exact(c.columns, c.fresh[:5] if slow else c.fresh[:30], search)
        )
        row["build CPU s"] = "" if built_seconds is None else built_seconds
        row["bytes/posting"] = size
        if name in copies:
            row["near-copies CPU ms"] = copies[name].median * 1e3
        rows.append(row)
    report["exact top-10, fresh queries"] += rows
    report["weights that are mostly zero"] += weighted_rows(c, index)
    report["the collection"].append(
        {
            "collection": setting.name,
            "pictures": setting.pictures,
            "words": setting.words,
            "words a picture": c.X.nnz / setting.pictures,
            "words a query": float(np.mean([q.nnz for q in c.fresh])),
            "postings a query touches": int(touched),
        }
    )
    shutil.rmtree(folder, ignore_errors=True)


def warm_kernels() -> float:
    """Load or compile every kernel before anything is timed; the seconds it took."""
    start = time.process_time()
    rng = np.random.default_rng(0)
    X: Any = sp.random_array((4_096, 500), density=0.05, rng=rng, format="csr", dtype=np.float32)
    index = InvertedIndex.build(X)
    index.search(X[:3], K)
    bounds_floor(index)(X[[0]])
    index.scores(X[:1])
    index.verify()
    return time.process_time() - start


def main() -> None:
    options = arguments_with_parts((__doc__ or "").splitlines()[0], list(SETTINGS))
    kernels = warm_kernels()
    chosen = [SETTINGS[name] for name in SETTINGS if name in options.parts]
    if not options.full:
        chosen = [s._replace(pictures=B.pictures // 4) if s == B else s for s in chosen]
    report = Report(
        "index",
        "The inverted index",
        ", ".join(f"{setting.name} with {setting.pictures:,} pictures" for setting in chosen),
        {
            "k": K,
            "seed": options.seed,
            "CPU s to load or compile the kernels, in no other figure": round(kernels, 1),
        },
    )
    for setting in chosen:
        tables: dict[str, list[dict[str, object]]] = {name: [] for name in TABLES}
        measure(setting, options.seed, tables)
        for name, rows in tables.items():
            report.add(f"{setting.name}: {name}", rows)
        gc.collect()
    report.write()
