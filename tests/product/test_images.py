"""The decoder on everything a folder of pictures may hold."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.Image import Transpose

from likewise.errors import (
    DamagedImage,
    ImageError,
    ImageTooLarge,
    InvalidInput,
    NotAnImage,
    UnreadableImage,
)
from likewise.images.decode import FORMATS, decode, probe
from tests import trials
from tests.product.corpus import BROKEN, MAY_ALL, ODD, RAMP12, noisy, quarters, ramp16, saved

# How the upright picture lies in the file, for each EXIF orientation.
STORED = {
    1: None,
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_90,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_270,
}


def corners(pixels: np.ndarray) -> np.ndarray:
    """The middles of the four quarters, coarse enough to survive lossy formats."""
    height, width = pixels.shape[:2]
    y, x = np.array([height // 4, 3 * height // 4]), np.array([width // 4, 3 * width // 4])
    return (pixels[np.ix_(y, x)] > 127).astype(int)


UPRIGHT = corners(np.asarray(quarters()))


@pytest.mark.parametrize("name", sorted(ODD))
def test_odd_files_decode(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(ODD[name]())
    picture = decode(path)
    assert picture.pixels.dtype == np.uint8
    assert picture.pixels.shape == (picture.info.height, picture.info.width, 3)
    assert picture.pixels.flags.c_contiguous
    assert picture.pixels.flags.writeable
    assert picture.info.format in FORMATS
    assert picture.info.n_bytes == path.stat().st_size
    if name != "late-exif.png":  # the one thing a header cannot tell
        assert probe(path) == picture.info
    small = decode(path, max_side=16)
    assert max(small.pixels.shape[:2]) <= 16
    assert min(small.pixels.shape[:2]) >= 1


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_files_are_refused_with_name_and_reason(name: str, tmp_path: Path) -> None:
    make, expected = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(make())
    with pytest.raises(expected) as caught:
        decode(path)
    assert str(path) in str(caught.value)
    assert caught.value.source == str(path)
    assert len(caught.value.reason) > 5
    with pytest.raises(expected):
        decode(make())


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF", "HEIF"])
def test_every_format_gives_the_right_pixels(format_: str) -> None:
    picture = decode(saved(quarters(), format_))
    assert (corners(picture.pixels) == UPRIGHT).all()
    assert picture.info.format == ("HEIC" if format_ == "HEIF" else format_)


@pytest.mark.parametrize("orientation", sorted(STORED))
@pytest.mark.parametrize("format_", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF", "HEIF"])
def test_orientation_is_applied(format_: str, orientation: int) -> None:
    turn = STORED[orientation]
    image = quarters() if turn is None else quarters().transpose(turn)
    exif = Image.Exif()
    exif[0x0112] = orientation
    # For HEIC the encoder takes it from here and writes the container's own rotation.
    image.info["exif"] = exif.tobytes()
    data = saved(image, format_, **({} if format_ == "HEIF" else {"exif": exif}))
    for max_side in (None, 30):
        picture = decode(data, max_side=max_side)
        assert (picture.info.width, picture.info.height) == (60, 40)
        assert (corners(picture.pixels) == UPRIGHT).all()


def test_a_large_jpeg_is_decoded_small() -> None:
    data = saved(quarters(4000, 3000), "JPEG")
    picture = decode(data, max_side=500)
    assert picture.pixels.shape == (375, 500, 3)
    assert (picture.info.width, picture.info.height) == (4000, 3000)
    assert picture.scale == 0.125
    assert (corners(picture.pixels) == UPRIGHT).all()
    # Never enlarged.
    assert decode(data, max_side=10_000).pixels.shape == (3000, 4000, 3)


def test_shrinking_averages_instead_of_skipping() -> None:
    checks = np.indices((512, 512)).sum(0) % 2 * 255
    data = saved(Image.fromarray(checks.astype(np.uint8)), "PNG")
    small = decode(data, max_side=64).pixels.astype(int)
    assert np.abs(small - 127).max() < 20


def test_sixteen_bits_keep_the_high_byte() -> None:
    data = saved(Image.fromarray(ramp16()), "PNG")
    expected = (ramp16() >> 8).astype(np.uint8)
    assert (decode(data).pixels == expected[..., None]).all()
    assert (decode(ODD["rgb16.png"]()).pixels == (0x80, 0, 0)).all()


def test_transparency_becomes_white() -> None:
    image = quarters().convert("RGBA")
    image.putalpha(Image.new("L", image.size, 0))
    assert (decode(saved(image, "PNG")).pixels == 255).all()
    image.putalpha(Image.new("L", image.size, 128))
    half_red = decode(saved(image, "PNG")).pixels[5, 5]
    assert half_red[0] == 255
    assert abs(int(half_red[1]) - 127) <= 1
    gif = decode(ODD["transparent.gif"]()).pixels
    assert (gif[:, 0] == 255).all()
    assert (gif[0, -1] == (0, 255, 0)).all()


def test_first_frame_of_animations() -> None:
    for name in ("animated.gif", "animated.webp", "animated.png", "pages.tif"):
        pixel = decode(ODD[name]()).pixels[5, 5].astype(int)
        assert pixel[0] > 240, name
        assert pixel[1:].max() < 15, name


def test_cmyk_and_lab_give_their_colours() -> None:
    for name in ("cmyk.jpg", "cmyk.tif", "lab.tif"):
        assert (corners(decode(ODD[name]()).pixels) == UPRIGHT).all(), name


def test_fewer_bits_inverted_greys_and_unsigned_words() -> None:
    """What Pillow leaves as it lies in the file: 12 bits, white as zero, unsigned 32 bits."""
    ramp12 = decode(ODD["grey12.tif"]()).pixels[..., 0]
    assert (ramp12 == RAMP12 >> 4).all()
    inverted = decode(ODD["white-is-zero16.tif"]()).pixels[..., 0]
    assert (inverted == 255 - (ramp16() >> 8)).all()
    wide = decode(ODD["uint32.tif"]()).pixels[0, :, 0].astype(int)
    assert (wide == np.arange(256)).all()


def test_exif_behind_the_pixels_of_a_png() -> None:
    picture = decode(ODD["late-exif.png"]())
    assert picture.info.orientation == 6
    assert picture.pixels.shape == (40, 60, 3)
    assert probe(ODD["late-exif.png"]()).orientation == 1


def test_large_jpegs_are_decoded_in_reduced_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL.JpegImagePlugin import JpegImageFile

    loaded: list[tuple[int, int]] = []
    load = JpegImageFile.load

    def watched(self):
        loaded.append(self.size)
        return load(self)

    monkeypatch.setattr(JpegImageFile, "load", watched)
    for width, height in ((3000, 2000), (2000, 3000), (4000, 500)):
        loaded.clear()
        picture = decode(saved(quarters(width, height), "JPEG"), max_side=500)
        assert max(picture.pixels.shape) == 500
        # No more than needed, and still a little more than is wanted.
        assert 550 <= max(loaded[0]) < 1100, (width, height)
    # The side pictures are described at, from the commonest phones: half of it, not all of it.
    for longer in (4000, 4032, 4160):
        loaded.clear()
        assert max(decode(saved(quarters(longer, 60), "JPEG"), max_side=1024).pixels.shape) == 1024
        assert max(loaded[0]) == longer // 2


def detailed(width: int, height: int) -> Image.Image:
    """Smooth shapes of every size up to the finest that survives halving, in three colours."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    waves = [
        np.sin(x * x / (3.0 * width) + 0.02 * y),
        np.sin(y * y / (3.0 * height) - 0.03 * x),
        np.sin((x - y) / 9.0) * np.cos((x + y) / 23.0),
    ]
    return Image.fromarray(np.rint(127.5 + 90.0 * np.stack(waves, axis=-1)).astype(np.uint8))


