"""Previews inside RAW files, on files made here: found by their tables, and by nothing else."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from likewise import Collection
from likewise.errors import ImageError, ImageTooLarge, NotAnImage
from likewise.images.decode import decode, probe
from likewise.images.raw_previews import find_preview


def jpeg(size: tuple[int, int], quality: int = 90) -> bytes:
    noise = np.random.default_rng(size[0]).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    made = io.BytesIO()
    Image.fromarray(noise).save(made, "JPEG", quality=quality)
    return made.getvalue()


def table(way: str, entries: dict[int, tuple[int, int]], following: int = 0) -> bytes:
    """A table of entries (tag: kind, value), each value in the entry itself."""
    made = struct.pack(way + "H", len(entries))
    for tag, (kind, value) in sorted(entries.items()):
        made += struct.pack(way + "HHI", tag, kind, 1)
        made += struct.pack(
            way + ("HH" if kind == 3 else "I"), *([value, 0] if kind == 3 else [value])
        )
    return made + struct.pack(way + "I", following)


def raw_file(
    way: str = "<",
    *,
    turn: int = 1,
    sensor: bool = True,
    large: bytes | None = None,
    small: bytes | None = None,
    cr2: bool = False,
) -> bytes:
    """A RAW file as cameras write them: a small picture first, sensor data and a preview below."""
    large = jpeg((96, 64)) if large is None else large
    small = jpeg((24, 16)) if small is None else small
    head = (b"II*\0" if way == "<" else b"MM\0*") + struct.pack(way + "I", 16)
    head += (b"CR\2\0" if cr2 else bytes(4)) + bytes(4)
    size_first = 2 + 12 * 5 + 4
    sensor_at = 16 + size_first
    size_sensor = 2 + 12 * 4 + 4
    small_at = sensor_at + size_sensor
    large_at = small_at + len(small)
    pixels_at = large_at + len(large)
    first = table(
        way,
        {
            274: (3, turn),
            306: (4, 0),
            513: (4, small_at),
            514: (4, len(small)),
            330: (4, sensor_at),
        },
    )
    below = {
        262: (3, 32803 if sensor else 2),
        259: (3, 1),
        513: (4, large_at),
        514: (4, len(large)),
    }
    made = head + first + table(way, below) + small + large
    assert len(made) == pixels_at
    return made + bytes(range(256)) * 16


@pytest.mark.parametrize("way", ["<", ">"])
def test_the_largest_preview_is_shown_upright(way: str) -> None:
    content = raw_file(way, turn=6)
    info = probe(content)
    assert (info.format, info.width, info.height) == ("RAW", 64, 96)
    pixels = decode(content).pixels
    assert pixels.shape == (96, 64, 3)
    plain = decode(jpeg((96, 64))).pixels
    assert (pixels == np.rot90(plain, -1)).all()


def test_the_limit_of_pixels_holds_for_previews() -> None:
    with pytest.raises(ImageTooLarge, match="96 x 64 pixels"):
        probe(raw_file(), max_pixels=96 * 64 - 1)


def test_a_canon_file_says_so_in_its_head() -> None:
    assert probe(raw_file(sensor=False, cr2=True)).format == "RAW"
    # The same tables without it are an ordinary TIFF, whatever pictures lie in it.
    assert find_preview(io.BytesIO(raw_file(sensor=False)), len(raw_file(sensor=False))) is None


def test_fuji_has_two_numbers() -> None:
    inside = jpeg((48, 32))
    head = b"FUJIFILMCCD-RAW ".ljust(84, b"\0") + struct.pack(">II", 120, len(inside))
    content = head.ljust(120, b"\0") + inside + bytes(500)
    assert decode(content).pixels.shape == (32, 48, 3)
    with pytest.raises(NotAnImage, match="RAW file without a preview"):
        decode(content[:150])


def test_sensor_data_in_a_lossless_jpeg_is_no_preview() -> None:
    lossless = bytearray(jpeg((400, 300)))
    at = lossless.find(b"\xff\xc0")
    lossless[at + 1] = 0xC3
    assert decode(raw_file(large=bytes(lossless))).pixels.shape == (16, 24, 3), "the next largest"


def test_lies_about_places_are_not_followed() -> None:
    content = raw_file()
    at = content.find(struct.pack("<HHI", 513, 4, 1), 90)
    for lie in (0, 4, len(content) - 10, 2**32 - 1):
        bent = bytearray(content)
        bent[at + 8 : at + 12] = struct.pack("<I", lie)
        found = find_preview(io.BytesIO(bytes(bent)), len(bent))
        assert found is None or found.at + found.length <= len(bent)


def test_a_table_that_leads_to_itself_ends() -> None:
    content = bytearray(raw_file())
    sub = content.find(struct.pack("<HHI", 330, 4, 1))
    content[sub + 8 : sub + 12] = struct.pack("<I", 16)
    find_preview(io.BytesIO(bytes(content)), len(content))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=12))
def test_whatever_bytes_are_bent_it_answers(bends: list[tuple[int, int]]) -> None:
    content = bytearray(raw_file())
    for at, value in bends:
        content[at] = value
    try:
        picture = decode(bytes(content), max_side=32)
    except ImageError:
        return
    assert picture.pixels.size > 0


def test_raw_files_come_in_and_films_are_counted(tmp_path: Path) -> None:
    (tmp_path / "DSC1.NEF").write_bytes(raw_file())
    (tmp_path / "DSC2.ORF").write_bytes(b"IIRO" + bytes(400))
    (tmp_path / "clip.MP4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(100))
    (tmp_path / "clip.mov").write_bytes(bytes(100))
    with Collection.create(tmp_path / "p.lw", words={"n_words": 20}, deep=False) as col:
        result = col.add(tmp_path, workers=0)
        assert (result.added, result.videos) == (1, 2)
        ((path, reason),) = result.skipped
        assert path.endswith("DSC2.ORF")
        assert "Olympus RAW" in reason
        assert col.image(1).format == "RAW"
        assert "2 videos skipped (not supported)" in str(result)
