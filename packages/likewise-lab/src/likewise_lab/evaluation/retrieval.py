"""Measure retrieval: mean average precision by similarity, where the right answers are known.

A task has the pictures of the collection, the queries and how a ranking is scored.
:class:`Ranker` searches a collection, or anything with the same ``search``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from likewise.errors import DatasetError, InvalidInput
from likewise_lab.evaluation.folders import read_folders
from likewise_lab.evaluation.planted import write_planted
from likewise_methods.evaluation import (
    LabelledImages,
    RetrievalQuery,
    RetrievalScores,
    evaluate,
    leave_one_out,
)

# A part of a data set with one of these names has the queries; other parts are searched.
_ASKING = ("query", "test", "testing")


@dataclass(frozen=True)
class Task:
    """Pictures by name, queries over them, and how they are scored.

    Attributes
    ----------
    name : str
        Name of the data set.
    protocol : str
        The protocol in words.
    paths : mapping of str to Path
        Pictures that go into the collection.
    queries : sequence of RetrievalQuery
        The queries.
    outside : mapping of str to Path
        Query pictures that do not go into the collection.
    trapezoid : bool
        As for :func:`average_precision`.

    See Also
    --------
    read_task : read a data set.
    Ranker : search and score.
    """

    name: str
    protocol: str
    paths: Mapping[str, Path]
    queries: Sequence[RetrievalQuery]
    outside: Mapping[str, Path] = field(default_factory=dict)
    trapezoid: bool = False


def read_task(dataset: str, path: Path, *, n_views: int = 16) -> Task:
    """Read a data set in its official layout.

    Parameters
    ----------
    dataset : str
        Its name, as ``likewise evaluate`` lists them.
    path : Path
        Its folder.
    n_views : int, default=16
        Views of a scene, for the planted ones.

    Returns
    -------
    Task
        Pictures, queries and how they are scored.

    See Also
    --------
    Ranker : search and score.
    """
    if dataset not in TASKS:
        raise DatasetError(f"there is no data set {dataset!r}; there are {', '.join(TASKS)}")
    if dataset == "planted":
        return planted_task(path, n_views)
    task = TASKS[dataset](path)
    if not task.queries:
        raise DatasetError(f"{path}: no query has an answer among the pictures that are there")
    return task


def planted_task(path: Path, n_views: int = 16) -> Task:
    """Write planted views to ``path``; each view is a query."""
    data = write_planted(path, n_views)
    return Task(data.name, "every view in turn, leave one out", data.paths, data.queries)


def _folders(path: Path) -> Task:
    return class_task(read_folders(path), path)


def class_task(data: LabelledImages, root: Path) -> Task:
    """Search for the pictures of each class by each picture, or by those of a query part."""
    if data.archive is not None:
        raise DatasetError(f"{root} is an archive; unpack it, a collection holds files")
    names = [os.path.relpath(path, root) for path in data.paths]
    labels = {name: data.classes[i] for name, i in zip(names, data.labels.tolist(), strict=True)}
    paths = dict(zip(names, data.paths, strict=True))
    asking = {
        name for name, part in zip(names, data.split, strict=False) if part.lower() in _ASKING
    }
    if not asking or len(asking) == len(names):
        protocol = "every picture in turn, leave one out"
        return Task(data.name, protocol, paths, leave_one_out(labels))
    members: dict[str, set[str]] = {}
    for name in names:
        if name not in asking:
            members.setdefault(labels[name], set()).add(name)
    queries = [
        RetrievalQuery(name, name, frozenset(members[labels[name]]), group=labels[name])
        for name in names
        if name in asking and labels[name] in members
    ]
    return Task(
        data.name,
        "queries apart from what is searched",
        {name: path for name, path in paths.items() if name not in asking},
        queries,
        outside={name: paths[name] for name in asking},
    )


TASKS: dict[str, Callable[[Path], Task]] = {
    "folders": _folders,
    "planted": planted_task,
}


def some(task: Task, count: int, *, seed: int = 0) -> Task:
    """Return the task with at most ``count`` of its queries, drawn by seed."""
    if count < 1:
        raise InvalidInput(f"{count} queries; at least 1 expected")
    if count >= len(task.queries):
        return task
    chosen = np.random.default_rng(seed).choice(len(task.queries), count, replace=False)
    return replace(task, queries=[task.queries[i] for i in sorted(chosen.tolist())])


class HasId(Protocol):
    """A hit."""

    @property
    def id(self) -> int: ...


class Searchable(Protocol):
    """Pictures with ids that can be searched, such as a collection."""

    def __len__(self) -> int: ...

    def id_of(self, path: Path, /) -> int:
        """Return the picture of a file, or raise LookupError."""
        ...

    def search(
        self,
        query: int | Path,
        k: int,
        /,
        *,
        by: str,
        region: tuple[float, float, float, float] | None = None,
    ) -> Sequence[HasId]:
        """Return the k most similar pictures."""
        ...


class Ranker:
    """Ranks a task's pictures by name.

    Parameters
    ----------
    col : Collection
        Anything that searches as a collection does.
    task : Task
        Pictures and queries.

    Attributes
    ----------
    missing : list of str
        Names whose file is not in the collection (it could not be decoded): as positives they are
        never found, as queries they cannot be asked.

    See Also
    --------
    read_task : read a task.
    """

    def __init__(self, col: Searchable, task: Task) -> None:
        self._col = col
        self._size = len(col)
        self._id: dict[str, int] = {}
        self._names: dict[int, list[str]] = {}
        self.missing: list[str] = []
        for name, path in task.paths.items():
            try:
                image = col.id_of(path)
            except LookupError:
                self.missing.append(name)
                continue
            self._id[name] = image
            self._names.setdefault(image, []).append(name)
        self._outside = task.outside
        self.queries = [
            query for query in task.queries if query.query in self._id or query.query in
            task.outside
        ]  # fmt: skip

    def id_of(self, name: str) -> int | None:
        """Return the picture of a name; None where it is not in the collection."""
        return self._id.get(name)

    def names_of(self, image: int) -> list[str]:
        """Return the names of a picture."""
        return self._names.get(image, [])

    def rank(self, query: RetrievalQuery, by: str) -> list[str]:
        """Return every name, best first; distractors are called ``picture ID``."""
        image = self._id.get(query.query)
        if query.box is not None and image is not None:
            x1, y1, x2, y2 = query.box
            region = (x1, y1, x2 - x1, y2 - y1)
            hits = self._col.search(image, self._size, by=by, region=region)
            return self._names_of(hit.id for hit in hits)
        if image is None:
            hits = self._col.search(self._outside[query.query], self._size, by=by)
            return self._names_of(hit.id for hit in hits)
        # A picture is not among its own hits, but another file with the same bytes is found.
        hits = self._col.search(image, self._size, by=by)
        return self._names_of([image, *(hit.id for hit in hits)])

    def _names_of(self, images: Iterable[int]) -> list[str]:
        return [name for i in images for name in self._names.get(i, [f"picture {i}"])]

    def score(self, task: Task, by: str) -> RetrievalScores:
        """Return the average precision of every query whose picture could be used."""
        if not self.queries:
            raise DatasetError(f"no query picture of {task.name} is in the collection")
        return evaluate(self.queries, lambda query: self.rank(query, by), trapezoid=task.trapezoid)
