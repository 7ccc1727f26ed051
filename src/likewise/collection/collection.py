"""Collection: the one object that ties a directory on disk to everything below it.

It holds no logic of its own: the catalog remembers, jobs add and learn, views search.  Every
method either reads or makes one change that is whole or not at all.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from likewise.collection import backups, checking, jobs
from likewise.collection.errors import CollectionError
from likewise.collection.feedback import judge as judging
from likewise.collection.feedback.learning import Learning
from likewise.collection.feedback.loop import Loop
from likewise.collection.feedback.profiles import named
from likewise.collection.feedback.reranker import Taught
from likewise.collection.feedback.sharing import Sharing
from likewise.collection.ingest import add as adding
from likewise.collection.ingest import generations as gen
from likewise.collection.ingest.growth import learn_space
from likewise.collection.ingest.new_space import create_space, first_recipes, put_first_spaces
from likewise.collection.ingest.own_vectors import put_vectors
from likewise.collection.ingest.sync import sync
from likewise.collection.ingest.workers import n_workers
from likewise.collection.models.modelling import Modelling
from likewise.collection.plain import absolute, plain_metadata, plain_where
from likewise.collection.search import explain as explaining
from likewise.collection.search.duplicates import find_duplicates
from likewise.collection.search.query import Query, Region, resolve_query
from likewise.collection.search.rank import Hit, rank, similarity_views
from likewise.collection.search.views import Views
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.base import Space
from likewise.collection.spaces.registry import open_spaces, validate_recipe
from likewise.collection.store import changes as catalog_changes
from likewise.collection.store import listing as catalog_listing
from likewise.collection.store.store import FILE, FileRow, ImageRow, Store
from likewise.collection.tags.suggest import Suggester
from likewise.collection.tags.tagged import Tagging
from likewise.errors import InvalidInput

_NAME_LENGTH = 40
_SECRET = "server_secret"


class Collection(Loop, Tagging, Modelling, Sharing):
    """Pictures on disk, searchable.

    >>> import tempfile, pathlib
    >>> from likewise.evaluation import write_planted
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> data = write_planted(folder / "pictures", n_views=2)
    >>> col = Collection.create(folder / "photos.lw")
    >>> col.add(folder / "pictures").added
    46
    >>> hits = col.search(folder / "pictures" / "china-01-crop.jpg", k=3)
    >>> pathlib.Path(hits[0].path).name
    'china-00-original.jpg'
    >>> col.close()
    """

    def __init__(self, store: Store) -> None:
        self.root = store.root
        self._store = store
        self._views = Views(store)
        self._learning = Learning(store)
        self._suggester = Suggester(self._views)

    # -- life -------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        words: Mapping[str, Any] | None = None,
        deep: bool | None = None,
    ) -> Self:
        """A new, empty collection; ``words`` changes the recipe of its visual words.

        For instance ``words={"n_words": 5_000, "large_from": 20_000}``.  ``deep`` says whether it
        has the spaces deep and deep-dense; None: where the extra ``deep`` is installed.
        """
        recipes = first_recipes(words, deep)
        root = absolute(path)
        if root.exists() and not root.is_dir():
            raise CollectionError(f"{root} is a file; choose another name")
        if root.is_dir():
            # What a creation that was killed left behind does not count.
            others = [p for p in root.iterdir() if not p.name.startswith(f"{FILE}.part")]
            if others:
                what = "a collection" if root / FILE in others else "not empty"
                raise CollectionError(f"{root} is {what} already; open it, or choose another name")
        root.mkdir(parents=True, exist_ok=True)
        # Made whole under another name: a collection half created must not look like one.
        part = root / f"{FILE}.part"
        for leftover in root.glob(f"{FILE}.part*"):
            leftover.unlink()
        store = Store.create(part, {"made_by": "likewise"})
        put_first_spaces(store, recipes)
        store.fold_journal()
        store.close()
        os.replace(part, root / FILE)
        return cls.open(root)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """An existing collection."""
        root = absolute(path)
        if not root.is_dir():
            raise CollectionError(f"{root} is not there; create it with Collection.create")
        return cls(Store.open(root / FILE))

    @classmethod
    def restore(cls, backup: str | os.PathLike[str], path: str | os.PathLike[str]) -> Self:
        """A collection from a backup, verified before it appears under ``path``."""
        backups.restore(absolute(backup), absolute(path))
        return cls.open(path)

    def close(self) -> None:
        """Let go of files and connections."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._store.n_images()

    # -- contents ---------------------------------------------------------------------------

    def add(
        self,
        *paths: str | os.PathLike[str],
        metadata: adding.Metadata | None = None,
        workers: int | None = None,
        report: jobs.Report = jobs.silent,
    ) -> adding.AddResult:
        """Take in pictures and folders of pictures; bad files are listed, never fatal.

        ``metadata`` is a mapping for all of them, or a function of the path.  A run that is
        stopped goes on where it was when it is started again.
        """
        if not paths:
            raise InvalidInput("nothing to add; a picture or a folder expected")
        if metadata is not None and not callable(metadata):
            plain_metadata(metadata)
        places = [adding.check_reachable(path) for path in paths]
        with jobs.lease(self.root, "add"):
            result = adding.add(
                self._store, places, metadata=metadata, workers=workers,
                report=report,
            )  # fmt: skip
            self._code_judged()
            self._follow_generations(report)
            return result

    def sync(
        self, *, workers: int | None = None, report: jobs.Report = jobs.silent
    ) -> adding.AddResult:
        """Follow new, changed and deleted files below everything that was added."""
        with jobs.lease(self.root, "sync"):
            result = sync(self._store, workers=workers, report=report)
            self._code_judged()
            self._follow_generations(report)
            return result

    def _code_judged(self) -> None:
        """Vectors made late (a space whose gaps were filled) count for earlier judgements too."""
        for name, space in self.spaces.items():
            # A space with placeholders has a row of every picture.
            if space.generation and space.is_available() and space.placeholder is None:
                judging.fill(self._views, name)

    def remove(self, *pictures: int | str | os.PathLike[str]) -> int:
        """Take pictures out (the files stay); gives how many left.

        Neither ``sync`` nor ``add`` of a folder brings them back; ``add`` of the file itself does.
        """
        ids = [self.id_of(picture) for picture in pictures]
        with jobs.lease(self.root, "remove"), self._store.write(durable=True) as c:
            catalog_changes.take_out(c, ids)
        return len(ids)

    def refresh(self, *, report: jobs.Report = jobs.silent) -> None:
        """Weigh the words by the pictures there are now (a new idf, the same words)."""
        with jobs.lease(self.root, "refresh"):
            space_rows.tidy(self._store)
            for space in self.spaces.values():
                if space.idf is not None and space.generation:
                    gen.renew_idf(self._store, space, report)
            self._follow_generations(report)
            space_rows.tidy(self._store)

    def retrain(
        self,
        *,
        workers: int | None = None,
        seed: int = 0,
        report: jobs.Report = jobs.silent,
    ) -> None:
        """Learn new words (and codebooks of pooled spaces) from the pictures there are now."""
        count = n_workers(workers, len(self))
        with jobs.lease(self.root, "retrain"):
            space_rows.tidy(self._store)
            for space in self.spaces.values():
                if space.must_learn and space.is_available() and len(self):
                    learn_space(self._store, space, workers=count, report=report, seed=seed)
            self._follow_generations(report)
            space_rows.tidy(self._store)

    # -- spaces -----------------------------------------------------------------------------

    @property
    def spaces(self) -> Mapping[str, Space]:
        """The spaces by name, with their live generation."""
        return open_spaces(self._store)

    def add_space(
        self,
        name: str,
        recipe: Mapping[str, Any],
        *,
        workers: int | None = None,
        report: jobs.Report = jobs.silent,
    ) -> None:
        """Another kind of vector for every picture, back-filled.

        ``recipe`` names the feature ("words", "holistic", "deep", "deep-dense", "deep-words",
        "psc", "vlad", "onnx" for a network of your own, "own" for vectors of your own, or one that
        another package brings) and its parameters.
        """
        _, whole = validate_recipe(recipe)
        if not name.replace("-", "").replace("_", "").isalnum() or len(name) > _NAME_LENGTH:
            raise InvalidInput(
                f"{name!r} is no name for a space; letters, digits, - and _ expected"
            )
        with jobs.lease(self.root, "space add"):
            if name in self._store.spaces() or name in self._known():
                raise CollectionError(f"there is a space or similarity {name!r} already")
            space_rows.tidy(self._store)
            create_space(self._store, name, whole, workers=workers, report=report)
            if self._store.spaces()[name].generation:
                judging.fill(self._views, name)
            space_rows.tidy(self._store)

    def drop_space(self, name: str) -> None:
        """Forget a space and its vectors."""
        if name in ("words", "holistic"):
            raise CollectionError(f"space {name!r} is part of every collection")
        with jobs.lease(self.root, "space drop"):
            if name not in self._store.spaces():
                raise CollectionError(f"there is no space {name!r}")
            with self._store.write(durable=True) as c:
                catalog_changes.drop_space(c, name)
                # One of the same name may come later, and have nothing to do with this one.
                judging.fold_again(c, self._store, name)
                if self._store.setting("default_similarity") == name:
                    catalog_changes.drop_setting(c, "default_similarity")
            space_rows.tidy(self._store)

    def add_vectors(self, name: str, ids: Sequence[int], X: Any) -> int:
        """Your own vectors for pictures of the collection; gives how many were stored.

        The first call fixes the width.  A picture that has a vector gets the new one.
        """
        with jobs.lease(self.root, "add vectors"):
            stored = put_vectors(self._store, name, ids, X)
            if stored:
                judging.fill(self._views, name)
            return stored

    # -- search -----------------------------------------------------------------------------

    def search(
        self,
        query: Query,
        k: int = 20,
        *,
        by: str = "default",
        where: Mapping[str, Any] | None = None,
        region: Region | None = None,
        above: float | None = None,
    ) -> list[Hit]:
        """The k pictures most alike.

        ``query`` is an id, a path, the bytes of a file, pixels (uint8 array) or a vector.  A
        picture of the collection is not among its own hits.  ``region`` (x, y, w, h) searches
        with a part of the picture.  ``where`` keeps only pictures with a ``folder``, ``tag`` (or
        all of a list of tags), ``format``, date ``after`` / ``before``, or any key of your
        metadata.  ``above`` is the lowest score shown.
        """
        ids, scores = self.ranking(query, k, by=by, where=where, region=region, above=above)
        rows = self._store.images(ids)
        # A picture removed since the views were taken has no row any more.
        return [Hit(i, rows[i].path, s) for i, s in zip(ids, scores, strict=True) if i in rows]

    def ranking(
        self,
        query: Query,
        k: int,
        *,
        by: str = "default",
        where: Mapping[str, Any] | None = None,
        region: Region | None = None,
        above: float | None = None,
    ) -> tuple[list[int], list[float]]:
        """Ids and scores of :meth:`search`, without a look at the pictures' rows."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise InvalidInput(f"k is {k!r}; a whole number of at least 1 expected")
        similarity = self.similarity(by)
        question = resolve_query(self._store, query, region)
        allowed = self._store.matching(plain_where(where)) if where else None
        if not self._store.highest_id():
            return [], []
        teaching = None
        if similarity.profile is not None:
            teaching = Taught(self._store, self._learning, similarity.profile, question.key)
        return rank(
            self._views, similarity, question, int(k), allowed=allowed, above=above,
            reranker=teaching,
        )  # fmt: skip

    def reach(self, by: str = "default") -> int:
        """How many pictures a similarity can rank: those that have its vectors."""
        similarity = self.similarity(by)
        if not self._store.highest_id():
            return 0
        return max(map(len, similarity_views(self._views, similarity).values()))

    def search_many(self, queries: Iterable[Query], k: int = 20, **options: Any) -> list[list[Hit]]:
        """:meth:`search` for each query."""
        return [self.search(query, k, **options) for query in queries]

    def explain(
        self,
        query: Query,
        hit: int,
        *,
        top: int = 10,
        by: str = "words",
        region: Region | None = None,
        profile: str | None = None,
    ) -> explaining.Explanation:
        """Why a picture was found: the shared words that count most, and where they are.

        With a ``profile`` they count as it has learned to count them, for this query.

        Recomputed from both pictures on demand: :mod:`~likewise.collection.search.explain`.
        """
        teaching = None
        if profile is not None:
            name = named(self._store, profile)
            key = resolve_query(self._store, query, region).key
            teaching = Taught(self._store, self._learning, name, key)
        return explaining.explain(self._views, query, hit, top, by, region, teaching)

    def has_places(self, space: str) -> bool:
        """Whether the words of a space lie somewhere in a picture, so that it can explain."""
        found = self.spaces.get(space)
        return found is not None and explaining.can_explain(found)

    def duplicates(self, *, threshold: float = 0.99, by: str = "holistic") -> list[list[Hit]]:
        """Groups of near-duplicates: pictures linked by a score of at least ``threshold``."""
        if by not in self.spaces:
            raise CollectionError(
                f"{by!r} is no space; near-duplicates are found in one of {', '.join(self.spaces)}"
            )
        return find_duplicates(self._views, by, threshold)

    # -- looking ----------------------------------------------------------------------------

    def image(self, picture: int | str | os.PathLike[str]) -> ImageRow:
        """What the catalog knows about a picture."""
        row = self._store.image(self.id_of(picture))
        assert row is not None
        return row

    def rows(self, ids: Iterable[int]) -> Mapping[int, ImageRow]:
        """What the catalog knows about pictures, by id; those that are gone are left out."""
        return self._store.images(ids)

    def dates(self, ids: Iterable[int]) -> Mapping[int, str]:
        """When pictures were taken, where that is known; by id, as ISO text."""
        return catalog_listing.dates_of(self._store, ids)

    def content_key(self, picture: int) -> bytes:
        """What names the content of a picture: the same bytes, the same key."""
        key = self._store.hash_of(self.id_of(picture))
        assert key is not None
        return key

    def secret(self) -> bytes:
        """Bytes only this collection knows, made up once: for names that nobody can guess."""
        found = self._store.setting(_SECRET)
        if found is None:
            with self._store.write() as c:
                found = self._store.setting(_SECRET) or secrets.token_hex(16)
                catalog_changes.put_setting(c, _SECRET, found)
        return bytes.fromhex(found)

    @property
    def revision(self) -> int:
        """A number that grows with every change, by any process."""
        return self._store.revision

    def listed(
        self,
        *,
        sort: str = "date",
        descending: bool = True,
        where: Mapping[str, Any] | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> tuple[int, list[ImageRow]]:
        """How many pictures there are (with these conditions), and one page of them in order."""
        conditions = plain_where(where) if where else {}
        total, ids = catalog_listing.list_images(
            self._store, conditions, sort, descending, offset, limit
        )
        rows = self._store.images(ids)
        return total, [rows[i] for i in ids if i in rows]

    def images(self) -> Iterable[ImageRow]:
        """Every picture, by id."""
        return self._store.every_image()

    def problems(self) -> list[FileRow]:
        """Files that were met and could not be used, with the reason."""
        return self._store.problems()

    def info(self) -> dict[str, Any]:
        """Counts and sizes, for people and for ``--json``."""
        return checking.info(self._store)

    def verify(self) -> list[str]:
        """Check every byte that can be checked; gives what is wrong, empty when all is well."""
        return checking.verify(self._store)

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """A consistent copy, made while the collection is in use."""
        return backups.backup(self._store, absolute(path))

    def destroy(self) -> None:
        """Delete the collection (never the pictures)."""
        with jobs.lease(self.root, "destroy"):
            self.close()
            shutil.rmtree(self.root)
