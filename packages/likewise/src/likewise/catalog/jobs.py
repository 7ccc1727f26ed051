"""Jobs: one at a time holds the lease, and reports its progress.

The lease is a file lock of the operating system, so it ends with its process.  The text in the file
only describes the job to other processes.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from likewise.errors import CollectionBusy, ReadOnlyCollection

FILE = "job.lock"
ENGINE_FILE = "shipping.lock"
"""The lease for sending rows to engines; other jobs may run meanwhile."""
_PATIENCE = 0.5
ADDING = "adding pictures"
"""The stage in which pictures become searchable one by one."""


@dataclass(frozen=True)
class Progress:
    """The progress of a job.

    Attributes
    ----------
    stage : str
        The name of the stage.
    done, total : int
        Pictures done and in all; a total of 0 is unknown.  Skipped pictures are in neither.
    problems : int
        Files that could not be used so far.
    rate : float
        Recent pictures per second, 0 when unknown.
    note : str
        Another stage that runs while ``done`` is unchanged.

    See Also
    --------
    Collection : ``add`` and other jobs report it.
    """

    stage: str
    done: int
    total: int
    problems: int = 0
    rate: float = 0.0
    note: str = ""

    def __str__(self) -> str:
        """Return the progress in one line.

        >>> print(Progress("adding pictures", 1240, 3068, problems=2, rate=7.6))
        1,240 of 3,068 searchable, 4 min left, 7.6 per second, 2 skipped
        """
        count = f"{self.done:,} of {self.total:,}" if self.total else f"{self.done:,}"
        parts = [f"{count} searchable" if self.stage == ADDING else f"{self.stage}: {count}"]
        if self.seconds_left:
            parts.append(f"{_spell_time(self.seconds_left)} left")
        if self.rate:
            parts.append(f"{self.rate:.{0 if self.rate >= 10 else 1}f} per second")
        if self.problems:
            parts.append(f"{self.problems:,} skipped")
        return ", ".join(parts) + (f" ({self.note})" if self.note else "")

    @property
    def seconds_left(self) -> float | None:
        """The remaining time at the current rate, None when unknown."""
        return (self.total - self.done) / self.rate if self.rate > 0 and self.total else None


def _spell_time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} sec"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} hr"


class Pace:
    """The rate over the last half minute."""

    def __init__(self, seconds: float = 30.0) -> None:
        self._seconds = seconds
        self._told: deque[tuple[float, int]] = deque()

    def rate(self, done: int, now: float | None = None) -> float:
        """Return the rate with ``done`` done by now; 0 until it is known."""
        now = time.monotonic() if now is None else now
        if not self._told or now - self._told[-1][0] >= self._seconds / 60:
            self._told.append((now, done))
        while len(self._told) > 2 and now - self._told[0][0] > self._seconds:
            self._told.popleft()
        since, before = self._told[0]
        return (done - before) / (now - since) if now - since >= 3.0 else 0.0


Report = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Report nothing."""


@contextmanager
def lease(root: Path, job: str, name: str = FILE) -> Iterator[None]:
    """Hold the job lease of a collection, or raise :class:`CollectionBusy` within a second.

    ``name`` is the file that is locked; work that does not exclude jobs has one of its own.
    """
    with _open_lock(root, name) as file:
        # ``running`` also takes the lock for a moment.
        deadline = time.monotonic() + _PATIENCE
        while not (held := try_lock(file)) and time.monotonic() < deadline:
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
            unlock(file)


def _open_lock(root: Path, name: str) -> IO[str]:
    try:
        return open(root / name, "a+", encoding="utf-8")
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ReadOnlyCollection(
                f"{root} is read-only: it can be searched, not changed"
            ) from error
        raise


def running(root: Path) -> str | None:
    """Describe the job that holds the lease now, None if there is none."""
    try:
        with open(root / FILE, "a+", encoding="utf-8") as file:
            if not try_lock(file):
                return _holder(file)
            unlock(file)
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

    def try_lock(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def unlock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

except ImportError:  # Windows
    import msvcrt  # type: ignore[import-not-found,unused-ignore]

    def try_lock(file: IO[str]) -> bool:
        try:
            file.seek(1 << 20)  # a byte far behind the text, so that others can still read it
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        finally:
            file.seek(0)  # where it is written and read
        return True

    def unlock(file: IO[str]) -> None:
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]
