"""The spaces of a collection: look up, add, back-fill, drop."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import replace
from typing import Any

import numpy as np

from likewise.catalog import changes, jobs
from likewise.catalog.store import Store
from likewise.errors import CollectionError, InvalidInput, UnknownName, UnknownPicture
from likewise.ingest.backfill import follow_source
from likewise.ingest.generations import renew_idf, start_generation
from likewise.ingest.growth import learn_space
from likewise.ingest.new_space import WITHOUT_NETWORK, create_space, finish_space, is_unfinished
from likewise.ingest.pool import Workers, n_workers
from likewise.learning.judge import fill_codes, invalidate_states
from likewise.search.similarities import Similarities
from likewise.search.views import Views
from likewise.spaces import rows as space_rows
from likewise.spaces.base import Space
from likewise.spaces.graphs import grow_graphs
from likewise.spaces.registry import find_kind, open_spaces, validate_recipe

_LONGEST_NAME = 40


class _ProgressReporter:
    """The progress of a new space: pictures described, of all.

    Other stages are reported as a note, so the count never goes back.
    """

    def __init__(self, report: jobs.Report, name: str, kind: type[Space], pictures: int) -> None:
        self._report, self._kind, self._pictures = report, kind, pictures
        self._pace = jobs.Pace()
        self._now = jobs.Progress(f"describing pictures by {name}", 0, pictures)

    def __call__(self, one: jobs.Progress) -> None:
        if one.stage == self._kind.sample_stage:
            self._count(one.done)
        elif one.stage == self._kind.stage:
            # Pictures it learned from are already described.
            self._count(self._pictures - (one.total - one.done))
        else:
            of = f" {one.done:,} of {one.total:,}" if one.total else ""
            # The count stops meanwhile, so no rate is shown.
            self._now = replace(self._now, note=f"{one.stage}{of}", rate=0.0)
        self._report(self._now)

    def _count(self, done: int) -> None:
        # Pictures that could not be read while learning are tried once more.
        done = max(self._now.done, done)
        self._now = replace(self._now, done=done, rate=self._pace.rate(done), note="")


class Spaces(Mapping[str, Space]):
    """The spaces by name, each with its live generation."""

    def __init__(self, views: Views, similarities: Similarities) -> None:
        self._store, self._views, self._similarities = views.store, views, similarities

    def __getitem__(self, name: str) -> Space:
        known = open_spaces(self._store)
        if name not in known:
            raise UnknownName(f"there is no space {name!r}; there are {', '.join(known)}")
        return known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._store.spaces())

    def __len__(self) -> int:
        return len(self._store.spaces())

    def items(self) -> ItemsView[str, Space]:
        """Return a consistent copy: another process may drop a space meanwhile."""
        return open_spaces(self._store).items()

    def values(self) -> ValuesView[Space]:
        """Return a consistent copy, like :meth:`items`."""
        return open_spaces(self._store).values()

    def add(
        self,
        name: str,
        recipe: Mapping[str, Any],
        *,
        workers: Workers | None = None,
        report: jobs.Report = jobs.silent,
    ) -> None:
        """Add another space and make a vector for every picture.

        ``recipe`` names the feature ("words", "holistic", "deep", "deep-dense", "deep-words",
        "look", "fitted" (another space, ``source``, fitted to the collection), "psc", "vlad",
        "onnx" for a network of your own, "own" for vectors of your own, or one from another
        package) and its parameters.
        """
        _, whole = validate_recipe(recipe)
        if not name.replace("-", "").replace("_", "").isalnum() or len(name) > _LONGEST_NAME:
            raise InvalidInput(
                f"{name!r} is no name for a space; letters, digits, - and _ expected"
            )
        store = self._store
        with store.lease("space add"):
            space_rows.tidy(store)
            progress = _ProgressReporter(
                report, name, find_kind(whole["feature"]), store.n_images()
            )
            if name in self and is_unfinished(store, name, whole):
                # Its job died, since this process holds the lease: continue it.
                finish_space(store, name, workers=workers, report=progress)
            elif name in self or name in self._similarities:
                raise CollectionError(f"there is a space or similarity {name!r} already")
            else:
                create_space(store, name, whole, workers=workers, report=progress)
            if self[name].generation:
                fill_codes(self._views, name)
            space_rows.tidy(store)

    def add_missing(
        self, *, workers: Workers | None = None, report: jobs.Report = jobs.silent
    ) -> list[str]:
        """Add the spaces that need no network, where they are missing; return their names."""
        missing = [name for name in WITHOUT_NETWORK if name not in self]
        for name in missing:
            self.add(name, {"feature": name}, workers=workers, report=report)
        return missing

    def drop(self, name: str) -> None:
        """Delete a space and its vectors."""
        with self._store.lease("space drop"):
            if name not in self:
                raise CollectionError(f"there is no space {name!r}")
            for other in self.values():
                if other.takes_rows_of == name:
                    raise CollectionError(
                        f"space {other.name!r} is made of the rows of {name!r}; drop it first"
                    )
            if len(self) == 1:
                raise CollectionError(f"{name!r} is the only space there is; add another first")
            with self._store.write(durable=True) as c:
                changes.drop_space(c, name)
                # An unrelated space may get the same name later.
                invalidate_states(c, self._store, name)
                if self._store.setting("default_similarity") == name:
                    changes.drop_setting(c, "default_similarity")
            space_rows.tidy(self._store)

    def add_vectors(self, name: str, ids: Sequence[int], X: Any) -> int:
        """Store your own vectors for pictures of the collection; return how many.

        The first call fixes the width.  A new vector of a picture replaces the old one.
        """
        with self._store.lease("add vectors"):
            stored = _put_vectors(self._store, name, ids, X)
            for space in self.values() if stored else ():
                if space.takes_rows_of == name and space.has_outgrown(self._store.n_images()):
                    learn_space(self._store, space, workers=0, report=jobs.silent)
                if name in (space.name, space.takes_rows_of) and self[space.name].generation:
                    fill_codes(self._views, space.name)
            return stored

    # -- called by jobs, which hold the lease -----------------------------------------------

    def fill_codes(self) -> None:
        """Add codes for earlier judgements after the gaps of a space were filled."""
        for name, space in self.items():
            # A space with placeholders has a row for every picture.
            made = space.is_available() or space.takes_rows_of is not None
            if space.generation and made and space.placeholder is None:
                fill_codes(self._views, name)

    def renew_idf(self, report: jobs.Report) -> None:
        """Compute a new idf of the present pictures for the same words."""
        for space in self.values():
            if space.idf is not None and space.generation:
                renew_idf(self._store, space, report)

    def train(self, workers: Workers | None, seed: int, report: jobs.Report) -> None:
        """Learn new words and codebooks from the present pictures."""
        pictures = self._store.n_images()
        count = n_workers(workers, pictures)
        for space in self.values():
            if space.can_learn() and pictures:
                learn_space(self._store, space, workers=count, report=report, seed=seed)


def _put_vectors(store: Store, name: str, ids: Sequence[int], X: Any) -> int:
    """Store the user's own vector for each id; the caller holds the lease."""
    space = open_spaces(store).get(name)
    if space is None:
        raise CollectionError(f'there is no space {name!r}; add_space(name, {{"feature": "own"}})')
    if space.describes_pictures:
        raise CollectionError(f"space {name!r} makes its own vectors; choose another name")
    images = [int(i) for i in ids]
    if len(set(images)) != len(images):
        raise InvalidInput("ids names a picture twice; one vector a picture expected")
    rows = space.row_format.check_matrix(X)
    if rows.shape[0] != len(images):
        raise InvalidInput(f"X has {rows.shape[0]} rows for {len(images)} ids")
    if space.generation and rows.shape[1] != space.width:
        raise InvalidInput(
            f"X has {rows.shape[1]} columns; {space.width} expected for space {name!r}"
        )
    known = store.images(images)
    missing = [i for i in images if i not in known]
    if missing:
        raise UnknownPicture(f"there is no picture with id {missing[0]}; nothing was stored")
    if not space.generation:
        start_generation(store, name, rows.shape[1])
        space = open_spaces(store)[name]
    # Sealed rows are rewritten without the replaced ones, and one transaction names the new files.
    joined = space_rows.rewrite_segments(store, name, np.array(images, np.int64))
    with store.write(durable=True) as c:
        if "graph" in space.files:
            changes.put_files(c, name, space.generation, {})
        for one in joined:
            space_rows.name_segment(c, space, one)
        form = space.row_format
        blobs = (form.pack(form.row_at(rows, i)) for i in range(len(images)))
        changes.put_vectors(c, name, space.generation, zip(images, blobs, strict=True))
    follow_source(store, name, set(images))
    grow_graphs(store, jobs.silent)
    space_rows.tidy(store)
    return len(images)
