"""Read from EXIF how, where and when a picture was taken.

Values that make no sense are ignored one by one; broken metadata never makes a picture unreadable.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

_IFD_EXIF, _IFD_GPS = 0x8769, 0x8825
_EXPOSURE, _APERTURE, _ISO, _BIAS, _FLASH, _FOCAL = 0x829A, 0x829D, 0x8827, 0x9204, 0x9209, 0x920A
_FOCAL_35, _LENS_MAKER, _LENS = 0xA405, 0xA433, 0xA434
_MAKER, _MODEL, _SOFTWARE, _RATING = 0x010F, 0x0110, 0x0131, 0x4746
_CHANGED, _TAKEN, _DIGITISED = 0x0132, 0x9003, 0x9004
_OFFSET_OF = {_TAKEN: 0x9011, _DIGITISED: 0x9012, _CHANGED: 0x9010}
"""The tag of each date, with that of its offset from UTC."""
_GPS_NORTH, _GPS_LATITUDE, _GPS_EAST, _GPS_LONGITUDE, _GPS_BELOW, _GPS_ALTITUDE = 1, 2, 3, 4, 5, 6
_MAX_TEXT = 200
_DATE = re.compile(r"(\d{4})[:\-](\d\d)[:\-](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_OFFSET = re.compile(r"[+-]\d\d:\d\d")


class Exif(Protocol):
    """The EXIF that a decoder returns."""

    def __getitem__(self, tag: int, /) -> Any: ...
    def get_ifd(self, tag: int, /) -> Mapping[int, Any]: ...


@dataclass(frozen=True)
class Shot:
    """How a picture was taken; None: the file does not say.

    ``exposure`` is in seconds, ``aperture`` the f-number, focal lengths in millimetres; places are
    degrees north and east, ``altitude`` metres; ``rating`` is 1 to 5 stars, ``bias`` in exposure
    steps.
    """

    lens: str | None = None
    exposure: float | None = None
    aperture: float | None = None
    iso: int | None = None
    focal: float | None = None
    latitude: float | None = None
    longitude: float | None = None
    rating: int | None = None
    bias: float | None = None
    flash: bool | None = None
    focal_35: int | None = None
    altitude: float | None = None
    software: str | None = None


def read_shot(exif: Exif | None) -> Shot | None:
    """Return what EXIF says, None if it says nothing."""
    if not exif:
        return None
    taken = _ifd(exif, _IFD_EXIF)
    gps = _ifd(exif, _IFD_GPS)
    latitude, longitude = _place(gps)
    flash = _number(taken.get(_FLASH), 0, 255)
    found = Shot(
        lens=_with_maker(_text(taken.get(_LENS_MAKER)), _text(taken.get(_LENS))),
        exposure=_number(taken.get(_EXPOSURE), 1e-7, 1e6),
        aperture=_number(taken.get(_APERTURE), 0.1, 1e3),
        iso=_whole(_number(taken.get(_ISO), 1, 1e8)),
        focal=_number(taken.get(_FOCAL), 0.01, 1e5),
        latitude=latitude,
        longitude=longitude,
        rating=_rating(exif),
        bias=_number(taken.get(_BIAS), -100, 100),
        flash=None if flash is None else bool(int(flash) & 1),
        focal_35=_whole(_number(taken.get(_FOCAL_35), 1, 1e4)),
        altitude=None if latitude is None else _altitude(gps),
        software=_text(_get(exif, _SOFTWARE)),
    )
    return None if found == Shot() else found


def read_camera(exif: Exif | None) -> str | None:
    """Return maker and model of the camera."""
    if not exif:
        return None
    maker, model = _text(_get(exif, _MAKER)), _text(_get(exif, _MODEL))
    return _with_maker(maker, model) or maker


def read_date(exif: Exif | None) -> datetime | None:
    """Return when the picture was taken, with its offset from UTC if the camera wrote one."""
    if not exif:
        return None
    inner = _ifd(exif, _IFD_EXIF)
    for tag in (_TAKEN, _DIGITISED, _CHANGED):
        value = _get(exif, tag) if tag == _CHANGED else inner.get(tag)
        found = _DATE.match(value.strip()) if isinstance(value, str) else None
        if found is None:
            continue
        text = "{}-{}-{}T{}:{}:{}".format(*found.groups())
        offset = inner.get(_OFFSET_OF[tag])
        if isinstance(offset, str) and _OFFSET.fullmatch(offset.strip("\x00 ")):
            text += offset.strip("\x00 ")
        with suppress(ValueError):  # cameras without a clock write 0000:00:00
            return datetime.fromisoformat(text)
    return None


def _ifd(exif: Exif, tag: int) -> Mapping[int, Any]:
    with suppress(Exception):
        return exif.get_ifd(tag)
    return {}


def _get(exif: Exif, tag: int) -> Any:
    with suppress(Exception):
        return exif[tag]
    return None


def _rating(exif: Exif) -> int | None:
    value = _get(exif, _RATING)
    return value if isinstance(value, int) and 0 < value <= 5 else None


def _with_maker(maker: str | None, name: str | None) -> str | None:
    """Return maker and name; many names begin with the maker."""
    if name and maker and not name.lower().startswith(maker.lower()):
        return f"{maker} {name}"[:_MAX_TEXT]
    return name


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _number(value: Any, least: float, most: float) -> float | None:
    """Return a number, or the first of several, within limits."""
    if isinstance(value, tuple):
        value = value[0] if value else None
    if isinstance(value, str | bytes):
        return None
    with suppress(Exception):
        found = float(value)
        if math.isfinite(found) and least <= found <= most:
            return found
    return None


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return re.sub(r"[\x00-\x1f\x7f\s]+", " ", value).strip()[:_MAX_TEXT] or None


def _place(gps: Mapping[int, Any]) -> tuple[float | None, float | None]:
    north = _degrees(gps.get(_GPS_LATITUDE), gps.get(_GPS_NORTH), "S", 90)
    east = _degrees(gps.get(_GPS_LONGITUDE), gps.get(_GPS_EAST), "W", 180)
    # Phones without a GPS fix write 0, 0.
    if north is None or east is None or (north == 0 and east == 0):
        return None, None
    return north, east


def _altitude(gps: Mapping[int, Any]) -> float | None:
    metres = _number(gps.get(_GPS_ALTITUDE), 0, 1e5)
    below = gps.get(_GPS_BELOW) in (1, b"\x01")
    return -metres if below and metres is not None else metres


def _degrees(parts: Any, side: Any, negative: str, most: float) -> float | None:
    """Return degrees, minutes and seconds as one number; the letter gives its sign."""
    if not isinstance(parts, tuple) or len(parts) != 3 or not isinstance(side, str):
        return None
    total = 0.0
    for share, part in zip((1, 60, 3600), parts, strict=True):
        read = _number(part, 0, 360)
        if read is None:
            return None
        total += read / share
    if total > most:
        return None
    return -total if side.strip("\x00 ").upper().startswith(negative) else total
