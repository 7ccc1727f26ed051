"""Named keys: the table of their digests, and the key that the current request was made with.

Only the digest of a key is stored.  A revoked key stays as a row, because lines of the log refer to
it; its name may be used again.  The key of a request is a context variable, which follows the
request into threads, so everything written on its behalf is signed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.catalog.database import Row, Transaction, marks, parts, try_execute

if TYPE_CHECKING:
    from likewise.catalog.store import Store


class Actor(NamedTuple):
    """A named key; its ``id`` tells it from another one that has the same name later."""

    id: int
    name: str


_ACTING: ContextVar[Actor | None] = ContextVar("likewise_acting", default=None)


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """What is written inside is this key's; None: the owner's."""
    before = _ACTING.set(actor)
    try:
        yield
    finally:
        _ACTING.reset(before)


def acting_now() -> Actor | None:
    """Whose request this is; None: the owner's."""
    return _ACTING.get()


def signature() -> dict[str, Any]:
    """What a line of the log says of who wrote it; nothing of the owner."""
    actor = acting_now()
    return {} if actor is None else {"who": actor.name, "key": actor.id}


class KeyRow(NamedTuple):
    """A key; ``maker`` is who made it, as the list of actions names them.

    ``used`` is when it was last seen, to the hour, ``revoked`` when it was closed.
    """

    id: int
    name: str
    role: str
    digest: bytes
    made: str
    maker: str
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
        row["id"], row["name"], row["role"], bytes(row["digest"]), row["made"], row["maker"],
        row["used"], row["revoked"],
    )  # fmt: skip


def lines_of(store: Store, id_: int) -> set[int]:
    """Numbers of all lines of the log that a key wrote."""
    rows = store.all(
        """SELECT number FROM log WHERE instr(body, '"key":') > 0
           AND CAST(json_extract(body, '$.key') AS INTEGER) = ?""",
        (id_,),
    )
    return {row[0] for row in rows}


def written_by(store: Store, id_: int, numbers: Sequence[int]) -> set[int]:
    """Those of some lines that a key wrote."""
    found: set[int] = set()
    for part in parts(list(numbers)):
        rows = store.all(
            f"""SELECT number FROM log WHERE number IN ({marks(part)})
                AND CAST(json_extract(body, '$.key') AS INTEGER) = ?""",
            (*part, id_),
        )
        found |= {row[0] for row in rows}
    return found


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_key(
    c: Transaction, name: str, role: str, digest: bytes, made: str, maker: str
) -> int | None:
    """A new key, and its id; None where there is one of that name."""
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
