"""Connections that say nothing: they are given time, a number of places, and then closed.

uvicorn waits for the head of a request for as long as a client likes, and every client that waits
holds a file of this process.  Here the head must come within :data:`HEAD` seconds, more of a body
within :data:`BODY`, and when :data:`MOST_WAITING` connections have not asked anything yet, the
oldest of them leaves for the newest.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD = 10.0
"""Seconds for the whole head of a request, from when it could begin."""
BODY = 30.0
"""Seconds between two pieces of a body."""
MOST_WAITING = 100
BACKLOG = 32
"""Connections that are accepted at a time: so many more may wait for a moment."""


class ImpatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, for clients that do not keep it waiting."""

    # Oldest first.
    waiting: dict[ImpatientProtocol, None] = {}  # noqa: RUF012 - one for all connections
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Set the time by which the client must have said more, if anything is awaited."""
        if self.transport.is_closing():
            self._stop_waiting()
        elif self.conn.their_state is h11.IDLE:
            # A head that comes letter by letter gets no more time for each.
            if self not in self.waiting:
                self._stop_waiting()
                self.waiting[self] = None
                self._timer = self.loop.call_later(HEAD, self._close)
                if len(self.waiting) > MOST_WAITING:
                    next(iter(self.waiting))._close()
        else:
            self._stop_waiting()
            if self.conn.their_state is h11.SEND_BODY:
                self._timer = self.loop.call_later(BODY, self._close)

    def _stop_waiting(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        if self.flow.read_paused and self.conn.their_state is h11.SEND_BODY:
            # It is this server that does not listen.
            self._timer = self.loop.call_later(BODY, self._close)
            return
        self._stop_waiting()
        self.transport.abort()
