"""EXIF of pictures that came in before their lens, exposure and place were kept."""

from __future__ import annotations

import os
from typing import NamedTuple

from likewise.catalog.jobs import Progress, Report
from likewise.catalog.picture_marks import put_shot, unread_shots
from likewise.catalog.store import Store
from likewise.errors import ImageError
from likewise.images.decode import probe
from likewise.images.shots import Shot
from likewise.ingest.pool import Failure, Workers, run
from likewise.ingest.remote_paths import Needs, RemotePaths
from likewise.ingest.workers import n_workers

_BATCH = 500


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
    """Read the headers that were not read for this yet; a file out of reach is tried again."""
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
        if len(done) >= _BATCH:
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
