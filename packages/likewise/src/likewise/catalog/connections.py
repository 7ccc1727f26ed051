"""Connections to a catalog, and what SQLite's errors mean to a person.

A collection that may not be written (another user's, or on a medium that is read-only) is opened
for reading.  SQLite reads a catalog in WAL mode with a file beside it that readers share; where
that cannot be made, the catalog is read as one that nobody changes.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from likewise.errors import (
    CollectionError,
    DamagedCollection,
    DiskFull,
    ReadOnlyCollection,
)
from likewise_methods.durable_files import CATALOG_SYNC


def is_writable(path: Path) -> bool:
    """Whether a catalog and the folder its journal lies in may be written."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def connect(path: Path, patience: float, *, read_only: bool) -> tuple[sqlite3.Connection, bool]:
    """A connection, and whether it takes the file for one that never changes."""
    if not read_only:
        return _prepare(_open(str(path), patience, uri=False)), False
    uri = path.absolute().as_uri()
    shared = _open(f"{uri}?mode=ro", patience, uri=True)
    try:
        shared.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return _prepare(shared), False
    except sqlite3.OperationalError as error:
        shared.close()
        journal = path.with_name(f"{path.name}-wal")
        waiting = 0
        with suppress(FileNotFoundError):
            waiting = journal.stat().st_size
        if waiting:
            raise CollectionError(
                f"{path.parent} is read-only here and somebody else is writing it; try again when "
                "that is over, or ask for a backup"
            ) from error
    return _prepare(_open(f"{uri}?mode=ro&immutable=1", patience, uri=True)), True


def _open(name: str, patience: float, *, uri: bool) -> sqlite3.Connection:
    # Autocommit: transactions are opened explicitly, so that their kind is visible.
    return sqlite3.connect(
        name, timeout=patience, isolation_level=None, check_same_thread=False, uri=uri
    )


def _prepare(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    # A catalog may come from anybody: what it holds must not run.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(CATALOG_SYNC)
    return connection


_DAMAGE = ("decode to UTF-8", "no such column: T.", "vtable constructor failed")
"""What damage sounds like where SQLite has no code for it: text that is none, pages of an index."""


def retell(error: Exception, path: Path) -> Exception:
    """An error of SQLite in the words of a collection; one that is our own fault stays as it is."""
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & 0xFF
    if kind == sqlite3.SQLITE_FULL:
        return DiskFull(f"the disk that holds {path.parent} is full; nothing was changed")
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM) and not is_writable(path):
        return ReadOnlyCollection(f"{path.parent} is read-only: {error}")
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT):
        return DamagedCollection(f"{path} is damaged ({error}); restore a backup")
    # Where a disk refuses a file for writing SQLite opens it for reading, and says so when it is
    # too late: who may write here is not told that they may not.
    if kind in (
        sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
    ):  # fmt: skip
        return CollectionError(
            f"the disk that holds {path} cannot be read or written: {error}; what was not "
            "confirmed was not done"
        )
    if (
        type(error) is sqlite3.DatabaseError
        or isinstance(error, UnicodeDecodeError)
        or any(sign in str(error) for sign in _DAMAGE)
    ):
        # Also without a code, from an index of words.
        return DamagedCollection(f"{path} is damaged ({error}); restore a backup")
    return error
