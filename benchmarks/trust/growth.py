"""How much more memory a server holds after thousands of judgements, and of searches.

Eight clients judge as somebody would who sees two kinds of pictures, so that nothing is
contradicted; then they only search.  Memory is that of the process which no file stands behind
(``RssAnon``), read when a number of requests is answered: a figure by the request does not depend
on what else the machine does.  The first of each are not counted: they load what is needed.
"""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from likewise.collection.collection import Collection

CLIENTS = 8
PICTURES = 320
"""Enough for the space that judgements of pairs teach."""
WARM = 1_000
_PATIENCE = 120.0

Ask = Callable[[httpx.Client, random.Random, list[str]], httpx.Response]


def judge(client: httpx.Client, rng: random.Random, ids: list[str]) -> httpx.Response:
    kind = rng.randrange(2)
    query, liked = rng.sample(ids[kind::2], 2)
    said = {
        "query": {"picture": query}, "liked": [liked], "disliked": [rng.choice(ids[1 - kind :: 2])]
    }  # fmt: skip
    return client.post("/api/judge", json=said)


def search(client: httpx.Client, rng: random.Random, ids: list[str]) -> httpx.Response:
    return client.post("/api/search", json={"query": {"picture": rng.choice(ids)}, "limit": 50})


def run(
    n: int,
    write_pictures: Callable[[Path, int, int], Path],
    serve: Callable[[Path], Any],
    headers: dict[str, str],
) -> list[dict[str, Any]]:
    """The table's rows: so many judgements, then so many searches."""
    with tempfile.TemporaryDirectory() as home:
        root = Path(home) / "photos.lw"
        with Collection.create(root) as col:
            col.add(write_pictures(Path(home) / "pictures", PICTURES, 0))
        server = serve(root)
        try:
            rows = []
            for what, ask in (("judgements", judge), ("searches", search)):
                _ask(server.url, headers, ask, min(WARM, n), seed=1)
                before, start = _anonymous(server.process.pid), _processor(server.process.pid)
                _ask(server.url, headers, ask, n, seed=2)
                after, end = _anonymous(server.process.pid), _processor(server.process.pid)
                rows.append(
                    {
                        "what": what,
                        "asked": n,
                        "MB before": round(before / 1000, 1),
                        "MB afterwards": round(after / 1000, 1),
                        "kB each": round((after - before) / n, 1),
                        "CPU ms each": round(1000 * (end - start) / n, 1),
                    }
                )
            return rows
        finally:
            server.kill()


def _ask(url: str, headers: dict[str, str], ask: Ask, n: int, *, seed: int) -> None:
    """Requests of all clients together; whatever is refused ends it."""
    left, lock = iter(range(n)), threading.Lock()
    failed: list[Exception] = []

    def work(number: int) -> None:
        rng = random.Random(1000 * seed + number)
        try:
            with httpx.Client(
                base_url=url, headers=headers, timeout=_PATIENCE, trust_env=False
            ) as client:
                items = client.get(f"/api/pictures?limit={PICTURES}").json()["items"]
                ids = sorted(item["id"] for item in items)
                while True:
                    with lock:
                        if failed or next(left, None) is None:
                            return
                    ask(client, rng, ids).raise_for_status()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _anonymous(pid: int) -> float:
    """kB of memory that no file stands behind."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def _processor(pid: int) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
