"""Listen for commits: PostgreSQL notifies every server that listens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from likewise.errors import CollectionError
from likewise_cluster.postgres.addresses import Address
from likewise_cluster.postgres.connections import open_connection

_BREATH = 0.5
"""Seconds between checks whether to end."""
_PAUSE = 2.0
"""Seconds after which a lost connection is tried again."""


class ChangeListener:
    """A thread that listens on its own connection and calls a function after every change.

    Changes that were missed while the connection was lost count as one.
    """

    def __init__(self, address: Address, changed: Callable[[], object]) -> None:
        self._address = address
        self._changed = changed
        self._ending = threading.Event()
        self.listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="likewise-listen", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join(4 * _BREATH)

    def _run(self) -> None:
        while not self._ending.is_set():
            with suppress(CollectionError, psycopg.Error):
                self._listen()
            self.listening.clear()
            self._ending.wait(_PAUSE)

    def _listen(self) -> None:
        connection = open_connection(self._address, "likewise listens")
        try:
            connection.run(f'LISTEN "likewise_{self._address.schema}"')
            self.listening.set()
            self._changed()
            while not self._ending.is_set():
                for _ in connection.raw.notifies(timeout=_BREATH, stop_after=1):
                    self._changed()
        finally:
            connection.close()
