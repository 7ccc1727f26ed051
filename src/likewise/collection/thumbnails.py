"""Small copies of pictures: re-encoded, so that no metadata leaves, and kept on disk.

They lie in the collection's folder under the content they show; nothing else refers to them, so
the folder may be deleted at any time.  Adding a picture keeps one from the pixels it has decoded
anyway; the others are made of that, or of the picture, when somebody looks at them.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise._durable import private_folder
from likewise.errors import ImageError
from likewise.images import Source, decode, small_jpeg

FOLDER = "thumbnails"
SIDES = (160, 320, 640)
FIRST_SIDE = 320
"""The one that is kept when a picture is added: what a grid shows."""
QUALITY = 82
MOST_BYTES = 2 << 30
"""Beyond this the oldest thumbnails go, when the server starts."""
_JPEG_BEGINS, _JPEG_ENDS = b"\xff\xd8\xff", b"\xff\xd9"
_LEFT_BEHIND = 3600.0
"""Seconds after which an unfinished file is nobody's."""


def side_for(wanted: int) -> int:
    """The smallest kept side that is large enough."""
    return next((side for side in SIDES if side >= wanted), SIDES[-1])


def small_copy(source: Source, side: int, quality: int = QUALITY) -> bytes:
    """The small JPEG of a picture, made here."""
    return small_jpeg(decode(source, max_side=side).pixels, side, quality=quality)


def thumbnail(
    root: Path,
    key: bytes,
    find_file: Callable[[], str],
    side: int,
    make: Callable[[Source, int], bytes] = small_copy,
) -> bytes:
    """The JPEG of a picture, from the cache or made now.

    ``find_file`` says where the picture lies; it is asked only when that must be known.
    """
    kept = _kept(root, key, side)
    if kept is not None:
        return kept
    for larger in SIDES:
        if larger >= 2 * side and _kept(root, key, larger) is not None:
            try:
                return _keep(root, key, make(str(_place(root, key, larger)), side), side)
            except ImageError:
                continue
    return _keep(root, key, make(find_file(), side), side)


def keep_thumbnail(root: Path, key: bytes, pixels: NDArray[np.uint8], side: int) -> bytes:
    """The JPEG of decoded pixels, which are no smaller than it, kept if that can be."""
    return _keep(root, key, make_thumbnail(pixels, side), side)


def make_thumbnail(pixels: NDArray[np.uint8], side: int) -> bytes:
    """The JPEG of decoded pixels, which are no smaller than it."""
    return small_jpeg(pixels, side, quality=QUALITY)


def put_thumbnail(root: Path, key: bytes, content: bytes, side: int) -> None:
    """Keep a JPEG that was made elsewhere, if that can be."""
    _keep(root, key, content, side)


def _kept(root: Path, key: bytes, side: int) -> bytes | None:
    """A kept thumbnail; one that a full disk or a dead machine cut off is none."""
    try:
        content = _place(root, key, side).read_bytes()
    except OSError:
        return None
    return content if content[:3] == _JPEG_BEGINS and content[-2:] == _JPEG_ENDS else None


def _keep(root: Path, key: bytes, content: bytes, side: int) -> bytes:
    place = str(_place(root, key, side))
    # A full or read-only disk costs speed, not the picture.
    with suppress(OSError):
        try:
            _write_new(place, content)
        except FileNotFoundError:  # the first of its folder
            private_folder(root / FOLDER)
            private_folder(Path(place).parent)
            _write_new(place, content)
        except FileExistsError:
            # Kept meanwhile by somebody else, or cut off: whoever reads it sees one or the other.
            part = f"{place}.{secrets.token_hex(4)}"
            _write_new(part, content)
            try:
                os.replace(part, place)
            except OSError:  # Windows replaces no file that somebody reads
                os.unlink(part)
    return content


def _write_new(path: str, content: bytes) -> None:
    """A new file, under its own name: who reads it too early finds no whole JPEG, and a second name
    would cost half as much again as the file."""
    file = open(path, "xb", buffering=0)  # noqa: SIM115 (what is there already is not removed)
    is_whole = False
    try:
        with file:
            is_whole = file.write(content) == len(content)
    finally:
        if not is_whole:
            os.unlink(path)  # closed by now: Windows removes no open file


def prune(root: Path, most: int = MOST_BYTES) -> None:
    """Drop the oldest thumbnails beyond the limit, and what a killed server left unfinished."""
    found = []
    for path in (root / FOLDER).glob("*/*"):
        try:
            status = path.stat()
            if path.suffix == ".jpg":
                found.append((status.st_mtime, status.st_size, path))
            elif time.time() - status.st_mtime > _LEFT_BEHIND:
                path.unlink(missing_ok=True)
        except OSError:
            continue
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= most:
            return
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return
        left -= size


def _place(root: Path, key: bytes, side: int) -> Path:
    name = key.hex()
    return root / FOLDER / name[:2] / f"{name}-{side}.jpg"
