"""Small copies of pictures: re-encoded, so that no metadata leaves, and kept on disk.

They lie in the collection's folder under the content they show; nothing else refers to them, so
the folder may be deleted at any time.  Adding a picture keeps one from the pixels it has decoded
anyway; the others are made of that, or of the picture, when somebody looks at them.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise._durable import private_folder
from likewise.errors import ImageError
from likewise.images import decode, small_jpeg

FOLDER = "thumbnails"
SIDES = (160, 320, 640)
FIRST_SIDE = 320
"""The one that is kept when a picture is added: what a grid shows."""
QUALITY = 82
MOST_BYTES = 2 << 30
"""Beyond this the oldest thumbnails go, when the server starts."""
_LEFT_BEHIND = 3600.0
"""Seconds after which an unfinished file is nobody's."""


def side_for(wanted: int) -> int:
    """The smallest kept side that is large enough."""
    return next((side for side in SIDES if side >= wanted), SIDES[-1])


def thumbnail(root: Path, key: bytes, path: str, side: int) -> bytes:
    """The JPEG of a picture, from the cache or made now."""
    try:
        return _place(root, key, side).read_bytes()
    except OSError:
        pass
    pixels = _from_larger(root, key, side)
    if pixels is None:
        pixels = decode(path, max_side=side).pixels
    return keep_thumbnail(root, key, pixels, side)


def keep_thumbnail(root: Path, key: bytes, pixels: NDArray[np.uint8], side: int) -> bytes:
    """The JPEG of decoded pixels, which are no smaller than it, kept if that can be."""
    place = _place(root, key, side)
    content = small_jpeg(pixels, side, quality=QUALITY)
    part = place.with_name(f"{place.name}.{secrets.token_hex(4)}")
    try:
        private_folder(place.parent.parent)
        private_folder(place.parent)
        part.write_bytes(content)
        os.replace(part, place)
    except OSError:
        # A full or read-only disk costs speed, not the picture.
        try:
            part.unlink(missing_ok=True)
        except OSError:
            return content
    return content


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


def _from_larger(root: Path, key: bytes, side: int) -> NDArray[np.uint8] | None:
    """The pixels of a kept thumbnail that is at least twice as large."""
    for larger in SIDES:
        if larger >= 2 * side:
            try:
                return decode(_place(root, key, larger), max_side=side).pixels
            except (ImageError, OSError):
                continue
    return None
