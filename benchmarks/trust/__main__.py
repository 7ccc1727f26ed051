"""``make bench-trust``: eight clients, pictures coming in, ``kill -9`` every minute, ten minutes.

Clients search, look at thumbnails, judge, tag and take back; a ninth adds folders of new pictures.
Whatever the server acknowledged is remembered here.  After every kill the next server must answer,
and at the end the collection must hold every acknowledged line and tag, and verify.  The memory of
each life of the server is read every second; then one more server lives on under the same clients
and is not killed, five minutes as before and five in which they only look: a server that grows is
seen, and what it grows by.  How long an undo of an old line
takes is measured by :mod:`benchmarks.trust.undo`, what a judgement leaves in a server's memory by
:mod:`benchmarks.trust.growth`; ``--trials`` makes a table of what ``make trust`` tried.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

from benchmarks import harness
from benchmarks.trust import growth, trials, undo
from likewise.collection.collection import Collection

CLIENTS = 8
PICTURES = 200
MORE = 20
"""Pictures of a folder that comes in while the server runs."""
MINUTES = 10
KILL_EVERY = 60.0
CALM = 5.0
"""Minutes of the server that is not killed."""
WARM = 0.3
"""Share of its life in which a server may still load what it needs."""
LINES = (10_000, 100_000)
ASKED = 5_000
"""Judgements of the server whose growth is measured, and then searches."""
KEY = "a-key-for-this-run-only"
_PATIENCE = 30.0
_TITLE = "Trust: what was acknowledged is there"


def write_pictures(folder: Path, n: int, seed: int) -> Path:
    """Small pictures, each of its own."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for i in range(n):
        coarse = rng.integers(0, 256, (6, 8, 3)).astype(np.uint8)
        pixels = np.kron(coarse, np.ones((24, 24, 1), np.uint8))
        Image.fromarray(pixels).save(folder / f"{seed}-{i:04d}.jpg")
    return folder


