"""Options that many commands share, and opening the collection they work on."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.entry import STOPPED, is_interrupted, report_stopped
from likewise.cli.finding import NAMED, VARIABLE, Found, find_collection
from likewise.cli.output import print_line, printable
from likewise.errors import LikewiseError
from likewise.plugins import COMMANDS, PluginError, load
from likewise_methods.memory import share_heaps

if TYPE_CHECKING:
    from likewise.collection.collection import Collection
    from likewise.ingest.pool import Workers as WorkersOf

_for_programs = False


def _note_json(value: bool) -> bool:
    global _for_programs
    _for_programs = value
    return value


Json = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of text.", callback=_note_json)
]
Where = Annotated[
    Path | None,
    typer.Option(
        "-C",
        "--collection",
        envvar=VARIABLE,
        help="The collection; default: that of this folder or a parent, else the last one opened.",
        metavar="PATH",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=0, help="Worker processes; default: one per core, 0 for none."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Let the workers of a Dask cluster do it: tcp://host:8786, or tls://host:8786.",
    ),
]
PathMaps = Annotated[
    list[str] | None,
    typer.Option(
        "--path-map",
        metavar="HERE=THERE",
        help="With --scheduler: a folder of pictures here, and where workers have it.",
    ),
]
DEFAULT = None


class Usage(typer.BadParameter):
    """Arguments that make no sense together: exit code 2."""


@contextmanager
def open_collection(
    named: Path | None, near: str | int | os.PathLike[str] | None = None
) -> Iterator[Collection]:
    """The collection that is named, else the one that is found (``finding.py``); closed
    afterwards.  ``near`` is the picture a command is asked about."""
    found = find_collection(named, None if isinstance(near, int) else near)
    if not found.path.exists():
        raise LikewiseError(
            f"there is no collection {named}; 'likewise add DIR' creates one, -C names another"
        )
    from likewise.collection.collection import Collection

    with Collection.open(found.path) as col:
        report_found(found)
        col.actor = "the command line"
        before = col.revision
        yield col
        if col.revision != before and col.has_engines:
            send_changes(col)


def send_changes(col: Collection) -> None:
    """Send changes to the engines of a collection, or print how many are pending."""
    try:
        waiting = col.engine_sync.send_changes()
    except PluginError as error:
        print_line(f"not sent to engines yet: {printable(str(error))}", err=True)
        return
    for address, reason in waiting.items():
        print_line(f"not sent yet: {printable(reason)}", err=True)
        print_line(f"  'likewise admin push --to {printable(address)}' sends it", err=True)


def report_found(found: Found) -> None:
    """Print which collection is used, in one dim line, unless it was named or JSON is printed."""
    if found.how != NAMED and not _for_programs:
        print_line(f"using {printable(str(found.path))} ({found.how})", err=True, dim=True)


def refuse_early_options(context: typer.Context, **of_the_list: str) -> None:
    """Refuse options between a group and its command, since the command would not see them.

    ``of_the_list`` has the messages for options of the group's own list.
    """
    command = context.invoked_subcommand
    late = {
        name: f"put {option} after the command: likewise {context.info_name} {command} … {option}"
        for name, option in (("collection", "-C"), ("json_", "--json"))
    }
    for name, message in {**late, **of_the_list}.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise Usage(message)


@contextmanager
def workers_of(
    count: int | None, scheduler: str | None, path_maps: list[str] | None
) -> Iterator[WorkersOf | None]:
    """Yield the worker pool: local processes, or those of a cluster, released afterwards."""
    # Return freed memory to the system: large runs would keep it otherwise.
    share_heaps()
    if scheduler is None:
        if path_maps:
            raise Usage("--path-map goes with --scheduler")
        yield count
        return
    if count is not None:
        raise Usage("--workers are of this machine, --scheduler names others: one of them expected")
    open_workers = load(COMMANDS, "--scheduler")
    with open_workers(scheduler, path_map=pairs(path_maps, "--path-map")) as cluster:
        yield cluster


@contextmanager
def stoppable(message: str) -> Iterator[None]:
    """End the command on Ctrl-C with one line that says what that means for the collection."""
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        if not (isinstance(error, KeyboardInterrupt) or is_interrupted()):
            raise
        report_stopped(f"\nlikewise: stopped; {message}")
        raise typer.Exit(STOPPED) from None


@contextmanager
def ends_at_once() -> Iterator[None]:
    """End the process at once on Ctrl-C: Python would wait until a decoder returns.

    Only for commands that change nothing and so need no clean-up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def picture(text: str) -> int | str:
    """Read a picture argument: a number is an id unless a file has that name."""
    if text.isascii() and text.isdigit() and len(text) < 19 and not Path(text).exists():
        return int(text)
    return text


def pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """Read ``key=value`` options into a mapping."""
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
    """Read a number, true, false or "quoted text" as JSON; anything else is text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | bool) else text
