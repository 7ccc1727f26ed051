"""Files that are whole or not there: write beside, sync, rename, sync the folder.

A rename replaces a name in one step, so that a reader or a crash meets the old content or the new
one and never half of it.  The content must be on the disk before it gets the name, or a crash
could leave the name with nothing behind it; and the name itself reaches the disk with its folder.
What a crash leaves beside (``.NAME.….part``) is never read again.
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
"""What asks of SQLite on macOS what :func:`_flush` does there; nothing anywhere else."""
_PATIENCE = 2.0
"""Seconds for which Windows is asked again to replace a file that somebody has open."""


def write_whole(
    path: str | os.PathLike[str],
    *parts: bytes | memoryview | Callable[[Put], None],
    unfinished: str | None = None,
    ready: Callable[[Path], None] | None = None,
    sync_name: bool = True,
    private: bool = False,
) -> None:
    """Put ``parts``, one after another, under the name ``path``; on any error nothing changes.

    A part may be a function that is given what to put bytes with, for what nobody holds whole.

    ``unfinished`` is the name the file has while it is written, for a folder whose owner sweeps by
    name.  ``ready`` is called with that file when it is whole, right before it is renamed, and may
    refuse by raising.  ``sync_name=False`` leaves :func:`sync_folder` to the caller, who has more
    files to name in the same folder.  ``private`` makes a file that only its owner may read, from
    its first byte on.
    """
    path = Path(path)
    beside = path.with_name(unfinished or f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "wb", opener=_open_private if private else None) as file:
            for part in parts:
                if callable(part):
                    part(file.write)
                else:
                    file.write(part)
            file.flush()
            _flush(file.fileno())
        if ready is not None:
            ready(beside)
        _rename(beside, path)
    except BaseException as error:
        with suppress(OSError):  # the first error is the one to see
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a disk that is full has a name
        raise
    if sync_name:
        sync_folder(path.parent)


def _flush(handle: int) -> None:
    """What was written to a file, on the disk.

    On macOS ``fsync`` leaves it in the disk's own cache, which a power cut empties; another call
    does not, where the file system knows it.
    """
    if sys.platform == "darwin":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def _rename(source: Path, target: Path) -> None:
    """Replace a name in one step.

    Windows replaces no file that somebody has open, be it to read a line or to look for viruses:
    there it is tried again for a moment.
    """
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
    """Give a file, or a folder and all below it, its name once its content is on the disk.

    Files below a folder are synced by whoever wrote them; the names in it are synced here.
    """
    if part.is_dir():
        for folder, _, _ in os.walk(part):
            sync_folder(Path(folder))
    _rename(part, target)
    sync_folder(target.parent)


def private_folder(path: Path) -> None:
    """A folder for what is its owner's alone; one that is there stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def sync_file(path: Path) -> None:
    """A file that another library wrote, on the disk."""
    # Windows syncs only what may be written to; elsewhere a copy may well be read-only.
    with open(path, "r+b" if os.name == "nt" else "rb") as file:
        _flush(file.fileno())


def sync_folder(folder: Path) -> None:
    """The names in a folder, on the disk.

    Windows opens no folder as a file and so has nothing to sync it by; its file system keeps a
    journal of names.  Some network shares refuse too, and a folder one may write to but not read
    cannot be opened: there a crash may still undo the last rename, which leaves the old content.
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
