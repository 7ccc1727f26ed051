"""Print text and JSON, format tables, sizes and times, and show the progress of a job.

No terminal width is assumed, so that paths survive a pipe.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.progress import TaskID

    from likewise.catalog.jobs import Progress, Report

_EVERY = 10.0
"""Seconds between lines of progress where there is no terminal to draw a bar on."""


def echo_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=True))


_MOVES_THE_CURSOR = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def print_line(text: object = "", *, err: bool = False, nl: bool = True, dim: bool = False) -> None:
    """Print text with control characters escaped, so that no name can control the terminal."""
    plain = _MOVES_THE_CURSOR.sub(lambda found: ascii(found[0])[1:-1], str(text))
    typer.echo(typer.style(plain, dim=True) if dim else plain, err=err, nl=nl)


def echo_table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, right: str = "") -> None:
    """Print a table with a heading; ``right`` has an ``r`` for each right-aligned column."""
    cells = [list(heads), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    sides = right.ljust(len(heads))
    for number, row in enumerate(cells):
        parts = [
            text.rjust(width) if side == "r" else text.ljust(width)
            for text, width, side in zip(row, widths, sides, strict=True)
        ]
        line = "  ".join(parts).rstrip()
        typer.echo(typer.style(line, bold=True) if number == 0 else line)


def size(n_bytes: int) -> str:
    """Format a number of bytes.

    >>> size(1_234_567)
    '1.2 MB'
    """
    value = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def span(seconds: float) -> str:
    """Format a duration.

    >>> span(0.5), span(42), span(3_725)
    ('0.5 s', '42 s', '1 h 02 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def printable(text: str) -> str:
    """Escape characters of a text that could move the cursor or colour the screen."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def plural(n: int, what: str, many: str | None = None) -> str:
    """Return a number and its noun.

    >>> plural(1, "picture"), plural(2_000, "picture")
    ('1 picture', '2,000 pictures')
    """
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def day(date: str | None, source: str | None = None) -> str:
    """Return the day of an ISO date; ``~`` if it is only from the file's name or time."""
    return f"{'~' if source in ('name', 'file') else ''}{date[:10]}" if date else ""


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Yield a function that reports the progress of a job on standard error.

    A terminal gets a bar, which is removed at the end; a log gets a line now and then."""
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
        # No markup: a note may contain brackets.
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    # Only the current stage is shown.
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
