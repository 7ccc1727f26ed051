"""Pictures by id or path, and their records."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from likewise.catalog import filters, listing
from likewise.catalog.changes import put_setting
from likewise.catalog.content import digest_of_file, is_text
from likewise.catalog.filters import absolute, plain_where
from likewise.catalog.store import FileRow, ImageRow, Store
from likewise.errors import InvalidInput, LostPicture, UnknownPicture

SECRET = "server_secret"
"""The setting with the key that names of pictures on a server are made with."""

PictureName = int | str | os.PathLike[str]
"""A picture of the collection: its id, or the path of its file."""


class Pictures:
    """The pictures of a collection: ids, records, dates, sorted pages."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def id_of(self, picture: PictureName) -> int:
        """Return the id of a picture given by id or path."""
        if isinstance(picture, int | np.integer) and not isinstance(picture, bool):
            if not self._store.present([int(picture)]):
                raise UnknownPicture(f"there is no picture with id {picture}")
            return int(picture)
        if not isinstance(picture, str | os.PathLike):
            raise InvalidInput(f"{picture!r} is no picture; an id or a path expected")
        place = str(absolute(picture))
        row = self._store.file(place) if is_text(place) else None
        if row is None or row.image is None:
            raise UnknownPicture(f"{place} is not in the collection")
        return row.image

    def ids_of(self, pictures: Iterable[PictureName], name: str) -> list[int]:
        """Return the ids of pictures, each once; ``name`` is the parameter to name in errors."""
        if isinstance(pictures, str | bytes | os.PathLike) or not isinstance(pictures, Iterable):
            raise InvalidInput(f"{name} is {pictures!r}; a list of pictures expected")
        given = list(pictures)
        if given and all(type(picture) is int for picture in given):
            # Thousands of pictures may be listed, so they share one query.
            ids = list(dict.fromkeys(picture for picture in given if isinstance(picture, int)))
            here = self._store.present(ids)
            if len(here) == len(ids):
                return ids
        return list(dict.fromkeys(map(self.id_of, given)))

    def row(self, picture: PictureName) -> ImageRow:
        """Return the record of a picture."""
        row = self._store.image(picture if type(picture) is int else self.id_of(picture))
        if row is None:
            raise UnknownPicture(f"there is no picture with id {picture}")
        return row

    def rows(self, ids: Iterable[int]) -> Mapping[int, ImageRow]:
        """Return the records of pictures by id; removed pictures are left out."""
        return self._store.images(ids)

    def all(self) -> Iterable[ImageRow]:
        """Yield the records of all pictures, by id."""
        return self._store.every_image()

    def page(
        self,
        *,
        sort: str = "date",
        descending: bool = True,
        where: Mapping[str, Any] | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> tuple[int, list[ImageRow]]:
        """Return how many pictures match, and one page of them in order."""
        conditions = plain_where(where) if where else {}
        total, ids = listing.list_images(self._store, conditions, sort, descending, offset, limit)
        rows = self._store.images(ids)
        return total, [rows[i] for i in ids if i in rows]

    def dates(self, ids: Iterable[int]) -> Mapping[int, str]:
        """Return when pictures were taken, where that is known, as ISO text by id."""
        return listing.dates_of(self._store, ids)

    def content_key(self, picture: int) -> bytes:
        """Return the digest of a picture's content."""
        key = self._store.hash_of(picture)
        if key is None:
            raise UnknownPicture(f"there is no picture with id {picture}")
        return key

    def content_keys(self, ids: Iterable[int]) -> Mapping[int, bytes]:
        """Return the content digests of pictures by id; removed pictures are left out."""
        return self._store.hashes(ids)

    def file_of(self, picture: int) -> str:
        """Return a file with this content, preferring one whose size and time are unchanged."""
        said = "no file holds this picture any more"
        for path in self._store.files_of(picture):
            row = self._store.file(path)
            if row is None:
                continue  # the picture was removed just now
            try:
                now = os.stat(path)
                if (now.st_size, now.st_mtime_ns) == (row.size, row.mtime_ns) or (
                    now.st_size == row.size and digest_of_file(path) == self._store.hash_of(picture)
                ):
                    return path
                said = "the picture's file is not what it was"
            except OSError as error:
                said = f"the picture's file cannot be read: {error.strerror}"
        raise LostPicture(f"{said}; sync the collection")

    def problems(self) -> list[FileRow]:
        """Return the files that could not be used, with the reason."""
        return self._store.problems()

    def find_folders(self, name: str) -> list[str]:
        """Return the folders that a filter with this path, name or part of a name means."""
        return filters.find_folders(self._store, name)

    def folders(self) -> list[str]:
        """Return the folders that hold pictures, by path."""
        return self._store.column("SELECT DISTINCT folder FROM files ORDER BY 1")

    def roots(self) -> list[str]:
        """Return the folders and files that were added, by path."""
        return self._store.roots()

    def secret(self) -> bytes:
        """Return the random key from which a server derives names of pictures.

        A new collection has one.  An earlier one gets it when it is first served; where it is
        read-only, the key is kept in memory.
        """
        found = self._store.setting(SECRET)
        if found is None and self._store.read_only:
            return secrets.token_bytes(16)
        if found is None:
            with self._store.write() as c:
                found = self._store.setting(SECRET) or new_secret()
                put_setting(c, SECRET, found)
        return bytes.fromhex(found)


def new_secret() -> str:
    """Make a random key for names of pictures."""
    return secrets.token_hex(16)
