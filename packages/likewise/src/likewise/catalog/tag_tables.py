"""The tables of tags: their names, who gave them, and the lines of the log about them.

A picture has a tag if some source gives it and no person refused it.  A person takes precedence
over files, and the latest statement over earlier ones.  ``tags`` holds the result, one row per
picture and tag with the best source; :func:`settle` updates it after every change.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from likewise.catalog.database import Row, marks
from likewise.catalog.store import Store, Transaction
from likewise.catalog.sums import LINE, check_line
from likewise.errors import InvalidInput

MAX_LENGTH = 200
"""Characters of a tag, at most."""
# Invisible characters that words and emoji need: joiners between two others, and the letters that
# make a black flag the flag of a region.
_WITHIN = (
    "(?<=[^\\s\u200c\u200d])[\u200c\u200d](?=[^\\s\u200c\u200d])"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f"
)
_HIDDEN, _SIGN = re.compile(_WITHIN), re.compile(f"({_WITHIN})|.", re.DOTALL)


def clean(tag: object) -> str:
    """Return a tag in normal form: composed letters, single spaces, nothing invisible.

    Joiners inside a word or an emoji stay.

    >>> clean("  New   York ")
    'New York'
    """
    if not isinstance(tag, str):
        raise InvalidInput(f"{tag!r} is no tag; text expected")
    plain = " ".join(unicodedata.normalize("NFC", tag).split())
    if not plain:
        raise InvalidInput("a tag is empty; text expected")
    if len(plain) > MAX_LENGTH:
        raise InvalidInput(
            f"the tag {plain[:20]!r}… has {len(plain)} characters; {MAX_LENGTH} at most"
        )
    if not _HIDDEN.sub("", plain).isprintable():
        raise InvalidInput(f"the tag {plain!r} holds signs that cannot be printed")
    return plain


def clean_all(tags: Iterable[object]) -> list[str]:
    """Return tags in normal form, each once, in order; a single text is refused."""
    if isinstance(tags, str | bytes):
        raise InvalidInput(f"{tags!r} is one tag; a list of tags expected")
    return list(dict.fromkeys(map(clean, tags)))


def usable(tags: Iterable[str]) -> list[str]:
    """Return the tags from a file that can be stored, in normal form."""
    found = []
    for tag in tags:
        try:
            found.append(clean(_SIGN.sub(_printable_sign, tag)))
        except InvalidInput:
            continue
    return list(dict.fromkeys(found))


def _printable_sign(sign: re.Match[str]) -> str:
    text = sign[0]
    return text if sign[1] or text.isprintable() or text.isspace() else ""


def fold_case(text: str) -> str:
    """Return text for comparing in any case, in any alphabet."""
    return unicodedata.normalize("NFC", text).casefold()


def near(tag: str, every: Iterable[str]) -> list[str]:
    """Return up to three tags with a similar spelling."""
    plain = {name.casefold(): name for name in every}
    close = difflib.get_close_matches(tag.casefold(), plain, n=3, cutoff=0.7)
    return [plain[name] for name in close]


USER, ACCEPTED, FILE, SIDECAR = "user", "accepted", "file", "sidecar"
XMP, IPTC, FOLDER, SUGGESTED = "xmp", "iptc", "folder", "suggested"
SOURCES = (USER, ACCEPTED, FILE, SIDECAR, XMP, IPTC, FOLDER, SUGGESTED)
"""The sources of tags, the most important first; a tag is listed under the first."""
PEOPLE = (USER, ACCEPTED)
ACCEPT, REJECT, WITHDRAW = "accept", "reject", "withdraw"
KINDS = (ACCEPT, REJECT, WITHDRAW)
"""Lines of the log about tags; no profile learns from them."""


class TagRow(NamedTuple):
    """A tag, how many pictures have it, and how many by each source.

    Unconfirmed suggestions are listed by source and not counted.

    See Also
    --------
    Suggestion : a tag a picture may deserve.
    """

    tag: str
    pictures: int
    sources: Mapping[str, int]


class Word(NamedTuple):
    """A person's latest statement about a picture and a tag."""

    accepted: bool
    source: str
    line: int


