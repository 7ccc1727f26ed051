"""Filters of searches and lists (``where``): check their values and translate them to SQL.

A folder may be given as a path or as its last names (``Wardrobe``, ``trips/rome``); where no folder
has that name, a part of a name is enough.  Subfolders always belong to a folder.  An unknown key is
refused, because it would match no picture.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from likewise.errors import InvalidInput, UnknownFilter
from likewise_methods.validation import refuse

if TYPE_CHECKING:
    from likewise.catalog.store import Store

_WIDEST = 1 << 63


def plain_metadata(metadata: Mapping[str, Any]) -> str:
    """The metadata of a picture as JSON text, or a clear refusal."""
    try:
        found = dict(metadata)
        text = json.dumps(found, allow_nan=False)
    except (TypeError, ValueError) as error:
        wanted = "text, finite numbers, true or false, and lists of them, by name"
        raise refuse("metadata", metadata, f"{wanted} ({error})") from error
    # JSON would take numbers as keys, and make text of them.
    for key in found:
        if not isinstance(key, str):
            raise refuse("a key of metadata", key, "text")
    return text


def plain_where(where: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions with values SQLite can compare: dates as ISO text, folders as text.

    A folder that is a path object is made whole; text may be a name, which the catalog knows.
    """
    made: dict[str, Any] = {}
    for key, value in where.items():
        if key == "folder":
            if not isinstance(value, str | os.PathLike):
                raise InvalidInput(f"where 'folder' is {value!r}; a path or a name expected")
            made[key] = value if isinstance(value, str) else str(absolute(value))
        elif key == "tag":
            made[key] = [value] if isinstance(value, str) else list(value)
            if not made[key] or not all(isinstance(tag, str) for tag in made[key]):
                raise InvalidInput(f"where 'tag' is {value!r}; a tag or a list of tags expected")
        elif isinstance(value, datetime | date):
            made[key] = value.isoformat()
        elif isinstance(value, str | bool | float) or (
            isinstance(value, int) and -_WIDEST <= value < _WIDEST
        ):
            made[key] = value
        else:
            raise InvalidInput(f"where {key!r} is {value!r}; text, a number or a date expected")
        if not isinstance(key, str) or '"' in key:
            raise InvalidInput(f"where has the key {key!r}; a name without quotes expected")
    return made


def absolute(path: str | os.PathLike[str]) -> Path:
    """A path as the catalog knows it: whole, ~ resolved, links kept."""
    return Path(os.path.abspath(Path(path).expanduser()))


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


FILTERS = (
    "after", "before", "camera", "folder", "format", "tag", "tagged", *MARK_FILTERS
)  # fmt: skip
"""Keys of a ``where`` that every collection knows; its own metadata adds to them."""
SEPARATOR = os.sep
_SHORT = {"JPG": "JPEG", "TIF": "TIFF", "HEIF": "HEIC"}
_MOST_NAMED = 20

Fits = Callable[[str, str], bool]
Condition = tuple[str, list[Any]]
"""SQL over images i, and the values for its marks."""


def folder_condition(store: Store, folder: str) -> Condition:
    """Pictures in a folder or below it; in each of them where several bear the name."""
    paths = find_folders(store, folder)
    if not paths:
        return "FALSE", []
    wanted = ", ".join("(?)" for _ in paths)
    # What lies below a folder sorts between its name with the separator and with the sign after it.
    after = chr(ord(SEPARATOR) + 1)
    clause = (
        f"i.id IN (WITH wanted (top) AS (VALUES {wanted}) "
        "SELECT image FROM wanted JOIN files ON folder = top UNION ALL "
        "SELECT image FROM wanted JOIN files ON folder >= top || "
        f"'{SEPARATOR}' AND folder < top || '{after}')"
    )
    return clause, [path.rstrip(SEPARATOR) for path in paths]


def find_folders(store: Store, folder: str) -> list[str]:
    """Paths of the folders that are meant, none of them below another."""
    whole = str(absolute(folder))
    if folder.startswith("~") or os.path.isabs(folder):
        return [whole]
    known = [row[0] for row in store.all("SELECT DISTINCT folder FROM files")]
    inside = whole.rstrip(SEPARATOR) + SEPARATOR
    names = [name.casefold() for name in PurePath(folder).parts]
    if not names or any(path == whole or path.startswith(inside) for path in known):
        return [whole]
    roots = store.roots()
    for fits in (_is_name, _is_part):
        found = {path for one in known for path in _named(one, roots, names, fits)}
        if found:
            return [p for p in sorted(found) if not found & set(map(str, PurePath(p).parents))]
    return []


def _named(folder: str, roots: Iterable[str], names: list[str], fits: Fits) -> Iterator[str]:
    """The folder, or those above it that were added, whose last names are these."""
    path = PurePath(folder)
    # What lies above a folder that was added has nothing to do with the collection.
    first = min(
        (len(PurePath(root).parts) for root in roots if PurePath(root) in (path, *path.parents)),
        default=len(path.parts),
    )
    parts = path.parts
    for end in range(first, len(parts) + 1):
        begin = end - len(names)
        if begin < first - 1:
            continue
        own = [part.casefold() for part in parts[begin:end]]
        if all(fits(name, part) for name, part in zip(names, own, strict=True)):
            yield str(PurePath(*parts[:end]))


def _is_name(name: str, part: str) -> bool:
    return name == part


def _is_part(name: str, part: str) -> bool:
    return name in part


def camera_condition(camera: str) -> Condition:
    """Pictures whose camera, as the file or somebody's metadata names it, has all these words."""
    words = [word.casefold() for word in camera.split()] or [""]
    in_file = " AND ".join("instr(lower(camera), ?) > 0" for _ in words)
    said = " AND ".join("instr(lower(json_extract(i.metadata, '$.camera')), ?) > 0" for _ in words)
    clause = f"(i.id IN (SELECT image FROM cameras WHERE {in_file}) OR coalesce({said}, FALSE))"
    return clause, [*words, *words]


def format_condition(name: str) -> Condition:
    """Pictures of a format, by its name or by how files of it are called."""
    asked = name.upper().lstrip(".")
    return "i.format = ?", [_SHORT.get(asked, asked)]


def metadata_condition(store: Store, key: str, value: Any) -> Condition:
    """Pictures with this in their metadata; text in any case."""
    path = f'$."{key}"'
    known = store.all(
        "SELECT 1 FROM images WHERE json_type(metadata, ?) IS NOT NULL LIMIT 1", (path,)
    )
    if not known:
        raise UnknownFilter(key, [*FILTERS, *metadata_keys(store)])
    return "json_extract(i.metadata, ?) = ? COLLATE NOCASE", [path, value]


def metadata_keys(store: Store) -> list[str]:
    """Keys that the metadata of some picture has, the first few by name."""
    rows = store.all(
        "SELECT DISTINCT said.key FROM images i, json_each(i.metadata) said "
        "WHERE i.metadata <> '{}' ORDER BY 1 LIMIT ?",
        (_MOST_NAMED,),
    )
    return [row[0] for row in rows if row[0] not in FILTERS]
