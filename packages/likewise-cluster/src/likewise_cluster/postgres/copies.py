"""Copy complete catalogs between the databases, and prove that both sides agree.

A copy is one transaction.  Rows of both sides are compared by the digests of ``catalog/sums.py``;
so are the counters of ids, the documents of the full-text index, and the chain of the log.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from likewise.catalog import sums
from likewise.catalog.jobs import Progress, Report, silent
from likewise.catalog.schema import MIGRATIONS, schema, tables
from likewise.catalog.sqlite_catalog import put_documents, translate_error
from likewise.catalog.word_index import FIELDS
from likewise.errors import CollectionError, DamagedCollection
from likewise_cluster.postgres import functions, words
from likewise_cluster.postgres.connections import Connection, translate_errors
from likewise_cluster.postgres.dialect import LOG, definition, definitions

_TYPES = {"INTEGER": "int8", "TEXT": "text", "BLOB": "bytea", "REAL": "float8"}
_CHUNK = 500
_DOCUMENTS = f"SELECT rowid, {', '.join(FIELDS)} FROM written ORDER BY rowid"


def fill(
    target: Connection,
    source: sqlite3.Connection,
    state: tuple[str, str, str],
    report: Report = silent,
) -> None:
    """Copy a SQLite catalog into an empty schema, inside a transaction."""
    made = schema(MIGRATIONS)
    target.run(functions.STATE)
    target.run(functions.BEFORE_TABLES)
    for text in definitions(made):
        target.run(text)
    for number, table in enumerate(made.tables, 1):
        columns = ", ".join(f'"{one}"' for one in table.columns)
        with translate_errors(target.name), target.raw.cursor() as cursor:
            into = f'COPY "{table.name}" ({columns}) FROM STDIN (FORMAT BINARY)'
            with cursor.copy(into) as copy:
                copy.set_types([_TYPES[kind] for kind in table.types])
                for row in source.execute(f'SELECT {columns} FROM "{table.name}"'):
                    copy.write_row(tuple(row))
        report(Progress("copying the catalog", number, len(made.tables)))
    for chunk in _chunks(source.execute(_DOCUMENTS)):
        words.put_documents(target, {row[0]: tuple(row)[1:] for row in chunk})
    for name, count in counters_of_sqlite(source).items():
        column = next(one.numbered for one in made.tables if one.name == name)
        if count and name != LOG:
            target.run(f"SELECT setval(pg_get_serial_sequence('{name}', '{column}'), {count})")
    # Triggers last: they already ran for these rows when they were first written.
    names = [table.name for table in made.tables]
    for text in (*map(definition, made.triggers), *map(functions.follow, names)):
        target.run(text)
    target.run(functions.seal(names))
    target.execute("INSERT INTO catalog_state VALUES (1, ?, ?, ?, ?)", (len(MIGRATIONS), *state))


def write_sqlite(source: Connection, path: Path, report: Report = silent) -> None:
    """Write a SQLite catalog with the content of one in PostgreSQL, in a snapshot."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as c:
            c.row_factory = sqlite3.Row
            version = f"PRAGMA user_version = {len(MIGRATIONS)};"
            c.executescript("BEGIN;" + "".join(f"{one};" for one in MIGRATIONS) + version)
            triggers = c.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
            kept = [tuple(row) for row in triggers.fetchall()]
            for name, _ in kept:
                c.execute(f'DROP TRIGGER "{name}"')
            for number, table in enumerate(tables(), 1):
                columns = ", ".join(f'"{one}"' for one in table.columns)
                marks = ", ".join("?" * len(table.columns))
                c.execute(f'DELETE FROM "{table.name}"')
                rows = stream(source, f'SELECT {columns} FROM "{table.name}"')
                c.executemany(f'INSERT INTO "{table.name}" ({columns}) VALUES ({marks})', rows)
                report(Progress("copying the catalog", number, len(tables())))
            for chunk in _chunks(stream(source, _DOCUMENTS)):
                put_documents(c, {row[0]: tuple(row)[1:] for row in chunk})
            c.execute("DELETE FROM sqlite_sequence")
            counters = [pair for pair in counters_of_postgres(source).items() if pair[1]]
            c.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", counters)
            for _, text in kept:
                c.execute(text)
            sums.put_all(c)
            c.execute("COMMIT")
            c.execute("PRAGMA journal_mode = WAL")
            c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        refusal = translate_error(error, path)
        if isinstance(refusal, CollectionError):
            raise refusal from error
        raise CollectionError(f"{path} cannot be written: {error}") from error


def compare(
    sqlite: sqlite3.Connection, postgres: Connection, report: Report = silent
) -> dict[str, int]:
    """Return the number of rows by table, or refuse with what differs.

    Inside a transaction of PostgreSQL.
    """
    found: dict[str, int] = {}
    for number, table in enumerate(tables(), 1):
        columns = ", ".join(f'"{one}"' for one in table.columns)
        asked = f'SELECT {columns} FROM "{table.name}"'
        here, there = (
            sums.add_up_rows(rows) for rows in (sqlite.execute(asked), stream(postgres, asked))
        )
        if here != there:
            raise DamagedCollection(
                f"the copy is not the original: table {table.name} has {here[1]:,} rows in SQLite "
                f"and {there[1]:,} in PostgreSQL, or they differ"
            )
        found[table.name] = here[1]
        report(Progress("comparing both sides", number, len(tables())))
    if counters_of_sqlite(sqlite) != counters_of_postgres(postgres):
        raise DamagedCollection("the copy is not the original: the counters of ids differ")
    documents = (
        sums.add_up_rows(r) for r in (sqlite.execute(_DOCUMENTS), stream(postgres, _DOCUMENTS))
    )
    if len(set(documents)) != 1:
        raise DamagedCollection("the copy is not the original: the index of words differs")
    for side in (sqlite, postgres):
        for wrong in sums.broken_lines(side):
            raise DamagedCollection(f"the log is not whole: {wrong}; run verify")
    return found


def counters_of_sqlite(c: sqlite3.Connection) -> dict[str, int]:
    """Return the last number that each counting table gave out."""
    held = {row[0]: row[1] for row in c.execute("SELECT name, seq FROM sqlite_sequence")}
    return {table.name: held.get(table.name, 0) for table in tables() if table.numbered}


def counters_of_postgres(connection: Connection) -> dict[str, int]:
    """Return the same of PostgreSQL; lines of the log have no sequence and no gaps."""
    found = {}
    for table in tables():
        if table.name == LOG:
            found[LOG] = connection.run("SELECT coalesce(max(number), 0) FROM log")[0][0]
        elif table.numbered:
            asked = f"SELECT pg_get_serial_sequence('{table.name}', '{table.numbered}')"
            ((sequence,),) = connection.run(asked)
            ((last, called),) = connection.run(f"SELECT last_value, is_called FROM {sequence}")
            found[table.name] = last if called else 0
    return found


def stream(connection: Connection, sql: str) -> Iterator[Any]:
    """Stream query results inside a transaction."""
    with translate_errors(connection.name), connection.raw.cursor(name="reading") as cursor:
        cursor.itersize = _CHUNK
        cursor.execute(sql, binary=True)
        yield from cursor


def _chunks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    held: list[Any] = []
    for row in rows:
        held.append(row)
        if len(held) == _CHUNK:
            yield held
            held = []
    if held:
        yield held
