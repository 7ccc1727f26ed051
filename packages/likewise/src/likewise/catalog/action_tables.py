"""The tables of bulk actions and sidecars, with what undoing an action needs.

An action about tags names lines of the log.  Other old values are stored here: suggestions,
sidecars, marks, and removed pictures.  A removed picture is stored with the rows of every table
that refers to it; a restored picture gets a new id, because old rows may still be in segments.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from likewise.catalog import tag_tables
from likewise.catalog.changes import WAITING, put_backfill, put_vector, take_out
from likewise.catalog.database import Row, read_json, try_execute
from likewise.catalog.key_table import signature
from likewise.catalog.schema import tables
from likewise.catalog.store import REMOVED, Store, Transaction
from likewise.catalog.sums import blob_sum, check_blob
from likewise.catalog.tag_tables import Pair


class SidecarRow(NamedTuple):
    """A sidecar as it was last read: its keywords, and those of them that Likewise wrote."""

    path: str
    size: int
    mtime_ns: int
    tags: tuple[str, ...]
    written: tuple[str, ...]
    problem: str | None


def sidecars(store: Store) -> dict[str, SidecarRow]:
    """Return all sidecars by path."""
    rows = store.all("SELECT * FROM sidecars")
    return {row["path"]: _sidecar(row) for row in rows}


def sidecar(store: Store, path: str) -> SidecarRow | None:
    """Return one sidecar."""
    rows = store.all("SELECT * FROM sidecars WHERE path = ?", (path,))
    return _sidecar(rows[0]) if rows else None


def _sidecar(row: Row) -> SidecarRow:
    return SidecarRow(
        row["path"], row["size"], row["mtime_ns"], tuple(json.loads(row["tags"])),
        tuple(json.loads(row["written"])), row["problem"],
    )  # fmt: skip


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_sidecar(c: Transaction, row: SidecarRow) -> None:
    c.execute(
        "INSERT OR REPLACE INTO sidecars VALUES (?, ?, ?, ?, ?, ?)",
        (
            row.path, row.size, row.mtime_ns, json.dumps(list(row.tags)),
            json.dumps(list(row.written)), row.problem,
        ),
    )  # fmt: skip


def drop_sidecars(c: Transaction, paths: Iterable[str]) -> None:
    c.executemany("DELETE FROM sidecars WHERE path = ?", [(path,) for path in paths])


TAG, UNTAG, ACCEPT_MANY, SAVE = "tag", "untag", "accept", "save"
OF_LINES = (TAG, UNTAG, ACCEPT_MANY, SAVE)
"""Actions that are lines of the log; ``body["lines"]`` numbers them."""
SUGGEST, CLEAR = "suggest", "clear"
SIDECARS, REMOVE = "sidecars", "remove"
MARK, ALBUM = "mark", "album"
TAKE_BACK = "takeback"


class ActionRow(NamedTuple):
    """A bulk action; ``undone`` is when it was undone."""

    id: int
    kind: str
    made: str
    who: str
    pictures: int
    body: Mapping[str, Any]
    undone: str | None


class SuggestionChange(NamedTuple):
    """A suggestion that an action added (``came``) or removed."""

    hash: bytes
    tag: str
    came: bool


class WrittenFile(NamedTuple):
    """A file that an action wrote: the digest of the new content, and the old content.

    ``known`` is the earlier record of the sidecar.
    """

    path: str
    digest: bytes
    before: bytes | None
    known: SidecarRow | None


# -- reads ----------------------------------------------------------------------------------


def actions(store: Store, newest: int = -1) -> list[ActionRow]:
    """Return actions, the newest first."""
    rows = store.all("SELECT * FROM actions ORDER BY id DESC LIMIT ?", (newest,))
    return [_action(row) for row in rows]


def action(store: Store, id_: int) -> ActionRow | None:
    """Return one action."""
    rows = store.all("SELECT * FROM actions WHERE id = ?", (id_,))
    return _action(rows[0]) if rows else None


def suggestion_changes(store: Store, action: int) -> list[SuggestionChange]:
    """Return the suggestions that an action added and removed."""
    rows = store.all("SELECT hash, tag, came FROM action_suggestions WHERE action = ?", (action,))
    return [SuggestionChange(bytes(row[0]), row[1], bool(row[2])) for row in rows]


def written_paths(store: Store, action: int) -> list[str]:
    """Return the paths of the files that an action wrote."""
    return store.column("SELECT path FROM action_files WHERE action = ? ORDER BY path", (action,))


def written_file(store: Store, action: int, path: str) -> WrittenFile:
    """Return a file that an action wrote."""
    (row,) = store.all(
        "SELECT digest, before, known FROM action_files WHERE action = ? AND path = ?",
        (action, path),
    )
    known = None if row["known"] is None else read_json(row["known"], "a sidecar")
    before = None if row["before"] is None else bytes(row["before"])
    return WrittenFile(path, bytes(row["digest"]), before, _known_sidecar(known))


def _known_sidecar(known: Sequence[Any] | None) -> SidecarRow | None:
    if known is None:
        return None
    path, size, mtime, tags, written, problem = known
    return SidecarRow(path, size, mtime, tuple(tags), tuple(written), problem)


def _action(row: Row) -> ActionRow:
    body = read_json(row["body"], f"action {row['id']}")
    return ActionRow(
        row["id"], row["kind"], row["made"], row["who"], row["pictures"], body, row["undone"]
    )


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_action(
    c: Transaction, store: Store, kind: str, pictures: int, body: Mapping[str, Any]
) -> int:
    """Add an action of the current actor; return its id."""
    cursor = c.execute(
        "INSERT INTO actions (kind, made, who, pictures, body) VALUES (?, ?, ?, ?, ?)",
        (kind, moment(), store.actor, pictures, json.dumps({**body, **signature()})),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def put_count(c: Transaction, action: int, pictures: int) -> None:
    """Store how many pictures an action has changed so far."""
    c.execute("UPDATE actions SET pictures = ? WHERE id = ?", (pictures, action))


def mark_undone(c: Transaction, action: int) -> None:
    """Store that an action was undone now."""
    c.execute("UPDATE actions SET undone = ? WHERE id = ?", (moment(), action))


def put_suggestion_changes(
    c: Transaction, action: int, gone: Iterable[Pair], come: Iterable[Pair]
) -> int:
    """Store the suggestions that an action removed and added; return how many pictures changed."""
    changed = set()
    for came, pairs in ((0, gone), (1, come)):
        for image, tag in pairs:
            changed.add(image)
            c.execute(
                """INSERT OR IGNORE INTO action_suggestions
                   SELECT ?, hash, ?, ? FROM images WHERE id = ?""",
                (action, tag, came, image),
            )
    return len(changed)


def put_written_file(c: Transaction, action: int, file: WrittenFile) -> None:
    c.execute(
        """INSERT INTO action_files VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (action, path) DO UPDATE SET digest = excluded.digest""",
        (
            action, file.path, file.digest, file.before,
            None if file.known is None else json.dumps(list(file.known)),
        ),
    )  # fmt: skip


def settle_written_files(c: Transaction, action: int, lost: Iterable[str]) -> int | None:
    """Forget files that could not be written, and count the others.

    Return the action, or None if it wrote no file.
    """
    c.executemany(
        "DELETE FROM action_files WHERE action = ? AND path = ?",
        [(action, path) for path in lost],
    )
    (n,) = c.execute("SELECT count(*) FROM action_files WHERE action = ?", (action,)).fetchone()
    if not n:
        c.execute("DELETE FROM actions WHERE id = ?", (action,))
        return None
    put_count(c, action, n)
    return action


def moment() -> str:
    """Return the time now as the log stores it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# Not copied: ``files`` and ``tag_sources`` are restored separately, ``tags`` follows from the
