"""The catalog's tables of bulk actions: what was done, by whom, and what undoing it needs.

An action is written in the transaction that does it.  One about tags names lines of the log and
keeps nothing of its own; suggestions and sidecars are in no log, so what they were before is here.
Stars, favourites, hidden pictures and albums likewise, beside their tables (``picture_marks.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from likewise.catalog.acting import signature
from likewise.catalog.database import Row
from likewise.catalog.sidecar_table import SidecarRow
from likewise.catalog.store import Store, Transaction, read_json
from likewise.catalog.tag_tables import Pair

TAG, UNTAG, ACCEPT_MANY, SAVE = "tag", "untag", "accept", "save"
OF_LINES = (TAG, UNTAG, ACCEPT_MANY, SAVE)
"""Actions that are lines of the log; ``body["lines"]`` numbers them."""
SUGGEST, CLEAR = "suggest", "clear"
SIDECARS, REMOVE = "sidecars", "remove"
MARK, ALBUM = "mark", "album"
TAKE_BACK = "takeback"


class ActionRow(NamedTuple):
    """One bulk action; ``undone`` is when, None while it stands."""

    id: int
    kind: str
    made: str
    who: str
    pictures: int
    body: Mapping[str, Any]
    undone: str | None


class SuggestionChange(NamedTuple):
    """A suggestion that an action made (``came``) or took away."""

    hash: bytes
    tag: str
    came: bool


class WrittenFile(NamedTuple):
    """A file that an action wrote: the digest of what it wrote, and what was there before.

    ``known`` is what the catalog knew of the sidecar then.
    """

    path: str
    digest: bytes
    before: bytes | None
    known: SidecarRow | None


# -- reads ----------------------------------------------------------------------------------


def actions(store: Store, newest: int = -1) -> list[ActionRow]:
    """Actions, the newest first."""
    rows = store.all("SELECT * FROM actions ORDER BY id DESC LIMIT ?", (newest,))
    return [_action(row) for row in rows]


def action(store: Store, id_: int) -> ActionRow | None:
    rows = store.all("SELECT * FROM actions WHERE id = ?", (id_,))
    return _action(rows[0]) if rows else None


def suggestion_changes(store: Store, action: int) -> list[SuggestionChange]:
    rows = store.all("SELECT hash, tag, came FROM action_suggestions WHERE action = ?", (action,))
    return [SuggestionChange(bytes(row[0]), row[1], bool(row[2])) for row in rows]


def written_paths(store: Store, action: int) -> list[str]:
    """Paths of the files an action wrote, in order."""
    rows = store.all("SELECT path FROM action_files WHERE action = ? ORDER BY path", (action,))
    return [row[0] for row in rows]


def written_file(store: Store, action: int, path: str) -> WrittenFile:
    (row,) = store.all(
        "SELECT digest, before, known FROM action_files WHERE action = ? AND path = ?",
        (action, path),
    )
    known = None if row["known"] is None else read_json(row["known"], "a sidecar")
    before = None if row["before"] is None else bytes(row["before"])
    return WrittenFile(path, bytes(row["digest"]), before, _sidecar(known))


def _sidecar(known: Sequence[Any] | None) -> SidecarRow | None:
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
    """A new action of whoever acts on this store now; gives its id."""
    cursor = c.execute(
        "INSERT INTO actions (kind, made, who, pictures, body) VALUES (?, ?, ?, ?, ?)",
        (kind, moment(), store.actor, pictures, json.dumps({**body, **signature()})),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def put_count(c: Transaction, action: int, pictures: int) -> None:
    """An action that is done batch by batch has reached this many."""
    c.execute("UPDATE actions SET pictures = ? WHERE id = ?", (pictures, action))


def mark_undone(c: Transaction, action: int) -> None:
    c.execute("UPDATE actions SET undone = ? WHERE id = ?", (moment(), action))


def put_suggestion_changes(
    c: Transaction, action: int, gone: Iterable[Pair], come: Iterable[Pair]
) -> int:
    """Suggestions that an action took away and made; gives how many pictures they are of."""
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
    """After a batch: forget files that could not be written, and count the others.

    Gives the action, or None where it has come to nothing.
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
    """Now, as the log writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
