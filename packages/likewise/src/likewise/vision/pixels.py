"""Prepare pixels for every feature: check them, shrink them, convert them to grey or LAB.

Features take a :class:`~likewise.images.decode.Picture` or a plain uint8 array; arrays are
checked here once, so that the extractors can trust them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.images.decode import Picture
from likewise.lazy_imports import cv2

Pixels = Picture | NDArray[np.uint8]


def as_pixels(picture: Pixels) -> NDArray[np.uint8]:
    """Return the pixels as a uint8 array, (height, width) or (height, width, 3) RGB."""
    pixels: NDArray[Any] = picture.pixels if isinstance(picture, Picture) else np.asarray(picture)
    if pixels.dtype != np.uint8:
        raise InvalidInput(f"pixels are {pixels.dtype}; uint8 expected (see likewise.decode)")
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)):
        raise InvalidInput(
            f"pixels have shape {pixels.shape}; (height, width) or (height, width, 3) expected"
        )
    if pixels.size == 0:
        raise InvalidInput(f"pixels have shape {pixels.shape}; at least one pixel expected")
    return np.ascontiguousarray(pixels)


def shrink_pixels(
    pixels: NDArray[np.uint8], max_side: int | None
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Shrink pixels to a longer side of at most ``max_side``; return them and the factors (x, y).

    Sides are whole numbers, so the two factors differ a little.
    """
    height, width = pixels.shape[:2]
    longer = max(height, width)
    if max_side is None or longer <= max_side:
        return pixels, np.ones(2)
    scale = max_side / longer
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = _uint8(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))
    return small, np.array(size) / (width, height)


def grey(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the luma (ITU-R 601) of RGB pixels; grey ones are unchanged."""
    return pixels if pixels.ndim == 2 else _uint8(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))


def lab(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return CIE L*a*b* in eight bits: L* times 255/100, a* and b* plus 128."""
    if pixels.ndim == 2:
        pixels = _uint8(cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB))
    return _uint8(cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB))


def _uint8(array: Any) -> NDArray[np.uint8]:
    return np.asarray(array, dtype=np.uint8)
