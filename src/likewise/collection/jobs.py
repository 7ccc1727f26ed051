"""Long work: one job at a time holds the lease, and says how far it is.

The lease is a lock of the operating system on a file, so it goes with the process that held it,
however that ended; what the file says about the holder is only for the message to others.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from likewise.collection.errors import CollectionBusy

FILE = "job.lock"
_PATIENCE = 0.5


@dataclass(frozen=True)
class Progress:
    """How far a job is: ``stage`` in words, ``done`` of ``total`` (0 when unknown)."""

    stage: str
    done: int
    total: int
    problems: int = 0


Report = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Report nothing."""


@contextmanager
def lease(root: Path, job: str) -> Iterator[None]:
    """Hold the one lease of a collection, or raise :class:`CollectionBusy` within a second."""
    with open(root / FILE, "a+", encoding="utf-8") as file:
        # Somebody who only looks (``running``) holds the lock for an instant too.
        deadline = time.monotonic() + _PATIENCE
        while not (held := _lock(file)) and time.monotonic() < deadline:
            time.sleep(_PATIENCE / 20)
        if not held:
            raise CollectionBusy(
                f"{root} is busy: {_holder(file)}; wait for it, or stop it and try again"
            )
        try:
            file.truncate(0)
            json.dump({"job": job, "pid": os.getpid(), "since": time.strftime("%H:%M:%S")}, file)
            file.flush()
            yield
        finally:
            file.truncate(0)
            _unlock(file)


def running(root: Path) -> str | None:
    """The job that holds the lease now, in words; None when nobody does."""
    try:
        with open(root / FILE, "a+", encoding="utf-8") as file:
            if not _lock(file):
                return _holder(file)
            _unlock(file)
    except OSError:
        return None
    return None


def _holder(file: IO[str]) -> str:
    try:
        file.seek(0)
        said = json.load(file)
        return f"{said['job']} runs in process {said['pid']} since {said['since']}"
    except (ValueError, KeyError, TypeError):
        return "another job runs"


try:
    import fcntl

    def _lock(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _unlock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

except ImportError:  # Windows
    import msvcrt  # type: ignore[import-not-found,unused-ignore]

    def _lock(file: IO[str]) -> bool:
        try:
            file.seek(1 << 20)  # a byte far behind the text, so that others can still read it
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

    def _unlock(file: IO[str]) -> None:
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]
