"""Questions to the index of what people wrote: pictures by a word, by a date, and what they say."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.store import Store, marks, parts
from likewise.catalog.sums import blob_sum
from likewise.catalog.written_index import FIELDS, Written, read_written
from likewise.errors import CollectionError

MOST = 200_000
"""Pictures that one word finds in one field, at most: a word that all have tells none apart."""

Ids = NDArray[np.int64]


def find_word(store: Store, field: str, words: Sequence[str], *, beginnings: bool) -> Ids:
    """Ids of the pictures that have one of the words in a field, ascending.

    With ``beginnings`` words that begin with the first one count too.
    """
    assert field in FIELDS
    return np.array(store.catalog.find_words(field, words, beginnings, MOST), np.int64)


def find_dates(store: Store, spans: Iterable[tuple[str, str]]) -> Ids:
    """Ids of the pictures taken in one of some spans [from, to), ascending; ISO dates."""
    found: set[int] = set()
    for first, end in spans:
        rows = store.all("SELECT image FROM moments WHERE moment >= ? AND moment < ?", (first, end))
        found |= {row[0] for row in rows}
    return np.array(sorted(found), np.int64)


def find_month(store: Store, month: int) -> Ids:
    """Ids of the pictures taken in a month of any year, ascending."""
    rows = store.all(
        "SELECT image FROM moments WHERE substr(moment, 6, 2) = ? ORDER BY image",
        (f"{month:02d}",),
    )
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def find_tag(store: Store, tag: str) -> dict[int, bool]:
    """Pictures with a tag, and whether it stands (or is only suggested)."""
    rows = store.all("SELECT image, source <> 'suggested' FROM tags WHERE tag = ?", (tag,))
    return {row[0]: bool(row[1]) for row in rows}


def tag_names(store: Store, most: int) -> list[str]:
    """The most frequent tags."""
    rows = store.all(
        "SELECT tag FROM tags GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ?", (most,)
    )
    return [row[0] for row in rows]


def written_about(store: Store, images: Iterable[int]) -> dict[int, Written]:
    """What is written about pictures, by id."""
    found: dict[int, Written] = {}
    for part in parts(list(images)):
        with store.telling():
            found |= read_written(store.connection, part)
    return found


def loose_words(store: Store) -> list[str]:
    """Documents that are not what the tables say; empty when all is well."""
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
    """What a model made of texts, as far as it is kept."""
    found: dict[str, bytes] = {}
    for part in parts(list(texts)):
        rows = store.all(
            f"""SELECT text, vector, sum FROM text_vectors
                WHERE model = ? AND text IN ({marks(part)})""",
            (model, *part),
        )
        # One that is not what was written is made again.
        found |= {
            text: bytes(vector)
            for text, vector, due in rows
            if blob_sum(vector, model, text) == due
        }
    return found


def keep_text_vectors(store: Store, model: str, vectors: Mapping[str, bytes]) -> None:
    """Keep what a model made of texts, where that is possible; what older models made goes.

    Whoever only searches may not be allowed to write, and must not wait for who does: vectors that
    are not kept are made again next time.
    """
    with suppress(CollectionError, sqlite3.OperationalError), store.write() as c:
        c.execute("DELETE FROM text_vectors WHERE model <> ?", (model,))
        c.executemany(
            "INSERT OR REPLACE INTO text_vectors VALUES (?, ?, ?, ?)",
            [(model, text, one, blob_sum(one, model, text)) for text, one in vectors.items()],
        )


def sample_ids(store: Store, n: int, most: int) -> list[int]:
    """At most so many ids of the first ``n`` pictures, evenly spaced."""
    step = max(1, -(-n // most))
    rows = store.all(
        """SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place
                           FROM images ORDER BY id LIMIT ?) AS numbered
           WHERE place % ? = 0""",
        (n, step),
    )
    return [row[0] for row in rows]
