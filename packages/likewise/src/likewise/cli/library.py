"""Commands of ``likewise library``: star, favourite, hide, albums, and undoing bulk actions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.feedback_output import format_time
from likewise.cli.options import (
    DEFAULT,
    Json,
    Where,
    open_collection,
    refuse_early_options,
    stoppable,
)
from likewise.cli.output import echo_json, echo_table, plural, print_line, printable, progress_bar
from likewise.cli.pictures import choose_pictures
from likewise.errors import InvalidInput

if TYPE_CHECKING:
    from likewise.collection.collection import Collection

Pictures = Annotated[
    list[str], typer.Argument(help="Ids or paths; a folder means all pictures in it.")
]
Name = Annotated[str, typer.Argument(help="The name of the album.")]

album = typer.Typer(no_args_is_help=True, help="Albums: lists of pictures with a name.")
actions = typer.Typer(help="List what was done to many pictures at once, and undo it.")
_LISTED = 20
"""Problems of an undone action that are printed."""


def star(
    stars: Annotated[int, typer.Argument(min=0, max=5, help="0 (none) to 5.")],
    pictures: Pictures,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Give pictures stars, from 0 to 5; 'likewise search --where stars=3' finds them."""
    with open_collection(collection) as col:
        done = col.library.star(_wanted(col, pictures), stars)
    _print(len(done.before), f"given {plural(stars, 'star') if stars else 'no stars'}", json_)


def favourite(
    pictures: Pictures,
    collection: Where = DEFAULT,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them from favourites.")] = False,
    json_: Json = False,
) -> None:
    """Add pictures to favourites."""
    with open_collection(collection) as col:
        done = col.library.favour(_wanted(col, pictures), not remove)
    _print(len(done.before), f"{'removed from' if remove else 'added to'} favourites", json_)


def hide(
    pictures: Pictures,
    collection: Where = DEFAULT,
    show: Annotated[bool, typer.Option("--show", help="Show them again.")] = False,
    json_: Json = False,
) -> None:
    """Leave pictures out of searches, lists and maps; files and collection keep them."""
    with open_collection(collection) as col:
        done = col.library.hide(_wanted(col, pictures), not show)
    _print(len(done.before), "shown again" if show else "hidden", json_)


@album.command("list")
def list_albums(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List albums with their number of pictures."""
    with open_collection(collection) as col:
        rows = col.library.albums()
    if json_:
        echo_json([{"name": row.name, "pictures": row.pictures} for row in rows])
        return
    for row in rows:
        print_line(f"{row.pictures:>7,}  {printable(row.name)}")
    print_line(
        plural(len(rows), "album")
        if rows
        else "No albums yet: 'likewise library album add NAME PICTURES'."
    )


@album.command()
def add(name: Name, pictures: Pictures, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Add pictures to an album, which is created if it does not exist."""
    with open_collection(collection) as col:
        done = col.library.add_to_album(name, _wanted(col, pictures))
    _print(len(done.pictures), f"added to {done.album!r}", json_)


@album.command()
def take(name: Name, pictures: Pictures, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Remove pictures from an album."""
    with open_collection(collection) as col:
        done = col.library.take_from_album(name, _wanted(col, pictures))
    _print(len(done.pictures), f"removed from {name!r}", json_)


@album.command()
def show(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the pictures of an album."""
    with open_collection(collection) as col:
        if name not in {row.name for row in col.library.albums()}:
            raise InvalidInput(
                f"there is no album {name!r}; 'likewise library album list' shows all"
            )
        _, rows = col.pictures.page(where={"album": name}, limit=1_000_000)
    if json_:
        echo_json([{"id": row.id, "path": row.path} for row in rows])
        return
    for row in rows:
        print_line(f"{row.id:>6}  {printable(row.path)}")


@album.command()
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="Its new name.")],
    collection: Where = DEFAULT,
) -> None:
    """Rename an album."""
    with open_collection(collection) as col:
        col.library.rename_album(name, new)
    print_line(f"Renamed album {name!r} to {new!r}")


