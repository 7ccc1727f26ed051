"""The engines that a test of the contract runs with; those that are missing say so."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from likewise.engines import open_engine
from likewise.engines.protocol import RowKind, RowStore
from likewise_cluster.engines.qdrant import QdrantEngine
from likewise_cluster.engines.server import ServerPoints

SERVER = "LIKEWISE_QDRANT_URL"
"""The address of a real server, such as qdrant://localhost:6333; collections come and go there."""

ENGINES = ["edge", "memory", "server"]


class Place:
    """Where an engine keeps the rows of one test; opened anew, they are there again."""

    def __init__(self, engine: str, folder: Path) -> None:
        self.engine = engine
        self._folder = folder / engine
        self._open: QdrantEngine | None = None
        if engine == "edge":
            pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
        elif engine == "memory":
            client = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
            self._memory = client.QdrantClient(":memory:")
        elif engine == "server":
            pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
            if SERVER not in os.environ:
                pytest.skip(f"no Qdrant server: {SERVER} is not set")
            self._address = f"{os.environ[SERVER].rstrip('/')}/test-{secrets.token_hex(6)}"

    def store(self, kind: RowKind, name: str = "words-1") -> RowStore:
        """A store of this place, as a new process would open it."""
        if self._open is None:
            self._open = self._engine()
        return self._open.store(name, kind)

    def _engine(self) -> QdrantEngine:
        if self.engine == "edge":
            return open_engine(f"qdrant-edge://{self._folder}")
        if self.engine == "server":
            return open_engine(self._address)
        return QdrantEngine(ServerPoints(self._memory, "test", "qdrant://memory/test"))

    def restart(self) -> None:
        """End the process, as far as the engine can tell."""
        # What is only in memory cannot outlive it: there, only the store is opened anew.
        if self._open is not None and self.engine != "memory":
            self._open.close()
        self._open = None

    def clear(self) -> None:
        if self.engine == "server":
            engine = self._open or self._engine()
            engine._points._client.delete_collection(engine._points._name)  # type: ignore[attr-defined]
        self.restart()


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = Place(request.param, tmp_path)
    yield made
    made.clear()


StoreOf = Callable[..., RowStore]
