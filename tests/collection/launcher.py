"""Runs jobs in children that can be killed: started once, it only imports and forks.

Forking from a process that has done no work yet costs milliseconds; a fresh interpreter would
cost seconds for every kill.  One JSON line in: the job; two lines out: the child's id, its status.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from likewise.collection import adding
from likewise.collection import segments as seg
from likewise.collection.collection import Collection


def work(job: dict[str, str]) -> None:
    root = Path(job["root"])
    # Small numbers, so that a small run seals, merges and learns several times.
    adding.FIRST_WORDS_AT, adding._BATCH, adding._STRETCH = 6, 2, 1
    seg.SEAL_AT, seg.MERGE_AT = 5, 2
    if job["do"] == "create":
        Collection.create(root).close()
        return
    with Collection.open(root) as col:
        if job["do"] == "add":
            col.add(job["pictures"], workers=0)
        elif job["do"] == "sync":
            col.sync(workers=0)
        elif job["do"] == "refresh":
            col.refresh()
        elif job["do"] == "retrain":
            col.retrain(workers=0)
        elif job["do"] == "backup":
            col.backup(job["target"])


def main() -> None:
    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                work(json.loads(line))
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        print(child, flush=True)  # noqa: T201
        _, status = os.waitpid(child, 0)
        print(status, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
