"""The pictures in an order, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from likewise.catalog.store import Store, marks, parts
from likewise_methods.validation import one_of

# A page is read off an index, in its order: what lies behind it is not looked at.  Each is (tables
# that have the order, with the picture's name in them; the order; what else holds of a row).
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
    """(how many, the ids of one page)."""
    one_of(sort, "sort", _ORDERS)
    clauses, parameters = store.conditions(where)
    total = int(store.one(f"SELECT count(*) FROM images i {_where(clauses)}", parameters))
    table, order, own = _ORDERS[sort]
    by = order.format(way="DESC" if descending else "ASC")
    # The table is walked from its end to its other: SQLite would rather begin with the pictures.
    joined = f"{table} o CROSS JOIN images i" if table else "images i"
    kept = _where([*(["i.id = o.image"] if table else ()), *([own] if own else ()), *clauses])
    rows = store.all(
        f"SELECT i.id FROM {joined} {kept} ORDER BY {by} LIMIT ? OFFSET ?",
        (*parameters, limit, offset),
    )
    found = [row[0] for row in rows]
    if table and len(found) < limit and offset + len(found) < total:
        # Those that the table does not know come after all others.
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
    """When pictures were taken, where that is known."""
    found: dict[int, str] = {}
    for part in parts(list(ids)):
        rows = store.all(f"SELECT image, moment FROM moments WHERE image IN ({marks(part)})", part)
        found |= {row[0]: row[1] for row in rows}
    return found


def folders_of(store: Store, ids: Iterable[int]) -> dict[int, list[str]]:
    """The folders of the files that hold each picture, by name."""
    found: dict[int, list[str]] = {}
    for part in parts(list(ids)):
        rows = store.all(
            f"""SELECT DISTINCT image, folder FROM files WHERE image IN ({marks(part)})
                ORDER BY 1, 2""",
            part,
        )
        for image, folder in rows:
            found.setdefault(image, []).append(folder)
    return found


def ids_after(store: Store, after: int, limit: int) -> list[int]:
    """Pictures beyond an id, the next few."""
    rows = store.all("SELECT id FROM images WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    return [row[0] for row in rows]


def last_id(store: Store) -> int:
    """The largest id of a picture; 0 where there is none."""
    return int(store.one("SELECT coalesce(max(id), 0) FROM images"))
