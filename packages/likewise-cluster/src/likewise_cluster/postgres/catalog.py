"""A catalog in PostgreSQL, shared by several servers.

There is one writer at a time: a transaction begins with an advisory lock of the database, so it
sees all earlier writes, and lines of the log are numbered without gaps.  Related reads run in one
snapshot (REPEATABLE READ).  A job's lease is an advisory lock on a separate connection: it ends
with the process, and a job whose connection is lost stops writing.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from likewise.catalog import jobs, sums
from likewise.catalog.schema import MIGRATIONS, tables
from likewise.catalog.word_index import FIELDS, refresh_written
from likewise.errors import (
    CatalogAway,
    CatalogRefused,
    CollectionBusy,
    CollectionError,
    DamagedCollection,
    LikewiseError,
    ReadOnlyCollection,
)
from likewise_cluster.postgres import functions, words
from likewise_cluster.postgres.addresses import Address
from likewise_cluster.postgres.connections import (
    PATIENCE,
    Answer,
    Connection,
    Connections,
    open_connection,
)
from likewise_cluster.postgres.dialect import translate_migration
from likewise_cluster.postgres.programs import check_programs
from likewise_cluster.postgres.watch import ChangeListener

_LEASE_PATIENCE = 0.5
_STATE = "SELECT version, state, collection, token FROM catalog_state"


class State(NamedTuple):
    """The version and state of a catalog."""

    version: int
    state: str
    collection: str
    token: str


class PostgresCatalog:
    """A catalog in one schema of a database."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = str(address)
        self.connections = Connections(address)
        self.read_only = False
        self._local = threading.local()
        self._writing = threading.Lock()
        self._leases: list[Connection] = []
        self._watches: list[ChangeListener] = []

    def open(self, collection: str) -> None:
        """Check that this is the catalog of a collection, and migrate it to this version."""
        try:
            state = self.state()
            if state is None:
                raise CatalogRefused(f"{self.name} holds no catalog of a collection")
            if state.collection != collection:
                raise CatalogRefused(
                    f"{self.name} holds the catalog of another collection; name the one that this "
                    "folder belongs to"
                )
            with self.connections.borrow() as connection:
                asked = "SELECT pg_is_in_recovery(), has_table_privilege('log', 'INSERT')"
                ((standby, may_write),) = connection.run(asked)
            self.read_only = standby or not may_write
            self._migrate(state.version)
            with self.connections.borrow() as connection:
                check_programs(connection, MIGRATIONS, self.name)
        except BaseException:
            self.close()
            raise

    def state(self) -> State | None:
        """Return the state of the catalog; None if there is none."""
        with self.connections.borrow() as connection:
            return read_state(connection)

    def close(self) -> None:
        for watching in self._watches:
            watching.close()
        self.connections.close()

    # -- reading ----------------------------------------------------------------------------

    @property
    def _held(self) -> Connection | None:
        """The connection of the transaction that this thread is in."""
        return getattr(self._local, "connection", None)

    @property
    def connection(self) -> PostgresCatalog:
        """The catalog itself: a statement outside a transaction takes a pooled connection."""
        return self

    def execute(self, sql: str, parameters: Any = (), /) -> Answer:
        held = self._held
        if held is not None:
            return held.execute(sql, parameters)
        try:
            with self.connections.borrow() as connection:
                return connection.execute(sql, parameters)
        except CatalogAway:
            # The database may have restarted: a read can be repeated.
            self.connections.forget_idle()
            with self.connections.borrow() as connection:
                return connection.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Answer:
        held = self._held
        assert held is not None, "rows are written inside of a transaction"
        return held.executemany(sql, parameters)

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self.execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        row = self.execute(sql, parameters).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Do nothing: every statement translates its errors."""
        yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads inside see the same state."""
        with self._in_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            try:
                yield
            finally:
                connection.roll_back()

    @contextmanager
    def _in_transaction(self, begin: str) -> Iterator[Connection]:
        """Give this thread a connection in a transaction, which the caller ends."""
        assert self._held is None, "a transaction inside of another"
        for attempt in range(2):
            with self.connections.borrow() as connection:
                try:
                    connection.run(begin)
                except CatalogAway:
                    # The transaction did not begin: try once more on a new connection.
                    self.connections.forget_idle()
                    if attempt:
                        raise
                    continue
                except BaseException:
                    connection.roll_back()
                    raise
                self._local.connection = connection
                try:
                    yield connection
                finally:
                    self._local.connection = None
                return

    def find_words(
        self, field: str, words_: Sequence[str], beginnings: bool, most: int
    ) -> list[int]:
        """Return pictures that have one of the words in a field, by id."""
        assert field in FIELDS
        text = words.question(field, words_, beginnings)
        if text is None:
            return []
        rows = self.all(
            "SELECT rowid FROM written WHERE words @@ CAST(? AS tsquery) ORDER BY rowid LIMIT ?",
            (text, most),
        )
        return [row[0] for row in rows]

    # -- writing ----------------------------------------------------------------------------

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Connection]:
        """Run one transaction; nothing of it remains after an error.

        A commit is on the database's disk when this returns, ``durable`` or not.
        """
        if self.read_only:
            raise ReadOnlyCollection(f"{self.name} is read-only: it can be searched, not changed")
        self._check_leases()
        with self._turn(), self._in_transaction(self._begin_writing()) as connection:
            try:
                self._check_state(connection)
                yield connection
                refresh_written(connection, words.put_documents)
                connection.run("SELECT end_change()")
            except BaseException:
                connection.roll_back()
                raise
            self._commit(connection)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # Threads of this process queue here, so that waiting threads hold no connection.
        if not self._writing.acquire(timeout=PATIENCE):
            raise CollectionBusy(f"{self.name} was being written for {PATIENCE} s; try again")
        try:
            yield
        finally:
            self._writing.release()

    def _begin_writing(self) -> str:
        return f"BEGIN; SELECT pg_advisory_xact_lock({key_of(self.address, 'write')})"

    def _check_state(self, connection: Connection) -> None:
        rows = connection.run(_STATE)
        found = State(*rows[0]) if rows else None
        if found is None or found.state == functions.MOVED_OUT:
            raise CollectionError(
                f"the catalog {self.name} was moved meanwhile; start Likewise again"
            )
        if found.version != len(MIGRATIONS):
            raise CollectionError(
                f"{self.name} was brought to schema {found.version} meanwhile; start Likewise again"
            )

    def _commit(self, connection: Connection) -> None:
        try:
            connection.commit()
        except CatalogAway as error:
            raise CatalogAway(
                f"the connection to {self.name} was lost while a change was being written; check "
                "whether it was made before you repeat it"
            ) from error

    def _migrate(self, version: int) -> None:
        if version > len(MIGRATIONS):
            raise CollectionError(
                f"{self.name} has schema {version}; this Likewise knows {len(MIGRATIONS)}. "
                "Use a newer Likewise"
            )
        if version == len(MIGRATIONS):
            return
        if self.read_only:
            raise ReadOnlyCollection(
                f"{self.name} is of an earlier Likewise and read-only; open it once as a user who "
                "may change it"
            )
        with self._in_transaction(self._begin_writing()) as connection:
            try:
                state = read_state(connection)
                assert state is not None
                for number in range(state.version, len(MIGRATIONS)):
                    for statement in translate_migration(MIGRATIONS[number]):
                        connection.run(statement)
                names = [table.name for table in tables()]
                for name in names:
                    connection.run(functions.follow(name))
                connection.run(functions.seal(names))
                connection.execute("UPDATE catalog_state SET version = ?", (len(MIGRATIONS),))
            except BaseException as error:
                connection.roll_back()
                if not isinstance(error, Exception) or isinstance(error, LikewiseError):
                    raise
                raise DamagedCollection(
                    f"{self.name} says that its schema is {version}, and cannot be brought to "
                    f"{len(MIGRATIONS)}: {error}; restore a backup"
                ) from error
            self._commit(connection)

    # -- checks and copies --------------------------------------------------------------------

    def integrity(self) -> list[str]:
        """Return what the checksums find wrong; PostgreSQL itself checks references."""
        with self.snapshot():
            held = {
                row[0]: (row[1], row[2])
                for row in self.all("SELECT name, digest, n_rows FROM sums ORDER BY name")
            }
            wrong = []
            for table in tables():
                due = tuple(self.all(functions.compare(table.name))[0])
                if due != held.pop(table.name, None):
                    wrong.append(f"table {table.name} is not what was written")
            wrong += [f"there is a sum of table {name}, which is not there" for name in held]
            return [*wrong, *sums.broken_lines(self)]

    def check_index_of_words(self) -> list[str]:
        """Check that the full-text index matches its documents."""
        wrong, last = [], 0
        while rows := self.all(
            f"SELECT rowid, words::text, {', '.join(FIELDS)} FROM written WHERE rowid > ? "
            "ORDER BY rowid LIMIT 500",
            (last,),
        ):
            due = self.all(
                "SELECT CAST(made AS tsvector)::text FROM unnest(?::text[]) WITH ORDINALITY "
                "AS one (made, place) ORDER BY place",
                ([words.document(tuple(row)[2:]) for row in rows],),
            )
            wrong += [
                f"the words of picture {row[0]} are not those of its document"
                for row, (made,) in zip(rows, due, strict=True)
                if row[1] != made
            ]
            last = rows[-1][0]
        return wrong

    def backup_to(self, path: Path) -> None:
        """Write the state now as a SQLite catalog in one new file."""
        from likewise_cluster.postgres.copies import write_sqlite

        with self.snapshot():
            held = self._held
            assert held is not None
            write_sqlite(held, path)

    def drop(self) -> None:
        """Delete the catalog."""
        with self._turn(), self._in_transaction(self._begin_writing()) as connection:
            try:
                connection.run(f'DROP SCHEMA "{self.address.schema}" CASCADE')
            except BaseException:
                connection.roll_back()
                raise
            self._commit(connection)

    def fold_journal(self) -> None:
        """Do nothing: there is no journal file."""

    # -- the lease, and notifications of changes ------------------------------------------------

    @contextmanager
    def lease(self, job: str, name: str = jobs.FILE) -> Iterator[None]:
        """Hold the one lease of the collection, on every machine that uses it."""
        if self.read_only:
            raise ReadOnlyCollection(f"{self.name} is read-only: it can be searched, not changed")
        said = f"{job} in {os.getpid()} on {socket.gethostname()[:20]} since {_clock()}"
        connection = open_connection(self.address, f"likewise {said}")
        try:
            deadline = time.monotonic() + _LEASE_PATIENCE
            key = key_of(self.address, "lease" if name == jobs.FILE else name)
            while not connection.run(f"SELECT pg_try_advisory_lock({key})")[0][0]:
                if time.monotonic() > deadline:
                    holder = (name == jobs.FILE and self.running_job()) or "another job runs"
                    raise CollectionBusy(
                        f"{self.name} is busy: {holder}; wait for it, or stop it and try again"
                    )
                time.sleep(_LEASE_PATIENCE / 20)
            self._leases.append(connection)
            try:
                yield
            finally:
                self._leases.remove(connection)
                # Unlock now: the database notices a closed connection only later.
                with suppress(CatalogAway):
                    connection.run(f"SELECT pg_advisory_unlock({key})")
        finally:
            connection.close()

    def _check_leases(self) -> None:
        """Stop a job whose lease was lost with its connection, as another may run by now."""
        for connection in self._leases:
            try:
                connection.run("SELECT 1")
            except CatalogAway as error:
                raise CatalogAway(
                    f"the connection to {self.name} that held the lease of this job was lost; "
                    "start it again"
                ) from error

    def running_job(self) -> str | None:
        """Describe the job that holds the lease; None if there is none."""
        rows = self.all(
            """SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
               WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
               AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
               AND (l.classid::bigint << 32) | l.objid::bigint = ?""",
            (key_of(self.address, "lease"),),
        )
        if not rows:
            return None
        said = str(rows[0][0] or "").removeprefix("likewise ")
        job, found, rest = said.partition(" in ")
        return f"{job} runs in process {rest}" if found else "another job runs"

    def watch(self, changed: Callable[[], object]) -> ChangeListener:
        """Call ``changed`` soon after every change by any server."""
        watching = ChangeListener(self.address, changed)
        self._watches.append(watching)
        return watching


def read_state(connection: Connection) -> State | None:
    """Return the state of a catalog; None if there is none."""
    ((there,),) = connection.run("SELECT to_regclass('catalog_state') IS NOT NULL")
    if not there:
        return None
    rows = connection.run(_STATE)
    return State(*rows[0]) if rows else None


def key_of(address: Address, purpose: str) -> int:
    """Return the number of an advisory lock of this catalog."""
    mark = hashlib.blake2b(f"likewise {address.schema} {purpose}".encode(), digest_size=8)
    return int.from_bytes(mark.digest(), "big", signed=True)


def _clock() -> str:
    return time.strftime("%H:%M:%S")
