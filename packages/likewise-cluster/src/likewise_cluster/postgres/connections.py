"""Connections to PostgreSQL with the methods the store calls, and a pool of them.

A process keeps a few connections; each statement or transaction borrows one.  psycopg_pool cannot
replace the pool: it connects in the background, so that a wrong password or a stopped server is a
time-out without a reason after 30 s, where this one raises the refusal in a millisecond.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, ClassVar

from likewise.errors import (
    CatalogAway,
    CatalogRefused,
    CollectionBusy,
    CollectionError,
    DamagedCollection,
    DiskFull,
    InvalidInput,
    ReadOnlyCollection,
    RowRefused,
)
from likewise_cluster.postgres.addresses import Address
from likewise_cluster.postgres.dialect import translate, translate_insert

try:
    import psycopg
    from psycopg import pq
    from psycopg.abc import Buffer
    from psycopg.adapt import Dumper
    from psycopg.types.numeric import Int8Dumper
except ImportError as error:
    raise CatalogRefused(
        "a PostgreSQL catalog needs the package psycopg: pip install 'likewise-cluster[postgres]'"
    ) from error

OLDEST = 13
"""The oldest PostgreSQL that is known to do."""
PATIENCE = 30
"""Seconds to wait for another writer."""
_CONNECT_SECONDS = 10
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""Seconds of silence, seconds between probes, and probes until a connection is lost."""
_MOST = 16
"""Connections of one process; PostgreSQL allows a hundred by default, for all of them together."""
_NOT_IN_THE_CLEAR = "!password,!md5"
"""A folder may name any database: none gets a password in clear text."""
_KNOWS_REQUIREMENTS = 160_000


class _Truth(Dumper):
    """Converts booleans to 0 and 1, because SQLite has no booleans."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: bool) -> Buffer:
        return b"1" if obj else b"0"


class PgRow(tuple[Any, ...]):
    """A row with columns by number or name."""

    __slots__ = ()
    places: ClassVar[dict[str, int]] = {}

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.places[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return list(self.places)


@lru_cache(256)
def _kind_of_row(names: tuple[str, ...]) -> type[PgRow]:
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    return type("PgRow", (PgRow,), {"__slots__": (), "places": {n: places[n] for n in names}})


def _by_name(cursor: Any) -> Any:
    description = cursor.description
    return _kind_of_row(tuple(one.name for one in description)) if description else PgRow


class Answer:
    """The complete result of a statement."""

    def __init__(self, cursor: psycopg.Cursor[Any], numbered: bool) -> None:
        self.rowcount = cursor.rowcount
        self.description = [(one.name,) for one in cursor.description or ()]
        self._rows = cursor.fetchall() if cursor.description else []
        self.lastrowid: int | None = None
        if numbered:
            self.lastrowid = self._rows[0][0] if self._rows else None
            self._rows = []
        self._next = 0

    def fetchone(self) -> Any:
        if self._next >= len(self._rows):
            return None
        self._next += 1
        return self._rows[self._next - 1]

    def fetchall(self) -> list[Any]:
        rest, self._next = self._rows[self._next :], len(self._rows)
        return rest

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())


class Connection:
    """One connection; it translates the product's statements."""

    def __init__(self, raw: psycopg.Connection[Any], name: str) -> None:
        self.raw = raw
        self.name = name

    def execute(self, sql: str, parameters: Any = (), /) -> Answer:
        text, numbered = translate_insert(sql)
        given = parameters if isinstance(parameters, dict) else tuple(parameters)
        with translate_errors(self.name):
            cursor: psycopg.Cursor[Any] = self.raw.execute(text, given, binary=True)
            return Answer(cursor, numbered)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Answer:
        text = translate(sql)
        with translate_errors(self.name), self.raw.cursor() as cursor:
            cursor.executemany(text, [tuple(one) for one in parameters])
            return Answer(cursor, numbered=False)

    def run(self, script: str) -> list[Any]:
        """Run a script in PostgreSQL's dialect; return the rows of the last query."""
        with translate_errors(self.name):
            cursor: psycopg.Cursor[Any] = self.raw.execute(script)
            found: list[Any] = []
            while True:
                if cursor.description:
                    found = cursor.fetchall()
                if not cursor.nextset():
                    return found

    def commit(self) -> None:
        with translate_errors(self.name):
            if self.raw.execute("COMMIT").statusmessage != "COMMIT":
                raise CollectionError(f"a change of {self.name} was incomplete and was rolled back")

    def roll_back(self) -> None:
        """Roll back a transaction; a lost connection was rolled back by the server."""
        with suppress(psycopg.Error):
            self.raw.execute("ROLLBACK")

    @property
    def is_lost(self) -> bool:
        return self.raw.closed or self.raw.pgconn.status != pq.ConnStatus.OK

    @property
    def in_transaction(self) -> bool:
        return self.raw.info.transaction_status != pq.TransactionStatus.IDLE

    def close(self) -> None:
        with suppress(psycopg.Error):
            self.raw.close()


