"""Decode plain JPEGs and write small ones with OpenCV.

Pillow and OpenCV use the same libjpeg and return the same numbers, but Pillow copies pixels twice.
OpenCV fills damaged data with grey where Pillow refuses; libjpeg only prints a warning.  So a
worker redirects its standard error (:func:`take_stderr`), and whatever causes a warning is left to
Pillow.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from typing import cast

import numpy as np
from numpy.typing import NDArray

from likewise.lazy_imports import cv2

Pixels = NDArray[np.uint8]
_STDERR = 2
_ENDS = b"\xff\xd9"
_taken = False


def take_stderr() -> None:
    """Redirect the standard error of this worker process to a file that this module reads."""
    global _taken
    # On Windows a library may have a standard error of its own.
    if os.name == "nt":
        return
    with suppress(OSError), tempfile.TemporaryFile() as file:  # no room: it stays what it is
        os.dup2(file.fileno(), _STDERR)
        _taken = True


def _has_remarks() -> bool:
    """Return whether something was written to the standard error, and empty it."""
    if not os.fstat(_STDERR).st_size:
        return False
    os.lseek(_STDERR, 0, os.SEEK_SET)
    os.ftruncate(_STDERR, 0)
    return True


def plain_pixels(content: bytes, mode: str, size: tuple[int, int]) -> Pixels | None:
    """Decode a JPEG to RGB pixels in its own size, not turned; None where Pillow must decode it.

    That is where colours are neither grey nor RGB, the end is missing, libjpeg printed a warning,
    or the standard error of the process is not redirected.
    """
    if not _taken or mode not in ("L", "RGB") or content[-2:] != _ENDS:
        return None
    _has_remarks()  # discard earlier ones
    way = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    pixels = cast("Pixels | None", cv2.imdecode(np.frombuffer(content, np.uint8), way))
    width, height = size
    whole = pixels is not None and pixels.shape == (height, width, 3)
    return pixels if whole and not _has_remarks() else None


def write_jpeg(pixels: Pixels, quality: int) -> bytes:
    """Return RGB pixels as a JPEG without metadata, with the same bytes as Pillow's."""
    turned = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    written, content = cv2.imencode(".jpg", turned, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not written:
        raise ValueError(f"{pixels.shape} pixels cannot be written as a JPEG")
    return content.tobytes()
