"""Collection: a directory of pictures, with common operations as methods and parts for the rest.

Every method either reads or makes one change, completely or not at all.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from likewise.catalog import jobs
from likewise.catalog.engine_sync import has_engines
from likewise.catalog.filters import absolute, plain_metadata
from likewise.catalog.locations import open_store
from likewise.catalog.pictures import PictureName, Pictures
from likewise.catalog.store import FileRow, ImageRow, Store
from likewise.errors import CollectionError, InvalidInput
from likewise.parts import part
from likewise.search.similarities import resolve_profile

# Import a part when it is first used: a list of pictures needs no learner.
if TYPE_CHECKING:
    from likewise.catalog.database import Watch
    from likewise.catalog.locations import Moved
    from likewise.collection.actions import Actions
    from likewise.collection.keys import Keys
    from likewise.ingest.add import AddResult, Metadata
    from likewise.ingest.facts import Describers
    from likewise.ingest.pool import Workers
    from likewise.ingest.spaces import Spaces
    from likewise.learning.judge import Judgement
    from likewise.learning.log import Log
    from likewise.learning.models.comparisons import Comparisons
    from likewise.learning.models.models import Models
    from likewise.learning.profile_states import ProfileStates
    from likewise.learning.profiles import Profiles
    from likewise.learning.shares import Shares
    from likewise.library.library import Library
    from likewise.search.colours import Colours
    from likewise.search.explain import Explanation
    from likewise.search.query import Query, Region
    from likewise.search.rank import Hit, Hits
    from likewise.search.searcher import Searcher
    from likewise.search.similarities import Similarities
    from likewise.search.views import Views
    from likewise.tags.suggest import Suggestion
    from likewise.tags.tags import Tags


class Collection:
    """Pictures on disk, searchable.

    Common operations are methods; the rest is in parts: ``spaces``, ``similarities``, ``searcher``,
    ``profiles``, ``models``, ``tags``, ``library``, ``comparisons``, ``log``, ``pictures``,
    ``colours``, ``actions``, ``shares``, ``keys`` and ``engine_sync``.  :meth:`create` and
    :meth:`open` return one; it is a context manager that closes it.

    Parameters
    ----------
    store : Store
        The opened catalog.

    Attributes
    ----------
    root : Path
        Its folder.
    pictures : Pictures
        Files and content of pictures.

    See Also
    --------
    Hit : one picture found.
    Judgement : pictures that are like a query or not.
    Suggestion : a suggested tag.

    References
    ----------
    Judgements: docs/methods/staying.md, (10) to (16), and over words docs/methods/solis.md, (8);
    typed words: docs/methods/words.md, (1) to (6); suggested tags: docs/methods/siso.md, (13) and
    (22).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from PIL import Image
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> colours = {"red": (200, 30, 30), "rose": (220, 60, 60), "blue": (30, 30, 200)}
    >>> for name, colour in colours.items():
    ...     Image.fromarray(np.full((96, 96, 3), colour, np.uint8)).save(folder / f"{name}.png")
    >>> col = Collection.create(folder / "photos.lw", deep=False)
    >>> col.add(folder).added
    3
    >>> hits = col.search(folder / "red.png", k=2, by="holistic")
    >>> pathlib.Path(hits[0].path).name
    'rose.png'
    >>> col.close()
    """

    def __init__(self, store: Store) -> None:
        self.root = store.root
        self._store = store
        self._catalog: str | None = None
        self.pictures = Pictures(store)

    # -- parts ------------------------------------------------------------------------------

    @part
    def _views(self) -> Views:
        """The spaces, opened for searching."""
        from likewise.search.views import Views

        return Views(self._store)

    @part
    def _states(self) -> ProfileStates:
        """The learned state of the profiles, in memory."""
        from likewise.learning.profile_states import ProfileStates

        return ProfileStates(self._store)

    @part
    def similarities(self) -> Similarities:
        """The names a search can rank by."""
        from likewise.search.similarities import Similarities

        return Similarities(self._store, lambda *asked: self._states.figures(*asked))

    @part
    def searcher(self) -> Searcher:
        """Searching and explaining."""
        from likewise.search.searcher import Searcher

        return Searcher(self._views, self._states, self.similarities)

    @part
    def spaces(self) -> Spaces:
        """The kinds of vector that every picture has."""
        from likewise.ingest.spaces import Spaces

        return Spaces(self._views, self.similarities)

    @part
    def describers(self) -> Describers:
        """What else is computed per picture, such as text in it."""
        from likewise.ingest.facts import Describers

        return Describers(self._store)

    @part
    def profiles(self) -> Profiles:
        """Learned similarities, each with its history."""
        from likewise.learning.profiles import Profiles

        return Profiles(self._views, self._states, self.similarities, self.pictures)

    @part
    def log(self) -> Log:
        """Judgements and comparisons, as they were made."""
        from likewise.learning.log import Log

        return Log(self._store, self._states)

    @part
    def comparisons(self) -> Comparisons:
        """Answers to: which of two pictures is nearer to a third?"""
        from likewise.learning.models.comparisons import Comparisons

        return Comparisons(self._views, self._states, self.pictures)

    @part
    def models(self) -> Models:
        """Learned metrics and maps."""
        from likewise.learning.models.models import Models

        return Models(self._views, self._states)

    @part
    def tags(self) -> Tags:
        """Tags and suggestions."""
        from likewise.tags.tags import Tags

        return Tags(self._views, self.pictures, lambda: self.searcher, lambda: self.log)

    @part
    def colours(self) -> Colours:
        """Search by colour."""
        from likewise.search.colours import Colours

        # A server replaces the decoder later.
        return Colours(self._store, lambda *asked: self._views.decode_pixels(*asked))

    @part
    def actions(self) -> Actions:
        """Changes to many pictures at once, and undo."""
        from likewise.collection.actions import Actions

        return Actions(self._store, self.pictures, self._follow_vectors, lambda: self._states)

    @part
    def library(self) -> Library:
        """By time, folder and place; stars, favourites, albums, hidden pictures."""
        from likewise.library.library import Library

        return Library(self._store, self.pictures)

    @part
    def shares(self) -> Shares:
        """Links through which other people answer comparisons."""
        from likewise.learning.shares import Shares

        return Shares(self._store)

    @part
    def keys(self) -> Keys:
        """Named keys: permission to look, to judge and tag, or to manage."""
        from likewise.collection.keys import Keys

        return Keys(self._store, lambda: self._states)

    @part
    def engine_sync(self) -> Any:
        """Copies of its rows in other engines: ``likewise_cluster.EngineSync``."""
        from likewise.plugins import ENGINES, SYNC, load

        return load(ENGINES, SYNC)(self._store, self._views)

    # -- lifecycle --------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        words: Mapping[str, Any] | None = None,
        deep: bool | None = None,
        all_spaces: bool = False,
    ) -> Self:
        """Create an empty collection.

        The network describes its pictures (deep, deep-dense, look) where it can run; otherwise
        words and holistic vectors do.  ``col.spaces.add`` adds spaces at any time.

        Parameters
        ----------
        path : path
            A folder that does not exist yet.
        words : mapping, optional
            A recipe such as ``{"n_words": 5_000, "large_from": 20_000}``; adds the space of
            words.
        deep : bool, optional
            Whether the network describes pictures; by default where it can run.
        all_spaces : bool, default=False
            Whether the network, words and holistic vectors all describe pictures.

        Returns
        -------
        Collection
        """
        from likewise.collection.creation import create_collection

        root = absolute(path)
        create_collection(root, words, deep, all_spaces)
        return cls.open(root)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, catalog: str | None = None) -> Self:
        """Open an existing collection.

        Parameters
        ----------
        path : path
            Its folder.
        catalog : str, optional
            Another address of its PostgreSQL database, such as one with a password
            (``docs/scaling.md``).

        Returns
        -------
        Collection
        """
        root = absolute(path)
        if not root.is_dir():
            raise CollectionError(f"{root} is not there; create it with Collection.create")
        made = cls(open_store(root, catalog))
        made._catalog = catalog
        return made

    def open_again(self) -> Self:
        """Open the same collection once more, for use in parallel."""
        made = type(self).open(self.root, catalog=self._catalog)
        made.actor = self.actor
        return made

    @classmethod
    def move(
        cls,
        path: str | os.PathLike[str],
        to: str,
        *,
        catalog: str | None = None,
        report: jobs.Report = jobs.silent,
    ) -> Moved:
        """Move the catalog and the log of a collection to PostgreSQL, or back into its folder.

        All rows are compared before one commit switches; a move that is killed changes nothing.
        Pictures, vectors and thumbnails stay where they are.

        Parameters
        ----------
        path : path
            Its folder.
        to : str
            An address (``postgresql://user@host/database``) or ``sqlite``.
        catalog : str, optional
            As for :meth:`open`.
        report : callable, optional
            Called with a :class:`Progress` now and then.

        Returns
        -------
        Moved
        """
        from likewise.catalog.locations import move_catalog

        return move_catalog(absolute(path), to, catalog, report)

    @classmethod
    def restore(cls, backup: str | os.PathLike[str], path: str | os.PathLike[str]) -> Self:
        """Restore a collection from a backup and verify it.

        Keys and links for guests do not work in it: one may have been revoked since the backup.
        Judgements made with them stay.

        Parameters
        ----------
        backup : path
            What :meth:`backup` wrote.
        path : path
            A folder that does not exist yet.

        Returns
        -------
        Collection
        """
        from likewise.collection import backups

        backups.restore(absolute(backup), absolute(path))
        return cls.open(path)

    def close(self) -> None:
        """Close files and connections."""
        if "_states" in vars(self):
            self._states.close()
        if "_views" in vars(self):
            self._views.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._store.n_images()

    # -- contents ---------------------------------------------------------------------------

    def add(
        self,
        *paths: str | os.PathLike[str],
        metadata: Metadata | None = None,
        workers: Workers | None = None,
        report: jobs.Report = jobs.silent,
    ) -> AddResult:
        """Add pictures and folders of pictures; bad files are listed, never fatal.

        A run that was stopped continues when it is started again.

        Parameters
        ----------
        *paths : path
            Files and folders.
        metadata : mapping or callable, optional
            A mapping for all of them, or a function of the path.
        workers : int or Cluster, optional
            Processes that describe pictures; by default the number depends on the machine.
        report : callable, optional
            Called with a :class:`Progress` now and then.

        Returns
        -------
        AddResult
            What was added, what was skipped, and why.
        """
        from likewise.ingest import add as adding

        if not paths:
            raise InvalidInput("nothing to add; a picture or a folder expected")
        if metadata is not None and not callable(metadata):
            plain_metadata(metadata)
        places = [adding.check_reachable(path) for path in paths]
        with self._store.lease("add"):
            result = adding.add(
                self._store, places, metadata=metadata, workers=workers, report=report
            )
            self._follow_vectors(report)
            return result

    def sync(
        self, *, workers: Workers | None = None, report: jobs.Report = jobs.silent
    ) -> AddResult:
        """Follow new, changed and deleted files below everything that was added.

        Parameters
        ----------
        workers : int or Cluster, optional
            Processes that describe pictures.
        report : callable, optional
            Called with a :class:`Progress` now and then.

        Returns
        -------
        AddResult
            What was added, changed and removed.
        """
        from likewise.ingest.add import sync

        with self._store.lease("sync"):
            result = sync(self._store, workers=workers, report=report)
            self._follow_vectors(report)
            return result

    def _follow_vectors(self, report: jobs.Report) -> None:
        """Update what was learned from vectors."""
        self.spaces.fill_codes()
        self.models.follow_generations(report)

    def remove(self, *pictures: PictureName) -> int:
        """Remove pictures (the files stay).

        ``sync`` and ``add`` of a folder skip them from now on; ``add`` of the file itself brings
        one back, and so does ``actions.undo``, with its tags and judgements.

        Parameters
        ----------
        *pictures : int or path
            By id or path.

        Returns
        -------
        int
            The number removed.
        """
        return self.actions.remove(pictures).pictures if pictures else 0

    def refresh(self, *, report: jobs.Report = jobs.silent) -> None:
        """Compute the weights of words again from the present pictures (a new idf, the same words).

        Parameters
        ----------
        report : callable, optional
            Called with a :class:`Progress` now and then.
        """
        from likewise.spaces import rows as space_rows

        with self._store.lease("refresh"):
            space_rows.tidy(self._store)
            self.spaces.renew_idf(report)
            self.models.follow_generations(report)
            space_rows.tidy(self._store)

    def retrain(
        self, *, workers: Workers | None = None, seed: int = 0, report: jobs.Report = jobs.silent
    ) -> None:
        """Learn new words (and codebooks of pooled spaces) from the present pictures.

        Parameters
        ----------
        workers : int or Cluster, optional
            Processes that describe pictures.
        seed : int, default=0
            The random seed.
        report : callable, optional
            Called with a :class:`Progress` now and then.
        """
        from likewise.spaces import rows as space_rows

        with self._store.lease("retrain"):
            space_rows.tidy(self._store)
            self.spaces.train(workers, seed, report)
            self.models.follow_generations(report)
            space_rows.tidy(self._store)

    # -- search -----------------------------------------------------------------------------

    def search(
        self,
        query: Query | None = None,
        k: int = 20,
        *,
        text: str | None = None,
        by: str = "default",
        where: Mapping[str, Any] | None = None,
        region: Region | None = None,
        above: float | None = None,
        without: Iterable[str] = (),
        weight: float = 0.5,
        today: date | None = None,
    ) -> Hits:
        """Find the k pictures most like a picture, that match typed words best, or both.

        A picture of the collection is not among its own hits.

        Parameters
        ----------
        query : int, path, bytes, array, or list of these, optional
            An id, a file, its content, pixels (uint8) or a vector; a list finds pictures like all
            of them together (the mean of their rows).
        k : int, default=20
            Pictures wanted.
        text : str, optional
            Words to find in tags, names, dates and cameras, and in what pictures show; a minus in
            front of a word excludes it.  Hits then have ``reasons``.
        by : str, default="default"
            A similarity (:attr:`similarities`).
        where : mapping, optional
            Keeps only pictures with a ``folder``, ``tag`` (or all of a list of tags), ``format``,
            date ``after`` / ``before``, at least so many ``stars``, ``favourite``, an ``album``,
            or any key of your metadata.  Hidden pictures are left out unless ``hidden`` is true
            (only those) or "any".
        region : (x, y, w, h), optional
            Search with this part of the picture.
        above : float, optional
            The lowest score shown.
        without : iterable of str, optional
            Keys of reasons that must not count.
        weight : float, default=0.5
            The weight of a picture next to words, from 0 to 1.
        today : date, optional
            The day that "last week" is counted from.

        Returns
        -------
        list of Hit
            Best first; its ``hint`` says what would improve the result, if anything.
        """
        return self.searcher.search(
            query, k, text=text, by=by, where=where, region=region, above=above,
            without=without, weight=weight, today=today,
        )  # fmt: skip

    def search_many(self, queries: Iterable[Query], k: int = 20, **options: Any) -> list[list[Hit]]:
        """Search for each query, with the options of :meth:`search`.

        Parameters
        ----------
        queries : iterable of queries
            Each as for :meth:`search`.
        k : int, default=20
            Pictures wanted of each.
        **options : object
            The other arguments of :meth:`search`.

        Returns
        -------
        list of lists of Hit
        """
        return [self.search(query, k, **options) for query in queries]

    def explain(
        self,
        query: Query,
        hit: int,
        *,
        top: int = 10,
        by: str = "default",
        region: Region | None = None,
    ) -> Explanation:
        """Explain why a similarity found a picture.

        Where words ranked: the shared words that count most, with their places.  Where a network's
        row ranked: a heat map of each picture, whose cells add up to the score.  A profile counts
        both as it has learned to.  ``searcher.explainer`` explains many hits of one query faster.

        Parameters
        ----------
        query : int, path, bytes, array, or list of these
            As for :meth:`search`.
        hit : int
            The picture found.
        top : int, default=10
            Words wanted.
        by : str, default="default"
            The similarity that found it.
        region : (x, y, w, h), optional
            The part of the query that was searched with.

        Returns
        -------
        Explanation
        """
        return self.searcher.explainer(query, by, region).explain(hit, top)

    def duplicates(
        self, *, threshold: float | None = None, space: str | None = None
    ) -> list[list[Hit]]:
        """Find groups of near-duplicates, the one to keep first (``library.KEEP_RULE``).

        They are found by their pixels: re-saved, resized, mirrored, cropped by up to a tenth.

        Parameters
        ----------
        threshold : float, optional
            Link pictures by a score of at least that much in a space instead; by default what
            near-duplicates score there.
        space : str, optional
            That space; by default the best for it.

        Returns
        -------
        list of lists of Hit
        """
        if space is not None or threshold is not None:
            return self.searcher.duplicates(space, threshold)
        from likewise.search.duplicates import with_copies

        groups = self.library.duplicates()
        found = [[(one.row.id, one.score) for one in group.pictures] for group in groups]
        return with_copies(self._store, found)

    # -- feedback ---------------------------------------------------------------------------

    def judge(
        self,
        query: Query | None = None,
        liked: Iterable[PictureName] = (),
        disliked: Iterable[PictureName] = (),
        *,
        text: str | None = None,
        shown: Iterable[PictureName] | None = None,
        profile: str = "default",
        region: Region | None = None,
    ) -> Judgement:
        """Record which pictures are like the query and which are not.

        The next search uses it: liked pictures are mixed into this query and disliked ones taken
        out; all other queries change through the profile's weights.  When this returns, the
        judgement is on disk.

        Parameters
        ----------
        query : int, path, bytes, array, or list of these, optional
            As for :meth:`search`.
        liked, disliked : iterable of int or path, optional
            Pictures that are like it and that are not.
        text : str, optional
            What was typed: the judgement counts for that text and for texts of similar meaning.
        shown : iterable of int or path, optional
            The pictures that were shown, best first: where nothing is disliked, those above a
            liked one count as not alike.
        profile : str, default="default"
            The profile that learns.
        region : (x, y, w, h), optional
            The part of the query that was searched with.

        Returns
        -------
        Judgement
            The line of the log, and what it changed.
        """
        from likewise.learning import judge as judging

        question, ids_of = self.searcher.resolve(query, text, region), self.pictures.ids_of
        good, bad = ids_of(liked, "liked"), ids_of(disliked, "disliked")
        offered = None if shown is None else ids_of(shown, "shown")
        name = resolve_profile(self._store, profile)
        return judging.judge(
            self._views, self._states, question, good, bad, shown=offered, profile=name
        )

    def undo(self, judgement: Judgement | int | None = None, *, profile: str = "default") -> int:
        """Undo a judgement: the profile is then as if it had never been made.

        Parameters
        ----------
        judgement : Judgement or int, optional
            By default the last one of the profile.
        profile : str, default="default"
            Its profile.

        Returns
        -------
        int
            Its number.
        """
        from likewise.learning import judge as judging
        from likewise.learning import pending_answers

        if isinstance(judgement, judging.Judgement):
            profile, judgement = judgement.profile, judgement.number
        name = resolve_profile(self._store, profile)
        if judgement is not None:
            return pending_answers.undo(self._store, self._states, name, judgement)
        return judging.undo(self._store, self._states, name, None)

    def compare(
        self,
        anchor: PictureName,
        nearer: PictureName,
        farther: PictureName,
        *,
        profile: str = "default",
        person: str | None = None,
        at_once: bool = False,
    ) -> int:
        """Record that ``anchor`` is closer to ``nearer`` than to ``farther``; returns its number.

        The profile learns it from ``comparisons.take_in``, or now if ``at_once``.
        """
        return self.comparisons.add(
            anchor, nearer, farther, profile=profile, person=person, at_once=at_once
        )

    def use(self, similarity: str) -> None:
        """Make a similarity what ``default`` means."""
        self.similarities.use(similarity)

    # -- tags -------------------------------------------------------------------------------

    def tag(self, picture: PictureName, *tags: str, source: str = "user") -> None:
        """Give a picture tags; a ``source`` other than a person is one that files may be."""
        self.tags.change([picture], tags, source=source)

    def untag(self, picture: PictureName, *tags: str) -> None:
        """Take tags from a picture; tags in its file do not bring them back."""
        self.tags.change([picture], remove=tags)

    def suggest_tags(self, picture: Query, k: int = 5) -> list[Suggestion]:
        """Suggest at most k tags for a picture, best first, with tagged pictures as evidence."""
        return self.tags.suggest(picture, k)

    # -- looking ----------------------------------------------------------------------------

    def id_of(self, picture: PictureName) -> int:
        """Return the id of a picture given by id or path."""
        return self.pictures.id_of(picture)

    def image(self, picture: PictureName) -> ImageRow:
        """Return what the catalog knows about a picture given by id or path."""
        return self.pictures.row(picture)

    def images(self) -> Iterable[ImageRow]:
        """Return every picture, by id."""
        return self.pictures.all()

    def problems(self) -> list[FileRow]:
        """Return files that could not be used, with the reason."""
        return self.pictures.problems()

    @property
    def actor(self) -> str:
        """The name that ``actions`` records, such as "the page"."""
        return self._store.actor

    @actor.setter
    def actor(self, name: str) -> None:
        self._store.actor = name

    def watch(self, changed: Callable[[], object]) -> Watch | None:
        """Call a function soon after every change by any process, in a thread of its own.

        Parameters
        ----------
        changed : callable
            Called without an argument.

        Returns
        -------
        Watch or None
            None where the catalog cannot notify; then compare :attr:`revision`.
        """
        return self._store.catalog.watch(changed)

    def running_job(self) -> str | None:
        """Return the long job that runs now, in words; None if there is none."""
        return self._store.running_job()

    @property
    def has_engines(self) -> bool:
        """Whether another engine holds rows of it, and needs changes sent."""
        return has_engines(self._store)

    @property
    def revision(self) -> int:
        """A number that grows with every change by any process."""
        return self._store.revision

    def info(self) -> dict[str, Any]:
        """Return counts and sizes."""
        from likewise.collection import integrity

        return integrity.info(self._store)

    def verify(self) -> list[str]:
        """Check every byte that can be checked; return what is wrong, empty if nothing is."""
        from likewise.collection import integrity

        return integrity.verify(self._store)

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Write a consistent copy while the collection is in use.

        Parameters
        ----------
        path : path
            A folder that does not exist yet.

        Returns
        -------
        Path
            Its folder.
        """
        from likewise.collection import backups

        return backups.backup(self._store, absolute(path))

    def destroy(self) -> None:
        """Delete the collection (never the pictures)."""
        from likewise.library import removed_files

        if removed_files.holds_files(self.root):
            raise CollectionError(
                f"{self.root / removed_files.FOLDER} holds files that were moved from their "
                "folders; undo that, or move them elsewhere, first"
            )
        with self._store.lease("destroy"):
            self._store.catalog.drop()
            self.close()
            shutil.rmtree(self.root)
