"""The store: a directory and its catalog, a database (``database.py``), the source of truth.

Everything else on disk (segments, vocabularies) is an immutable file that exists for the
collection only once a row here names it.  A change is one transaction, so a crash leaves the old
state or the new one.  ``revision`` grows with every change a reader must notice.
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
from likewise.catalog.filters import HIDDEN_OUT, MARK_FILTERS, mark_condition
from likewise.catalog.key_table import acting_now
from likewise.catalog.moments import moment_condition
from likewise.catalog.segments import FORMATS, RowFormat
from likewise.catalog.sqlite_catalog import FILE as FILE
from likewise.catalog.sqlite_catalog import SQLiteCatalog
from likewise.errors import DamagedCollection

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


class Store:
    """The directory of a collection and its database."""

    def __init__(self, catalog: Catalog, root: Path) -> None:
        self.catalog = catalog
        self.root = root
        self._actor = "a program"

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, Any]) -> Store:
        """A new, empty catalog in a file of SQLite."""
        return cls(SQLiteCatalog.create(path, settings), path.parent)

    @classmethod
    def open(cls, path: Path) -> Store:
        """An existing catalog in a file of SQLite, brought up to this version's schema."""
        return cls(SQLiteCatalog.open(path), path.parent)

    @property
    def actor(self) -> str:
        """Who acts, as the list of actions names them: a named key, else what was set."""
        key = acting_now()
        return self._actor if key is None else key.name

    @actor.setter
    def actor(self, name: str) -> None:
        self._actor = name

    @property
    def read_only(self) -> bool:
        """Whether nothing here may be changed."""
        return self.catalog.read_only

    def fold_journal(self) -> None:
        """Bring everything from the write-ahead log into the file itself, where there is one."""
        self.catalog.fold_journal()

    def close(self) -> None:
        self.catalog.close()

    def write(self, *, durable: bool = False) -> AbstractContextManager[Transaction]:
        """One transaction that readers notice; nothing of it remains after an error.

        A commit survives the death of the process; ``durable`` makes it survive a power cut too.
        """
        return self.catalog.write(durable=durable)

    def lease(self, job: str) -> AbstractContextManager[None]:
        """Hold the one lease of the collection for a job, or raise ``CollectionBusy``."""
        return self.catalog.lease(job)

    def shipping_lease(self) -> AbstractContextManager[None]:
        """Hold the lease of whoever sends rows elsewhere; beside jobs, and one at a time too."""
        return self.catalog.lease("shipping", jobs.SHIPPING)

    def running_job(self) -> str | None:
        """The job that holds the lease now, in words; None when nobody does."""
        return self.catalog.running_job()

    def snapshot(self) -> AbstractContextManager[None]:
        """Reads inside see one and the same state."""
        return self.catalog.snapshot()

    def telling(self) -> AbstractContextManager[None]:
        """What the database finds wrong inside is told in the words of a collection."""
        return self.catalog.telling()

    @property
    def connection(self) -> Transaction:
        """A connection for reads of several tables."""
        return self.catalog.connection

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self.catalog.all(sql, parameters)

    def one(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        return self.catalog.one(sql, parameters)

    # -- what readers ask -------------------------------------------------------------------

    @property
    def revision(self) -> int:
        found = self.one("SELECT number FROM revision")
        if not isinstance(found, int):
            raise DamagedCollection(
                f"the revision of {self.catalog.name} is gone; restore a backup"
            )
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
                    WHERE i.id IN ({marks(part)}) GROUP BY i.id, m.image""",
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
                # Not by GROUP BY: for every thousand SQLite would sort all that are left.
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
        """Ids, which ascend, and the paths of all pictures that have a file."""
        rows = self.all(
            """SELECT image, min(path) FROM files WHERE image IS NOT NULL
               GROUP BY image ORDER BY image"""
        )
        return [(row[0], row[1]) for row in rows]

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

    def hashes(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Return the content digests of the named pictures."""
        found: dict[int, bytes] = {}
        for part in parts(list(ids)):
            rows = self.all(f"SELECT id, hash FROM images WHERE id IN ({marks(part)})", part)
            found |= {row[0]: bytes(row[1]) for row in rows}
        return found

    def images_of_hashes(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """Return the pictures that have one of these content digests."""
        found: dict[bytes, int] = {}
        for part in parts(list(hashes)):
            rows = self.all(f"SELECT hash, id FROM images WHERE hash IN ({marks(part)})", part)
            found |= {bytes(row[0]): row[1] for row in rows}
        return found

    def sizes_among(self, sizes: Iterable[int]) -> set[int]:
        """Those of some sizes in bytes that pictures have."""
        asked = sorted(set(sizes))
        marks = ", ".join("?" * len(asked))
        rows = self.all(f"SELECT DISTINCT n_bytes FROM images WHERE n_bytes IN ({marks})", asked)
        return {row[0] for row in rows}

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
        kept = " AND ".join(clauses) or "TRUE"
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
        """What the database itself and the checksums find wrong; empty when all is well."""
        return self.catalog.integrity()

    def check_index_of_words(self) -> list[str]:
        """Whether the index of words says what its documents do."""
        return self.catalog.check_index_of_words()

    def backup_to(self, path: Path) -> None:
        """A copy of the state now, as a catalog of SQLite in one file."""
        self.catalog.backup_to(path)


def _image(row: Row) -> ImageRow:
    return ImageRow(
        row["id"], row["path"] or "", row["format"], row["width"], row["height"], row["moment"],
        row["n_bytes"], _metadata(row), row["source"],
    )  # fmt: skip


def _metadata(row: Row) -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_json(row["metadata"], f"metadata of picture {row['id']}")
    return found


def _segment(row: Row) -> SegmentRow:
    plain_name(row["name"])
    return SegmentRow(**dict(row))


def _file(row: Row) -> FileRow:
    return FileRow(row["path"], row["size"], row["mtime_ns"], row["image"], row["problem"])


def loose_ends(store: Store) -> list[str]:
    """Rows that contradict each other; empty when all is well."""
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
