"""Back-fills: rows of pictures that were there before their space, or that it lacks since.

The catalog remembers which spaces lack rows and why (``catalog/changes.py``), so that an add does
not look for gaps.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable

from likewise.catalog.changes import (
    RUNNING,
    UNREACHED,
    WAITING,
    backfill_of,
    drop_backfill,
    put_backfill,
)
from likewise.catalog.jobs import Report
from likewise.catalog.store import Store
from likewise.ingest.derived_rows import derive_rows
from likewise.ingest.generations import describe_all, load_spaces
from likewise.ingest.pool import Workers
from likewise.ingest.workers import n_workers
from likewise.spaces.registry import open_space, open_spaces


def note_unmade(store: Store, *, adding_some: bool) -> list[str]:
    """Spaces that new pictures get no row in; remembered, so that a later add fills them."""
    found = []
    for space in open_spaces(store).values():
        if not (space.generation and space.describes_pictures) or space.is_available():
            continue
        lacks = backfill_of(store, space.name)
        if lacks is None or lacks.state != RUNNING:
            found.append(space.name)
    if adding_some and found:
        with store.write() as c:
            for name in found:
                put_backfill(c, name, WAITING)
    return found


def fill_gaps(
    store: Store,
    *,
    workers: Workers | None,
    report: Report,
    among: Container[str] | None = None,
) -> None:
    """Rows that a space (of those ``among``) lacks: its back-fill was interrupted, or they could
    not be made."""
    for space in open_spaces(store).values():
        lacks = backfill_of(store, space.name)
        if lacks is None or not space.generation or (among is not None and space.name not in among):
            continue
        if not (space.is_available() or space.takes_rows_of):
            continue
        if lacks.state == UNREACHED:
            missing = set(lacks.images)
        else:
            missing = store.images_without(space.name, space.generation)
            for row in store.segments(space.name, space.generation):
                part = space.row_format.open_segment(store.root, row.name)
                missing.difference_update(part.ids.tolist())
        missing -= derive_rows(store, space, missing)
        if not space.is_available():
            continue
        paths = {row.id: row.path for row in store.images(missing).values() if row.path}
        reached = [(image, path) for image, path in paths.items() if os.access(path, os.R_OK)]
        count = n_workers(workers, len(reached))
        if reached and load_spaces([space], count) is not None:
            continue  # it lacks them still
        if reached:
            with store.write() as c:
                # Whoever comes after an interruption must look for itself what there is.
                put_backfill(c, space.name, RUNNING)
            describe_all(store, space, reached, count, report)
        left = set(paths) - set(dict(reached))
        settle_backfill(store, space.name, among=set(paths), left=left)


def settle_backfill(
    store: Store, name: str, *, among: set[int] | None = None, left: Iterable[int] = ()
) -> None:
    """After a back-fill: forget it, but for pictures whose files cannot be reached.

    ``among`` are the pictures that were tried (None: all), ``left`` those that were not.  A file
    that can be read and gives no row is not tried again: it would cost every later add.
    """
    space = open_space(store.root, store.spaces()[name])
    unreached = set(left)
    if space.generation and space.describes_pictures:
        lacking = store.images_without(name, space.generation)
        rows = store.images(lacking if among is None else lacking & among).values()
        unreached |= {row.id for row in rows if row.path and not os.access(row.path, os.R_OK)}
    with store.write() as c:
        if unreached:
            put_backfill(c, name, UNREACHED, unreached)
        else:
            drop_backfill(c, name)
