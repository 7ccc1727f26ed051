"""Thumbnails: small JPEGs without metadata, cached in one SQLite file in the collection's folder.

A thumbnail is stored under the content of its picture.  Nothing else refers to the cache, so its
folder may be deleted at any time.  Adding a picture caches one thumbnail; other sizes are made on
request.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from likewise.errors import ImageError
from likewise.images.decode import Source, decode, small_jpeg
from likewise_methods.durable_files import private_folder

FOLDER = "thumbnails"
FILE = "thumbnails.sqlite"
SIDES = (160, 320, 640)
FIRST_SIDE = 320
"""The side of the thumbnail that is made when a picture is added."""
QUALITY = 82
MAX_BYTES = 2 << 30
"""Size of the cache beyond which the oldest thumbnails are deleted."""

Key = tuple[bytes, int]
"""The digest of a picture's content, and the longer side of the thumbnail."""

_SCHEMA = (
    "CREATE TABLE thumbnails (number INTEGER PRIMARY KEY, key BLOB NOT NULL, side INTEGER NOT NULL,"
    " sum INTEGER NOT NULL, content BLOB NOT NULL, UNIQUE (key, side))"
)
_MAX_JPEG = 32 << 20
"""A damaged or hostile file must not fill the memory."""
_OLD_FILES = ("*.jpegs", "*.list", "??/*.jpg*")
"""Files in which earlier versions kept thumbnails."""


class ThumbnailCache:
    """The thumbnails in one folder, shared by any number of threads and processes.

    Whatever goes wrong with the file costs only cached thumbnails: a damaged file is replaced, a
    full or read-only disk keeps nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = ThumbnailCache(Path(folder))
    ...     cache.put((b"content", 320), b"a JPEG")
    ...     cache.get((b"content", 320)), cache.get((b"another", 320))
    ...     cache.close()
    (b'a JPEG', None)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def put(self, key: Key, content: bytes) -> None:
        """Cache a thumbnail if possible."""
        self._run(
            "INSERT OR REPLACE INTO thumbnails (key, side, sum, content) VALUES (?, ?, ?, ?)",
            (*key, crc32(content), content),
            write=True,
        )

    def get(self, key: Key) -> bytes | None:
        """Return a cached thumbnail, None if there is none or it is damaged."""
        sql = (
            "SELECT sum, content FROM thumbnails WHERE key = ? AND side = ? AND length(content) < ?"
        )
        for sum_, content in self._run(sql, (*key, _MAX_JPEG)):
            if isinstance(content, bytes) and crc32(content) == sum_:
                return content
        return None

    def stored(self) -> set[Key]:
        """Return what is cached."""
        return set(self._run("SELECT key, side FROM thumbnails"))

    def prune(self, max_bytes: int) -> None:
        """Delete the oldest thumbnails until the others take no more than this."""
        self._run(
            """DELETE FROM thumbnails WHERE number <= (SELECT max(number) FROM (
                   SELECT number, sum(length(content)) OVER (ORDER BY number DESC) AS size
                   FROM thumbnails) WHERE size > ?)""",
            (max_bytes,),
        )

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._disconnect()

    def __del__(self) -> None:
        self._disconnect()

    def _run(self, sql: str, values: Sequence[Any] = (), *, write: bool = False) -> list[Any]:
        """Return the rows of a statement; none where the file does not allow it."""
        with self._lock:
            try:
                return self._connect(write).execute(sql, values).fetchall()
            except sqlite3.OperationalError:
                self._disconnect()  # busy, full, read-only or not there
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
def cache_of(root: Path) -> ThumbnailCache:
    """Return the cache of a collection: one object and one connection per process."""
    return ThumbnailCache(root / FOLDER)


def side_for(wanted: int) -> int:
    """Return the smallest cached side that is large enough."""
    return next((side for side in SIDES if side >= wanted), SIDES[-1])


def small_copy(source: Source, side: int, quality: int = QUALITY) -> bytes:
    """Decode a picture and return a small JPEG of it."""
    return small_jpeg(decode(source, max_side=side).pixels, side, quality=quality)


def make_thumbnail(pixels: NDArray[np.uint8], side: int) -> bytes:
    """Return the JPEG of decoded pixels, which are at least as large."""
    return small_jpeg(pixels, side, quality=QUALITY)


def put_thumbnail(root: Path, key: bytes, content: bytes, side: int) -> None:
    """Cache a thumbnail of a collection if possible."""
    cache_of(root).put((key, side), content)


def thumbnail(
    root: Path,
    key: bytes,
    find_file: Callable[[], str],
    side: int,
    make: Callable[[Source, int], bytes] = small_copy,
) -> bytes:
    """Return the JPEG of a picture: cached, made of a larger thumbnail, or of the picture.

    ``find_file`` returns the path of the picture; it is called only when that is needed.
    """
    cache = cache_of(root)
    if (cached := cache.get((key, side))) is not None:
        return cached
    made = None
    for larger in SIDES:
        if made is None and larger >= 2 * side and (found := cache.get((key, larger))) is not None:
            with suppress(ImageError):
                made = make(found, side)
    if made is None:
        made = make(find_file(), side)
    cache.put((key, side), made)
    return made


def prune(root: Path, max_bytes: int = MAX_BYTES) -> None:
    """Delete the oldest thumbnails beyond the limit, and the files of earlier versions."""
    cache_of(root).prune(max_bytes)
    for pattern in _OLD_FILES:
        for path in (root / FOLDER).glob(pattern):
            with suppress(OSError):
                path.unlink()
    for folder in (root / FOLDER).glob("??"):
        with suppress(OSError):  # not a folder, or not empty
            folder.rmdir()
