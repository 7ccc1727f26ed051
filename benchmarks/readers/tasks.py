"""Retrieval tasks of the public data sets, each by its official protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.readers.corel import read_corel1k
from benchmarks.readers.holidays import read_holidays
from benchmarks.readers.oxford import read_oxford
from likewise.errors import DatasetError
from likewise_lab.evaluation import retrieval
from likewise_lab.evaluation.retrieval import Task, class_task
from likewise_methods.evaluation import positives_in_turn


def read_task(dataset: str, path: Path, *, n_views: int = 16) -> Task:
    """Read the task of a data set in its official layout; the product knows folders and planted."""
    if dataset not in TASKS:
        return retrieval.read_task(dataset, path, n_views=n_views)
    task = TASKS[dataset](path)
    if not task.queries:
        raise DatasetError(f"{path}: no query has an answer among the pictures that are there")
    return task


def _oxford(path: Path) -> Task:
    data = read_oxford(path)
    asked = [query for query in data.queries if query.positives - {query.query}]
    if asked and all(query.present for query in asked):
        return Task(data.name, "official queries, boxes", data.paths, asked, trapezoid=True)
    return Task(
        data.name,
        "positives in turn (official query photos are missing)",
        data.paths,
        positives_in_turn(data),
        trapezoid=True,
    )


def _holidays(path: Path) -> Task:
    data = read_holidays(path)
    asked = [query for query in data.queries if query.present and query.positives]
    return Task(data.name, "first picture of each group", data.paths, asked)


def _corel1k(path: Path) -> Task:
    return class_task(read_corel1k(path), path)


TASKS: dict[str, Callable[[Path], Task]] = {
    "oxford": _oxford,
    "holidays": _holidays,
    "corel1k": _corel1k,
}
