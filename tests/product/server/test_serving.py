"""The server as a process: streams, signals, kills, and what happens beside it."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from likewise.catalog.jobs import Progress
from likewise.collection.collection import Collection
from likewise.errors import CollectionError
from likewise.ingest.add import AddResult
from likewise.server import jobs
from likewise.server.jobs import Events, Work
from likewise.server.run import _listener
from likewise.server.schemas import EventsOut, ProgressEvent
from tests.product.server.browser import run_in_loop
from tests.product.server.conftest import N, Process

Start = Callable[..., Process]
PATIENCE = 60.0


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """(name, data) of a stream of server-sent events."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])


class Asker:
    """A program that talks to a server process."""

    def __init__(self, server: Process) -> None:
        self.client = httpx.Client(
            base_url=server.base, headers=server.headers, timeout=PATIENCE, trust_env=False
        )
        server.to_close.append(self.client)

    def post(self, place: str, said: Any) -> Any:
        answer = self.client.post(place, json=said)
        assert answer.is_success, answer.text
        return answer.json()

    def ids(self) -> list[str]:
        found = self.client.get("/api/pictures?sort=added&order=asc&limit=1000").json()
        return [item["id"] for item in found["items"]]


@pytest.mark.slow
def test_progress_as_events_and_an_end_with_open_streams(
    start: Start, root: Path, home: Path, tmp_path: Path
) -> None:
    server = start("serve", "-C", root, "--port", 0)
    asker = Asker(server)
    folder = tmp_path / "more"
    shutil.copytree(home / "outside", folder)
    told: list[tuple[str, Any]] = []
    with (
        httpx.Client(base_url=server.base, headers=server.headers, trust_env=False) as listener,
        listener.stream("GET", "/api/events", timeout=PATIENCE) as stream,
        # Others only listen; nobody hangs up before the server does.
        httpx.stream(
            "GET", f"{server.base}/api/events", headers=server.headers, trust_env=False
        ) as idle,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["x-content-type-options"] == "nosniff"
        assert idle.status_code == 200
        job = asker.post("/api/collection/add", {"folder": str(folder)})["job"]
        lines = stream.iter_lines()
        changed = 0
        for name, data in events(lines):
            told.append((name, data))
            changed += name == "changed"
            # Searching goes on meanwhile.
            if name == "progress":
                asker.post("/api/search", {"query": {"picture": asker.ids()[0]}})
            if name == "done" or (changed and told[0][0] == "done"):
                break
        progress = [data for name, data in told if name == "progress"]
        assert progress
        assert set(progress[0]) == set(ProgressEvent.model_fields)
        # Every event is as the description says, by which the page's types are made.
        for name, data in told:
            shape = TypeAdapter(EventsOut.model_fields[name].annotation)
            assert shape.validate_python(data).model_dump() == data
        assert {data["job"] for data in progress} == {job}
        done = [data for name, data in told if name == "done"]
        wanted = {"job": job, "what": "add", "added": 2, "skipped": 0, "removed": 0}
        assert {key: done[0][key] for key in wanted} == wanted
        # A change by another process is told too.
        with Collection.open(root) as col:
            col.tag(1, "new")
            revision = col.revision
        for name, data in events(lines):
            if name == "changed" and data["revision"] >= revision:
                break
        assert len(asker.ids()) == N + 2
        # Ctrl-C in the middle of a job, with everybody listening.
        one = sorted(folder.iterdir())[0].read_bytes()
        for i in range(400):
            (folder / f"{i}.jpg").write_bytes(one + bytes([i % 256, i // 256]))
        asker.post("/api/collection/sync", {})
        end = time.monotonic() + PATIENCE
        while len(asker.ids()) <= N + 2 and time.monotonic() < end:
            time.sleep(0.05)
        assert server.ended() == 0
        # The streams were ended, not broken off.
        assert {name for name, _ in events(lines)} <= {"progress", "changed", "failed"}
        assert idle.read().startswith(b"retry:")
    assert server.process.stderr is not None
    assert server.process.stderr.read() == ""
    # What it had taken in is there; the next run goes on from here.
    with Collection.open(root) as col:
        assert N + 2 < len(col) < N + 402
        assert col.verify() == []


def test_who_lost_the_line_is_told_what_changed() -> None:
    async def listened(last: str) -> list[bytes]:
        told = Events()
        stream = told.listen(lambda: 7, last)
        found = [await anext(stream)]
        told.tell("progress", {"done": 1})
        if last == "5":
            found.append(await anext(stream))
        told.closing.set()
        found += [piece async for piece in stream]
        assert not told._listeners
        return found

    hello = b"retry: 2000\nid: 7\n\n"
    progress = b'event: progress\ndata: {"done": 1}\n\n'
    changed = b'id: 7\nevent: changed\ndata: {"revision": 7}\n\n'
    assert run_in_loop(listened("")) == [hello]
    assert run_in_loop(listened("x" * 50)) == [hello]
    assert run_in_loop(listened("7")) == [hello]
    assert run_in_loop(listened("5")) == [b"retry: 2000\nid: 5\n\n", progress, changed]


def test_small_answers_are_sent_at_once() -> None:
    """asyncio turns Nagle's delay off only for sockets that say they are TCP."""
    with _listener("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_slow_listener_loses_old_progress_never_the_end() -> None:
    async def slow() -> list[bytes]:
        told = Events()
        stream = told.listen(lambda: 1)
        await anext(stream)
        for i in range(5 * jobs._WAITING):
            told.tell("progress", {"done": i})
        told.tell("done", {"added": 1})
        await asyncio.sleep(0)
        found = [await anext(stream) for _ in range(jobs._WAITING)]
        await stream.aclose()
        return found

    found = run_in_loop(slow())
    assert found[-1] == b'event: done\ndata: {"added": 1}\n\n'
    assert b'"done": 999' in found[-2]


class Told(Events):
    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []

    def tell(self, name: str, data: Any) -> None:
        self.said.append((name, data))


class Closed:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_how_a_job_ends() -> None:
    def good(_: Any, report: Any) -> AddResult:
        report(Progress("adding", 1, 2, 0))
        report(Progress("adding", 2, 2, 0))  # too soon after the first to be told
        return AddResult(added=2, seconds=0.5)

    def refused(_: Any, __: Any) -> AddResult:
        raise CollectionError("the disk is full; make room")

    def endless(_: Any, report: Any) -> AddResult:
        while True:
            report(Progress("adding", 1, 2, 0))

    for job, kinds, message in (
        (good, ["progress", "done"], None),
        (refused, ["failed"], "the disk is full; make room"),
        (endless, ["progress", "failed"], "the server was stopped; finished parts are kept"),
    ):
        told, col = Told(), Closed()
        work = Work(told)
        assert work.running is None
        assert work.start("add", col, job) == 1  # type: ignore[arg-type]
        if job is endless:
            while not told.said:
                time.sleep(0.01)
            assert work.running is not None
            assert work.stop(PATIENCE)
        assert work._thread is not None
        work._thread.join(PATIENCE)
        assert [name for name, _ in told.said][:: len(told.said) - 1 or 1] == kinds
        assert message is None or told.said[-1][1]["message"] == message
        assert col.closed
        assert work.running is None


_RETRAIN = """
import sys
from likewise.collection.collection import Collection
with Collection.open(sys.argv[1]) as col:
    col.retrain(workers=0)
"""


def test_searching_and_judging_while_it_is_rebuilt(root: Path, home: Path) -> None:
    """Another process learns new words; nobody here notices but by the answers."""
    from tests.product.server.conftest import client_of

    rebuild = subprocess.Popen(
        [sys.executable, "-c", _RETRAIN, str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with client_of(root) as client:
        ids = client.ids()
        before = client.get_json("/api/collection")["spaces"]
        turns = 0
        while rebuild.poll() is None:
            picture = ids[turns % N]
            assert client.search(picture)["total"] == N - 1
            assert client.search(picture, by="words")["total"] == N - 1
            if turns < 30:
                said = {"query": {"picture": picture}, "liked": [ids[(turns + 1) % N]]}
                client.post_json("/api/judge", said)
            turns += 1
            time.sleep(0.05)  # leave the other one some of the processor
        assert rebuild.returncode == 0, rebuild.communicate()[1]
        rebuild.communicate()
        after = client.get_json("/api/collection")["spaces"]
        generations = [
            {space["name"]: space["generation"] for space in some} for some in (before, after)
        ]
        assert generations[1]["words"] > generations[0]["words"]
        assert client.search(ids[0], by="words")["total"] == N - 1
        log = client.get_json("/api/profiles/default/log")
        assert len(log["items"]) == min(turns, 30)
        assert client.post_json("/api/collection/verify", {}) == {"wrong": []}


def check_a_kill_loses_nothing(server: Process, root: Path) -> None:
    """An acknowledged judgement is in the log, whatever happens next."""
    asker = Asker(server)
    ids = asker.ids()
    said: dict[int, tuple[str, str]] = {}
    enough = threading.Event()

    def judging(first: int) -> None:
        own = Asker(server)
        for i in range(10_000):
            query, liked = ids[first], ids[2 + i % (N - 2)]
            try:
                body = {"query": {"picture": query}, "liked": [liked]}
                said[own.post("/api/judge", body)["judgement"]] = (query, liked)
            except httpx.HTTPError:
                return
            if len(said) >= 12:
                enough.set()

    threads = [threading.Thread(target=judging, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    assert enough.wait(PATIENCE)
    assert server.ended(signal.SIGKILL) == -signal.SIGKILL
    for thread in threads:
        thread.join(PATIENCE)
    with Collection.open(root) as col:
        lines = {line.number: line for line in col.log.entries()}
        for number, (query, liked) in said.items():
            line = lines[number]
            assert line.stands
            assert (line.query, line.liked) == (ids.index(query) + 1, (ids.index(liked) + 1,))
        # One more may have been written and not been told to each of the two.
        assert len(said) <= len(lines) <= len(said) + 2
        assert col.verify() == []


@pytest.mark.slow
def test_bytes_on_the_wire_a_browser_and_a_kill(start: Start, root: Path) -> None:
    """Requests as nobody should send them: the server answers something sensible, and goes on."""
    server = start("serve", "-C", root, "--port", 0)
    port = server.said["port"]
    own = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {server.said['key']}\r\n"
    for text, codes in (
        (f"GET /page/../app.py HTTP/1.1\r\n{own}\r\n", "404"),
        (f"GET /page/%2e%2e/app.py HTTP/1.1\r\n{own}\r\n", "404"),
        (f"GET /page/%00 HTTP/1.1\r\n{own}\r\n", "404"),
        (f"GET //etc/passwd HTTP/1.1\r\n{own}\r\n", "404"),
        (f"GET /{'a' * 100_000} HTTP/1.1\r\n{own}\r\n", "400 404 414 431"),
        (f"GET /?{'a=1&' * 3_000} HTTP/1.1\r\n{own}\r\n", "200"),
        (f"GET / HTTP/1.1\r\n{own}Host: evil\r\n\r\n", "400 421"),
        ("GET / HTTP/1.1\r\n\r\n", "400 421"),
        ("GET / HTTP/1.0\r\n\r\n", "421"),
        ("nonsense\r\n\r\n", "400"),
        (f"GET /api/health HTTP/1.1\r\n{own}Upgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n", "200 400"),
        (f"POST /api/search HTTP/1.1\r\n{own}Content-Length: 99999999\r\n\r\n", "413"),
        (f"POST /api/search HTTP/1.1\r\n{own}Content-Type: application/json\r\n"
         f"Transfer-Encoding: chunked\r\n\r\n110000\r\n{' ' * 0x110000}\r\n0\r\n\r\n", "413"),
        (f"POST /api/undo HTTP/1.1\r\n{own}Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"),
    ):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
            try:
                line.sendall(text.encode())
                said = line.recv(4096).decode()
            except ConnectionError:
                continue  # it hung up on us in the middle of a long request
            assert said.startswith("HTTP/1.1 "), text[:60]
            assert said.split()[1] in codes.split(), (text[:80], said[:300])
            assert "import " not in said
    assert Asker(server).ids()
    # A ticket works once, in whichever browser comes first.
    place = server.said["url"].replace(server.base, "")
    with httpx.Client(base_url=server.base, trust_env=False) as browser:
        assert browser.get(place).status_code == 303
        assert browser.get("/").status_code == 200
        assert browser.get("/api/health").status_code == 200
        answer = browser.post("/api/similarities/use", json={"name": "words"})
        assert answer.status_code == 403
        own_page = {"origin": server.base}
        answer = browser.post("/api/similarities/use", json={"name": "words"}, headers=own_page)
        assert answer.status_code == 200
    with httpx.Client(base_url=server.base, trust_env=False) as late:
        assert late.get(place).status_code == 401
    check_a_kill_loses_nothing(server, root)
