"""Tags: set, suggested, accepted and refused; in and out.

What a person says goes into the log and counts more than what files say (``docs/tags.md``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.catalog import action_tables, jobs, tag_tables
from likewise.catalog.filters import absolute
from likewise.catalog.pictures import PictureName, Pictures
from likewise.catalog.store import Transaction
from likewise.catalog.tag_tables import ACCEPT, ACCEPTED, REJECT, USER, TagRow, clean_all, near
from likewise.errors import InvalidInput, UnknownName
from likewise.library.keywords import folder_tags, picture_keywords, sidecars, tag_files, xmp_export
from likewise.parts import part
from likewise.search.query import Query, resolve_query
from likewise.search.views import Views
from likewise.tags import tag_log
from likewise_methods.validation import whole

# What suggests learns, and is imported when somebody asks it.
if TYPE_CHECKING:
    from likewise.ingest.pool import Workers
    from likewise.learning.log import Log
    from likewise.learning.searcher import Searcher
    from likewise.tags.bulk import TagRun
    from likewise.tags.save_query import SavedQuery
    from likewise.tags.suggest import Suggester, Suggestion


class TagsChanged(NamedTuple):
    """Lines of the log that a change wrote, and the action they are (None: too small for one)."""

    lines: list[int]
    action: int | None


class Tags:
    """The tags of a collection: who says what, what may be missing, and files of tags."""

    def __init__(
        self,
        views: Views,
        pictures: Pictures,
        searcher: Callable[[], Searcher],
        log: Callable[[], Log],
    ) -> None:
        self._store, self._views, self._pictures = views.store, views, pictures
        self._searcher, self._log = searcher, log

    @part
    def suggester(self) -> Suggester:
        """Holds the tagged pictures between suggestions."""
        from likewise.tags.suggest import Suggester

        return Suggester(self._views)

    # -- by hand ----------------------------------------------------------------------------

    def change(
        self,
        pictures: Iterable[PictureName],
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        *,
        source: str = USER,
    ) -> list[int]:
        """Give tags to pictures and take tags from them, in one transaction.

        Gives the numbers of the lines of the log, one for what was given and one for what was
        taken, for :meth:`undo`; none where nothing changed.  Of more than one picture it is an
        action, which ``actions.undo`` takes back whole.
        """
        return self.change_many(pictures, add, remove, source=source).lines

    def change_many(
        self,
        pictures: Iterable[PictureName],
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        *,
        source: str = USER,
    ) -> TagsChanged:
        """:meth:`change`, with the action that came of it."""
        images = self._pictures.ids_of(pictures, "pictures")
        give, take = clean_all(add), clean_all(remove)
        both = set(give) & set(take)
        if both:
            raise InvalidInput(f"{min(both)!r} is to be given and taken; choose one")
        self._check_source(source)
        with self._store.write(durable=True) as c:
            if source not in tag_tables.PEOPLE:
                pairs = [(image, tag) for image in images for tag in give]
                tag_tables.put_sources(c, source, pairs)
                give = []
            said = [
                tag_log.write_line_within(c, self._store, images, give, ACCEPT, source),
                tag_log.write_line_within(c, self._store, images, take, REJECT, USER),
            ]
            kind = action_tables.TAG if give else action_tables.UNTAG
            about = {"tags": give, "removed": take}
            return self._note_lines(c, kind, said, about, at_least=2)

    def _note_lines(
        self,
        c: Transaction,
        kind: str,
        said: Iterable[int | None],
        about: Mapping[str, Any],
        *,
        at_least: int,
    ) -> TagsChanged:
        """Lines of the log as one action, where they are of so many pictures."""
        lines = [number for number in said if number is not None]
        found = (tag_tables.standing_line(self._store, number) for number in lines)
        spoken = {digest for line in found if line for digest in (*line.pictures, *line.suggested)}
        if len(spoken) < at_least:
            return TagsChanged(lines, None)
        body = {**about, "lines": lines}
        return TagsChanged(lines, action_tables.put_action(c, self._store, kind, len(spoken), body))

    def settle_suggestions(
        self, tag: str, accept: Iterable[PictureName], reject: Iterable[PictureName] = ()
    ) -> TagsChanged:
        """Say of many suggestions of one tag which are right and which are not, in one action."""
        (name,) = clean_all([tag])
        yes, no = self._pictures.ids_of(accept, "accept"), self._pictures.ids_of(reject, "reject")
        if set(yes) & set(no):
            raise InvalidInput(f"picture {min(set(yes) & set(no))} is in both lists; choose one")
        with self._store.write(durable=True) as c:
            said = [
                tag_log.write_line_within(c, self._store, yes, [name], ACCEPT, ACCEPTED),
                tag_log.write_line_within(c, self._store, no, [name], REJECT, USER),
            ]
            about = {"tags": [name], "accepted": len(yes), "rejected": len(no)}
            return self._note_lines(c, action_tables.ACCEPT_MANY, said, about, at_least=1)

    def suggested_for(self, tag: str) -> list[int]:
        """Pictures for which a tag is suggested and that nobody has looked at, by id."""
        return tag_tables.suggested_images(self._store, tag)

    @staticmethod
    def _check_source(source: str) -> None:
        plain = isinstance(source, str) and source.replace("-", "").replace("_", "").isalnum()
        if not plain or len(source) > 40 or source == tag_tables.SUGGESTED:
            raise InvalidInput(f"{source!r} is no source of tags; a short name expected")

    def accept(self, picture: PictureName, tag: str) -> int | None:
        """Say that a suggested tag is right; gives the line's number (None: said before)."""
        images, tags = [self._pictures.id_of(picture)], clean_all([tag])
        return tag_log.write_line(self._store, images, tags, ACCEPT, ACCEPTED)

    def reject(self, picture: PictureName, tag: str) -> int | None:
        """Say that a tag is wrong: it goes, and is not suggested for this picture again."""
        images, tags = [self._pictures.id_of(picture)], clean_all([tag])
        return tag_log.write_line(self._store, images, tags, REJECT, USER)

    def save_query(self, text: str, tag: str, **options: Any) -> SavedQuery:
        """Make a tag of a typed query: what was liked under it is tagged, the rest suggested.

        The rest is its ``k`` best other answers (50), with a score of at least ``above``;
        ``profile`` says whose likes count.  :meth:`undo` of its line takes all of it back.
        """
        from likewise.tags.save_query import save_query

        return save_query(self._store, self._searcher(), self._log(), text, tag, **options)

    def undo(self, number: int | None = None) -> int:
        """Take back the last word about tags, or the one named; gives its number."""
        return tag_log.withdraw(self._store, number).number

    def log(self, newest: int | None = None) -> list[tag_log.TagLogLine]:
        """What people said about tags, oldest first; withdrawn lines are marked, never gone."""
        return tag_log.list_lines(self._store, newest)

    # -- looking ----------------------------------------------------------------------------

    def of(self, picture: PictureName) -> list[str]:
        """The tags of a picture."""
        return [tag for tag, _ in self._store.tags_of(self._pictures.id_of(picture))]

    def of_many(self, pictures: Iterable[PictureName]) -> dict[int, list[str]]:
        """The tags of many pictures, by id; a picture without tags has an empty list."""
        images = self._pictures.ids_of(pictures, "pictures")
        found = tag_tables.tags_of_many(self._store, images)
        return {image: [tag for tag, _ in found.get(image, ())] for image in images}

    def sources(self, picture: PictureName) -> dict[str, list[str]]:
        """The tags of a picture, each with all who say so, the weightiest first."""
        return tag_tables.sources_of(self._store, self._pictures.id_of(picture))

    def refused(self, picture: PictureName) -> list[str]:
        """Tags a person refused for a picture."""
        image = self._pictures.id_of(picture)
        return sorted(tag_tables.refused_of_many(self._store, [image]).get(image, ()))

    def all(self, prefix: str = "", limit: int | None = None) -> list[TagRow]:
        """Every tag with its pictures counted, by source too; the most frequent first."""
        return tag_tables.counts(self._store, prefix, limit)

    def complete(self, prefix: str, limit: int = 10) -> list[str]:
        """Tags that begin like this (in any case of letters), the most frequent first."""
        return [row.tag for row in tag_tables.counts(self._store, prefix, limit)]

    def check_known(self, tags: Sequence[str]) -> None:
        """Refuse tags that no picture has, with those that may have been meant."""
        there = tag_tables.known_tags(self._store, list(tags))
        lost = next((tag for tag in tags if tag not in there), None)
        if lost is not None:
            every = tag_tables.counts(self._store)
            close = near(lost, [row.tag for row in every])
            meant = f"; is it {' or '.join(map(repr, close))}?" if close else ""
            raise UnknownName(
                f"no picture has the tag {lost!r}{meant or '; likewise tags lists them'}"
            )

    # -- suggestions ------------------------------------------------------------------------

    def suggest(self, picture: Query, k: int = 5) -> list[Suggestion]:
        """Tags a picture may deserve, best first, with the tagged pictures behind each.

        ``picture`` is an id, a path, bytes or pixels, in the collection or not.  Tags it has and
        tags that were refused for it are left out.  Empty where nothing is tagged yet.
        """
        k = whole(k, "k")
        return self.suggester.suggest(resolve_query(self._store, picture, None), k)

    def suggest_for_all(
        self,
        *,
        above: float = 0.6,
        k: int = 5,
        also_tagged: bool = False,
        dry_run: bool = False,
        workers: Workers = 0,
        report: jobs.Report = jobs.silent,
    ) -> TagRun:
        """Suggested tags for every picture nobody tagged (``also_tagged``: for all pictures).

        Only those with a confidence of at least ``above``.  A run that is stopped goes on where it
        was; suggestions are marked as such, and are no evidence for others until accepted.
        ``workers`` may be a cluster (0: this process alone).
        """
        from likewise.tags import bulk

        with nullcontext() if dry_run else self._store.lease("tag"):
            return bulk.suggest_for_all(
                self._views, self.suggester, above=above, k=k,
                also_tagged=also_tagged, dry_run=dry_run, report=report, workers=workers,
            )  # fmt: skip

    def clear_suggestions(self) -> int:
        """Take back every suggestion nobody confirmed; gives how many there were."""
        from likewise.tags import bulk

        with self._store.lease("tags clear"):
            return bulk.clear_suggestions(self._store)

    # -- in and out -------------------------------------------------------------------------

    def import_file(
        self, path: str | os.PathLike[str], *, replace: bool = False
    ) -> tag_files.TagImport:
        """Tags from a CSV or JSON file; pictures it names that are not here are listed."""
        return tag_files.import_tags(self._store, absolute(path), replace=replace)

    def from_folders(self, levels: int | None = 1) -> int:
        """Names of folders as tags, now and with every ``add`` and ``sync``; None: no more.

        ``levels`` folders above each picture count, none above what was added.  Gives how many
        tags came or went.
        """
        counted = None if levels is None else whole(levels, "levels")
        return folder_tags.set_folders(self._store, counted)

    def read_files(self, *, report: jobs.Report = jobs.silent) -> picture_keywords.KeywordsFound:
        """Read keywords inside and beside all pictures again; ``add`` reads those of new ones."""
        with self._store.lease("tags read"):
            found = picture_keywords.reread_keywords(self._store, report)
            beside = sidecars.follow_sidecars(self._store, every=True)
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
        with self._store.lease("export"):
            return xmp_export.export_xmp(self._store, folder, suggested=suggested, report=report)

    def plan_xmp(
        self, place: str | os.PathLike[str] = xmp_export.BESIDE, *, suggested: bool = False
    ) -> xmp_export.XmpPlan:
        """What :meth:`export_xmp` would write, and where; nothing is written."""
        folder = xmp_export.check_place(place)
        return xmp_export.plan_xmp(self._store, folder, suggested=suggested)
