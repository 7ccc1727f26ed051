"""Checksums of the catalog, because SQLite does not notice every damaged byte.

- **A blob** has a checksum of its bytes and its key, which is compared whenever it is read.
- **A line of the log** has a digest that includes the line before, so no line can be changed, lost
  or inserted.
- **A table** has a digest in ``sums``: the digests of its rows added up, modulo 2^128.  A
  transaction updates it with the rows it changes; ``verify`` adds up all rows again.

Triggers of the connection follow the rows, so no write can forget them.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

from likewise.catalog.database import KEEP_SUMS, RESTORE_SUMS, Row, Transaction
from likewise.errors import DamagedCollection

_WIDTH = 16
_ALL = 1 << (8 * _WIDTH)
_LINE = 16
START = bytes(_LINE)
"""What the first line of a log has before it."""
_FOLLOW = "likewise_row"
_COUNTERS = "sqlite_sequence"
_DERIVED = "written"
"""The index of words and the tables of its pages: compared with what it is made of."""

BLOBS: dict[str, tuple[tuple[str, ...], str]] = {
    "vectors": (("space", "generation", "image"), "vector"),
    "codes": (("space", "generation", "subject"), "vector"),
    "given": (("space", "generation", "entry"), "weights"),
    "checkpoints": (("space", "generation", "history", "n_items"), "state"),
    "text_vectors": (("model", "text"), "vector"),
    "removed_vectors": (("space", "generation", "hash"), "vector"),
}
"""Tables with blobs of numbers: the key their sum covers, and the column of the blob."""


# -- blobs ----------------------------------------------------------------------------------


def blob_sum(blob: bytes, *key: object) -> int:
    """Return the checksum of a blob and of the key it is stored under."""
    return crc32(blob, crc32(repr(key).encode()))


def check_blob(blob: bytes, found: object, *key: object) -> bytes:
    """Return the blob, or raise if it is damaged."""
    if blob_sum(blob, *key) != found:
        named = " ".join(part.hex() if isinstance(part, bytes) else str(part) for part in key)
        raise DamagedCollection(
            f"a blob of the catalog ({named}) is not what was written; run verify, and restore "
            "a backup"
        )
    return blob


# -- lines of the log -----------------------------------------------------------------------


def line_digest(before: bytes, number: int, *values: object) -> bytes:
    """Return the digest of a line (profile, kind, time, session, body) after another one."""
    return hashlib.blake2b(
        repr((number, *values)).encode(errors="surrogatepass"), key=before, digest_size=_LINE
    ).digest()


BEFORE = (
    "(SELECT b.digest FROM log b WHERE b.number < log.number ORDER BY b.number DESC LIMIT 1)"
    " AS before"
)
"""A column for a query over the log: the digest of the line before."""
LINE = f"log.number, profile, kind, made, session, body, digest, {BEFORE}"
"""The columns that :func:`check_line` reads."""


def check_line(row: Row) -> Row:
    """Return a line of the log with all its columns (``LINE``), or raise if it is damaged."""
    due = line_digest(
        START if row["before"] is None else row["before"], row["number"], row["profile"],
        row["kind"], row["made"], row["session"], row["body"],
    )  # fmt: skip
    if due != row["digest"]:
        raise DamagedCollection(
            f"line {row['number']} of the log is damaged; run verify, and restore a backup"
        )
    return row


# -- tables ---------------------------------------------------------------------------------


def row_digest(values: Sequence[Any]) -> int:
    """Return a number that identifies the values of a row."""
    # Called for every written row, so it makes no unnecessary call.  SQLite returns plain bytes.
    blobs = [value for value in values if value.__class__ is bytes]
    plain = [(len(v),) if v.__class__ is bytes else v for v in values] if blobs else [*values]
    digest = hashlib.blake2b(repr(plain).encode(errors="surrogatepass"), digest_size=_WIDTH)
    for blob in blobs:
        digest.update(blob)
    return int.from_bytes(digest.digest(), "big")


class Ledger:
    """The sums of the rows that a connection changes in a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._changes: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._kept: tuple[dict[str, int], dict[str, int]] = {}, {}
        connection.create_function(_FOLLOW, -1, self._follow)
        connection.create_function(KEEP_SUMS, 0, self._keep)
        connection.create_function(RESTORE_SUMS, 0, self._restore)
        connection.execute("PRAGMA temp_store = MEMORY")
        # So that rows deleted by INSERT OR REPLACE are counted too.
        connection.execute("PRAGMA recursive_triggers = ON")
        connection.execute("BEGIN")
        try:
            self._make_triggers(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    @staticmethod
    def _make_triggers(connection: sqlite3.Connection) -> None:
        for table in _tables(connection):
            old, new = (
                ", ".join(f'{side}."{column}"' for column in _columns(connection, table))
                for side in ("old", "new")
            )
            gone = f"{_FOLLOW}('{table}', -1, {old})"
            come = f"{_FOLLOW}('{table}', 1, {new})"
            for event, what in (("INSERT", come), ("DELETE", gone), ("UPDATE", f"{gone}, {come}")):
                connection.execute(
                    f'CREATE TEMP TRIGGER "sums_{table}_{event}" AFTER {event} ON main."{table}" '
                    f"BEGIN SELECT {what}; END"
                )

    def _follow(self, table: str, sign: int, *values: Any) -> None:
        self._changes[table] = self._changes.get(table, 0) + sign * row_digest(values)
        self._rows[table] = self._rows.get(table, 0) + sign

    def _keep(self) -> None:
        self._kept = dict(self._changes), dict(self._rows)

    def _restore(self) -> None:
        self._changes, self._rows = dict(self._kept[0]), dict(self._kept[1])

    def forget(self) -> None:
        """Start a new transaction."""
        self._changes.clear()
        self._rows.clear()

    def write(self) -> None:
        """Add the changes of the transaction to ``sums``."""
        for table, change in self._changes.items():
            row = self._connection.execute(
                "SELECT digest, n_rows FROM sums WHERE name = ?", (table,)
            ).fetchone()
            if row is None or not isinstance(row[0], bytes):
                raise DamagedCollection(f"the catalog has no sum of table {table}; run verify")
            digest = (int.from_bytes(row[0], "big") + change) % _ALL
            self._connection.execute(
                "UPDATE sums SET digest = ?, n_rows = ? WHERE name = ?",
                (digest.to_bytes(_WIDTH, "big"), row[1] + self._rows[table], table),
            )
        put_sum(self._connection, _COUNTERS)
        self.forget()


def seal(c: sqlite3.Connection) -> None:
    """Store all checksums, inside the transaction that migrates a catalog."""
    for table, (key, column) in BLOBS.items():
        key_columns = ", ".join(key)
        for row in c.execute(f"SELECT {column}, {key_columns} FROM {table}").fetchall():
            where = " AND ".join(f"{name} = ?" for name in key)
            c.execute(f"UPDATE {table} SET sum = ? WHERE {where}",
                      (blob_sum(row[0], *row[1:]), *row[1:]))  # fmt: skip
    before = START
    lines = c.execute("SELECT number, profile, kind, made, session, body FROM log ORDER BY 1")
    for row in lines.fetchall():
        before = line_digest(before, *row)
        c.execute("UPDATE log SET digest = ? WHERE number = ?", (before, row[0]))
    put_all(c)


def put_all(c: sqlite3.Connection) -> None:
    """Store the sums of all tables."""
    c.execute("DELETE FROM sums")
    for table in (*_tables(c), _COUNTERS):
        put_sum(c, table)


def compare(c: sqlite3.Connection) -> list[str]:
    """Return damaged tables and lines; empty when all is well."""
    held = {row[0]: (row[1], row[2]) for row in c.execute("SELECT name, digest, n_rows FROM sums")}
    wrong: list[str] = []
    for table in (*_tables(c), _COUNTERS):
        try:
            due = add_up(c, table)
        except sqlite3.Error as error:
            wrong.append(f"table {table} cannot be read: {error}")
            continue
        if due != held.pop(table, None):
            wrong.append(f"table {table} is not what was written")
    wrong += [f"there is a sum of table {name}, which is not there" for name in sorted(held)]
    return wrong + list(broken_lines(c))


def broken_lines(c: Transaction) -> Iterator[str]:
    before = START
    columns = "number, profile, kind, made, session, body, digest"
    for row in c.execute(f"SELECT {columns} FROM log ORDER BY 1"):
        if line_digest(before, *tuple(row)[:6]) != row[6]:
            yield f"line {row[0]} of the log is damaged"
        before = row[6] if isinstance(row[6], bytes) and row[6] else START


def _tables(c: sqlite3.Connection) -> list[str]:
    rows = c.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY 1")
    return [
        name
        for (name,) in map(tuple, rows)
        if not name.startswith(("sqlite_", f"{_DERIVED}_")) and name not in (_DERIVED, "sums")
    ]


def _columns(c: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in c.execute(f'PRAGMA main.table_info("{table}")')]


def add_up(c: sqlite3.Connection, table: str) -> tuple[bytes, int]:
    return add_up_rows(c.execute(f'SELECT * FROM main."{table}"'))


def add_up_rows(rows: Iterable[Any]) -> tuple[bytes, int]:
    """Return (the sum of the rows' digests, how many there are)."""
    total = n_rows = 0
    for row in rows:
        total += row_digest(tuple(row))
        n_rows += 1
    return (total % _ALL).to_bytes(_WIDTH, "big"), n_rows


def put_sum(c: sqlite3.Connection, table: str) -> None:
    """Store the sum of one table."""
    c.execute("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", (table, *add_up(c, table)))