@album.command()
def delete(name: Name, collection: Where = DEFAULT) -> None:
    """Delete an album, never its pictures."""
    with open_collection(collection) as col:
        done = col.library.delete_album(name)
    print_line(f"Deleted album {name!r}; {plural(len(done.pictures), 'picture')} kept")


@album.command(hidden=True)
def export(
    file: Annotated[Path, typer.Argument(help="A JSON file to write.")],
    collection: Where = DEFAULT,
) -> None:
    """Write stars, favourites, hidden pictures and albums to a file."""
    from likewise_methods.durable_files import write_whole

    with open_collection(collection) as col:
        records = col.library.export()
    write_whole(file, json.dumps(records, indent=1).encode())
    print_line(f"{plural(len(records), 'picture')} written to {printable(str(file))}")


@album.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file that 'likewise export library' wrote.")],
    collection: Where = DEFAULT,
) -> None:
    """Read what 'export library' wrote; pictures are identified by their content."""
    try:
        records = json.loads(file.read_bytes())
    except ValueError as error:
        raise InvalidInput(f"{file} is not JSON ({error})") from error
    if not isinstance(records, list):
        raise InvalidInput(f"{file} is not an export; a list of records expected")
    with open_collection(collection) as col:
        found = col.library.take_in(records)
    print_line(f"{found:,} of {plural(len(records), 'picture')} found here")


def _wanted(col: Collection, pictures: list[str]) -> list[int]:
    return list(dict.fromkeys(one for text in pictures for one in choose_pictures(col, text)))


def _print(changed: int, what: str, json_: bool) -> None:
    if json_:
        echo_json({"changed": changed})
    else:
        print_line(f"{plural(changed, 'picture')} {what}")


@actions.callback(invoke_without_command=True)
def list_actions(
    context: typer.Context,
    collection: Where = DEFAULT,
    newest: Annotated[int, typer.Option("-n", min=1, help="Number of actions, the newest.")] = 20,
    json_: Json = False,
) -> None:
    """List bulk actions, newest first: tags of many pictures, sidecars, removed pictures."""
    if context.invoked_subcommand is not None:
        refuse_early_options(context, newest="-n goes with the list of actions")
        return
    with open_collection(collection) as col:
        found = col.actions.list(newest)
    if json_:
        echo_json([one._asdict() for one in found])
        return
    if not found:
        print_line("No actions on several pictures yet.")
        return
    rows = [
        (one.id, format_time(one.made), one.who, _counted(one.kind, one.pictures),
         printable(one.what) + ("  (undone)" if one.undone else ""))
        for one in found
    ]  # fmt: skip
    echo_table(("id", "when", "by", "of", "what"), rows, right="r")


def _counted(kind: str, n: int) -> str:
    """Return the number of things an action changed, with their noun."""
    return plural(n, {"sidecars": "sidecar", "takeback": "line"}.get(kind, "picture"))


@actions.command()
def undo(
    action: Annotated[
        int | None, typer.Argument(help="An id of 'likewise library actions'; default: the newest.")
    ] = None,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Undo a bulk action: restore what it changed, except what was changed later."""
    stopped = stoppable("run it again to see what is left to undo")
    with stopped, open_collection(collection) as col, progress_bar() as report:
        done = col.actions.undo(action, report=report)
    if json_:
        problems = [{"path": path, "reason": reason} for path, reason in done.problems]
        echo_json(
            {
                "action": done.action._asdict(), "restored": done.restored, "left": done.left,
                "problems": problems,
            }
        )  # fmt: skip
        return
    for path, reason in done.problems[:_LISTED]:
        print_line(f"{printable(path)}: {printable(reason)}")
    if len(done.problems) > _LISTED:
        print_line(f"... and {len(done.problems) - _LISTED:,} more; --json lists them all")
    left = f"; {done.left:,} changed later and left as is" if done.left else ""
    print_line(
        f"Undid action {done.action.id} ({printable(done.action.what)}): "
        f"{_counted(done.action.kind, done.restored)} restored{left}"
    )
