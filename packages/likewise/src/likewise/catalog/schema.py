"""The tables of the catalog: migrations, the schema they make, and a check of it.

A released migration is never changed, so that every catalog ends up with the same schema.  A
catalog may be untrusted, and triggers and views are code: a catalog with others than those made
here is refused.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

from likewise.errors import DamagedCollection

_WRITTEN_TRIGGERS = "".join(
    f"""    CREATE TRIGGER IF NOT EXISTS written_{name} AFTER {event}
    BEGIN INSERT INTO written_stale SELECT {image} WHERE {image} IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM written_stale WHERE image = {image}); END;
"""
    for name, event, image in (
        ("picture_comes", "INSERT ON images", "new.id"),
        ("picture_goes", "DELETE ON images", "old.id"),
        ("picture_turns", "UPDATE OF metadata ON images", "new.id"),
        ("tag_comes", "INSERT ON tags", "new.image"),
        ("tag_goes", "DELETE ON tags", "old.image"),
        ("tag_turns", "UPDATE OF source ON tags", "new.image"),
        ("file_comes", "INSERT ON files", "new.image"),
        ("file_goes", "DELETE ON files", "old.image"),
        ("file_leaves", "UPDATE OF image ON files", "old.image"),
        ("file_turns", "UPDATE OF image ON files", "new.image"),
        ("camera_comes", "INSERT ON cameras", "new.image"),
        ("camera_goes", "DELETE ON cameras", "old.image"),
    )
)
"""Triggers that mark documents of the index of words as outdated."""

# One entry per schema version; opening a catalog runs those it lacks.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE revision (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
    INSERT INTO revision VALUES (1, 0);

    CREATE TABLE images (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        hash BLOB NOT NULL UNIQUE,
        format TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
        date TEXT, n_bytes INTEGER NOT NULL, metadata TEXT NOT NULL DEFAULT '{}'
    );
    CREATE INDEX images_by_size ON images (n_bytes);
    CREATE TABLE files (
        path TEXT PRIMARY KEY, folder TEXT NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        image INTEGER REFERENCES images ON DELETE CASCADE,
        problem TEXT
    ) WITHOUT ROWID;
    CREATE INDEX files_by_image ON files (image);
    CREATE INDEX files_by_folder ON files (folder);
    CREATE TABLE roots (path TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE tags (
        image INTEGER NOT NULL REFERENCES images ON DELETE CASCADE,
        tag TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (image, tag)
    ) WITHOUT ROWID;
    CREATE INDEX tags_by_tag ON tags (tag);

    CREATE TABLE spaces (
        name TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('sparse', 'dense')),
        recipe TEXT NOT NULL, generation INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE TABLE generations (
        space TEXT NOT NULL REFERENCES spaces ON DELETE CASCADE, number INTEGER NOT NULL,
        width INTEGER NOT NULL, n_pictures INTEGER NOT NULL, files TEXT NOT NULL,
        PRIMARY KEY (space, number)
    ) WITHOUT ROWID;
    CREATE TABLE vectors (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL, generation INTEGER NOT NULL,
        image INTEGER NOT NULL, vector BLOB NOT NULL,
        UNIQUE (space, generation, image)
    );
    CREATE INDEX vectors_in_order ON vectors (space, generation, number);
    CREATE TABLE segments (
        name TEXT PRIMARY KEY, space TEXT NOT NULL, generation INTEGER NOT NULL,
        n_pictures INTEGER NOT NULL, n_bytes INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE tombstones (
        number INTEGER PRIMARY KEY AUTOINCREMENT, image INTEGER NOT NULL UNIQUE
    );
    """,
    # The log of judgements, and what replay needs.  The log is append-only; every other table here
    # can be made again from it, from the pictures and from the codes.
    """
    CREATE TABLE profiles (
        name TEXT PRIMARY KEY, base TEXT NOT NULL, made TEXT NOT NULL,
        parent TEXT REFERENCES profiles, parent_position INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    INSERT INTO profiles (name, base, made) VALUES ('default', '', datetime('now'));
    CREATE TABLE log (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        profile TEXT NOT NULL REFERENCES profiles, kind TEXT NOT NULL,
        made TEXT NOT NULL, session INTEGER NOT NULL, body TEXT NOT NULL
    );
    CREATE INDEX log_by_profile ON log (profile, number);
    CREATE TABLE subjects (
        id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, jpeg BLOB
    );
    CREATE TABLE codes (
        subject INTEGER NOT NULL REFERENCES subjects, space TEXT NOT NULL,
        generation INTEGER NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY (subject, space, generation)
    ) WITHOUT ROWID;
    CREATE TABLE given (
        entry INTEGER NOT NULL REFERENCES log, space TEXT NOT NULL, generation INTEGER NOT NULL,
        weights BLOB NOT NULL, PRIMARY KEY (entry, space, generation)
    ) WITHOUT ROWID;
    CREATE TABLE checkpoints (
        space TEXT NOT NULL, generation INTEGER NOT NULL, history BLOB NOT NULL,
        n_items INTEGER NOT NULL, state BLOB NOT NULL,
        PRIMARY KEY (space, generation, history)
    ) WITHOUT ROWID;
    CREATE TABLE compacted (
        segment TEXT NOT NULL, profile TEXT NOT NULL, name TEXT NOT NULL, n_bytes INTEGER NOT NULL,
        PRIMARY KEY (segment, profile)
    ) WITHOUT ROWID;
    """,
    # Learned metrics and maps by name, with their files.  They can be learned again from the log.
    """
    CREATE TABLE models (
        name TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('metric', 'map')),
        space TEXT NOT NULL REFERENCES spaces ON DELETE CASCADE, generation INTEGER NOT NULL,
        profile TEXT NOT NULL REFERENCES profiles, position INTEGER NOT NULL, made TEXT NOT NULL,
        files TEXT NOT NULL, options TEXT NOT NULL, figures TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    # Tags: their sources, statements of people, and the tags in effect.  ``tags`` holds the tags in
    # effect, each with its best source.  ``tag_words`` is the fold of the log's lines about tags,
    # by content, so that a restored picture has its statements again.  ``tag_changes`` numbers
    # every change of tags that count as evidence; readers query the changes after the last number
    # they read.
    """
    CREATE TABLE tag_sources (
        image INTEGER NOT NULL REFERENCES images ON DELETE CASCADE,
        tag TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (image, tag, source)
    ) WITHOUT ROWID;
    INSERT INTO tag_sources SELECT image, tag, source FROM tags;
    CREATE TABLE tag_words (
        hash BLOB NOT NULL, tag TEXT NOT NULL, accepted INTEGER NOT NULL, source TEXT NOT NULL,
        line INTEGER NOT NULL REFERENCES log, PRIMARY KEY (hash, tag)
    ) WITHOUT ROWID;
    CREATE INDEX log_of_tags ON log (number) WHERE kind IN ('accept', 'reject', 'withdraw');
    INSERT INTO log (profile, kind, made, session, body)
        SELECT 'default', 'accept', strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'), 0,
            json_object('pictures', json_array(lower(hex(i.hash))), 'tags', json_array(t.tag),
                        'source', 'user')
        FROM tags t JOIN images i ON i.id = t.image WHERE t.source = 'user'
        ORDER BY t.image, t.tag;
    INSERT INTO tag_words
        SELECT i.hash, t.tag, 1, 'user',
            (SELECT max(number) FROM log) - (SELECT count(*) FROM tags WHERE source = 'user')
            + row_number() OVER (ORDER BY t.image, t.tag)
        FROM tags t JOIN images i ON i.id = t.image WHERE t.source = 'user';
    CREATE TABLE sidecars (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        tags TEXT NOT NULL, written TEXT NOT NULL, problem TEXT
    ) WITHOUT ROWID;
    CREATE TABLE tag_changes (
        number INTEGER PRIMARY KEY AUTOINCREMENT, image INTEGER NOT NULL UNIQUE
    );
    INSERT INTO tag_changes (image) SELECT DISTINCT image FROM tags ORDER BY image;
    CREATE TRIGGER IF NOT EXISTS tag_comes AFTER INSERT ON tags WHEN new.source <> 'suggested'
    BEGIN INSERT OR REPLACE INTO tag_changes (image) VALUES (new.image); END;
    CREATE TRIGGER IF NOT EXISTS tag_goes AFTER DELETE ON tags WHEN old.source <> 'suggested'
    BEGIN INSERT OR REPLACE INTO tag_changes (image) VALUES (old.image); END;
    CREATE TRIGGER IF NOT EXISTS tag_turns AFTER UPDATE ON tags
    WHEN (old.source = 'suggested') <> (new.source = 'suggested')
    BEGIN INSERT OR REPLACE INTO tag_changes (image) VALUES (new.image); END;
    """,
    # Unfinished back-fills.  They were settings "filling SPACE" with three kinds of values, which
    # are named states now.
    """
    CREATE TABLE backfills (
        space TEXT PRIMARY KEY REFERENCES spaces ON DELETE CASCADE,
        state TEXT NOT NULL CHECK (state IN ('running', 'waiting', 'unreached'))
    ) WITHOUT ROWID;
    CREATE TABLE backfill_images (
        space TEXT NOT NULL REFERENCES backfills ON DELETE CASCADE,
        image INTEGER NOT NULL REFERENCES images ON DELETE CASCADE,
        PRIMARY KEY (space, image)
    ) WITHOUT ROWID;
    CREATE INDEX backfill_images_by_image ON backfill_images (image);
    INSERT INTO backfills
        SELECT s.name, CASE json_type(o.value)
            WHEN 'array' THEN 'unreached' WHEN 'text' THEN 'waiting' ELSE 'running' END
        FROM spaces s JOIN settings o ON o.key = 'filling ' || s.name;
    INSERT INTO backfill_images
        SELECT DISTINCT b.space, i.id
        FROM backfills b JOIN settings o ON o.key = 'filling ' || b.space
        JOIN json_each(o.value) e JOIN images i ON i.id = e.value
        WHERE b.state = 'unreached';
    DELETE FROM settings WHERE key LIKE 'filling %';
    """,
    # The index for typed searches: one document a picture, of its tags, the names of its folders
    # and files, and its camera.  Triggers mark outdated documents, and the same transaction
    # rewrites them before it ends (``word_index.py``).  Cameras and texts of typed queries have
    # separate tables, because few pictures and subjects have one.
    """
    CREATE TABLE cameras (
        image INTEGER PRIMARY KEY REFERENCES images ON DELETE CASCADE, camera TEXT NOT NULL
    );
    CREATE TABLE subject_texts (
        subject INTEGER PRIMARY KEY REFERENCES subjects, text TEXT NOT NULL
    );
    CREATE TABLE text_vectors (
        model TEXT NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS images_by_date ON images (date) WHERE date IS NOT NULL;
    CREATE VIRTUAL TABLE written USING fts5(
        tags, suggested, folders, files, camera, tokenize = "unicode61 remove_diacritics 2"
    );
    CREATE TABLE written_stale (image INTEGER PRIMARY KEY);
    INSERT INTO written_stale SELECT id FROM images;
"""
    + _WRITTEN_TRIGGERS
    + """    CREATE TRIGGER IF NOT EXISTS written_root_comes AFTER INSERT ON roots
    BEGIN INSERT INTO written_stale SELECT DISTINCT image FROM files WHERE image IS NOT NULL
        AND (path = new.path OR folder = new.path
             OR folder >= new.path || '/' AND folder < new.path || '0')
        AND image NOT IN (SELECT image FROM written_stale); END;
    CREATE TRIGGER IF NOT EXISTS written_root_goes AFTER DELETE ON roots
    BEGIN INSERT INTO written_stale SELECT DISTINCT image FROM files WHERE image IS NOT NULL
        AND (path = old.path OR folder = old.path
             OR folder >= old.path || '/' AND folder < old.path || '0')
        AND image NOT IN (SELECT image FROM written_stale); END;
    """,
    # Checksums (filled in by ``sums.py``) and gaps: pictures that a space could not describe and
    # that are not tried again.  Older catalogs have no gaps; the next add finds them.
    """
    CREATE TABLE sums (
        name TEXT PRIMARY KEY, digest BLOB NOT NULL, n_rows INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE vectors ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE codes ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE given ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE checkpoints ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE text_vectors ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE log ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
    CREATE TABLE gaps (
        space TEXT NOT NULL REFERENCES spaces ON DELETE CASCADE, generation INTEGER NOT NULL,
        image INTEGER NOT NULL REFERENCES images ON DELETE CASCADE,
        PRIMARY KEY (space, generation, image)
    ) WITHOUT ROWID;
    CREATE INDEX gaps_by_image ON gaps (image);
    UPDATE backfills SET state = 'waiting' WHERE state = 'unreached'
        AND space IN (SELECT name FROM spaces WHERE generation > 0);
    INSERT OR IGNORE INTO backfills SELECT name, 'waiting' FROM spaces WHERE generation > 0;
    """,
    # Bulk actions, and what undoing each needs.  Statements about tags are in the log, and an
    # action only names its lines; the other tables hold suggestions, sidecars and removed pictures.
    # ``removed_images`` also prevents that a removed picture is added again: by content, so a moved
    # or touched file stays removed.
    """
    CREATE TABLE actions (
        id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, made TEXT NOT NULL,
        who TEXT NOT NULL, pictures INTEGER NOT NULL, body TEXT NOT NULL, undone TEXT
    );
    CREATE TABLE action_suggestions (
        action INTEGER NOT NULL REFERENCES actions ON DELETE CASCADE,
        hash BLOB NOT NULL, tag TEXT NOT NULL, came INTEGER NOT NULL,
        PRIMARY KEY (action, hash, tag)
    ) WITHOUT ROWID;
    CREATE TABLE action_files (
        action INTEGER NOT NULL REFERENCES actions ON DELETE CASCADE,
        path TEXT NOT NULL, digest BLOB NOT NULL, before BLOB, known TEXT,
        PRIMARY KEY (action, path)
    ) WITHOUT ROWID;
    CREATE TABLE removed_images (
        hash BLOB PRIMARY KEY, action INTEGER NOT NULL REFERENCES actions, rows TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX removed_images_by_action ON removed_images (action);
    CREATE TABLE removed_vectors (
        hash BLOB NOT NULL REFERENCES removed_images ON DELETE CASCADE, space TEXT NOT NULL,
        generation INTEGER NOT NULL, vector BLOB NOT NULL, sum INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (hash, space)
    ) WITHOUT ROWID;
    """,
    # The library: when each picture was taken and the source of that (``moments.py``, updated with
    # the documents above), how and where (EXIF), and its marks.  Marks are stored by content, as
    # tags are, so a picture that is removed and added again keeps its stars and albums.  Bulk
    # actions store earlier marks, and which pictures were added to or removed from an album.
    # Existing pictures get their EXIF from the next add (``unread_shots``).
    """
    CREATE TABLE moments (
        image INTEGER PRIMARY KEY REFERENCES images ON DELETE CASCADE,
        moment TEXT NOT NULL, source TEXT NOT NULL CHECK (source IN ('exif', 'name', 'file'))
    );
    CREATE INDEX moments_in_order ON moments (moment, image);
    CREATE TABLE shots (
        image INTEGER PRIMARY KEY REFERENCES images ON DELETE CASCADE,
        lens TEXT, exposure REAL, aperture REAL, iso INTEGER, focal REAL,
        latitude REAL, longitude REAL
    );
    CREATE TABLE unread_shots (
        image INTEGER PRIMARY KEY REFERENCES images ON DELETE CASCADE
    );
    INSERT INTO unread_shots SELECT id FROM images;
    CREATE TABLE picture_marks (
        hash BLOB PRIMARY KEY,
        stars INTEGER NOT NULL DEFAULT 0 CHECK (stars BETWEEN 0 AND 5),
        favourite INTEGER NOT NULL DEFAULT 0 CHECK (favourite IN (0, 1)),
        hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1))
    ) WITHOUT ROWID;
    CREATE INDEX hidden_pictures ON picture_marks (hash) WHERE hidden = 1;
    CREATE TABLE albums (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, made TEXT NOT NULL
    );
    CREATE TABLE album_pictures (
        album INTEGER NOT NULL REFERENCES albums ON DELETE CASCADE, hash BLOB NOT NULL,
        PRIMARY KEY (album, hash)
    ) WITHOUT ROWID;
    CREATE INDEX album_pictures_by_hash ON album_pictures (hash);
    CREATE TABLE action_marks (
        action INTEGER NOT NULL REFERENCES actions ON DELETE CASCADE, hash BLOB NOT NULL,
        stars INTEGER NOT NULL, favourite INTEGER NOT NULL, hidden INTEGER NOT NULL,
        PRIMARY KEY (action, hash)
    ) WITHOUT ROWID;
    CREATE TABLE action_album_pictures (
        action INTEGER NOT NULL REFERENCES actions ON DELETE CASCADE, hash BLOB NOT NULL,
        PRIMARY KEY (action, hash)
    ) WITHOUT ROWID;
    INSERT INTO written_stale SELECT id FROM images
        WHERE id NOT IN (SELECT image FROM written_stale);
    """,
    # Named keys with their roles; only the digest of a key is stored.  A revoked key stays, so that
    # its lines of the log can be listed and withdrawn; its name may be used again.
    """
    CREATE TABLE keys (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
        role TEXT NOT NULL CHECK (role IN ('look', 'judge', 'manage')),
        digest BLOB NOT NULL, made TEXT NOT NULL, maker TEXT NOT NULL, used TEXT, revoked TEXT
    );
    CREATE UNIQUE INDEX keys_by_name ON keys (name) WHERE revoked IS NULL;
    """,
    # Pictures that changed since they were sent to an engine (``engine_sync.py``).
    """
    CREATE TABLE unshipped (
        number INTEGER PRIMARY KEY AUTOINCREMENT, image INTEGER NOT NULL UNIQUE
    );
    """,
    # Facts of describers: texts with a score and, where known, a place.  Their words have a
    # separate table, so that the index of words is unchanged.
    """
    CREATE TABLE describers (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE described_images (
        describer TEXT NOT NULL REFERENCES describers ON DELETE CASCADE,
        image INTEGER NOT NULL REFERENCES images ON DELETE CASCADE,
        version TEXT NOT NULL, problem TEXT, PRIMARY KEY (describer, image)
    ) WITHOUT ROWID;
    CREATE INDEX described_images_by_image ON described_images (image);
    CREATE TABLE facts (
        describer TEXT NOT NULL REFERENCES describers ON DELETE CASCADE,
        image INTEGER NOT NULL REFERENCES images ON DELETE CASCADE,
        place INTEGER NOT NULL, text TEXT NOT NULL, score REAL NOT NULL, box TEXT,
        PRIMARY KEY (describer, image, place)
    ) WITHOUT ROWID;
    CREATE INDEX facts_by_image ON facts (image);
    CREATE TABLE fact_words (
        word TEXT NOT NULL,
        describer TEXT NOT NULL REFERENCES describers ON DELETE CASCADE,
        image INTEGER NOT NULL REFERENCES images ON DELETE CASCADE,
        PRIMARY KEY (word, describer, image)
    ) WITHOUT ROWID;
    CREATE INDEX fact_words_by_image ON fact_words (image);
    """,
)
SCHEMA_DIGEST = "c85c0d8d0d6baca133bd4f57e7cda5ac"
"""The name of the schema that all of them make (``schema.py``); a test says the new one."""


INDEX_OF_WORDS = "written"
"""FTS5's table; those of its pages begin with its name.  Each database has one of its own."""
SUMS = "sums"
"""Checksums of tables, which each database adds up in its own way."""


@dataclass(frozen=True)
class Table:
    """A table: ``numbered`` is its automatic number, ``key`` identifies a row.

    ``key`` is the unique columns of a numbered table, else the primary key.
    """

    name: str
    sql: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]
    numbered: str | None
    references: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Schema:
    """What the migrations make: tables in order, then indexes and triggers."""

    tables: tuple[Table, ...]
    indexes: tuple[str, ...]
    triggers: tuple[str, ...]


def tables() -> tuple[Table, ...]:
    """Return every table with data, without indexes and sums."""
    return schema(MIGRATIONS).tables


@lru_cache(2)
def schema(migrations: tuple[str, ...]) -> Schema:
    """Return what these migrations make."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as c:
        c.executescript("BEGIN;" + "".join(f"{one};" for one in migrations) + "COMMIT;")
        rows = c.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid").fetchall()
        own = [row for row in rows if row[2] is not None and not row[1].startswith("sqlite_")]
        return Schema(
            tuple(
                _table(c, name, sql)
                for kind, name, sql in own
                if kind == "table" and name != SUMS and not _is_index(name)
            ),
            tuple(sql for kind, _, sql in own if kind == "index"),
            tuple(sql for kind, _, sql in own if kind == "trigger"),
        )


def _is_index(name: str) -> bool:
    pages = ("data", "idx", "content", "docsize", "config")
    return name == INDEX_OF_WORDS or name in {f"{INDEX_OF_WORDS}_{page}" for page in pages}


def _table(c: sqlite3.Connection, name: str, sql: str) -> Table:
    columns = c.execute(f'PRAGMA table_info("{name}")').fetchall()
    primary = tuple(row[1] for row in sorted(columns, key=lambda row: row[5]) if row[5])
    numbered = primary[0] if "AUTOINCREMENT" in sql else None
    key = primary
    for _, index, unique, origin, *_ in c.execute(f'PRAGMA index_list("{name}")').fetchall():
        if numbered is not None and unique and origin == "u":
            key = tuple(row[2] for row in c.execute(f'PRAGMA index_info("{index}")').fetchall())
    references = c.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()
    return Table(
        name, sql, tuple(row[1] for row in columns), tuple(row[2] for row in columns), key,
        numbered, tuple((row[3], row[2]) for row in references),
    )  # fmt: skip


_OWN_PAGES = {f"written_{part}" for part in ("data", "idx", "content", "docsize", "config")}
"""Tables in which the index of words keeps its pages; each SQLite lays them out in its own way."""


def check_schema(c: sqlite3.Connection, migrations: tuple[str, ...], name: str) -> None:
    """Refuse a catalog whose schema is not what the migrations make."""
    found = read_schema(c)
    if digest_of_schema(found) == SCHEMA_DIGEST:
        return
    due = expected_schema(migrations)
    for (kind, what), text in found.items():
        if (kind, what) not in due and kind != "table":
            raise DamagedCollection(
                f"{name} holds a {kind} {what!r} that Likewise did not make; a catalog from "
                "elsewhere may hold anything: use a backup you trust"
            )
        if (kind, what) in due and due[kind, what] != text:
            raise DamagedCollection(f"the {kind} {what!r} of {name} is not what Likewise made")
    gone = [f"{kind} {what!r}" for kind, what in due if (kind, what) not in found]
    if gone:
        raise DamagedCollection(f"{name} lacks the {gone[0]}; restore a backup")


def read_schema(c: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the schema of a catalog: (kind, name) to its definition."""
    rows = c.execute("SELECT type, name, tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema")
    return {
        (kind, what): text
        for kind, what, text in map(tuple, rows)
        if not what.startswith("sqlite_") and not (kind == "table" and what in _OWN_PAGES)
    }


def digest_of_schema(found: Mapping[tuple[str, str], str]) -> str:
    """Return the digest of a schema."""
    return hashlib.blake2b(repr(sorted(found.items())).encode(), digest_size=16).hexdigest()


@lru_cache(2)
def expected_schema(migrations: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """Return what the migrations make; this is slow, so the digest is compared first."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as c:
        # One transaction, because SQLite would read the schema again after each statement.
        c.executescript("BEGIN;" + "".join(f"{one};" for one in migrations) + "COMMIT;")
        return read_schema(c)
