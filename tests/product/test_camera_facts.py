"""What a camera wrote is read as a person reads it; what makes no sense is left out."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from likewise.errors import NotAnImage
from likewise.images.decode import read_camera_facts


def picture(camera: dict[int, Any], place: dict[int, Any], kind: str = "JPEG") -> bytes:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x0131] = "Maker", "Maker Mark II", "Studio\x00 3"
    exif[0x0112] = 6
    exif.get_ifd(0x8769).update(camera)
    exif.get_ifd(0x8825).update(place)
    made = io.BytesIO()
    Image.new("RGB", (8, 6)).save(made, kind, exif=exif)
    return made.getvalue()


def test_exposure_lens_and_place_are_read() -> None:
    camera = {
        0x829A: IFDRational(1, 250),
        0x829D: IFDRational(28, 10),
        0x8827: 400,
        0x9204: IFDRational(-1, 3),
        0x9209: 0x19,
        0x920A: IFDRational(85, 1),
        0xA405: 127,
        0xA433: "Optics",
        0xA434: "85mm F1.8",
        0x9003: "2021:05:04 10:00:00",
    }
    place = {1: "S", 2: (33.0, 51.0, 36.0), 3: "E", 4: (151.0, 12.0, 0.0), 5: b"\x01", 6: 12.5}
    found = read_camera_facts(picture(camera, place))
    assert found.camera == "Maker Mark II"
    assert found.lens == "Optics 85mm F1.8"
    assert found.exposure == pytest.approx(0.004)
    assert found.aperture == pytest.approx(2.8)
    assert (found.iso, found.flash, found.focal, found.focal_35) == (400, True, 85, 127)
    assert found.bias == pytest.approx(-1 / 3)
    assert found.latitude == pytest.approx(-33.86)
    assert found.longitude == pytest.approx(151.2)
    assert found.altitude == pytest.approx(-12.5)
    assert (found.software, found.taken) == ("Studio 3", "2021-05-04T10:00:00")
    assert (found.orientation, found.format) == (6, "JPEG")


@pytest.mark.parametrize(
    "place",
    [
        {1: "N", 2: (99.0, 0.0, 0.0), 3: "E", 4: (8.0, 0.0, 0.0)},
        {1: "N", 2: (52.0, 0.0, 0.0)},
        {2: (52.0, 0.0, 0.0), 4: (8.0, 0.0, 0.0)},
        {1: "N", 2: (52.0, 0.0), 3: "E", 4: (8.0, 0.0, 0.0)},
    ],
)
def test_half_a_place_is_no_place(place: dict[int, Any]) -> None:
    found = read_camera_facts(picture({}, place))
    assert (found.latitude, found.longitude, found.altitude) == (None, None, None)


def test_numbers_out_of_range_are_left_out() -> None:
    found = read_camera_facts(
        picture({0x829A: IFDRational(0, 1), 0x829D: IFDRational(1, 0), 0x920A: "long"}, {})
    )
    assert (found.exposure, found.aperture, found.focal) == (None, None, None)


def test_without_exif_only_the_file_is_known() -> None:
    made = io.BytesIO()
    Image.new("RGB", (8, 6)).save(made, "PNG")
    found = read_camera_facts(made.getvalue())
    assert (found.format, found.camera, found.iso) == ("PNG", None, None)
    assert found.n_bytes == len(made.getvalue())


def test_what_is_no_picture_says_so() -> None:
    with pytest.raises(NotAnImage):
        read_camera_facts(b"no picture")
