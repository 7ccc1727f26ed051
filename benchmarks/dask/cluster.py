"""A scheduler and some workers on loopback, as the command line starts them, for a while."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCAL = ("--host", "127.0.0.1", "--no-dashboard")


@contextmanager
def local_cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[int]]]:
    """Gives the scheduler's address, and the ids of its process and of the workers'."""
    folder.mkdir(parents=True)
    file = folder / "scheduler.json"
    processes = [_start(folder, "dask_scheduler", "--port", "0", "--scheduler-file", str(file))]
    named = ("--scheduler-file", str(file), "--nthreads", "1", "--local-directory", str(folder))
    processes += [_start(folder, "dask_worker", *named) for _ in range(workers)]
    try:
        yield _address(file), [one.pid for one in processes]
    finally:
        for one in reversed(processes):
            one.terminate()
        for one in processes:
            one.wait()


def _start(folder: Path, what: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{what}", *_LOCAL, *options]
    with open(folder / "log", "ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))


def _address(file: Path) -> str:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise RuntimeError("no scheduler came up")
