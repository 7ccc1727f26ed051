"""How far a job is, on standard error: a bar in a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import TaskID

    from likewise.catalog.jobs import Progress, Report

_EVERY = 10.0
"""Seconds between lines where there is no terminal to draw a bar on."""


@contextmanager
def progress_bar() -> Iterator[Report]:
    """A report function for a job; what it drew is gone when the job is done."""
    if sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _lines()


def _lines() -> Callable[[Progress], None]:
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY:
            last = now
            sys.stderr.write(f"{progress}\n")
            sys.stderr.flush()

    return report


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(bar_width=24),
        # As it is: a note may name what looks like markup.
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    # One line at a time: the stage under way.
    tasks: dict[str, TaskID] = {}

    def report(progress: Progress) -> None:
        if progress.stage not in tasks:
            for number in tasks.values():
                bar.remove_task(number)
            tasks.clear()
            tasks[progress.stage] = bar.add_task("", total=None)
        bar.update(
            tasks[progress.stage],
            description=str(progress),
            completed=progress.done,
            total=progress.total or None,
        )

    with bar:
        yield report
