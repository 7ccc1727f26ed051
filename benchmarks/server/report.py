"""The server at work: CPU of a request, a judgement to its re-ranked answer, requests a second.

A generated collection of 50,000 pictures (100,000 words, the same as in ``make bench-collection``)
behind ``likewise serve`` in a process of its own, asked over loopback from another.  CPU time is
that of the server's process alone, all its threads together.  Run by ``make bench-server``.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.collection.report import generate
from likewise.collection.collection import Collection

PICTURES = 50_000
CLIENTS = (1, 4, 16)
_WARM = 5


def main() -> None:
    options = harness.arguments(__doc__ or "")
    pictures = 1_000_000 if options.full else PICTURES
    report = harness.Report(
        "server",
        "The server at work",
        f"{pictures:,} generated pictures" + (" (FULL)" if options.full else ""),
        {"seed": options.seed},
    )
    with tempfile.TemporaryDirectory(prefix="likewise-server-") as folder:
        root = Path(folder) / "generated.lw"
        generate(root, pictures, options.seed)
        measure(report, root, pictures, seed=options.seed)
    report.write()


def measure(
    report: harness.Report,
    root: Path,
    pictures: int,
    *,
    seed: int = 0,
    requests: int = 300,
    judgements: int = 60,
    load: int = 600,
    clients: Sequence[int] = CLIENTS,
) -> None:
    """All tables, of one server that is started here and ended here."""
    with Collection.open(root) as col:
        col.use("words")
    with served(root) as server, closing(Asker(server)) as asker:
        memory = [{"when": "started", **server.memory()}]
        ids = asker.some_ids(requests + judgements + 50, pictures, seed)
        report.add("One request at a time", request_rows(asker, ids, requests))
        report.add("From a judgement to the re-ranked answer", judging_rows(asker, ids, judgements))
        memory.append({"when": "after the tables above", **server.memory()})
        rows = [load_row(server, ids[:100], n, load) for n in clients]
        report.add("Requests a second", rows)
        memory.append({"when": f"after {clients[-1]} clients", **server.memory()})
        report.add("Memory", memory)


# -- the server's process -------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    pid: int
    port: int
    key: str

    def cpu(self) -> float:
        """CPU seconds of the process so far (Linux: the clock of another process)."""
        return time.clock_gettime(((~self.pid) << 3) | 2)

    def memory(self) -> dict[str, object]:
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return {
            "resident MB": int(found["VmRSS"].split()[0]) * 1024 / 1e6,
            "threads": int(found["Threads"]),
        }


@contextmanager
def served(root: Path) -> Iterator[Server]:
    """``likewise serve`` in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", "serve", "-C", str(root), "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    try:
        assert process.stdout is not None
        lines = takewhile(lambda line: line != "}\n", process.stdout)
        said = json.loads("".join([*lines, "}"]))
        yield Server(process.pid, said["port"], said["key"])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


class Asker:
    """One client with one connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._line = http.client.HTTPConnection("127.0.0.1", server.port)
        self._headers = {
            "Authorization": f"Bearer {server.key}",
            "Content-Type": "application/json",
        }

    def close(self) -> None:
        self._line.close()

    def __call__(self, method: str, place: str, said: Any = None) -> Any:
        body = None if said is None else json.dumps(said)
        self._line.request(method, place, body, self._headers)
        answer = self._line.getresponse()
        content = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {place}: {answer.status} {content[:500]!r}")
        return json.loads(content)

    def search(self, picture: str, limit: int, **more: Any) -> Any:
        said = {"query": {"picture": picture}, "limit": limit, **more}
        return self("POST", "/api/search", said)

    def some_ids(self, n: int, pictures: int, seed: int) -> list[str]:
        """Names of pictures drawn from the whole collection, each once."""
        rng = np.random.default_rng(seed)
        found: dict[str, None] = {}
        while len(found) < min(n, pictures):
            offset = int(rng.integers(0, pictures))
            page = self("GET", f"/api/pictures?sort=added&limit=10&offset={offset}")
            found |= dict.fromkeys(item["id"] for item in page["items"])
        names = list(found)
        return [names[i] for i in rng.permutation(len(names))[:n]]


# -- tables ---------------------------------------------------------------------------------


def timed(server: Server, calls: Sequence[Callable[[], object]]) -> dict[str, object]:
    """Median and 99th percentile of the server's CPU and of the wall clock."""
    cpu, wall = [], []
    for number, call in enumerate(calls):
        before, start = server.cpu(), time.perf_counter()
        call()
        if number >= _WARM:
            wall.append(time.perf_counter() - start)
            cpu.append(server.cpu() - before)
    return {
        "requests": len(cpu),
        "CPU p50 ms": 1000 * float(np.median(cpu)),
        "CPU p99 ms": 1000 * float(np.quantile(cpu, 0.99)),
        "wall p50 ms": 1000 * float(np.median(wall)),
        "wall p99 ms": 1000 * float(np.quantile(wall, 0.99)),
    }


