"""``likewise open`` and ``likewise serve`` as a person starts them."""

from __future__ import annotations

import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from likewise.catalog.jobs import lease
from likewise.cli import serve
from likewise.collection.collection import Collection
from tests.product.cli.process import Likewise, few_views
from tests.product.private import store_of
from tests.product.server.conftest import Process, start  # noqa: F401 - a fixture


def asked(server: Process, place: str) -> httpx.Response:
    return httpx.get(f"{server.base}{place}", headers=server.headers, trust_env=False, timeout=60)


def taken_in(server: Process) -> dict[str, Any]:
    """What the server says of its collection once the job it began with has ended."""
    while (about := asked(server, "/api/collection").json())["job"] is not None:
        time.sleep(0.05)
    return dict(about)


def test_open_a_folder_for_the_first_time_and_again(
    tmp_path: Path,
    start: Callable[..., Process],  # noqa: F811
) -> None:
    paths = few_views(tmp_path / "My Pictures")
    # What a creation that was killed leaves behind is no collection, and no hindrance.
    (tmp_path / "My Pictures.lw").mkdir()
    (tmp_path / "My Pictures.lw" / "catalog.sqlite.part").write_bytes(b"half")
    server = start("open", "My Pictures", "--no-browser")
    about = taken_in(server)
    assert (about["name"], about["pictures"]) == ("My Pictures.lw", len(paths))
    page = httpx.get(server.said["url"], follow_redirects=True, trust_env=False, timeout=60)
    assert page.status_code == 200
    assert str(page.url) == f"{server.base}/"
    assert page.headers["content-type"].startswith("text/html")
    assert server.ended() == 0
    # Pictures that are new are taken in.
    shutil.copy(paths[0], tmp_path / "My Pictures" / "copy.jpg")
    (tmp_path / "My Pictures" / "new.jpg").write_bytes(paths[1].read_bytes() + b" ")
    again = start(
        "open", "My Pictures", "--no-browser", "--host", "0.0.0.0", "--name", "photos.lan"
    )
    assert taken_in(again)["pictures"] == len(paths) + 1
    # The printed address works, the machine's allowed name does, others do not.
    assert again.said["url"].startswith(f"{again.base}/?token=")
    for name, status in (("photos.lan", 200), ("PHOTOS.lan", 200), ("evil.example", 421)):
        headers = {**again.headers, "host": f"{name}:{again.said['port']}"}
        answer = httpx.get(f"{again.base}/api/health", headers=headers, trust_env=False)
        assert answer.status_code == status
    assert again.ended(signal.SIGTERM) == 0
    assert "1 picture added" in again.process.communicate()[1]
    Collection.open(tmp_path / "My Pictures.lw").close()


def test_open_tells_what_is_still_to_do(
    tmp_path: Path,
    start: Callable[..., Process],  # noqa: F811
) -> None:
    few_views(tmp_path / "pictures")
    with Collection.create(tmp_path / "pictures.lw", deep=False) as col:
        col.pictures.secret()  # the one thing a server writes before it listens
        with store_of(col).write():
            server = start("open", "pictures", "--no-browser")
            assert asked(server, "/api/collection").json()["job"]["what"] == "add"
            assert server.ended() == 0
            _, said = server.process.communicate()
            assert "run the same command again to continue" in said


def test_open_while_another_job_runs(
    tmp_path: Path,
    start: Callable[..., Process],  # noqa: F811
) -> None:
    """The page is there all the same; the terminal says why nothing was taken in."""
    few_views(tmp_path / "pictures")
    Collection.create(tmp_path / "pictures.lw", deep=False).close()
    with lease(tmp_path / "pictures.lw", "retrain"):
        server = start("open", "pictures", "--no-browser")
        assert server.process.stderr is not None
        assert "retrain runs in process" in server.process.stderr.readline()
    assert asked(server, "/api/collection").json()["pictures"] == 0
    assert server.ended() == 0


def test_refusals(built: Likewise, tmp_path: Path) -> None:
    assert "not a folder" in built.refused("open", "nowhere", "--no-browser")
    assert "likewise open DIR" in built.refused("serve", "-C", "nothing.lw")
    assert "must use 127.0.0.1" in built.refused("serve", "--host", "0.0.0.0", "--no-key")
    assert "16 characters" in built.refused("serve", "--key", "short")
    assert "not a collection" in built.refused("serve", "-C", str(built.pictures), "--port", "0")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = built.refused("serve", "--port", port)
        assert f"port {port}" in message
        assert "another port" in message
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("mine")
    message = built.refused("open", "pictures", "-C", tmp_path / "full", "--no-browser")
    assert "not empty" in message


def test_a_request_that_computes_cannot_keep_a_server_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(serve, "_PATIENCE", 0.01)
    monkeypatch.setattr(serve.os, "_exit", ended.append)
    serve._end_for_sure()
    until = time.monotonic() + 30
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
    assert ended == [0]
