"""An engine that times out, cuts, fails or refuses, and processes that are killed while they send:
answers lack pictures and say so, and nothing that was sent is lost or left out."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.engines import open_engine
from likewise.engines.breaker import Breaker
from likewise.search import engine_views
from likewise_cluster.engines.sync_thread import SyncThread
from tests.cluster.engines.test_retries import Stub
from tests.cluster.engines.test_retries import stub as stub

N, WIDTH = 10, 6


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten pictures of nothing, in a space of vectors of our own: nothing takes long."""
    folder, rng = tmp_path_factory.mktemp("away"), np.random.default_rng(1)
    (folder / "pictures").mkdir()
    for i in range(N):
        noise = rng.integers(0, 255, (16, 16, 3)).astype(np.uint8)
        assert cv2.imwrite(str(folder / "pictures" / f"{i}.png"), noise)
    with Collection.create(folder / "photos.lw", deep=False) as col:
        col.add(folder / "pictures", workers=0)
        col.spaces.add("own", {"feature": "own"})
        col.spaces.add_vectors("own", ids_of(col), rng.normal(size=(N, WIDTH)))
    return folder / "photos.lw"


@pytest.fixture
def col(built: Path, tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(built, tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as opened:
        yield opened


def ids_of(col: Collection) -> list[int]:
    return [row.id for row in col.images()]


def found(col: Collection, query: int, **options: Any) -> list[tuple[int, float]]:
    hits = col.search(query, N, by="own", **options)
    assert hits.away is None
    return [(hit.id, hit.score) for hit in hits]


class InMemory:
    """Stands between us and a server: while it is there, the client's emulation answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from qdrant_client import QdrantClient

        client = QdrantClient(":memory:")
        monkeypatch.setattr(client, "close", lambda: None)
        self._patch = monkeypatch
        self._client = client

    def comes(self) -> None:
        self._patch.setattr(
            "likewise_cluster.engines.server.connect", lambda *_, **__: self._client
        )

    def goes(self, connect: Any) -> None:
        self._patch.setattr("likewise_cluster.engines.server.connect", connect)


@pytest.mark.parametrize("failure", ["500", "cut", "hang up", "slow", "nothing", "401"])
def test_an_engine_that_is_away(
    col: Collection, stub: str, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
    from likewise_cluster.engines.server import connect

    address = f"qdrant://{stub}/photos?timeout=1"
    now = [0.0]
    engine = col._views.engine
    engine.breaker = Breaker(clock=lambda: now[0], draw=lambda: 1.0)
    monkeypatch.setattr(engine_views, "ATTEMPTS", 1)
    server = InMemory(monkeypatch)
    server.comes()
    col.engine_sync.push(address, ["own"])
    col.engine_sync.answer_from(address)
    ids = ids_of(col)
    col.tag(ids[4], "late")
    whole = found(col, ids[0])
    assert len(whole) == N - 1

    engine.close()
    server.goes(connect)
    Stub.failures = [failure] * 99
    hits = col.search(ids[0], N, by="own")
    assert [hit.id for hit in hits] == [ids[4]]
    assert (hits[0].id, hits[0].score) in whole
    assert hits.away is not None
    assert f"qdrant://{stub}/photos" in hits.away
    assert "only the 1 picture that waits to be sent there can be found" in hits.away
    assert not col.search(ids[0], N, by="own", where={"tag": "never"})
    # Nobody else waits for it: it is not asked again before a pause is over.
    asked = len(Stub.asked)
    assert asked == 1
    assert col.search(ids[1], N, by="own").away == hits.away
    assert len(Stub.asked) == asked

    server.comes()
    assert col.search(ids[0], N, by="own").away
    now[0] = 60.0
    assert found(col, ids[0]) == whole


def test_a_store_that_somebody_deleted_is_not_taken_for_an_empty_one(
    col: Collection, tmp_path: Path
) -> None:
    pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
    address = f"qdrant-edge://{tmp_path}/engine"
    col.engine_sync.push(address, ["own"])
    col.engine_sync.answer_from(address)
    with open_engine(address) as engine:
        col.engine_sync.store_in(engine, "own").drop()
    hits = col.search(ids_of(col)[0], N, by="own")
    assert hits == []
    assert hits.away is not None
    assert "does not hold 'own-1'; push to it again. Until it is back" in hits.away
    # Once it was pushed again it answers, without anybody being restarted.
    col.engine_sync.push(address, ["own"])
    col._views.engine.breaker = Breaker()
    assert len(found(col, ids_of(col)[0])) == N - 1


def test_rows_of_ones_own_that_change(col: Collection, tmp_path: Path) -> None:
    """The row of a picture that was sent is another one: the catalog's counts at once."""
    pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
    address, ids = f"qdrant-edge://{tmp_path}/engine", ids_of(col)
    col.engine_sync.push(address, ["own"])
    col.engine_sync.answer_from(address)
    before = found(col, ids[0])
    col.spaces.add_vectors("own", ids[5:7], np.eye(2, WIDTH))
    after = found(col, ids[0])
    assert after != before
    col.engine_sync.answer_from(None)
    assert found(col, ids[0]) == after
    col.engine_sync.answer_from(address)
    assert col.engine_sync.send_changes() == {}
    assert found(col, ids[0]) == after
    assert col.engine_sync.compare(address, ["own"]) == {"own": []}


KILLED = """
import os, signal, sys
from likewise_cluster.engines import sync
from likewise.collection.collection import Collection
root, address, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
sync._PART = 2
left = [steps]
def counted(call):
    def counting(*values, **named):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*values, **named)
    return counting
sync.send_some = counted(sync.send_some)
sync.EngineSync._put_state = counted(sync.EngineSync._put_state)
with Collection.open(root) as col:
    col.engine_sync.send_changes()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal of POSIX")
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_kill_while_sending_changes(col: Collection, tmp_path: Path, steps: int) -> None:
    """Before anything was sent, after it and before that is noted, and after it was."""
    pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
    address, ids = f"qdrant-edge://{tmp_path}/engine", ids_of(col)
    col.engine_sync.push(address, ["own"])
    col.tag(ids[0], "new")
    col.remove(ids[1])
    col.remove(ids[2])
    col.tag(ids[3], "new")
    command = [sys.executable, "-c", KILLED, str(col.root), address, str(steps)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    col.engine_sync.answer_from(address)
    assert col.engine_sync.waiting() == {address: 4 if steps < 2 else 2}
    there = found(col, ids[0]), found(col, ids[0], where={"tag": "new"})
    assert [image for image, _ in there[1]] == [ids[3]]
    assert col.engine_sync.send_changes() == {}
    assert (found(col, ids[0]), found(col, ids[0], where={"tag": "new"})) == there
    assert col.engine_sync.compare(address, ["own"]) == {"own": []}


def test_a_server_sends_changes_by_itself(col: Collection, tmp_path: Path) -> None:
    pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
    address = f"qdrant-edge://{tmp_path}/engine"
    col.engine_sync.push(address, ["own"])
    thread = SyncThread(col.engine_sync, col._store)
    try:
        col.remove(ids_of(col)[3])
        deadline = time.monotonic() + 120
        while col.engine_sync.waiting() != {address: 0}:
            assert time.monotonic() < deadline, "nothing was sent"
            time.sleep(0.05)
    finally:
        thread.close()
    assert col.engine_sync.compare(address, ["own"]) == {"own": []}
    # Who sends is one at a time: somebody else who does is no reason to fail.
    col.tag(ids_of(col)[0], "new")
    with col._store.engine_lease():
        assert "is busy: engine sync runs in process" in col.engine_sync.send_changes()[address]
    assert col.engine_sync.send_changes() == {}
    col.engine_sync.forget(address)
    col.tag(ids_of(col)[1], "new")
    assert (col.engine_sync.waiting(), col.has_engines) == ({}, False)
