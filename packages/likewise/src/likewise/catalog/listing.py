"""Lists of pictures: sorted pages, the timeline, the folder tree, and places."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from likewise.catalog.store import Store
from likewise_methods.validation import one_of

# (the table with an index in this order, the order, a further condition): a page is read from the
# index, without reading later rows.
_FIRST_FILE = "NOT EXISTS (SELECT 1 FROM files g WHERE g.image = o.image AND g.path < o.path)"
_ORDERS = {
    "added": ("", "i.id {way}", ""),
    "date": ("moments", "o.moment {way}, o.image {way}", ""),
    "name": ("files", "o.path {way}, o.image {way}", _FIRST_FILE),
}


def list_images(
    store: Store,
    where: Mapping[str, Any],
    sort: str,
    descending: bool,
    offset: int,
    limit: int,
) -> tuple[int, list[int]]:
    """Return (how many pictures match, the ids of one page)."""
    one_of(sort, "sort", _ORDERS)
    clauses, parameters = store.conditions(where)
    total = int(store.one(f"SELECT count(*) FROM images i {_where(clauses)}", parameters))
    table, order, own = _ORDERS[sort]
    by = order.format(way="DESC" if descending else "ASC")
    # CROSS JOIN makes SQLite start with the ordered table.
    joined = f"{table} o CROSS JOIN images i" if table else "images i"
    kept = _where([*(["i.id = o.image"] if table else ()), *([own] if own else ()), *clauses])
    rows = store.all(
        f"SELECT i.id FROM {joined} {kept} ORDER BY {by} LIMIT ? OFFSET ?",
        (*parameters, limit, offset),
    )
    found = [row[0] for row in rows]
    if table and len(found) < limit and offset + len(found) < total:
        # Pictures that are not in the table come last.
        known = int(store.one(f"SELECT count(*) FROM {joined} {kept}", parameters))
        lost = [*clauses, f"i.id NOT IN (SELECT image FROM {table} WHERE image IS NOT NULL)"]
        rows = store.all(
            f"SELECT i.id FROM images i {_where(lost)} ORDER BY i.id LIMIT ? OFFSET ?",
            (*parameters, limit - len(found), max(0, offset - known)),
        )
        found += [row[0] for row in rows]
    return total, found


def _where(clauses: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(clauses)}" if clauses else ""


def dates_of(store: Store, ids: Iterable[int]) -> dict[int, str]:
    """Return when pictures were taken, where that is known."""
    return {image: moment for image, (moment, _) in moments_of(store, ids).items()}


def folders_of(store: Store, ids: Iterable[int]) -> dict[int, list[str]]:
    """Return the folders of each picture's files, by name."""
    found: dict[int, list[str]] = {}
    sql = "SELECT DISTINCT image, folder FROM files WHERE image IN ({}) ORDER BY 1, 2"
    for image, folder in store.each(sql, ids):
        found.setdefault(image, []).append(folder)
    return found


def ids_after(store: Store, after: int, limit: int) -> list[int]:
    """Return the next few pictures after an id."""
    return store.column("SELECT id FROM images WHERE id > ? ORDER BY id LIMIT ?", (after, limit))


def last_id(store: Store) -> int:
    """The largest id of a picture; 0 where there is none."""
    return int(store.one("SELECT coalesce(max(id), 0) FROM images"))


_DIGITS = re.compile(r"([0-9]+)")


BIG_MONTH = 100
"""Pictures from which a month is listed by day too."""


class MonthRow(NamedTuple):
    """A month (YYYY-MM) and its pictures.

    It counts how many are dated only by their file name or by the time of the file; a big month
    lists its days (day, pictures), newest first.
    """

    month: str
    pictures: int
    by_name: int
    by_file: int
    days: tuple[tuple[int, int], ...] = ()


class TimelineEntry(NamedTuple):
    """A picture, when it was taken, and the source of that: exif, name or file."""

    image: int
    moment: str
    source: str


class FolderRow(NamedTuple):
    """A folder: its own pictures, and those with all subfolders; depth 0 is an added folder."""

    path: str
    name: str
    depth: int
    pictures: int
    all: int


class PlaceRow(NamedTuple):
    """A picture and where it was taken."""

    image: int
    latitude: float
    longitude: float


def _kept(store: Store, where: Mapping[str, Any], *, few: bool = False) -> tuple[str, list[Any]]:
    """Return the conditions as one clause about m.image; empty where they exclude no picture.

    ``few``: only some rows are read, so each is tested separately.
    """
    if not where:
        # Naming the few hidden pictures is faster than the many others.
        out = "SELECT i.id FROM picture_marks p JOIN images i ON i.hash = p.hash WHERE p.hidden = 1"
        return f"AND m.image NOT IN ({out})", []
    clauses, parameters = store.conditions(where)
    kept = " AND ".join(clauses)
    if few:
        return f"AND EXISTS (SELECT 1 FROM images i WHERE i.id = m.image AND {kept})", parameters
    return f"AND m.image IN (SELECT i.id FROM images i WHERE {kept})", parameters


