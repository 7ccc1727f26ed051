"""The commands info, plugins, verify, refresh, retrain, backup and restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import (
    DEFAULT,
    Json,
    PathMaps,
    Scheduler,
    Where,
    Workers,
    open_collection,
    stoppable,
    workers_of,
)
from likewise.cli.output import (
    echo_json,
    echo_table,
    plural,
    print_line,
    printable,
    progress_bar,
    size,
)
from likewise.plugins import COMMANDS, list_plugins, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from likewise.collection.collection import Collection

_LISTED = 8
_UNCHANGED = "the collection is as it was before"


def info(collection: Where = DEFAULT, json_: Json = False) -> None:
    """Show what a collection holds and how large it is."""
    with open_collection(collection) as col:
        said = col.info()
        said["default"] = default_of(col)
        for name, one in col.spaces.items():
            waiting = one.must_learn and not one.generation
            said["spaces"][name]["learned_from"] = one.next_growth() if waiting else None
    if json_:
        echo_json(said)
        return
    print_line(f"{said['path']}: {plural(said['pictures'], 'picture')}, {size(said['bytes'])}")
    for root in said["roots"][:_LISTED]:
        print_line(f"  from {root}")
    if len(said["roots"]) > _LISTED:
        print_line(f"  and {len(said['roots']) - _LISTED:,} more places")
    if said["problems"]:
        files = plural(said["problems"], "file")
        print_line(f"  {files} could not be used ('likewise library problems' lists them)")
    if said["job"]:
        print_line(f"  now: {said['job']}")
    for name, space in said["spaces"].items():
        if space["gaps"]:
            print_line(f"  {plural(space['gaps'], 'picture')} could not be described in {name}")
        if space["learned_from"] is not None:
            print_line(f"  {name} needs {plural(space['learned_from'], 'picture')} to start")
    print_line(f"  search ranks by {said['default']} by default")
    _print_places(said)
    print_line("")
    rows = [
        (
            name, space["feature"], space["kind"], space["width"] or "none yet",
            space["generation"], f"{space['sealed'] + space['fresh']:,}", space["segments"],
        )
        for name, space in said["spaces"].items()
    ]  # fmt: skip
    heads = ("space", "feature", "kind", "width", "generation", "vectors", "segments")
    echo_table(heads, rows, right="   rrrr")


def _print_places(said: dict[str, Any]) -> None:
    """Print where the catalog is, and which engine answers searches."""
    inside = said["catalog"].startswith(said["path"])
    where = "in its folder" if inside else f"in {printable(said['catalog'])}"
    print_line(f"  the catalog is {where}; {describe_engine(said['engine'])}")
    for address, there in said["pushed"].items():
        spaces = ", ".join(f"{name} {number}" for name, number in there["spaces"].items())
        print_line(
            f"  its vectors are in {printable(address)} too ({spaces}); "
            f"{plural(there['waiting'], 'changed picture')} to send"
        )


def describe_engine(chosen: Mapping[str, Any] | None) -> str:
    """Say which engine answers searches."""
    if chosen is None:
        return "searches are answered by the embedded index"
    stages = ""
    if chosen["first_space"]:
        stages = f", words among the first {chosen['first_limit']:,} by {chosen['first_space']}"
    return f"searches are answered by {printable(chosen['address'])}{stages}"


def plugins(json_: Json = False) -> None:
    """List the installed plug-ins; exit code 1 if one cannot be loaded."""
    found = list_plugins()
    if json_:
        echo_json([vars(one) for one in found])
    elif not found:
        print_line("no plug-ins are installed")
    else:
        rows = [
            (one.group.removeprefix("likewise."), one.name, one.package, one.error or "ok")
            for one in found
        ]
        echo_table(("kind", "name", "package", "state"), rows)
    if any(one.error for one in found):
        raise typer.Exit(1)


def verify(
    collection: Where = DEFAULT,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Compare with what 'likewise admin push' put there instead.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Check the collection's files for damage; exit code 1 if something is wrong."""
    if against is not None:
        load(COMMANDS, "--against")(collection, against, json_)
        return
    with open_collection(collection) as col:
        wrong = col.verify()
        pictures = len(col)
    if json_:
        echo_json({"ok": not wrong, "pictures": pictures, "wrong": wrong})
    elif wrong:
        for text in wrong:
            print_line(printable(text))
        print_line(
            f"{plural(len(wrong), 'problem')} found; restore a backup or rebuild the collection"
        )
    else:
        print_line(f"No damage found: {plural(pictures, 'picture')}.")
    if wrong:
        raise typer.Exit(1)


def refresh(collection: Where = DEFAULT, json_: Json = False) -> None:
    """Update the weights of the visual words to the pictures there are now."""
    with stoppable(_UNCHANGED), open_collection(collection) as col:
        with progress_bar() as report:
            col.refresh(report=report)
        _print_words(col, json_)


def retrain(
    collection: Where = DEFAULT,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    workers: Workers = None,
    scheduler: Scheduler = None,
    path_map: PathMaps = None,
    json_: Json = False,
) -> None:
    """Learn new visual words, and fit fitted spaces, from the pictures there are now."""
    with stoppable(_UNCHANGED), open_collection(collection) as col:
        with workers_of(workers, scheduler, path_map) as who, progress_bar() as report:
            col.retrain(workers=who, seed=seed, report=report)
        _print_words(col, json_)


def backup(
    path: Annotated[Path, typer.Argument(help="Folder to create; it must not exist yet.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Copy the collection (not the pictures), even while it is in use."""
    with stoppable("no backup was made"), open_collection(collection) as col:
        made = col.backup(path)
        pictures = len(col)
    if json_:
        echo_json({"backup": str(made), "pictures": pictures})
    else:
        print_line(f"{made} holds {plural(pictures, 'picture')}")
        print_line(f"Restore it with: likewise admin restore {path} NEW.lw")


def restore(
    backup: Annotated[Path, typer.Argument(help="What 'likewise admin backup' made.")],
    path: Annotated[Path, typer.Argument(help="Collection to create; it must not exist yet.")],
    json_: Json = False,
) -> None:
    """Create a collection from a verified backup, without its keys and guest links."""
    from likewise.catalog.filters import absolute
    from likewise.collection import backups
    from likewise.collection.collection import Collection

    with stoppable("nothing was restored"):
        closed = backups.restore(absolute(backup), absolute(path))
    with Collection.open(path) as col:
        root, pictures = str(col.root), len(col)
    if json_:
        made = {"collection": root, "pictures": pictures}
        echo_json(made | {"keys_revoked": closed.keys, "links_closed": closed.links})
        return
    print_line(f"{root} holds {plural(pictures, 'picture')}, verified")
    if any(closed):
        said = f"{plural(closed.keys, 'key')} and {plural(closed.links, 'link')} for guests"
        print_line(f"{said} of the backup were not restored; make new ones")


def default_of(col: Collection) -> str:
    """Return the name of the default similarity."""
    if col.profiles.in_use != "default":
        return col.profiles.in_use
    spaces = col.similarities.find("default").spaces
    return next(iter(spaces)) if len(spaces) == 1 else "both"


def _print_words(col: Collection, json_: bool) -> None:
    spaces = {
        name: {"generation": space.generation, "words": space.width}
        for name, space in col.spaces.items()
        if space.idf is not None
    }
    if json_:
        echo_json(spaces)
        return
    for name, said in spaces.items():
        print_line(f"{name}: {said['words']:,} words, generation {said['generation']}")
