"""Small copies of pictures: re-encoded, so that no metadata leaves, and kept on disk.

They lie in the collection's folder under the content they show; nothing else refers to them, so
the folder may be deleted at any time.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

from likewise.collection.integrity import THUMBNAILS
from likewise.errors import LikewiseError
from likewise.images import decode, small_jpeg

SIDES = (160, 320, 640)
MOST_BYTES = 2 << 30
"""Beyond this the oldest thumbnails go, when the server starts."""
_LEFT_BEHIND = 3600.0
"""Seconds after which an unfinished file is nobody's."""


class LostPicture(LikewiseError):
    """A picture whose file is not where it was."""


def side_for(wanted: int) -> int:
    """The smallest kept side that is large enough."""
    return next((side for side in SIDES if side >= wanted), SIDES[-1])


def thumbnail(root: Path, key: bytes, path: str, side: int) -> bytes:
    """The JPEG of a picture, from the cache or made now."""
    name = key.hex()
    place = root / THUMBNAILS / name[:2] / f"{name}-{side}.jpg"
    try:
        return place.read_bytes()
    except OSError:
        pass
    content = small_jpeg(decode(path, max_side=side).pixels, side, quality=82)
    part = place.with_name(f"{place.name}.{secrets.token_hex(4)}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
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
    for path in (root / THUMBNAILS).glob("*/*"):
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