def request_rows(asker: Asker, ids: Sequence[str], n: int) -> list[dict[str, object]]:
    few = max(_WARM + 1, n // 6)

    def row(what: str, count: int, call: Callable[[str], object]) -> dict[str, object]:
        calls = [partial(call, ids[i % len(ids)]) for i in range(count + _WARM)]
        return {"what": what, **timed(asker.server, calls)}

    last = ids[0]
    asker.search(last, 200)
    return [
        row("new search, 20 results", n, lambda i: asker.search(i, 20)),
        row("new search, 200 results", n, lambda i: asker.search(i, 200)),
        row("next page of 200", few, lambda _: asker.search(last, 200, offset=200)),
        row("search by date, 200 of 10,000", few, lambda i: asker.search(i, 200, sort="date")),
        row("the collection by date, 200", few, lambda _: asker("GET", "/api/pictures")),
        row("one picture", few, lambda i: asker("GET", f"/api/pictures/{i}")),
        row("similarities", few, lambda _: asker("GET", "/api/similarities")),
        row("the collection's figures", few, lambda _: asker("GET", "/api/collection")),
        row("health", few, lambda _: asker("GET", "/api/health")),
    ]


def judging_rows(asker: Asker, ids: Sequence[str], n: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    server = asker.server
    spent: dict[str, list[float]] = {"judge": [], "search again": [], "both": []}
    for turn in range(n + _WARM):
        picture = ids[-1 - turn % len(ids)]
        shown = [item["id"] for item in asker.search(picture, 20)["items"]]
        chosen = [str(name) for name in rng.permutation(shown)]
        said = {
            "query": {"picture": picture}, "liked": chosen[:3], "disliked": chosen[3:5],
            "shown": shown,
        }  # fmt: skip
        start = server.cpu()
        asker("POST", "/api/judge", said)
        middle = server.cpu()
        again = asker.search(picture, 200)
        end = server.cpu()
        if again["learned"] != {"liked": 3, "disliked": 2}:
            raise RuntimeError(f"the answer does not know the judgement: {again['learned']}")
        if turn >= _WARM:
            spent["judge"].append(middle - start)
            spent["search again"].append(end - middle)
            spent["both"].append(end - start)
    rows: list[dict[str, object]] = [
        {
            "what": what,
            "requests": len(values),
            "CPU p50 ms": 1000 * float(np.median(values)),
            "CPU p99 ms": 1000 * float(np.quantile(values, 0.99)),
            "slowest ms": 1000 * max(values),
        }
        for what, values in spent.items()
    ]
    undone = [partial(asker, "POST", "/api/undo", {}) for _ in range(min(n, 15) + _WARM)]
    undo = timed(server, undone)
    rows.append(
        {
            "what": "undo",
            "requests": undo["requests"],
            "CPU p50 ms": undo["CPU p50 ms"],
            "CPU p99 ms": undo["CPU p99 ms"],
        }
    )
    return rows


def load_row(server: Server, ids: Sequence[str], clients: int, count: int) -> dict[str, object]:
    """A bounded number of searches from so many clients in a second process."""
    before = server.cpu()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.server", "--child", str(clients), str(count)],
        input=json.dumps({"port": server.port, "key": server.key, "ids": list(ids)}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the clients failed:\n{done.stderr}")
    said = json.loads(done.stdout)
    spent = server.cpu() - before
    return {
        "clients": clients,
        "requests": said["requests"],
        "requests/s": said["requests"] / said["seconds"],
        "server CPU ms a request": 1000 * spent / said["requests"],
        "client CPU ms a request": 1000 * said["cpu"] / said["requests"],
        "wall p50 ms": 1000 * float(np.median(said["wall"])),
        "wall p99 ms": 1000 * float(np.quantile(said["wall"], 0.99)),
    }


def run_clients(clients: int, count: int) -> None:
    """The second process: its clients share the count.

    There are more pictures to ask for than answers the server keeps, so every search is a new one.
    """
    said = json.loads(sys.stdin.read())
    server = Server(0, said["port"], said["key"])
    wall: list[float] = []
    failed: list[Exception] = []

    def work(first: int) -> None:
        try:
            with closing(Asker(server)) as asker:
                for i in range(first, count, clients):
                    start = time.perf_counter()
                    asker.search(said["ids"][i % len(said["ids"])], 20)
                    wall.append(time.perf_counter() - start)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(clients)]
    cpu, start = time.process_time(), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    sys.stdout.write(
        json.dumps(
            {
                "requests": len(wall),
                "seconds": time.perf_counter() - start,
                "cpu": time.process_time() - cpu,
                "wall": wall,
            }
        )
    )
