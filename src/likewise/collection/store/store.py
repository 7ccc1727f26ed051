"""The store: a directory and its catalog, SQLite in WAL mode, the source of truth.

Everything else on disk (segments, vocabularies) is an immutable file that exists for the
collection only once a row here names it.  A change is one transaction, so a crash leaves the old
state or the new one.  ``revision`` grows with every change a reader must notice.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.collection.errors import (
    CollectionBusy,
    CollectionError,
    DamagedCollection,
    ReadOnlyCollection,
)
from likewise.collection.store import filters, sums
from likewise.collection.store.connections import connect, is_writable, retell
from likewise.collection.store.mark_filters import HIDDEN_OUT, MARK_FILTERS, mark_condition
from likewise.collection.store.moments import moment_condition
from likewise.collection.store.names import check_names, plain_name
from likewise.collection.store.row_formats import FORMATS, RowFormat
from likewise.collection.store.schema import MIGRATIONS
from likewise.collection.store.schema_check import check_schema
from likewise.collection.store.written_index import refresh_written

FILE = "catalog.sqlite"
BUSY_SECONDS = 30.0
TRANSIENT = "for now: "
"""How a problem begins that is not the picture's own fault: it is tried again every time."""
REMOVED = "was removed from the collection"
"""What a file's row says when its picture was taken out: known, and not to be added again."""
SPACES_DROPPED = "spaces_dropped"
"""The setting that counts spaces that were dropped."""


@dataclass(frozen=True)
class ImageRow:
    """One picture of the collection; ``path`` is one of the files that hold it.

    ``date`` is the moment it was taken, in local time; ``date_source`` says what tells it:
    ``exif``, the file's ``name``, or the time of the ``file``.
    """

    id: int
    path: str
    format: str
    width: int
    height: int
    date: str | None
    n_bytes: int
    metadata: Mapping[str, Any]
    date_source: str | None = None


@dataclass(frozen=True)
class FileRow:
    path: str
    size: int
    mtime_ns: int
    image: int | None
    problem: str | None


@dataclass(frozen=True)
class SpaceRow:
    """The record of a space and its live generation.

    ``width`` is 0 and ``files`` empty before the first generation.  What the space can do is said
    by a ``Space``, which the registry makes of this record.
    """

    name: str
    row_format_name: str
    recipe: Mapping[str, Any]
    generation: int
    width: int
    n_pictures: int
    files: Mapping[str, str]

    @property
    def row_format(self) -> RowFormat:
        """How its rows are stored and compared."""
        return FORMATS[self.row_format_name]


@dataclass(frozen=True)
class SegmentRow:
    name: str
    space: str
    generation: int
    n_pictures: int
    n_bytes: int


class AllBut:
    """Every id but some."""

    def __init__(self, out: set[int]) -> None:
        self.out = out

    def __contains__(self, id_: object) -> bool:
        return id_ not in self.out


Transaction = sqlite3.Connection
"""What :meth:`Store.write` gives: writes inside it are whole or not at all."""


