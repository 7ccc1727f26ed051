"""Send changes to engines in the background while a server runs.

A request that changes a picture does not wait for it: until it is sent, the catalog answers.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from likewise.catalog.engine_sync import has_engines
from likewise.catalog.store import Store
from likewise.engines.breaker import Breaker
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise_cluster.engines.sync import EngineSync

_INTERVAL = 0.5
"""Seconds between two looks for changes."""


class SyncThread:
    """A thread that sends changes; it waits longer after every failure of an engine."""

    def __init__(self, sync: EngineSync, store: Store, breaker: Breaker | None = None) -> None:
        self._sync, self._store = sync, store
        self._breaker = breaker or Breaker()
        self._ending = threading.Event()
        self._sent_revision = -1
        self._thread = threading.Thread(target=self._run, name="likewise-sync", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; unsent changes stay pending in the catalog."""
        self._ending.set()
        self._thread.join(4 * _INTERVAL)

    def _run(self) -> None:
        while not self._ending.wait(_INTERVAL):
            # Unavailable, busy or read-only: the page works without it, so try again later.
            with suppress(LikewiseError):
                self.send()

    def send(self) -> None:
        """Send pending changes, unless there are none or it is too early to retry."""
        revision = self._store.revision
        if revision == self._sent_revision:
            return
        if not has_engines(self._store):
            self._sent_revision = revision
            return
        if self._breaker.reason_to_wait() is not None:
            return
        try:
            reasons = self._sync.send_changes()
            waiting = any(self._sync.waiting().values())
        except LikewiseError as error:
            self._breaker.failed(str(error))
            raise
        if waiting:
            self._breaker.failed("; ".join(reasons.values()) or "more changed meanwhile")
        else:
            self._breaker.worked()
            self._sent_revision = revision