class Server:
    """``likewise serve`` in a process of its own."""

    def __init__(self, root: Path, n: int) -> None:
        self.root, self.n = root, n
        command = [sys.executable, "-m", "likewise", "serve", "-C", str(root), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--key", KEY, "--json"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            try:
                self.url = f"http://127.0.0.1:{json.loads(said)['port']}"
                break
            except ValueError:
                continue
        else:
            raise RuntimeError(f"the server ended before it listened: {said!r}")
        self.memory: list[float] = []

    def resident(self) -> float:
        """MB of memory it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(
            int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmRSS")
        )

    def children(self) -> tuple[int, int]:
        """Processes it started that live, and that ended and were never asked how."""
        alive = defunct = 0
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:  # ended meanwhile
                continue
            if int(parent) == self.process.pid:
                alive, defunct = alive + (state != "Z"), defunct + (state == "Z")
        return alive, defunct

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@dataclass
class Record:
    """What was asked and what was acknowledged, by all clients together."""

    asked: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    judgements: set[int] = field(default_factory=set)
    undone: set[int] = field(default_factory=set)
    tags: set[tuple[int, str]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def counts(self) -> tuple[int, int]:
        """Requests and acknowledged judgements so far."""
        with self.lock:
            return sum(self.asked.values()), len(self.judgements)


class Clients:
    """Threads that ask until they are stopped; a server that is gone is waited for."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.server: Server | None = None
        self.only_look = False
        self.stopped = threading.Event()
        self.threads = [
            threading.Thread(target=self._ask, args=(number,), daemon=True)
            for number in range(CLIENTS)
        ]

    def _ask(self, number: int) -> None:
        rng = random.Random(number)
        ids: list[str] = []
        while not self.stopped.is_set():
            server = self.server
            if server is None:
                time.sleep(0.1)
                continue
            headers = {"authorization": f"Bearer {KEY}"}
            try:
                with httpx.Client(
                    base_url=server.url, headers=headers, timeout=_PATIENCE, trust_env=False
                ) as client:
                    if not ids or rng.random() < 0.05:  # more came in
                        items = client.get("/api/pictures?limit=1000").json()["items"]
                        ids = [item["id"] for item in items]
                    for _ in range(20):
                        if self.stopped.is_set():
                            return
                        self._once(client, rng, ids)
            except httpx.TransportError:
                # Killed in the middle: what was on its way was not acknowledged.
                time.sleep(0.2)

    def _once(self, client: httpx.Client, rng: random.Random, ids: list[str]) -> None:
        weights = [6, 2, 6, 0, 0, 0] if self.only_look else [6, 2, 6, 3, 1, 2]
        what = rng.choices(["search", "words", "thumbnail", "judge", "undo", "tag"], weights)[0]
        one, two, three = rng.sample(ids, 3)
        if what == "search":
            answer = client.post("/api/search", json={"query": {"picture": one}, "limit": 50})
        elif what == "words":
            answer = client.post("/api/search", json={"text": f"tag{rng.randrange(9)}"})
        elif what == "thumbnail":
            answer = client.get(f"/api/pictures/{one}/thumbnail?side=160")
        elif what == "judge":
            said = {"query": {"picture": one}, "liked": [two], "disliked": [three]}
            answer = client.post("/api/judge", json=said)
        elif what == "undo":
            answer = client.post("/api/undo", json={})
        else:
            tag = f"tag{rng.randrange(9)}"
            answer = client.post("/api/tags/set", json={"pictures": [one], "add": [tag]})
        with self.record.lock:
            self.record.asked[what] += 1
            if answer.status_code >= 500:
                self.record.failed[f"{what} {answer.status_code}"] += 1
            elif answer.is_success and what == "judge":
                self.record.judgements.add(answer.json()["judgement"])
            elif answer.is_success and what == "undo":
                self.record.undone.add(answer.json()["judgement"])
            elif answer.is_success and what == "tag":
                self.record.tags.add((image_of(one), tag))


def run(
    minutes: float, kill_every: float, calm: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """The trial: what was asked and lost, the memory of each life, and of one that is long."""
    with tempfile.TemporaryDirectory() as home:
        root = Path(home) / "photos.lw"
        with Collection.create(root) as col:
            col.add(write_pictures(Path(home) / "first", PICTURES, 0))
        record, lives = Record(), []
        clients = Clients(record)
        for thread in clients.threads:
            thread.start()
        began, n = time.monotonic(), 0
        while time.monotonic() - began < 60 * minutes:
            n += 1
            server = _live(root, n, clients)
            _add(server, write_pictures(Path(home) / f"more-{n}", MORE, n))
            _watch(server, min(time.monotonic() + kill_every, began + 60 * minutes))
            server.kill()
            clients.server = None
            if server.memory:  # else time was over before it listened
                lives.append(_life(server))
        long: list[dict[str, Any]] = []
        if calm:
            server = _live(root, n + 1, clients)
            _add(server, write_pictures(Path(home) / "calm", MORE, n + 1))
            for what in ("everything", "only looking"):
                # What people say is kept in memory too; what they look at must not be.
                clients.only_look = what == "only looking"
                losses, server.memory = record.counts(), []
                _watch(server, time.monotonic() + 60 * calm)
                long.append({"asked for": what} | _long_life(server, record, losses))
        clients.stopped.set()
        for thread in clients.threads:
            thread.join(60)
        if calm:
            # Workers leave when there is nothing to do; none may stay in the system's table.
            time.sleep(30)
            for row in long:
                row["processes afterwards"], row["defunct"] = server.children()
            server.kill()
        return [_losses(root, record, n)], lives, long


def _live(root: Path, n: int, clients: Clients) -> Server:
    made = clients.server = Server(root, n)
    return made


def _add(server: Server, folder: Path) -> None:
    answer = httpx.post(
        f"{server.url}/api/collection/add",
        json={"folder": str(folder)},
        headers={"authorization": f"Bearer {KEY}"},
        timeout=_PATIENCE,
        trust_env=False,
    )
    answer.raise_for_status()


def _watch(server: Server, until: float) -> None:
    while time.monotonic() < until:
        server.memory.append(server.resident())
        time.sleep(1)


def _long_life(server: Server, record: Record, before: tuple[int, int]) -> dict[str, Any]:
    """How the memory of a server that is not killed goes on, once everything is loaded."""
    warm = server.memory[int(WARM * len(server.memory)) :]
    asked, judged = (now - then for now, then in zip(record.counts(), before, strict=True))
    return {
        "seconds": len(server.memory),
        "requests": asked,
        "judgements": judged,
        "MB when warm": round(float(np.median(warm[:10])), 1),
        "MB at its end": round(float(np.median(warm[-10:])), 1),
        "MB at most": round(max(server.memory), 1),
        "MB a minute": round(slope(warm), 2),
    }


def slope(memory: Sequence[float]) -> float:
    """MB a minute of a reading a second, by least squares."""
    if len(memory) < 2:
        return 0.0
    return float(60 * np.polyfit(np.arange(len(memory)), memory, 1)[0])


def _life(server: Server) -> dict[str, Any]:
    half = len(server.memory) // 2
    return {
        "life": server.n,
        "seconds": len(server.memory),
        "MB after half": round(float(np.median(server.memory[half : half + 5])), 1),
        "MB at its end": round(float(np.median(server.memory[-5:])), 1),
        "MB at most": round(max(server.memory), 1),
    }


def _losses(root: Path, record: Record, kills: int) -> dict[str, Any]:
    with Collection.open(root) as col:
        damage = col.verify()
        lines = {line.number for line in col.log.entries() if line.kind == "judge"}
        lost_tags = [(image, tag) for image, tag in record.tags if tag not in col.tags.of(image)]
        pictures = len(col)
    return {
        "kills": kills,
        "requests": sum(record.asked.values()),
        "of these searches": record.asked["search"] + record.asked["words"],
        "answers 5xx": sum(record.failed.values()),
        "judgements acknowledged": len(record.judgements),
        "of these lost": len(record.judgements - lines),
        "tags acknowledged": len(record.tags),
        "of these gone": len(lost_tags),
        "pictures at the end": pictures,
        "damage found": len(damage),
    }


def image_of(name: str) -> int:
    """The id of a picture by the name the server gives it."""
    return int(name.partition("-")[0], 16)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.trust", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--kill-every", type=float, default=KILL_EVERY, help="seconds")
    parser.add_argument("--calm", type=float, default=CALM, help="minutes without a kill")
    parser.add_argument("--only", choices=["soak", "undo", "growth"], help="a part of it")
    parser.add_argument("--lines", type=int, nargs="*", default=LINES, help="of the logs of undo")
    parser.add_argument("--asked", type=int, default=ASKED, help="judgements, and searches")
    parser.add_argument("--trials", type=Path, help="what make trust wrote; only its table is made")
    parser.add_argument("--full", action="store_true", help="an hour")
    given = parser.parse_args()
    if given.trials:
        report = harness.Report("trust", _TITLE, "make trust")
        report.add("Trials and losses", trials.rows(trials.read(given.trials), harness.RESULTS))
        report.write()
        return 0
    minutes = 60.0 if given.full else given.minutes
    report = harness.Report(
        "trust",
        _TITLE,
        f"{minutes:g} minutes" + (" (full)" if given.full else ""),
        {
            "clients": CLIENTS, "pictures": PICTURES, "kill every": f"{given.kill_every:g} s",
            "without a kill": f"{given.calm:g} minutes",
            "load of the machine at the start": f"{os.getloadavg()[0]:.1f}",
        },
    )  # fmt: skip
    if given.only in (None, "growth"):
        headers = {"authorization": f"Bearer {KEY}"}
        grown = growth.run(given.asked, write_pictures, lambda root: Server(root, 0), headers)
        report.add("What each request leaves in a server's memory", grown)
    if given.only == "growth":
        report.write()
        return 0
    if given.only != "soak":
        rows: list[dict[str, Any]] = []
        for lines in given.lines:
            rows += undo.run(lines)
            sys.stderr.write(f"{rows}\n")
        report.add("An old line is taken back or contradicted", rows)
    if given.only == "undo":
        report.write()
        return 0
    losses, lives, long = run(minutes, given.kill_every, given.calm)
    report.add("A server killed again and again under eight clients", losses)
    report.add("Memory of each life of the server", lives)
    if long:
        report.add("Memory of a server that is not killed", long)
    report.write()
    (one,) = losses
    bad = one["of these lost"] or one["of these gone"] or one["answers 5xx"] or one["damage found"]
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    raise SystemExit(main())
