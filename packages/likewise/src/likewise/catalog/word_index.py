"""The full-text index: one document a picture, of its tags, folder names, file names and camera.

Triggers mark the pictures whose tags, files, camera or metadata a transaction changes
(``written_stale``); :func:`refresh_written` rewrites their documents inside the same transaction. A
name is indexed whole and in pieces, so that ``house`` or ``412`` finds ``beachHouse2`` or
``IMG_0412``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.cache import cache_of
from likewise.catalog.database import Transaction, parts
from likewise.catalog.engine_sync import note_changed
from likewise.catalog.fact_table import facts_of, find_facts
from likewise.catalog.moments import refresh_moments

if TYPE_CHECKING:
    from likewise.catalog.store import Store

PREFIX_FROM = 3
"""Letters from which on an ASCII word finds words that begin with it."""
_RUN = re.compile(r"[^\W_]+")
_ZEROS = re.compile(r"^0+(?=\d)")
_ASCII_PIECES = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=1024)  # consecutive pictures share folders
def spread(name: str) -> str:
    """Return a name with its pieces, as the index stores it.

    >>> spread("beachHouse2")
    'beachHouse2 beach House 2'
    >>> spread("IMG_0412")
    'IMG_0412 412'
    """
    found = [plain(name)]
    for run in _RUN.findall(found[0]):
        pieces = _ASCII_PIECES.findall(run) if run.isascii() else list(_pieces(run))
        found += pieces if len(pieces) > 1 else []
        # Cameras write numbers with leading zeros.
        found += [short for one in pieces if (short := _ZEROS.sub("", one)) != one]
    return " ".join(found)


def _pieces(run: str) -> Iterator[str]:
    """Cut letters and digits where their kind changes: ``aB``, ``ABc``, ``a1``, ``1a``."""
    start = 0
    for at in range(1, len(run)):
        before, here = run[at - 1], run[at]
        after = run[at + 1] if at + 1 < len(run) else ""
        if (
            before.isdigit() != here.isdigit()
            or (before.islower() and here.isupper())
            or (before.isupper() and here.isupper() and after.islower())
        ):
            yield run[start:at]
            start = at
    yield run[start:]


def plain(text: str) -> str:
    """Return text without control characters and surrogates."""
    if text.isprintable():
        return text
    return "".join(" " if unicodedata.category(one) in ("Cc", "Cs") else one for one in text)


def fold(text: str) -> str:
    """Return text without case, accents and extra spaces.

    >>> fold("  Crème_BRÛLÉE ")
    'creme brulee'
    """
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(one for one in apart if not unicodedata.combining(one))
    return " ".join(_RUN.findall(bare))


def other_numbers(word: str) -> list[str]:
    """Return the singular or plural forms of an English word that do not begin with it.

    >>> other_numbers("cities"), other_numbers("city"), other_numbers("gardens")
    (['citie', 'city'], ['cities'], ['garden'])
    """
    found = []
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        found.append(word[:-1])
        if word.endswith("ies"):
            found.append(f"{word[:-3]}y")
        elif word.endswith(("ches", "shes", "xes", "sses", "zes", "oes")):
            found.append(word[:-2])
        elif word.endswith("ves"):
            found += [f"{word[:-3]}f", f"{word[:-3]}fe"]
    elif len(word) > 2 and word.endswith("y") and word[-2] not in "aeiou":
        found.append(f"{word[:-1]}ies")
    elif word.endswith("f"):
        found.append(f"{word[:-1]}ves")
    elif word.endswith("fe"):
        found.append(f"{word[:-2]}ves")
    return found or [f"{word}s"]


def finds_beginnings(word: str) -> bool:
    """Return whether a typed word also finds words that begin with it."""
    return len(word) >= PREFIX_FROM or not word.isascii()


FIELDS = ("tags", "suggested", "folders", "files", "camera")
"""The columns of the index."""
SEARCHED = (*FIELDS, "facts")
"""The fields that typed words are looked up in; facts have a table of their own."""
_CHUNK = 500
_SEPARATORS = re.compile(r"[/\\]")


class Written(NamedTuple):
    """The text of a picture for the index: unchanged names, by field."""

    tags: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    camera: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def document(self) -> tuple[str, ...]:
        """Return the row of the index."""
        return tuple(" ".join(map(spread, names)) for names in self[: len(FIELDS)])


PutDocuments = Callable[[Transaction, Mapping[int, tuple[str, ...]]], None]
"""Writes documents of pictures that have none, by id."""


def refresh_written(c: Transaction, put_documents: PutDocuments) -> None:
    """Rewrite the documents that this transaction made outdated."""
    while stale := [
        row[0] for row in c.execute("SELECT image FROM written_stale LIMIT ?", (_CHUNK,))
    ]:
        marks = [(image,) for image in stale]
        found = read_written(c, stale)
        c.executemany("DELETE FROM written WHERE rowid = ?", marks)
        put_documents(c, {image: one.document() for image, one in found.items()})
        refresh_moments(c, stale)
        # Other engines filter by tags, folders and dates.
        note_changed(c, stale)
        c.executemany("DELETE FROM written_stale WHERE image = ?", marks)


def read_written(c: Transaction, images: Sequence[int]) -> dict[int, Written]:
    """Return the text of some pictures (at most 500) from the tables, by id."""
    marks = ", ".join("?" * len(images))
    found: dict[int, dict[str, dict[str, None]]] = {
        row[0]: {field: {} for field in FIELDS}
        for row in c.execute(f"SELECT id FROM images WHERE id IN ({marks}) ORDER BY id", images)
    }
    rows = c.execute(
        f"SELECT image, tag, source FROM tags WHERE image IN ({marks}) ORDER BY 1, 2", images
    )
    for image, tag, source in rows:
        found[image]["suggested" if source == "suggested" else "tags"][tag] = None
    roots = [row[0] for row in c.execute("SELECT path FROM roots ORDER BY length(path), path")]
    rows = c.execute(f"SELECT image, path FROM files WHERE image IN ({marks}) ORDER BY 2", images)
    for image, path in rows:
        folders, name = names_of_path(path, roots)
        found[image]["folders"] |= dict.fromkeys(folders)
        found[image]["files"][name] = None
    for image, camera in c.execute(
        f"SELECT image, camera FROM cameras WHERE image IN ({marks})", images
    ):
        found[image]["camera"][camera] = None
    rows = c.execute(
        f"SELECT id, metadata FROM images WHERE id IN ({marks}) AND metadata <> '{{}}'", images
    )
    for image, text in rows:
        said = _camera_of(text)
        if said:
            found[image]["camera"][said] = None
    return {
        image: Written(*(tuple(fields[field]) for field in FIELDS))
        for image, fields in found.items()
    }


def _camera_of(metadata: str) -> str | None:
    """Return the camera that metadata names."""
    try:
        found = json.loads(metadata).get("camera")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None


def names_of_path(path: str, roots: Iterable[str]) -> tuple[list[str], str]:
    """Return the names of a file's folders, starting with the added one, and its own name.

    ``roots`` are sorted by length, so that the outermost of nested folders counts.
    """
    parts = [part for part in _SEPARATORS.split(path) if part]
    folders, name = parts[:-1], parts[-1] if parts else ""
    for root in roots:
        above = [part for part in _SEPARATORS.split(root) if part]
        if parts == above:
            return folders[-1:], name
        if parts[: len(above)] == above:
            return folders[max(len(above) - 1, 0) :], name
    return folders[-1:], name


MAX_FOUND = 200_000
"""Pictures that one word finds in one field, at most."""

Ids = NDArray[np.int64]


def find_word(store: Store, field: str, words: Sequence[str], *, beginnings: bool) -> Ids:
    """Return the pictures that have one of the words in a field, ascending.

    With ``beginnings``, words that begin with the first one count too.
    """
    assert field in SEARCHED
    if field == "facts":
        found = find_facts(store, map(fold, words), beginnings=beginnings, most=MAX_FOUND)
        return np.array(found, np.int64)
    return np.array(store.catalog.find_words(field, words, beginnings, MAX_FOUND), np.int64)


def find_dates(store: Store, spans: Iterable[tuple[str, str]]) -> Ids:
    """Return the pictures taken in one of some ranges [from, to), ascending; ISO dates."""
    found: set[int] = set()
    for first, end in spans:
        rows = store.all("SELECT image FROM moments WHERE moment >= ? AND moment < ?", (first, end))
        found |= {row[0] for row in rows}
    return np.array(sorted(found), np.int64)


def find_month(store: Store, month: int) -> Ids:
    """Return the pictures taken in a month of any year, ascending."""
    rows = store.all(
        "SELECT image FROM moments WHERE substr(moment, 6, 2) = ? ORDER BY image",
        (f"{month:02d}",),
    )
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def find_tag(store: Store, tag: str) -> dict[int, bool]:
    """Return the pictures with a tag, and whether it is confirmed."""
    rows = store.all("SELECT image, source <> 'suggested' FROM tags WHERE tag = ?", (tag,))
    return {row[0]: bool(row[1]) for row in rows}


def tag_names(store: Store, most: int) -> list[str]:
    """Return the most frequent tags."""
    sql = "SELECT tag FROM tags GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ?"
    return store.column(sql, (most,))


def written_about(store: Store, images: Iterable[int]) -> dict[int, Written]:
    """Return the indexed text of pictures, by id."""
    found: dict[int, Written] = {}
    for part in parts(list(images)):
        with store.translate_errors():
            found |= read_written(store.connection, part)
        for image, facts in facts_of(store, part).items():
            if image in found:
                texts = tuple(dict.fromkeys(one.text for one in facts))
                found[image] = found[image]._replace(facts=texts)
    return found


def loose_words(store: Store) -> list[str]:
    """Return outdated documents; empty when all is well."""
    wrong = [f"picture {row[0]} is out of date in the index of words"
             for row in store.all("SELECT image FROM written_stale")]  # fmt: skip
    held = {
        row[0]: tuple(row[1:])
        for row in store.all(f"SELECT rowid, {', '.join(FIELDS)} FROM written")
    }
    due = {
        image: one.document() for image, one in written_about(store, sorted(store.ids())).items()
    }
    wrong += [
        f"picture {image} is not in the index of words as it is written about"
        for image in sorted(held.keys() | due.keys())
        if held.get(image) != due.get(image)
    ]
    return wrong + store.check_index_of_words()


def vectors_of_texts(store: Store, model: str, texts: Iterable[str]) -> dict[str, bytes]:
    """Return the cached vectors that a model made of texts."""
    keys = {_vector_key(model, text): text for text in texts}
    return {keys[key]: one for key, one in cache_of(store.root).get_many(keys).items()}


def keep_text_vectors(store: Store, model: str, vectors: Mapping[str, bytes]) -> None:
    """Cache vectors of texts outside the catalog, because a search must not change it."""
    for text, one in vectors.items():
        cache_of(store.root).put(_vector_key(model, text), one)


def _vector_key(model: str, text: str) -> str:
    return f"text {model} {text}"


def sample_ids(store: Store, n: int, most: int) -> list[int]:
    """Return at most so many ids of the first ``n`` pictures, evenly spaced."""
    return store.column(
        """SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place
                           FROM images ORDER BY id LIMIT ?) AS numbered
           WHERE place % ? = 0""",
        (n, max(1, -(-n // most))),
    )
