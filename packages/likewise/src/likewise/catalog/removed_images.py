"""Pictures that were removed: remembered whole, by content, until they come back.

Whatever belongs to a picture is found by the references of the tables to ``images``, so that a
table that comes later is remembered without a word here.  A picture that comes back has a new id:
rows of the old one may still lie in segments, and no id is ever alive twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from likewise.catalog import tag_tables
from likewise.catalog.backfills import WAITING, put_backfill
from likewise.catalog.changes import put_vector, take_out
from likewise.catalog.database import try_execute
from likewise.catalog.store import REMOVED, Store, Transaction, read_json
from likewise.catalog.sums import blob_sum, check_blob
from likewise.catalog.tables import tables

# ``files`` and ``tag_sources`` come back by rules of their own, ``tags`` follows from the latter,
# and back-fills are found out anew.
_APART = {"files", "tags", "tag_sources", "backfill_images"}

Vectors = Mapping[tuple[str, int], Mapping[int, bytes]]
"""Rows of pictures: (space, generation) to picture to its packed row."""


class RemovedImage(NamedTuple):
    """A picture that was removed: the files it had, and where those went that were moved away."""

    hash: bytes
    files: Mapping[str, tuple[int, int]]
    moved: Mapping[str, str]


class Restored(NamedTuple):
    """Pictures that came back, by content; and spaces that lack rows of them."""

    images: Mapping[bytes, int]
    lacking: frozenset[str]


def removed_images(store: Store, action: int) -> list[RemovedImage]:
    """What an action removed and nobody brought back since."""
    rows = store.all("SELECT hash, rows FROM removed_images WHERE action = ?", (action,))
    found = []
    for row in rows:
        said = read_json(row["rows"], "a removed picture")
        files = {path: (size, mtime) for path, size, mtime in said["files"]}
        found.append(RemovedImage(bytes(row["hash"]), files, said["moved"]))
    return found


def removed_hashes(store: Store) -> set[bytes]:
    """What names the content of every picture that is to stay out."""
    return {bytes(row[0]) for row in store.all("SELECT hash FROM removed_images")}


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def remove_remembered(
    c: Transaction,
    action: int,
    images: Iterable[int],
    vectors: Vectors,
    moved: Mapping[str, str],
) -> None:
    """Take pictures out and remember all that belonged to them.

    ``moved`` says where files of theirs are to go.
    """
    taken = list(images)
    tables = _tables_of_images()
    for image in taken:
        row = _rows(c, "SELECT * FROM images WHERE id = ?", image)[0]
        digest = row.pop("hash")
        del row["id"]
        files = c.execute("SELECT path, size, mtime_ns FROM files WHERE image = ?", (image,))
        kept: dict[str, Any] = {"image": row, "files": [list(one) for one in files]}
        kept["moved"] = {path: moved[path] for path, _, _ in kept["files"] if path in moved}
        said = c.execute("SELECT tag, source FROM tag_sources WHERE image = ?", (image,))
        kept["said"] = [list(one) for one in said]
        kept["more"] = {}
        for table, column in tables:
            found = _rows(c, f'SELECT * FROM "{table}" WHERE "{column}" = ?', image)
            if found:
                kept["more"][table] = {"column": column, "rows": found}
        c.execute(
            "INSERT INTO removed_images VALUES (?, ?, ?)",
            (digest, action, json.dumps(kept, default=_bytes_out)),
        )
        for (space, generation), rows in vectors.items():
            if image in rows:
                due = blob_sum(rows[image], space, generation, digest)
                c.execute(
                    "INSERT INTO removed_vectors VALUES (?, ?, ?, ?, ?)",
                    (digest, space, generation, rows[image], due),
                )
    take_out(c, taken)


def forget_removed(c: Transaction, digest: bytes) -> None:
    """Somebody wants this picture again: it is no longer kept out."""
    c.execute("DELETE FROM removed_images WHERE hash = ?", (digest,))


def restore_removed(
    c: Transaction,
    store: Store,
    action: int,
    changed: Collection[str],
    describing: Collection[str],
) -> Restored:
    """Bring back what an action removed, with all that belonged to it.

    ``changed`` are files that hold something else by now.  A picture stays out where it came back
    otherwise, or where none of its files is what it was.  ``describing`` are spaces that should
    have a row of every picture.
    """
    spaces = {name: space.generation for name, space in store.spaces().items()}
    images: dict[bytes, int] = {}
    lacking: set[str] = set()
    for row in store.all("SELECT hash, rows FROM removed_images WHERE action = ?", (action,)):
        digest, kept = bytes(row["hash"]), json.loads(row["rows"], object_hook=_bytes_in)
        files = [one for one in kept["files"] if one[0] not in changed and _is_free(c, one[0])]
        if not files or store.image_of_hash(digest) is not None:
            continue
        image = c.execute(*_insertion("images", {"hash": digest, **kept["image"]})).lastrowid
        assert image is not None
        for path, size, mtime in files:
            c.execute("DELETE FROM files WHERE path = ?", (path,))
            c.execute(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, NULL)",
                (path, os.path.dirname(path), size, mtime, image),
            )
        _restore_more(c, image, kept["more"], spaces)
        for tag, source in kept["said"]:
            # What people said is told by the log, which may have grown since.
            if source not in tag_tables.PEOPLE:
                tag_tables.put_sources(c, source, [(image, tag)])
        tag_tables.restore_tags(c, image, digest)
        lacking |= _restore_vectors(c, store, digest, image, spaces) & set(describing)
        forget_removed(c, digest)
        images[digest] = image
    for name in lacking:
        put_backfill(c, name, WAITING)
    return Restored(images, frozenset(lacking))


def _is_free(c: Transaction, path: str) -> bool:
    """Whether a path still waits for its removed picture."""
    row = c.execute("SELECT problem FROM files WHERE path = ?", (path,)).fetchone()
    return row is None or row[0] == REMOVED


def _restore_more(
    c: Transaction, image: int, more: Mapping[str, Any], spaces: Mapping[str, int]
) -> None:
    there = {table for table, _ in _tables_of_images()}
    for table, found in more.items():
        for row in found["rows"] if table in there else ():
            if table == "gaps" and spaces.get(row["space"]) != row["generation"]:
                continue
            # Not where what it belonged to besides (an album, say) is gone.
            try_execute(c, *_insertion(table, {**row, found["column"]: image}))


def _restore_vectors(
    c: Transaction, store: Store, digest: bytes, image: int, spaces: Mapping[str, int]
) -> set[str]:
    """Rows that still fit; gives the spaces that have none of this picture now."""
    rows = store.all(
        "SELECT space, generation, vector, sum FROM removed_vectors WHERE hash = ?", (digest,)
    )
    fitting = set()
    for space, generation, vector, due in rows:
        if spaces.get(space) == generation:
            blob = check_blob(vector, due, space, generation, digest)
            put_vector(c, space, generation, image, blob)
            fitting.add(space)
    gaps = {r[0] for r in c.execute("SELECT space FROM gaps WHERE image = ?", (image,))}
    return {name for name, generation in spaces.items() if generation} - fitting - gaps


def _tables_of_images() -> list[tuple[str, str]]:
    """Tables whose rows belong to a picture, and the column that names it."""
    return [
        (table.name, column)
        for table in tables()
        if table.name not in _APART
        for column, other in table.references
        if other == "images"
    ]


def _rows(c: Transaction, sql: str, image: int) -> list[dict[str, Any]]:
    cursor = c.execute(sql, (image,))
    names = [one[0] for one in cursor.description]
    return [dict(zip(names, tuple(row), strict=True)) for row in cursor.fetchall()]


def _insertion(table: str, row: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    return f'INSERT INTO "{table}" ({names}) VALUES ({marks})', tuple(row.values())


def _bytes_out(value: object) -> dict[str, str]:
    assert isinstance(value, bytes)
    return {"bytes": value.hex()}


def _bytes_in(value: dict[str, Any]) -> Any:
    return bytes.fromhex(value["bytes"]) if set(value) == {"bytes"} else value
