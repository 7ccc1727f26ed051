"""One collection, opened in a fresh process: first answers, searches, judgements, adding."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.scale.generate import INFO, WIDTH, WORDS, WORDS_EACH
from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.collection.collection import Collection

K, ASKED, JUDGED, ADDED = 20, 200, 20, 30


def measure(space: str, target: str, n: str) -> dict[str, Any]:
    """CPU milliseconds and megabytes."""
    before = _memory()
    start = time.process_time()
    col = Collection.open(target)
    assert len(col) == int(n)
    opened = time.process_time() - start
    start = time.process_time()
    col.search(1, k=K, by=space)
    first = time.process_time() - start
    # From here on as in a process that has been at work for a while: kernels are loaded.
    _judge(col, space, 1)
    rng = np.random.default_rng(0)
    asked = [int(i) for i in rng.integers(1, int(n) + 1, ASKED)]
    timing = harness.cpu_times(lambda query: col.search(query, k=K, by=space), asked)
    held = _memory()
    judged = harness.cpu_times(lambda query: _judge(col, space, query), asked[:JUDGED])
    commits, searches = _search_while_adding(col, space)
    col.close()
    return {
        "open ms": 1000 * opened,
        "first answer ms": 1000 * first,
        "search p50 ms": 1000 * timing.median,
        "search p99 ms": 1000 * timing.p99,
        "judged and answered ms": 1000 * judged.median,
        "a picture committed ms": 1000 * commits,
        "search meanwhile ms": 1000 * searches,
        "own MB": (held["RssAnon"] - before["RssAnon"]) / 1e6,
        "mapped MB": (held["RssFile"] - before["RssFile"]) / 1e6,
    }


def _judge(col: Collection, space: str, query: int) -> None:
    """What a click costs until the next answer is there."""
    hits = col.search(query, k=K, by=space)
    col.judge(query, [hits[3].id], [hits[7].id])
    assert len(col.search(query, k=K, by=space)) == K


def _search_while_adding(col: Collection, space: str) -> tuple[float, float]:
    """Median CPU of committing a picture by another connection, and of the search after it."""
    rng = np.random.default_rng(1)
    commits, searches = [], []
    with Collection.open(col.root) as writer:
        pack = writer.spaces[space].row_format.pack
        for turn in range(ADDED):
            if space == "words":
                words = np.sort(rng.choice(WORDS, WORDS_EACH, replace=False))
                row = seg.pack_sparse(words, np.ones(WORDS_EACH))
            else:
                drawn = rng.standard_normal(WIDTH).astype(np.float32)
                row = pack(drawn / np.linalg.norm(drawn))
            start = time.process_time()
            with writer._store.write() as c:
                image, _ = change.put_image(c, (10**12 + turn).to_bytes(20, "big"), INFO)
                change.put_file(c, f"/pictures/new-{turn}.jpg", 1000, 0, image=image)
                change.put_vector(c, space, 1, image, row)
            commits.append(time.process_time() - start)
            start = time.process_time()
            assert len(col.search(image, k=K, by=space)) == K
            searches.append(time.process_time() - start)
    return float(np.median(commits)), float(np.median(searches))


def _memory() -> dict[str, int]:
    """Bytes that are this process's own, and those of files it has mapped (the system may take
    these back)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines if line.startswith("Rss"))
    return {key: 1024 * int(value.split()[0]) for key, value in found.items()}
