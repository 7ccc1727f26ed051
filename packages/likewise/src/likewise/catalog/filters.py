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

from likewise.catalog.moments import bound_of
from likewise.errors import InvalidInput, UnknownFilter
from likewise_methods.validation import refuse

if TYPE_CHECKING:
    from likewise.catalog.store import Store

FILTERS = (
    "after", "before", "camera", "folder", "format", "tag", "tagged", "stars", "favourite",
    "hidden", "album", "box", "month",
)  # fmt: skip
"""Filters of every collection; the keys of its own metadata are filters too."""
SEPARATOR = os.sep
_SHORT = {"JPG": "JPEG", "TIF": "TIFF", "HEIF": "HEIC"}
_MAX_KEYS = 20
_MAX_INTEGER = 1 << 63
_HIDDEN = "i.hash IN (SELECT hash FROM picture_marks WHERE hidden = 1)"

Fits = Callable[[str, str], bool]
Condition = tuple[str, list[Any]]
"""SQL over images i, and its parameters."""


# -- values ------------------------------------------------------------------------------------


def plain_metadata(metadata: Mapping[str, Any]) -> str:
    """Return the metadata of a picture as JSON, or refuse it."""
    try:
        found = dict(metadata)
        text = json.dumps(found, allow_nan=False)
    except (TypeError, ValueError) as error:
        wanted = "text, finite numbers, true or false, and lists of them, by name"
        raise refuse("metadata", metadata, f"{wanted} ({error})") from error
    for key in found:
        if not isinstance(key, str):
            raise refuse("a key of metadata", key, "text")
    return text


def plain_where(where: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conditions with values that SQL can compare: dates as ISO text, folders as text.

    A folder given as a path object becomes absolute; text may be a name.
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
            isinstance(value, int) and -_MAX_INTEGER <= value < _MAX_INTEGER
        ):
            made[key] = value
        else:
            raise InvalidInput(f"where {key!r} is {value!r}; text, a number or a date expected")
        if not isinstance(key, str) or '"' in key:
            raise InvalidInput(f"where has the key {key!r}; a name without quotes expected")
    return made


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return a path as the catalog stores it: absolute, ~ expanded, links kept."""
    return Path(os.path.abspath(Path(path).expanduser()))


# -- conditions --------------------------------------------------------------------------------


def conditions(store: Store, where: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return a ``where`` as SQL clauses over images i, and their parameters.

    Hidden pictures are left out unless ``where`` has the key ``hidden``.
    """
    clauses: list[str] = [] if "hidden" in where else [f"NOT {_HIDDEN}"]
    parameters: list[Any] = []
    for key, value in where.items():
        if key == "folder":
            clause, values = folder_condition(store, str(value))
        elif key in _CONDITIONS:
            clause, values = _CONDITIONS[key](value)
        else:
            clause, values = _metadata_condition(store, key, value)
        clauses.append(clause)
        parameters += values
    return clauses, parameters


def _after(value: Any) -> Condition:
    bound = bound_of("after", value)
    return "i.id IN (SELECT image FROM moments WHERE moment >= ?)", [bound]


def _before(value: Any) -> Condition:
    bound = bound_of("before", value)
    return "i.id IN (SELECT image FROM moments WHERE moment < ?)", [bound]


def _month(value: Any) -> Condition:
    return "i.id IN (SELECT image FROM moments WHERE substr(moment, 1, 7) = ?)", [str(value)]


def _tag(value: Any) -> Condition:
    tags = [value] if isinstance(value, str) else list(value)
    return " AND ".join(["i.id IN (SELECT image FROM tags WHERE tag = ?)"] * len(tags)), tags


def _tagged(value: Any) -> Condition:
    """Pictures with any tag; unconfirmed suggestions do not count."""
    has = "i.id IN (SELECT image FROM tags WHERE source <> 'suggested')"
    return (has if value else f"NOT {has}"), []


def _format(value: Any) -> Condition:
    """Pictures of a format, by its name or its file extension."""
    name = str(value).upper().lstrip(".")
    return "i.format = ?", [_SHORT.get(name, name)]


def _camera(value: Any) -> Condition:
    """Pictures whose camera, in the file or in the metadata, contains all these words."""
    words = [word.casefold() for word in str(value).split()] or [""]
    in_file = " AND ".join("instr(lower(camera), ?) > 0" for _ in words)
    said = " AND ".join("instr(lower(json_extract(i.metadata, '$.camera')), ?) > 0" for _ in words)
    clause = f"(i.id IN (SELECT image FROM cameras WHERE {in_file}) OR coalesce({said}, FALSE))"
    return clause, [*words, *words]


