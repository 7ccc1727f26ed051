"""What a store asks of the database that holds its catalog: SQLite here, PostgreSQL beside others.

All SQL of the house is written once, in what both understand; the few words in which they differ
are SQLite's, and PostgreSQL's side translates them (``postgres/dialect.py``).  A catalog gives rows
that answer by name and by place, transactions that are whole or not at all, and snapshots in which
every read sees one state.
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
    """A row of an answer: by the place or the name of a column."""

    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def keys(self) -> list[str]: ...


class Rows(Protocol):
    """The answer to a statement."""

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
    """What :meth:`Store.write` gives: writes inside it are whole or not at all."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows: ...
    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Rows: ...


class Watch(Protocol):
    """Somebody who is told of changes until it is closed."""

    def close(self) -> None: ...


class Catalog(Protocol):
    """A catalog in one database."""

    name: str
    """How messages call it; no password is in it."""
    read_only: bool

    @property
    def connection(self) -> Transaction:
        """For reads of several tables."""

    def write(self, *, durable: bool = False) -> AbstractContextManager[Transaction]:
        """One transaction that readers notice."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Reads inside, in this thread, see one and the same state."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """What the database finds wrong inside is told in the words of a collection."""

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows of an answer."""

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The first value of the first row; None where there is none."""

    def find_words(
        self, field: str, words: Sequence[str], beginnings: bool, most: int
    ) -> list[int]:
        """Pictures that have one of the words in a field of the index of words, by id."""

    def integrity(self) -> list[str]:
        """What the database itself and the checksums find wrong."""

    def check_index_of_words(self) -> list[str]:
        """Whether the index of words says what its documents do."""

    def backup_to(self, path: Path) -> None:
        """The state now as a catalog of SQLite, in one new file."""

    def fold_journal(self) -> None:
        """Bring everything into the file itself, where there is one."""

    def lease(self, job: str, name: str = ...) -> AbstractContextManager[None]:
        """Hold the one lease of the collection, or raise ``CollectionBusy`` within a second.

        ``name`` is that of another lease (``jobs.ENGINE_FILE``)."""

    def running_job(self) -> str | None:
        """The job that holds the lease now, in words."""

    def watch(self, changed: Callable[[], object]) -> Watch | None:
        """Call ``changed`` soon after every change, by whoever; None where one has to look."""

    def drop(self) -> None:
        """Delete what the collection's folder does not hold."""

    def close(self) -> None:
        """Let go of every connection."""


def try_execute(c: Transaction, sql: str, parameters: Sequence[Any]) -> bool:
    """Inside a transaction: a row that other rows may not allow; whether they did."""
    c.execute("SAVEPOINT tried")
    # Checksums of SQLite are added up outside of it, and know of no savepoint.
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
    """What a column of the catalog says."""
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise DamagedCollection(f"{what} in the catalog: no JSON; run verify") from error


def marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def parts(values: Sequence[Any], size: int = 500) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
