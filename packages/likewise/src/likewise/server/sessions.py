"""Sessions that outlive browser and server, and the list of servers that run.

A secret kept with the collection signs sessions.  A browser's cookie and a one-time address (its
*ticket*) are each a time, a random number and a keyed hash of both; neither is stored.  The owner
of the collection can read the secret, so ``likewise admin link`` makes a ticket without asking the
running server.  A new secret ends every session at once, also in a running server, which checks the
file on every request.  Backups copy only what the catalog names, so they leave the secret out.

A session that began with a named key holds its number and ends with the key: each request checks
the catalog.  One that began with the server's own key is signed together with it.

Each running server leaves a small file that it keeps locked.  The operating system drops the lock
when the process ends; the next reader removes a file that is not locked.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NamedTuple

from likewise.catalog.jobs import try_lock
from likewise_methods.durable_files import private_folder, write_whole

FILE = "session.key"
LASTS = 365 * 86_400
"""Seconds from the last renewal to the end of a session."""
RENEWED_AFTER = 30 * 86_400
TICKET_LASTS = 3_600
"""Seconds for which an address of ``likewise admin link`` works."""
_SIGNED = re.compile(
    r"([0-9a-f]{1,12})\.([0-9a-f]{32})(?:\.(k[0-9a-f]{1,8}|s))?\.([0-9a-f]{48})", re.ASCII
)
_OF_KEY, _OF_SERVER = "k", "s"
"""Marks of sessions that began with a named key, and with the server's own key."""
_SECRET = re.compile(rb"[0-9a-f]{64}\n?")


class Session(NamedTuple):
    """A valid session; ``key`` is the id of the named key it began with, None: the owner."""

    age: float
    key: int | None
    mark: str


class Sessions:
    """Signed sessions of a collection; without a folder they end with this process."""

    def __init__(self, root: Path | None = None) -> None:
        self._path = None if root is None else root / FILE
        self._lock = threading.Lock()
        self._secret: bytes | None = None
        self._stamp: tuple[int, ...] | None = None
        self._taken: dict[str, float] = {}
        if self._path is not None:
            try:
                if self._current() is None:
                    self.renew()
            except OSError:
                # A read-only collection: sessions end with the server.
                self._path = None
        if self._path is None:
            self._secret = secrets.token_bytes(32)

    @property
    def lasting(self) -> bool:
        """Return whether sessions outlive this process."""
        return self._path is not None

    @property
    def cookie(self) -> str:
        """Return the name of the cookie.

        It differs by collection: cookies ignore ports, so two servers would overwrite each other's.
        """
        return f"likewise-{self._hash(b'name', '')[:8]}"

    def renew(self) -> None:
        """Make a new secret, which ends every session and every unused address."""
        if self._path is None:
            self._secret = secrets.token_bytes(32)
            return
        write_whole(self._path, secrets.token_hex(32).encode() + b"\n", private=True)
        if self._current() is None:
            raise OSError(f"{self._path} cannot be read back")

    def issue(self, key: int | None = None, *, mark: str = "", server_key: str = "") -> str:
        """Return the cookie of a new session.

        ``key`` is the named key it begins with.  ``server_key`` binds it to the server's own key.
        ``mark`` continues another session.
        """
        if key is not None:
            mark = f"{_OF_KEY}{key:x}"
        elif server_key and not mark:
            mark = _OF_SERVER
        return self._sign(b"session", server_key if mark == _OF_SERVER else "", mark)

    def find(self, offered: str | None, server_key: str = "") -> Session | None:
        """Return the session of a cookie; None if it is not valid.

        The caller must check in the catalog that its named key still works.
        """
        mark = _mark(offered)
        bound = server_key if mark == _OF_SERVER else ""
        made = None if mark == _OF_SERVER and not bound else self._made(b"session", bound, offered)
        now = time.time()
        if made is None or now - made > LASTS:
            return None
        key = int(mark[1:], 16) if mark.startswith(_OF_KEY) else None
        # A clock that was set back must not end sessions.
        return Session(max(0.0, now - made), key, mark)

    def age(self, offered: str | None) -> float | None:
        """Return the age of an owner's cookie in seconds; None if it is not valid."""
        found = self.find(offered)
        return None if found is None or found.mark else found.age

    def ticket(self, run: str) -> str:
        """Return a ticket that works once, at the server named ``run``."""
        return self._sign(b"ticket", run)

    def take(self, offered: str, run: str) -> bool:
        """Accept a ticket, once and for a short time; return whether it was valid."""
        made = None if _mark(offered) else self._made(b"ticket", run, offered)
        now = time.time()
        if made is None or now - made > TICKET_LASTS:
            return False
        with self._lock:
            self._taken = {one: at for one, at in self._taken.items() if now - at <= TICKET_LASTS}
            if offered in self._taken:
                return False
            # If its own time lies ahead, keep it until that has passed too.
            self._taken[offered] = max(now, made)
        return True

    def _sign(self, use: bytes, bound: str, mark: str = "") -> str:
        said = f"{int(time.time()):x}.{secrets.token_hex(16)}" + (f".{mark}" if mark else "")
        return f"{said}.{self._hash(use, said + bound)}"

    def _made(self, use: bytes, bound: str, offered: str | None) -> float | None:
        """Return the time of a signature of ours; None if it is not ours."""
        found = _SIGNED.fullmatch(offered or "")
        if found is None or self._current() is None:
            return None
        said = offered.rpartition(".")[0] if offered else ""
        if not hmac.compare_digest(self._hash(use, said + bound), found[4]):
            return None
        return float(int(found[1], 16))

    def _hash(self, use: bytes, said: str) -> str:
        secret = self._current()
        if secret is None:
            # The file was deleted, which ends all sessions; new ones need a new secret.
            self.renew()
            secret = self._current()
        assert secret is not None
        return hashlib.blake2b(said.encode(), key=secret, person=use, digest_size=24).hexdigest()

    def _current(self) -> bytes | None:
        """Return the current secret; None if there is none."""
        if self._path is None:
            return self._secret
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return None
        stamp = (now.st_ino, now.st_mtime_ns, now.st_ctime_ns, now.st_size)
        with self._lock:
            if stamp != self._stamp:
                text = self._path.read_bytes()
                self._secret = bytes.fromhex(text.decode()) if _SECRET.fullmatch(text) else None
                self._stamp = stamp
                if os.name != "nt" and now.st_mode & 0o077:
                    with suppress(OSError):
                        os.chmod(self._path, 0o600)
            return self._secret


