"""Which servers of a collection run: each leaves a small file, locked for as long as it lives.

The lock is the operating system's and goes with the process, however that ended; a file that nobody
holds is left over and removed by whoever looks next.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from likewise.catalog.jobs import try_lock
from likewise_methods.durable_files import private_folder

FOLDER = "servers"
_A_MOMENT = 0.01
"""Seconds after which it is tried again: somebody else who looks holds the lock for an instant."""


@dataclass(frozen=True)
class Running:
    """A server: where it listens, and the name that tickets for it bear.

    ``names`` are hosts that other machines know it by, none where it listens on loopback only.
    """

    run: str
    pid: int
    host: str
    port: int
    names: tuple[str, ...]
    since: float

    def url(self, ticket: str, name: str | None = None) -> str:
        """An address that lets in, for this machine or by another name."""
        return f"{base_url(name or self.host, self.port)}/?token={ticket}"


def base_url(host: str, port: int) -> str:
    """An address as a browser takes it; one that means all addresses becomes this machine's."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{here}]:{port}" if ":" in here else f"http://{here}:{port}"


@contextmanager
def announce(root: Path, server: Running) -> Iterator[bool]:
    """Leave word of a server while it runs; False where nothing can be written."""
    folder = root / FOLDER
    place = folder / f"{server.run}.json"
    # Locked before it has its name: nobody may take it for one that was left behind.  Windows
    # renames no open file, but lets nobody remove one either.
    part = place if os.name == "nt" else folder / f".{secrets.token_hex(8)}.part"
    try:
        private_folder(folder)
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except OSError:
        yield False
        return
    try:
        with open(handle, "w+", encoding="utf-8") as file:
            held = _take(file)
            json.dump(asdict(server), file)
            file.flush()
            if part != place:
                os.replace(part, place)
            yield held
    finally:
        # Closed by now: else Windows would not remove it.
        with suppress(OSError):
            place.unlink()


def running_servers(root: Path) -> list[Running]:
    """Servers of a collection that run now, the newest first."""
    found: list[Running] = []
    for path in sorted((root / FOLDER).glob("*.json")):
        try:
            with open(path, "r+", encoding="utf-8") as file:
                is_left_over = _take(file)
                file.seek(0)
                said = None if is_left_over else json.load(file)
            if said is None:
                path.unlink(missing_ok=True)
                continue
            found.append(Running(**{**said, "names": tuple(said["names"])}))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(found, key=lambda one: one.since, reverse=True)


def _take(file: IO[str]) -> bool:
    """Whether nobody held a file; this process does from now on."""
    for _ in range(3):
        if try_lock(file):
            return True
        time.sleep(_A_MOMENT)
    return False


def describe(host: str, port: int, names: tuple[str, ...]) -> Running:
    """The server of this very process."""
    return Running(secrets.token_hex(8), os.getpid(), host, port, names, time.time())
