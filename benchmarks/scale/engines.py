"""Searches through the whole product, answered by the embedded index and by Qdrant's engine.

``python -m benchmarks.scale.engines [PICTURES]`` prints the table of docs/scaling.md: CPU
milliseconds of ``Collection.search`` and whether both gave the same ids and scores.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.scale.generate import generate
from likewise.collection.collection import Collection

K, ASKED, EVERY = 20, 40, 10
Search = Callable[[int], list[tuple[int, float]]]


def searches(col: Collection, space: str) -> dict[str, Search]:
    """Kinds of search, by name: plain, filtered, and as judgements left the query."""

    def ask(query: int, **options: Any) -> list[tuple[int, float]]:
        hits = col.search(query, K, by=options.pop("by", space), **options)
        assert hits.away is None
        return [(hit.id, hit.score) for hit in hits]

    return {
        "a picture": ask,
        "a tag that one in ten has": lambda query: ask(query, where={"tag": "tenth"}),
        "judged": lambda query: ask(query, by="taught"),
    }


def measure(space: str, folder: Path, n: int) -> list[dict[str, Any]]:
    """A row of the table for each kind of search."""
    generate(space, folder / "photos.lw", n, 0)
    address = f"qdrant-edge://{folder}/engine"
    rng = np.random.default_rng(0)
    asked = [int(image) for image in rng.integers(1, n + 1, ASKED)]
    with Collection.open(folder / "photos.lw") as col:
        col.tags.change_many(range(1, n + 1, EVERY), ["tenth"])
        col.profiles.create("taught", base=space)
        for query in asked:
            hits = col.search(query, K, by=space)
            col.judge(query, [hits[3].id], [hits[7].id], profile="taught")
        kinds = searches(col, space)
        before = {name: [ask(query) for query in asked] for name, ask in kinds.items()}
        spent = {name: harness.cpu_times(ask, asked).median for name, ask in kinds.items()}
        col.engine_sync.push(address, [space])
        col.engine_sync.answer_from(address)
        rows = []
        for name, ask in kinds.items():
            same = sum(ask(query) == due for query, due in zip(asked, before[name], strict=True))
            there = harness.cpu_times(ask, asked).median
            rows.append(_row(f"{space}, {name}", spent[name], there, f"{same} of {ASKED}"))
        for image in asked:
            col.tag(image, "late")
        name, ask = f"{space}, {len(set(asked))} changed pictures wait", kinds["a picture"]
        same = sum(ask(q) == due for q, due in zip(asked, before["a picture"], strict=True))
        there = harness.cpu_times(ask, asked).median
        rows.append(_row(name, spent["a picture"], there, f"{same} of {ASKED}"))
    return rows


def _row(name: str, here: float, there: float, same: str) -> dict[str, Any]:
    return {
        "search": name,
        "embedded ms": f"{1000 * here:.1f}",
        "Qdrant's engine ms": f"{1000 * there:.1f}",
        "the same answers": same,
    }


def main(n: int) -> None:
    """Print the table."""
    print(f"{n:,} generated pictures, k = {K}, CPU ms of Collection.search, median of {ASKED}\n")
    heads: list[str] = []
    for space in ("look", "words"):
        with tempfile.TemporaryDirectory() as folder:
            for row in measure(space, Path(folder), n):
                if not heads:
                    heads = list(row)
                    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
                print(f"| {' | '.join(row.values())} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
