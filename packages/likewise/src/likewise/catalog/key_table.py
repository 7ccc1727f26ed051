"""Named keys: the table of their digests, and the key of the current request.

Only the digest of a key is stored.  A revoked key stays as a row, because lines of the log refer to
it; its name may be used again.  The key of a request is a context variable, which threads of the
request inherit, so all its writes are signed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.catalog.database import Transaction, try_execute

if TYPE_CHECKING:
    from likewise.catalog.store import Store


class Actor(NamedTuple):
    """A named key; its ``id`` distinguishes it from a later one with the same name."""

    id: int
    name: str


_ACTING: ContextVar[Actor | None] = ContextVar("likewise_acting", default=None)


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """Sign everything written inside with this key; None: the owner."""
    before = _ACTING.set(actor)
    try:
        yield
    finally:
        _ACTING.reset(before)


def acting_now() -> Actor | None:
    """Return the key of the current request; None: the owner."""
    return _ACTING.get()


def signature() -> dict[str, Any]:
    """Return what a line of the log stores about its key; nothing for the owner."""
    actor = acting_now()
    return {} if actor is None else {"who": actor.name, "key": actor.id}


@dataclass(frozen=True)
class AccessKey:
    """A named key, without the key itself.

    Attributes
    ----------
    id : int
        Distinguishes it from a later key of the same name.
    name : str
        The name of its holder in the log.
    role : str
        ``look``, ``judge`` or ``manage``.
    made : str
        When it was made.
    maker : str
        What made it: another key, "the command line" or "the page".
    used : str or None
        When it was last used, to the hour; None: never.
    revoked : str or None
        When it was revoked; None while it works.

    See Also
    --------
    Share : a link for answering questions.
    """

    id: int
    name: str
    role: str
    made: str
    maker: str
    used: str | None
    revoked: str | None


_COLUMNS = "id, name, role, made, maker, used, revoked"


def keys(store: Store) -> list[AccessKey]:
    """Return all keys ever made, oldest first."""
    rows = store.all(f"SELECT {_COLUMNS} FROM keys ORDER BY id")
    return [AccessKey(*tuple(row)) for row in rows]


def working_keys(store: Store) -> list[tuple[AccessKey, bytes]]:
    """Return the keys that are not revoked, with their digests."""
    rows = store.all(f"SELECT digest, {_COLUMNS} FROM keys WHERE revoked IS NULL ORDER BY id")
    return [(AccessKey(*tuple(row)[1:]), bytes(row[0])) for row in rows]


def key(store: Store, id_: int) -> AccessKey | None:
    """Return a key by its id."""
    rows = store.all(f"SELECT {_COLUMNS} FROM keys WHERE id = ?", (id_,))
    return AccessKey(*tuple(rows[0])) if rows else None


def lines_of(store: Store, id_: int) -> set[int]:
    """Return the numbers of all lines of the log that a key wrote."""
    return set(
        store.column(
            """SELECT number FROM log WHERE instr(body, '"key":') > 0
               AND CAST(json_extract(body, '$.key') AS INTEGER) = ?""",
            (id_,),
        )
    )


def written_by(store: Store, id_: int, numbers: Sequence[int]) -> set[int]:
    """Return those of some lines that a key wrote."""
    sql = """SELECT number FROM log WHERE CAST(json_extract(body, '$.key') AS INTEGER) = ?
             AND number IN ({})"""
    return {row[0] for row in store.each(sql, numbers, id_)}


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_key(
    c: Transaction, name: str, role: str, digest: bytes, made: str, maker: str
) -> int | None:
    """Add a key and return its id; None if the name is taken."""
    sql = "INSERT INTO keys (name, role, digest, made, maker) VALUES (?, ?, ?, ?, ?)"
    if not try_execute(c, sql, (name, role, digest, made, maker)):
        return None
    rows = c.execute("SELECT id FROM keys WHERE name = ? AND revoked IS NULL", (name,)).fetchone()
    return int(rows[0])


def revoke_key(c: Transaction, id_: int, moment: str) -> None:
    c.execute("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (moment, id_))


def revoke_every_key(c: Transaction, moment: str) -> None:
    c.execute("UPDATE keys SET revoked = ? WHERE revoked IS NULL", (moment,))


def put_used(c: Transaction, id_: int, moment: str) -> None:
    c.execute("UPDATE keys SET used = ? WHERE id = ?", (moment, id_))
