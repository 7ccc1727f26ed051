"""Plain text for people: columns that are never cut, sizes and times in words.

No terminal width is assumed, so that paths survive a pipe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import typer


def echo_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=True))


_MOVES_THE_CURSOR = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def print_line(text: object = "", *, err: bool = False, nl: bool = True, dim: bool = False) -> None:
    """Lines for people: the one way out, so that no name or tag can command the terminal."""
    plain = _MOVES_THE_CURSOR.sub(lambda found: ascii(found[0])[1:-1], str(text))
    typer.echo(typer.style(plain, dim=True) if dim else plain, err=err, nl=nl)


def echo_table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, right: str = "") -> None:
    """Columns with a heading; ``right`` holds an ``r`` for each column set to the right."""
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
    """Bytes as people say them.

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
    """A stretch of time.

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
    """Text from a file's name, with whatever could move the cursor or colour the screen shown."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def plural(n: int, what: str, many: str | None = None) -> str:
    """A number and its noun.

    >>> plural(1, "picture"), plural(2_000, "picture")
    ('1 picture', '2,000 pictures')
    """
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def day(date: str | None, source: str | None = None) -> str:
    """The day of an ISO date and time; ``~`` where only a file's name or time tells it."""
    return f"{'~' if source in ('name', 'file') else ''}{date[:10]}" if date else ""
