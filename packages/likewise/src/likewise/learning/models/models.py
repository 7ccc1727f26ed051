"""Learn, store and manage metrics and maps: named similarities.

Learning one is a job and holds the lease.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import jobs, log_tables
from likewise.catalog.log_tables import Model, drop_model, model, models, put_model, rename_model
from likewise.catalog.store import SpaceRow
from likewise.errors import CollectionError, InvalidInput, UnknownName
from likewise.learning.history import Item
from likewise.learning.log import timestamp
from likewise.learning.models import map as map_learning
from likewise.learning.models import metric as metric_learning
from likewise.learning.models import rows as model_rows
from likewise.learning.models.constraints import (
    active_comparisons,
    gather_constraints,
    profile_items,
)
from likewise.learning.pending_answers import answer_profiles
from likewise.learning.profile_states import ProfileStates
from likewise.search.learned_models import LearnedModel, save_model
from likewise.search.similarities import check_new_name
from likewise.search.views import Views
from likewise.spaces import rows as space_rows


class MapPoints(NamedTuple):
    """The places of pictures on a map: ``places[i]`` (x, y) is that of ``ids[i]``.

    See Also
    --------
    Model : the map.
    """

    ids: NDArray[np.int64]
    places: NDArray[np.float32]
    model: Model


class Models(Mapping[str, Model]):
    """Metrics and maps by name, with their figures; ``search(by=name)`` uses one.

    A model is learned from the log and from vectors, so it can always be learned again.
    """

    def __init__(self, views: Views, states: ProfileStates) -> None:
        self._store, self._views, self._states = views.store, views, states

    def __getitem__(self, name: str) -> Model:
        found = model(self._store, name)
        if found is None:
            raise self._unknown(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(models(self._store))

    def __len__(self) -> int:
        return len(models(self._store))

    def items(self) -> ItemsView[str, Model]:
        """Return a consistent copy: another process may delete a model meanwhile."""
        return models(self._store).items()

    def learn_metric(
        self,
        name: str = "metric",
        *,
        space: str | None = None,
        profile: str = "default",
        seed: int = 0,
        report: jobs.Report = jobs.silent,
    ) -> Model:
        """Learn a metric from a profile's judgements; ``search(by=name)`` ranks by it.

        Liked pictures make similar pairs, disliked ones dissimilar pairs, comparisons one of each.
        With too little data, or without a gain on held-out queries, the space's own distance is
        kept: ``figures["learned"]`` is false and ``"reason"`` says why.
        """
        with self._store.lease("learn metric"):
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
        """Learn a map from comparisons; ``search(by=name)`` ranks by it, ``map_points`` draws it.

        Without comparisons some are generated from the space (neighbours are near), or from
        ``labels`` ("folders" or "tags"); ``figures["source"]`` says what it was learned from.
        """
        with self._store.lease("learn map"):
            return self._learn_map(name, space, profile, report, labels=labels, seed=seed)

    def relearn(self, name: str, *, report: jobs.Report = jobs.silent) -> Model:
        """Learn a metric or map again from the current log, with its first options."""
        found = self[name]
        learn: Any = self.learn_metric if found.kind == "metric" else self.learn_map
        made: Model = learn(
            name, space=found.space, profile=found.profile, report=report, **found.options
        )
        return made

    def delete(self, name: str) -> None:
        """Delete a metric or map; the log it was learned from stays."""
        if name not in self:
            raise self._unknown(name)
        with self._store.lease("delete model"):
            with self._store.write(durable=True) as c:
                drop_model(c, name)
            space_rows.tidy(self._store)

    def rename(self, name: str, new: str) -> None:
        """Rename a metric or map."""
        kind = self[name].kind
        with self._store.write(durable=True) as c:
            check_new_name(self._store, new, kind)
            rename_model(c, name, new)

    def map_points(self, name: str = "map") -> MapPoints:
        """Return the ids of all pictures that are not hidden, and their places on a map."""
        found = self[name]
        if found.kind != "map":
            raise CollectionError(f"{name!r} is a {found.kind}; only a map has places to draw")
        ids, places = self._views.models.view(name).map_points()
        hidden = self._store.hidden()
        if hidden:
            kept = [i for i, image in enumerate(ids.tolist()) if image not in hidden]
            ids, places = ids[kept], places[kept]
        return MapPoints(ids, places, found)

    def count_new_lines(self, name: str) -> int:
        """Count the lines of the log that a metric or map has not learned from."""
        found = self[name]
        said_in = [found.profile]
        said_in += [one.profile for one in answer_profiles(self._store, found.profile)]
        return sum(len(log_tables.entries(self._store, one, found.position)) for one in said_in)

    # -- internal -----------------------------------------------------------------------------

    def _unknown(self, name: str) -> UnknownName:
        known = ", ".join(models(self._store)) or "none yet"
        return UnknownName(f"there is no learned metric or map {name!r}; there are: {known}")

    def _learn_metric(
        self, name: str, space: str | None, profile: str, report: jobs.Report, *, seed: int
    ) -> Model:
        row, said_by, items = self._begin(name, "metric", space, profile)
        said = gather_constraints(self._store, items, row, self._views.view(row.name).row_of)
        here = log_tables.subjects_in_collection(self._store, said.subjects)
        _, rows = model_rows.sample_rows(
            self._store, row, metric_learning.UNLABELLED, seed,
            avoid=set(here.values()),
        )  # fmt: skip
        made = metric_learning.learn_metric(said, rows, row, seed, report)
        options = {"seed": seed}
        return self._save(name, said_by, row, made.metric, made.figures, options, report)

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
        said = active_comparisons(self._store, items)
        given, _ = map_learning.gather_comparisons(
            self._store, row, said, self._views.view(row.name).row_of,
            anchors=map_learning.ANCHORS, labels=labels, seed=seed,
        )  # fmt: skip
        if len(given.X) < 3:
            raise CollectionError(
                f"{len(given.X)} pictures have a vector in space {row.name!r}; a map needs 3"
            )
        made = map_learning.learn_map(given, row, seed, report)
        options = {"labels": labels, "seed": seed}
        return self._save(name, said_by, row, made.map, made.figures, options, report)

    def follow_generations(self, report: jobs.Report) -> None:
        """Learn models of replaced vectors again; the caller holds the lease.

        One that cannot be learned (its space is empty, say) stays, and fails when it is used.
        """
        spaces = self._store.spaces()
        for name, found in models(self._store).items():
            if spaces[found.space].generation != found.generation:
                learn: Any = self._learn_metric if found.kind == "metric" else self._learn_map
                with suppress(CollectionError):
                    learn(name, found.space, found.profile, report, **found.options)

    def _begin(
        self, name: str, kind: str, space: str | None, profile: str
    ) -> tuple[SpaceRow, tuple[str, int], list[Item]]:
        """Return (space, (profile, line of its log), items), if a model may have the name."""
        found = model(self._store, name) if isinstance(name, str) else None
        if found is None:
            check_new_name(self._store, name, kind)
        elif found.kind != kind:
            raise InvalidInput(f"{name!r} is a {found.kind} already; choose another name")
        row = model_rows.dense_space(self._store, space)
        if not len(self._views.view(row.name)):
            raise CollectionError(f"space {row.name!r} has no pictures yet; add some first")
        used, items, position = profile_items(self._store, self._states, profile)
        return row, (used, position), items

    def _save(
        self,
        name: str,
        said_by: tuple[str, int],
        space: SpaceRow,
        fitted: LearnedModel,
        figures: Mapping[str, Any],
        options: Mapping[str, Any],
        report: jobs.Report,
    ) -> Model:
        """Place all pictures, write the files, and record them in one transaction."""
        ids, rows = model_rows.place_all(self._store, space, fitted, report)
        files = save_model(self._store.root, fitted, ids, rows)
        made = Model(
            name, fitted.kind, space.name, space.generation, *said_by, timestamp(), files, options,
            {**figures, "placed": len(ids)},
        )  # fmt: skip
        with self._store.write(durable=True) as c:
            if self._store.spaces()[space.name].generation != space.generation:
                raise CollectionError(f"space {space.name!r} changed in between; learn again")
            put_model(c, made)
        space_rows.tidy(self._store)
        return made