class Store:
    """The directory of a collection and its database.  Connections are made per thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path.parent
        self.read_only = path.exists() and not is_writable(path)
        self.actor = "a program"
        """Who acts, as the list of actions names them."""
        self._local = threading.local()
        self._open: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._lock = threading.Lock()

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, Any]) -> Store:
        """A new, empty catalog."""
        # What people keep in a collection is theirs: names of pictures, small copies of them, what
        # they said.  The journal gets the rights of the file.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        store = cls(path)
        try:
            connection = store._connect()
            connection.execute("PRAGMA journal_mode = WAL")
            store._migrate(connection)
        except sqlite3.Error as error:
            raise retell(error, path) from error
        with store.write() as c:
            c.executemany(
                "INSERT INTO settings VALUES (?, ?)",
                [(key, json.dumps(value)) for key, value in settings.items()],
            )
        return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """An existing catalog, brought up to this version's schema."""
        if not path.is_file():
            raise CollectionError(f"{path.parent} is not a collection (it has no {FILE})")
        store = cls(path)
        try:
            connection = store._connect()
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                raise DamagedCollection(f"{path} is empty; restore it from a backup")
            store._migrate(connection)
            check_schema(connection, MIGRATIONS, str(path))
            if store.one("SELECT 1 FROM written_stale LIMIT 1") is not None:
                with store.write():
                    pass  # an index that a migration left empty is filled by any transaction
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            store.close()
            told = retell(error, path)
            if isinstance(told, CollectionError):
                raise told from error
            raise DamagedCollection(f"{path} cannot be read as a catalog: {error}") from error
        except BaseException:
            store.close()
            raise
        return store

    def fold_journal(self) -> None:
        """Bring everything from the write-ahead log into the file itself."""
        try:
            self._connect().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise retell(error, self.path) from error

    def close(self) -> None:
        with self._lock:
            for _, connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def _connect(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is not None:
            # A file that cannot be locked is read as one that never changes; where it did, anew.
            if self._local.fixed is None or self._local.fixed == _state_of(self.path):
                return found
            if found.in_transaction:
                return found
        connection, fixed = connect(self.path, BUSY_SECONDS, read_only=self.read_only)
        self._local.connection, self._local.ledger = connection, None
        self._local.fixed = _state_of(self.path) if fixed else None
        with self._lock:
            # A server's threads come and go; their connections would stay open for ever.
            for thread, left in self._open:
                if not thread.is_alive():
                    left.close()
            self._open = [pair for pair in self._open if pair[0].is_alive()]
            self._open.append((threading.current_thread(), connection))
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
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
                # Another process may have been first, while this one waited for its turn.
                if connection.execute("PRAGMA user_version").fetchone()[0] <= number:
                    if "fts5" in str(error):
                        raise CollectionError(
                            f"SQLite {sqlite3.sqlite_version} of this Python was built without "
                            "FTS5, which the index of words needs; use another Python"
                        ) from error
                    raise

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Transaction]:
        """One transaction that readers notice; nothing of it remains after an error.

        In WAL mode a commit survives the death of the process; ``durable`` makes it survive a
        power cut too.
        """
        if self.read_only:
            raise ReadOnlyCollection(f"{self.root} is read-only: it can be searched, not changed")
        connection = self._connect()
        if durable:
            connection.execute("PRAGMA synchronous = FULL")
        try:
            ledger = self._begin(connection)
            try:
                yield connection
                refresh_written(connection)
                connection.execute("UPDATE revision SET number = number + 1")
                ledger.write()
                connection.execute("COMMIT")
            except BaseException as error:
                # On a full disk SQLite has rolled back already; the first error is the one to see.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                ledger.forget()
                if isinstance(error, sqlite3.Error):
                    told = retell(error, self.path)
                    if told is not error:
                        raise told from error
                raise
        finally:
            if durable:
                with suppress(sqlite3.Error):
                    connection.execute("PRAGMA synchronous = NORMAL")

    def _begin(self, connection: sqlite3.Connection) -> sums.Ledger:
        try:
            ledger: sums.Ledger | None = self._local.ledger
            if ledger is None:
                # Outside the transaction, which would take its triggers away when it fails.
                ledger = self._local.ledger = sums.Ledger(connection)
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if "locked" not in str(error):
                raise retell(error, self.path) from error
            raise CollectionBusy(
                f"{self.path.parent} was being written for {BUSY_SECONDS:.0f} s; try again"
            ) from error
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != len(MIGRATIONS):
                # Rows written by older rules would be rows without their sums.
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
        """Reads inside see one and the same state."""
        connection = self._connect()
        connection.execute("BEGIN")
        try:
            self.one("SELECT number FROM revision")
            yield
        finally:
            # Nothing was written.  An error of the disk may have ended it: that is the one to see.
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What SQLite finds wrong inside is told in the words of a collection."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise retell(error, self.path) from error

    @property
    def connection(self) -> Transaction:
        """This thread's connection, for reads of several tables."""
        return self._connect()

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        try:
            return self._connect().execute(sql, parameters).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise retell(error, self.path) from error

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        try:
            row = self._connect().execute(sql, parameters).fetchone()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise retell(error, self.path) from error
        return None if row is None else row[0]

    # -- what readers ask -------------------------------------------------------------------

    @property
    def revision(self) -> int:
        found = self.one("SELECT number FROM revision")
        if not isinstance(found, int):
            raise DamagedCollection(f"the revision of {self.path} is gone; restore a backup")
        return found

    def setting(self, key: str, default: Any = None) -> Any:
        text = self.one("SELECT value FROM settings WHERE key = ?", (key,))
        return default if text is None else read_json(text, f"the setting {key}")

    def n_images(self) -> int:
        return int(self.one("SELECT count(*) FROM images"))

    def image(self, id_: int) -> ImageRow | None:
        rows = self.images([id_])
        return rows.get(id_)

    def images(self, ids: Iterable[int]) -> dict[int, ImageRow]:
        """The named pictures, each with the first of its files."""
        found: dict[int, ImageRow] = {}
        for part in parts(list(ids)):
            rows = self.all(
                f"""SELECT i.*, min(f.path) AS path, m.moment, m.source FROM images i
                    LEFT JOIN files f ON f.image = i.id LEFT JOIN moments m ON m.image = i.id
                    WHERE i.id IN ({marks(part)}) GROUP BY i.id""",
                part,
            )
            found |= {row["id"]: _image(row) for row in rows}
        return found

    def paths(self, ids: Iterable[int]) -> dict[int, str]:
        """Where the named pictures lie: the first of their files; no file, an empty path."""
        found: dict[int, str] = {}
        for part in parts(list(ids)):
            rows = self.all(
                f"""SELECT i.id, min(f.path) FROM images i LEFT JOIN files f ON f.image = i.id
                    WHERE i.id IN ({marks(part)}) GROUP BY i.id""",
                part,
            )
            found |= {row[0]: row[1] or "" for row in rows}
        return found

    def present(self, ids: Iterable[int]) -> set[int]:
        """Those of the ids that are pictures of the collection."""
        found: set[int] = set()
        for part in parts(list(ids)):
            rows = self.all(f"SELECT id FROM images WHERE id IN ({marks(part)})", part)
            found |= {row[0] for row in rows}
        return found

    def ids(self) -> set[int]:
        """The ids of all pictures."""
        return {row[0] for row in self.all("SELECT id FROM images")}

    def every_image(self) -> Iterator[ImageRow]:
        last = 0
        while True:
            rows = self.all(
                """SELECT i.*, min(f.path) AS path, m.moment, m.source FROM images i
                   LEFT JOIN files f ON f.image = i.id LEFT JOIN moments m ON m.image = i.id
                   WHERE i.id > ? GROUP BY i.id ORDER BY i.id LIMIT 1000""",
                (last,),
            )
            if not rows:
                return
            yield from map(_image, rows)
            last = rows[-1]["id"]

    def image_of_hash(self, digest: bytes) -> int | None:
        found = self.one("SELECT id FROM images WHERE hash = ?", (digest,))
        return None if found is None else int(found)

    def highest_id(self) -> int:
        """The highest id in use; 0 in an empty collection."""
        return int(self.one("SELECT max(id) FROM images") or 0)

    def hash_of(self, id_: int) -> bytes | None:
        """What names the content of a picture."""
        found = self.one("SELECT hash FROM images WHERE id = ?", (id_,))
        return None if found is None else bytes(found)

    def has_size(self, n_bytes: int) -> bool:
        return self.one("SELECT 1 FROM images WHERE n_bytes = ? LIMIT 1", (n_bytes,)) is not None

    def file(self, path: str) -> FileRow | None:
        rows = self.all("SELECT * FROM files WHERE path = ?", (path,))
        return _file(rows[0]) if rows else None

    def files_of(self, id_: int) -> list[str]:
        return [r[0] for r in self.all("SELECT path FROM files WHERE image = ? ORDER BY 1", (id_,))]

    def copies(self) -> dict[int, list[str]]:
        """Pictures that several files hold, with their paths."""
        rows = self.all(
            """SELECT image, path FROM files WHERE image IN
               (SELECT image FROM files WHERE image IS NOT NULL GROUP BY image
                HAVING count(*) > 1) ORDER BY path"""
        )
        found: dict[int, list[str]] = {}
        for row in rows:
            found.setdefault(row[0], []).append(row[1])
        return found

    def known_files(self) -> dict[str, tuple[int, int]]:
        rows = self.all("SELECT path, size, mtime_ns FROM files")
        return {row["path"]: (row["size"], row["mtime_ns"]) for row in rows}

    def problems(self) -> list[FileRow]:
        rows = self.all(
            "SELECT * FROM files WHERE problem IS NOT NULL AND problem <> ? ORDER BY path",
            (REMOVED,),
        )
        return [_file(row) for row in rows]

    def transient_problems(self) -> set[str]:
        """Paths whose problem was not the picture's own fault."""
        rows = self.all("SELECT path FROM files WHERE problem LIKE ?", (f"{TRANSIENT}%",))
        return {row[0] for row in rows}

    def images_without(self, space: str, generation: int) -> set[int]:
        """Pictures that have no fresh row in a space."""
        rows = self.all(
            """SELECT id FROM images EXCEPT
               SELECT image FROM vectors WHERE space = ? AND generation = ?""",
            (space, generation),
        )
        return {row[0] for row in rows}

    def gaps(self, space: str, generation: int) -> set[int]:
        """Pictures that a space could not describe."""
        rows = self.all(
            "SELECT image FROM gaps WHERE space = ? AND generation = ?", (space, generation)
        )
        return {row[0] for row in rows}

    def removed_files(self) -> set[str]:
        """Paths of pictures that were taken out on purpose."""
        return {row[0] for row in self.all("SELECT path FROM files WHERE problem = ?", (REMOVED,))}

    def roots(self) -> list[str]:
        return [row[0] for row in self.all("SELECT path FROM roots ORDER BY 1")]

    def matching(self, where: Mapping[str, Any]) -> set[int]:
        """Ids of the pictures that satisfy every condition of a ``where``."""
        clauses, parameters = self.conditions(where)
        kept = " AND ".join(clauses) or "1"
        rows = self.all(f"SELECT i.id FROM images i WHERE {kept}", parameters)
        return {row[0] for row in rows}

    def allowed(self, where: Mapping[str, Any] | None) -> Container[int] | None:
        """Pictures that an answer may show: those of a ``where``, without hidden ones; None: all.

        Where nothing is asked for, the few that are hidden are named, not the many that are not.
        """
        if where:
            return self.matching(where)
        hidden = self.hidden()
        return AllBut(hidden) if hidden else None

    def hidden(self) -> set[int]:
        """Ids of the pictures that a person hid."""
        rows = self.all(
            "SELECT i.id FROM picture_marks m JOIN images i ON i.hash = m.hash WHERE m.hidden = 1"
        )
        return {row[0] for row in rows}

    def conditions(self, where: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
        """A ``where`` as SQL over images i: clauses, and the values for their marks."""
        clauses: list[str] = []
        parameters: list[Any] = []
        if "hidden" not in where:
            clauses.append(HIDDEN_OUT)
        for key, value in where.items():
            if key in MARK_FILTERS:
                clause, values = mark_condition(key, value)
                clauses.append(clause)
                parameters += values
            elif key == "folder":
                clause, values = filters.folder_condition(self, str(value))
                clauses.append(clause)
                parameters += values
            elif key in ("after", "before"):
                clause, values = moment_condition(key, value)
                clauses.append(clause)
                parameters += values
            elif key == "tag":
                for tag in [value] if isinstance(value, str) else value:
                    clauses.append("i.id IN (SELECT image FROM tags WHERE tag = ?)")
                    parameters.append(tag)
            elif key == "tagged":
                # Suggestions nobody confirmed are no tags yet.
                has = "i.id IN (SELECT image FROM tags WHERE source <> 'suggested')"
                clauses.append(has if value else f"NOT {has}")
            elif key == "format":
                clause, values = filters.format_condition(str(value))
                clauses.append(clause)
                parameters += values
            elif key == "camera":
                clause, values = filters.camera_condition(str(value))
                clauses.append(clause)
                parameters += values
            else:
                clause, values = filters.metadata_condition(self, key, value)
                clauses.append(clause)
                parameters += values
        return clauses, parameters

    def spaces(self) -> dict[str, SpaceRow]:
        rows = self.all(
            """SELECT s.name, s.kind, s.recipe, s.generation,
                      coalesce(g.width, 0) AS width, coalesce(g.n_pictures, 0) AS n_pictures,
                      coalesce(g.files, '{}') AS files
               FROM spaces s LEFT JOIN generations g
               ON g.space = s.name AND g.number = s.generation ORDER BY s.name"""
        )
        return {
            row["name"]: SpaceRow(
                row["name"], row["kind"], read_json(row["recipe"], "a recipe"), row["generation"],
                row["width"], row["n_pictures"], check_names(read_json(row["files"], "files")),
            )
            for row in rows
        }  # fmt: skip

    def segments(self, space: str, generation: int) -> list[SegmentRow]:
        rows = self.all(
            "SELECT * FROM segments WHERE space = ? AND generation = ? ORDER BY name",
            (space, generation),
        )
        return [_segment(row) for row in rows]

    def every_segment(self) -> list[SegmentRow]:
        return [_segment(row) for row in self.all("SELECT * FROM segments ORDER BY name")]

    def named_files(self) -> set[str]:
        """Every file below the collection's folder that the catalog vouches for."""
        names = {row.name for row in self.every_segment()}
        names |= {plain_name(row[0]) for row in self.all("SELECT name FROM compacted")}
        for row in self.all("SELECT files FROM generations UNION ALL SELECT files FROM models"):
            files = check_names(read_json(row[0], "files"))
            names |= {name for name in files.values() if "/" in name}
        return names

    def vectors(
        self, space: str, generation: int, after: int = 0, limit: int = -1
    ) -> list[tuple[int, int, bytes]]:
        """(number, image, vector) of the fresh rows behind number ``after``."""
        rows = self.all(
            """SELECT number, image, vector, sum FROM vectors
               WHERE space = ? AND generation = ? AND number > ? ORDER BY number LIMIT ?""",
            (space, generation, after, limit),
        )
        return [
            (number, image, sums.check_blob(vector, found, space, generation, image))
            for number, image, vector, found in rows
        ]

    def vectors_in_chunks(
        self, space: str, generation: int, size: int
    ) -> Iterator[list[tuple[int, int, bytes]]]:
        """The fresh rows, ``size`` at a time."""
        after = 0
        while chunk := self.vectors(space, generation, after, size):
            yield chunk
            after = chunk[-1][0]

    def n_vectors(self, space: str, generation: int) -> int:
        """Fresh rows of a space."""
        return int(
            self.one(
                "SELECT count(*) FROM vectors WHERE space = ? AND generation = ?",
                (space, generation),
            )
        )

    def vector(self, space: str, generation: int, image: int) -> bytes | None:
        rows = self.all(
            "SELECT vector, sum FROM vectors WHERE space = ? AND generation = ? AND image = ?",
            (space, generation, image),
        )
        if not rows:
            return None
        return sums.check_blob(rows[0][0], rows[0][1], space, generation, image)

    def tombstones(self, after: int = 0) -> list[tuple[int, int]]:
        """(number, image) of removed pictures whose vectors are still in segments."""
        rows = self.all(
            "SELECT number, image FROM tombstones WHERE number > ? ORDER BY number", (after,)
        )
        return [(row[0], row[1]) for row in rows]

    def tags_of(self, id_: int) -> list[tuple[str, str]]:
        rows = self.all("SELECT tag, source FROM tags WHERE image = ? ORDER BY tag", (id_,))
        return [(row[0], row[1]) for row in rows]

    def integrity(self) -> list[str]:
        """What SQLite itself and the checksums find wrong; empty when all is well."""
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
            return sums.compare(self._connect())
        except sqlite3.Error as error:
            return [f"the checksums cannot be compared: {error}"]

    def check_index_of_words(self) -> list[str]:
        """Whether the pages of the index of words say what its documents do."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            connection = self._connect()
            if self.read_only or connection.in_transaction:
                # The check is a write to SQLite, so that it needs a catalog that may be written.
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
        """A copy of the state now, in one file."""
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        target = sqlite3.connect(path)
        try:
            self._connect().backup(target)
            target.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            raise retell(error, path) from error
        finally:
            target.close()


def _image(row: sqlite3.Row) -> ImageRow:
    return ImageRow(
        row["id"], row["path"] or "", row["format"], row["width"], row["height"], row["moment"],
        row["n_bytes"], _metadata(row), row["source"],
    )  # fmt: skip


def _metadata(row: sqlite3.Row) -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_json(row["metadata"], f"metadata of picture {row['id']}")
    return found


def _segment(row: sqlite3.Row) -> SegmentRow:
    plain_name(row["name"])
    return SegmentRow(**dict(row))


def read_json(text: Any, what: str) -> Any:
    """What a column of the catalog says."""
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise DamagedCollection(f"{what} in the catalog: no JSON; run verify") from error


def _state_of(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _file(row: sqlite3.Row) -> FileRow:
    return FileRow(row["path"], row["size"], row["mtime_ns"], row["image"], row["problem"])


def marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def parts(values: Sequence[Any], size: int = 500) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
