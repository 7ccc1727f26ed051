"""When each picture was taken: by its EXIF, its file name, or the time of the file.

A moment is local time without an offset, as on the clock of the camera.  The table is updated in
the transaction that changes files or dates (``word_index.py``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from likewise.catalog.database import Transaction
from likewise.errors import InvalidInput

EXIF, NAME, FILE = "exif", "name", "file"
_LENGTH = len("2019-07-04T15:30:12")
_NEVER = "1970-01-01T00:00:00"
"""For a file whose time is no time: a timeline has every picture."""

# Eight digits, or three groups with one sort of separator; the time may follow:
# IMG_20190704_153012, PXL_20210102_030405678, IMG-20190704-WA0001, 2019-07-04 15.30.12,
# Screenshot 2019-07-04 at 15.30.12, photo_2019-07-04_15-30-12, 20190704153012.
_DATE = re.compile(
    r"(?<!\d)((?:19[89]|20\d)\d)([-_. ]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])"
    r"(?:(?!\d)|(?=\d{6}(?!\d)))"
    # Only milliseconds may follow, no other digit.
    r"(?:(?:[-_. T]|\sat\s)*([01]\d|2[0-3])([-_.:h]?)([0-5]\d)\6([0-5]\d)(?:\d{3})?(?!\d))?"
)


def moment_of_name(name: str) -> str | None:
    """Return the moment in a file's name, None if there is none.

    >>> moment_of_name("IMG_20190704_153012.jpg")
    '2019-07-04T15:30:12'
    >>> moment_of_name("IMG-20190704-WA0001.jpg")
    '2019-07-04T00:00:00'
    """
    for found in _DATE.finditer(name):
        year, _, month, day, hour, _, minute, second = found.groups()
        text = f"{year}-{month}-{day}T{hour or '00'}:{minute or '00'}:{second or '00'}"
        try:
            return datetime.fromisoformat(text).isoformat()
        except ValueError:
            continue  # no valid date, such as the 31st of June
    return None


def moment_of(date: str | None, files: Sequence[tuple[str, int]]) -> tuple[str, str] | None:
    """Return (moment, source) of a picture, given its EXIF date and its files (path, mtime)."""
    if date:
        return date[:_LENGTH], EXIF
    named = [moment for path, _ in files if (moment := moment_of_name(os.path.basename(path)))]
    if named:
        return min(named), NAME
    if not files:
        return None
    try:
        oldest = min(mtime_ns for _, mtime_ns in files)
        return datetime.fromtimestamp(oldest // 10**9).isoformat()[:_LENGTH], FILE
    except (ValueError, OverflowError, OSError):
        return _NEVER, FILE


_BOUND = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?"
    r"(?:Z|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)


def bound_of(key: str, value: Any) -> str:
    """Return the date of a filter as a prefix of moments, or refuse it.

    A year or a month is enough; a time is local time, whatever its offset.

    >>> bound_of("after", "2019-07"), bound_of("before", "2019-07-04 15:30:12+02:00")
    ('2019-07', '2019-07-04T15:30:12')
    """
    found = _BOUND.fullmatch(str(value))
    try:
        if found is None or isinstance(value, bool):
            raise ValueError
        year, month, day, *time = found.groups()
        hour, minute, second = (int(part or 0) for part in time)
        datetime(int(year), int(month or 1), int(day or 1), hour, minute, second)
    except ValueError:
        raise InvalidInput(
            f"{key} is {value!r}; a date such as 2019, 2019-07 or 2019-07-04 expected"
        ) from None
    days = "-".join(part for part in (year, month, day) if part)
    return f"{days}T{':'.join(part for part in time if part)}" if time[0] else days


def refresh_moments(c: Transaction, images: Sequence[int]) -> None:
    """Update the moments of some pictures (at most 500)."""
    marks = ", ".join("?" * len(images))
    dates = dict(
        map(tuple, c.execute(f"SELECT id, date FROM images WHERE id IN ({marks})", images))
    )
    files: dict[int, list[tuple[str, int]]] = {}
    rows = c.execute(f"SELECT image, path, mtime_ns FROM files WHERE image IN ({marks})", images)
    for image, path, mtime_ns in rows:
        files.setdefault(image, []).append((path, mtime_ns))
    known = {
        row[0]: (row[1], row[2])
        for row in c.execute(
            f"SELECT image, moment, source FROM moments WHERE image IN ({marks})", images
        )
    }
    for image in images:
        # A picture without a file is being removed or was never completely added: no time.
        now = moment_of(dates[image], files.get(image, ())) if image in dates else None
        if now == known.get(image):
            continue
        c.execute("DELETE FROM moments WHERE image = ?", (image,))
        if now is not None:
            c.execute("INSERT INTO moments VALUES (?, ?, ?)", (image, *now))
