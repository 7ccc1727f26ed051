"""Descriptors of some pictures, to learn words from, and the projection before the words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from likewise.collection.ingest.workers import SampleTask, run, sample
from likewise.collection.jobs import Progress, Report
from likewise.features.deep.projection import Projection

PROJECTION_PICTURES = 400
"""Pictures whose cells a projection is learned from, at most: 40,000 cells."""


def samples(
    chosen: list[tuple[int, str]],
    recipe: dict[str, Any],
    projection: str | None,
    workers: int,
    report: Report,
) -> list[tuple[int, Any]]:
    """(number, descriptors) of the chosen pictures, in their order."""
    found = []
    tasks = (SampleTask(path, recipe, projection) for _, path in chosen)
    for descriptors in run(_numbered_sample, enumerate(tasks), workers, _no_sample):
        found.append(descriptors)
        report(Progress("descriptors for the words", len(found), len(chosen)))
    return sorted(found, key=lambda pair: pair[0])


def learn_projection(
    path: Path,
    recipe: dict[str, Any],
    chosen: list[tuple[int, str]],
    workers: int,
    report: Report,
) -> list[tuple[int, Any]]:
    """Learn and save a projection; gives the projected samples where it has seen all pictures."""
    every = -(-len(chosen) // PROJECTION_PICTURES)
    found = samples(chosen[::every], recipe, None, workers, report)
    some = [rows for _, rows in found if len(rows)]
    if sum(map(len, some)) < 2:
        return [(i, rows[:0]) for i, rows in found]
    made = Projection.fit(some, recipe["components"])
    made.save(path)
    if every > 1:
        return []
    return [(i, made(rows).astype(np.float16) if len(rows) else rows) for i, rows in found]


def _numbered_sample(task: tuple[int, SampleTask]) -> tuple[int, Any]:
    return task[0], sample(task[1])


def _no_sample(task: tuple[int, SampleTask]) -> tuple[int, Any]:
    return task[0], np.zeros((0, 128), np.float16)
