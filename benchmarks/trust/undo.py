"""An old line of a long log is taken back or contradicted: how long until somebody can search?

Weights of words depend on the order of what was said, so everything behind the line is folded
again.  That happens beside the searches, which rank as before until it is done.  Measured at the
wall clock, since that is what a person waits for: until the undo returns, until the first search
answers, the searches meanwhile, and until everything is learned (in processor time too, for a
machine that has other things to do); afterwards a log that is not too long is folded once more from
its first line, and must come to the same bits.
"""

from __future__ import annotations

import datetime
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy import sparse

from likewise.catalog.store import Transaction
from likewise.collection.collection import Collection
from likewise.learning import log as log_lines
from likewise.learning.history import JUDGE
from likewise.learning.judge import write_with_subjects
from likewise.search.query import ResolvedQuery

PICTURES = 300
WIDTH = 5_000
"""Words of the space."""
WORDS = 150
"""Words of a picture."""
SPACE = "mine"
LONG = 20_000
"""Lines beyond which a log is folded no more often than it must be."""
_BATCH = 2_000
_KINDS = 30
_SITTING = 20
"""Judgements of a session."""


def run(lines: int, seed: int = 0) -> list[dict[str, Any]]:
    """The table's rows for a log of so many judgements."""
    with tempfile.TemporaryDirectory() as home, _make(Path(home), seed) as col:
        _say_much(col, lines, seed)
        start = time.process_time()
        col.profiles.settle()
        first = time.process_time() - start
        col.search(1, by="default")  # what a process does once: kernels and views are there
        rows = []
        old, early, late = max(1, lines // 100), max(2, lines // 50), lines - 199
        changes: list[tuple[str, int, Callable[[], object]]] = [
            ("undo", old, lambda: col.undo(old)),
            ("undo", lines - 99, lambda: col.undo(lines - 99)),
            ("contradict", late, lambda: _contradict(col, late)),
            ("undo of what is contradicted", late, lambda: col.undo(late)),
        ]
        if lines <= LONG:  # else the same way back as the first undo, minutes of it
            changes.append(("contradict", early, lambda: _contradict(col, early)))
        for what, line, change in changes:
            row = {"lines": lines, "first fold, CPU s": round(first, 1), "what": what, "line": line}
            rows.append(row | _measure(col, change))
        if lines <= LONG:
            col.profiles.relearn()  # fails where a bit differs
        return rows


def _measure(col: Collection, change: Callable[[], object]) -> dict[str, Any]:
    """Seconds and searches after a change of the log."""
    start, used = time.perf_counter(), time.process_time()
    change()
    returned, spoken = time.perf_counter() - start, time.process_time() - used
    meanwhile: list[float] = []
    behind, query = [], 0
    while True:
        query = query % PICTURES + 1
        began = time.perf_counter()
        hits = col.search(query, by="default")
        meanwhile.append(1000 * (time.perf_counter() - began))
        behind.append(hits.behind)
        if len(meanwhile) == 1:
            answered = time.perf_counter() - start
        if not hits.behind:
            break
        time.sleep(0.05)
    done, used = time.perf_counter() - start, time.process_time() - used
    return {
        "said, s": round(returned, 2),
        "said, CPU s": round(spoken, 2),
        "first answer, s": round(answered, 2),
        "learned, s": round(done, 1),
        "learned, CPU s": round(used, 1),
        "lines behind at first": behind[0],
        "searches meanwhile": len(meanwhile) - 1,
        "median ms": round(float(np.median(meanwhile)), 1),
        "slowest ms": round(max(meanwhile), 1),
    }


def _make(home: Path, seed: int) -> Collection:
    """Small pictures with sparse rows of one's own, some words common and most rare."""
    rng = np.random.default_rng(seed)
    folder = home / "pictures"
    folder.mkdir()
    for i in range(PICTURES):
        pixels = np.kron(rng.integers(0, 256, (4, 4, 3)), np.ones((12, 12, 1))).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:03d}.png")
    col = Collection.create(home / "photos.lw", deep=False)
    col.add(folder, workers=0)
    chance = 1.0 / np.arange(1, WIDTH + 1) ** 0.7
    chance /= chance.sum()
    rows, columns, values = [], [], []
    for i in range(PICTURES):
        words = rng.choice(WIDTH, WORDS, replace=False, p=chance)
        weights = rng.random(WORDS) + 0.1
        rows += [i] * WORDS
        columns += sorted(words.tolist())
        values += (weights / np.linalg.norm(weights)).tolist()
    X = sparse.csr_array((np.array(values, np.float32), (rows, columns)), shape=(PICTURES, WIDTH))
    col.spaces.add(SPACE, {"feature": "own", "kind": "sparse"})
    col.spaces.add_vectors(SPACE, range(1, PICTURES + 1), X)
    col.spaces.drop("words")
    col.profiles.create("long", SPACE)
    col.use("long")
    return col


def _say_much(col: Collection, lines: int, seed: int) -> None:
    """Judgements of somebody who sees so many kinds, over months, written by the thousand."""
    rng = np.random.default_rng(seed)
    clock, moment = log_lines.now, datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    asked: dict[int | None, ResolvedQuery] = {
        i: ResolvedQuery(image=i) for i in range(1, PICTURES + 1)
    }
    said, kinds = 0, np.arange(PICTURES) % _KINDS

    def write(c: Transaction, subjects: Mapping[int | None, int]) -> None:
        nonlocal said, moment
        for _ in range(min(_BATCH, lines - said)):
            kind = rng.integers(_KINDS)
            query, *liked = rng.choice(np.flatnonzero(kinds == kind), 3, replace=False)
            disliked = rng.choice(np.flatnonzero(kinds != kind), 3, replace=False)
            moment += datetime.timedelta(minutes=1 if said % _SITTING else 60)
            # Comparisons would be one triplet each; these are six.
            body = {
                "query": subjects[int(query) + 1],
                "liked": sorted(subjects[int(i) + 1] for i in liked),
                "disliked": sorted(subjects[int(i) + 1] for i in disliked),
                "negatives": [],
                "weight": 1.0,
            }
            log_lines.append_line(c, col._store, "long", JUDGE, body)
            said += 1

    log_lines.now = lambda: moment
    try:
        while said < lines:
            write_with_subjects(col._views, asked, write)
    finally:
        log_lines.now = clock


def _contradict(col: Collection, line: int) -> None:
    """Say the opposite of a line about its first picture."""
    said = next(one for one in col.log.entries("long") if one.number == line)
    assert said.query is not None
    col.judge(said.query, said.disliked[:1], said.liked[:1], profile="long")
