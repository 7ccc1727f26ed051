"""The index of what people wrote: a document a picture, brought up to date before a commit.

Triggers mark the pictures whose tags, files, camera or metadata a transaction changes
(``written_stale``); :func:`refresh_written` writes their documents anew inside that transaction, so
that a reader never sees one without the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from likewise.catalog.database import Transaction
from likewise.catalog.moments import refresh_moments
from likewise.catalog.unshipped import note_unshipped
from likewise.catalog.written_words import spread

FIELDS = ("tags", "suggested", "folders", "files", "camera")
"""The columns of the index."""
_CHUNK = 500
_SEPARATORS = re.compile(r"[/\\]")


class Written(NamedTuple):
    """What is written about a picture: names as they stand, by field."""

    tags: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    camera: tuple[str, ...] = ()

    def document(self) -> tuple[str, ...]:
        """A row of the index."""
        return tuple(" ".join(map(spread, names)) for names in self)


PutDocuments = Callable[[Transaction, Mapping[int, tuple[str, ...]]], None]
"""Writes documents of pictures that have none, by id: each database has an index of its own."""


def refresh_written(c: Transaction, put_documents: PutDocuments) -> None:
    """Inside a transaction: write the documents that it left out of date."""
    while stale := [
        row[0] for row in c.execute("SELECT image FROM written_stale LIMIT ?", (_CHUNK,))
    ]:
        marks = [(image,) for image in stale]
        found = read_written(c, stale)
        c.executemany("DELETE FROM written WHERE rowid = ?", marks)
        put_documents(c, {image: one.document() for image, one in found.items()})
        refresh_moments(c, stale)
        # Tags, folders and dates are what other engines filter by.
        note_unshipped(c, stale)
        c.executemany("DELETE FROM written_stale WHERE image = ?", marks)


def read_written(c: Transaction, images: Sequence[int]) -> dict[int, Written]:
    """What is written about some pictures (at most 500), as the tables have it; by id."""
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
    """A camera that somebody's own metadata names."""
    try:
        found = json.loads(metadata).get("camera")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None


def names_of_path(path: str, roots: Iterable[str]) -> tuple[list[str], str]:
    """Names of the folders of a file, from what was added downwards, and its own name.

    Folders above what was added say where a collection lies, and nothing about its pictures.
    ``roots`` come shortest first: of nested ones the outermost counts.
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
