"""The page's searches while the engine that answers them is away: 200, fewer pictures, a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from likewise.engines.breaker import Breaker
from likewise.search import engine_views
from likewise_cluster.engines import server as engine_server
from tests.cluster.engines.addresses import MEMORY, EngineAddress
from tests.product.server.conftest import N, client_of
from tests.product.server.conftest import home as home
from tests.product.server.conftest import root as root


def test_an_engine_that_is_away_is_told(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
    monkeypatch.setattr(engine_views, "ATTEMPTS", 1)
    connect = engine_server.connect
    with EngineAddress("memory", tmp_path):
        with Collection.open(root) as col:
            col.engine_sync.push(MEMORY, ["holistic"])
            col.engine_sync.answer_from(MEMORY)
        with client_of(root) as client:
            service = client.inner.state.service
            service._engine_sync.close()  # what waits is to wait
            first = client.ids()[0]
            whole = client.search(first, by="holistic", limit=100)
            assert (whole["total"], whole["away"]) == (N - 1, None)
            service.collection.tag(3, "late")
            engine = service.collection._views.engine
            engine.close()
            with monkeypatch.context() as patch:
                # Nobody listens at that port.
                patch.setattr(engine_server, "connect", connect)
                lacking = client.search(first, by="holistic", limit=100)
                assert (lacking["total"], len(lacking["items"])) == (1, 1)
                assert f"{MEMORY} is away" in lacking["away"]
                late = client.search(first, by="holistic", where={"tag": "late"})
                assert [one["id"] for one in late["items"]] == [client.ids()[2]]
            # An answer that lacked pictures is not kept, and the engine is asked again by itself.
            engine.breaker = Breaker()
            assert client.search(first, by="holistic", limit=100)["items"] == whole["items"]
