"""The interface of the database that holds a catalog: SQLite here, PostgreSQL in likewise_cluster.

All SQL is written once, in the dialect of SQLite; ``postgres/dialect.py`` translates the few
differences.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from likewise.errors import DamagedCollection, RowRefused

KEEP_SUMS, RESTORE_SUMS = "likewise_keep_sums", "likewise_restore_sums"
"""Functions of a connection to SQLite: remember the sums of a transaction, and go back to them."""


class Row(Protocol):
    """A row of a result: columns by position or name."""

    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def keys(self) -> list[str]: ...


class Rows(Protocol):
    """The result of a statement."""

    @property
    def lastrowid(self) -> int | None: ...
    @property
    def rowcount(self) -> int: ...
    @property
    def description(self) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Transaction(Protocol):
    """A transaction of :meth:`Store.write`: all of its changes are made, or none."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows: ...
    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Rows: ...


class Watch(Protocol):
    """A subscription to changes."""

    def close(self) -> None: ...


class Catalog(Protocol):
    """A catalog in one database."""

    name: str
    """How messages call it; no password is in it."""
    read_only: bool

    @property
    def connection(self) -> Transaction:
        """A connection for reads of several tables."""

    def write(self, *, durable: bool = False) -> AbstractContextManager[Transaction]:
        """Open a transaction.

        A commit survives the death of the process; ``durable`` makes it survive a power cut.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads in this thread see the same state."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise errors of the database as errors of a collection."""

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query."""

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the first value of the first row, None if there is none."""

    def find_words(
        self, field: str, words: Sequence[str], beginnings: bool, most: int
    ) -> list[int]:
        """Return the ids of pictures that have one of the words in a field of the index."""

    def integrity(self) -> list[str]:
        """Return what the database and the checksums find wrong."""

    def check_index_of_words(self) -> list[str]:
        """Return whether the full-text index matches its documents, as a list of errors."""

    def backup_to(self, path: Path) -> None:
        """Copy the state to a new SQLite file."""

    def fold_journal(self) -> None:
        """Write the journal into the file, where there is one."""

    def lease(self, job: str, name: str = ...) -> AbstractContextManager[None]:
        """Hold the job lease of the collection, or raise ``CollectionBusy`` within a second.

        ``name`` is that of another lease (``jobs.ENGINE_FILE``).
        """

    def running_job(self) -> str | None:
        """Describe the job that holds the lease now."""

    def watch(self, changed: Callable[[], object]) -> Watch | None:
        """Call ``changed`` soon after every change; return None if the caller has to poll."""

    def drop(self) -> None:
        """Delete what is stored outside the collection's folder."""

    def close(self) -> None:
        """Close every connection."""


def try_execute(c: Transaction, sql: str, parameters: Sequence[Any]) -> bool:
    """Execute a statement and return whether the constraints allowed it."""
    c.execute("SAVEPOINT tried")
    # The checksums are computed outside of SQLite, so a savepoint would not roll them back.
    followed = isinstance(c, sqlite3.Connection)
    if followed:
        c.execute(f"SELECT {KEEP_SUMS}()")
    try:
        c.execute(sql, parameters)
    except (sqlite3.IntegrityError, RowRefused):
        c.execute("ROLLBACK TO SAVEPOINT tried")
        if followed:
            c.execute(f"SELECT {RESTORE_SUMS}()")
        return False
    finally:
        c.execute("RELEASE SAVEPOINT tried")
    return True


def read_json(text: Any, what: str) -> Any:
    """Parse the JSON of a column."""
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise DamagedCollection(f"{what} in the catalog: no JSON; run verify") from error


def marks(values: Sequence[Any]) -> str:
    """Return the question marks for these parameters."""
    return ", ".join("?" * len(values))


def parts(values: Sequence[Any], size: int = 500) -> Iterator[Sequence[Any]]:
    """Cut a sequence into parts."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
