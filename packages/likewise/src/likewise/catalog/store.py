"""The store: the directory of a collection and its catalog, a database.

The catalog is the source of truth.  Segments and vocabularies are immutable files that belong to
the collection once a row of the catalog names them.  Every change is one transaction, so a crash
leaves the old state or the new one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.catalog import filters, jobs, sums
from likewise.catalog.content import check_names, plain_name
from likewise.catalog.database import Catalog, Row, marks, parts, read_json
from likewise.catalog.database import Transaction as Transaction
from likewise.catalog.key_table import acting_now
from likewise.catalog.segments import FORMATS, RowFormat
from likewise.catalog.sqlite_catalog import FILE as FILE
from likewise.catalog.sqlite_catalog import SQLiteCatalog
from likewise.errors import DamagedCollection

TRANSIENT = "for now: "
"""Start of a problem that is not the picture's own fault, so the file is tried again."""
REMOVED = "was removed from the collection"
"""The problem of a file whose picture was removed: it is known and not added again."""
SPACES_DROPPED = "spaces_dropped"
"""The setting that counts dropped spaces."""


@dataclass(frozen=True)
class ImageRow:
    """The record of one picture; ``path`` is one of its files.

    ``date`` is when it was taken, in local time; ``date_source`` is where that comes from:
    ``exif``, the ``name`` of the file, or the time of the ``file``.
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
    """The record of a file: the picture it holds, or why it holds none."""

    path: str
    size: int
    mtime_ns: int
    image: int | None
    problem: str | None


@dataclass(frozen=True)
class SpaceRow:
    """The record of a space and its live generation.

    ``width`` is 0 and ``files`` is empty before the first generation.  The registry makes a
    ``Space`` of this record.
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
    """The record of a segment file."""

    name: str
    space: str
    generation: int
    n_pictures: int
    n_bytes: int


class AllBut:
    """Every id except some."""

    def __init__(self, out: set[int]) -> None:
        self.out = out

    def __contains__(self, id_: object) -> bool:
        return id_ not in self.out


