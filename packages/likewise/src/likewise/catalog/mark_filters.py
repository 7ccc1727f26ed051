"""Filters by what people think of pictures, and by place: a key of a ``where`` as SQL."""

from __future__ import annotations

import math
from typing import Any

from likewise.errors import InvalidInput

MARK_FILTERS = ("stars", "favourite", "hidden", "album", "box", "month")
HIDDEN = "i.hash IN (SELECT hash FROM picture_marks WHERE hidden = 1)"
HIDDEN_OUT = f"NOT {HIDDEN}"
"""What every list has in common unless hidden pictures are asked for."""


def mark_condition(key: str, value: Any) -> tuple[str, list[Any]]:
    """SQL over images i, and the values for its marks.

    ``stars`` is the fewest, ``hidden`` true (only those), false or "any"; ``box`` is
    "south,west,north,east" in degrees; ``month`` begins like an ISO date.
    """
    if key == "stars":
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 5:
            raise InvalidInput(f"stars is {value!r}; a number of stars from 0 to 5 expected")
        # Stars that somebody keeps in metadata of their own count as before.
        rated = (
            "(i.hash IN (SELECT hash FROM picture_marks WHERE stars >= ?) "
            "OR CASE WHEN json_type(i.metadata, '$.stars') IN ('integer', 'real') "
            "THEN CAST(json_extract(i.metadata, '$.stars') AS REAL) ELSE 0 END >= ?)"
        )
        return (rated, [value, value]) if value else ("TRUE", [])
    if key == "favourite":
        loved = "i.hash IN (SELECT hash FROM picture_marks WHERE favourite = 1)"
        return (loved if value else f"NOT {loved}"), []
    if key == "hidden":
        if value == "any":
            return "TRUE", []
        return (HIDDEN if value else HIDDEN_OUT), []
    if key == "album":
        # Whoever named albums in metadata of their own goes on finding them.
        return (
            "(i.hash IN (SELECT hash FROM album_pictures WHERE album = "
            "(SELECT id FROM albums WHERE name = ?)) "
            "OR coalesce(json_extract(i.metadata, '$.album') = ? COLLATE NOCASE, FALSE))",
            [str(value), str(value)],
        )
    if key == "month":
        return "i.id IN (SELECT image FROM moments WHERE substr(moment, 1, 7) = ?)", [str(value)]
    return _inside(str(value))


def _inside(box: str) -> tuple[str, list[Any]]:
    try:
        south, west, north, east = (float(side) for side in box.split(","))
    except ValueError:
        south = west = north = east = math.nan
    if not all(map(math.isfinite, (south, west, north, east))):
        raise InvalidInput(f"box is {box!r}; south,west,north,east in degrees expected")
    # A box that crosses the date line begins east of where it ends.
    across = "AND" if west <= east else "OR"
    return (
        "i.id IN (SELECT image FROM shots WHERE latitude BETWEEN ? AND ? "
        f"AND (longitude >= ? {across} longitude <= ?))",
        [south, north, west, east],
    )
