"""Tables of judgements and of what was learned: log, profiles, subjects, weights, models.

A *subject* is a picture that the log refers to, identified by its content, in the collection or
not. Its *codes* are its vectors as they were ranked in a generation.  Replay reads only codes, so
adding or removing pictures does not change what was learned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from likewise.catalog.content import check_names, plain_name
from likewise.catalog.database import Row, read_json
from likewise.catalog.key_table import signature
from likewise.catalog.store import Store, Transaction
from likewise.catalog.sums import LINE, START, blob_sum, check_blob, check_line, line_digest

# Lines about tags: no profile learns from them.
_NO_TAGS = "kind NOT IN ('accept', 'reject', 'withdraw')"


class ProfileRow(NamedTuple):
    """A profile; a copy begins with what its ``parent`` had at ``parent_position``."""

    name: str
    base: str
    made: str
    parent: str | None
    parent_position: int


class Entry(NamedTuple):
    """One line of the log."""

    number: int
    profile: str
    kind: str
    made: str
    session: int
    body: Mapping[str, Any]


# -- reads ----------------------------------------------------------------------------------


def profiles(store: Store) -> dict[str, ProfileRow]:
    """Return all profiles by name."""
    rows = store.all("SELECT * FROM profiles ORDER BY name")
    return {
        row["name"]: ProfileRow(
            row["name"], row["base"], row["made"], row["parent"], row["parent_position"]
        )
        for row in rows
    }


def last_entry(store: Store, profile: str) -> int:
    """Return the newest line of a profile's own log; 0 without any."""
    return int(store.one("SELECT max(number) FROM log WHERE profile = ?", (profile,)) or 0)


def entries(store: Store, profile: str, after: int = 0, upto: int | None = None) -> list[Entry]:
    """Return a profile's own lines of the log after a number, without those about tags."""
    rows = store.all(
        f"""SELECT {LINE} FROM log WHERE profile = ? AND number > ?
            AND number <= coalesce(?, number) AND {_NO_TAGS} ORDER BY number""",
        (profile, after, upto),
    )
    return [
        Entry(r["number"], r["profile"], r["kind"], r["made"], r["session"], json.loads(r["body"]))
        for r in map(check_line, rows)
    ]


def last_line(store: Store) -> int:
    """Return the newest line of the whole log; 0 without any."""
    return int(store.one("SELECT max(number) FROM log") or 0)


def last_session(store: Store, profile: str) -> tuple[int, str] | None:
    """Return (session, time) of the newest line of a profile."""
    rows = store.all(
        f"""SELECT session, made FROM log WHERE profile = ? AND {_NO_TAGS}
            ORDER BY number DESC LIMIT 1""",
        (profile,),
    )
    return (rows[0][0], rows[0][1]) if rows else None


def subject_of(store: Store, key: bytes) -> int | None:
    """Return the subject with this key."""
    found = store.one("SELECT id FROM subjects WHERE key = ?", (key,))
    return None if found is None else int(found)


def text_subjects(store: Store) -> dict[int, str]:
    """Return the typed texts among the subjects."""
    rows = store.all("SELECT subject, text FROM subject_texts ORDER BY subject")
    return {row[0]: row[1] for row in rows}


def subjects_in_collection(store: Store, subjects: Iterable[int]) -> dict[int, int]:
    """Return the pictures of subjects that are in the collection."""
    sql = """SELECT s.id, i.id FROM subjects s JOIN images i ON i.hash = s.key
             WHERE s.id IN ({})"""
    return {row[0]: row[1] for row in store.each(sql, sorted(subjects))}


def jpeg_of(store: Store, subject: int) -> bytes | None:
    """Return the small JPEG of a subject."""
    found = store.one("SELECT jpeg FROM subjects WHERE id = ?", (subject,))
    return None if found is None else bytes(found)


def codes(store: Store, space: str, generation: int, subjects: Iterable[int]) -> dict[int, bytes]:
    """Return the vectors of subjects in a generation; subjects without one are left out."""
    sql = """SELECT subject, vector, sum FROM codes
             WHERE space = ? AND generation = ? AND subject IN ({})"""
    return {
        subject: check_blob(vector, due, space, generation, subject)
        for subject, vector, due in store.each(sql, sorted(set(subjects)), space, generation)
    }