class Store:
    """The directory of a collection and its database.

    ``write``, ``snapshot`` and the other attributes set in the constructor are methods of the
    database; see :class:`~likewise.catalog.database.Catalog`.
    """

    def __init__(self, catalog: Catalog, root: Path) -> None:
        self.catalog = catalog
        self.root = root
        self._actor = "a program"
        self.write = catalog.write
        self.snapshot = catalog.snapshot
        self.translate_errors = catalog.translate_errors
        self.lease = catalog.lease
        self.running_job = catalog.running_job
        self.fold_journal = catalog.fold_journal
        self.integrity = catalog.integrity
        self.check_index_of_words = catalog.check_index_of_words
        self.backup_to = catalog.backup_to
        self.close = catalog.close

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, Any]) -> Store:
        """Make a new, empty catalog in an SQLite file."""
        return cls(SQLiteCatalog.create(path, settings), path.parent)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open the catalog in an SQLite file and bring it up to this version's schema."""
        return cls(SQLiteCatalog.open(path), path.parent)

    @property
    def actor(self) -> str:
        """The name under which changes are recorded: that of the named key in use, else the one
        that was set."""
        key = acting_now()
        return self._actor if key is None else key.name

    @actor.setter
    def actor(self, name: str) -> None:
        self._actor = name

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed."""
        return self.catalog.read_only

    @property
    def connection(self) -> Transaction:
        """A connection for reads of several tables."""
        return self.catalog.connection

    def engine_lease(self) -> AbstractContextManager[None]:
        """Hold the lease for sending rows to other engines, which does not exclude jobs."""
        return self.catalog.lease("engine sync", jobs.ENGINE_FILE)

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query."""
        return self.catalog.all(sql, parameters)

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the first value of the first row, None if there is none."""
        return self.catalog.one(sql, parameters)

    def each(self, sql: str, values: Iterable[Any], *before: Any) -> Iterator[Any]:
        """Yield the rows for any number of values, which replace ``{}`` in the query.

        Parameters in front of them come ``before``.
        """
        for part in parts(list(values)):
            yield from self.all(sql.format(marks(part)), (*before, *part))

    def column(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return the first value of every row."""
        return [row[0] for row in self.all(sql, parameters)]

    # -- settings and pictures -----------------------------------------------------------------

    @property
    def revision(self) -> int:
        """The number that grows with every change."""
        found = self.one("SELECT number FROM revision")
        if not isinstance(found, int):
            raise DamagedCollection(
                f"the revision of {self.catalog.name} is gone; restore a backup"
            )
        return found

    def setting(self, key: str, default: Any = None) -> Any:
        """Return a setting of the collection."""
        text = self.one("SELECT value FROM settings WHERE key = ?", (key,))
        return default if text is None else read_json(text, f"the setting {key}")

    def n_images(self) -> int:
        """Count the pictures."""
        return int(self.one("SELECT count(*) FROM images"))

    def image(self, id_: int) -> ImageRow | None:
        """Return the record of a picture."""
        return self.images([id_]).get(id_)

    def images(self, ids: Iterable[int]) -> dict[int, ImageRow]:
        """Return the records of pictures, each with the first of its files."""
        sql = """SELECT i.*, min(f.path) AS path, m.moment, m.source FROM images i
                 LEFT JOIN files f ON f.image = i.id LEFT JOIN moments m ON m.image = i.id
                 WHERE i.id IN ({}) GROUP BY i.id, m.image"""
        return {row["id"]: _image(row) for row in self.each(sql, ids)}

    def paths(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the first file of each picture; an empty path where there is none."""
        sql = """SELECT i.id, min(f.path) FROM images i LEFT JOIN files f ON f.image = i.id
                 WHERE i.id IN ({}) GROUP BY i.id"""
        return {row[0]: row[1] or "" for row in self.each(sql, ids)}

    def present(self, ids: Iterable[int]) -> set[int]:
        """Return those of the ids that are in the collection."""
        return {row[0] for row in self.each("SELECT id FROM images WHERE id IN ({})", ids)}

    def ids(self) -> set[int]:
        """Return the ids of all pictures."""
        return set(self.column("SELECT id FROM images"))

    def every_image(self) -> Iterator[ImageRow]:
        """Yield the records of all pictures, by id."""
        last = 0
        while True:
            rows = self.all(
                # Without GROUP BY, for which SQLite would sort all remaining rows for every
                # thousand.
                """SELECT i.*, (SELECT min(path) FROM files WHERE image = i.id) AS path,
                       m.moment, m.source
                   FROM images i LEFT JOIN moments m ON m.image = i.id
                   WHERE i.id > ? ORDER BY i.id LIMIT 1000""",
                (last,),
            )
            if not rows:
                return
            yield from map(_image, rows)
            last = rows[-1]["id"]

    def every_path(self) -> list[tuple[int, str]]:
        """Return (id, first path) of all pictures that have a file, by id."""
        rows = self.all(
            """SELECT image, min(path) FROM files WHERE image IS NOT NULL
               GROUP BY image ORDER BY image"""
        )
        return [(row[0], row[1]) for row in rows]

    def image_of_hash(self, digest: bytes) -> int | None:
        """Return the picture with this content digest."""
        found = self.one("SELECT id FROM images WHERE hash = ?", (digest,))
        return None if found is None else int(found)

    def highest_id(self) -> int:
        """Return the highest id in use; 0 in an empty collection."""
        return int(self.one("SELECT max(id) FROM images") or 0)

    def hash_of(self, id_: int) -> bytes | None:
        """Return the content digest of a picture."""
        found = self.one("SELECT hash FROM images WHERE id = ?", (id_,))
        return None if found is None else bytes(found)

    def hashes(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Return the content digests of pictures."""
        rows = self.each("SELECT id, hash FROM images WHERE id IN ({})", ids)
        return {row[0]: bytes(row[1]) for row in rows}

    def images_of_hashes(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """Return the pictures that have one of these content digests."""
        rows = self.each("SELECT hash, id FROM images WHERE hash IN ({})", hashes)
        return {bytes(row[0]): row[1] for row in rows}

    def sizes_among(self, sizes: Iterable[int]) -> set[int]:
        """Return those of some sizes in bytes that pictures have."""
        sql = "SELECT DISTINCT n_bytes FROM images WHERE n_bytes IN ({})"
        return {row[0] for row in self.each(sql, sorted(set(sizes)))}

    # -- files ---------------------------------------------------------------------------------

    def file(self, path: str) -> FileRow | None:
        """Return the record of a file."""
        rows = self.all("SELECT * FROM files WHERE path = ?", (path,))
        return _file(rows[0]) if rows else None

    def files_of(self, id_: int) -> list[str]:
        """Return the paths of a picture's files, in order."""
        return self.column("SELECT path FROM files WHERE image = ? ORDER BY 1", (id_,))

    def copies(self) -> dict[int, list[str]]:
        """Return the pictures that several files hold, with their paths."""
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
        """Return (size, mtime) of all files by path."""
        rows = self.all("SELECT path, size, mtime_ns FROM files")
        return {row["path"]: (row["size"], row["mtime_ns"]) for row in rows}

    def problems(self) -> list[FileRow]:
        """Return the files that could not be used."""
        rows = self.all(
            "SELECT * FROM files WHERE problem IS NOT NULL AND problem <> ? ORDER BY path",
            (REMOVED,),
        )
        return [_file(row) for row in rows]

    def transient_problems(self) -> set[str]:
        """Return the paths whose problem is not the picture's own fault."""
        return set(self.column("SELECT path FROM files WHERE problem LIKE ?", (f"{TRANSIENT}%",)))

    def removed_files(self) -> set[str]:
        """Return the paths of pictures that were removed on request."""
        return set(self.column("SELECT path FROM files WHERE problem = ?", (REMOVED,)))

    def roots(self) -> list[str]:
        """Return the folders and files that were added."""
        return self.column("SELECT path FROM roots ORDER BY 1")

    # -- filters -------------------------------------------------------------------------------

    def matching(self, where: Mapping[str, Any]) -> set[int]:
        """Return the pictures that satisfy every condition of a ``where``."""
        clauses, parameters = self.conditions(where)
        kept = " AND ".join(clauses) or "TRUE"
        return set(self.column(f"SELECT i.id FROM images i WHERE {kept}", parameters))

    def passing(self, where: Mapping[str, Any] | None, images: Sequence[int]) -> set[int]:
        """Return those of the pictures that satisfy a ``where``, without reading all others."""
        clauses, parameters = self.conditions(where or {})
        found: set[int] = set()
        for start in range(0, len(images), 500):
            some = images[start : start + 500]
            kept = " AND ".join([f"i.id IN ({', '.join('?' * len(some))})", *clauses])
            rows = self.all(f"SELECT i.id FROM images i WHERE {kept}", [*some, *parameters])
            found |= {row[0] for row in rows}
        return found

    def allowed(self, where: Mapping[str, Any] | None) -> Container[int] | None:
        """Return the pictures that a result may contain, None for all; hidden ones are left out."""
        if where:
            return self.matching(where)
        hidden = self.hidden()
        return AllBut(hidden) if hidden else None

    def hidden(self) -> set[int]:
        """Return the hidden pictures."""
        return set(
            self.column(
                "SELECT i.id FROM picture_marks m JOIN images i ON i.hash = m.hash"
                " WHERE m.hidden = 1"
            )
        )

    def conditions(self, where: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
        """Return a ``where`` as SQL clauses over images i, and their parameters."""
        return filters.conditions(self, where)

    # -- spaces and rows -----------------------------------------------------------------------

    def spaces(self) -> dict[str, SpaceRow]:
        """Return the records of all spaces by name."""
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
        """Return the segments of a generation."""
        rows = self.all(
            "SELECT * FROM segments WHERE space = ? AND generation = ? ORDER BY name",
            (space, generation),
        )
        return [_segment(row) for row in rows]

    def every_segment(self) -> list[SegmentRow]:
        """Return all segments."""
        return [_segment(row) for row in self.all("SELECT * FROM segments ORDER BY name")]

    def named_files(self) -> set[str]:
        """Return every file in the collection's folder that the catalog refers to."""
        names = {row.name for row in self.every_segment()}
        names |= set(map(plain_name, self.column("SELECT name FROM compacted")))
        for text in self.column("SELECT files FROM generations UNION ALL SELECT files FROM models"):
            files = check_names(read_json(text, "files"))
            names |= {name for name in files.values() if "/" in name}
        return names

    def vectors(
        self, space: str, generation: int, after: int = 0, limit: int = -1
    ) -> list[tuple[int, int, bytes]]:
        """Return (number, image, vector) of the fresh rows after a number."""
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
        """Yield the fresh rows, ``size`` at a time."""
        after = 0
        while chunk := self.vectors(space, generation, after, size):
            yield chunk
            after = chunk[-1][0]

    def n_vectors(self, space: str, generation: int) -> int:
        """Count the fresh rows of a generation."""
        sql = "SELECT count(*) FROM vectors WHERE space = ? AND generation = ?"
        return int(self.one(sql, (space, generation)))

    def vector(self, space: str, generation: int, image: int) -> bytes | None:
        """Return the fresh row of a picture."""
        sql = "SELECT vector, sum FROM vectors WHERE space = ? AND generation = ? AND image = ?"
        for vector, due in self.all(sql, (space, generation, image)):
            return sums.check_blob(vector, due, space, generation, image)
        return None

    def images_without(self, space: str, generation: int) -> set[int]:
        """Return the pictures that have no fresh row in a generation."""
        return set(
            self.column(
                """SELECT id FROM images EXCEPT
                   SELECT image FROM vectors WHERE space = ? AND generation = ?""",
                (space, generation),
            )
        )

    def gaps(self, space: str, generation: int) -> set[int]:
        """Return the pictures that a space could not describe."""
        sql = "SELECT image FROM gaps WHERE space = ? AND generation = ?"
        return set(self.column(sql, (space, generation)))

    def tombstones(self, after: int = 0) -> list[tuple[int, int]]:
        """Return (number, image) of removed pictures whose rows are still in segments."""
        rows = self.all(
            "SELECT number, image FROM tombstones WHERE number > ? ORDER BY number", (after,)
        )
        return [(row[0], row[1]) for row in rows]

    def tags_of(self, id_: int) -> list[tuple[str, str]]:
        """Return (tag, source) of a picture."""
        rows = self.all("SELECT tag, source FROM tags WHERE image = ? ORDER BY tag", (id_,))
        return [(row[0], row[1]) for row in rows]


def _image(row: Row) -> ImageRow:
    return ImageRow(
        row["id"], row["path"] or "", row["format"], row["width"], row["height"], row["moment"],
        row["n_bytes"], read_json(row["metadata"], f"metadata of picture {row['id']}"),
        row["source"],
    )  # fmt: skip


def _segment(row: Row) -> SegmentRow:
    plain_name(row["name"])
    return SegmentRow(**dict(row))


def _file(row: Row) -> FileRow:
    return FileRow(row["path"], row["size"], row["mtime_ns"], row["image"], row["problem"])


def loose_ends(store: Store) -> list[str]:
    """Return rows that contradict each other; empty when all is well."""
    questions = {
        "picture {} has no file": """SELECT id FROM images WHERE id NOT IN
            (SELECT image FROM files WHERE image IS NOT NULL)""",
        "file {} has neither a picture nor a problem": """SELECT path FROM files
            WHERE image IS NULL AND problem IS NULL""",
        "picture {} is there and removed": """SELECT image FROM tombstones
            WHERE image IN (SELECT id FROM images)""",
        "vectors of an unknown space {}": """SELECT DISTINCT space FROM vectors
            WHERE space NOT IN (SELECT name FROM spaces)""",
        "segment {} of an unknown space": """SELECT name FROM segments
            WHERE space NOT IN (SELECT name FROM spaces)""",
        "space {} names a generation that is not there": """SELECT name FROM spaces s
            WHERE generation > 0 AND NOT EXISTS (SELECT 1 FROM generations g
            WHERE g.space = s.name AND g.number = s.generation)""",
        "picture {} has metadata that is no JSON": """SELECT id FROM images
            WHERE NOT json_valid(metadata)""",
        "line {} of the log is no JSON": "SELECT number FROM log WHERE NOT json_valid(body)",
        "line {} of the log speaks of a picture nobody knows": """SELECT number FROM log
            WHERE json_valid(body) AND kind IN ('judge', 'compare') AND EXISTS (
                SELECT value FROM (
                    SELECT json_extract(body, '$.query') AS value
                    UNION ALL SELECT value FROM json_each(body, '$.liked')
                    UNION ALL SELECT value FROM json_each(body, '$.disliked')
                    UNION ALL SELECT value FROM json_each(body, '$.negatives')) AS said
                WHERE CAST(value AS INTEGER) NOT IN (SELECT id FROM subjects))""",
        "line {} of the log takes back what was never said": """SELECT number FROM log l
            WHERE kind = 'undo' AND json_valid(body) AND NOT EXISTS (SELECT 1 FROM log e
                WHERE e.number = CAST(json_extract(l.body, '$.judgement') AS INTEGER)
                AND e.number < l.number)""",
        "profile {} is a copy of one that is not there": """SELECT name FROM profiles
            WHERE parent IS NOT NULL AND parent NOT IN (SELECT name FROM profiles)""",
        "a code of picture {} that is no vector": """SELECT subject FROM codes
            WHERE length(vector) % 4 <> 0""",
    }
    found = [text.format(row[0]) for text, sql in questions.items() for row in store.all(sql)]
    return (
        found
        if store.one("SELECT number FROM revision") is not None
        else [*found, "the revision is gone"]
    )
