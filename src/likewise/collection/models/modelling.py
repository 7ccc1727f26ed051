"""The part of a collection that learns metrics and maps: similarities with a name of their own.

A collection's third part; it holds no state of its own.  A model is made from the log and from
vectors, so it can always be made again; making one is a job and holds the lease.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection import jobs
from likewise.collection.errors import CollectionError, UnknownName
from likewise.collection.feedback import profiles
from likewise.collection.feedback.history import Item
from likewise.collection.feedback.judge import stamp
from likewise.collection.feedback.learning import Learning
from likewise.collection.models import comparing, questions
from likewise.collection.models import map as map_learning
from likewise.collection.models import metric as metric_learning
from likewise.collection.models.comparing import Ask, ComparisonReport, Told3
from likewise.collection.models.told import comparisons, told
from likewise.collection.search import model_rows
from likewise.collection.search.learned_models import LearnedModel, save_model
from likewise.collection.search.views import Views
from likewise.collection.spaces import rows as space_rows
from likewise.collection.store import log as feedback
from likewise.collection.store.models import (
    Model,
    drop_model,
    model,
    models,
    put_model,
    rename_model,
)
from likewise.collection.store.store import SpaceRow, Store
from likewise.errors import InvalidInput
from likewise.similarity.rows import whole


class MapPoints(NamedTuple):
    """Where a map draws its pictures: ``places[i]`` (x, y) is that of ``ids[i]``."""

    ids: NDArray[np.int64]
    places: NDArray[np.float32]
    model: Model


class Modelling:
    """Metrics and maps: learned from the log, stored by name, ranked by."""

    root: Path
    _store: Store
    _views: Views
    _learning: Learning

    @property
    def models(self) -> Mapping[str, Model]:
        """Every learned metric and map by name, with its figures."""
        return models(self._store)

    def learn_metric(
        self,
        name: str = "metric",
        *,
        space: str | None = None,
        profile: str = "default",
        seed: int = 0,
        report: jobs.Report = jobs.silent,
    ) -> Model:
        """A metric from what a profile was told; ``search(by=name)`` ranks by it.

        Liked pictures make similar pairs, disliked ones dissimilar pairs, comparisons one of each.
        Where there is too little to learn from, or it does not help on queries held out, the
        space's own distance is kept: ``figures["learned"]`` is false and ``"reason"`` says why.
        """
        with jobs.lease(self.root, "learn metric"):
            return self._learn_metric(name, space, profile, report, seed=seed)

    def learn_map(
        self,
        name: str = "map",
        *,
        space: str | None = None,
        profile: str = "default",
        labels: str | None = None,
        seed: int = 0,
        report: jobs.Report = jobs.silent,
    ) -> Model:
        """A map from what was compared; ``search(by=name)`` ranks by it, ``map_points`` draws it.

        Where nobody compared anything, comparisons are made from the space (neighbours are near),
        or from ``labels`` ("folders" or "tags"); ``figures["source"]`` says what it was made from.
        """
        with jobs.lease(self.root, "learn map"):
            return self._learn_map(name, space, profile, report, labels=labels, seed=seed)

    def relearn_model(self, name: str, *, report: jobs.Report = jobs.silent) -> Model:
        """A metric or map again from the log as it is now, as it was asked for the first time."""
        found = self._model(name)
        learn: Any = self.learn_metric if found.kind == "metric" else self.learn_map
        made: Model = learn(
            name, space=found.space, profile=found.profile, report=report, **found.options
        )
        return made

    def delete_model(self, name: str) -> None:
        """Forget a metric or map; the log it was learned from stays."""
        self._model(name)
        with jobs.lease(self.root, "delete model"):
            with self._store.write(durable=True) as c:
                drop_model(c, name)
            space_rows.tidy(self._store)

    def rename_model(self, name: str, new: str) -> None:
        """Give a metric or map another name."""
        kind = self._model(name).kind
        with self._store.write(durable=True) as c:
            self._check_name(new, kind)
            rename_model(c, name, new)

    def map_points(self, name: str = "map") -> MapPoints:
        """Ids of all pictures and their places on a map, by id."""
        found = self._model(name)
        if found.kind != "map":
            raise CollectionError(f"{name!r} is a {found.kind}; only a map has places to draw")
        ids, places = self._views.models.view(name).map_points()
        return MapPoints(ids, places, found)

    def said_since(self, name: str) -> int:
        """Lines of the log that a metric or map has not learned from yet."""
        found = self._model(name)
        return len(feedback.entries(self._store, found.profile, found.position))

    def comparisons(self, *, profile: str = "default") -> list[Told3]:
        """Every comparison that stands, in the order of the log."""
        _, items, _ = self._items(profile)
        said = comparisons(self._store, items)
        subjects = {s for one in said for s in (one.anchor, one.nearer, one.farther)}
        here = feedback.subjects_in_collection(self._store, subjects)
        return [
            Told3(
                one.number, here.get(one.anchor), here.get(one.nearer), here.get(one.farther),
                one.by, one.source,
            )
            for one in said
        ]  # fmt: skip

    def comparison_counts(self, *, profile: str = "default") -> dict[str | None, int]:
        """How many comparisons stand, by who made them."""
        _, items, _ = self._items(profile)
        return dict(Counter(one.by for one in comparisons(self._store, items)))

    def suggest_comparisons(
        self,
        k: int = 10,
        *,
        space: str | None = None,
        profile: str = "default",
        seed: int | None = None,
    ) -> list[Ask]:
        """Questions whose answers would teach a map most; ``compare`` takes the answers.

        Questions that were answered already are not asked again; with ``seed`` None there are
        others after every line of the log.
        """
        k = whole(k, "k", 1)
        _, items, position = self._items(profile)
        said = comparisons(self._store, items)
        row = model_rows.dense_space(self._store, space)
        return questions.suggest(
            self._store, row, said, self._views.view(row.name).row_of, k,
            position if seed is None else seed,
        )  # fmt: skip

    def comparison_report(
        self, *, space: str | None = None, profile: str = "default", seed: int = 0
    ) -> ComparisonReport:
        """How many comparisons stand, who made them, and how far they agree with each other."""
        _, items, _ = self._items(profile)
        row = model_rows.dense_space(self._store, space)
        said = comparisons(self._store, items)
        given, used = comparing.gather(
            self._store, row, said, self._views.view(row.name).row_of,
            anchors=comparing.REPORTED + len(said), labels=None, seed=seed,
        )  # fmt: skip
        return comparing.report(row, said, given, used, seed)

    # -- how ----------------------------------------------------------------------------------

    def _learn_metric(
        self, name: str, space: str | None, profile: str, report: jobs.Report, *, seed: int
    ) -> Model:
        row, said_by, items = self._begin(name, "metric", space, profile)
        said = told(self._store, items, row, self._views.view(row.name).row_of)
        here = feedback.subjects_in_collection(self._store, said.subjects)
        _, rows = model_rows.sample_rows(
            self._store, row, metric_learning.UNLABELLED, seed,
            avoid=set(here.values()),
        )  # fmt: skip
        made = metric_learning.learn_metric(said, rows, row, seed, report)
        options = {"seed": seed}
        return self._keep(name, said_by, row, made.metric, made.figures, options, report)

    def _learn_map(
        self,
        name: str,
        space: str | None,
        profile: str,
        report: jobs.Report,
        *,
        labels: str | None,
        seed: int,
    ) -> Model:
        row, said_by, items = self._begin(name, "map", space, profile)
        said = comparisons(self._store, items)
        given, _ = comparing.gather(
            self._store, row, said, self._views.view(row.name).row_of,
            anchors=map_learning.ANCHORS, labels=labels, seed=seed,
        )  # fmt: skip
        if len(given.X) < 3:
            raise CollectionError(
                f"{len(given.X)} pictures have a vector in space {row.name!r}; a map needs 3"
            )
        made = map_learning.learn_map(given, row, seed, report)
        options = {"labels": labels, "seed": seed}
        return self._keep(name, said_by, row, made.map, made.figures, options, report)

    def _follow_generations(self, report: jobs.Report) -> None:
        """Learn again what belongs to vectors that are no more; the caller holds the lease.

        One that cannot be (its space is empty now, say) stays, and says so when it is used.
        """
        spaces = self._store.spaces()
        for name, found in models(self._store).items():
            if spaces[found.space].generation != found.generation:
                learn: Any = self._learn_metric if found.kind == "metric" else self._learn_map
                with suppress(CollectionError):
                    learn(name, found.space, found.profile, report, **found.options)

    def _items(self, profile: str) -> tuple[str, list[Item], int]:
        """(profile, what stands in it, the last line that was read)."""
        used = profiles.named(self._store, profile)
        with self._learning.lock:
            history = self._learning.history(used)
            return used, list(history.items), history.position

    def _model(self, name: str) -> Model:
        found = model(self._store, name)
        if found is None:
            known = ", ".join(models(self._store)) or "none yet"
            raise UnknownName(f"there is no learned metric or map {name!r}; there are: {known}")
        return found

    def _check_name(self, name: str, kind: str) -> None:
        """A name a new model may have: what a profile may be called."""
        try:
            profiles.check_name(self._store, name)
        except InvalidInput as error:
            said = str(error).replace("no name for a profile", f"no name for a {kind}")
            raise InvalidInput(said) from error

    def _begin(
        self, name: str, kind: str, space: str | None, profile: str
    ) -> tuple[SpaceRow, tuple[str, int], list[Item]]:
        """(space, profile and line of its log, what stands), if a model may have the name."""
        found = model(self._store, name) if isinstance(name, str) else None
        if found is None:
            self._check_name(name, kind)
        elif found.kind != kind:
            raise InvalidInput(f"{name!r} is a {found.kind} already; choose another name")
        row = model_rows.dense_space(self._store, space)
        if not len(self._views.view(row.name)):
            raise CollectionError(f"space {row.name!r} has no pictures yet; add some first")
        used, items, position = self._items(profile)
        return row, (used, position), items

    def _keep(
        self,
        name: str,
        said_by: tuple[str, int],
        space: SpaceRow,
        fitted: LearnedModel,
        figures: Mapping[str, Any],
        options: Mapping[str, Any],
        report: jobs.Report,
    ) -> Model:
        """Place all pictures, write the files, and name them in one transaction."""
        ids, rows = model_rows.place_all(self._store, space, fitted, report)
        files = save_model(self.root, fitted, ids, rows)
        made = Model(
            name, fitted.kind, space.name, space.generation, *said_by, stamp(), files, options,
            {**figures, "placed": len(ids)},
        )  # fmt: skip
        with self._store.write(durable=True) as c:
            if self._store.spaces()[space.name].generation != space.generation:
                raise CollectionError(f"space {space.name!r} changed in between; learn again")
            put_model(c, made)
        space_rows.tidy(self._store)
        return made
