"""Small copies of pictures: re-encoded, so that no metadata leaves, and kept on disk.

They lie in the collection's folder (``thumbnail_packs.py``) under the content they show; nothing
else refers to them, so the folder may be deleted at any time.  Adding a picture keeps one from the
pixels it has decoded anyway; the others are made of that, or of the picture, when somebody looks at
them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.thumbnail_packs import packs_in
from likewise.errors import ImageError
from likewise.images.decode import Source, decode, small_jpeg

FOLDER = "thumbnails"
SIDES = (160, 320, 640)
FIRST_SIDE = 320
"""The one that is kept when a picture is added: what a grid shows."""
QUALITY = 82
MOST_BYTES = 2 << 30
"""Beyond this the oldest thumbnails go, when the server starts."""


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
    """The JPEG of a picture, kept or made now.

    ``find_file`` says where the picture lies; it is asked only when that must be known.
    """
    packs = packs_in(root / FOLDER)
    kept = packs.get((key, side))
    if kept is not None:
        return kept
    for larger in SIDES:
        if larger >= 2 * side and (found := packs.get((key, larger))) is not None:
            with suppress(ImageError):
                return _keep(root, key, make(found, side), side)
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


def _keep(root: Path, key: bytes, content: bytes, side: int) -> bytes:
    # A full or read-only disk costs speed, not the picture.
    with suppress(OSError):
        packs_in(root / FOLDER).put((key, side), content)
    return content


def prune(root: Path, most: int = MOST_BYTES) -> None:
    """Drop the oldest thumbnails beyond the limit, and all that an earlier version kept."""
    packs_in(root / FOLDER).prune(most)
    for path in (root / FOLDER).glob("??/*.jpg*"):
        with suppress(OSError):
            path.unlink()
    for folder in (root / FOLDER).glob("??"):
        with suppress(OSError):  # no folder, or something else lies in it
            folder.rmdir()
