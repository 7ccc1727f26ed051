"""The user's own vectors: validated, stored as rows of a space like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.catalog import changes as change
from likewise.catalog.jobs import silent
from likewise.catalog.store import Store
from likewise.errors import CollectionError, InvalidInput, UnknownPicture
from likewise.ingest.derived_rows import follow_source
from likewise.ingest.generations import start_generation
from likewise.spaces import rows as space_rows
from likewise.spaces.graphs import grow_graphs
from likewise.spaces.registry import open_spaces


def put_vectors(store: Store, name: str, ids: Sequence[int], X: Any) -> int:
    """Store a vector for each id; the caller holds the lease."""
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
    # Sealed rows are written again without the ones that are replaced; all of it, and the new
    # rows, become true in one transaction.
    joined = space_rows.rewrite_segments(store, name, np.array(images, np.int64))
    with store.write(durable=True) as c:
        if "graph" in space.files:
            change.put_files(c, name, space.generation, {})
        for one in joined:
            space_rows.name_segment(c, space, one)
        form = space.row_format
        blobs = (form.pack(form.row_at(rows, i)) for i in range(len(images)))
        change.put_vectors(c, name, space.generation, zip(images, blobs, strict=True))
    follow_source(store, name, set(images))
    grow_graphs(store, silent)
    space_rows.tidy(store)
    return len(images)
