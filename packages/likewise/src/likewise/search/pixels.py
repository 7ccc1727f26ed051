"""Pixels of a query: decoded here, or by whatever a server decodes with; whole or a region."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.images.decode import Source, decode

Region = tuple[float, float, float, float]
PixelsOf = Callable[[Source, int | None, Region | None], NDArray[np.uint8]]
"""What decodes a file or bytes, at most so large, and cuts a region out."""


def decode_here(source: Source, max_side: int | None, region: Region | None) -> NDArray[np.uint8]:
    """Decode in this process: whatever happens to a decoder happens to it."""
    return crop(decode(source, max_side=max_side).pixels, region)


def crop(pixels: NDArray[np.uint8], region: Region | None) -> NDArray[np.uint8]:
    """The part (x, y, w, h) of a picture, in its own pixels."""
    if region is None:
        return pixels
    height, width = pixels.shape[:2]
    if len(region) != 4 or not np.isfinite(region).all():
        raise InvalidInput(f"region is {region}; four finite numbers x, y, w, h expected")
    x, y, w, h = region
    left, top = max(0, int(np.floor(x))), max(0, int(np.floor(y)))
    right, bottom = min(width, int(np.ceil(x + w))), min(height, int(np.ceil(y + h)))
    if w <= 0 or h <= 0 or left >= right or top >= bottom:
        raise InvalidInput(
            f"region {region} has no pixel of the {width} x {height} picture; x, y, w, h expected"
        )
    return np.ascontiguousarray(pixels[top:bottom, left:right])
