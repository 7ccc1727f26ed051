"""Two servers of one collection, as people start them: what one is told the other knows."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.server.running import announce, describe
from tests.collection.loop_cases import N, copied
from tests.postgres.server import Server
from tests.server.conftest import Process
from tests.server.conftest import start as start

PATIENCE = 60.0


def run(*arguments: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_two_servers_give_the_same_answers(
    server: Server, tmp_path: Path, start: Callable[..., Process]
) -> None:
    root, address = copied(tmp_path), server.address()
    moved = run("move", "--to", address, "-C", root)
    assert moved["rows"]["images"] == N
    one = start("serve", "-C", root, "--port", 0)
    two = start("serve", "-C", root, "--port", 0, "--catalog", address)
    with client(one) as first, client(two) as second:
        page = first.get("/api/pictures?sort=added&order=asc&limit=20").json()
        # The same names: both sign them with the secret of the collection.
        assert second.get("/api/pictures?sort=added&order=asc&limit=20").json() == page
        ids = [item["id"] for item in page["items"]]
        with second.stream("GET", "/api/events") as stream:
            lines = stream.iter_lines()
            while not next(lines).startswith("id: "):
                continue
            said = {"query": {"picture": ids[0]}, "liked": ids[3:5], "disliked": ids[1:2]}
            judged = first.post("/api/judge", json=said)
            assert judged.is_success, judged.text
            while "changed" not in next(lines):
                continue
        for query in ids[:3]:
            asked = {"query": {"picture": query}, "limit": N}
            found = [c.post("/api/search", json=asked).json()["items"] for c in (first, second)]
            assert [(x["id"], x["score"]) for x in found[0]] == [
                (x["id"], x["score"]) for x in found[1]
            ]
    os.kill(two.process.pid, signal.SIGKILL)
    assert one.ended() == 0
    assert run("log", "-C", root)
    assert run("verify", "-C", root)["ok"] is True
    back = run("move", "--to", "sqlite", "-C", root)
    assert back["rows"]["log"] == 1
    assert (root / "catalog.sqlite").is_file()


def client(of: Process) -> httpx.Client:
    return httpx.Client(base_url=of.base, headers=of.headers, timeout=PATIENCE, trust_env=False)


def test_a_running_server_keeps_its_catalog(server: Server, tmp_path: Path) -> None:
    """It would go on answering from the file that it has open."""
    root = copied(tmp_path)
    with announce(root, describe("127.0.0.1", 8700, ())):
        done = CliRunner().invoke(app, ["move", "--to", server.address(), "-C", str(root)])
    assert done.exit_code == 1
    assert f"runs in process {os.getpid()}" in str(done.exception)
    assert (root / "catalog.sqlite").is_file()