def months(store: Store, where: Mapping[str, Any]) -> list[MonthRow]:
    """Return all months that have pictures, newest first."""
    kept, parameters = _kept(store, where)
    rows = store.all(
        f"""SELECT substr(m.moment, 1, 10) AS day, count(*),
                sum(CASE m.source WHEN 'name' THEN 1 ELSE 0 END),
                sum(CASE m.source WHEN 'file' THEN 1 ELSE 0 END)
            FROM moments m WHERE TRUE {kept} GROUP BY day ORDER BY day DESC""",
        parameters,
    )
    found = []
    for month, group in groupby(rows, lambda row: row[0][:7]):
        days = list(group)
        n, by_name, by_file = (sum(day[i] for day in days) for i in (1, 2, 3))
        by_day = tuple((int(day[0][8:]), day[1]) for day in days) if n >= BIG_MONTH else ()
        found.append(MonthRow(month, n, by_name, by_file, by_day))
    return found


def month_page(
    store: Store, where: Mapping[str, Any], month: str, offset: int, limit: int
) -> list[TimelineEntry]:
    """Return pictures of a month, newest first."""
    kept, parameters = _kept(store, where, few=True)
    rows = store.all(
        # All moments sort before "~".
        f"""SELECT m.image, m.moment, m.source FROM moments m
            WHERE m.moment >= ? AND m.moment < ? || '~' {kept}
            ORDER BY m.moment DESC, m.image DESC LIMIT ? OFFSET ?""",
        (month, month, *parameters, limit, offset),
    )
    return [TimelineEntry(*tuple(row)) for row in rows]


def moments_of(store: Store, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Return (moment, source) of pictures by id."""
    rows = store.each("SELECT image, moment, source FROM moments WHERE image IN ({})", ids)
    return {row[0]: (row[1], row[2]) for row in rows}


def folder_tree(store: Store, where: Mapping[str, Any]) -> list[FolderRow]:
    """Return the added folders and their subfolders that hold pictures, as a tree."""
    kept, parameters = _kept(store, where)
    rows = store.all(
        f"""SELECT m.folder, count(*) FROM files m WHERE m.image IS NOT NULL {kept}
            GROUP BY m.folder""",
        parameters,
    )
    own: dict[str, int] = {row[0]: row[1] for row in rows}
    # A picture with several files counts once, in each folder and in its parents.
    rows = store.all(
        f"""SELECT m.image, m.folder, count(*) FROM files m WHERE m.image IN (SELECT image
                FROM files WHERE image IS NOT NULL GROUP BY image HAVING count(*) > 1) {kept}
            GROUP BY m.image, m.folder""",
        parameters,
    )
    several: dict[int, list[str]] = {}
    for image, folder, n in rows:
        several.setdefault(image, []).append(folder)
        own[folder] -= n - 1
    tops = _tops(store.roots(), own)
    below: dict[str, int] = {}
    for folder, n in own.items():
        for place in _up(folder, tops):
            below[place] = below.get(place, 0) + n
    for folders in several.values():
        met: set[str] = set()
        for folder in folders:
            for place in _up(folder, tops):
                below[place] -= place in met
                met.add(place)
    found = []
    for path in sorted(below, key=_reading_order):
        top = _top_of(path, tops)
        depth = 0 if path == top else os.path.relpath(path, top).count(os.sep) + 1
        name = os.path.basename(path) or path
        found.append(FolderRow(path, name, depth, own.get(path, 0), below[path]))
    return found


def _reading_order(path: str) -> tuple[list[list[str | int]], str]:
    """Return a sort key for folders: in any case, numbers by value, subfolders last."""
    names = [_DIGITS.split(name.casefold()) for name in path.split(os.sep)]
    # Every second piece is a number.
    return [[int(s) if i % 2 else s for i, s in enumerate(name)] for name in names], path


def _tops(roots: list[str], folders: Mapping[str, Any]) -> list[str]:
    """Return the folders at the top: the outermost that were added, and those of single files."""
    made: list[str] = []
    for root in sorted(roots, key=len):
        # A root that is a file counts as its folder.
        place = root if any(_is_within(folder, root) for folder in folders) else ""
        if place and not any(_is_within(place, top) for top in made):
            made.append(place)
    made += [f for f in sorted(folders, key=len) if not any(_is_within(f, top) for top in made)]
    return [top for top in made if not any(_is_within(top, o) for o in made if o != top)]


def _up(folder: str, tops: list[str]) -> Iterator[str]:
    """Yield a folder and its parents up to the top."""
    top = _top_of(folder, tops)
    while True:
        yield folder
        if folder == top:
            return
        folder = os.path.dirname(folder)


def _top_of(folder: str, tops: list[str]) -> str:
    return next(top for top in tops if _is_within(folder, top))


def _is_within(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def cameras(store: Store) -> list[tuple[str, int]]:
    """Return the cameras and how many pictures each took, the most frequent first."""
    rows = store.all("SELECT camera, count(*) FROM cameras GROUP BY camera ORDER BY 2 DESC, 1")
    return [(row[0], row[1]) for row in rows]


def places(store: Store, where: Mapping[str, Any]) -> list[PlaceRow]:
    """Return the pictures whose file says where they were taken."""
    kept, parameters = _kept(store, where)
    rows = store.all(
        f"""SELECT m.image, m.latitude, m.longitude FROM shots m
            WHERE m.latitude IS NOT NULL {kept} ORDER BY m.image""",
        parameters,
    )
    return [PlaceRow(*tuple(row)) for row in rows]
