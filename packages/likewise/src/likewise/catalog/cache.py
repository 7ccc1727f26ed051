"""Cache of a collection: derived data in one SQLite file next to the catalog.

It holds thumbnails and vectors of texts, which take time to make.  Nothing refers to it, so its
folder may be deleted at any time.  Reading a collection writes only here.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

from likewise.catalog.database import marks, parts
from likewise_methods.durable_files import private_folder

FOLDER = "thumbnails"
FILE = "cache.sqlite"

_SCHEMA = (
    "CREATE TABLE cached (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    " sum INTEGER NOT NULL, content BLOB NOT NULL)"
)
_MAX_BYTES = 32 << 20
"""A damaged or hostile file must not fill the memory."""


class Cache:
    """Blobs by name in one file, shared by any number of threads and processes.

    Errors of the file cost only cached data: a damaged file is replaced, and on a full or read-only
    disk nothing is stored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder))
    ...     cache.put("some", b"content")
    ...     cache.get("some"), cache.get("other")
    ...     cache.close()
    (b'content', None)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def put(self, key: str, content: bytes) -> None:
        """Store a blob if possible."""
        self._run(
            "INSERT OR REPLACE INTO cached (key, sum, content) VALUES (?, ?, ?)",
            (key, crc32(content), content),
            write=True,
        )

    def get(self, key: str) -> bytes | None:
        """Return a stored blob, None if it is missing or damaged."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return those of the blobs that are stored and undamaged."""
        found: dict[str, bytes] = {}
        for part in parts(list(keys)):
            rows = self._run(
                f"SELECT key, sum, content FROM cached WHERE key IN ({marks(part)})"
                " AND length(content) <= ?",
                (*part, _MAX_BYTES),
            )
            found |= {
                key: content
                for key, sum_, content in rows
                if isinstance(content, bytes) and crc32(content) == sum_
            }
        return found

    def names(self) -> list[str]:
        """Return the names of all blobs, the oldest first."""
        return [row[0] for row in self._run("SELECT key FROM cached ORDER BY number")]

    def prune(self, max_bytes: int) -> None:
        """Delete the oldest blobs until the others fit into so many bytes."""
        self._run(
            """DELETE FROM cached WHERE number <= (SELECT max(number) FROM (
                   SELECT number, sum(length(content)) OVER (ORDER BY number DESC) AS size
                   FROM cached) AS sizes WHERE size > ?)""",
            (max_bytes,),
        )

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._disconnect()

    def __del__(self) -> None:
        self._disconnect()

    def _run(self, sql: str, values: Sequence[Any] = (), *, write: bool = False) -> list[Any]:
        """Return the rows of a statement; none if the file cannot be used."""
        with self._lock:
            try:
                return self._connect(write).execute(sql, values).fetchall()
            except sqlite3.OperationalError:
                self._disconnect()  # busy, full, read-only or missing
            except sqlite3.DatabaseError:
                self._disconnect()
                with suppress(OSError):
                    self._path.unlink()
            except OSError:
                pass
            return []

    def _connect(self, write: bool) -> sqlite3.Connection:
        try:
            inode = os.stat(self._path).st_ino
        except FileNotFoundError:
            inode = 0
        if self._connection is not None and inode == self._inode:
            return self._connection
        self._disconnect()
        if not inode:
            if not write:
                raise sqlite3.OperationalError("there is no cache yet")
            private_folder(self._folder)
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        mode = "rw" if os.access(self._path, os.W_OK) and os.access(self._folder, os.W_OK) else "ro"
        c = self._connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}",
            uri=True, timeout=5, isolation_level=None, check_same_thread=False,
        )  # fmt: skip
        c.execute("PRAGMA trusted_schema = OFF")
        c.execute("PRAGMA synchronous = OFF")
        if mode == "rw":
            c.execute("PRAGMA auto_vacuum = FULL")
            c.execute("PRAGMA journal_mode = TRUNCATE")
            c.execute(_SCHEMA.replace("TABLE", "TABLE IF NOT EXISTS", 1))
        found = c.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
        if found != [(_SCHEMA,)]:
            raise sqlite3.DatabaseError("this is another file")
        self._inode = os.stat(self._path).st_ino
        return c

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


@lru_cache(maxsize=8)
def cache_of(root: Path) -> Cache:
    """Return the cache of a collection: one object and one connection per process."""
    return Cache(root / FOLDER)