def averaged(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The mean over each target pixel's share of the area, in float64: the slow, plain truth."""
    for axis, new in ((0, size[1]), (1, size[0])):
        old = pixels.shape[axis]
        edges = np.arange(new + 1) * old / new
        sums = np.concatenate(
            [np.zeros_like(pixels.take([0], axis), float), pixels.cumsum(axis, float)], axis
        )
        below = np.minimum(edges.astype(int), old - 1)
        part = (edges - below).reshape([-1 if i == axis else 1 for i in range(3)])
        at = sums.take(below, axis) + part * pixels.take(below, axis)
        pixels = np.diff(at, axis=axis) * new / old
    return pixels


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("max_side", [610, 400, 290, 160, 75, 33])
def test_a_reduced_jpeg_is_the_full_one_averaged(
    mode: str, progressive: bool, max_side: int
) -> None:
    data = saved(detailed(640, 481).convert(mode), "JPEG", quality=95, progressive=progressive)
    small = decode(data, max_side=max_side)
    height, width = small.pixels.shape[:2]
    size = (width, height)
    assert width == max_side
    assert abs(height - 481 * max_side / 640) <= 1
    difference = small.pixels - averaged(decode(data).pixels, size)
    assert np.sqrt((difference**2).mean()) < 8.0
    assert abs(difference.mean()) < 0.6
    assert (decode(data, max_side=max_side).pixels == small.pixels).all()


@pytest.mark.parametrize(
    ("size", "max_side", "expected"),
    [
        ((640, 480), 290, (290, 218)),
        ((640, 481), 75, (75, 57)),
        ((481, 640), 75, (57, 75)),
        ((640, 481), 160, (160, 120)),
        ((1001, 667), 127, (127, 85)),
        ((2047, 999), 500, (500, 244)),
        ((4097, 3071), 1024, (1024, 768)),
        ((3024, 4032), 1024, (768, 1024)),
        ((4101, 33), 1024, (1024, 8)),
        ((1500, 1), 16, (16, 1)),
        ((1500, 2), 500, (500, 1)),
    ],
)
def test_the_size_of_a_shrunk_jpeg_never_changes(
    size: tuple[int, int], max_side: int, expected: tuple[int, int]
) -> None:
    """To the pixel what it was when twice the wanted side was decoded: rows of a collection that
    were described then stay comparable."""
    height, width = decode(saved(Image.new("L", size), "JPEG"), max_side=max_side).pixels.shape[:2]
    assert (width, height) == expected


@pytest.mark.parametrize("orientation", sorted(STORED))
def test_a_reduced_jpeg_is_turned_upright(orientation: int) -> None:
    turn = STORED[orientation]
    upright = detailed(900, 700)
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = upright if turn is None else upright.transpose(turn)
    small = decode(saved(stored, "JPEG", exif=exif, quality=95), max_side=300)
    assert small.pixels.shape == (233, 300, 3)
    assert (small.info.width, small.info.height) == (900, 700)
    assert small.pixels.flags.c_contiguous
    difference = small.pixels - averaged(np.asarray(upright), (300, 233))
    assert np.sqrt((difference**2).mean()) < 8.0


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_files_are_refused_when_shrunk_too(name: str) -> None:
    make, expected = BROKEN[name]
    with pytest.raises(expected):
        decode(make(), max_side=16)


def test_a_large_jpeg_cut_anywhere_is_damaged() -> None:
    whole = saved(noisy(400, 300), "JPEG")
    for cut in (300, 5_000, len(whole) // 2, len(whole) - 500):
        with pytest.raises(DamagedImage, match="truncated or corrupt JPEG"):
            decode(whole[:cut], max_side=50)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("max_side", [None, 900])
def test_pixels_outlive_the_decoder(mode: str, max_side: int | None) -> None:
    """They are looked at where Pillow keeps them, in one piece or (the larger size) in several."""
    for width, height in ((1200, 800), (2600, 2100)):
        image = detailed(width, height).convert(mode)
        pixels = decode(saved(image, "BMP" if mode == "L" else "TIFF"), max_side=max_side).pixels
        assert pixels.flags.owndata or pixels.base is not None
        kept = pixels.copy()
        for _ in range(3):
            decode(saved(Image.new(mode, (width, height)), "BMP" if mode == "L" else "TIFF"))
        assert (pixels == kept).all()
        pixels[:] = 0  # and they are the caller's to write on
        if max_side is None:
            assert (kept == np.asarray(image.convert("RGB"))).all()


@pytest.mark.parametrize("format_", ["PNG", "WEBP"])
def test_an_opaque_fourth_channel_changes_nothing(format_: str) -> None:
    plain, opaque = (
        decode(saved(detailed(700, 500).convert(mode), format_, lossless=True), max_side=300)
        for mode in ("RGB", "RGBA")
    )
    assert (plain.pixels == opaque.pixels).all()


def test_what_shows_through_lends_no_colour_to_its_neighbours() -> None:
    """Red that cannot be seen, beside black that can: the edge is grey, not pink."""
    pixels = np.zeros((400, 400, 4), np.uint8)
    pixels[:, :, 3] = 255
    pixels[:, 201:] = (255, 0, 0, 0)
    small = decode(saved(Image.fromarray(pixels), "PNG"), max_side=150).pixels.astype(int)
    assert np.abs(small - small.mean(axis=2, keepdims=True)).max() <= 1


@pytest.mark.parametrize("format_", sorted({*FORMATS} - {"RAW"}))
def test_no_decoder_loads_before_the_limit_is_checked(
    format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    from likewise.images.decode import _DECODERS

    module, name = _DECODERS[format_]

    def load(self):
        raise AssertionError("pixels were decoded")

    data = saved(quarters(100, 100), "HEIF" if format_ == "HEIC" else format_)
    monkeypatch.setattr(getattr(importlib.import_module(module), name), "load", load)
    with pytest.raises(ImageTooLarge, match="100 x 100 pixels, more than the limit of 9,999"):
        decode(data, max_pixels=9_999)
    probe(data, max_pixels=10_000)


def test_pillows_own_limit_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    for format_ in ("WEBP", "TIFF"):
        with pytest.raises(ImageTooLarge, match=r"200 pixels Pillow allows.*MAX_IMAGE_PIXELS"):
            decode(saved(quarters(100, 100), format_))


def test_a_tilde_in_a_name_is_not_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("~strange.png").write_bytes(saved(quarters(), "PNG"))
    assert decode("~strange.png").pixels.shape == (40, 60, 3)
    (tmp_path / "b.png").write_bytes(saved(quarters(), "PNG"))
    assert decode("~/b.png").pixels.shape == (40, 60, 3)


def test_floats_and_wide_integers_are_stretched() -> None:
    assert set(np.unique(decode(ODD["float.tif"]()).pixels)) == {0, 255}
    ramp = decode(ODD["int32.tif"]()).pixels[0, :, 0].astype(int)
    assert (ramp[0], ramp[-1]) == (0, 255)
    assert (np.diff(ramp) >= 0).all()


def exif_jpeg(**tags: str) -> bytes:
    exif = Image.Exif()
    inner = exif.get_ifd(0x8769)
    for name, value in tags.items():
        if name == "date":
            exif[0x0132] = value
        else:
            inner[{"taken": 0x9003, "digitised": 0x9004, "offset": 0x9011}[name]] = value
    return saved(quarters(), "JPEG", exif=exif)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({}, None),
        ({"date": "2020:01:02 03:04:05"}, datetime(2020, 1, 2, 3, 4, 5)),
        (
            {"date": "2020:01:02 03:04:05", "taken": "2019:05:06 07:08:09"},
            datetime(2019, 5, 6, 7, 8, 9),
        ),
        (
            {"taken": "2019:05:06 07:08:09", "offset": "+02:00"},
            datetime(2019, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2))),
        ),
        (
            {"digitised": "2019:05:06 07:08:09", "offset": "+02:00"},
            datetime(2019, 5, 6, 7, 8, 9),
        ),
        (
            {"taken": "0000:00:00 00:00:00", "digitised": "2001:01:01 00:00:00"},
            datetime(2001, 1, 1),
        ),
        ({"taken": "0000:00:00 00:00:00"}, None),
        ({"date": "yesterday"}, None),
    ],
)
def test_date(tags: dict[str, str], expected: datetime | None) -> None:
    assert probe(exif_jpeg(**tags)).date == expected


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_exif_does_not_cost_the_picture() -> None:
    for body in (b"Exif\x00\x00", b"Exif\x00\x00garbage", b"Exif\x00\x00II*\x00\xff\xff\xff\xff"):
        data = saved(quarters(), "JPEG", exif=body)
        picture = decode(data)
        assert picture.info.date is None
        assert picture.pixels.shape == (40, 60, 3)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableImage, match="No such file"):
        decode(tmp_path / "absent.jpg")
    with pytest.raises(UnreadableImage, match="folder"):
        decode(tmp_path)
    with pytest.raises(UnreadableImage, match="cannot be read"):
        decode("nul\x00byte.jpg")
    with pytest.raises(InvalidInput, match="path or as bytes; got int"):
        decode(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="max_side is 0"):
        decode(b"", max_side=0)


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes among the files there")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jpg"
    os.mkfifo(pipe)
    with pytest.raises(UnreadableImage, match="not a regular file"):
        decode(pipe)


