"""The tags of a collection: set, suggest, accept, reject, import and export them.

Statements of people go into the log and take precedence over files (``docs/tags.md``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.catalog import action_tables, jobs, tag_tables
from likewise.catalog.filters import absolute
from likewise.catalog.pictures import PictureName, Pictures
from likewise.catalog.store import Transaction
from likewise.catalog.tag_tables import ACCEPT, ACCEPTED, REJECT, USER, TagRow, clean_all, near
from likewise.errors import CollectionError, InvalidInput, UnknownName
from likewise.library import embedded, folder_tags, sidecars, tag_files
from likewise.parts import part
from likewise.search.query import Query, resolve_query
from likewise.search.views import Views
from likewise.tags import tag_log
from likewise_methods.validation import whole

# Suggestions need learners, which are imported on first use.
if TYPE_CHECKING:
    from likewise.ingest.pool import Workers
    from likewise.learning.log import Log
    from likewise.search.searcher import Searcher
    from likewise.tags.bulk import TagRun
    from likewise.tags.suggest import Suggester, Suggestion


class TagsChanged(NamedTuple):
    """Log lines that a change wrote, and their action (None: too few pictures)."""

    lines: list[int]
    action: int | None


class SavedQuery(NamedTuple):
    """A typed query saved as a tag; ``line`` is for undo, None if it changed nothing."""

    tag: str
    line: int | None
    tagged: tuple[int, ...]
    suggested: tuple[int, ...]
    action: int | None = None


class Tags:
    """The tags of a collection: their sources, suggestions, and files of tags."""

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
        """Suggests tags, and keeps the tagged pictures in memory."""
        from likewise.tags.suggest import Suggester

        return Suggester(self._views)

    @contextmanager
    def _write(self) -> Iterator[Transaction]:
        """Open a durable transaction, which also stores calibrations measured since the last."""
        with self._store.write(durable=True) as c:
            yield c
            if "suggester" in vars(self):
                self.suggester.save_calibrations(c)

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

        Return the numbers of the log lines for :meth:`undo`: one for the tags given, one for the
        tags taken, none without a change.  For several pictures it is an action, which
        ``actions.undo`` undoes as a whole.
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
        """Do what :meth:`change` does, and also return the action."""
        images = self._pictures.ids_of(pictures, "pictures")
        give, take = clean_all(add), clean_all(remove)
        both = set(give) & set(take)
        if both:
            raise InvalidInput(f"{min(both)!r} is to be given and taken; choose one")
        self._check_source(source)
        with self._write() as c:
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
        """Record log lines as one action if they are about at least so many pictures."""
        lines = [number for number in said if number is not None]
        found = (tag_tables.active_line(self._store, number) for number in lines)
        spoken = {digest for line in found if line for digest in (*line.pictures, *line.suggested)}
        if len(spoken) < at_least:
            return TagsChanged(lines, None)
        body = {**about, "lines": lines}
        return TagsChanged(lines, action_tables.put_action(c, self._store, kind, len(spoken), body))

    def settle_suggestions(
        self, tag: str, accept: Iterable[PictureName], reject: Iterable[PictureName] = ()
    ) -> TagsChanged:
        """Accept some suggestions of one tag and reject others, in one action."""
        (name,) = clean_all([tag])
        yes, no = self._pictures.ids_of(accept, "accept"), self._pictures.ids_of(reject, "reject")
        if set(yes) & set(no):
            raise InvalidInput(f"picture {min(set(yes) & set(no))} is in both lists; choose one")
        with self._write() as c:
            said = [
                tag_log.write_line_within(c, self._store, yes, [name], ACCEPT, ACCEPTED),
                tag_log.write_line_within(c, self._store, no, [name], REJECT, USER),
            ]
            about = {"tags": [name], "accepted": len(yes), "rejected": len(no)}
            return self._note_lines(c, action_tables.ACCEPT_MANY, said, about, at_least=1)

    def suggested_for(self, tag: str) -> list[int]:
        """Return the pictures with an open suggestion of a tag, by id."""
        return tag_tables.suggested_images(self._store, tag)

    @staticmethod
    def _check_source(source: str) -> None:
        plain = isinstance(source, str) and source.replace("-", "").replace("_", "").isalnum()
        if not plain or len(source) > 40 or source == tag_tables.SUGGESTED:
            raise InvalidInput(f"{source!r} is no source of tags; a short name expected")

    def accept(self, picture: PictureName, tag: str) -> int | None:
        """Accept a suggested tag; return the line's number (None: it was accepted before)."""
        return self._write_line(picture, tag, ACCEPT, ACCEPTED)

    def reject(self, picture: PictureName, tag: str) -> int | None:
        """Remove a tag and never suggest it for this picture again; return the line's number."""
        return self._write_line(picture, tag, REJECT, USER)

    def _write_line(self, picture: PictureName, tag: str, kind: str, source: str) -> int | None:
        images, tags = [self._pictures.id_of(picture)], clean_all([tag])
        with self._write() as c:
            return tag_log.write_line_within(c, self._store, images, tags, kind, source)

    def save_query(
        self,
        text: str,
        tag: str,
        *,
        k: int = 50,
        above: float | None = None,
        profile: str = "default",
    ) -> SavedQuery:
        """Tag the pictures liked under a text, and suggest the tag for its k best other hits.

        ``above`` is the lowest score for a suggestion; ``profile`` is the profile whose likes
        count.  One log line holds both, so that one :meth:`undo` undoes both.
        """
        store = self._store
        (name,) = clean_all([tag])
        liked, disliked = self._log().verdicts(text=text, profile=profile)
        if not liked:
            raise CollectionError(
                f"nothing was liked under {text[:60]!r} yet; like some pictures first"
            )
        k = whole(k, "k", 0)
        judged = {*liked, *disliked}
        best: list[int] = []
        if k:
            answer = self._searcher().find(
                None, k + len(judged), text=text, by=profile, above=above
            )
            best = [image for image in answer.ids if image not in judged][:k]
        with self._write() as c:
            known = tag_tables.tags_of_many(store, best)
            refused = tag_tables.refused_of_many(store, best)
            here = store.present([*liked, *best])
            further = [
                image
                for image in best
                if image in here
                and name not in refused.get(image, ())
                and all(name != one for one, _ in known.get(image, ()))
            ]
            images = [image for image in liked if image in here]
            number = tag_log.write_line_within(
                c, store, images, [name], ACCEPT, ACCEPTED, suggested=further
            )
            action = None
            if number is not None:
                body = {"tags": [name], "lines": [number], "text": text}
                n_pictures = len({*images, *further})
                action = action_tables.put_action(c, store, action_tables.SAVE, n_pictures, body)
        return SavedQuery(name, number, tuple(images), tuple(further), action)

    def undo(self, number: int | None = None) -> int:
        """Withdraw the newest line about tags, or the given one; return its number."""
        return tag_log.withdraw(self._store, number).number

    def log(self, newest: int | None = None) -> list[tag_log.TagLogLine]:
        """Return the lines about tags, oldest first; withdrawn lines are marked."""
        return tag_log.list_lines(self._store, newest)

    # -- read ------------------------------------------------------------------------------

    def of(self, picture: PictureName) -> list[str]:
        """Return the tags of a picture."""
        return [tag for tag, _ in self._store.tags_of(self._pictures.id_of(picture))]

    def of_many(self, pictures: Iterable[PictureName]) -> dict[int, list[str]]:
        """Return the tags of many pictures, by id; an empty list for a picture without tags."""
        images = self._pictures.ids_of(pictures, "pictures")
        found = tag_tables.tags_of_many(self._store, images)
        return {image: [tag for tag, _ in found.get(image, ())] for image in images}

    def sources(self, picture: PictureName) -> dict[str, list[str]]:
        """Return the tags of a picture with all their sources, the weightiest first."""
        return tag_tables.sources_of(self._store, self._pictures.id_of(picture))

    def refused(self, picture: PictureName) -> list[str]:
        """Return the tags a person rejected for a picture."""
        image = self._pictures.id_of(picture)
        return sorted(tag_tables.refused_of_many(self._store, [image]).get(image, ()))

    def all(self, prefix: str = "", limit: int | None = None) -> list[TagRow]:
        """Return every tag with its count of pictures, in all and by source; most used first."""
        return tag_tables.counts(self._store, prefix, limit)

    def complete(self, prefix: str, limit: int = 10) -> list[str]:
        """Return tags that begin with a prefix (ignoring case), most used first."""
        return [row.tag for row in tag_tables.counts(self._store, prefix, limit)]

    def check_known(self, tags: Sequence[str]) -> None:
        """Refuse tags that no picture has, and name similar ones."""
        there = tag_tables.known_tags(self._store, list(tags))
        lost = next((tag for tag in tags if tag not in there), None)
        if lost is not None:
            every = tag_tables.counts(self._store)
            close = near(lost, [row.tag for row in every])
            meant = f"; is it {' or '.join(map(repr, close))}?" if close else ""
            raise UnknownName(
                f"no picture has the tag {lost!r}{meant or '; likewise library tags lists them'}"
            )

    # -- suggestions ------------------------------------------------------------------------

    def suggest(self, picture: Query, k: int = 5) -> list[Suggestion]:
        """Suggest tags for a picture, best first, with the tagged pictures behind each.

        ``picture`` is an id, a path, bytes or pixels, in the collection or not.  Tags it has and
        tags that were rejected for it are left out.  Empty where nothing is tagged yet.  Nothing
        is written.
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
        """Suggest tags for every untagged picture (``also_tagged``: for all pictures).

        Only tags with a confidence of at least ``above``.  A stopped run continues where it was.
        Suggestions are marked as such, and are no evidence for others until accepted.
        ``workers`` may be a cluster (0: this process alone).
        """
        from likewise.tags import bulk

        with nullcontext() if dry_run else self._store.lease("tag"):
            return bulk.suggest_for_all(
                self._views, self.suggester, above=above, k=k,
                also_tagged=also_tagged, dry_run=dry_run, report=report, workers=workers,
            )  # fmt: skip

    def clear_suggestions(self) -> int:
        """Delete every suggestion that was not accepted; return how many there were."""
        from likewise.tags import bulk

        with self._store.lease("tags clear"):
            return bulk.clear_suggestions(self._store)

    # -- files ------------------------------------------------------------------------------

    def import_file(
        self, path: str | os.PathLike[str], *, replace: bool = False
    ) -> tag_files.TagImport:
        """Import tags from a CSV or JSON file; the result lists unknown pictures."""
        return tag_files.import_tags(self._store, absolute(path), replace=replace)

    def from_folders(self, levels: int | None = 1) -> int:
        """Use folder names as tags, now and with every ``add`` and ``sync``; None: stop that.

        ``levels`` folders above each picture count, none above what was added.  Returns how many
        tags came or went.
        """
        counted = None if levels is None else whole(levels, "levels")
        return folder_tags.set_folders(self._store, counted)

    def read_files(self, *, report: jobs.Report = jobs.silent) -> embedded.KeywordsFound:
        """Read keywords in pictures and sidecars again; ``add`` reads those of new pictures."""
        with self._store.lease("tags read"):
            found = embedded.reread_keywords(self._store, report)
            beside = sidecars.follow_sidecars(self._store, every=True)
        return found + beside

    def export_xmp(
        self,
        place: str | os.PathLike[str] = sidecars.BESIDE,
        *,
        suggested: bool = False,
        report: jobs.Report = jobs.silent,
    ) -> sidecars.XmpExport:
        """Write tags as XMP sidecars, next to the pictures (``"beside"``) or below a folder.

        An existing sidecar is merged: everything else in it stays.  ``suggested`` also writes
        suggestions that were not accepted.
        """
        folder = sidecars.check_place(place)
        with self._store.lease("export"):
            return sidecars.export_xmp(self._store, folder, suggested=suggested, report=report)

    def plan_xmp(
        self, place: str | os.PathLike[str] = sidecars.BESIDE, *, suggested: bool = False
    ) -> sidecars.XmpPlan:
        """Return what :meth:`export_xmp` would write, and where."""
        folder = sidecars.check_place(place)
        return sidecars.plan_xmp(self._store, folder, suggested=suggested)
