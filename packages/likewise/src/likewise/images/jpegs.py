"""JPEG by way of OpenCV: plain ones decoded as they are, small ones written.

Pillow and OpenCV carry the same libjpeg and give the same numbers; but Pillow hands pixels over
row by row in pieces that are joined and copied again, which for a small photograph takes as long as
a third of its decoding.  OpenCV writes them where they are wanted.

Damaged data OpenCV fills up with grey where Pillow refuses.  libjpeg says so, on the standard error
and nowhere else: only a process that gave it away (:func:`take_stderr`) can hear that, and leaves
to Pillow whatever libjpeg had something to say about.
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
    """From now on the standard error of this process is a file that nobody but this module reads.

    For workers, which tell in another way what goes wrong.
    """
    global _taken
    # On Windows a library may have a standard error of its own.
    if os.name == "nt":
        return
    with suppress(OSError), tempfile.TemporaryFile() as file:  # no room: it stays what it is
        os.dup2(file.fileno(), _STDERR)
        _taken = True


def _has_remarks() -> bool:
    """Whether something was written to the standard error; it is empty afterwards."""
    if not os.fstat(_STDERR).st_size:
        return False
    os.lseek(_STDERR, 0, os.SEEK_SET)
    os.ftruncate(_STDERR, 0)
    return True


def plain_pixels(content: bytes, mode: str, size: tuple[int, int]) -> Pixels | None:
    """The RGB pixels of a JPEG in its own size, not turned; None where Pillow must decode it.

    That is any other colours than grey and RGB, one that does not end as it should or of which
    libjpeg has something to say, and all of them in a process whose standard error is not taken.
    """
    if not _taken or mode not in ("L", "RGB") or content[-2:] != _ENDS:
        return None
    _has_remarks()  # of somebody else
    way = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    pixels = cast("Pixels | None", cv2.imdecode(np.frombuffer(content, np.uint8), way))
    width, height = size
    whole = pixels is not None and pixels.shape == (height, width, 3)
    return pixels if whole and not _has_remarks() else None


def write_jpeg(pixels: Pixels, quality: int) -> bytes:
    """RGB pixels as a JPEG without metadata, to the bytes of Pillow's."""
    turned = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    written, content = cv2.imencode(".jpg", turned, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not written:
        raise ValueError(f"{pixels.shape} pixels cannot be written as a JPEG")
    return content.tobytes()
