"""Back-fills: make missing rows of pictures that were added before a space, or before it could run.

The catalog stores which spaces lack rows and why (``catalog/changes.py``), so an add need not look
for gaps.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Set
from typing import NamedTuple

import numpy as np

from likewise.catalog import changes as change
from likewise.catalog.changes import (
    RUNNING,
    UNREACHED,
    WAITING,
    backfill_of,
    drop_backfill,
    put_backfill,
)
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.picture_marks import put_shot, unread_shots
from likewise.catalog.store import Store
from likewise.errors import ImageError
from likewise.images.decode import probe
from likewise.images.shots import Shot
from likewise.ingest.describe import load_spaces
from likewise.ingest.generations import describe_all
from likewise.ingest.pool import Failure, Workers, n_workers, run
from likewise.ingest.remote_paths import Needs, RemotePaths
from likewise.spaces import rows as space_rows
from likewise.spaces.base import Space
from likewise.spaces.registry import open_space, open_spaces

_SHOTS = 500
"""Pictures whose EXIF is written at a time."""


# -- rows ------------------------------------------------------------------------------------


def note_unmade(store: Store, *, adding_some: bool) -> list[str]:
    """Return the spaces that cannot be made now, and note that a later add must fill them."""
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
    """Make the missing rows of spaces (those of ``among``) after an interruption."""
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
                # After an interruption the next job looks for missing rows.
                put_backfill(c, space.name, RUNNING)
            describe_all(store, space, reached, count, report)
        left = set(paths) - set(dict(reached))
        settle_backfill(store, space.name, among=set(paths), left=left)


def settle_backfill(
    store: Store, name: str, *, among: set[int] | None = None, left: Iterable[int] = ()
) -> None:
    """Mark a back-fill as done, except for pictures whose files are unavailable.

    ``among`` are the pictures that were tried (None: all), ``left`` those that were not.  A
    readable file that gives no row is not tried again, which would slow down every add.
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


# -- rows made of another space's rows, without reading pictures -------------------------------


def derive_rows(store: Store, space: Space, images: Set[int]) -> set[int]:
    """Make rows of some pictures from the rows of the space's source; return the pictures done."""
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
    """Make rows of derived spaces again where rows of their source were added or replaced."""
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


# -- EXIF of pictures added before lens, exposure and place were kept ------------------------


class _ReadTask(NamedTuple):
    image: int
    path: str

    def needs(self) -> Needs:
        return Needs(self.path)

    def at(self, there: RemotePaths) -> _ReadTask:
        return self._replace(path=there.path(self.path))

    def bring_back(self, answer: _Read) -> _Read:
        return answer


class _Read(NamedTuple):
    image: int
    shot: Shot | None


def fill_shots(store: Store, *, workers: Workers | None, report: Report) -> None:
    """Read the EXIF that earlier versions did not read; unavailable files are tried again."""
    left = unread_shots(store)
    if not left:
        return
    paths = store.paths(left)
    tasks = [_ReadTask(i, path) for i, path in paths.items() if path and os.access(path, os.R_OK)]
    done: list[_Read] = []

    def put() -> None:
        with store.write() as c:
            for one in done:
                put_shot(c, one.image, one.shot)
        done.clear()

    found = run(_read, tasks, n_workers(workers, len(tasks)), _unread)
    for count, one in enumerate(found, 1):
        done.append(one)
        if len(done) >= _SHOTS:
            put()
            report(Progress("reading how pictures were taken", count, len(tasks)))
    put()


def _read(task: _ReadTask) -> _Read:
    try:
        return _Read(task.image, probe(task.path).shot)
    except ImageError:
        return _Read(task.image, None)


def _unread(task: _ReadTask, _: Failure) -> _Read:
    return _Read(task.image, None)