def subjects_without_code(
    store: Store, space: str, old: int, new: int
) -> list[tuple[int, bytes | None]]:
    """Return subjects without a code in the new generation, each with its old one if it has one."""
    rows = store.all(
        """SELECT s.id, a.vector, a.sum FROM subjects s LEFT JOIN codes a
           ON a.subject = s.id AND a.space = ? AND a.generation = ?
           WHERE NOT EXISTS (SELECT 1 FROM codes b WHERE b.space = ? AND b.generation = ?
                             AND b.subject = s.id) ORDER BY s.id""",
        (space, old, space, new),
    )
    return [
        (subject, None if vector is None else check_blob(vector, due, space, old, subject))
        for subject, vector, due in rows
    ]


def imported_weights(store: Store, entry: int, space: str, generation: int) -> bytes | None:
    """Return weights that were imported, or learned as a whole, as a blob."""
    rows = store.all(
        "SELECT weights, sum FROM given WHERE entry = ? AND space = ? AND generation = ?",
        (entry, space, generation),
    )
    return check_blob(rows[0][0], rows[0][1], space, generation, entry) if rows else None


def all_imported_weights(store: Store, space: str, generation: int) -> list[tuple[int, bytes]]:
    """Return all imported weights of a generation, by line."""
    rows = store.all(
        "SELECT entry, weights, sum FROM given WHERE space = ? AND generation = ? ORDER BY entry",
        (space, generation),
    )
    return [
        (entry, check_blob(weights, due, space, generation, entry)) for entry, weights, due in rows
    ]


def checkpoints(store: Store, space: str, generation: int) -> dict[bytes, int]:
    """Return the histories with a checkpoint, and how many items each contains."""
    rows = store.all(
        "SELECT history, n_items FROM checkpoints WHERE space = ? AND generation = ?",
        (space, generation),
    )
    return {bytes(row[0]): row[1] for row in rows}


def checkpoint(store: Store, space: str, generation: int, history: bytes) -> bytes | None:
    """Return a stored state, None if it is damaged and has to be folded again."""
    rows = store.all(
        """SELECT state, sum, n_items FROM checkpoints
           WHERE space = ? AND generation = ? AND history = ?""",
        (space, generation, history),
    )
    for state, due, n_items in rows:
        if blob_sum(state, space, generation, history, n_items) == due:
            return bytes(state)
    return None


def compacted_segments(store: Store, profile: str) -> dict[str, tuple[str, int]]:
    """Return (smaller copy for a profile, bytes) of segments."""
    rows = store.all("SELECT segment, name, n_bytes FROM compacted WHERE profile = ?", (profile,))
    return {row[0]: (plain_name(row[1]), row[2]) for row in rows}


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_profile(
    c: Transaction, name: str, base: str, made: str, parent: str | None, position: int
) -> None:
    c.execute("INSERT INTO profiles VALUES (?, ?, ?, ?, ?)", (name, base, made, parent, position))


def put_subject(c: Transaction, key: bytes, jpeg: bytes | None) -> int:
    """Return the id of the subject with this key; add it if it is new."""
    row = c.execute("SELECT id FROM subjects WHERE key = ?", (key,)).fetchone()
    if row is not None:
        # The picture was in the collection before.
        if jpeg is not None:
            c.execute("UPDATE subjects SET jpeg = ? WHERE id = ? AND jpeg IS NULL", (jpeg, row[0]))
        return int(row[0])
    cursor = c.execute("INSERT INTO subjects (key, jpeg) VALUES (?, ?)", (key, jpeg))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def put_subject_text(c: Transaction, subject: int, text: str) -> None:
    """Store the text of a subject; the first spelling stays."""
    c.execute("INSERT OR IGNORE INTO subject_texts VALUES (?, ?)", (subject, text))


def put_code(c: Transaction, subject: int, space: str, generation: int, vector: bytes) -> bool:
    """Store the code of a subject unless it has one; return whether it had none.

    The first code stays, because replay must read the code that was learned from.
    """
    made = c.execute(
        "INSERT OR IGNORE INTO codes VALUES (?, ?, ?, ?, ?)",
        (subject, space, generation, vector, blob_sum(vector, space, generation, subject)),
    )
    return made.rowcount > 0


def append_entry(
    c: Transaction,
    profile: str,
    kind: str,
    made: str,
    session: int | None,
    body: Mapping[str, Any],
) -> int:
    """Append a line to the log, with the named key in use; return its number.

    Without a session the line begins one, which has the number of the line.
    """
    text = json.dumps({**body, **signature()}, separators=(",", ":"))
    cursor = c.execute(
        "INSERT INTO log (profile, kind, made, session, body) VALUES (?, ?, ?, ?, ?)",
        (profile, kind, made, session or 0, text),
    )
    number = cursor.lastrowid
    assert number is not None
    before = c.execute(
        "SELECT digest FROM log WHERE number < ? ORDER BY number DESC LIMIT 1", (number,)
    ).fetchone()
    session = number if session is None else session
    digest = line_digest(
        START if before is None else before[0], number, profile, kind, made, session, text
    )
    c.execute("UPDATE log SET session = ?, digest = ? WHERE number = ?", (session, digest, number))
    return number


