"""What a camera wrote into a picture, as a person reads it: camera, lens, exposure, place, date.

EXIF is written by thousands of programs, some of them careless: every value is checked for its kind
and its range, and one that makes no sense is left out, never guessed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from likewise.images import Source, exif_tags

_SOFTWARE = 0x0131
_EXPOSURE, _APERTURE, _ISO, _BIAS, _FLASH, _FOCAL = 0x829A, 0x829D, 0x8827, 0x9204, 0x9209, 0x920A
_FOCAL_35, _LENS_MAKER, _LENS = 0xA405, 0xA433, 0xA434
_SOUTH, _LATITUDE, _WEST, _LONGITUDE, _BELOW, _ALTITUDE = 1, 2, 3, 4, 5, 6
_LONGEST = 200


@dataclass(frozen=True)
class CameraFacts:
    """What is known of how a picture was taken; None where the file does not say.

    ``exposure`` in seconds, focal lengths in millimetres, ``latitude`` and ``longitude`` in degrees
    (north and east positive), ``altitude`` in metres.  ``orientation`` is the turn that the stored
    pixels still need, as in EXIF.
    """

    format: str
    n_bytes: int
    orientation: int = 1
    camera: str | None = None
    lens: str | None = None
    exposure: float | None = None
    aperture: float | None = None
    iso: int | None = None
    bias: float | None = None
    flash: bool | None = None
    focal: float | None = None
    focal_35: int | None = None
    latitude: float | None = None
    longitude: float | None = None
    altitude: float | None = None
    software: str | None = None
    taken: str | None = None


def read_camera_facts(source: Source) -> CameraFacts:
    """The facts of one file, from its header alone; an ``ImageError`` if it is no picture."""
    info, tags = exif_tags(source)
    camera, place = tags.camera, tags.place
    lens = _text(camera.get(_LENS))
    maker = _text(camera.get(_LENS_MAKER))
    if lens and maker and not lens.lower().startswith(maker.lower()):
        lens = f"{maker} {lens}"[:_LONGEST]
    iso = _number(_first(camera.get(_ISO)), 1, 10_000_000)
    flash = _number(camera.get(_FLASH), 0, 255)
    focal_35 = _number(camera.get(_FOCAL_35), 1, 10_000)
    latitude = _degrees(place.get(_LATITUDE), place.get(_SOUTH), "S", 90)
    longitude = _degrees(place.get(_LONGITUDE), place.get(_WEST), "W", 180)
    altitude = _number(place.get(_ALTITUDE), 0, 100_000)
    below = place.get(_BELOW) in (1, b"\x01")
    placed = latitude is not None and longitude is not None
    return CameraFacts(
        format=info.format,
        n_bytes=info.n_bytes,
        orientation=info.orientation,
        camera=info.camera,
        lens=lens,
        exposure=_number(camera.get(_EXPOSURE), 1e-7, 1e6),
        aperture=_number(camera.get(_APERTURE), 0.1, 1000),
        iso=None if iso is None else int(iso),
        bias=_number(camera.get(_BIAS), -100, 100),
        flash=None if flash is None else bool(int(flash) & 1),
        focal=_number(camera.get(_FOCAL), 0.1, 100_000),
        focal_35=None if focal_35 is None else int(focal_35),
        latitude=latitude if placed else None,
        longitude=longitude if placed else None,
        altitude=None if altitude is None or not placed else -altitude if below else altitude,
        software=_text(tags.picture.get(_SOFTWARE)),
        taken=None if info.date is None else info.date.isoformat(),
    )


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple | list) and value else value


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return re.sub(r"[\x00-\x1f\x7f\s]+", " ", value).strip()[:_LONGEST] or None


def _number(value: Any, least: float, most: float) -> float | None:
    """A finite number within its range; a fraction over zero is none."""
    if isinstance(value, str | bytes) or value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return found if math.isfinite(found) and least <= found <= most else None


def _degrees(parts: Any, side: Any, negative: str, most: float) -> float | None:
    """Degrees, minutes and seconds with a side of the world, as one signed number."""
    if not isinstance(parts, tuple | list) or len(parts) != 3:
        return None
    values = [_number(part, 0, 360) for part in parts]
    if any(value is None for value in values) or not isinstance(side, str):
        return None
    degrees, minutes, seconds = (value for value in values if value is not None)
    found = degrees + minutes / 60 + seconds / 3600
    if found > most:
        return None
    return -found if side.strip("\x00 ").upper().startswith(negative) else found
