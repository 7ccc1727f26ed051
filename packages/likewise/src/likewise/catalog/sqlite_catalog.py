"""A catalog in an SQLite file in WAL mode, with one connection per thread.

A read-only collection is opened for reading only.  SQLite reads a WAL database through a shared
file next to it; where that file cannot be created, the catalog is opened as immutable.  A catalog
that was moved to PostgreSQL has the schema number ``MOVED``, so no process writes to the old copy.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from likewise.catalog import jobs, sums
from likewise.catalog.schema import MIGRATIONS, check_schema
from likewise.catalog.word_index import FIELDS, refresh_written
from likewise.errors import (
    CollectionBusy,
    CollectionError,
    DamagedCollection,
    DiskFull,
    ReadOnlyCollection,
)
from likewise_methods.durable_files import CATALOG_SYNC


def is_writable(path: Path) -> bool:
    """Return whether a catalog and its folder can be written."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def connect(path: Path, patience: float, *, read_only: bool) -> tuple[sqlite3.Connection, bool]:
    """Open a connection; return it, and whether it is opened as immutable."""
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
                f"{path.parent} is read-only here and being written by another user; try again "
                "later, or ask for a backup"
            ) from error
    return _prepare(_open(f"{uri}?mode=ro&immutable=1", patience, uri=True)), True


def _open(name: str, patience: float, *, uri: bool) -> sqlite3.Connection:
    # Autocommit: transactions are opened explicitly, so that their kind is visible.
    return sqlite3.connect(
        name, timeout=patience, isolation_level=None, check_same_thread=False, uri=uri
    )


def _prepare(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    # A catalog may be untrusted: code in it must not run.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(CATALOG_SYNC)
    return connection


_DAMAGE = ("decode to UTF-8", "no such column: T.", "vtable constructor failed")
"""Messages of damage for which SQLite has no code."""


def translate_error(error: Exception, path: Path) -> Exception:
    """Return an error of SQLite as an error of a collection; an error of our own stays."""
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & 0xFF
    if kind == sqlite3.SQLITE_FULL:
        return DiskFull(f"the disk that holds {path.parent} is full; nothing was changed")
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM) and not is_writable(path):
        return ReadOnlyCollection(f"{path.parent} is read-only: {error}")
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT):
        return DamagedCollection(f"{path} is damaged ({error}); restore a backup")
    # If a disk refuses a file for writing, SQLite opens it for reading and fails later; a user who
    # may write gets no message about rights.
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
        return DamagedCollection(f"{path} is damaged ({error}); restore a backup")
    return error


FILE = "catalog.sqlite"
BUSY_SECONDS = 30.0
MOVED = 1_000_000
"""The schema number of a catalog that was moved to PostgreSQL."""