def put_imported_weights(
    c: Transaction, entry: int, space: str, generation: int, weights: bytes
) -> None:
    c.execute(
        "INSERT OR REPLACE INTO given VALUES (?, ?, ?, ?, ?)",
        (entry, space, generation, weights, blob_sum(weights, space, generation, entry)),
    )


def put_checkpoint(
    c: Transaction, space: str, generation: int, history: bytes, n_items: int, state: bytes
) -> None:
    due = blob_sum(state, space, generation, history, n_items)
    c.execute(
        "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)",
        (space, generation, history, n_items, state, due),
    )


def drop_checkpoints(
    c: Transaction, space: str, generation: int, histories: Iterable[bytes]
) -> None:
    c.executemany(
        "DELETE FROM checkpoints WHERE space = ? AND generation = ? AND history = ?",
        [(space, generation, history) for history in histories],
    )


def drop_every_checkpoint(c: Transaction, space: str) -> None:
    c.execute("DELETE FROM checkpoints WHERE space = ?", (space,))


def put_compacted(c: Transaction, segment: str, profile: str, name: str, n_bytes: int) -> None:
    c.execute("INSERT OR REPLACE INTO compacted VALUES (?, ?, ?, ?)",
              (segment, profile, name, n_bytes))  # fmt: skip


def drop_compacted(c: Transaction, profile: str) -> None:
    c.execute("DELETE FROM compacted WHERE profile = ?", (profile,))


@dataclass(frozen=True)
class Model:
    """A learned metric or map: a similarity that belongs to one generation of one space.

    Attributes
    ----------
    name : str
        Its name in a search.
    kind : str
        "metric" or "map".
    space : str
        The space it was learned over.
    generation : int
        Of that space.
    profile : str
        The profile whose judgements it was learned from.
    position : int
        The last line of the log it was learned from.
    made : str
        When it was made.
    files : mapping of str to str
        Its files.
    options : mapping
        The options it was made with.
    figures : mapping
        The results.

    See Also
    --------
    MapPoints : where a map draws pictures.
    """

    name: str
    kind: str
    space: str
    generation: int
    profile: str
    position: int
    made: str
    files: Mapping[str, str]
    options: Mapping[str, Any]
    figures: Mapping[str, Any]


def models(store: Store) -> dict[str, Model]:
    """Return every learned model by name."""
    rows = store.all("SELECT * FROM models ORDER BY name")
    return {row["name"]: _model(row) for row in rows}


def model(store: Store, name: str) -> Model | None:
    """Return a learned model."""
    rows = store.all("SELECT * FROM models WHERE name = ?", (name,))
    return _model(rows[0]) if rows else None


def bodies(store: Store, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the bodies of lines of the log by number."""
    rows = store.each(f"SELECT {LINE} FROM log WHERE number IN ({{}})", numbers)
    return {row["number"]: json.loads(check_line(row)["body"]) for row in rows}


def last_vector(store: Store, space: str, generation: int) -> int:
    """Return the newest number of a fresh row; 0 without any."""
    sql = "SELECT max(number) FROM vectors WHERE space = ? AND generation = ?"
    return int(store.one(sql, (space, generation)) or 0)


def last_tombstone(store: Store) -> int:
    """Return the newest number of a removed picture; 0 without any."""
    return int(store.one("SELECT max(number) FROM tombstones") or 0)


def _model(row: Row) -> Model:
    return Model(
        row["name"], row["kind"], row["space"], row["generation"], row["profile"],
        row["position"], row["made"], check_names(read_json(row["files"], "files")),
        read_json(row["options"], "options"), read_json(row["figures"], "figures"),
    )  # fmt: skip


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_model(c: Transaction, made: Model) -> None:
    """Store a model, in place of one with the same name."""
    c.execute(
        "INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            made.name, made.kind, made.space, made.generation, made.profile, made.position,
            made.made, json.dumps(dict(made.files)), json.dumps(dict(made.options)),
            json.dumps(dict(made.figures)),
        ),
    )  # fmt: skip


def drop_model(c: Transaction, name: str) -> None:
    c.execute("DELETE FROM models WHERE name = ?", (name,))


def rename_model(c: Transaction, name: str, new: str) -> None:
    c.execute("UPDATE models SET name = ? WHERE name = ?", (new, name))