Pair = tuple[int, str]


# -- reads ----------------------------------------------------------------------------------


def tags_of_many(store: Store, ids: Iterable[int]) -> dict[int, list[tuple[str, str]]]:
    """Return (tag, source) of pictures by id; pictures without tags are left out."""
    found: dict[int, list[tuple[str, str]]] = {}
    sql = "SELECT image, tag, source FROM tags WHERE image IN ({}) ORDER BY 1, 2"
    for image, tag, source in store.each(sql, ids):
        found.setdefault(image, []).append((tag, source))
    return found


def sources_of(store: Store, image: int) -> dict[str, list[str]]:
    """Return the tags of a picture, each with all its sources."""
    rows = store.all(
        """SELECT t.tag, s.source FROM tags t JOIN tag_sources s ON s.image = t.image
           AND s.tag = t.tag WHERE t.image = ? ORDER BY t.tag""",
        (image,),
    )
    found: dict[str, list[str]] = {}
    for tag, source in rows:
        found.setdefault(tag, []).append(source)
    return {tag: sorted(sources, key=rank) for tag, sources in found.items()}


def counts(store: Store, prefix: str = "", limit: int | None = None) -> list[TagRow]:
    """Return the tags that begin with a prefix and their counts, the most frequent first."""
    rows = store.all(
        "SELECT tag, sum(CASE source WHEN 'suggested' THEN 0 ELSE 1 END) FROM tags "
        "GROUP BY tag ORDER BY 2 DESC, tag"
    )
    if prefix:
        # SQLite folds ASCII letters only.
        plain = fold_case(prefix)
        rows = [row for row in rows if fold_case(row[0]).startswith(plain)]
    rows = rows if limit is None else rows[:limit]
    by_source: dict[str, dict[str, int]] = {row[0]: {} for row in rows}
    sql = "SELECT tag, source, count(*) FROM tags WHERE tag IN ({}) GROUP BY tag, source"
    for tag, source, n in store.each(sql, list(by_source)):
        by_source[tag][source] = n
    return [
        TagRow(tag, n, dict(sorted(by_source[tag].items(), key=lambda one: rank(one[0]))))
        for tag, n in rows
    ]


def known_tags(store: Store, tags: Sequence[str]) -> set[str]:
    """Return those of the tags that some picture has."""
    return {row[0] for row in store.each("SELECT DISTINCT tag FROM tags WHERE tag IN ({})", tags)}


def evidence(store: Store, ids: Iterable[int] | None = None) -> dict[int, list[str]]:
    """Return the tags that suggestions are made from: all but unconfirmed suggestions."""
    found: dict[int, list[str]] = {}
    sql = "SELECT image, tag FROM tags WHERE source <> 'suggested'"
    if ids is None:
        rows: Iterable[Any] = store.all(f"{sql} ORDER BY 1, 2")
    else:
        rows = store.each(sql + " AND image IN ({}) ORDER BY 1, 2", ids)
    for image, tag in rows:
        found.setdefault(image, []).append(tag)
    return found


def evidence_number(store: Store) -> int:
    """Return the number of the newest change of the evidence; 0 without any."""
    return int(store.one("SELECT max(number) FROM tag_changes") or 0)


def changed_since(store: Store, number: int) -> list[int]:
    """Return the pictures whose evidence changed after a number; some may be removed."""
    return store.column("SELECT image FROM tag_changes WHERE number > ? ORDER BY number", (number,))


def refused_tags(store: Store, digest: bytes) -> set[str]:
    """Return the tags that a person refused for a picture."""
    sql = "SELECT tag FROM tag_words WHERE hash = ? AND accepted = 0"
    return set(store.column(sql, (digest,)))


def refused_of_many(store: Store, ids: Iterable[int]) -> dict[int, set[str]]:
    """Return the refused tags of pictures by id; pictures without any are left out."""
    found: dict[int, set[str]] = {}
    sql = """SELECT i.id, w.tag FROM images i JOIN tag_words w ON w.hash = i.hash
             WHERE w.accepted = 0 AND i.id IN ({})"""
    for image, tag in store.each(sql, ids):
        found.setdefault(image, set()).add(tag)
    return found


