"""The part of a collection that knows tags: set, suggested, accepted and refused; in and out.

Like the part that learns it holds no state of its own; what suggestions need lives in a
:class:`~likewise.collection.tags.suggest.Suggester`.  What a person says goes into the log
and counts more than what files say (``docs/tags.md``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.collection import jobs
from likewise.collection.errors import UnknownName
from likewise.collection.keywords import following as keywords
from likewise.collection.keywords import tag_files, xmp_export
from likewise.collection.plain import absolute
from likewise.collection.search.query import Query, resolve_query
from likewise.collection.search.views import Views
from likewise.collection.store import tags as catalog_tags
from likewise.collection.store.store import Store
from likewise.collection.store.tags import ACCEPT, ACCEPTED, REJECT, USER, TagRow
from likewise.collection.tag_names import clean_all, near
from likewise.collection.tags import bulk as bulk_tagging
from likewise.collection.tags import log as tagging
from likewise.collection.tags.suggest import Suggester, Suggestion
from likewise.errors import InvalidInput

PictureName = int | str | os.PathLike[str]


class Tagging:
    """Tags in, suggestions and sidecars out."""

    root: Path
    _store: Store
    _views: Views
    _suggester: Suggester

    if TYPE_CHECKING:

        def id_of(self, picture: PictureName) -> int: ...

        def _ids(self, pictures: Iterable[PictureName], name: str) -> list[int]: ...

    # -- by hand ----------------------------------------------------------------------------

    def tag(self, picture: PictureName, *tags: str, source: str = USER) -> None:
        """Give a picture tags.  Another ``source`` than a person is one that files may be."""
        self.tag_many([picture], tags, source=source)

    def untag(self, picture: PictureName, *tags: str) -> None:
        """Take tags from a picture; whatever a file says, they do not come back."""
        self.tag_many([picture], remove=tags)

    def tag_many(
        self,
        pictures: Iterable[PictureName],
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        *,
        source: str = USER,
    ) -> list[int]:
        """Give tags to pictures and take tags from them, in one transaction.

        Gives the numbers of the lines of the log, one for what was given and one for what was
        taken, for :meth:`undo_tags`; none where nothing changed.
        """
        images = self._ids(pictures, "pictures")
        give, take = clean_all(add), clean_all(remove)
        both = set(give) & set(take)
        if both:
            raise InvalidInput(f"{min(both)!r} is to be given and taken; choose one")
        self._check_source(source)
        with self._store.write(durable=True) as c:
            if source not in catalog_tags.PEOPLE:
                pairs = [(image, tag) for image in images for tag in give]
                catalog_tags.put_sources(c, source, pairs)
                give = []
            said = [
                tagging.say_within(c, self._store, images, give, ACCEPT, source),
                tagging.say_within(c, self._store, images, take, REJECT, USER),
            ]
        return [number for number in said if number is not None]

    @staticmethod
    def _check_source(source: str) -> None:
        plain = isinstance(source, str) and source.replace("-", "").replace("_", "").isalnum()
        if not plain or len(source) > 40 or source == catalog_tags.SUGGESTED:
            raise InvalidInput(f"{source!r} is no source of tags; a short name expected")

    def accept_tag(self, picture: PictureName, tag: str) -> int | None:
        """Say that a suggested tag is right; gives the line's number (None: said before)."""
        images, tags = [self.id_of(picture)], clean_all([tag])
        return tagging.say(self._store, images, tags, ACCEPT, ACCEPTED)

    def reject_tag(self, picture: PictureName, tag: str) -> int | None:
        """Say that a tag is wrong: it goes, and is not suggested for this picture again."""
        images, tags = [self.id_of(picture)], clean_all([tag])
        return tagging.say(self._store, images, tags, REJECT, USER)

    def undo_tags(self, number: int | None = None) -> int:
        """Take back the last word about tags, or the one named; gives its number."""
        return tagging.withdraw(self._store, number).number

    def tag_log(self, newest: int | None = None) -> list[tagging.TagWord]:
        """What people said about tags, oldest first; withdrawn lines are marked, never gone."""
        return tagging.log(self._store, newest)

    # -- looking ----------------------------------------------------------------------------

    def tags(self, picture: PictureName) -> list[str]:
        """The tags of a picture."""
        return [tag for tag, _ in self._store.tags_of(self.id_of(picture))]

    def tags_of(self, pictures: Iterable[PictureName]) -> dict[int, list[str]]:
        """The tags of many pictures, by id; a picture without tags has an empty list."""
        images = self._ids(pictures, "pictures")
        found = catalog_tags.tags_of_many(self._store, images)
        return {image: [tag for tag, _ in found.get(image, ())] for image in images}

    def tag_sources(self, picture: PictureName) -> dict[str, list[str]]:
        """The tags of a picture, each with all who say so, the weightiest first."""
        return catalog_tags.sources_of(self._store, self.id_of(picture))

    def refused_tags(self, picture: PictureName) -> list[str]:
        """Tags a person refused for a picture."""
        image = self.id_of(picture)
        return sorted(catalog_tags.refused_of_many(self._store, [image]).get(image, ()))

    def all_tags(self, prefix: str = "", limit: int | None = None) -> list[TagRow]:
        """Every tag with its pictures counted, by source too; the most frequent first."""
        return catalog_tags.counts(self._store, prefix, limit)

    def complete_tag(self, prefix: str, limit: int = 10) -> list[str]:
        """Tags that begin like this (in any case of letters), the most frequent first."""
        return [row.tag for row in catalog_tags.counts(self._store, prefix, limit)]

    def check_tags(self, tags: Sequence[str]) -> None:
        """Refuse tags that no picture has, with those that may have been meant."""
        there = catalog_tags.known_tags(self._store, list(tags))
        lost = next((tag for tag in tags if tag not in there), None)
        if lost is not None:
            every = catalog_tags.counts(self._store)
            close = near(lost, [row.tag for row in every])
            meant = f"; is it {' or '.join(map(repr, close))}?" if close else ""
            raise UnknownName(
                f"no picture has the tag {lost!r}{meant or '; likewise tags lists them'}"
            )

    # -- suggestions ------------------------------------------------------------------------

    def suggest_tags(self, picture: Query, k: int = 5) -> list[Suggestion]:
        """Tags a picture may deserve, best first, with the tagged pictures behind each.

        ``picture`` is an id, a path, bytes or pixels, in the collection or not.  Tags it has and
        tags that were refused for it are left out.  Empty where nothing is tagged yet.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidInput(f"k is {k!r}; a whole number of at least 1 expected")
        return self._suggester.suggest(resolve_query(self._store, picture, None), k)

    def tag_all(
        self,
        *,
        above: float = 0.6,
        k: int = 5,
        also_tagged: bool = False,
        dry_run: bool = False,
        report: jobs.Report = jobs.silent,
    ) -> bulk_tagging.TagRun:
        """Suggested tags for every picture nobody tagged (``also_tagged``: for all pictures).

        Only those with a confidence of at least ``above``.  A run that is stopped goes on where it
        was; suggestions are marked as such, and are no evidence for others until accepted.
        """
        if dry_run:
            return self._tag_all(above, k, also_tagged, True, report)
        with jobs.lease(self.root, "tag"):
            return self._tag_all(above, k, also_tagged, False, report)

    def _tag_all(
        self, above: float, k: int, also_tagged: bool, dry_run: bool, report: jobs.Report
    ) -> bulk_tagging.TagRun:
        return bulk_tagging.tag_all(
            self._views, self._suggester, above=above, k=k,
            also_tagged=also_tagged, dry_run=dry_run, report=report,
        )  # fmt: skip

    def clear_suggestions(self) -> int:
        """Take back every suggestion nobody confirmed; gives how many there were."""
        with jobs.lease(self.root, "tags clear"):
            return bulk_tagging.clear(self._store)

    # -- in and out -------------------------------------------------------------------------

    def import_tags(
        self, path: str | os.PathLike[str], *, replace: bool = False
    ) -> tag_files.TagImport:
        """Tags from a CSV or JSON file; pictures it names that are not here are listed."""
        return tag_files.import_tags(self._store, absolute(path), replace=replace)

    def tags_from_folders(self, levels: int | None = 1) -> int:
        """Names of folders as tags, now and with every ``add`` and ``sync``; None: no more.

        ``levels`` folders above each picture count, none above what was added.  Gives how many
        tags came or went.
        """
        if levels is not None and (isinstance(levels, bool) or levels < 1):
            raise InvalidInput(f"levels is {levels!r}; a whole number of at least 1 expected")
        return keywords.set_folders(self._store, None if levels is None else int(levels))

    def read_tags(self, *, report: jobs.Report = jobs.silent) -> keywords.Read:
        """Read keywords inside and beside all pictures again; ``add`` reads those of new ones."""
        with jobs.lease(self.root, "tags read"):
            found = keywords.read_again(self._store, report)
            beside = keywords.follow_sidecars(self._store, every=True)
        return found + beside

    def export_xmp(
        self,
        place: str | os.PathLike[str] = xmp_export.BESIDE,
        *,
        suggested: bool = False,
        report: jobs.Report = jobs.silent,
    ) -> xmp_export.XmpExport:
        """Tags as XMP sidecars, ``"beside"`` the pictures or below a folder.

        A sidecar that is there is merged: all else in it stays.  ``suggested`` writes suggestions
        nobody confirmed, too.
        """
        folder = xmp_export.check_place(place)
        with jobs.lease(self.root, "export"):
            return xmp_export.export_xmp(self._store, folder, suggested=suggested, report=report)