# latter, and back-fills are computed again.
_APART = {"files", "tags", "tag_sources", "backfill_images"}

Vectors = Mapping[tuple[str, int], Mapping[int, bytes]]
"""Rows of pictures: (space, generation) to picture to its packed row."""


class RemovedImage(NamedTuple):
    """A removed picture: its files, and where moved files are now."""

    hash: bytes
    files: Mapping[str, tuple[int, int]]
    moved: Mapping[str, str]


class Restored(NamedTuple):
    """Restored pictures by content, and spaces that lack rows of them."""

    images: Mapping[bytes, int]
    lacking: frozenset[str]


def removed_images(store: Store, action: int) -> list[RemovedImage]:
    """Return the pictures that an action removed and that are still removed."""
    rows = store.all("SELECT hash, rows FROM removed_images WHERE action = ?", (action,))
    found = []
    for row in rows:
        said = read_json(row["rows"], "a removed picture")
        files = {path: (size, mtime) for path, size, mtime in said["files"]}
        found.append(RemovedImage(bytes(row["hash"]), files, said["moved"]))
    return found


def removed_hashes(store: Store) -> set[bytes]:
    """Return the content digests of all removed pictures."""
    return set(map(bytes, store.column("SELECT hash FROM removed_images")))


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def remove_remembered(
    c: Transaction,
    action: int,
    images: Iterable[int],
    vectors: Vectors,
    moved: Mapping[str, str],
) -> None:
    """Remove pictures and store everything that restoring them needs.

    ``moved`` says where their files will be moved.
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
    """Allow a removed picture to be added again."""
    c.execute("DELETE FROM removed_images WHERE hash = ?", (digest,))


def restore_removed(
    c: Transaction,
    store: Store,
    action: int,
    changed: Collection[str],
    describing: Collection[str],
) -> Restored:
    """Restore the pictures that an action removed, with everything that belonged to them.

    ``changed`` are files with other content now.  A picture stays removed if it was added again, or
    if none of its files is unchanged.  ``describing`` are spaces that should have a row of every
    picture.
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
            # Tags follow from the log, which may have grown.
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
    """Return whether a path is unrecorded, or recorded as that of a removed picture."""
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
            # Skip a row if something else it refers to (an album, say) was deleted.
            try_execute(c, *_insertion(table, {**row, found["column"]: image}))


def _restore_vectors(
    c: Transaction, store: Store, digest: bytes, image: int, spaces: Mapping[str, int]
) -> set[str]:
    """Restore rows of live generations; return the spaces that have no row of this picture."""
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
    """Return (table, column) of everything that refers to pictures."""
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
