"""The tables of the catalog as the migrations make them: columns, keys, references.

Asked of an empty catalog in memory, so that a migration is written once and whatever must know the
tables (PostgreSQL's side, a move, a removed picture) learns of it by itself.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

from likewise.catalog.schema import MIGRATIONS

INDEX_OF_WORDS = "written"
"""FTS5's table; those of its pages begin with its name.  Each database has one of its own."""
SUMS = "sums"
"""Checksums of tables, which each database adds up in its own way."""


@dataclass(frozen=True)
class Table:
    """One table.  ``numbered`` is the column that counts by itself, ``key`` what makes a row one
    of its kind: the other unique columns where there is such a column, else the primary key."""

    name: str
    sql: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]
    numbered: str | None
    references: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Schema:
    """What the migrations make: tables in the order of their making, then indexes and triggers."""

    tables: tuple[Table, ...]
    indexes: tuple[str, ...]
    triggers: tuple[str, ...]


def tables() -> tuple[Table, ...]:
    """Every table of this version that holds what was put into it: neither indexes nor sums."""
    return schema(MIGRATIONS).tables


@lru_cache(2)
def schema(migrations: tuple[str, ...]) -> Schema:
    """What these migrations make."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as c:
        c.executescript("BEGIN;" + "".join(f"{one};" for one in migrations) + "COMMIT;")
        rows = c.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid").fetchall()
        own = [row for row in rows if row[2] is not None and not row[1].startswith("sqlite_")]
        return Schema(
            tuple(
                _table(c, name, sql)
                for kind, name, sql in own
                if kind == "table" and name != SUMS and not _is_index(name)
            ),
            tuple(sql for kind, _, sql in own if kind == "index"),
            tuple(sql for kind, _, sql in own if kind == "trigger"),
        )


def _is_index(name: str) -> bool:
    pages = ("data", "idx", "content", "docsize", "config")
    return name == INDEX_OF_WORDS or name in {f"{INDEX_OF_WORDS}_{page}" for page in pages}


def _table(c: sqlite3.Connection, name: str, sql: str) -> Table:
    columns = c.execute(f'PRAGMA table_info("{name}")').fetchall()
    primary = tuple(row[1] for row in sorted(columns, key=lambda row: row[5]) if row[5])
    numbered = primary[0] if "AUTOINCREMENT" in sql else None
    key = primary
    for _, index, unique, origin, *_ in c.execute(f'PRAGMA index_list("{name}")').fetchall():
        if numbered is not None and unique and origin == "u":
            key = tuple(row[2] for row in c.execute(f'PRAGMA index_info("{index}")').fetchall())
    references = c.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()
    return Table(
        name, sql, tuple(row[1] for row in columns), tuple(row[2] for row in columns), key,
        numbered, tuple((row[3], row[2]) for row in references),
    )  # fmt: skip