def _mark(offered: str | None) -> str:
    """Return the mark of a cookie; empty for the owner's."""
    found = _SIGNED.fullmatch(offered or "")
    return "" if found is None else found[3] or ""


FOLDER = "servers"
_A_MOMENT = 0.01
"""Seconds between two attempts: another reader holds the lock for an instant."""


@dataclass(frozen=True)
class Running:
    """A running server: its address, and the name ``run`` that its tickets are signed for.

    ``names`` are its hosts for other machines, none if it listens on loopback only.
    """

    run: str
    pid: int
    host: str
    port: int
    names: tuple[str, ...]
    since: float

    def url(self, ticket: str, name: str | None = None) -> str:
        """Return an address that signs in, for this machine or by another name."""
        return f"{base_url(name or self.host, self.port)}/?token={ticket}"


def base_url(host: str, port: int) -> str:
    """Return a server's URL; "all addresses" becomes this machine's."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{here}]:{port}" if ":" in here else f"http://{here}:{port}"


@contextmanager
def announce(root: Path, server: Running) -> Iterator[bool]:
    """Keep a locked file for a server while it runs; yield False if that fails."""
    folder = root / FOLDER
    place = folder / f"{server.run}.json"
    # Lock it before it gets its name, so that no reader removes it as left over.  Windows cannot
    # rename an open file, but does not let others remove it either.
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
        # Windows only removes a closed file.
        with suppress(OSError):
            place.unlink()


def running_servers(root: Path) -> list[Running]:
    """Return the running servers of a collection, newest first."""
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
    """Lock a file for this process; return whether that worked."""
    for _ in range(3):
        if try_lock(file):
            return True
        time.sleep(_A_MOMENT)
    return False


def this_server(host: str, port: int, names: tuple[str, ...]) -> Running:
    """Return the entry of this process's server."""
    return Running(secrets.token_hex(8), os.getpid(), host, port, names, time.time())
