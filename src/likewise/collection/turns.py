"""Many may look at once; who changes waits until nobody looks, and looks nobody meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock for readers and writers.

    Writers do not starve where readers come through another lock that the writer holds, as in
    :class:`~likewise.collection.search.views.Views`.
    """

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._looking = 0

    @contextmanager
    def looking(self) -> Iterator[None]:
        with self._free:
            self._looking += 1
        try:
            yield
        finally:
            with self._free:
                self._looking -= 1
                self._free.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._free:
            while self._looking:
                self._free.wait()
            yield
