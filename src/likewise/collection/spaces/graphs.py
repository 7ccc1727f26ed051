"""Graphs over large dense spaces: grown by a job, kept in a file, opened by every reader.

Below :data:`FLAT_BELOW` pictures all rows are compared.  Above, a job grows an HNSW graph over the
rows there are and names its file in the catalog; rows that came later are compared one by one
until the graph lacks a fifth of them and is grown again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.jobs import Progress, Report
from likewise.collection.store import changes as change
from likewise.collection.store import segments as seg
from likewise.collection.store.store import SpaceRow, Store
from likewise.neighbours.container import open_arrays, save_arrays
from likewise.neighbours.hnsw import HNSW

FLAT_BELOW = 50_000
"""Dense rows that are compared one by one; above, a graph is walked."""
_LACKING = 0.2
_KIND = "graph ids"


class Graph(NamedTuple):
    """A graph and the pictures its rows belong to."""

    walk: HNSW
    ids: NDArray[np.int64]


def metric_of(space: SpaceRow) -> str:
    """cosine, ip or l2."""
    return str(space.recipe.get("metric", "cosine"))


def prepared(space: SpaceRow, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows as they are compared: of unit length where the cosine counts."""
    if metric_of(space) != "cosine":
        return np.asarray(rows, np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), np.float32)


def dense_rows(store: Store, space: SpaceRow) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Ids and prepared rows of all living pictures of a dense space."""
    ids, rows = [np.zeros(0, np.int64)], [np.zeros((0, space.width), np.float32)]
    for segment in store.segments(space.name, space.generation):
        part = seg.read_dense(store.root, segment.name)
        ids.append(part.ids)
        rows.append(prepared(space, part.rows))
    for chunk in store.vectors_in_chunks(space.name, space.generation, seg.FULL):
        ids.append(np.array([image for _, image, _ in chunk], np.int64))
        fresh = seg.unpack_dense([vector for _, _, vector in chunk], space.width)
        rows.append(prepared(space, fresh))
    names, matrix = np.concatenate(ids), np.concatenate(rows)
    alive = ~np.isin(names, np.array([image for _, image in store.tombstones()], np.int64))
    return names[alive], matrix[alive]


def open_graph(root: Path, space: SpaceRow) -> Graph | None:
    """The graph of a space, if a job has grown one."""
    file = space.files.get("graph")
    if file is None:
        return None
    _, arrays = open_arrays(root / space.files["graph_ids"], _KIND)
    return Graph(HNSW.open(root / file), arrays["ids"])


def grow_graphs(store: Store, report: Report, *, above: int | None = None) -> None:
    """Grow the graphs that are missing or have fallen behind; the caller holds the lease."""
    limit = FLAT_BELOW if above is None else above
    for space in store.spaces().values():
        if space.kind != "dense" or not space.generation:
            continue
        sealed = sum(row.n_pictures for row in store.segments(space.name, space.generation))
        total = sealed + store.n_vectors(space.name, space.generation)
        if total < limit or total <= int(space.files.get("graph_rows", 0)) * (1 + _LACKING):
            continue
        report(Progress(f"growing a graph over {total:,} {space.name} vectors", 0, 0))
        ids, rows = dense_rows(store, space)
        index = HNSW("l2" if metric_of(space) == "l2" else "ip").build(rows)
        (store.root / "words").mkdir(exist_ok=True)
        stem = f"words/{space.name}-{space.generation}-{store.revision}"
        files = {"graph": f"{stem}.graph", "graph_ids": f"{stem}.ids"}
        index.save(store.root / files["graph"])
        save_arrays(store.root / files["graph_ids"], _KIND, {}, {"ids": ids})
        with store.write(durable=True) as c:
            change.put_files(
                c,
                space.name,
                space.generation,
                {**space.files, **files, "graph_rows": str(len(ids))},
            )
