"""A lock that many readers share and a writer holds alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadWriteLock:
    """A lock for readers and writers.

    It has no queue: a writer can starve unless readers also take another lock that the writer
    holds, as in :class:`~likewise.search.views.Views`.
    """

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._free:
            self._readers += 1
        try:
            yield
        finally:
            with self._free:
                self._readers -= 1
                self._free.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._free:
            while self._readers:
                self._free.wait()
            yield
