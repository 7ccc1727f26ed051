"""The tables of the catalog, version by version.

A migration is never edited once released: a catalog that lacks it must end up as one that had it
from the start.
"""

from __future__ import annotations

# One entry a schema version; a catalog is brought up to date by running those it lacks.
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
    # What people said, and what replay needs.  The log only grows; every other table here can be
    # made again from it, from the pictures and from the codes.
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
)
