"""Addresses of engines for tests of whole collections: opened by address, as people do."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.engines.conftest import SERVER

MEMORY = "qdrant://127.0.0.1:9/memory"


def engine_addresses() -> list[str]:
    return ["edge", "memory", "server"]


class EngineAddress:
    """An address of an engine that is empty, and is cleared afterwards."""

    def __init__(self, engine: str, folder: Path) -> None:
        self._engine, self._folder = engine, folder
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> str:
        if self._engine == "edge":
            pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
            return f"qdrant-edge://{self._folder}/engine"
        client = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
        if self._engine == "memory":
            made = client.QdrantClient(":memory:")
            # It is gone when it is closed; a server is not.
            self._patch.setattr(made, "close", lambda: None)
            self._patch.setattr("likewise_cluster.engines.server.connect", lambda *_, **__: made)
            return MEMORY
        if SERVER not in os.environ:
            pytest.skip(f"no Qdrant server: {SERVER} is not set")
        self._address = f"{os.environ[SERVER].rstrip('/')}/test-{secrets.token_hex(6)}"
        return self._address

    def __exit__(self, *_: Any) -> None:
        self._patch.undo()
        if self._engine == "server" and hasattr(self, "_address"):
            from likewise.engines import open_engine

            with open_engine(self._address) as engine:
                points: Any = engine._points
                points._client.delete_collection(points._name)