class SQLiteCatalog:
    """A catalog in an SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.root = path.parent
        self.read_only = path.exists() and not is_writable(path)
        self._local = threading.local()
        self._open: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._lock = threading.Lock()

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, Any]) -> SQLiteCatalog:
        """Make a new, empty catalog."""
        # Private, because it has names of pictures.  The journal gets the same rights.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        catalog = cls(path)
        try:
            connection = catalog.connect()
            connection.execute("PRAGMA journal_mode = WAL")
            catalog._migrate(connection)
        except sqlite3.Error as error:
            raise translate_error(error, path) from error
        with catalog.write() as c:
            c.executemany(
                "INSERT INTO settings VALUES (?, ?)",
                [(key, json.dumps(value)) for key, value in settings.items()],
            )
        return catalog

    @classmethod
    def open(cls, path: Path) -> SQLiteCatalog:
        """Open a catalog and bring it up to this version's schema."""
        if not path.is_file():
            raise CollectionError(f"{path.parent} is not a collection (it has no {FILE})")
        catalog = cls(path)
        try:
            connection = catalog.connect()
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                raise DamagedCollection(f"{path} is empty; restore it from a backup")
            catalog._migrate(connection)
            check_schema(connection, MIGRATIONS, str(path))
            if catalog.one("SELECT 1 FROM written_stale LIMIT 1") is not None:
                with catalog.write():
                    pass  # any transaction fills the index that a migration left empty
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            catalog.close()
            translated = translate_error(error, path)
            if isinstance(translated, CollectionError):
                raise translated from error
            raise DamagedCollection(f"{path} cannot be read as a catalog: {error}") from error
        except BaseException:
            catalog.close()
            raise
        return catalog

    def fold_journal(self) -> None:
        """Write the write-ahead log into the file."""
        try:
            self.connect().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise translate_error(error, self.path) from error

    def close(self) -> None:
        with self._lock:
            for _, connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def connect(self) -> sqlite3.Connection:
        """Return this thread's connection."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is not None:
            # An immutable file is opened again when it changed.
            if self._local.fixed is None or self._local.fixed == _state_of(self.path):
                return found
            if found.in_transaction:
                return found
        connection, fixed = connect(self.path, BUSY_SECONDS, read_only=self.read_only)
        self._local.connection, self._local.ledger = connection, None
        self._local.fixed = _state_of(self.path) if fixed else None
        with self._lock:
            # Close the connections of threads that ended.
            for thread, left in self._open:
                if not thread.is_alive():
                    left.close()
            self._open = [pair for pair in self._open if pair[0].is_alive()]
            self._open.append((threading.current_thread(), connection))
        return connection

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        return self.connect()

    def _migrate(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == MOVED:
            raise CollectionError(
                f"{self.path} is an old copy: the catalog was moved to PostgreSQL; open "
                "the collection's folder"
            )
        if version > len(MIGRATIONS):
            raise CollectionError(
                f"{self.path} has schema {version}; this Likewise knows {len(MIGRATIONS)}. "
                "Use a newer Likewise"
            )
        if version < len(MIGRATIONS) and self.read_only:
            raise ReadOnlyCollection(
                f"{self.root} is of an earlier Likewise and read-only; open it once where it can "
                "be written, or restore a copy"
            )
        for number in range(version, len(MIGRATIONS)):
            try:
                connection.executescript(
                    f"BEGIN IMMEDIATE;{MIGRATIONS[number]};PRAGMA user_version = {number + 1};"
                )
                if number + 1 == len(MIGRATIONS):
                    sums.seal(connection)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                # Another process may have migrated it meanwhile.
                if connection.execute("PRAGMA user_version").fetchone()[0] <= number:
                    if "fts5" in str(error):
                        raise CollectionError(
                            f"SQLite {sqlite3.sqlite_version} of this Python was built without "
                            "FTS5, which the index of words needs; use another Python"
                        ) from error
                    raise

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Open a transaction; after an error nothing of it remains.

        In WAL mode a commit survives the death of the process; ``durable`` makes it survive a power
        cut.
        """
        if self.read_only:
            raise ReadOnlyCollection(f"{self.root} is read-only: it can be searched, not changed")
        connection = self.connect()
        if durable:
            connection.execute("PRAGMA synchronous = FULL")
        try:
            ledger = self._begin(connection)
            try:
                yield connection
                refresh_written(connection, put_documents)
                connection.execute("UPDATE revision SET number = number + 1")
                ledger.write()
                connection.execute("COMMIT")
            except BaseException as error:
                # On a full disk SQLite has rolled back already; report the first error.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                ledger.forget()
                if isinstance(error, sqlite3.Error):
                    self._leave_if_read_only(error)
                    translated = translate_error(error, self.path)
                    if translated is not error:
                        raise translated from error
                raise
        finally:
            if durable:
                with suppress(sqlite3.Error):
                    connection.execute("PRAGMA synchronous = NORMAL")

    def _leave_if_read_only(self, error: sqlite3.Error) -> None:
        """Close a connection that can only read because its disk failed when it was opened."""
        code = getattr(error, "sqlite_errorcode", None) or 0
        connection: sqlite3.Connection = self._local.connection
        if code & 0xFF == sqlite3.SQLITE_READONLY and not connection.in_transaction:
            self._local.connection = None
            with self._lock:
                self._open = [pair for pair in self._open if pair[1] is not connection]
            connection.close()

    def _begin(self, connection: sqlite3.Connection) -> sums.Ledger:
        try:
            ledger: sums.Ledger | None = self._local.ledger
            if ledger is None:
                # Outside the transaction, whose rollback would delete its triggers.
                ledger = self._local.ledger = sums.Ledger(connection)
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if "locked" not in str(error):
                self._leave_if_read_only(error)
                raise translate_error(error, self.path) from error
            raise CollectionBusy(
                f"{self.path.parent} was being written for {BUSY_SECONDS:.0f} s; try again"
            ) from error
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == MOVED:
                raise CollectionError(
                    f"the catalog of {self.root} moved to PostgreSQL meanwhile; start Likewise "
                    "again"
                )
            if version != len(MIGRATIONS):
                # Rows written by an older version would have no checksums.
                raise CollectionError(
                    f"{self.path} was brought to schema {version} meanwhile; start Likewise again"
                )
            ledger.forget()
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return ledger

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads in this thread see the same state."""
        connection = self.connect()
        connection.execute("BEGIN")
        try:
            self.one("SELECT number FROM revision")
            yield
        finally:
            # Nothing was written; report an earlier error of the disk.
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise errors of SQLite as errors of a collection."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise translate_error(error, self.path) from error

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        try:
            return self.connect().execute(sql, parameters).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise translate_error(error, self.path) from error

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        try:
            row = self.connect().execute(sql, parameters).fetchone()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise translate_error(error, self.path) from error
        return None if row is None else row[0]

    def find_words(
        self, field: str, words: Sequence[str], beginnings: bool, most: int
    ) -> list[int]:
        """Return the pictures that have one of the words in a field, by id.

        Typed text is quoted, so it cannot be FTS5 syntax.
        """
        assert field in FIELDS
        terms = [_quoted(word) for word in words]
        if beginnings:
            terms[0] = f"{terms[0]} *"
        text = f"{field} : ({' OR '.join(terms)})"
        rows = self.all(
            "SELECT rowid FROM written WHERE written MATCH ? ORDER BY rowid LIMIT ?", (text, most)
        )
        return [row[0] for row in rows]

    def integrity(self) -> list[str]:
        """Return what SQLite and the checksums find wrong."""
        found = [row[0] for row in self.all("PRAGMA integrity_check")]
        broken = self.all("PRAGMA foreign_key_check")
        return [
            *(text for text in found if text != "ok"),
            *(
                f"table {row[0]}, row {row[1]} refers to a row of {row[2]} that is not there"
                for row in broken
            ),
            *self._compare_sums(),
        ]

    def _compare_sums(self) -> list[str]:
        try:
            return sums.compare(self.connect())
        except sqlite3.Error as error:
            return [f"the checksums cannot be compared: {error}"]

    def check_index_of_words(self) -> list[str]:
        """Return what is wrong with the full-text index."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            connection = self.connect()
            if self.read_only or connection.in_transaction:
                # For SQLite the check is a write.
                connection.backup(copy)
                connection = copy
            try:
                connection.execute("BEGIN")
                connection.execute("INSERT INTO written(written) VALUES ('integrity-check')")
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    raise CollectionBusy(f"{self.root} is being written; try again") from error
                return [f"the index of words cannot be read: {error}"]
            except sqlite3.DatabaseError as error:
                return [f"the index of words is damaged: {error}"]
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        return []

    def backup_to(self, path: Path) -> None:
        """Copy the state to one file."""
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        target = sqlite3.connect(path)
        try:
            self.connect().backup(target)
            target.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            raise translate_error(error, path) from error
        finally:
            target.close()

    def lease(self, job: str, name: str = jobs.FILE) -> AbstractContextManager[None]:
        """Hold the job lease, a lock on a file of the folder."""
        return jobs.lease(self.root, job, name)

    def running_job(self) -> str | None:
        return jobs.running(self.root)

    def drop(self) -> None:
        """Do nothing: the folder holds everything."""

    def watch(self, changed: Callable[[], object]) -> None:
        """Return None: SQLite does not announce changes, so readers poll the revision."""


def put_documents(c: Any, documents: Mapping[int, tuple[str, ...]]) -> None:
    """Add documents to the full-text index."""
    c.executemany(
        "INSERT INTO written (rowid, tags, suggested, folders, files, camera) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [(image, *fields) for image, fields in documents.items()],
    )


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _state_of(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