def words(store: Store) -> dict[tuple[bytes, str], Word]:
    """Return every latest statement of a person, by content digest and tag."""
    rows = store.all("SELECT hash, tag, accepted, source, line FROM tag_words")
    return {(bytes(r[0]), r[1]): Word(bool(r[2]), r[3], r[4]) for r in rows}


def picture_files(store: Store) -> list[tuple[str, int]]:
    """Return (path, picture) of every file that holds a picture."""
    rows = store.all("SELECT path, image FROM files WHERE image IS NOT NULL ORDER BY path")
    return [(row[0], row[1]) for row in rows]


def tags_by_source(store: Store, source: str) -> dict[int, set[str]]:
    """Return all tags of one source, by picture."""
    found: dict[int, set[str]] = {}
    rows = store.all("SELECT image, tag FROM tag_sources WHERE source = ?", (source,))
    for image, tag in rows:
        found.setdefault(image, set()).add(tag)
    return found


def suggested_images(store: Store, tag: str) -> list[int]:
    """Return the pictures for which a tag is only suggested."""
    sql = "SELECT image FROM tags WHERE tag = ? AND source = 'suggested' ORDER BY image"
    return store.column(sql, (tag,))


def loose_tags(store: Store) -> list[str]:
    """Return rows about tags that contradict each other; empty when all is well."""
    questions = {
        "picture {} has the tag {!r} that nobody says": """SELECT image, tag FROM tags t
            WHERE NOT EXISTS (SELECT 1 FROM tag_sources s
                WHERE s.image = t.image AND s.tag = t.tag)""",
        "picture {} has the tag {!r} that was refused": """SELECT t.image, t.tag FROM tags t
            JOIN images i ON i.id = t.image JOIN tag_words w ON w.hash = i.hash AND w.tag = t.tag
            WHERE w.accepted = 0""",
        "picture {} lacks the tag {!r} that its sources say": """
            SELECT s.image, s.tag FROM tag_sources s JOIN images i ON i.id = s.image
            WHERE NOT EXISTS (SELECT 1 FROM tags t WHERE t.image = s.image AND t.tag = s.tag)
            AND NOT EXISTS (SELECT 1 FROM tag_words w
                WHERE w.hash = i.hash AND w.tag = s.tag AND w.accepted = 0)""",
        "picture {} lacks the tag {!r} that a person gave it": """SELECT i.id, w.tag
            FROM tag_words w JOIN images i ON i.hash = w.hash
            WHERE w.accepted = 1 AND NOT EXISTS (SELECT 1 FROM tags t
                WHERE t.image = i.id AND t.tag = w.tag)""",
    }
    return [text.format(*row) for text, sql in questions.items() for row in store.all(sql)]


def rank(source: str) -> tuple[int, str]:
    """Return the rank of a source; unknown sources come just before suggestions."""
    known_ = source in SOURCES
    return (SOURCES.index(source) if known_ else len(SOURCES) - 2, "" if known_ else source)


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_sources(c: Transaction, source: str, said: Iterable[Pair]) -> None:
    """Add tags of one source."""
    pairs = list(said)
    c.executemany(
        "INSERT OR IGNORE INTO tag_sources VALUES (?, ?, ?)",
        [(image, tag, source) for image, tag in pairs],
    )
    settle(c, pairs)


def changes_of_source(
    c: Transaction, source: str, said: Mapping[int, Iterable[str]]
) -> tuple[list[Pair], list[Pair]]:
    """Return the (removed, added) tags if these replaced all of one source for these pictures."""
    gone, come = list[Pair](), list[Pair]()
    for image, tags in said.items():
        rows = c.execute(
            "SELECT tag FROM tag_sources WHERE image = ? AND source = ?", (image, source)
        )
        before, now = {row[0] for row in rows}, set(tags)
        gone += [(image, tag) for tag in sorted(before - now)]
        come += [(image, tag) for tag in sorted(now - before)]
    return gone, come


