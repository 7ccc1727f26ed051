"""Collections in either database, and the processes that share one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from tests.cluster.postgres.server import Server
from tests.product.collection.loop_cases import copied
from tests.product.collection.loop_reference import Log
from tests.product.private import store_of

ENGINES = ("sqlite", "postgres")


def moved(server: Server, folder: Path) -> Path:
    """The collection of the loop's cases again, with its catalog in a schema of its own."""
    folder.mkdir(exist_ok=True)
    root = copied(folder)
    Collection.move(root, server.address())
    return root


def read_log(store: Store, folder: Path) -> Log:
    """The log as the reference reads it: from a file that was written now."""
    place = folder / "read"
    place.mkdir(exist_ok=True)
    file = place / "catalog.sqlite"
    file.unlink(missing_ok=True)
    store.backup_to(file)
    return Log(place)


def numbers(col: Collection) -> list[int]:
    """The numbers of all lines of the log, in order."""
    return [row[0] for row in store_of(col).all("SELECT number FROM log ORDER BY number")]


class Worker:
    """Another process that has a collection open, one after another."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.postgres.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def open(self, root: Path) -> None:
        assert self.ask("open", str(root)) == "open"

    def send(self, *command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, *command: Any) -> Any:
        self.send(*command)
        return self.answer()


@contextmanager
def workers(n: int) -> Iterator[list[Worker]]:
    """Processes that end with the block."""
    started: list[Worker] = []
    try:
        started.extend(Worker() for _ in range(n))
        yield started
    finally:
        for one in started:
            one.process.kill()
            one.process.communicate()
