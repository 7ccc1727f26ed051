"""How and where a picture was taken, from its EXIF: lens, exposure, place, rating.

Cameras, phones and editors write odd things: what makes no sense is left out, field by field, and
broken metadata never costs a picture.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

_IFD_EXIF, _IFD_GPS = 0x8769, 0x8825
_EXPOSURE, _APERTURE, _ISO, _FOCAL = 0x829A, 0x829D, 0x8827, 0x920A
_LENS = 0xA434
_RATING = 0x4746
_GPS_NORTH, _GPS_LATITUDE, _GPS_EAST, _GPS_LONGITUDE = 1, 2, 3, 4
_LONGEST = 200


class Exif(Protocol):
    """What a decoder gives of a picture's EXIF."""

    def __getitem__(self, tag: int, /) -> Any: ...
    def get_ifd(self, tag: int, /) -> Mapping[int, Any]: ...


@dataclass(frozen=True)
class Shot:
    """``exposure`` is in seconds, ``aperture`` the f-number, ``focal`` in millimetres; places are
    degrees north and east; ``rating`` is 0 to 5 stars.  None: the file does not say."""

    lens: str | None = None
    exposure: float | None = None
    aperture: float | None = None
    iso: int | None = None
    focal: float | None = None
    latitude: float | None = None
    longitude: float | None = None
    rating: int | None = None


def read_shot(exif: Exif | None) -> Shot | None:
    """What EXIF says; None where it says nothing of it."""
    if not exif:
        return None
    taken = _ifd(exif, _IFD_EXIF)
    latitude, longitude = _place(_ifd(exif, _IFD_GPS))
    iso = _number(taken.get(_ISO), 1, 1e8)
    found = Shot(
        lens=_text(taken.get(_LENS)),
        exposure=_number(taken.get(_EXPOSURE), 1e-7, 1e6),
        aperture=_number(taken.get(_APERTURE), 0.1, 1e3),
        iso=None if iso is None else round(iso),
        focal=_number(taken.get(_FOCAL), 0.01, 1e5),
        latitude=latitude,
        longitude=longitude,
        rating=_rating(exif),
    )
    return None if found == Shot() else found


def _ifd(exif: Exif, tag: int) -> Mapping[int, Any]:
    with suppress(Exception):
        return exif.get_ifd(tag)
    return {}


def _rating(exif: Exif) -> int | None:
    value = None
    with suppress(Exception):
        value = exif[_RATING]
    return value if isinstance(value, int) and 0 < value <= 5 else None


def _number(value: Any, least: float, most: float) -> float | None:
    """A number or the first of several, within reason."""
    if isinstance(value, tuple):
        value = value[0] if value else None
    with suppress(Exception):
        found = float(value)
        if math.isfinite(found) and least <= found <= most:
            return found
    return None


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return re.sub(r"[\x00-\x1f\x7f\s]+", " ", value).strip()[:_LONGEST] or None


def _place(gps: Mapping[int, Any]) -> tuple[float | None, float | None]:
    north = _degrees(gps.get(_GPS_LATITUDE), gps.get(_GPS_NORTH), "S", 90)
    east = _degrees(gps.get(_GPS_LONGITUDE), gps.get(_GPS_EAST), "W", 180)
    # Phones without a fix write 0, 0: a place in the sea that nobody photographs.
    if north is None or east is None or (north == 0 and east == 0):
        return None, None
    return north, east


def _degrees(parts: Any, side: Any, negative: str, most: float) -> float | None:
    """Degrees, minutes and seconds as one number; the letter says on which side of zero."""
    if not isinstance(parts, tuple) or not 1 <= len(parts) <= 3:
        return None
    total = 0.0
    for share, part in zip((1, 60, 3600), parts, strict=False):
        read = _number(part, 0, 360)
        if read is None:
            return None
        total += read / share
    if total > most:
        return None
    return -total if str(side).strip("\x00 ").upper() == negative else total