def open_connection(address: Address, purpose: str = "likewise") -> Connection:
    """Open a connection with the settings that our statements need."""
    settings = {
        "search_path": address.schema,
        "lock_timeout": f"{PATIENCE}s",
        "default_transaction_isolation": r"read\ committed",
        # A commit waits for the disk, whatever the server's setting.
        "synchronous_commit": "on",
        # Checksums are computed over rows as text.
        "bytea_output": "hex",
        "extra_float_digits": "1",
        # A machine that disappears must not hold a lock for hours.
        **{f"tcp_{key}": str(value) for key, value in _KEEPALIVES.items()},
    }
    options = " ".join(f"-c {key}={value}" for key, value in settings.items())
    more: dict[str, Any] = dict(_KEEPALIVES)
    if (
        pq.version() >= _KNOWS_REQUIREMENTS
        and "require_auth=" not in address.secret
        and "PGREQUIREAUTH" not in os.environ
    ):
        more["require_auth"] = _NOT_IN_THE_CLEAR
    try:
        raw: psycopg.Connection[Any] = psycopg.connect(
            address.secret,
            autocommit=True,
            options=f"{address.options} {options}".strip(),
            application_name=purpose[:63],
            client_encoding="UTF8",
            row_factory=_by_name,
            connect_timeout=_CONNECT_SECONDS,
            **more,
        )
    except psycopg.ProgrammingError as error:
        raise InvalidInput(f"{address} is no address of PostgreSQL: {_line_of(error)}") from None
    except psycopg.Error as error:
        # Without the cause, which may contain a password.
        raise _not_let_in(error, address) from None
    if raw.info.server_version < OLDEST * 10_000:
        version = raw.info.server_version // 10_000
        raw.close()
        raise CatalogRefused(f"{address} is PostgreSQL {version}; {OLDEST} or newer is needed")
    if raw.info.parameter_status("server_encoding") != "UTF8":
        raw.close()
        raise CatalogRefused(
            f"the database of {address} does not keep UTF-8; make another one: createdb -E UTF8"
        )
    raw.adapters.register_dumper(int, Int8Dumper)
    raw.adapters.register_dumper(bool, _Truth)
    return Connection(raw, str(address))


def _not_let_in(error: psycopg.Error, address: Address) -> CollectionError:
    said = _line_of(error)
    if "authentication method requirement" in said:
        return CatalogRefused(
            f"{address} asks for the password in a way that gives it away ({said}); have it use "
            "scram-sha-256, or say with PGREQUIREAUTH what it may ask for"
        )
    if "password" in said or "authentication" in said or error.sqlstate in ("28P01", "28000"):
        return CatalogRefused(
            f"{address} does not let us in ({said}); set PGPASSWORD or ~/.pgpass, and check the "
            "user's name"
        )
    if "does not exist" in said or error.sqlstate == "3D000":
        return CatalogRefused(f"{address}: {said}; make it first: createdb NAME, createuser NAME")
    return CatalogAway(
        f"{address} cannot be reached ({said}); see that the database runs and listens there"
    )


def _line_of(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).removeprefix("connection failed: ")


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Raise errors of PostgreSQL inside as errors of a collection."""
    try:
        yield
    except psycopg.Error as error:
        raise translate_error(error, name) from error


def translate_error(error: psycopg.Error, name: str) -> Exception:
    """Return an error of PostgreSQL as one of a collection; a bug of ours stays as it is."""
    errors, said = psycopg.errors, _line_of(error)
    if isinstance(error, errors.LockNotAvailable):
        return CollectionBusy(f"{name} was being written for {PATIENCE} s; try again")
    if isinstance(error, errors.DiskFull):
        return DiskFull(f"the disk of {name} is full; nothing was changed")
    if isinstance(error, errors.ReadOnlySqlTransaction | errors.InsufficientPrivilege):
        return ReadOnlyCollection(f"{name} may not be changed by this user: {said}")
    if isinstance(error, psycopg.IntegrityError):
        return RowRefused(f"{name} refuses a row: {said}")
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
        return DamagedCollection(f"{name} is damaged ({said}); restore a backup")
    if isinstance(error, errors.ProgramLimitExceeded):
        return InvalidInput(f"{name} does not take it: {said}")
    if isinstance(error, psycopg.DataError):
        return InvalidInput(f"{name} cannot keep a value: {said}")
    if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn | errors.UndefinedFunction):
        return DamagedCollection(f"{name} is no whole catalog ({said}); restore a backup")
    if isinstance(error, errors.FeatureNotSupported) and "cached plan" in said:
        return CollectionError(f"{name} was brought to another schema; start Likewise again")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return CatalogAway(f"the connection to {name} was lost ({said}); try again")
    return error


class Connections:
    """The connections of a process, opened when none is idle."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(_MOST)
        self._closed = False
        # For a collection that was not closed: psycopg would warn in a finalizer.
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """Yield a connection for a block."""
        if not self._places.acquire(timeout=PATIENCE):
            raise CollectionBusy(f"all connections to {self._address} are in use; try again")
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._places.release()

    def _take(self) -> Connection:
        with self._lock:
            if self._closed:
                raise CollectionError("the collection is closed")
            while self._idle:
                found = self._idle.pop()
                if not found.is_lost:
                    return found
                found.close()
        return open_connection(self._address)

    def _give_back(self, connection: Connection) -> None:
        if connection.is_lost or connection.in_transaction:
            connection.close()
            return
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def forget_idle(self) -> None:
        """Close idle connections after one was lost: the others are lost too."""
        with self._lock:
            _close_all(self._idle)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            _close_all(self._idle)


def _close_all(idle: list[Connection]) -> None:
    while idle:
        idle.pop().close()
