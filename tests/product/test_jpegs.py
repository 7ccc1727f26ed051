"""JPEGs by way of OpenCV: the pixels and bytes of Pillow, and Pillow's word on broken ones."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from likewise.errors import DamagedImage
from likewise.images import jpegs
from likewise.images.decode import Picture, decode
from likewise.images.jpegs import plain_pixels, write_jpeg
from tests.product.corpus import quarters


def picture(height: int, width: int) -> NDArray[np.uint8]:
    """Smooth and rough parts, as a photograph has."""
    rng = np.random.default_rng(height * 1000 + width)
    y, x = np.mgrid[:height, :width]
    smooth = np.stack([120 + 100 * np.sin(x / 9 + c) * np.cos(y / 7) for c in range(3)], axis=2)
    return np.clip(smooth + rng.normal(0, 20, smooth.shape), 0, 255).astype(np.uint8)


def saved(pixels: NDArray[np.uint8], mode: str = "RGB", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(buffer, "JPEG", **options)
    return buffer.getvalue()


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a worker: what libjpeg says is heard."""
    if os.name == "nt":
        pytest.skip("on Windows nobody hears libjpeg, and Pillow decodes all")
    before = os.dup(2)
    monkeypatch.setattr(jpegs, "_taken", False)
    jpegs.take_stderr()
    yield
    os.dup2(before, 2)
    os.close(before)


def in_both_ways(content: bytes, **options: Any) -> tuple[Picture, Picture]:
    """As Pillow decodes it, and as a worker does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jpegs, "_taken", False)
        pillow = decode(content, **options)
    return pillow, decode(content, **options)


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "all colours": {"subsampling": 0, "quality": 95},
    "half colours": {"subsampling": 1},
    "progressive": {"progressive": True},
    "optimised": {"optimize": True, "quality": 30},
    "grey": {"mode": "L"},
    "restarts": {"restart_marker_blocks": 4},
}


@pytest.mark.parametrize("size", [(1, 1), (7, 9), (16, 16), (213, 320), (355, 533)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("heard")
def test_pixels_are_those_of_pillow(kind: str, size: tuple[int, int]) -> None:
    content = saved(picture(*size), **KINDS[kind])
    with Image.open(io.BytesIO(content)) as image:
        expected = np.asarray(image.convert("RGB"))
        found = plain_pixels(content, image.mode, image.size)
    assert found is not None
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.usefixtures("heard")
def test_a_turned_picture_comes_out_upright_in_both_ways(orientation: int) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    content = saved(np.asarray(quarters()), exif=exif.tobytes(), quality=95)
    one, other = in_both_ways(content, max_side=448, slack=1.5)
    np.testing.assert_array_equal(one.pixels, other.pixels)
    assert one.info == other.info
    assert one.embedded == other.embedded
    assert other.pixels.flags.c_contiguous
    assert other.pixels.flags.writeable


@pytest.mark.parametrize("side", [320, 448, 500, 672, 900, 1400, 3000])
@pytest.mark.usefixtures("heard")
def test_both_ways_agree_at_every_size(side: int) -> None:
    content = saved(picture(side * 2 // 3, side))
    sizes: list[dict[str, Any]] = [
        {},
        {"max_side": 448},
        {"max_side": 448, "slack": 1.5},
        {"slack": 4.0},
    ]
    for options in sizes:
        one, other = in_both_ways(content, **options)
        np.testing.assert_array_equal(one.pixels, other.pixels)


@pytest.mark.usefixtures("heard")
def test_other_colours_are_left_to_pillow() -> None:
    content = saved(picture(40, 60), mode="CMYK")
    assert plain_pixels(content, "CMYK", (60, 40)) is None
    one, other = in_both_ways(content)
    np.testing.assert_array_equal(one.pixels, other.pixels)


@pytest.mark.usefixtures("heard")
def test_a_picture_that_was_cut_off_is_refused() -> None:
    content = saved(picture(300, 400))
    for length in (len(content) // 2, len(content) - 2, len(content) - 1):
        with pytest.raises(DamagedImage, match="truncated"):
            decode(content[:length])


@pytest.mark.usefixtures("heard")
def test_damage_is_judged_by_pillow() -> None:
    """One byte wrong, anywhere: what Pillow refuses is refused, what it takes has its pixels."""
    sound = saved(picture(120, 160))
    refused = 0
    for place in np.random.default_rng(0).integers(600, len(sound) - 2, 300).tolist():
        content = sound[:place] + b"\xff" + sound[place + 1 :]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jpegs, "_taken", False)
            try:
                expected = decode(content).pixels
            except DamagedImage:
                expected = None
        if expected is None:
            refused += 1
            with pytest.raises(DamagedImage):
                decode(content)
        else:
            np.testing.assert_array_equal(decode(content).pixels, expected)
    assert refused > 3


def test_without_ears_all_are_left_to_pillow(capfd: pytest.CaptureFixture[str]) -> None:
    content = saved(picture(60, 80))
    assert plain_pixels(content, "RGB", (80, 60)) is None
    assert decode(content[:700] + b"\x00" * 9 + content[709:]).pixels.shape == (60, 80, 3)
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("heard")
def test_an_announced_size_that_does_not_hold_is_left_to_pillow() -> None:
    content = saved(picture(30, 40))
    assert plain_pixels(content, "RGB", (40, 30)) is not None
    assert plain_pixels(content, "RGB", (40, 31)) is None
    assert plain_pixels(b"no picture at all\xff\xd9", "RGB", (40, 30)) is None


@pytest.mark.parametrize("quality", [50, 80, 82, 85, 95])
@pytest.mark.parametrize("size", [(1, 1), (7, 9), (213, 320), (320, 33)], ids=str)
def test_bytes_are_those_of_pillow(size: tuple[int, int], quality: int) -> None:
    pixels = picture(*size)
    assert write_jpeg(pixels, quality) == saved(pixels, quality=quality)
