"""Close connections that wait too long, and find the local user behind a connection.

uvicorn waits for the head of a request as long as a client likes, and every waiting client holds a
file descriptor.  Here the head must come within :data:`HEAD` seconds and each piece of a body
within :data:`BODY`; beyond :data:`MOST_WAITING` idle connections the oldest is closed.

Every user of the machine can read the address a browser is started with among its arguments, so the
ticket in it only works for programs of the server's own user.  Linux reports the user behind a
connection; where it is unknown (another system, a tunnel, a container) the ticket works for all.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD = 10.0
"""Seconds for the whole head of a request, from when it may begin."""
BODY = 30.0
"""Seconds between two pieces of a body."""
MOST_WAITING = 100
BACKLOG = 32
"""The length of the queue of connections that are not accepted yet."""


class ImpatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol with timeouts for slow clients."""

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
        """Set the time by which the client must have sent more, if anything is due."""
        if self.transport.is_closing():
            self._stop_waiting()
        elif self.conn.their_state is h11.IDLE:
            # A head that arrives byte by byte gets no extra time.
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
            # This server paused reading; the client is not slow.
            self._timer = self.loop.call_later(BODY, self._close)
            return
        self._stop_waiting()
        self.transport.abort()


_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}


def asks_another_user(client: Any, server: Any) -> bool:
    """Return whether a request certainly comes from another user of this machine."""
    found = user_of(client, server)
    return found is not None and found != os.getuid()


def user_of(client: Any, server: Any) -> int | None:
    """Return the user of the other end of a connection; None if it is unknown.

    ``client`` and ``server`` are (address, port) as the server has them.
    """
    with suppress(OSError, ValueError, TypeError, struct.error):
        ends = _in_table(*client[:2]), _in_table(*server[:2])
        version = ipaddress.ip_address(client[0]).version
        for line in _TABLES[version].read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if (fields[1], fields[2]) == ends:
                return int(fields[7])
    return None


def _in_table(address: str, port: int) -> str:
    """Return an address and port in the format of /proc/net: words in native byte order."""
    packed = ipaddress.ip_address(address).packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"
