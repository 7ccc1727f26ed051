"""The commands add, sync, remove, problems, and check (which needs no collection)."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.catalog.filters import absolute
from likewise.cli.finding import Found, find_for_adding, remember_opened
from likewise.cli.options import (
    DEFAULT,
    Json,
    PathMaps,
    Scheduler,
    Usage,
    Where,
    Workers,
    open_collection,
    picture,
    report_found,
    send_changes,
    stoppable,
    workers_of,
)
from likewise.cli.output import echo_json, plural, print_line, printable, progress_bar, span

if TYPE_CHECKING:
    from likewise.collection.collection import Collection
    from likewise.ingest.add import AddResult

_LISTED = 20
_MANY = 50
"""Files from which on it pays to start workers before anything is known of them."""
_GOES_ON = "what was done is kept, and the same command goes on from there"


def add(
    paths: Annotated[list[Path], typer.Argument(help="Pictures, or folders to look through.")],
    collection: Where = DEFAULT,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Metadata for the added pictures."),
    ] = None,
    tags_from_folders: Annotated[
        bool,
        typer.Option(
            "--tags-from-folders",
            help="Use folder names as tags ('likewise library tags from-folders').",
        ),
    ] = False,
    all_spaces: Annotated[
        bool,
        typer.Option(
            "--all-spaces",
            help="Also describe all pictures by visual words, colours and edges (slow).",
        ),
    ] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    path_map: PathMaps = None,
    json_: Json = False,
) -> None:
    """Add pictures and folders of pictures; creates the collection if there is none.

    Pictures are only read, never changed.  Keywords inside them (XMP, IPTC) and in sidecars next to
    them become tags.  Files that cannot be used are listed with the reason.  A run that was stopped
    continues where it left off.
    """
    from likewise.cli.options import pairs, value_of

    metadata = {key: value_of(value) for key, value in pairs(set_, "--set").items()}
    if workers is None and scheduler is None:
        _prestart_workers(collection, paths)
    with stoppable(_GOES_ON), _open_or_create(collection, paths) as col:
        # Imported objects stay alive: exclude them from garbage collection.
        gc.freeze()
        with workers_of(workers, scheduler, path_map) as who, progress_bar() as report:
            result = col.add(*paths, metadata=metadata or None, workers=who, report=report)
            if all_spaces:
                col.spaces.add_missing(workers=who, report=report)
        if tags_from_folders:
            col.tags.from_folders()
        _print(col, result, json_)
        if not (json_ or len(col) or result.skipped):
            print_line("No pictures found.")
        send_changes(col)


def sync(
    collection: Where = DEFAULT,
    workers: Workers = None,
    scheduler: Scheduler = None,
    path_map: PathMaps = None,
    json_: Json = False,
) -> None:
    """Update the collection: new, changed and deleted files in the folders that were added."""
    with stoppable(_GOES_ON), open_collection(collection) as col:
        with workers_of(workers, scheduler, path_map) as who, progress_bar() as report:
            result = col.sync(workers=who, report=report)
        _print(col, result, json_)


def remove(
    pictures: Annotated[
        list[str], typer.Argument(help="Ids or paths; a folder means all pictures in it.")
    ],
    collection: Where = DEFAULT,
    from_disk: Annotated[
        bool,
        typer.Option(
            "--from-disk",
            help="Also move the files out of their folders, into 'removed' of the collection.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --from-disk: do not ask whether that is meant.")
    ] = False,
    json_: Json = False,
) -> None:
    """Remove pictures from the collection; the files stay where they are.

    Neither sync nor adding their folder brings them back; adding the file itself does.  'likewise
    library actions undo' restores them with their tags.  With --from-disk the files are moved,
    never deleted, and undo moves them back.
    """
    if yes and not from_disk:
        raise Usage("--yes goes with --from-disk")
    with open_collection(collection, pictures[0]) as col:
        wanted = list(dict.fromkeys(one for text in pictures for one in choose_pictures(col, text)))
        if from_disk and wanted and not yes:
            typer.confirm(
                f"Move the files of {plural(len(wanted), 'picture')} into {col.root}/removed?",
                abort=True, err=True,
            )  # fmt: skip
        done = col.actions.remove(wanted, from_disk=from_disk) if wanted else None
        left = len(col)
    gone, moved = (0, 0) if done is None else (done.pictures, done.moved)
    problems = () if done is None else done.problems
    if json_:
        echo_json(
            {
                "removed": gone, "pictures": left, "moved": moved,
                "action": None if done is None else done.action,
                "problems": [{"path": path, "reason": reason} for path, reason in problems],
            }
        )  # fmt: skip
        return
    for path, reason in problems[:_LISTED]:
        print_line(f"{printable(path)}: {printable(reason)}")
    files = f", {plural(moved, 'file')} moved" if from_disk else ""
    print_line(f"{plural(gone, 'picture')} removed{files}, {left:,} left")
    if done is not None:
        print_line(f"'likewise library actions undo {done.action}' brings back what was removed")


def problems(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the files that could not be used, with the reason."""
    with open_collection(collection) as col:
        rows = col.problems()
    if json_:
        echo_json([{"path": row.path, "reason": row.problem} for row in rows])
        return
    for row in rows:
        print_line(f"{printable(row.path)}: {printable(_spell_problem(row.problem or ''))}")
    print_line(plural(len(rows), "problem") if rows else "No problems.")


def _spell_problem(reason: str) -> str:
    """Return the reason of a problem as text; a temporary one is marked."""
    from likewise.catalog.store import TRANSIENT

    if reason.startswith(TRANSIENT):
        return f"{reason.removeprefix(TRANSIENT)} (tried again by the next add)"
    return reason


