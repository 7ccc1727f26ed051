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

from likewise.cli.app import _app_for
from likewise.server.sessions import announce, this_server
from tests.cluster.postgres.server import Server
from tests.product.collection.loop_cases import N, copied
from tests.product.server.conftest import Process
from tests.product.server.conftest import start as start

PATIENCE = 60.0


def run(*arguments: object) -> Any:
    done = CliRunner().invoke(
        _app_for([str(arguments[0])]), [*map(str, arguments), "--json"], catch_exceptions=False
    )
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
    a_key_ends_at_both(root, one, two, ids)
    os.kill(two.process.pid, signal.SIGKILL)
    assert one.ended() == 0
    assert run("log", "-C", root)
    assert run("verify", "-C", root)["ok"] is True
    back = run("move", "--to", "sqlite", "-C", root)
    assert back["rows"]["log"] == 2
    assert (root / "catalog.sqlite").is_file()


def a_key_ends_at_both(root: Path, one: Process, two: Process, ids: list[str]) -> None:
    """A key made by a command is known to both servers, and refused by both once it is revoked."""
    secret = run("keys", "add", "ann", "--role", "judge", "-C", root)["key"]
    bearer = {"Authorization": f"Bearer {secret}"}
    said = {"query": {"picture": ids[5]}, "liked": ids[6:7], "disliked": []}
    for at in (one, two):
        with httpx.Client(base_url=at.base, headers=bearer, timeout=PATIENCE) as ann:
            assert ann.get("/api/pictures?limit=1").is_success
            if at is two:
                assert ann.post("/api/judge", json=said).is_success
            # Hers is no key to manage by.
            assert ann.post("/api/add", json={"paths": ["/"]}).status_code == 403
    run("keys", "revoke", "ann", "-C", root)
    for at in (one, two):
        answer = httpx.get(f"{at.base}/api/pictures?limit=1", headers=bearer, trust_env=False)
        assert answer.status_code == 401, answer.text


def client(of: Process) -> httpx.Client:
    return httpx.Client(base_url=of.base, headers=of.headers, timeout=PATIENCE, trust_env=False)


def test_a_running_server_keeps_its_catalog(server: Server, tmp_path: Path) -> None:
    """It would go on answering from the file that it has open."""
    root = copied(tmp_path)
    with announce(root, this_server("127.0.0.1", 8700, ())):
        done = CliRunner().invoke(
            _app_for(["move"]), ["move", "--to", server.address(), "-C", str(root)]
        )
    assert done.exit_code == 1
    assert f"runs in process {os.getpid()}" in str(done.exception)
    assert (root / "catalog.sqlite").is_file()
