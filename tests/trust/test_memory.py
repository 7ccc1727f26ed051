"""Memory that decoding takes: told before, measured in a process of its own, below the limit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from likewise import decoding_memory
from likewise.decoding_memory import LIMIT, memory_limit
from likewise.errors import ImageTooLarge, InvalidInput
from likewise.images import decode
from tests.trust.attacks import float_tiff, huge_webp, sparse_file

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peaks of memory are read from /proc"
)

MEASURE = """
import sys
import cv2, numpy
from PIL import AvifImagePlugin, BmpImagePlugin, GifImagePlugin, ImageCms, JpegImagePlugin
from PIL import PngImagePlugin, TiffImagePlugin, WebPImagePlugin
import pillow_heif
from likewise import images
from likewise.errors import ImageTooLarge

told = []
refuse = images._refuse_beyond
images._refuse_beyond = lambda name, size, needed: (told.append(needed), refuse(name, size, needed))

def peak():
    with open("/proc/self/status") as file:
        return 1024 * int(next(line for line in file if line.startswith("VmHWM")).split()[1])

before = peak()
try:
    images.decode(sys.argv[1], max_side=int(sys.argv[2]) or None)
except ImageTooLarge:
    print("refused", end=" ")
else:
    print("decoded", end=" ")
print(peak() - before, max(told))
"""
SIDES = (3600, 3000)
SLACK = 32 << 20
"""Bytes that do not grow with the picture: strips, tables, what a decoder loads."""


def measure(path: Path, max_side: int) -> tuple[str, int, int]:
    """(refused or decoded, bytes at the peak, bytes told before)."""
    said = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(max_side)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return said[0], int(said[1]), int(said[2])


def colours() -> Image.Image:
    width, height = SIDES
    rows, columns = np.mgrid[:height, :width]
    return Image.fromarray(
        np.stack([columns % 256, rows % 256, (columns + rows) % 256], -1).astype(np.uint8)
    )


def see_through(image: Image.Image) -> Image.Image:
    image.putalpha(image.getchannel(0))
    return image


def sixteen(image: Image.Image) -> Image.Image:
    return Image.fromarray(np.asarray(image.getchannel(0)).astype(np.uint16) * 257)


def lab(image: Image.Image) -> Image.Image:
    srgb, other = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    made = ImageCms.profileToProfile(image, srgb, other, outputMode="LAB")
    assert made is not None
    return made


KINDS: dict[str, Callable[[Image.Image, Path], object]] = {
    "plain.jpg": lambda im, p: im.save(p),
    "progressive.jpg": lambda im, p: im.save(p, progressive=True, subsampling=0),
    "cmyk.jpg": lambda im, p: im.convert("CMYK").save(p),
    "colours.png": lambda im, p: im.save(p, compress_level=1),
    "alpha.png": lambda im, p: see_through(im).save(p, compress_level=1),
    "one-colour.png": lambda im, p: im.save(p, compress_level=1, transparency=(1, 2, 3)),
    "greys.png": lambda im, p: im.convert("L").save(p, compress_level=1),
    "grey-alpha.png": lambda im, p: im.convert("LA").save(p, compress_level=1),
    "palette.png": lambda im, p: im.convert("P").save(p, compress_level=1),
    "bits.png": lambda im, p: im.convert("1").save(p),
    "sixteen.png": lambda im, p: sixteen(im).save(p, compress_level=1),
    "colours.webp": lambda im, p: im.save(p, quality=10, method=0),
    "alpha.webp": lambda im, p: see_through(im).save(p, quality=10, method=0),
    "palette.gif": lambda im, p: im.convert("P").save(p),
    "float.tif": lambda im, p: im.convert("F").save(p, compression="tiff_deflate"),
    "integer.tif": lambda im, p: im.convert("I").save(p, compression="tiff_deflate"),
    "lab.tif": lambda im, p: lab(im).save(p),
    "cmyk.tif": lambda im, p: im.convert("CMYK").save(p, compression="tiff_deflate"),
    "palette.bmp": lambda im, p: im.convert("P").save(p),
    "colours.avif": lambda im, p: im.save(p, quality=10, speed=10),
}


@pytest.mark.parametrize("max_side", [512, 0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_peak_is_told_before(tmp_path: Path, kind: str, max_side: int) -> None:
    KINDS[kind](colours(), tmp_path / kind)
    said, peak, told = measure(tmp_path / kind, max_side)
    assert said == "decoded"
    assert peak <= told + SLACK
    # A price far above the true one would refuse good pictures.
    assert told <= 1.6 * peak + SLACK


def test_a_heic_is_told_before(tmp_path: Path) -> None:
    heif = pytest.importorskip("pillow_heif")
    heif.from_pillow(colours()).save(tmp_path / "a.heic", quality=10)
    for max_side in (512, 0):
        said, peak, told = measure(tmp_path / "a.heic", max_side)
        assert said == "decoded"
        assert peak <= told + SLACK


def test_small_files_that_are_huge_pictures_are_refused(tmp_path: Path) -> None:
    """Those of the attack: 2.6 GB and 5.4 GB were taken."""
    (tmp_path / "a.webp").write_bytes(huge_webp(13_000, 13_000))
    (tmp_path / "a.tif").write_bytes(float_tiff(11_000))
    for name in ("a.webp", "a.tif"):
        for max_side in (512, 0):
            said, peak, told = measure(tmp_path / name, max_side)
            assert said == "refused"
            assert told > LIMIT
            assert peak < SLACK


def test_the_largest_float_picture_stays_below(tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(float_tiff(6_000))
    said, peak, told = measure(tmp_path / "a.tif", 512)
    assert said == "decoded"
    assert peak <= told + SLACK < LIMIT


@pytest.mark.parametrize("name", ["a.png", "a.webp", "a.tif", "a.jpg"])
def test_a_long_file_is_not_read_whole(tmp_path: Path, name: str) -> None:
    """One of two gigabytes, most of it a hole."""
    kind = {"a.png": "PNG", "a.webp": "WEBP", "a.tif": "TIFF", "a.jpg": "JPEG"}[name]
    Image.new("RGB", (64, 64)).save(tmp_path / "small", kind)
    path = sparse_file(tmp_path / name, (tmp_path / "small").read_bytes(), (1 << 31) - 8)
    script = (
        "import sys\n"
        "from likewise.collection.content import read_content\n"
        "from likewise.errors import ImageError\n"
        "from likewise.images import decode\n"
        "try: decode(read_content(sys.argv[1]), max_side=512)\n"
        "except ImageError as error: print(error.reason)\n"
        "line = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "assert int(line.split()[1]) < 600 << 10, line\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)


def test_the_limit_is_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (1000, 1000)).save(path)
    decode(path)
    monkeypatch.setenv("LIKEWISE_PICTURE_MB", "2.5")
    assert memory_limit() == 5 << 19
    with pytest.raises(ImageTooLarge, match="1000 x 1000 pixels take 6 MiB .* limit of 2; set"):
        decode(path)
    for wrong in ("0", "-1", "much", "nan"):
        monkeypatch.setenv("LIKEWISE_PICTURE_MB", wrong)
        with pytest.raises(InvalidInput, match="LIKEWISE_PICTURE_MB"):
            memory_limit()
    monkeypatch.delenv("LIKEWISE_PICTURE_MB")
    assert memory_limit() == decoding_memory.LIMIT
