"""Sending changes to the engines that a collection was pushed to, beside the requests.

Whoever changes a picture does not wait for it: until it is sent, the catalog answers for it.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from likewise.collection.collection import Collection
from likewise.engines.retries import Breaker
from likewise.errors import LikewiseError

_LOOK = 0.5
"""Seconds after which it is looked whether something changed."""


class Shipper:
    """A thread that sends what changed; an engine that is away is tried again, ever more seldom."""

    def __init__(self, collection: Collection, breaker: Breaker | None = None) -> None:
        self._collection = collection
        self._breaker = breaker or Breaker()
        self._ending = threading.Event()
        self._seen = -1
        self._thread = threading.Thread(target=self._run, name="likewise-ship", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End; what was not sent waits in the catalog."""
        self._ending.set()
        self._thread.join(4 * _LOOK)

    def _run(self) -> None:
        while not self._ending.wait(_LOOK):
            # Away, busy, read-only: none of it is the page's concern, and all of it may pass.
            with suppress(LikewiseError):
                self.look()

    def look(self) -> None:
        """Send what waits, unless there was no change or it is too early to try again."""
        revision = self._collection.revision
        if revision == self._seen:
            return
        if not self._collection.is_shipped:
            self._seen = revision
            return
        if self._breaker.reason_to_wait() is not None:
            return
        try:
            reasons = self._collection.shipping.send_new()
            waiting = any(self._collection.shipping.waiting().values())
        except LikewiseError as error:
            self._breaker.failed(str(error))
            raise
        if waiting:
            self._breaker.failed("; ".join(reasons.values()) or "more came meanwhile")
        else:
            self._breaker.worked()
            self._seen = revision