def replace_source(c: Transaction, source: str, said: Mapping[int, Iterable[str]]) -> int:
    """Replace all tags of one source for these pictures; return how many changed."""
    gone, come = changes_of_source(c, source, said)
    drop_sources(c, source, gone)
    put_sources(c, source, come)
    return len(gone) + len(come)


def drop_sources(c: Transaction, source: str, said: Iterable[Pair]) -> None:
    """Remove tags of one source."""
    pairs = list(said)
    c.executemany(
        "DELETE FROM tag_sources WHERE image = ? AND tag = ? AND source = ?",
        [(image, tag, source) for image, tag in pairs],
    )
    settle(c, pairs)


def put_word(c: Transaction, digest: bytes, tag: str, word: Word | None) -> None:
    """Store a person's latest statement about a picture and a tag; None removes it."""
    if word is None:
        c.execute("DELETE FROM tag_words WHERE hash = ? AND tag = ?", (digest, tag))
    else:
        c.execute("INSERT OR REPLACE INTO tag_words VALUES (?, ?, ?, ?, ?)", (digest, tag, *word))
    row = c.execute("SELECT id FROM images WHERE hash = ?", (digest,)).fetchone()
    if row is not None:
        _apply(c, row[0], tag, word)


def word_of(c: Transaction, digest: bytes, tag: str) -> tuple[bool, str] | None:
    """Return (accepted, source) of a person's latest statement, if there is one."""
    row = c.execute(
        "SELECT accepted, source FROM tag_words WHERE hash = ? AND tag = ?", (digest, tag)
    ).fetchone()
    return None if row is None else (bool(row[0]), row[1])


def line_of_word(c: Transaction, digest: bytes, tag: str) -> int | None:
    """Return the line of a person's latest statement, if there is one."""
    row = c.execute(
        "SELECT line FROM tag_words WHERE hash = ? AND tag = ?", (digest, tag)
    ).fetchone()
    return None if row is None else int(row[0])


def _apply(c: Transaction, image: int, tag: str, word: Word | None) -> None:
    """Apply a person's statement to the tag sources of a picture."""
    c.execute(
        f"DELETE FROM tag_sources WHERE image = ? AND tag = ? AND source IN ({marks(PEOPLE)})",
        (image, tag, *PEOPLE),
    )
    if word is not None and word.accepted:
        c.execute("INSERT INTO tag_sources VALUES (?, ?, ?)", (image, tag, word.source))
    settle(c, [(image, tag)])


def restore_tags(c: Transaction, image: int, digest: bytes) -> None:
    """Apply what people said earlier about the content of a new picture."""
    rows = c.execute(
        "SELECT tag, accepted, source, line FROM tag_words WHERE hash = ?", (digest,)
    ).fetchall()
    for tag, accepted, source, line in rows:
        _apply(c, image, tag, Word(bool(accepted), source, line))


def settle(c: Transaction, pairs: Iterable[Pair]) -> None:
    """Update ``tags`` from the sources and statements about these pictures and tags."""
    for image, tag in pairs:
        no = c.execute(
            """SELECT 1 FROM tag_words w JOIN images i ON i.hash = w.hash
               WHERE i.id = ? AND w.tag = ? AND w.accepted = 0""",
            (image, tag),
        ).fetchone()
        rows = c.execute(
            "SELECT source FROM tag_sources WHERE image = ? AND tag = ?", (image, tag)
        ).fetchall()
        if no is not None or not rows:
            c.execute("DELETE FROM tags WHERE image = ? AND tag = ?", (image, tag))
            continue
        best = min((row[0] for row in rows), key=rank)
        now = c.execute(
            "SELECT source FROM tags WHERE image = ? AND tag = ?", (image, tag)
        ).fetchone()
        # No conflict clause (OR …, an upsert): it would replace those inside the triggers.
        if now is None:
            c.execute("INSERT INTO tags VALUES (?, ?, ?)", (image, tag, best))
        elif now[0] != best:
            c.execute("UPDATE tags SET source = ? WHERE image = ? AND tag = ?", (best, image, tag))


