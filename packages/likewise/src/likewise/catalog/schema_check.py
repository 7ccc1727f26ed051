"""What a catalog may hold beside rows: the tables, indexes and triggers of the migrations.

A catalog may come from anybody.  A trigger or a view in it is a program that runs when we read or
write, so that what the migrations did not make is refused, and what they made must read as it did.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache

from likewise.catalog.schema import SCHEMA_DIGEST
from likewise.errors import DamagedCollection

_OWN_PAGES = {f"written_{part}" for part in ("data", "idx", "content", "docsize", "config")}
"""Tables in which the index of words keeps its pages; each SQLite lays them out in its own way."""


def check_schema(c: sqlite3.Connection, migrations: tuple[str, ...], name: str) -> None:
    """Refuse a catalog whose schema is not what the migrations make."""
    found = read_schema(c)
    if digest_of_schema(found) == SCHEMA_DIGEST:
        return
    due = expected_schema(migrations)
    for (kind, what), text in found.items():
        if (kind, what) not in due and kind != "table":
            raise DamagedCollection(
                f"{name} holds a {kind} {what!r} that Likewise did not make; a catalog from "
                "elsewhere may hold anything: use a backup you trust"
            )
        if (kind, what) in due and due[kind, what] != text:
            raise DamagedCollection(f"the {kind} {what!r} of {name} is not what Likewise made")
    gone = [f"{kind} {what!r}" for kind, what in due if (kind, what) not in found]
    if gone:
        raise DamagedCollection(f"{name} lacks the {gone[0]}; restore a backup")


def read_schema(c: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """What a catalog holds beside rows: (kind, name) to its definition."""
    rows = c.execute("SELECT type, name, tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema")
    return {
        (kind, what): text
        for kind, what, text in map(tuple, rows)
        if not what.startswith("sqlite_") and not (kind == "table" and what in _OWN_PAGES)
    }


def digest_of_schema(found: Mapping[tuple[str, str], str]) -> str:
    """A name for a schema."""
    return hashlib.blake2b(repr(sorted(found.items())).encode(), digest_size=16).hexdigest()


@lru_cache(2)
def expected_schema(migrations: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """What the migrations make; it takes as long as a short command, so a digest is asked first."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as c:
        # One transaction: a schema that changes statement by statement is read again each time.
        c.executescript("BEGIN;" + "".join(f"{one};" for one in migrations) + "COMMIT;")
        return read_schema(c)