def check(
    paths: Annotated[list[Path], typer.Argument(help="Pictures, or folders to look through.")],
    json_: Json = False,
) -> None:
    """Show which pictures can be used, and why any other file cannot.

    Every picture is decoded in full, so that a truncated one is found.  Exit code 1 if any file
    cannot be used.
    """
    from likewise.collection.decoding import decoders
    from likewise.errors import ImageError

    refused = 0
    rows: list[dict[str, object]] = []
    for path in _files(paths):
        row: dict[str, object] = {"path": str(path), "usable": True}
        try:
            info = decoders().info(path)
        except ImageError as error:
            refused += 1
            row |= {"usable": False, "reason": error.reason}
        else:
            date = info.date.isoformat() if info.date else None
            row |= {"format": info.format, "width": info.width, "height": info.height}
            row |= {"mode": info.mode, "date": date}
        rows.append(row)
        if not json_:
            print_line(_line(row))
    if json_:
        echo_json(rows)
    else:
        print_line(f"{len(rows) - refused} usable, {refused} refused")
    if refused:
        raise typer.Exit(1)


_MEANWHILE = ("likewise.ingest.describe", "likewise.vision.deep.network:network")
"""What the first spaces need is loaded before there is a collection."""


def _prestart_workers(named: Path | None, wanted: list[Path]) -> None:
    """Start workers for a new collection early, while this process still imports.

    Not for an existing collection, which may have all these pictures, nor for a few pictures.
    """
    place = find_for_adding(wanted) if named is None else absolute(named)
    files = (name for one in wanted for _, _, names in os.walk(one) for name in names)
    if place.exists() or len(list(islice(files, _MANY))) < _MANY:
        return
    from likewise.ingest import pool

    with suppress(pool.WorkersCannotStart):  # told when there is work for them
        pool.prestart(pool.default_workers(), _MEANWHILE)


def _open_or_create(named: Path | None, wanted: list[Path]) -> Collection:
    """Open the collection for these pictures (``finding.py``); create it if there is none."""
    from likewise.ingest.add import check_reachable

    # A mistyped folder must not leave an empty collection behind.
    for one in wanted:
        check_reachable(one)
    place = find_for_adding(wanted) if named is None else absolute(named)
    col, is_new = open_or_create(place)
    if is_new:
        print_line(f"Created a new collection: {printable(str(place))}", err=True)
        offer_deep(col)
    elif named is None:
        report_found(Found(place, "of these pictures or of this folder"))
    remember_opened(place)
    return col


def open_or_create(place: Path) -> tuple[Collection, bool]:
    """Return the collection at a path, and whether it was created now."""
    from likewise.catalog.locations import is_collection
    from likewise.collection.collection import Collection
    from likewise.errors import CollectionExists

    if not is_collection(place):
        # Another command may be creating it right now: use that one.
        with suppress(CollectionExists):
            return Collection.create(place), True
    return Collection.open(place), False


def offer_deep(col: Collection) -> None:
    """Print what a new collection lacks without the network."""
    if "deep" not in col.spaces:
        from likewise.vision.deep.network import offer

        print_line(offer(), err=True)


def _print(col: Collection, result: AddResult, json_: bool) -> None:
    if json_:
        said: dict[str, Any] = {
            "collection": str(col.root),
            "pictures": len(col),
            "added": result.added,
            "known": result.known,
            "copies": result.duplicates,
            "removed": result.removed,
            "skipped": [{"path": path, "reason": reason} for path, reason in result.skipped],
            "videos": result.videos,
            "seconds": round(result.seconds, 3),
            "unmade": result.unmade,
            "remarks": [{"path": path, "reason": reason} for path, reason in result.remarks],
        }
        echo_json(said)
        return
    for path, reason in result.skipped[:_LISTED]:
        print_line(f"skipped {printable(path)}: {printable(reason)}")
    if len(result.skipped) > _LISTED:
        more = len(result.skipped) - _LISTED
        print_line(f"... and {more:,} more; 'likewise library problems' lists them all")
    for path, reason in result.remarks[:_LISTED]:
        print_line(f"{printable(path)}: {printable(reason)}")
    rate = f", {result.added / result.seconds:.1f} per second" if result.added > 1 else ""
    print_line(f"{result} ({span(result.seconds)}{rate})")
    print_line(f"{col.root} holds {plural(len(col), 'picture')}")
    if result.unmade and result.added:
        spaces = col.spaces
        ways: dict[str, list[str]] = {}
        for name in result.unmade:
            ways.setdefault(spaces[name].how_to_get(), []).append(name)
        for way, names in ways.items():
            print_line(f"no vectors yet in {', '.join(names)}: {way}")


def choose_pictures(col: Collection, text: str) -> list[int]:
    """Return the ids that an argument means: one picture, or all below a folder."""
    one = picture(text)
    folder = absolute(text)
    if isinstance(one, str):
        below = [row.id for row in col.images() if folder in Path(row.path).parents]
        if below:
            return below
    return [col.id_of(one)]


def _files(paths: list[Path]) -> list[Path]:
    """Yield the given files, and all files below given folders except hidden ones."""
    found: list[Path] = []

    def skip_unreadable(error: OSError) -> None:
        # A folder without permission is yielded too, so that its reason is reported.
        found.append(Path(error.filename))

    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        for folder, folders, files in os.walk(path, onerror=skip_unreadable):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found += [Path(folder, name) for name in sorted(files) if not name.startswith(".")]
    return found


def _line(row: dict[str, object]) -> str:
    path = printable(str(row["path"]))
    if not row["usable"]:
        return f"{path}: {printable(str(row['reason']))}"
    date = f", {row['date']}" if row["date"] else ""
    return f"{path}: {row['format']} {row['width']} x {row['height']} {row['mode']}{date}"