_PAGE = 1000


class TagLine(NamedTuple):
    """A line of the log about tags; ``pictures`` are digests of their content.

    ``suggested`` are those for which the tags were suggested at the same time; ``who`` is the named
    key in use.
    """

    number: int
    kind: str
    made: str
    pictures: tuple[bytes, ...]
    tags: tuple[str, ...]
    source: str
    withdraws: int | None
    suggested: tuple[bytes, ...] = ()
    who: str | None = None


# List all kinds, so that SQLite uses the index of these lines.
_LINES = f"""SELECT {LINE} FROM log
    WHERE kind IN ('accept', 'reject', 'withdraw')"""
_WITHDRAWALS = """SELECT CAST(json_extract(body, '$.line') AS INTEGER) FROM log
    WHERE kind IN ('accept', 'reject', 'withdraw') AND kind = 'withdraw'"""
# A withdrawn withdrawal has no effect.
_TAKEN_BACK = f"{_WITHDRAWALS} AND number NOT IN ({_WITHDRAWALS})"
_STANDING = f"{_LINES} AND kind <> 'withdraw' AND number NOT IN ({_TAKEN_BACK})"


def lines(store: Store, newest: int | None = None) -> list[TagLine]:
    """Return the lines of the log about tags, oldest first."""
    rows = store.all(f"{_LINES} ORDER BY number DESC LIMIT ?", (-1 if newest is None else newest,))
    return [_line(row) for row in reversed(rows)]


def withdrawn_lines(store: Store) -> set[int]:
    """Return the numbers of the withdrawn lines."""
    return set(store.column(_TAKEN_BACK))


def active_line(store: Store, number: int | None) -> TagLine | None:
    """Return the newest line in effect, or the named line if it is in effect."""
    named = "" if number is None else " AND number = ?"
    rows = store.all(
        f"{_STANDING}{named} ORDER BY number DESC LIMIT 1", () if number is None else (number,)
    )
    return _line(rows[0]) if rows else None


def line_withdrawn_by(store: Store, withdrawal: int) -> TagLine | None:
    """Return the line that a withdrawal is about, unless the withdrawal was withdrawn."""
    rows = store.all(
        f"""{_LINES} AND kind <> 'withdraw' AND number = (SELECT CAST(json_extract(body, '$.line')
            AS INTEGER) FROM log WHERE number = ? AND kind = 'withdraw')
            AND ? NOT IN ({_WITHDRAWALS})""",
        (withdrawal, withdrawal),
    )
    return _line(rows[0]) if rows else None


def active_lines(store: Store, numbers: set[int]) -> list[TagLine]:
    """Return those of some lines that are about tags and in effect, oldest first."""
    rows = store.all(f"{_STANDING} ORDER BY number")
    return [_line(row) for row in rows if row["number"] in numbers]


def active_before(store: Store, line: TagLine) -> Iterator[TagLine]:
    """Yield older lines in effect, newest first."""
    # Most lines are about one picture: the database skips those that do not name it.
    named, wanted = "", list[Any]()
    if len(line.pictures) == 1:
        named, wanted = " AND instr(body, ?) > 0", [line.pictures[0].hex()]
    sql = f"{_STANDING}{named} AND number < ? ORDER BY number DESC LIMIT {_PAGE}"
    below = line.number
    while page := store.all(sql, (*wanted, below)):
        for row in page:
            yield _line(row)
        below = page[-1]["number"]


def _line(row: Row) -> TagLine:
    body = json.loads(check_line(row)["body"])
    return TagLine(
        row["number"], row["kind"], row["made"],
        tuple(bytes.fromhex(text) for text in body.get("pictures", ())),
        tuple(body.get("tags", ())), body.get("source", ""), body.get("line"),
        tuple(bytes.fromhex(text) for text in body.get("suggested", ())), body.get("who"),
    )  # fmt: skip
