"""Thumbnails: small JPEGs without metadata, kept in the collection's cache.

Adding a picture keeps one thumbnail; other sizes are made on request.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.cache import FOLDER, cache_of
from likewise.errors import ImageError
from likewise.images.decode import Source, decode, small_jpeg

SIDES = (160, 320, 640)
FIRST_SIDE = 320
"""The side of the thumbnail that is made when a picture is added."""
QUALITY = 82
MAX_BYTES = 2 << 30
"""Size of the cache beyond which the oldest thumbnails are deleted."""
_OLD_FILES = ("*.jpegs", "*.list", "??/*.jpg*")
"""Files in which earlier versions kept thumbnails."""


def cache_key(key: bytes, side: int) -> str:
    """Return the name of a thumbnail: the digest of the picture's content, and the longer side."""
    return f"{key.hex()}-{side}"


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
    cache_of(root).put(cache_key(key, side), content)


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
    if (cached := cache.get(cache_key(key, side))) is not None:
        return cached
    made = None
    for larger in SIDES:
        if made is None and larger >= 2 * side and (found := cache.get(cache_key(key, larger))):
            with suppress(ImageError):
                made = make(found, side)
    if made is None:
        made = make(find_file(), side)
    cache.put(cache_key(key, side), made)
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