def _stars(value: Any) -> Condition:
    """Pictures with at least so many stars, ours or in the metadata."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 5:
        raise InvalidInput(f"stars is {value!r}; a number of stars from 0 to 5 expected")
    rated = (
        "(i.hash IN (SELECT hash FROM picture_marks WHERE stars >= ?) "
        "OR CASE WHEN json_type(i.metadata, '$.stars') IN ('integer', 'real') "
        "THEN CAST(json_extract(i.metadata, '$.stars') AS REAL) ELSE 0 END >= ?)"
    )
    return (rated, [value, value]) if value else ("TRUE", [])


def _favourite(value: Any) -> Condition:
    loved = "i.hash IN (SELECT hash FROM picture_marks WHERE favourite = 1)"
    return (loved if value else f"NOT {loved}"), []


def _hidden(value: Any) -> Condition:
    """Hidden pictures only, none of them, or "any"."""
    if value == "any":
        return "TRUE", []
    return (_HIDDEN if value else f"NOT {_HIDDEN}"), []


def _album(value: Any) -> Condition:
    """Pictures in an album, ours or in the metadata."""
    return (
        "(i.hash IN (SELECT hash FROM album_pictures WHERE album = "
        "(SELECT id FROM albums WHERE name = ?)) "
        "OR coalesce(json_extract(i.metadata, '$.album') = ? COLLATE NOCASE, FALSE))",
        [str(value), str(value)],
    )


def _box(value: Any) -> Condition:
    """Pictures taken inside "south,west,north,east", in degrees."""
    try:
        south, west, north, east = (float(side) for side in str(value).split(","))
    except ValueError:
        south = west = north = east = math.nan
    if not all(map(math.isfinite, (south, west, north, east))):
        raise InvalidInput(f"box is {value!r}; south,west,north,east in degrees expected")
    # A box that crosses the date line begins east of where it ends.
    across = "AND" if west <= east else "OR"
    return (
        "i.id IN (SELECT image FROM shots WHERE latitude BETWEEN ? AND ? "
        f"AND (longitude >= ? {across} longitude <= ?))",
        [south, north, west, east],
    )


_CONDITIONS: dict[str, Callable[[Any], Condition]] = {
    "after": _after, "before": _before, "month": _month, "tag": _tag, "tagged": _tagged,
    "format": _format, "camera": _camera, "stars": _stars, "favourite": _favourite,
    "hidden": _hidden, "album": _album, "box": _box,
}  # fmt: skip


def _metadata_condition(store: Store, key: str, value: Any) -> Condition:
    """Pictures with this value in their metadata; text in any case."""
    path = f'$."{key}"'
    known = store.all(
        "SELECT 1 FROM images WHERE json_type(metadata, ?) IS NOT NULL LIMIT 1", (path,)
    )
    if not known:
        raise UnknownFilter(key, [*FILTERS, *metadata_keys(store)])
    return "json_extract(i.metadata, ?) = ? COLLATE NOCASE", [path, value]


def metadata_keys(store: Store) -> list[str]:
    """Return the first keys that the metadata of pictures has, by name."""
    rows = store.all(
        "SELECT DISTINCT said.key FROM images i, json_each(i.metadata) said "
        "WHERE i.metadata <> '{}' ORDER BY 1 LIMIT ?",
        (_MAX_KEYS,),
    )
    return [row[0] for row in rows if row[0] not in FILTERS]


# -- folders -----------------------------------------------------------------------------------


def folder_condition(store: Store, folder: str) -> Condition:
    """Return the condition for pictures in a folder or below it; several may have the name."""
    paths = find_folders(store, folder)
    if not paths:
        return "FALSE", []
    wanted = ", ".join("(?)" for _ in paths)
    # Subfolders sort between the name with the separator and the name with the next character.
    after = chr(ord(SEPARATOR) + 1)
    clause = (
        f"i.id IN (WITH wanted (top) AS (VALUES {wanted}) "
        "SELECT image FROM wanted JOIN files ON folder = top UNION ALL "
        "SELECT image FROM wanted JOIN files ON folder >= top || "
        f"'{SEPARATOR}' AND folder < top || '{after}')"
    )
    return clause, [path.rstrip(SEPARATOR) for path in paths]


def find_folders(store: Store, folder: str) -> list[str]:
    """Return the matching folders, none of them inside another."""
    whole = str(absolute(folder))
    if folder.startswith("~") or os.path.isabs(folder):
        return [whole]
    known = store.column("SELECT DISTINCT folder FROM files")
    inside = whole.rstrip(SEPARATOR) + SEPARATOR
    names = [name.casefold() for name in PurePath(folder).parts]
    if not names or any(path == whole or path.startswith(inside) for path in known):
        return [whole]
    roots = store.roots()
    for fits in (_is_name, _is_part):
        found = {path for one in known for path in _matches(one, roots, names, fits)}
        if found:
            return [p for p in sorted(found) if not found & set(map(str, PurePath(p).parents))]
    return []


def _matches(folder: str, roots: Iterable[str], names: list[str], fits: Fits) -> Iterator[str]:
    """Yield the folder and those of its parents whose last names match."""
    path = PurePath(folder)
    first = min(
        (len(PurePath(root).parts) for root in roots if PurePath(root) in (path, *path.parents)),
        default=len(path.parts),
    )
    for end in range(first, len(path.parts) + 1):
        begin = end - len(names)
        if begin < first - 1:
            continue
        own = [part.casefold() for part in path.parts[begin:end]]
        if all(fits(name, part) for name, part in zip(names, own, strict=True)):
            yield str(PurePath(*path.parts[:end]))


def _is_name(name: str, part: str) -> bool:
    return name == part


def _is_part(name: str, part: str) -> bool:
    return name in part