@pytest.mark.skipif(MAY_ALL, reason="a mode keeps nobody out here")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.jpg"
    path.write_bytes(saved(quarters(), "JPEG"))
    path.chmod(0)
    with pytest.raises(UnreadableImage, match="Permission denied"):
        decode(path)


def test_the_limit_is_checked_before_pixels_are_decoded() -> None:
    data = saved(quarters(100, 100), "PNG")
    with pytest.raises(ImageTooLarge, match=r"100 x 100 pixels, more than the limit of 9,999"):
        decode(data, max_pixels=9_999)
    assert decode(data, max_pixels=10_000).pixels.shape == (100, 100, 3)
    # The pixels of this one are cut off: had they been touched, it would be damaged, not large.
    with pytest.raises(ImageTooLarge):
        decode(data[:60], max_pixels=9_999)
    with pytest.raises(ImageTooLarge):
        probe(data, max_pixels=9_999)


def test_foreign_formats_are_named() -> None:
    with pytest.raises(NotAnImage, match="PDF document; Likewise decodes JPEG, PNG"):
        decode(b"%PDF-1.4")
    with pytest.raises(NotAnImage, match="empty"):
        decode(b"")
    with pytest.raises(DamagedImage, match="truncated or corrupt JPEG"):
        decode(b"\xff\xd8\xff\xe0")


WHOLE = {f: saved(noisy(24, 18), f) for f in ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP")}
WHOLE |= {f: saved(noisy(24, 18), f) for f in ("AVIF", "HEIF")}


@pytest.mark.filterwarnings("ignore")
@settings(
    max_examples=max(300, 20 * trials.ROUNDS),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.sampled_from(sorted(WHOLE)),
    st.integers(0, 100_000),
    st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 255)), max_size=8),
)
def test_damage_gives_a_picture_or_a_typed_error(
    format_: str, cut: int, changes: list[tuple[int, int]]
) -> None:
    trials.count(trials.PICTURES)
    data = bytearray(WHOLE[format_])
    for at, value in changes:
        data[at % len(data)] = value
    del data[1 + cut % len(data) :]
    try:
        picture = decode(bytes(data), max_pixels=1_000_000)
    except ImageError as error:
        reason = error.reason
    else:
        reason = "none: it decoded"
        assert picture.pixels.ndim == 3
    assert reason
