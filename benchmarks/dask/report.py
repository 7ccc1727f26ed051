"""Pictures a second with one and two workers: the pool of this machine, and a Dask cluster on it.

Each adds the same pictures into a collection of its own, after a warm-up: workers are there, and
have their network loaded.  All processes run on this machine, so that the cluster's only
disadvantage, what travels, and its only advantage, other machines, are both left out.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.collection.report import pictures
from benchmarks.dask.cluster import local_cluster
from likewise.collection.collection import Collection
from likewise.ingest.pool import Workers, stop_idle
from likewise_cluster.dask.cluster import Cluster

WARM_UP = 16
IDLE = 4.0
"""Seconds."""
_DATA = "caltech101"


def main() -> None:
    options = harness.arguments(__doc__ or "")
    count = 2_000 if options.full else 240
    found = pictures(count, options.seed)
    data = _DATA if _DATA in found else next(iter(found))
    report = harness.Report(
        "dask",
        "Adding by a Dask cluster",
        f"{len(found[data]):,} pictures of {data}" + (" (FULL)" if options.full else ""),
        {"seed": options.seed},
        page="scale",
    )
    with tempfile.TemporaryDirectory(prefix="likewise-dask-") as name:
        folder = Path(name)
        copied, first = folder / "pictures", folder / "first"
        for place, some in ((copied, found[data]), (first, found[data][:WARM_UP])):
            place.mkdir()
            for path in some:
                shutil.copy2(path, place / f"{path.parent.name}-{path.name}")
        rows, made = [], []
        for kind in ("pool", "Dask"):
            for workers in (1, 2):
                with _workers(kind, workers, folder) as who:
                    row, contents = _add(folder, copied, first, who)
                rows.append({"workers of": kind, "workers": workers, **row})
                made.append(contents)
        for row, contents in zip(rows, made, strict=True):
            row["rows as of the first"] = "same bits" if contents == made[0] else "differ"
    report.add("Pictures a second", rows)
    report.write()


@contextmanager
def _workers(kind: str, workers: int, folder: Path) -> Iterator[Workers]:
    """Who works."""
    if kind == "pool":
        yield workers
        stop_idle()
        return
    with (
        local_cluster(folder / f"cluster-{workers}", workers) as address,
        Cluster(address) as cluster,
    ):
        while cluster.n_worker_threads() < workers:
            time.sleep(0.1)
        yield cluster


def _add(folder: Path, copied: Path, first: Path, who: Workers) -> tuple[dict[str, object], Any]:
    with Collection.create(folder / "first.lw") as col:
        col.add(first, workers=who)
    shutil.rmtree(folder / "first.lw")
    # A cluster's processes are never quite idle: that is told apart, as it goes by the clock.
    before = _cpu()
    time.sleep(IDLE)
    idle = (_cpu() - before) / IDLE
    target = folder / "measured.lw"
    before, own = _cpu(), time.process_time()
    start = time.monotonic()
    with Collection.create(target) as col:
        result = col.add(copied, workers=who)
    seconds = time.monotonic() - start
    spent, own = _cpu() - before, time.process_time() - own
    contents = _contents(target)
    shutil.rmtree(target)
    return {
        "pictures": result.added,
        "pictures/s": result.added / seconds,
        "CPU ms a picture": 1000 * (spent - idle * seconds) / result.added,
        "of it the writer": 1000 * own / result.added,
        "idle, CPU ms a second": 1000 * idle,
    }, contents


def _cpu() -> float:
    """CPU seconds of this process and of all below it that live, a cluster's among them."""
    import psutil

    process = psutil.Process(os.getpid())
    times = [one.cpu_times() for one in [process, *process.children(recursive=True)]]
    return float(sum(one.user + one.system for one in times))


def _contents(root: Path) -> Any:
    """Rows by the content of their pictures, whichever ids these got."""
    with sqlite3.connect(root / "catalog.sqlite") as c:
        found = c.execute(
            "SELECT i.hash, v.space, v.generation, v.vector FROM vectors v JOIN images i"
            " ON i.id = v.image WHERE v.space IN ('deep', 'deep-dense')"
        ).fetchall()
    c.close()
    return sorted(found)
