"""Surveys: what a learning space needs of the pictures, computed by workers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.content import read_content
from likewise.catalog.jobs import Progress, Report
from likewise.errors import ImageError
from likewise.images.decode import decode
from likewise.ingest.pool import Failure, Workers, n_threads, run
from likewise.ingest.remote_paths import Needs, RemotePaths
from likewise.lazy_imports import cv2
from likewise.spaces.base import Space
from likewise.spaces.rows import WORDS_FOLDER
from likewise_methods.durable_files import private_folder

RowsOf = Callable[[str], Iterator[tuple[NDArray[np.int64], Any]]]
"""Rows of a space by its name: (numbers of pictures, raw rows), part by part."""


class SampleTask(NamedTuple):
    """One picture, and the space that is learning."""

    number: int
    path: str
    space: Space
    options: Mapping[str, Any]

    def prepare(self) -> None:
        """Load networks and kernels before the time limit of a picture starts."""
        self.space.load()

    def needs(self) -> Needs:
        return Needs(self.path, self.space.root, self.space.needed_files())

    def at(self, there: RemotePaths) -> SampleTask:
        return self._replace(path=there.path(self.path), space=self.space.at(there.folder))

    def bring_back(self, answer: tuple[int, Any]) -> tuple[int, Any]:
        return answer


class PictureSurvey:
    """Pictures by number, and workers to sample them: a ``Survey`` for one generation.

    ``rows`` returns the rows of another space, by picture numbers; without it there are none.
    ``stem`` begins the names of its files and must be new, as readers and workers cache opened
    files by name.
    """

    def __init__(
        self,
        root: Path,
        stem: str,
        paths: Sequence[str],
        *,
        workers: Workers,
        report: Report,
        seed: int,
        rows: RowsOf | None = None,
    ) -> None:
        self.n_pictures, self.seed, self.report = len(paths), seed, report
        self.n_threads = n_threads(workers)
        self._root, self._stem = root, f"{stem}-{secrets.token_hex(6)}"
        self._paths, self._workers, self._rows = paths, workers, rows
        self._rng = np.random.default_rng(seed)

    def choose(self, most: int) -> list[int]:
        """Return the numbers of at most so many pictures, drawn at random, in order."""
        if self.n_pictures <= most:
            return list(range(self.n_pictures))
        drawn = self._rng.choice(self.n_pictures, most, replace=False)
        return [int(number) for number in np.sort(drawn)]

    def sample(
        self, space: Space, numbers: Sequence[int], stage: str, **options: Any
    ) -> list[tuple[int, Any]]:
        """Return what the space finds in some pictures, in their order."""
        tasks = (SampleTask(i, self._paths[i], space, options) for i in numbers)
        found, done = [], 0

        def report_done() -> None:
            self.report(Progress(stage, done, len(numbers)))

        for answer in run(take_sample, tasks, self._workers, _no_sample, tick=report_done):
            done += 1
            report_done()
            if answer[1] is not None:
                found.append(answer)
        return sorted(found, key=lambda answer: answer[0])

    def new_file(self, suffix: str) -> str:
        """Return a new name for a file of the generation, below the collection's folder."""
        private_folder(self._root / WORDS_FOLDER)
        return f"{WORDS_FOLDER}/{self._stem}{suffix}"

    def rows(self, space: str) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Yield (numbers of pictures, raw rows) of another space, part by part."""
        return iter(()) if self._rows is None else self._rows(space)


def take_sample(task: SampleTask) -> tuple[int, Any]:
    """In a worker: return what the space needs of one picture; None where it cannot be read."""
    try:
        picture = decode(
            read_content(task.path), max_side=task.space.decode_side, slack=task.space.decode_slack
        )
        return task.number, task.space.sample(picture.pixels, task.number, **task.options)
    except (ImageError, cv2.error, MemoryError):
        return task.number, None


def _no_sample(task: SampleTask, _: Failure) -> tuple[int, None]:
    return task.number, None
