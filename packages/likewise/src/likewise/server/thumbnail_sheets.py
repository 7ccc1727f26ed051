"""Draw sheets of tiny square pictures, so that a map of thousands needs only a few requests.

A sheet holds :data:`A_SHEET` pictures in rows of :data:`ACROSS`; the page knows the order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.thumbnails import SIDES, thumbnail
from likewise.errors import LikewiseError
from likewise.images.decode import Source, decode, probe, small_jpeg

SPRITE = 40
"""The side of a picture on a sheet."""
ACROSS = 16
A_SHEET = ACROSS * ACROSS
_NOTHING = 128
"""The grey of a picture whose file is missing."""


def important(ids: Sequence[int]) -> list[int]:
    """Return a pseudo-random order of pictures, which spreads over any map.

    It depends on the ids alone, so new pictures do not change the order of old ones.
    """
    mixed = (np.asarray(ids, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    return [int(place) for place in np.argsort(mixed, kind="stable")]


def sheet_key(keys: Sequence[bytes]) -> str:
    """Return a hash of a sheet's content keys."""
    return hashlib.blake2b(b"".join(keys), digest_size=12).hexdigest()


def sheet(
    root: Path,
    pictures: Sequence[tuple[bytes, Callable[[], str]]],
    make: Callable[[Source, int], bytes],
) -> tuple[bytes, bool]:
    """Return the JPEG of a sheet of (content key, path finder), and whether it is complete.

    A picture that cannot be read stays grey.
    """
    whole = True
    rows = max(1, math.ceil(len(pictures) / ACROSS))
    drawn = np.full((rows * SPRITE, ACROSS * SPRITE, 3), _NOTHING, dtype=np.uint8)
    for place, (key, find_file) in enumerate(pictures):
        top, left = (side * SPRITE for side in divmod(place, ACROSS))
        try:
            drawn[top : top + SPRITE, left : left + SPRITE] = sprite(
                thumbnail(root, key, find_file, SIDES[0], make)
            )
        except (LikewiseError, OSError):
            whole = False
    return small_jpeg(drawn, max(drawn.shape), quality=80), whole


def sprite(content: bytes) -> NDArray[np.uint8]:
    """Return the middle square of a picture, :data:`SPRITE` pixels wide."""
    info = probe(content)
    long, short = max(info.width, info.height), min(info.width, info.height)
    pixels = decode(content, max_side=math.ceil(SPRITE * long / short)).pixels
    height, width = pixels.shape[:2]
    top, left = max(0, (height - SPRITE) // 2), max(0, (width - SPRITE) // 2)
    cut = pixels[top : top + SPRITE, left : left + SPRITE]
    # A picture narrower than a sprite is repeated at its edge rather than stretched.
    missing = (SPRITE - cut.shape[0], SPRITE - cut.shape[1])
    return np.pad(cut, ((0, missing[0]), (0, missing[1]), (0, 0)), mode="edge")
