"""Jobs that run outside the requests, and the events that report them.

One job runs at a time, in a thread of its own; the collection's lease excludes other processes.
A listener gets every event from when it connects; one that reads too slowly loses the oldest.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from likewise.catalog.jobs import Progress, Report
from likewise.collection.collection import Collection
from likewise.errors import CollectionBusy, LikewiseError

Job = Callable[[Collection, Report], Any]
"""Returns a dataclass or a mapping with its result."""

_log = logging.getLogger("likewise.server")
_WAITING = 200
_POLL = 0.5
_POLL_WITH_NOTICES = 5.0
"""Seconds between two checks of the revision, without and with notices from the catalog."""
_LOOK = ""
"""An internal event that requests a check of the revision."""
_PROGRESS_EVERY = 0.1


class JobStopped(BaseException):
    """The job is stopped; what it committed stays."""


class Events:
    """The listeners of the event stream."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[tuple[str, Any]]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closing = asyncio.Event()
        self.has_notices = False
        """Whether :meth:`look` is called after every change."""

    def look(self) -> None:
        """Note that the collection changed; from any thread."""
        self.tell(_LOOK, None)

    def tell(self, name: str, data: Any) -> None:
        """Send an event to all listeners; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put_event, name, data)

    def _put_event(self, name: str, data: Any) -> None:
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait((name, data))

    async def listen(
        self,
        revision: Callable[[], int],
        last: str = "",
        goes_on: Callable[[], bool] | None = None,
    ) -> AsyncIterator[bytes]:
        """Yield events as a stream; ``changed`` also for changes by other processes.

        ``last`` is the revision that a reconnecting browser has seen.  ``goes_on`` is checked
        before each event, to end the stream of a revoked key.
        """
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue(_WAITING)
        self._listeners.add(queue)
        try:
            now = await asyncio.to_thread(revision)
            seen = int(last) if last.isdecimal() and len(last) < 19 else now
            yield f"retry: 2000\nid: {seen}\n\n".encode()
            while not self.closing.is_set():
                try:
                    pause = _POLL_WITH_NOTICES if self.has_notices else _POLL
                    name, data = await asyncio.wait_for(queue.get(), pause)
                except TimeoutError:
                    name, data = _LOOK, None
                if goes_on is not None and not await asyncio.to_thread(goes_on):
                    return
                if name != _LOOK:
                    yield _event(name, data)
                now = await asyncio.to_thread(revision)
                if now != seen:
                    seen = now
                    yield f"id: {now}\n".encode() + _event("changed", {"revision": now})
        finally:
            self._listeners.discard(queue)


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _summarize_result(done: Any) -> dict[str, Any]:
    """Return the numbers and texts of a job's result, and the lengths of its lists."""
    found = dict(done) if isinstance(done, Mapping) else vars(done)
    return {
        key: len(value) if isinstance(value, list | dict | tuple) else value
        for key, value in found.items()
        if isinstance(value, str | int | float | list | dict | tuple) or value is None
    }


class Work:
    """The job that this server runs, if any."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._thread: threading.Thread | None = None
        self._busy = False
        self._stop = threading.Event()
        self._cancelled = 0
        self._progress: dict[str, Any] | None = None
        self.number = 0
        self.what: str | None = None
        self.since = ""

    def start(self, what: str, collection: Collection, job: Job) -> int:
        """Begin a job; gives its number.  ``collection`` is for the job's thread alone."""
        with self._lock:
            if self._busy:
                raise CollectionBusy(f"{self.what} is still running; wait for it to end")
            self.number = number = next(self._numbers)
            self.what, self.since = what, datetime.now(UTC).isoformat(timespec="seconds")
            # The caller's context: the job's changes are recorded under the caller's key.
            context = contextvars.copy_context()
            self._thread = threading.Thread(
                target=context.run, args=(self._run, number, collection, job),
                name=f"likewise {what}", daemon=True,
            )  # fmt: skip
            self._busy, self._progress = True, None
            self._thread.start()
            return number

    @property
    def running(self) -> dict[str, Any] | None:
        if not self._busy:
            return None
        return {
            "job": self.number, "what": self.what, "since": self.since,
            "progress": self._progress,
        }  # fmt: skip

    def _run(self, number: int, collection: Collection, job: Job) -> None:
        last, stage = 0.0, ("", False)

        def report(progress: Progress) -> None:
            nonlocal last, stage
            if self._stop.is_set() or self._cancelled == number:
                raise JobStopped
            said = {
                "job": number, "stage": progress.stage, "done": progress.done,
                "total": progress.total, "problems": progress.problems,
                "rate": progress.rate, "left": progress.seconds_left, "note": progress.note,
            }  # fmt: skip
            # For clients that connect later; others get it at intervals.
            self._progress = said
            now = time.monotonic()
            ends = progress.total and progress.done == progress.total
            # The text of a note changes often, its presence seldom.
            doing = (progress.stage, bool(progress.note))
            if doing == stage and now - last < _PROGRESS_EVERY and not ends:
                return
            last, stage = now, doing
            self._events.tell("progress", said)

        start = time.monotonic()
        try:
            name, said = "done", _summarize_result(job(collection, report))
        except JobStopped:
            who = "it" if self._cancelled == number else "the server"
            message = f"{who} was stopped; finished parts are kept"
            name, said = "failed", {"message": message, "stopped": True}
        except LikewiseError as error:
            name, said = "failed", {"message": str(error), "stopped": False}
        except Exception as error:
            _log.exception("a job failed")
            name, said = "failed", {"message": str(error), "stopped": False}
        finally:
            collection.close()
        ended = {"job": number, "what": self.what, "seconds": round(time.monotonic() - start, 2)}
        # A client that sees the end may start the next job at once.
        with self._lock:
            self._busy = False
        self._events.tell(name, ended | said)

    def cancel(self, number: int) -> bool:
        """Stop this job at its next report; return whether it was running."""
        with self._lock:
            if not self._busy or number != self.number:
                return False
            self._cancelled = number
            return True

    def ask_to_stop(self) -> None:
        """Request that the job ends at its next report."""
        self._stop.set()

    def stop(self, seconds: float) -> bool:
        """Stop the job; return whether it ended in time."""
        self.ask_to_stop()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()
