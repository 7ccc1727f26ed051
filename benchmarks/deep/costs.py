"""What deep spaces cost: CPU a picture, bytes on disk, search time, and onnxruntime's settings."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.deep.rows import (
    SPACES,
    SpaceRows,
    fixed_space,
    pictures,
    words_files,
    words_space,
)
from likewise.catalog import segments as seg
from likewise.images.decode import decode
from likewise.ingest.describe import DescribeTask, describe
from likewise.ingest.walk import Candidate
from likewise.spaces.base import Space
from likewise.spaces.visual_words import VisualWords
from likewise.vision.deep.graph import POOLED, build
from likewise.vision.deep.network import MODEL, PREPARATION, weights_path
from likewise.vision.deep.runtime import Network
from likewise.vision.deep.weights import read_tensors
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.neighbours.exact import Exact

Row = dict[str, object]


def spaces_of(dataset: str) -> dict[str, Space]:
    """What a worker describes a picture in, with the words that the set has."""
    made: dict[str, Space] = {}
    for name, recipe in SPACES.items():
        files = words_files(dataset, name) if name in ("words", "deep-words") else {}
        if "vocabulary" in files:
            width = Vocabulary.open(files["vocabulary"]).n_words
            made[name] = replace(words_space(recipe), generation=1, width=width, files=files)
        else:
            made[name] = replace(fixed_space(name), generation=1)
    return made


def cpu_a_picture(spaces: dict[str, Space], paths: list[Path], n_timed: int) -> list[Row]:
    """Median CPU milliseconds of one picture in each space, decoding apart, one thread."""
    timed = list(pictures(paths[:: max(1, len(paths) // n_timed)][:n_timed]))
    rows: list[Row] = [
        {
            "space": "(decoding)",
            "describe ms": _median(lambda p: decode(p), paths[:n_timed]),
            "to words ms": "",
            "together ms": "",
        }
    ]
    for name, space in spaces.items():
        if isinstance(space, VisualWords) and space.files:
            found = [space.extract(picture.pixels).descriptors for picture in timed]
            first = _median(space.extract, [picture.pixels for picture in timed])
            second = _median(space.assigner().count_words, found)
        else:
            first, second = _median(space.packed_row, timed), 0.0
        rows.append(
            {
                "space": name,
                "describe ms": first,
                "to words ms": second or "",
                "together ms": first + second,
            }
        )
    return rows


def add_rates(spaces: dict[str, Space], paths: list[Path], n_timed: int) -> dict[str, float]:
    """Pictures a CPU second that a worker of ``add`` takes in, for SIFT words and for deep alone.

    Read, decode, describe, pack: all that a worker does, with one space in the collection.
    """
    chosen = paths[:: max(1, len(paths) // n_timed)][:n_timed]
    rates = {}
    for names in (("words",), ("deep",), ("deep", "deep-dense"), ("deep-words",)):
        these = tuple(spaces[name] for name in names)
        tasks = [DescribeTask(Candidate(str(path), 1, 1), these) for path in chosen]
        rates[" and ".join(names)] = len(tasks) / harness.cpu_times(describe, tasks).total
    return rates


def kept_and_searched(rows: SpaceRows, n_queries: int = 100) -> Row:
    """Bytes of a sealed segment for each picture, and CPU milliseconds of a search of 20."""
    X, n = rows.X, len(rows.names)
    ids = np.arange(n, dtype=np.int64)
    asked = range(0, n, max(1, n // n_queries))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if isinstance(X, np.ndarray):
            size = seg.write_dense(root, "segments/dense", seg.DenseRows(ids, X))
            exact = Exact("ip").build(X)
            spent = harness.cpu_times(lambda i: exact.search(X[i : i + 1], 20), list(asked))
            entries: object = X.shape[1]
        else:
            size = seg.write_sparse(root, "segments/sparse", seg.SparseRows(ids, X), X)
            index = InvertedIndex.build(X, ids)
            spent = harness.cpu_times(lambda i: index.search(X[i : i + 1], 20), list(asked))
            entries = X.nnz / n
    return {
        "width": int(X.shape[1]),
        "entries a picture": entries,
        "bytes a picture": size / n,
        "search ms": 1000 * spent.median,
        "search p99 ms": 1000 * spent.p99,
    }


def runtime_settings(paths: list[Path]) -> list[Row]:
    """onnxruntime by batch size and threads: milliseconds a picture, wall and CPU."""
    some = np.stack([PREPARATION(picture) for picture in pictures(paths[:32])])
    model = build(read_tensors(weights_path()))
    rows: list[Row] = []
    for threads in (1, 2):
        network = Network(model, MODEL, n_threads=threads)
        for batch in (1, 4, 8, 32):
            parts = [some[i : i + batch] for i in range(0, len(some), batch)]
            network.run(parts[0], POOLED)
            wall, cpu = time.perf_counter(), time.process_time()
            for part in parts:
                network.run(part, POOLED)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            rows.append(
                {
                    "threads": threads,
                    "batch": batch,
                    "wall ms a picture": 1000 * wall / len(some),
                    "CPU ms a picture": 1000 * cpu / len(some),
                }
            )
    return rows


def _median(call: Callable[[Any], object], inputs: list[Any]) -> float:
    return 1000 * harness.cpu_times(call, inputs).median
