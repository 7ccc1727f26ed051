"""The loop at work: from a judgement to the re-ranked answer, undo, replay of a long log.

Generated collections of 50,000 and a million pictures (100,000 words), the same as in
``make bench-collection``, each measured in a process of its own; part of ``make bench-loop``.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.collection.report import generate
from likewise.catalog import log_tables
from likewise.collection.collection import Collection
from likewise.learning.log import timestamp

SIZES = (50_000, 1_000_000)
JUDGEMENTS = 40
REPLAYED = 100_000


def latency_rows(seed: int, sizes: tuple[int, ...] = SIZES) -> list[dict[str, object]]:
    """One row a size: CPU ms of judging and searching again, of undo, of the search alone."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="likewise-loop-") as folder:
        for n in sizes:
            target = Path(folder) / f"generated-{n}.lw"
            generate(target, n, seed)
            rows.append(
                {
                    "pictures": n,
                    **harness.in_process("benchmarks.loop.latency", "judge", str(target), str(n)),
                }
            )
            shutil.rmtree(target)
    return rows


def replay_rows(seed: int, n_pictures: int = 10_000) -> list[dict[str, object]]:
    """Folding a long log from its first line, and opening it with checkpoints."""
    with tempfile.TemporaryDirectory(prefix="likewise-loop-") as folder:
        target = Path(folder) / "generated.lw"
        generate(target, n_pictures, seed)
        return [
            harness.in_process(
                "benchmarks.loop.latency", "replay", str(target), str(n_pictures), str(REPLAYED)
            )
        ]


def _timed(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def measure_judging(target: str, n: str) -> dict[str, object]:
    rng = np.random.default_rng(0)
    spent: dict[str, list[float]] = {"judge": [], "again": [], "undo": [], "plain": []}
    with Collection.open(target) as col:
        col.use("words")
        for turn in range(JUDGEMENTS + 2):
            query = int(rng.integers(1, int(n) + 1))
            before = time.process_time()
            shown = [hit.id for hit in col.search(query, k=20)]
            plain = time.process_time() - before
            chosen = rng.permutation(shown).tolist()
            liked, disliked = chosen[:3], chosen[3:5]
            judge = _timed(lambda q=query, a=liked, b=disliked: col.judge(q, a, b))  # type: ignore[misc]
            again = _timed(lambda q=query: col.search(q, k=20))  # type: ignore[misc]
            if turn >= 2:  # the first ones compile and open
                spent["plain"].append(plain)
                spent["judge"].append(judge)
                spent["again"].append(again)
        for _ in range(5):
            spent["undo"].append(_timed(col.undo))
    both = np.array(spent["judge"]) + np.array(spent["again"])
    ms = {name: 1000 * float(np.median(values)) for name, values in spent.items()}
    return {
        "search before ms": ms["plain"],
        "judge ms": ms["judge"],
        "search after ms": ms["again"],
        "judgement to answer ms": 1000 * float(np.median(both)),
        "the slowest ms": 1000 * float(both.max()),
        "undo ms": ms["undo"],
    }


def measure_replay(target: str, n: str, count: str) -> dict[str, object]:
    rng = np.random.default_rng(0)
    wanted, pictures = int(count), int(n)
    with Collection.open(target) as col:
        store = col._store
        col.use("words")
        # The codes of some thousand pictures, as judging would have kept them.
        chosen = np.sort(rng.choice(pictures, min(2_000, pictures), replace=False)) + 1
        one, two = (int(i) for i in chosen[:2])
        col.judge(one, [two])
        view = col._views.view("words")
        from likewise.catalog.segments import SPARSE

        with store.write() as c:
            subjects = []
            for image in chosen.tolist():
                key = store.hash_of(image)
                assert key is not None
                subjects.append(log_tables.put_subject(c, key, None))
                log_tables.put_code(c, subjects[-1], "words", 1, SPARSE.pack(view.row_of(image)))
            for turn in range(wanted):
                drawn = rng.choice(len(subjects), 6, replace=False)
                query, *rest = (subjects[i] for i in drawn)
                body = {"query": query, "liked": sorted(rest[:3]), "disliked": sorted(rest[3:])}
                log_tables.append_entry(c, "default", "judge", timestamp(), 1 + turn // 20, body)
        col._states.forget()
        space = col.spaces["words"]
        first = _timed(lambda: col._states.history("default"))
        fold = _timed(lambda: col._states.wait_for_state("default", space))
    with Collection.open(target) as col:
        opened = _timed(lambda: col.search(one, k=20, by="default"))
        undone = _timed(lambda: col.undo())
        checkpoints = log_tables.checkpoints(col._store, "words", 1)
    return {
        "judgements": wanted,
        "reading the log s": first,
        "fold from the first line s": fold,
        "a judgement ms": 1000 * fold / wanted,
        "opened with checkpoints, first answer s": opened,
        "undo of the last s": undone,
        "checkpoints kept": len(checkpoints),
        "catalog MB": (Path(target) / "catalog.sqlite").stat().st_size / 1e6,
    }


def main(seed: int = 0) -> None:
    report = harness.Report(
        "loop-latency",
        "The loop at work: judging, undo, replay",
        f"default size: 50,000 and 1,000,000 pictures, {REPLAYED:,} judgements replayed",
        {"seed": seed, "judgements timed": JUDGEMENTS, "words": 100_000},
        page="loop",
    )
    report.add("From a judgement to the re-ranked answer, CPU", latency_rows(seed))
    report.add("Replay of a long log", replay_rows(seed))
    report.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        jobs: dict[str, Callable[..., dict[str, object]]] = {
            "judge": measure_judging,
            "replay": measure_replay,
        }
        sys.stdout.write(json.dumps(jobs[sys.argv[2]](*sys.argv[3:])) + "\n")
    else:
        main(harness.arguments(__doc__ or "").seed)
