"""Packs: kept thumbnails, one behind the other in a few files.

A file of its own costs a small JPEG more than its pixels do: a name, an inode and an entry in the
file system's journal each.  So they are appended to a pack, and a line of the list beside it says
where each lies.  Any number of processes append at the same time, without a lock: what the system
appends lies in one piece, and a line is believed only if the bytes it names have its sum, so the
worst that a crash, a full disk or another machine's file system can do is to lose a copy that is
made again.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from likewise_methods.durable_files import private_folder

A_PACK = 32 << 20
"""Bytes from which on a pack is full, and the next one begins; packs go as a whole."""
PACK, LIST = ".jpegs", ".list"
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

Key = tuple[bytes, int]
"""What a thumbnail shows, and its longer side."""


class _Place(NamedTuple):
    pack: int
    at: int
    length: int
    sum: int


class ThumbnailPacks:
    """The packs in one folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     packs = ThumbnailPacks(Path(folder))
    ...     packs.put((b"content", 320), b"a JPEG")
    ...     packs.get((b"content", 320)), packs.get((b"another", 320))
    (b'a JPEG', None)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._places: dict[Key, _Place] = {}
        self._read: dict[int, int] = {}
        """Bytes of each list that are known."""
        self._current = 0
        """The pack that is appended to; 0 until that must be known."""

    def put(self, key: Key, content: bytes) -> None:
        """Append a thumbnail; an ``OSError`` if that cannot be."""
        with self._lock:
            self._current = self._current or max(_numbers(self._folder), default=1)
            try:
                place = self._append(content)
            except FileNotFoundError:  # the first, or the folder was deleted
                private_folder(self._folder)
                self._current = max(_numbers(self._folder), default=1)
                place = self._append(content)
            # On a line of its own even behind one that a full disk cut off.
            line = f"\n{key[0].hex()} {key[1]} {place.at} {place.length} {place.sum:08x}\n"
            _append(self._path(place.pack, LIST), line.encode())
            if place.at + place.length >= A_PACK:
                self._current += 1

    def _append(self, content: bytes) -> _Place:
        at = _append(self._path(self._current, PACK), content)
        return _Place(self._current, at, len(content), crc32(content))

    def get(self, key: Key) -> bytes | None:
        """A kept thumbnail; one that is not what was put is none."""
        with self._lock:
            content = self._content(key)
            if content is None:
                self._look()
                content = self._content(key)
            return content

    def _content(self, key: Key) -> bytes | None:
        place = self._places.get(key)
        if place is None:
            return None
        try:
            with open(self._path(place.pack, PACK), "rb", buffering=0) as file:
                file.seek(place.at)
                content = file.read(place.length)
        except OSError:
            return None
        return content if crc32(content) == place.sum and len(content) == place.length else None

    def kept(self) -> set[Key]:
        """Everything that the lists name."""
        with self._lock:
            self._look()
            return set(self._places)

    def _look(self) -> None:
        """Read what was appended to the lists since the last look, by whoever."""
        numbers = _numbers(self._folder)
        if not self._read.keys() <= set(numbers):  # pruned, or deleted as a whole
            self._places.clear()
            self._read.clear()
        for number in numbers:
            known = self._read.get(number, 0)
            with suppress(OSError), open(self._path(number, LIST), "rb") as file:
                if os.fstat(file.fileno()).st_size < known:  # deleted, and begun again
                    known = 0
                file.seek(known)
                added = file.read()
                whole = added.rfind(b"\n") + 1
                for line in added[:whole].splitlines():
                    self._note(number, line)
                self._read[number] = known + whole

    def _note(self, number: int, line: bytes) -> None:
        with suppress(ValueError):  # a line that was cut off, or is damaged
            key, side, at, length, sum_ = line.split()
            place = _Place(number, int(at), int(length), int(sum_, 16))
            # Beyond that no thumbnail lies: reading one must not ask for all memory there is.
            if 0 <= place.at < 2 * A_PACK and 0 <= place.length <= A_PACK:
                self._places[bytes.fromhex(key.decode()), int(side)] = place

    def prune(self, most: int) -> None:
        """Drop the oldest packs until what is left takes no more than ``most`` bytes."""
        sizes: dict[int, int] = {}
        for number in _numbers(self._folder):
            with suppress(OSError):
                sizes[number] = os.stat(self._path(number, PACK)).st_size
        left = sum(sizes.values())
        for number in sorted(sizes):
            if left <= most:
                return
            try:
                # The list last: by its number no other pack is named while this one is there.
                for suffix in (PACK, LIST):
                    with suppress(FileNotFoundError):
                        os.unlink(self._path(number, suffix))
            except OSError:  # Windows removes no open file
                return
            left -= sizes[number]

    def _path(self, number: int, suffix: str) -> str:
        # A plain text: a Path takes as long to make as the file to open.
        return os.path.join(self._folder, f"{number:06d}{suffix}")


@lru_cache(maxsize=8)
def packs_in(folder: Path) -> ThumbnailPacks:
    """The packs of a folder: one object a process, since it holds what the lists say."""
    return ThumbnailPacks(folder)


def _numbers(folder: Path) -> list[int]:
    """Packs there are, the oldest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = (name.removesuffix(LIST) for name in names if name.endswith(LIST))
    return sorted(int(name) for name in found if name.isascii() and name.isdigit())


def _append(path: str, content: bytes) -> int:
    """Where in the file the bytes begin now; an ``OSError`` if not all of them are there."""
    handle = os.open(path, _APPEND, 0o600)
    try:
        if os.write(handle, content) != len(content):
            raise OSError(f"{path} cannot be written whole")
        return os.lseek(handle, 0, os.SEEK_CUR) - len(content)
    finally:
        os.close(handle)
