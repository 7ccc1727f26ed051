"""Write files atomically and durably: write a temporary file, sync, rename, sync the folder.

Readers and crashes see the old content or the new one, never a part.  The content is synced before
the rename, and the name with its folder.  Temporary files after a crash (``.NAME.….part``) are
never read.
"""

from __future__ import annotations

import errno
import os
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Put = Callable[[bytes | memoryview], object]

CATALOG_SYNC = "PRAGMA fullfsync = ON"
"""Makes SQLite sync on macOS as :func:`_flush` does; has no effect elsewhere."""
_PATIENCE = 2.0
"""Seconds to retry replacing a file that another program has open, on Windows."""


def write_whole(
    path: str | os.PathLike[str],
    *parts: bytes | memoryview | Callable[[Put], None],
    unfinished: str | None = None,
    ready: Callable[[Path], None] | None = None,
    sync_name: bool = True,
    private: bool = False,
) -> None:
    """Write ``parts`` to the file ``path``; on any error nothing changes.

    A part may be a function that is called with the function to write bytes.  ``unfinished`` is the
    name of the temporary file.  ``ready`` is called with the complete temporary file before the
    rename, and may raise.  With ``sync_name=False`` the caller calls :func:`sync_folder`.
    ``private`` creates a file that only its owner can read.
    """
    path = Path(path)
    temporary = path.with_name(unfinished or f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "wb", opener=_open_private if private else None) as file:
            for part in parts:
                if callable(part):
                    part(file.write)
                else:
                    file.write(part)
            file.flush()
            _flush(file.fileno())
        if ready is not None:
            ready(temporary)
        _rename(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # keep the first error
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk
        raise
    if sync_name:
        sync_folder(path.parent)


def _flush(handle: int) -> None:
    """Sync a file to the disk; on macOS also the disk's own cache, which ``fsync`` does not."""
    if sys.platform == "darwin":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def _rename(source: Path, target: Path) -> None:
    """Rename a file atomically; retry on Windows, where an open file cannot be replaced."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if os.name != "nt" or time.monotonic() > until:
                raise
        time.sleep(_PATIENCE / 100)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def rename_whole(part: Path, target: Path) -> None:
    """Rename a file or folder whose files were synced; sync all names."""
    if part.is_dir():
        for folder, _, _ in os.walk(part):
            sync_folder(Path(folder))
    _rename(part, target)
    sync_folder(target.parent)


def private_folder(path: Path) -> None:
    """Create a folder that only its owner can read, unless it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def sync_file(path: Path) -> None:
    """Sync a file that another library wrote."""
    # Windows syncs only writable files; elsewhere a file may be read-only.
    with open(path, "r+b" if os.name == "nt" else "rb") as file:
        _flush(file.fileno())


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk.

    Not possible on Windows (its file system keeps a journal), on some network shares, and for
    folders without read permission; there a crash may undo the last rename.
    """
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        _flush(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)
