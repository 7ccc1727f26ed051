"""What many commands share: their options, and the way to the collection they work on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.output import say
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.collection.collection import Collection

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Where = Annotated[
    Path,
    typer.Option(
        "-C",
        "--collection",
        envvar="LIKEWISE_COLLECTION",
        help="Folder of the collection.",
        metavar="PATH",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=0, help="Worker processes; default: one per core, 0 for none."),
]
DEFAULT = Path("photos.lw")
STOPPED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""


class Usage(typer.BadParameter):
    """Arguments that make no sense together: exit code 2."""


@contextmanager
def open_collection(path: Path) -> Iterator[Collection]:
    """The collection at a path, closed afterwards."""
    if not path.expanduser().exists():
        raise LikewiseError(
            f"there is no collection {path}; 'likewise add DIR' creates one, -C names another"
        )
    from likewise.collection.collection import Collection

    with Collection.open(path) as col:
        col.actor = "the command line"
        yield col


@contextmanager
def stoppable(message: str) -> Iterator[None]:
    """Ctrl-C ends the command in one line, with what that means for the collection."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\nlikewise: stopped; {message}", err=True)
        raise typer.Exit(STOPPED) from None


def picture(text: str) -> int | str:
    """A picture as people write it: a number is an id unless a file has that very name."""
    if text.isascii() and text.isdigit() and len(text) < 19 and not Path(text).exists():
        return int(text)
    return text


def pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """``key=value`` options as a mapping."""
    found = {}
    for text in given or []:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise Usage(f"{option} {text!r}: key=value expected")
        if key in found:
            raise Usage(f"{option} names {key!r} twice")
        found[key] = value
    return found


def value_of(text: str) -> Any:
    """A number, true, false or "quoted text" as JSON has them; anything else is text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | bool) else text
