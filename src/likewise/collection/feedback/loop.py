"""The part of a collection that learns: judge, compare, undo, profiles.

A collection's other half; it holds no state of its own.  What people say goes into the log first
and is learned afterwards, so a crash in between loses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from likewise.collection import jobs
from likewise.collection.content import is_text
from likewise.collection.errors import CollectionError, UnknownName, UnknownPicture
from likewise.collection.feedback import compact as compacting
from likewise.collection.feedback import judge as judging
from likewise.collection.feedback import lessons, profiles
from likewise.collection.feedback.learning import Learning
from likewise.collection.feedback.profiles import LogLine, Version
from likewise.collection.plain import absolute
from likewise.collection.search.query import (
    Query,
    Region,
    ResolvedQuery,
    query_key,
    resolve_query,
)
from likewise.collection.search.similarities import (
    Figures,
    Similarity,
    built_in_similarities,
)
from likewise.collection.search.sparse_view import SparseView
from likewise.collection.search.views import Views
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.registry import open_spaces
from likewise.collection.store import changes as catalog_changes
from likewise.collection.store import log as feedback
from likewise.collection.store.models import models
from likewise.collection.store.store import Store
from likewise.errors import InvalidInput

PictureName = int | str | os.PathLike[str]
_LONGEST_NAME = 200


def annotator(by: str | None) -> str | None:
    """The name of who compares, as the log keeps it."""
    if by is None:
        return None
    if not isinstance(by, str) or not by.strip() or len(by) > _LONGEST_NAME:
        raise InvalidInput(f"by is {by!r}; a name of at most {_LONGEST_NAME} signs expected")
    return by.strip()


class Loop:
    """Judgements in, a ranking that learned from them out."""

    root: Path
    _store: Store
    _views: Views
    _learning: Learning

    def id_of(self, picture: PictureName) -> int:
        """The id of a picture given by id or path."""
        if isinstance(picture, int | np.integer) and not isinstance(picture, bool):
            if self._store.image(int(picture)) is None:
                raise UnknownPicture(f"there is no picture with id {picture}")
            return int(picture)
        if not isinstance(picture, str | os.PathLike):
            raise InvalidInput(f"{picture!r} is no picture; an id or a path expected")
        place = str(absolute(picture))
        row = self._store.file(place) if is_text(place) else None
        if row is None or row.image is None:
            raise UnknownPicture(f"{place} is not in the collection")
        return row.image

    def _ids(self, pictures: Iterable[PictureName], name: str) -> list[int]:
        """The ids of several pictures, each once."""
        if isinstance(pictures, str | bytes | os.PathLike) or not isinstance(pictures, Iterable):
            raise InvalidInput(f"{name} is {pictures!r}; a list of pictures expected")
        named = list(pictures)
        if named and all(type(picture) is int for picture in named):
            # Pictures that were shown can be thousands: one look at the catalog for all.
            ids = list(dict.fromkeys(picture for picture in named if isinstance(picture, int)))
            here = self._store.present(ids)
            if len(here) == len(ids):
                return ids
        return list(dict.fromkeys(map(self.id_of, named)))

    def _built_in(self) -> dict[str, Similarity]:
        preferred = self._store.setting("default_similarity")
        return built_in_similarities(open_spaces(self._store), preferred)

    def _known(self) -> dict[str, Similarity]:
        learned = {
            name: Similarity(name, {made.space: 1.0}, model=made)
            for name, made in models(self._store).items()
        }
        return profiles.similarities(self._store, self._built_in()) | learned

    def similarity(self, name: str) -> Similarity:
        """A way to rank by its name, without its figures."""
        known = self._known()
        if name not in known:
            raise UnknownName(
                f"there is no similarity {name!r}; there are {', '.join(sorted(known))}"
            )
        return known[name]

    @property
    def similarities(self) -> Mapping[str, Similarity]:
        """Every way to rank, by name: built-in ones, and profiles with what they amount to."""
        spaces = self._store.spaces()
        return {
            name: made
            if made.profile is None
            else replace(made, figures=profiles.figures(self._learning, made, spaces))
            for name, made in self._known().items()
        }

    @property
    def profiles(self) -> Mapping[str, Similarity]:
        """Every profile under its own name, whichever is in use, with what it amounts to."""
        spaces = self._store.spaces()
        found = profiles.all_profiles(self._store, self._built_in())
        return {
            name: replace(made, figures=profiles.figures(self._learning, made, spaces))
            for name, made in found.items()
        }

    @property
    def in_use(self) -> str:
        """The profile that ``default`` means now."""
        return profiles.named(self._store, profiles.DEFAULT)

    def built_in(self) -> list[Similarity]:
        """The ways to rank that nobody taught: one for each space, and ``both``."""
        known = self._known().values()
        return [made for made in known if made.profile is None and made.model is None]

    def use(self, similarity: str) -> None:
        """Make a similarity the default one.

        A profile is then what ``default`` means in search, judge and undo; a built-in similarity
        becomes what the profile ``default`` starts from.
        """
        found = self.similarity(similarity)
        if found.model is not None:
            raise CollectionError(
                f"{similarity!r} is a learned {found.model.kind}; it ranks where it is named "
                f"(--by {similarity}) and cannot be what judgements change"
            )
        profile = found.profile
        if similarity == profiles.DEFAULT:
            # By this name the profile in use is meant everywhere; here it is the way back.
            profile = profiles.DEFAULT
        with self._store.write() as c:
            if profile is not None:
                catalog_changes.put_setting(c, profiles.IN_USE, profile)
            else:
                catalog_changes.put_setting(c, "default_similarity", similarity)
                catalog_changes.put_setting(c, profiles.IN_USE, profiles.DEFAULT)

    def question(self, query: Query, region: Region | None = None) -> ResolvedQuery:
        """A query read once, for several searches and judgements: a file is decoded here."""
        return resolve_query(self._store, query, region)

    def judge(
        self,
        query: Query,
        liked: Iterable[PictureName] = (),
        disliked: Iterable[PictureName] = (),
        *,
        shown: Iterable[PictureName] | None = None,
        profile: str = "default",
        region: Region | None = None,
    ) -> int:
        """Say which pictures are like the query and which are not; gives the judgement's number.

        The next search uses it: this query at once (liked pictures are mixed into it, disliked ones
        taken out), and all others through the profile's weights of words.  ``shown`` are the
        pictures that were on offer, best first: those above a liked one that were passed over
        count as not alike, where nothing is disliked.  When this returns, the judgement is on disk.
        """
        question = resolve_query(self._store, query, region)
        good, bad = self._ids(liked, "liked"), self._ids(disliked, "disliked")
        offered = None if shown is None else self._ids(shown, "shown")
        name = profiles.named(self._store, profile)
        said = judging.resolve(self._store, question, good, bad, offered)
        number = judging.commit(self._views, question, said, name)
        self._fold(name)
        return number

    def compare(
        self,
        anchor: PictureName,
        nearer: PictureName,
        farther: PictureName,
        *,
        profile: str = "default",
        by: str | None = None,
    ) -> int:
        """Say that ``anchor`` is closer to ``nearer`` than to ``farther``; gives the line's number.

        It teaches the profile one triplet.  Unlike a judgement it is no verdict on either picture.
        ``by`` names who says so, where several people compare.
        """
        name = profiles.named(self._store, profile)
        row = (self.id_of(anchor), self.id_of(nearer), self.id_of(farther))
        if len(set(row)) != 3:
            raise InvalidInput(f"{row} names a picture twice; three different ones expected")
        (number,) = judging.commit_comparisons(self._views, [row], name, "compare", annotator(by))
        self._fold(name)
        return number

    def contradicts(self, judgement: int, *, profile: str = "default") -> list[int]:
        """Earlier judgements of which a judgement says the opposite, in part at least."""
        name = profiles.named(self._store, profile)
        with self._learning.lock:
            found = list(self._learning.history(name).contradictions)
        return list(dict.fromkeys(c.earlier for c in found if c.judgement == judgement))

    def figures(self, profile: str = "default") -> Figures:
        """What a profile amounts to."""
        name = profiles.named(self._store, profile)
        return profiles.figures(self._learning, self._known()[name], self._store.spaces())

    def verdicts(
        self, query: Query, *, region: Region | None = None, profile: str = "default"
    ) -> tuple[list[int], list[int]]:
        """Pictures liked and disliked for a query, as it stands now."""
        key = query_key(self._store, query, region)
        subject = None if key is None else feedback.subject_of(self._store, key)
        if subject is None:
            return [], []
        name = profiles.named(self._store, profile)
        said = self._learning.verdicts(name, subject)
        liked, disliked = (
            sorted(feedback.subjects_in_collection(self._store, some).values())
            for some in (said.liked, said.disliked)
        )
        return liked, disliked

    def undo(self, judgement_id: int | None = None, *, profile: str = "default") -> int:
        """Take back the last judgement of a profile, or the one named; gives its number.

        What was learned is then exactly what it would be had it never been said.
        """
        name = profiles.named(self._store, profile)
        number = profiles.undo(self._store, self._learning, name, judgement_id)
        self._fold(name)
        return number

    def roll_back(self, position: int, *, profile: str = "default") -> None:
        """Return a profile to an earlier position of its log; 0 is where it began."""
        name = profiles.named(self._store, profile)
        profiles.roll_back(self._store, self._learning, name, position)
        self._fold(name)

    def version(self, profile: str = "default") -> Version:
        """What a profile is now: its name, the position in the log, and the generations."""
        name = profiles.named(self._store, profile)
        position = self._learning.history(name).position
        live = {space.name: space.generation for space in self._store.spaces().values()}
        return profiles.Version(name, position, live)

    def log(self, profile: str = "default", *, newest: int | None = None) -> list[LogLine]:
        """What was said in a profile, oldest first; undone lines are marked, never gone.

        ``newest`` is how many lines are wanted, counted from the end; None: all.
        """
        name = profiles.named(self._store, profile)
        return profiles.log(self._store, self._learning.history(name), newest)

    def create_profile(self, name: str, base: str | None = None) -> None:
        """A profile that has learned nothing yet, over a built-in similarity."""
        profiles.create(self._store, name, base, self._known())

    def copy_profile(self, source: str, name: str) -> None:
        """A profile that begins with all another has learned."""
        profiles.copy(self._store, profiles.named(self._store, source), name)

    def export_profile(self, path: str | os.PathLike[str], *, profile: str = "default") -> Path:
        """The learned weights in one file, for another collection with the same words."""
        name = profiles.named(self._store, profile)
        return profiles.export(self._store, self._learning, name, absolute(path))

    def import_profile(self, path: str | os.PathLike[str], name: str | None = None) -> str:
        """A profile from a file that ``export_profile`` wrote; gives its name."""
        return profiles.import_(self._store, absolute(path), name)

    def learn_triplets(
        self,
        triplets: Iterable[Sequence[PictureName]],
        *,
        profile: str = "default",
        source: str = "file",
        by: str | None = None,
        report: jobs.Report = jobs.silent,
    ) -> int:
        """Comparisons (anchor, nearer, farther) in bulk; gives how many went into the log."""
        name = profiles.named(self._store, profile)
        rows = [(self.id_of(a), self.id_of(b), self.id_of(c)) for a, b, c in triplets]
        n = lessons.learn_triplets(self._views, rows, name, source, report, annotator(by))
        self._fold(name)
        return n

    def learn_labels(
        self,
        labels: str = "folders",
        *,
        n_triplets: int = 2_000,
        seed: int = 0,
        profile: str = "default",
        report: jobs.Report = jobs.silent,
    ) -> int:
        """Comparisons drawn from folder names or single tags: same label nearer than another."""
        ids, names = lessons.labelled(self._store, labels)
        rows = lessons.triplets_of_labels(ids, names, n_triplets, seed)
        return self.learn_triplets(rows, profile=profile, source=labels, report=report)

    def relearn(self, *, profile: str = "default") -> Similarity:
        """Fold the whole log again from its first line; gives the profile with its figures.

        It must come to what is in use; if it does not, the catalog is damaged.
        """
        name = profiles.named(self._store, profile)
        for space in self._store.spaces().values():
            if space.row_format.learns_weights and space.generation:
                self._learning.relearn(name, space)
        return self.profiles[name]

    def learn_sparse(
        self, name: str, *, profile: str = "default", report: jobs.Report = jobs.silent
    ) -> lessons.SparseOutcome:
        """A compact profile from all lessons of another: most words weigh nothing.

        Made only where there are enough triplets and where it is right no less often about
        lessons held out.  What was said about single queries comes along.
        """
        source = profiles.named(self._store, profile)
        profiles.check_name(self._store, name)
        space = profiles.sparse_space(self._known()[source], self._store.spaces())
        if space is None:
            raise CollectionError(f"profile {source!r} ranks by no words; there is nothing to thin")
        view = self._views.view(space.name)
        assert isinstance(view, SparseView)
        cost = lessons.posting_costs(view.frequency()[0])
        outcome, given = lessons.learn_sparse(
            self._store, self._learning, source, space, cost, report
        )
        if given is not None:
            about = {"from": source, "sparse": True, "agreement": outcome.agreement}
            profiles.put_weights(
                self._store, name, profiles.base_of(self._store, source),
                {space.name: (space.generation, given)}, about, parent=source,
            )  # fmt: skip
        return outcome

    def compact(
        self, profile: str = "default", *, report: jobs.Report = jobs.silent
    ) -> compacting.Compacted:
        """Give a sparse profile an index with its own words only; says what it saved."""
        name = profiles.named(self._store, profile)
        with jobs.lease(self.root, "compact"):
            space_rows.tidy(self._store)
            space = profiles.sparse_space(self._known()[name], self._store.spaces())
            weights = None if space is None else self._learning.weights(name, space)
            if space is None or weights is None or not np.any(weights == 0):
                raise CollectionError(
                    f"profile {name!r} gives no word the weight 0; make a sparse one first"
                )
            done = compacting.compact(self._views, name, space, weights, report)
            space_rows.tidy(self._store)
            return done

    def _fold(self, profile: str) -> None:
        """Learn what the log has more, so that the next search finds it done."""
        for space in self._store.spaces().values():
            if space.row_format.learns_weights and space.generation:
                self._learning.state(profile, space)
