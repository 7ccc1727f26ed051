"""The catalog's table of named keys: of a key only its digest is kept.

A key that was revoked stays as a row: lines of the log name it, and all that was said with it can
still be taken back.  Its name is free for another key.
"""

from __future__ import annotations

from typing import NamedTuple

from likewise.collection.store.database import Row, try_execute
from likewise.collection.store.store import Store, Transaction


class KeyRow(NamedTuple):
    """A key; ``used`` is when it was last seen, to the hour, ``revoked`` when it was closed."""

    id: int
    name: str
    role: str
    digest: bytes
    made: str
    used: str | None
    revoked: str | None


def keys(store: Store) -> list[KeyRow]:
    """All keys there ever were, oldest first."""
    return [_key(row) for row in store.all("SELECT * FROM keys ORDER BY id")]


def working_keys(store: Store) -> list[KeyRow]:
    """Those that open something now."""
    return [_key(row) for row in store.all("SELECT * FROM keys WHERE revoked IS NULL ORDER BY id")]


def key(store: Store, id_: int) -> KeyRow | None:
    rows = store.all("SELECT * FROM keys WHERE id = ?", (id_,))
    return _key(rows[0]) if rows else None


def _key(row: Row) -> KeyRow:
    return KeyRow(
        row["id"], row["name"], row["role"], bytes(row["digest"]), row["made"], row["used"],
        row["revoked"],
    )  # fmt: skip


def lines_of(store: Store, id_: int) -> set[int]:
    """Numbers of all lines of the log that a key wrote."""
    rows = store.all(
        """SELECT number FROM log WHERE instr(body, '"key":') > 0
           AND CAST(json_extract(body, '$.key') AS INTEGER) = ?""",
        (id_,),
    )
    return {row[0] for row in rows}


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_key(c: Transaction, name: str, role: str, digest: bytes, made: str) -> bool:
    """A new key; whether there was none of that name."""
    return try_execute(
        c,
        "INSERT INTO keys (name, role, digest, made) VALUES (?, ?, ?, ?)",
        (name, role, digest, made),
    )


def revoke_key(c: Transaction, id_: int, moment: str) -> None:
    c.execute("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (moment, id_))


def revoke_every_key(c: Transaction, moment: str) -> None:
    c.execute("UPDATE keys SET revoked = ? WHERE revoked IS NULL", (moment,))


def put_used(c: Transaction, id_: int, moment: str) -> None:
    c.execute("UPDATE keys SET used = ? WHERE id = ?", (moment, id_))
