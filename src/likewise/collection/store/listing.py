"""The pictures in an order, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from likewise._validation import one_of
from likewise.collection.store.store import Store, marks, parts

# Pictures without a moment come after all others, whichever way the dates run.
_ORDERS = {
    "added": "i.id {way}",
    "date": "m.moment IS NULL, m.moment {way}, i.id {way}",
    "name": "(SELECT min(path) FROM files f WHERE f.image = i.id) {way}, i.id {way}",
}

_MOMENTS = "LEFT JOIN moments m ON m.image = i.id"


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
    kept = f"WHERE {' AND '.join(clauses)}" if clauses else ""
    total = int(store.one(f"SELECT count(*) FROM images i {kept}", parameters))
    order = _ORDERS[sort].format(way="DESC" if descending else "ASC")
    rows = store.all(
        f"SELECT i.id FROM images i {_MOMENTS if sort == 'date' else ''} {kept} "
        f"ORDER BY {order} LIMIT ? OFFSET ?",
        (*parameters, limit, offset),
    )
    return total, [row[0] for row in rows]


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
