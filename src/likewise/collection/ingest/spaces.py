"""The spaces of a collection: looked up by name, added and back-filled, dropped."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence
from typing import Any

from likewise.collection import jobs
from likewise.collection.errors import CollectionError, UnknownName
from likewise.collection.feedback.similarities import Similarities
from likewise.collection.feedback.subjects import fill_codes, invalidate_states
from likewise.collection.ingest import add as adding
from likewise.collection.ingest import generations
from likewise.collection.ingest.own_vectors import put_vectors
from likewise.collection.search.views import Views
from likewise.collection.spaces import onnx_files
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.recipes import (
    checked,
    is_fixed,
    learns,
    load_networks,
    made_here,
    width_of,
)
from likewise.collection.store.changes import drop_setting, drop_space, put_setting, put_space
from likewise.collection.store.store import SpaceRow
from likewise.errors import InvalidInput

_LONGEST_NAME = 40


class Spaces(Mapping[str, SpaceRow]):
    """The spaces by name, each with its live generation."""

    def __init__(self, views: Views, similarities: Similarities) -> None:
        self._store, self._views, self._similarities = views.store, views, similarities

    def __getitem__(self, name: str) -> SpaceRow:
        known = self._store.spaces()
        if name not in known:
            raise UnknownName(f"there is no space {name!r}; there are {', '.join(known)}")
        return known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._store.spaces())

    def __len__(self) -> int:
        return len(self._store.spaces())

    def items(self) -> ItemsView[str, SpaceRow]:
        """All of one moment: another process may drop one meanwhile."""
        return self._store.spaces().items()

    def add(
        self,
        name: str,
        recipe: Mapping[str, Any],
        *,
        workers: int | None = None,
        report: jobs.Report = jobs.silent,
    ) -> None:
        """Another kind of vector for every picture, back-filled.

        ``recipe`` names the feature ("words", "holistic", "deep", "deep-dense", "deep-words",
        "psc", "vlad", "onnx" for a network of your own, or "own" for vectors of your own) and its
        parameters.
        """
        kind, whole = checked(recipe)
        if not name.replace("-", "").replace("_", "").isalnum() or len(name) > _LONGEST_NAME:
            raise InvalidInput(
                f"{name!r} is no name for a space; letters, digits, - and _ expected"
            )
        store = self._store
        with jobs.lease(store.root, "space add"):
            if name in self or name in self._similarities:
                raise CollectionError(f"there is a space or similarity {name!r} already")
            space_rows.tidy(store)
            load_networks(whole)
            files: dict[str, str] = {}
            if whole["feature"] == "onnx":
                whole, files = onnx_files.adopt(store.root, name, whole)
            with store.write(durable=True) as c:
                put_space(c, name, kind, whole)
                put_setting(c, adding.filling(name), True)
            if is_fixed(whole):
                generations.start_dense(store, name, width_of(whole), files)
            try:
                adding.backfill(store, name, workers=workers, report=report)
            except Exception:
                # A space that cannot be filled must not trouble every later add.
                with store.write(durable=True) as c:
                    drop_space(c, name)
                    drop_setting(c, adding.filling(name))
                raise
            adding.settle(store, name)
            if self[name].generation:
                fill_codes(self._views, name)
            space_rows.tidy(store)

    def drop(self, name: str) -> None:
        """Forget a space and its vectors."""
        if name in ("words", "holistic"):
            raise CollectionError(f"space {name!r} is part of every collection")
        with jobs.lease(self._store.root, "space drop"):
            if name not in self:
                raise CollectionError(f"there is no space {name!r}")
            with self._store.write(durable=True) as c:
                drop_space(c, name)
                # One of the same name may come later, and have nothing to do with this one.
                invalidate_states(c, self._store, name)
                if self._store.setting("default_similarity") == name:
                    drop_setting(c, "default_similarity")
            space_rows.tidy(self._store)

    def add_vectors(self, name: str, ids: Sequence[int], X: Any) -> int:
        """Your own vectors for pictures of the collection; gives how many were stored.

        The first call fixes the width.  A picture that has a vector gets the new one.
        """
        with jobs.lease(self._store.root, "add vectors"):
            stored = put_vectors(self._store, name, ids, X)
            if stored:
                fill_codes(self._views, name)
            return stored

    # -- for the jobs of the collection, which hold the lease -------------------------------

    def fill_codes(self) -> None:
        """Vectors made late (a space whose gaps were filled) count for earlier judgements too."""
        for name, space in self.items():
            if space.generation and made_here(space.recipe) and not learns(space.recipe):
                fill_codes(self._views, name)

    def reweigh(self, report: jobs.Report) -> None:
        """A new idf for the words there are, by the pictures there are now."""
        for name, space in self.items():
            if learns(space.recipe) and space.generation:
                generations.reweigh(self._store, name, report)

    def train(self, workers: int | None, seed: int, report: jobs.Report) -> None:
        """New words and codebooks from the pictures there are now."""
        pictures = self._store.n_images()
        count = adding.n_workers(workers, pictures)
        for name, space in self.items():
            if adding.trains(space.recipe) and made_here(space.recipe) and pictures:
                adding.build(self._store, name, workers=count, report=report, seed=seed)
