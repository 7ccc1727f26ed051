"""From a judgement to the re-ranked answer in a fitted space, at 50,000 and a million pictures.

Generated collections (``clusters`` of ``scale.py``): rows of 128 numbers of the user's own, and a
space fitted to them, through the collection's own jobs.  Each size is measured in a process of its
own, after ``TAUGHT`` judgements.  ``make bench-staying-latency``; a million with ``FULL=1``.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo
from likewise.spaces import rows as space_rows

TITLE = "From a judgement to the answer in a fitted space"
SIZES = (50_000, 1_000_000)
WIDTH = 128
GROUPS = 500
TAUGHT = 240
"""Judgements before those that are measured; the 256th, which chooses N0 anew, is among these."""
MEASURED = 40


def rows_of(n: int, seed: int) -> NDArray[np.float32]:
    """Groups in a space of falling variances, as activations have them; entries >= 0."""
    rng = np.random.default_rng(seed)
    spread = 1.0 / np.sqrt(1.0 + np.arange(WIDTH))
    centres = rng.normal(size=(GROUPS, WIDTH)) * spread
    made = np.empty((n, WIDTH), np.float32)
    for start in range(0, n, 65_536):
        size = min(65_536, n - start)
        near = centres[rng.integers(0, GROUPS, size)] + 0.6 * spread * rng.normal(
            size=(size, WIDTH)
        )
        made[start : start + size] = np.maximum(near + 0.5, 0.0)
    return made


def generate(target: Path, n: int, seed: int) -> float:
    """A collection of n pictures that exist only as rows; gives the CPU s of fitting it."""
    rows = rows_of(n, seed)
    info = ImageInfo("", "JPEG", 640, 480, "RGB", 1, None, 1000)
    with Collection.create(target, deep=False) as col:
        store = col._store
        col.spaces.add("mine", {"feature": "own"})
        named = []
        for serial, first in enumerate(range(0, n, seg.FULL)):
            size = min(seg.FULL, n - first)
            with store.write() as c:
                ids = [
                    change.put_image(c, int(i).to_bytes(20, "big"), info)[0]
                    for i in range(first, first + size)
                ]
                for image in ids:
                    change.put_file(c, f"/pictures/{image:07d}.jpg", 1000, 0, image=image)
            name = space_rows.segment_name("mine", 1, 0, serial)
            part = seg.DenseRows(np.array(ids, np.int64), rows[first : first + size])
            named.append((name, size, seg.write_dense(store.root, name, part)))
        with store.write() as c:
            for name, size, n_bytes in named:
                change.put_segment(c, name, "mine", 1, size, n_bytes)
            change.switch_generation(c, "mine", 1, width=WIDTH, n_pictures=n, files={})
        start = time.process_time()
        col.spaces.add("fit", {"feature": "fitted", "source": "mine"})
        spent = time.process_time() - start
        col.profiles.create("taught", base="fit")
        return spent


def measure(target: str, n: str) -> dict[str, object]:
    rng = np.random.default_rng(1)
    pictures = int(n)
    spent: dict[str, list[float]] = {"plain": [], "judge": [], "again": [], "other": [], "undo": []}
    with Collection.open(target) as col:
        for turn in range(TAUGHT + MEASURED):
            query, other = (int(i) for i in rng.integers(1, pictures + 1, 2))
            moments = [time.process_time()]
            shown = [hit.id for hit in col.search(query, k=20, by="taught") if hit.id != query]
            moments.append(time.process_time())
            col.judge(query, shown[:4], shown[-4:], profile="taught")
            moments.append(time.process_time())
            col.search(query, k=20, by="taught")
            moments.append(time.process_time())
            col.search(other, k=20, by="taught")
            moments.append(time.process_time())
            if turn >= TAUGHT:
                for name, value in zip(spent, np.diff(moments), strict=False):
                    spent[name].append(float(value))
        early = col.log.entries("taught")[3].number
        for number in (None, None, None, early):
            start = time.process_time()
            col.undo(number, profile="taught")
            col.search(1, k=20, by="taught")
            spent["undo"].append(time.process_time() - start)
        col.close()
        start = time.process_time()
    with Collection.open(target) as col:
        col.search(1, k=20, by="taught")
        opened = time.process_time() - start
    both = np.array(spent["judge"]) + np.array(spent["again"])
    ms = {name: round(1000 * float(np.median(values)), 2) for name, values in spent.items()}
    return {
        "search before ms": ms["plain"],
        "judge ms": ms["judge"],
        "judgement to answer ms": round(1000 * float(np.median(both)), 1),
        "the slowest ms": round(1000 * float(both.max()), 1),
        "another query ms": ms["other"],
        "undo to answer ms": ms["undo"],
        "undo of an early one ms": round(1000 * spent["undo"][-1], 1),
        "open and first answer ms": round(1000 * opened),
    }


def latency_rows(seed: int, sizes: tuple[int, ...] = SIZES) -> list[dict[str, object]]:
    """One row a size, CPU time."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="likewise-staying-") as folder:
        for n in sizes:
            target = Path(folder) / f"generated-{n}.lw"
            fitted = generate(target, n, seed)
            said = harness.in_process("benchmarks.staying.latency", "measure", str(target), str(n))
            rows.append({"pictures": n, "fit, all rows placed CPU s": round(fitted, 1), **said})
            shutil.rmtree(target)
    return rows


def write(rows: list[dict[str, object]], seed: int, folder: Path | None = None) -> Path:
    """Write the table to its CSV file and update the page."""
    size = " and ".join(f"{row['pictures']:,}" for row in rows) + " generated pictures"
    report = harness.Report("staying-latency", TITLE, size, {"seed": seed}, page="staying")
    report.add("latency", rows)
    return report.write(folder)


def main() -> None:
    options = harness.arguments(__doc__.splitlines()[0])
    sizes = SIZES if options.full else SIZES[:1]
    write(latency_rows(options.seed, sizes), options.seed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(measure(*sys.argv[3:])))
    else:
        main()
