"""JPEG by way of OpenCV: plain ones decoded as they are, small ones written.

Pillow and OpenCV carry the same libjpeg and give the same numbers; but Pillow hands pixels over
row by row in pieces that are joined and copied again, which for a small photograph takes as long as
a third of its decoding.  OpenCV writes them where they are wanted.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from likewise._lazy import cv2

Pixels = NDArray[np.uint8]
_ENDS = b"\xff\xd9"


def plain_pixels(content: bytes, mode: str, size: tuple[int, int]) -> Pixels | None:
    """The RGB pixels of a JPEG in its own size, not turned; None where Pillow must decode it.

    That is any other colours than grey and RGB, and one that does not end as it should: Pillow
    says of a picture that was cut off that it was, where OpenCV would fill it up with grey.
    What libjpeg thinks of damaged data goes to the standard error.
    """
    if mode not in ("L", "RGB") or content[-2:] != _ENDS:
        return None
    way = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    pixels = cast("Pixels | None", cv2.imdecode(np.frombuffer(content, np.uint8), way))
    width, height = size
    return pixels if pixels is not None and pixels.shape == (height, width, 3) else None


def write_jpeg(pixels: Pixels, quality: int) -> bytes:
    """RGB pixels as a JPEG without metadata, to the bytes of Pillow's."""
    turned = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    written, content = cv2.imencode(".jpg", turned, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not written:
        raise ValueError(f"{pixels.shape} pixels cannot be written as a JPEG")
    return content.tobytes()
