"""Graphs over large dense spaces: built by a job, stored in a file, opened by readers.

Below :data:`FLAT_BELOW` pictures all rows are compared.  Above, a job builds an HNSW graph and
names its file in the catalog.  Later rows are compared one by one until the graph lacks a fifth of
them and is built again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.segments import comparable_rows, metric_of
from likewise.catalog.store import SpaceRow, Store
from likewise.spaces.rows import RowParts, fresh_rows, raw_rows
from likewise_methods.durable_files import private_folder
from likewise_methods.neighbours import HNSW, Metric, open_arrays, save_arrays

FLAT_BELOW = 50_000
"""Dense rows that are compared one by one; above, a graph is walked."""
_LACKING = 0.2
# A million rows of 128 numbers take 240 MB with so few links; longer queues make up for them.
_LINKS, _EF_BUILD, _EF_SEARCH = 12, 100, 640
_KIND = "graph ids"


class Graph(NamedTuple):
    """A graph and the pictures its rows belong to."""

    walk: HNSW
    ids: NDArray[np.int64]


def dense_rows(store: Store, space: SpaceRow) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return ids and rows, as they are compared, of all present pictures of a dense space."""
    ids, rows = [np.zeros(0, np.int64)], [np.zeros((0, space.width), np.float32)]
    for some, raw in raw_rows(store, space):
        ids.append(some)
        rows.append(comparable_rows(space, raw))
    return np.concatenate(ids), np.concatenate(rows)


def _rows_on_disk(store: Store, space: SpaceRow) -> tuple[NDArray[np.int64], RowParts]:
    """Return ids and rows of all present pictures; sealed rows stay on disk."""
    dead = np.array([image for _, image in store.tombstones()], np.int64)
    ids, rows = [np.zeros(0, np.int64)], RowParts(space)
    for segment in store.segments(space.name, space.generation):
        part, mapped = seg.map_dense(store.root, segment.name)
        alive = ~np.isin(part.ids, dead)
        ids.append(part.ids[alive])
        rows.add_part(part.rows, alive, mapped)
    for some, raw in fresh_rows(store, space, seg.AT_ONCE):
        ids.append(some)
        rows.add(raw)
    return np.concatenate(ids), rows


def _in_turn(rows: RowParts) -> Iterator[NDArray[np.float32]]:
    for places in _places_in_turn(len(rows)):
        yield rows[places]


def _places_in_turn(n: int) -> Iterator[NDArray[np.int64]]:
    """Yield the places 0 to n - 1 in a mixed order, because pictures of a folder are similar."""
    n_parts = -(-n // seg.AT_ONCE)
    for first in range(n_parts):
        yield np.arange(first, n, n_parts)


def open_graph(root: Path, space: SpaceRow) -> Graph | None:
    """Open the graph of a space; None if no job has built one."""
    file = space.files.get("graph")
    if file is None:
        return None
    _, arrays = open_arrays(root / space.files["graph_ids"], _KIND)
    return Graph(HNSW.open(root / file), arrays["ids"])


def graphs_to_grow(store: Store, *, above: int | None = None) -> list[tuple[SpaceRow, int]]:
    """Return the spaces whose graph is missing or outdated, each with its number of rows."""
    limit = FLAT_BELOW if above is None else above
    found = []
    for space in store.spaces().values():
        if not (space.row_format.grows_graph and space.generation):
            continue
        sealed = sum(row.n_pictures for row in store.segments(space.name, space.generation))
        total = sealed + store.n_vectors(space.name, space.generation)
        if total >= limit and total > int(space.files.get("graph_rows", 0)) * (1 + _LACKING):
            found.append((space, total))
    return found


def grow_graphs(store: Store, report: Report, *, above: int | None = None) -> None:
    """Build the graphs that are missing or outdated; the caller holds the lease."""
    for space, total in graphs_to_grow(store, above=above):
        report(Progress(f"growing a graph over {total:,} {space.name} vectors", 0, 0))
        _grow(store, space)


def _grow(store: Store, space: SpaceRow) -> None:
    """Build the graph of a space, write it to a file, and name that in the catalog."""
    ids, rows = _rows_on_disk(store, space)
    metric: Metric = "l2" if metric_of(space) == "l2" else "ip"
    index = HNSW(
        metric, links=_LINKS, ef_build=_EF_BUILD, ef_search=_EF_SEARCH, compact=True
    ).build_in_parts(space.width, partial(_in_turn, rows))
    order = np.concatenate(list(_places_in_turn(len(ids))))
    private_folder(store.root / "words")
    stem = f"words/{space.name}-{space.generation}-{store.revision}"
    files = {"graph": f"{stem}.graph", "graph_ids": f"{stem}.ids"}
    index.save(store.root / files["graph"])
    save_arrays(store.root / files["graph_ids"], _KIND, {}, {"ids": ids[order]})
    with store.write(durable=True) as c:
        change.put_files(
            c,
            space.name,
            space.generation,
            {**space.files, **files, "graph_rows": str(len(ids))},
        )
