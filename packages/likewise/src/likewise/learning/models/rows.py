"""Rows of a dense space for learning: a sample to learn from, and all rows transformed.

Segments are read one at a time: a million pictures need the memory of one segment and the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import segments as seg
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.segments import comparable_rows, metric_of
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError
from likewise.search.learned_models import Floats32, Ids, LearnedModel, place_rows
from likewise.spaces.base import ranked_spaces
from likewise.spaces.registry import open_spaces
from likewise.spaces.rows import raw_rows

_DISTANCES = 2_048


def dense_space(store: Store, name: str | None) -> SpaceRow:
    """Return the named space to learn in, else the dense one of lowest ``model_rank``."""
    spaces = open_spaces(store)
    usable = [s.name for s in spaces.values() if not s.row_format.is_sparse and s.generation]
    if name is None:
        ranked = ranked_spaces(spaces, lambda one: one.model_rank)
        found = next((one for one in ranked if one.name in usable), None)
        if found is None:
            raise CollectionError("no dense space has vectors yet; add pictures first")
        return found.record
    if name not in spaces:
        raise CollectionError(f"there is no space {name!r}; there are {', '.join(spaces)}")
    if name not in usable:
        why = "is sparse" if spaces[name].row_format.is_sparse else "has no vectors yet"
        raise CollectionError(
            f"space {name!r} {why}; metrics and maps are learned in a dense one: "
            f"{', '.join(usable) or 'none is there'}"
        )
    return spaces[name].record


def row_chunks(store: Store, space: SpaceRow) -> Iterator[tuple[Ids, Floats32]]:
    """Yield (ids, rows as they are compared) of all present pictures."""
    for ids, raw in raw_rows(store, space):
        yield ids, comparable_rows(space, raw)


def sample_rows(
    store: Store,
    space: SpaceRow,
    most: int,
    seed: int,
    avoid: Collection[int] = (),
) -> tuple[Ids, Floats32]:
    """Draw at most ``most`` pictures at random, ordered by id, without those to ``avoid``."""
    known = np.array(sorted(store.ids() - set(avoid)), np.int64)
    rng = np.random.default_rng(seed)
    # Some pictures may lack a vector; the sample is then a little smaller.
    if len(known) > most:
        known = np.sort(rng.choice(known, most, replace=False))
    ids, rows = [np.zeros(0, np.int64)], [np.zeros((0, space.width), np.float32)]
    for some, part in row_chunks(store, space):
        wanted = np.isin(some, known)
        ids.append(some[wanted])
        rows.append(part[wanted])
    names, matrix = np.concatenate(ids), np.concatenate(rows)
    order = np.argsort(names)
    return names[order], matrix[order]


def place_all(
    store: Store, space: SpaceRow, fitted: LearnedModel, report: Report
) -> tuple[Ids, Floats32]:
    """Return ids and transformed rows of all present pictures."""
    columns = fitted.transform(np.zeros((1, space.width), np.float32)).shape[1]
    ids, rows = [np.zeros(0, np.int64)], [np.zeros((0, columns), np.float32)]
    done, total = 0, store.n_images()
    for some, part in row_chunks(store, space):
        for start in range(0, len(some), seg.SEAL_AT):
            few = slice(start, start + seg.SEAL_AT)
            ids.append(some[few])
            rows.append(place_rows(fitted, some[few], part[few]))
            done += len(some[few])
            report(Progress("placing pictures", done, total))
    return np.concatenate(ids), np.concatenate(rows)


def agreement(rows: Any, triplets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each triplet whether its nearer picture is nearer in these rows (no ties)."""
    right = np.zeros(len(triplets), bool)
    for start in range(0, len(triplets), _DISTANCES):
        few = slice(start, start + _DISTANCES)
        a, b, c = (np.asarray(rows[triplets[few, i]], np.float64) for i in range(3))
        right[few] = ((a - b) ** 2).sum(axis=1) < ((a - c) ** 2).sum(axis=1)
    return right


def agreement_plain(space: SpaceRow, rows: Any, triplets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the same as :func:`agreement` for the distance of the space itself."""
    if metric_of(space) != "ip":
        return agreement(rows, triplets)
    a, b, c = (np.asarray(rows[triplets[:, i]], np.float64) for i in range(3))
    right: NDArray[np.bool_] = (a * b).sum(axis=1) > (a * c).sum(axis=1)
    return right
