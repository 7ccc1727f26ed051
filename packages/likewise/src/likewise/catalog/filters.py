"""Filters as people write them, as SQL: folders and cameras by a part of their name, in any case.

A folder may be given whole, from the current folder, or by its name or names below what was added
(``Wardrobe``, ``trips/rome``); where no folder bears the name, a part of one is enough.  Pictures
of folders below it always belong to it.  A key that is neither a filter nor in anybody's metadata
is a mistake and is refused: it would only ever find nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from likewise.catalog.filters_and_metadata import absolute
from likewise.catalog.mark_filters import MARK_FILTERS
from likewise.errors import UnknownFilter

if TYPE_CHECKING:
    from likewise.catalog.store import Store

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
