"""The library: pictures by time, folder and place; stars, favourites, hidden pictures, albums.

Every change returns what it changed, so that it can be undone.  A change of several pictures is
also a bulk action (``collection/actions.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import listing as queries
from likewise.catalog import picture_marks as table
from likewise.catalog.action_tables import ALBUM, MARK, put_action
from likewise.catalog.filters import plain_where
from likewise.catalog.jobs import Progress, Report, silent
from likewise.catalog.listing import FolderRow, MonthRow, PlaceRow, TimelineEntry
from likewise.catalog.picture_marks import AlbumRow, Marks
from likewise.catalog.pictures import PictureName, Pictures
from likewise.catalog.store import ImageRow, Store, Transaction
from likewise.catalog.thumbnails import FIRST_SIDE, thumbnail
from likewise.errors import CollectionError, InvalidInput, LikewiseError, UnknownName
from likewise.images.decode import decode
from likewise.images.shots import Shot

_MAX_NAME = 100
_COMPARED = 160
"""Pixels of the longer side that copies are compared by."""
_MONTH = re.compile(r"\d{4}-\d\d")


@dataclass(frozen=True)
class Marked:
    """A change of marks: the pictures that changed, as they were before.

    ``action`` is its number among the bulk actions, None for a single picture.
    """

    before: Mapping[int, Marks] = field(default_factory=dict)
    action: int | None = None


class Duplicate(NamedTuple):
    """A picture of a group: its best similarity in it, and whether it mirrors the first one."""

    row: ImageRow
    score: float
    mirrored: bool


class DuplicateGroup(NamedTuple):
    """Copies of one picture; the first is the one to keep (:data:`KEEP_RULE`)."""

    pictures: list[Duplicate]


KEEP_RULE = "the most pixels; of those the oldest; of those the largest file; then the first added"
"""Which picture of a group is kept: a crop, a smaller or a re-saved copy is never better."""


@dataclass(frozen=True)
class AlbumChange:
    """Pictures that were put into an album or taken out; ``made``: the album is new.

    ``action`` is its number among the bulk actions, None for a single picture.
    """

    album: str
    pictures: tuple[int, ...]
    made: bool = False
    action: int | None = None


class Library:
    """Timeline, folders, places, marks, albums and duplicates of a collection."""

    def __init__(self, store: Store, pictures: Pictures) -> None:
        self._store, self._pictures = store, pictures

    # -- read ------------------------------------------------------------------------------

    def months(self, where: Mapping[str, Any] | None = None) -> list[MonthRow]:
        """Return the months that have pictures and how many, newest first."""
        return queries.months(self._store, plain_where(where or {}))

    def month(
        self,
        month: str,
        *,
        offset: int = 0,
        limit: int = 200,
        where: Mapping[str, Any] | None = None,
    ) -> list[TimelineEntry]:
        """Return the pictures of a month (YYYY-MM), newest first."""
        if not isinstance(month, str) or not _MONTH.fullmatch(month):
            raise InvalidInput(f"month is {month!r}; a month such as 2019-07 expected")
        return queries.month_page(self._store, plain_where(where or {}), month, offset, limit)

    def moment(self, picture: PictureName) -> tuple[str, str] | None:
        """Return when a picture was taken, and its source: ``exif``, ``name`` or ``file``."""
        image = self._pictures.id_of(picture)
        return queries.moments_of(self._store, [image]).get(image)

    def folders(self, where: Mapping[str, Any] | None = None) -> list[FolderRow]:
        """Return the folders of the collection as a tree."""
        return queries.folder_tree(self._store, plain_where(where or {}))

    def places(self, where: Mapping[str, Any] | None = None) -> list[PlaceRow]:
        """Return the pictures whose file says where they were taken."""
        return queries.places(self._store, plain_where(where or {}))

    def cameras(self) -> list[tuple[str, int]]:
        """Return the cameras and how many pictures each took, the most frequent first."""
        return queries.cameras(self._store)

    def shot(self, picture: PictureName) -> Shot | None:
        """Return how and where a picture was taken, as far as its file says."""
        return table.shot_of(self._store, self._pictures.id_of(picture))

    def marks(self, ids: Iterable[int]) -> Mapping[int, Marks]:
        """Return the marks of pictures; pictures without marks are left out."""
        return table.marks_of(self._store, ids)

    def hidden(self) -> set[int]:
        """Return the hidden pictures."""
        return self._store.hidden()

    # -- marks ------------------------------------------------------------------------------

    def mark(
        self,
        pictures: Iterable[PictureName],
        *,
        stars: int | None = None,
        favourite: bool | None = None,
        hidden: bool | None = None,
    ) -> Marked:
        """Set stars (0 to 5), favourite or hidden; None leaves a mark as it is."""
        if stars is not None and (
            not isinstance(stars, int) or isinstance(stars, bool) or not 0 <= stars <= 5
        ):
            raise InvalidInput(f"stars is {stars!r}; a whole number from 0 to 5 expected")
        if stars is favourite is hidden is None:
            raise InvalidInput("nothing to mark; stars, favourite or hidden expected")
        ids = self._pictures.ids_of(pictures, "pictures")
        with self._store.write(durable=True) as c:
            before = {image: Marks() for image in ids} | table.marks_of(self._store, ids)
            after = {
                image: Marks(
                    mark.stars if stars is None else stars,
                    mark.favourite if favourite is None else favourite,
                    mark.hidden if hidden is None else hidden,
                )
                for image, mark in before.items()
            }
            changed = {image: before[image] for image in ids if after[image] != before[image]}
            table.put_marks(c, {image: after[image] for image in changed})
            action = None
            if len(changed) > 1:
                change = {"stars": stars, "favourite": favourite, "hidden": hidden}
                body = {"change": {name: to for name, to in change.items() if to is not None}}
                action = put_action(c, self._store, MARK, len(changed), body)
                table.put_action_marks(c, action, changed)
        return Marked(changed, action)

    def star(self, pictures: Iterable[PictureName], stars: int) -> Marked:
        """Set the stars of pictures, 0 to 5."""
        return self.mark(pictures, stars=stars)

    def favour(self, pictures: Iterable[PictureName], favourite: bool = True) -> Marked:
        """Make pictures favourites, or not."""
        return self.mark(pictures, favourite=favourite)

    def hide(self, pictures: Iterable[PictureName], hidden: bool = True) -> Marked:
        """Hide pictures from searches, lists, timeline and maps, or show them again."""
        return self.mark(pictures, hidden=hidden)

    def restore(self, marked: Marked) -> None:
        """Undo a change of marks; removed pictures are skipped."""
        with self._store.write(durable=True) as c:
            table.put_marks(c, marked.before)

    # -- albums -----------------------------------------------------------------------------

    def albums(self) -> list[AlbumRow]:
        """Return all albums, by name."""
        return table.albums(self._store)

    def albums_of(self, picture: PictureName) -> list[str]:
        """Return the albums that a picture is in."""
        image = self._pictures.id_of(picture)
        return table.albums_of(self._store, [image]).get(image, [])

    def add_to_album(self, album: str, pictures: Iterable[PictureName] = ()) -> AlbumChange:
        """Put pictures into an album; make it if it does not exist."""
        name, ids = _album_name(album), self._pictures.ids_of(pictures, "pictures")
        with self._store.write(durable=True) as c:
            made = not table.has_album(self._store, name)
            table.put_album(c, name)
            there = table.album_members(self._store, name, ids)
            new = tuple(image for image in ids if image not in there)
            table.put_into_album(c, name, new)
            action = self._note(c, name, new, "add", made=made) if len(new) > 1 else None
        return AlbumChange(name, new, made, action)

    def take_from_album(self, album: str, pictures: Iterable[PictureName]) -> AlbumChange:
        """Take pictures out of an album; an empty album stays."""
        ids = self._pictures.ids_of(pictures, "pictures")
        with self._store.write(durable=True) as c:
            self._check_album(album)
            there = table.album_members(self._store, album, ids)
            left = tuple(image for image in ids if image in there)
            table.take_from_album(c, album, left)
            action = self._note(c, album, left, "take") if len(left) > 1 else None
        return AlbumChange(album, left, action=action)

    def rename_album(self, album: str, new: str) -> None:
        """Rename an album."""
        name = _album_name(new)
        with self._store.write(durable=True) as c:
            self._check_album(album)
            if name != album and table.has_album(self._store, name):
                raise CollectionError(f"there is an album {name!r} already; choose another name")
            table.rename_album(c, album, name)

    def delete_album(self, album: str) -> AlbumChange:
        """Delete an album, not its pictures."""
        with self._store.write(durable=True) as c:
            self._check_album(album)
            every = sorted(self._store.ids())
            ids = tuple(sorted(table.album_members(self._store, album, every)))
            table.drop_album(c, album)
            action = self._note(c, album, ids, "delete")
        return AlbumChange(album, ids, action=action)

    def _note(
        self, c: Transaction, album: str, ids: Sequence[int], way: str, *, made: bool = False
    ) -> int:
        """Store the bulk action of a change to an album."""
        body = {"album": album, "way": way, "made": made}
        action = put_action(c, self._store, ALBUM, len(ids), body)
        table.put_action_album(c, action, ids)
        return action

    def _check_album(self, name: str) -> None:
        if not table.has_album(self._store, name):
            known = ", ".join(repr(one.name) for one in self.albums()) or "none yet"
            raise UnknownName(f"there is no album {name!r}; there are: {known}")

    # -- copies ------------------------------------------------------------------------------

    def duplicates(self, *, report: Report = silent) -> list[DuplicateGroup]:
        """Find copies by their pixels: re-saved, resized, cropped by up to a tenth, mirrored.

        Hidden pictures are left out.
        """
        from likewise.search.copies import find_copies

        def report_progress(done: int, total: int) -> None:
            report(Progress("looking for duplicates", done, total))

        ids = sorted(self._store.ids() - self._store.hidden())
        members: dict[int, list[int]] = {}
        group_of: dict[int, int] = {}
        best: dict[int, float] = {}
        mirrored: dict[int, bool] = {}
        for link in find_copies(ids, self._load_small, report_progress):
            for image in (link.one, link.other):
                if image not in group_of:
                    group_of[image] = image
                    members[image] = [image]
                    mirrored[image] = False
                best[image] = max(best.get(image, -1.0), link.score)
            one, other = group_of[link.one], group_of[link.other]
            if one != other:
                flip = mirrored[link.one] ^ mirrored[link.other] ^ link.mirrored
                for image in members[other]:
                    group_of[image] = one
                    mirrored[image] ^= flip
                members[one] += members.pop(other)
        rows = self._store.images(best)
        found = []
        for images in members.values():
            here = sorted((rows[i] for i in images if i in rows), key=_keep_first)
            if len(here) > 1:
                first = mirrored[here[0].id]
                found.append(
                    DuplicateGroup(
                        [Duplicate(row, best[row.id], mirrored[row.id] != first) for row in here]
                    )
                )
        return sorted(found, key=lambda group: (-len(group.pictures), group.pictures[0].row.id))

    def _load_small(self, image: int) -> NDArray[np.uint8] | None:
        """Return the pixels of a picture's thumbnail, None if it cannot be read."""
        try:
            key = self._store.hash_of(image)
            if key is None:
                return None
            content = thumbnail(
                self._store.root, key, lambda: self._pictures.file_of(image), FIRST_SIDE
            )
            return decode(content, max_side=_COMPARED).pixels
        except (LikewiseError, OSError):
            return None

    # -- export and import -----------------------------------------------------------------------

    def export(self) -> list[dict[str, Any]]:
        """Return the marks and albums of all pictures as plain records, with content and path."""
        ids = table.marked_images(self._store)
        marks, paths = self.marks(ids), self._store.paths(ids)
        hashes, albums = self._store.hashes(ids), table.albums_of(self._store, ids)
        return [
            {"content": hashes[image].hex(), "path": paths[image],
             **marks.get(image, Marks())._asdict(), "albums": albums.get(image, [])}
            for image in ids
        ]  # fmt: skip

    def take_in(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Import marks and albums from :meth:`export`; return how many pictures were found."""
        wanted: dict[int, Marks] = {}
        filled: dict[str, list[int]] = {}
        for record in records:
            try:
                image = self._store.image_of_hash(bytes.fromhex(record["content"]))
                mark = Marks(
                    int(record["stars"]), bool(record["favourite"]), bool(record["hidden"])
                )
                names = [_album_name(name) for name in record["albums"]]
            except (KeyError, TypeError, ValueError) as error:
                raise InvalidInput(f"{record!r} is no record of an export ({error})") from error
            if not 0 <= mark.stars <= 5:
                raise InvalidInput(f"stars is {mark.stars!r}; a number from 0 to 5 expected")
            if image is None:
                continue
            wanted[image] = mark
            for name in names:
                filled.setdefault(name, []).append(image)
        with self._store.write(durable=True) as c:
            table.put_marks(c, wanted)
            for name, images in filled.items():
                table.put_album(c, name)
                table.put_into_album(c, name, images)
        return len(wanted)


def _keep_first(row: ImageRow) -> tuple[int, str, int, int]:
    """Return the sort key of copies: the one to keep first (:data:`KEEP_RULE`)."""
    return -row.width * row.height, row.date or "~", -row.n_bytes, row.id


def _album_name(name: str) -> str:
    """Return a name with single spaces, or refuse it."""
    plain = " ".join(name.split()) if isinstance(name, str) else ""
    if not plain or len(plain) > _MAX_NAME or not plain.isprintable():
        raise InvalidInput(
            f"{name!r} is no album name; up to {_MAX_NAME} printable characters expected"
        )
    return plain
