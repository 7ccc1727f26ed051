"""Rows made of another space's rows: no picture is read for them."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from likewise.catalog import changes as change
from likewise.catalog.store import Store
from likewise.spaces import rows as space_rows
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces


def derive_rows(store: Store, space: Space, images: Set[int]) -> set[int]:
    """Rows of some pictures, of those their source has; gives the pictures that have one now."""
    source = store.spaces().get(space.takes_rows_of or "")
    done: set[int] = set()
    if source is None or not (source.generation and space.generation) or not images:
        return done
    wanted = np.array(sorted(images), np.int64)
    for ids, rows in space_rows.raw_rows(store, source):
        there = np.isin(ids, wanted)
        if not there.any():
            continue
        made = space.place(rows[there])
        with store.write() as c:
            blobs = zip(ids[there].tolist(), map(space.row_format.pack, made), strict=True)
            change.put_vectors(c, space.name, space.generation, blobs)
        done.update(ids[there].tolist())
    return done


def follow_source(store: Store, source: str, images: Set[int]) -> None:
    """After rows of a space came in or were replaced: the same for spaces made of them."""
    for space in open_spaces(store).values():
        if space.takes_rows_of != source or not space.generation:
            continue
        joined = space_rows.rewrite_segments(store, space.name, np.array(sorted(images), np.int64))
        with store.write(durable=True) as c:
            if "graph" in space.files:
                kept = {key: name for key, name in space.files.items() if "graph" not in key}
                change.put_files(c, space.name, space.generation, kept)
            for one in joined:
                space_rows.name_segment(c, space, one)
        derive_rows(store, space, images)
