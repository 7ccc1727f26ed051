"""Runs jobs in children that can be killed: started once, it only imports and forks.

Forking from a process that has done no work yet costs milliseconds; a fresh interpreter would
cost seconds for every kill.  One JSON line in: the job; two lines out: the child's id, its status.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sqlite3
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from likewise.catalog import segments as seg
from likewise.catalog.jobs import Progress
from likewise.collection.collection import Collection
from likewise.ingest import add as adding
from likewise.ingest import growth
from likewise.learning import profile_states
from likewise.learning.models import map as map_learning
from likewise.learning.models import metric as metric_learning
from likewise.spaces import visual_words
from likewise.tags import bulk as bulk_tagging

TOUCHED = {
    "open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.scandir",
    "shutil.rmtree",
}  # fmt: skip
"""What Python tells before it touches a file."""


class Moments:
    """Counts what a process does to files and the catalog, and dies by SIGKILL at one of these."""

    def __init__(self, die_at: int) -> None:
        self.seen = 0
        self.die_at = die_at
        connect = sqlite3.connect

        def traced(*args: Any, **named: Any) -> sqlite3.Connection:
            made = connect(*args, **named)
            made.set_trace_callback(lambda _: self.tick())
            return made

        sqlite3.connect = traced  # type: ignore[assignment]
        sys.addaudithook(lambda event, _: self.tick() if event in TOUCHED else None)

    def tick(self) -> None:
        self.seen += 1
        if self.seen == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def work(job: dict[str, str]) -> None:
    if "fail_at" in job:
        fail(job)
        return
    if "die_at" not in job:
        do(job)
        return
    moments = Moments(int(job["die_at"]))
    do(job)
    Path(job["moments"]).write_text(str(moments.seen))


class Failing:
    """The disk of a preloaded ``tests/product/trust/failing_disk.c``."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.likewise_seen.restype = ctypes.c_long

    def arm(self, folder: str, at: int, code: int, lasting: bool) -> None:
        """Have the call ``at`` that writes below a folder fail; 0: none, they are counted."""
        self._library.likewise_fail(folder.encode(), ctypes.c_long(at), code, int(lasting))

    def seen(self) -> int:
        return int(self._library.likewise_seen())


def fail(job: dict[str, str]) -> None:
    """A job on a disk that fails; how many calls wrote, and the sentence that a person sees."""
    disk = Failing()
    disk.arm(job["disk"], int(job["fail_at"]), int(job["code"]), bool(job.get("lasting")))
    try:
        do(job)
    except Exception as error:
        from likewise.cli.app import describe_error

        Path(job["sentence"]).write_text(describe_error(error))
        raise
    finally:
        Path(job["moments"]).write_text(str(disk.seen()))


def do(job: dict[str, str]) -> None:
    root = Path(job["root"])
    # Small numbers, so that a small run seals, merges and learns several times.
    visual_words.FIRST_WORDS_AT, adding._BATCH, growth._STRETCH = 6, 2, 1
    seg.SEAL_AT, seg.MERGE_AT = 5, 2
    if job["do"] == "create":
        Collection.create(root, deep=False).close()
        return
    if job["do"] == "restore":
        Collection.restore(job["backup"], root).close()
        return
    with Collection.open(root) as col:
        if job["do"] == "add":
            col.add(job["pictures"], workers=int(job.get("workers", "0")))
        elif job["do"] == "sync":
            col.sync(workers=0)
        elif job["do"] == "refresh":
            col.refresh()
        elif job["do"] == "retrain":
            col.retrain(workers=0)
        elif job["do"] == "backup":
            col.backup(job["target"])
        elif job["do"] == "judge":
            judge(col, job)
        elif job["do"] == "tag":
            tag(col, job)
        elif job["do"] == "metric":
            metric_learning.DIRECTIONS = 10
            col.models.learn_metric(space="mine")
        elif job["do"] == "map":
            map_learning.DIRECTIONS = 16
            col.models.learn_map(space="mine")
        elif job["do"] == "space":
            col.spaces.add("late", {"feature": job["feature"]}, workers=int(job["workers"]))
        elif job["do"] == "fill":
            fill(col, job)


def fill(col: Collection, job: dict[str, str]) -> None:
    """Vectors of one's own, some at a time; what has returned is written down."""
    ids = [row.id for row in col.images()]
    X = np.random.default_rng(int(job["seed"])).normal(size=(len(ids), 16)).astype(np.float32)
    said = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for start in range(0, len(ids), 4):
        some = slice(start, start + 4)
        col.spaces.add_vectors("own", ids[some], X[some])
        os.write(said, "".join(f"{i}\n" for i in ids[some]).encode())
    os.close(said)


def tag(col: Collection, job: dict[str, str]) -> None:
    """Suggest tags for all pictures, and die by SIGKILL after so many of them, if told to."""
    bulk_tagging.BATCH = 2
    last = int(job.get("die_after", "-1"))

    def report(progress: Progress) -> None:
        if progress.stage == "suggesting tags" and progress.done == last:
            os.kill(os.getpid(), signal.SIGKILL)

    col.tags.suggest_for_all(above=float(job["above"]), report=report)


def judge(col: Collection, job: dict[str, str]) -> None:
    """Judge and undo at random; what has returned is written down, a line each."""
    profile_states.CHECKPOINT_EVERY = 3
    rng = random.Random(job["seed"])
    ids = [row.id for row in col.images()]
    said = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(int(job["times"])):
        if rng.random() < 0.15 and any(line.stands for line in col.log.entries()):
            col.undo()
            continue
        query, liked, disliked = rng.sample(ids, 3)
        number = col.judge(query, [liked], [disliked][: rng.randrange(2)]).number
        # One write to the kernel: it is there even if this process dies in the next moment.
        os.write(said, f"{number} {query} {liked}\n".encode())
    os.close(said)


def finished(job: dict[str, str]) -> int:
    """The exit status of a job; a failure's traceback goes to the job's ``why``, if it has one."""
    try:
        work(job)
    except BaseException:
        Path(job.get("why", os.devnull)).write_text(traceback.format_exc())
        return 1
    return 0


def main() -> None:
    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        job = json.loads(line)
        if "here" in job:
            # Once, so that those who are forked later find everything imported and compiled.
            print(os.getpid(), finished(job), sep="\n", flush=True)  # noqa: T201
            continue
        child = os.fork()
        if child == 0:
            os._exit(finished(job))
        print(child, flush=True)  # noqa: T201
        _, status = os.waitpid(child, 0)
        print(status, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
