"""CPU milliseconds to decode a picture to the side it is described at, against OpenCV.

The rival is OpenCV's own reduced decoding followed by ``cv2.resize(INTER_AREA)``.  It gets the same
bytes in the same process, picture by picture in turn with Likewise, and is spared what it cannot do
without more calls: how far to reduce is told to it, and its pixels may stay BGR.  Likewise does
both inside the measured time, recognises the format, checks limits and reads EXIF, XMP and IPTC.
How good both are is measured against a full decode averaged by area.  Run alone (``python -m
benchmarks.features.decoding``) it renews only its own table.
"""

from __future__ import annotations

import io
import time
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks import harness
from likewise.images.decode import decode

Pixels = NDArray[np.uint8]

HEADING = "Decoding to the side a picture is described at"
_REDUCED = {
    8: cv2.IMREAD_REDUCED_COLOR_8,
    4: cv2.IMREAD_REDUCED_COLOR_4,
    2: cv2.IMREAD_REDUCED_COLOR_2,
    1: cv2.IMREAD_COLOR,
}


def rows(paths: list[Path], rounds: int = 3) -> list[dict[str, object]]:
    """A line for each kind of file, made of the pictures at ``paths``."""
    turned = Image.Exif()
    turned[0x0112] = 6  # as a phone held upright writes it
    turned.get_ifd(0x8769)[0x9003] = "2020:01:02 03:04:05"
    few = paths[:6]
    large = [enlarged(path, (4032, 3024), "JPEG", exif=turned) for path in few]
    cases = {
        "JPEG 4032 x 3024, turned, to 1024": (large, 1024),
        "JPEG 4032 x 3024, turned, to 800": (large, 800),
        "JPEG 400 x 533": ([enlarged(path, (400, 533), "JPEG") for path in paths], 1024),
        "JPEG 400 x 533, turned": (
            [enlarged(path, (400, 533), "JPEG", exif=turned) for path in paths],
            1024,
        ),
        "PNG 3840 x 2160, to 1024": ([enlarged(path, (3840, 2160), "PNG") for path in few], 1024),
    }
    return [{"file": name, **measure(*case, rounds)} for name, case in cases.items()]


def enlarged(path: Path, size: tuple[int, int], format_: str, **options: object) -> bytes:
    """A real picture in another size, with the fine grain of a sensor, which enlarging lacks."""
    image = Image.open(path).convert("RGB").resize(size, Image.Resampling.BICUBIC)
    pixels = np.asarray(image).astype(np.float32)
    if format_ == "JPEG":
        pixels += np.random.default_rng(0).normal(0, 4, (*pixels.shape[:2], 1)).astype(np.float32)
    buffer = io.BytesIO()
    grainy = Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))
    grainy.save(buffer, format_, **({"quality": 90} if format_ == "JPEG" else {}), **options)
    return buffer.getvalue()


def measure(files: list[bytes], side: int, rounds: int) -> dict[str, object]:
    steps = {data: largest_step(data, side) for data in files}

    def ours(data: bytes) -> Pixels:
        return decode(data, max_side=side).pixels

    def opencv(data: bytes) -> Pixels:
        return plain(data, side, steps[data])

    decibels = []
    for data in files:
        truth = plain(data, side, 1)
        decibels.append((psnr(ours(data)[:, :, ::-1], truth), psnr(opencv(data), truth)))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for data in files:
            for call, values in zip((ours, opencv), seconds, strict=True):
                start = time.process_time()
                call(data)
                values.append(time.process_time() - start)
    mine, other = (harness.Timing(values).median for values in seconds)
    good, others = np.median(decibels, axis=0)
    return {
        "ms": 1000 * mine,
        "OpenCV ms": 1000 * other,
        "ratio": other / mine,
        "dB": float(good),
        "OpenCV dB": float(others),
    }


def largest_step(data: bytes, side: int) -> int:
    """How far OpenCV may reduce and still give that side."""
    longer = max(Image.open(io.BytesIO(data)).size)
    return next(step for step in _REDUCED if step == 1 or longer >= step * side)


def plain(data: bytes, side: int, step: int) -> Pixels:
    """What one would write with OpenCV; upright BGR."""
    pixels = np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), _REDUCED[step]), np.uint8)
    height, width = pixels.shape[:2]
    scale = side / max(height, width)
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
    return pixels


def psnr(a: Pixels, b: Pixels) -> float:
    """Peak signal-to-noise ratio in decibels, 100 for equal pixels."""
    error = float(np.mean((a.astype(np.float64) - b) ** 2))
    return 100.0 if error == 0 else min(100.0, 10 * float(np.log10(255**2 / error)))


def main() -> None:
    from benchmarks.features.report import picture_sets

    options = harness.arguments(__doc__ or "")
    cv2.setNumThreads(1)
    count = 200 if options.full else 40
    report = harness.Report(
        "features",
        "Features: CPU milliseconds a picture",
        f"{count} pictures a set" + (" (FULL)" if options.full else ""),
        {"seed": options.seed},
    )
    report.add(HEADING, rows(next(iter(picture_sets(count, options.seed).values()))))
    report.write()


if __name__ == "__main__":
    main()
