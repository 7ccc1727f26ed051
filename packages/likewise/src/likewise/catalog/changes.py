"""The writes of the catalog: small functions inside a transaction (``Store.write``).

Each leaves the tables consistent; a caller combines related ones into one transaction. A space with
missing rows has a back-fill, which says why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from likewise.catalog.engine_sync import note_changed
from likewise.catalog.filters import plain_metadata
from likewise.catalog.picture_marks import put_shot
from likewise.catalog.store import REMOVED, SPACES_DROPPED, Store, Transaction
from likewise.catalog.sums import blob_sum
from likewise.images.decode import ImageInfo

_AT_A_TIME = 512
"""Rows held in memory while they are written."""


def put_root(c: Transaction, path: str) -> None:
    """Store a folder or file that was added, for ``sync``."""
    c.execute("INSERT OR IGNORE INTO roots VALUES (?)", (path,))


def put_image(
    c: Transaction,
    digest: bytes,
    info: ImageInfo,
    metadata: Mapping[str, Any] | None = None,
) -> tuple[int, bool]:
    """Return the id of the picture with this content, and whether it is new."""
    row = c.execute("SELECT id FROM images WHERE hash = ?", (digest,)).fetchone()
    if row is not None:
        if metadata:
            merge_metadata(c, row[0], metadata)
        return row[0], False
    date = info.date.isoformat() if info.date else None
    cursor = c.execute(
        """INSERT INTO images (hash, format, width, height, date, n_bytes, metadata)
           VALUES (?, ?, ?, ?, ?, ?, ?)""",
        (digest, info.format, info.width, info.height, date, info.n_bytes,
         plain_metadata(metadata or {})),
    )  # fmt: skip
    assert cursor.lastrowid is not None
    if info.camera:
        c.execute("INSERT INTO cameras VALUES (?, ?)", (cursor.lastrowid, info.camera))
    put_shot(c, cursor.lastrowid, info.shot)
    return cursor.lastrowid, True


def merge_metadata(c: Transaction, image: int, metadata: Mapping[str, Any]) -> None:
    (text,) = c.execute("SELECT metadata FROM images WHERE id = ?", (image,)).fetchone()
    merged = {**json.loads(text), **metadata}
    c.execute("UPDATE images SET metadata = ? WHERE id = ?", (plain_metadata(merged), image))


def put_file(
    c: Transaction,
    path: str,
    size: int,
    mtime_ns: int,
    *,
    image: int | None = None,
    problem: str | None = None,
) -> None:
    """Store what a path holds: a picture, or why it holds none.

    A picture without any file is removed.
    """
    row = c.execute("SELECT image FROM files WHERE path = ?", (path,)).fetchone()
    if row is not None:
        # OR REPLACE would delete the old row without its triggers.
        c.execute("DELETE FROM files WHERE path = ?", (path,))
    c.execute(
        "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)",
        (path, os.path.dirname(path), size, mtime_ns, image, problem),
    )
    if row is not None and row[0] is not None and row[0] != image:
        _remove_orphans(c, [row[0]])


def forget_files(c: Transaction, paths: Iterable[str]) -> list[int]:
    """Delete files, and the pictures that have no other file; return the ids of those."""
    left = []
    for path in paths:
        row = c.execute("SELECT image FROM files WHERE path = ?", (path,)).fetchone()
        c.execute("DELETE FROM files WHERE path = ?", (path,))
        if row is not None and row[0] is not None:
            left.append(row[0])
    return _remove_orphans(c, left)


def _remove_orphans(c: Transaction, images: Iterable[int]) -> list[int]:
    orphans = [
        image
        for image in set(images)
        if c.execute("SELECT 1 FROM files WHERE image = ? LIMIT 1", (image,)).fetchone() is None
    ]
    remove_images(c, orphans)
    return orphans


def take_out(c: Transaction, images: Iterable[int]) -> None:
    """Remove pictures on request; their files stay known, so sync does not add them again."""
    taken = list(images)
    for image in taken:
        c.execute("UPDATE files SET image = NULL, problem = ? WHERE image = ?", (REMOVED, image))
    remove_images(c, taken)


def remove_images(c: Transaction, images: Iterable[int]) -> None:
    """Delete pictures; their rows in segments get tombstones."""
    for image in images:
        c.execute("DELETE FROM images WHERE id = ?", (image,))
        c.execute("DELETE FROM vectors WHERE image = ?", (image,))
        c.execute("INSERT OR IGNORE INTO tombstones (image) VALUES (?)", (image,))


def put_vector(c: Transaction, space: str, generation: int, image: int, vector: bytes) -> None:
    put_vectors(c, space, generation, [(image, vector)])


def put_vectors(
    c: Transaction, space: str, generation: int, vectors: Iterable[tuple[int, bytes]]
) -> None:
    """Store rows of pictures in a space, each as a blob."""
    key = space, generation
    in_gaps = "FROM gaps WHERE space = ? AND generation = ?"
    has_gaps = c.execute(f"SELECT 1 {in_gaps} LIMIT 1", key).fetchone() is not None
    left = iter(vectors)
    while some := list(islice(left, _AT_A_TIME)):
        c.executemany(
            """INSERT OR REPLACE INTO vectors (space, generation, image, vector, sum)
               VALUES (?, ?, ?, ?, ?)""",
            [(*key, image, blob, blob_sum(blob, *key, image)) for image, blob in some],
        )
        images = [image for image, _ in some]
        if has_gaps:
            c.executemany(f"DELETE {in_gaps} AND image = ?", [(*key, image) for image in images])
        note_changed(c, images)


def put_gap(c: Transaction, space: str, generation: int, image: int) -> None:
    """Store that a space cannot describe a picture."""
    c.execute(
        """INSERT OR IGNORE INTO gaps SELECT ?, ?, id FROM images WHERE id = ?
           AND NOT EXISTS (SELECT 1 FROM vectors WHERE space = ? AND generation = ? AND image = ?)
        """,
        (space, generation, image, space, generation, image),
    )


def copy_gaps(c: Transaction, space: str, old: int, new: int) -> None:
    """Copy the gaps of a generation to the next one, which is made of its rows."""
    c.execute(
        """INSERT OR IGNORE INTO gaps SELECT space, ?, image FROM gaps
           WHERE space = ? AND generation = ?""",
        (new, space, old),
    )


def put_space(c: Transaction, name: str, kind: str, recipe: Mapping[str, Any]) -> None:
    c.execute(
        "INSERT INTO spaces (name, kind, recipe) VALUES (?, ?, ?)",
        (name, kind, json.dumps(dict(recipe))),
    )


def put_setting(c: Transaction, key: str, value: Any) -> None:
    c.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))


def drop_setting(c: Transaction, key: str) -> None:
    c.execute("DELETE FROM settings WHERE key = ?", (key,))


_OF_GENERATIONS = ("vectors", "segments", "gaps", "codes", "given", "checkpoints")
"""Tables whose rows belong to one generation of a space."""
_DROP_COMPACTED = "DELETE FROM compacted WHERE segment NOT IN (SELECT name FROM segments)"


def drop_space(c: Transaction, name: str) -> None:
    """Delete a space and everything made in it."""
    for table in _OF_GENERATIONS:
        c.execute(f"DELETE FROM {table} WHERE space = ?", (name,))
    c.execute("DELETE FROM spaces WHERE name = ?", (name,))
    c.execute(_DROP_COMPACTED)
    # Another space may get its name, so readers must drop their views.
    c.execute(
        """INSERT INTO settings VALUES (?, '1')
           ON CONFLICT (key) DO UPDATE
           SET value = CAST(CAST(settings.value AS INTEGER) + 1 AS TEXT)""",
        (SPACES_DROPPED,),
    )


def switch_generation(
    c: Transaction, space: str, number: int, *, width: int, n_pictures: int,
    files: Mapping[str, str],
) -> None:  # fmt: skip
    """Make the next generation the live one, and delete what belonged to older ones."""
    c.execute(
        "INSERT OR REPLACE INTO generations VALUES (?, ?, ?, ?, ?)",
        (space, number, width, n_pictures, json.dumps(dict(files))),
    )
    c.execute("UPDATE spaces SET generation = ? WHERE name = ?", (number, space))
    c.execute("DELETE FROM generations WHERE space = ? AND number < ?", (space, number))
    for table in _OF_GENERATIONS:
        c.execute(f"DELETE FROM {table} WHERE space = ? AND generation < ?", (space, number))
    c.execute(_DROP_COMPACTED)


def put_files(c: Transaction, space: str, generation: int, files: Mapping[str, str]) -> None:
    """Store the files of a generation other than its segments."""
    c.execute(
        "UPDATE generations SET files = ? WHERE space = ? AND number = ?",
        (json.dumps(dict(files)), space, generation),
    )


def drop_unfinished(c: Transaction) -> None:
    """Delete what was made for generations whose job died."""
    for table in _OF_GENERATIONS:
        c.execute(
            f"""DELETE FROM {table} WHERE generation >
                (SELECT generation FROM spaces WHERE name = {table}.space)"""
        )


def put_segment(
    c: Transaction, name: str, space: str, generation: int, n_pictures: int, n_bytes: int
) -> None:
    c.execute(
        "INSERT INTO segments VALUES (?, ?, ?, ?, ?)",
        (name, space, generation, n_pictures, n_bytes),
    )


def drop_vectors(c: Transaction, numbers: Sequence[int]) -> None:
    """Delete fresh rows that a segment now holds."""
    c.executemany("DELETE FROM vectors WHERE number = ?", [(number,) for number in numbers])


def drop_segments(c: Transaction, names: Iterable[str]) -> None:
    gone = [(name,) for name in names]
    c.executemany("DELETE FROM segments WHERE name = ?", gone)
    c.executemany("DELETE FROM compacted WHERE segment = ?", gone)


RUNNING = "running"
"""Rows are being made, or were when the job died; the next job makes those that are missing."""
WAITING = "waiting"
"""Pictures were added where the space's rows cannot be made; another machine makes them."""
UNREACHED = "unreached"
"""Some pictures could not be read; only those are tried again."""


@dataclass(frozen=True)
class Backfill:
    """Why a space lacks rows; ``images`` are the pictures that were ``UNREACHED``."""

    state: str
    images: frozenset[int] = frozenset()


def backfill_of(store: Store, space: str) -> Backfill | None:
    """Return what a space lacks, None if nothing is known to be missing."""
    state = store.one("SELECT state FROM backfills WHERE space = ?", (space,))
    if state is None:
        return None
    rows = store.all("SELECT image FROM backfill_images WHERE space = ?", (space,))
    return Backfill(state, frozenset(row[0] for row in rows))


def put_backfill(c: Transaction, space: str, state: str, images: Iterable[int] = ()) -> None:
    """Store why a space lacks rows, in place of any earlier reason."""
    drop_backfill(c, space)
    c.execute("INSERT INTO backfills VALUES (?, ?)", (space, state))
    c.executemany(
        # An unreadable picture may have been removed since.
        "INSERT OR IGNORE INTO backfill_images SELECT ?, id FROM images WHERE id = ?",
        [(space, image) for image in images],
    )


def drop_backfill(c: Transaction, space: str) -> None:
    """Store that a space lacks nothing."""
    c.execute("DELETE FROM backfills WHERE space = ?", (space,))
