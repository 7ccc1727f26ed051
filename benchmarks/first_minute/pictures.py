"""The folders of the first minute, made once and kept in the cache: real photographs, resized.

``small``: photographs of at most 600 pixels, ``tiny`` of 256.  ``large``: 12 megapixels with EXIF,
upscaled from real ones, with noise, since upscaled pixels alone compress too well to be like a
camera's.
``heic``: the same in HEIC; encoding one takes ten seconds, so some are there several times, with
other bytes behind the picture, which no decoder reads.
``screens``: 3840 x 2160 PNG of windows with text.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.harness import cache_dir
from benchmarks.readers.records import data_root
from likewise.images.decode import decode

LARGE = (4000, 3000)
ENCODED = 25
"""Different pictures in HEIC."""
SCREEN = (3840, 2160)
Pixels = NDArray[np.uint8]


def folder(name: str, count: int) -> Path:
    """The folder of a kind with so many pictures; made where it is not there yet."""
    target = cache_dir() / "first-minute" / f"{name}-{count}"
    if not target.exists():
        part = target.with_name(f"{target.name}.part")
        part.mkdir(parents=True, exist_ok=True)
        suffix, make = _KINDS[name]
        sources = list(_sources())
        for number in range(count):
            path = part / f"{number:05d}{suffix}"
            if name == "heic" and number >= ENCODED:
                same = part / f"{number % ENCODED:05d}{suffix}"
                path.write_bytes(same.read_bytes() + struct.pack(">I4sQ", 16, b"free", number))
            elif not path.exists():
                path.write_bytes(make(sources[number % len(sources)], number))
        part.rename(target)
    return target


def _sources() -> Iterator[Path]:
    """Photographs of the development data; without it there is nothing to measure on."""
    root = data_root()
    found = sorted(root.glob("corel1k/**/*.jpg")) if root is not None else []
    if not found:
        raise SystemExit("corel1k is not there; LIKEWISE_DATA names the folder of data sets")
    yield from found


def _small(source: Path, number: int, side: int = 533) -> bytes:
    pixels = decode(source).pixels
    height, width = pixels.shape[:2]
    scale = side / max(height, width)
    size = (round(width * scale), round(height * scale))
    made = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_CUBIC), np.uint8)
    return _jpeg(made, number, 90)


def _upscaled(source: Path, number: int) -> Pixels:
    pixels = decode(source).pixels
    if pixels.shape[0] > pixels.shape[1]:
        pixels = np.rot90(pixels)
    grown = cv2.resize(pixels, LARGE, interpolation=cv2.INTER_CUBIC)
    noise = np.random.default_rng(number).normal(0, 4, (LARGE[1] // 4, LARGE[0] // 4, 3))
    grain = np.tile(noise.astype(np.int16), (4, 4, 1))
    made: Pixels = np.clip(grown.astype(np.int16) + grain, 0, 255).astype(np.uint8)
    return made


def _large(source: Path, number: int) -> bytes:
    return _jpeg(_upscaled(source, number), number, 88)


def _jpeg(pixels: Pixels, number: int, quality: int) -> bytes:
    exif = Image.Exif()
    exif[0x0110] = "Camera 1"
    exif[0x0112] = (1, 1, 6, 8)[number % 4]
    exif.get_ifd(0x8769)[0x9003] = f"2024:{1 + number % 12:02d}:{1 + number % 28:02d} 12:00:00"
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality, exif=exif)
    return buffer.getvalue()


def _heic(source: Path, number: int) -> bytes:
    from pillow_heif import from_pillow

    buffer = io.BytesIO()
    from_pillow(Image.fromarray(_upscaled(source, number))).save(buffer, quality=70)
    return buffer.getvalue()


def _screen(source: Path, number: int) -> bytes:
    rng = np.random.default_rng(number)
    screen = np.full((SCREEN[1], SCREEN[0], 3), rng.integers(200, 256, 3), np.uint8)
    for _ in range(4):
        x, y = int(rng.integers(0, 2800)), int(rng.integers(0, 1300))
        w, h = int(rng.integers(600, 1000)), int(rng.integers(400, 800))
        cv2.rectangle(screen, (x, y), (x + w, y + h), (250, 250, 250), -1)
        for line in range(y + 40, y + h - 10, 28):
            text = "".join(rng.choice(list("etaoin shrdlu"), w // 16))
            cv2.putText(
                screen, text, (x + 12, line), cv2.FONT_HERSHEY_SIMPLEX, 0.7, (30, 30, 30), 1
            )
    photo = decode(source).pixels
    height, width = photo.shape[:2]
    screen[100 : 100 + height, 100 : 100 + width] = photo
    buffer = io.BytesIO()
    Image.fromarray(screen).save(buffer, "PNG", compress_level=4)
    return buffer.getvalue()


_KINDS: dict[str, tuple[str, Callable[[Path, int], bytes]]] = {
    "small": (".jpg", _small),
    "tiny": (".jpg", partial(_small, side=256)),
    "large": (".jpg", _large),
    "heic": (".heic", _heic),
    "screens": (".png", _screen),
}
