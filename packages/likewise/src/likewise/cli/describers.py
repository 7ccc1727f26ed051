"""Commands about describers: plug-ins that find texts, faces and the like in pictures."""

from __future__ import annotations

from typing import Annotated

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
from likewise.cli.options import picture as picture_name
from likewise.cli.output import (
    echo_json,
    echo_table,
    plural,
    print_line,
    printable,
    progress_bar,
)

describer = typer.Typer(no_args_is_help=True, help="Plug-ins that find things in pictures.")

_LISTED = 5
"""Reasons of failures that are printed, at most."""
Name = Annotated[str, typer.Argument(help="Name of the describer.")]


@describer.command("list")
def list_describers(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the installed describers, and which are turned on."""
    with open_collection(collection) as col:
        installed, active = col.describers.installed(), col.describers.active()
    found = {
        name: {
            "installed": name in installed,
            "on": name in active,
            **(active[name]._asdict() if name in active else {}),
        }
        for name in sorted({*installed, *active})
    }
    if json_:
        echo_json(found)
        return
    if not found:
        print_line("No describers are installed; a package brings one (docs/plugins.md)")
        return
    rows = [
        (
            name,
            "on" if said["on"] else "off",
            *(said.get(key, "") for key in ("described", "failed", "facts")),
            "" if said["installed"] else "not installed",
        )
        for name, said in found.items()
    ]
    echo_table(("describer", "state", "pictures", "failed", "facts", ""), rows, right="  rrr")


@describer.command("add")
def add_describer(
    name: Name,
    collection: Where = DEFAULT,
    workers: Workers = None,
    scheduler: Scheduler = None,
    path_map: PathMaps = None,
    json_: Json = False,
) -> None:
    """Turn a describer on: it runs on all pictures, and on new ones with each add.

    What it finds is searched by typed words.  Repeat the command to try pictures again that failed,
    or after the package was upgraded.
    """
    with (
        stoppable("the same command goes on from there"),
        open_collection(collection) as col,
        workers_of(workers, scheduler, path_map) as who,
        progress_bar() as report,
    ):
        state = col.describers.add(name, workers=who, report=report)
        problems = col.describers.problems(name)
    if json_:
        echo_json({"describer": name, **state._asdict(), "problems": problems})
    else:
        failed = f"; {plural(state.failed, 'picture')} failed" if state.failed else ""
        print_line(
            f"Describer {name} is on: {plural(state.facts, 'fact')} in "
            f"{plural(state.described, 'picture')}{failed}"
        )
        for reason, count in list(problems.items())[:_LISTED]:
            print_line(f"  {plural(count, 'picture')}: {printable(reason)}")
        if len(problems) > _LISTED:
            print_line(f"  ... and {len(problems) - _LISTED:,} more reasons; --json lists them all")


@describer.command("show")
def show(
    picture: Annotated[str, typer.Argument(help="A picture of the collection: path or id.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Show what describers found in a picture."""
    with open_collection(collection) as col:
        found = col.describers.facts(col.id_of(picture_name(picture)))
    if json_:
        echo_json([one._asdict() for one in found])
        return
    rows = [
        (one.describer, one.text, f"{one.score:.2f}",
         "" if one.box is None else " ".join(f"{side:.2f}" for side in one.box))
        for one in found
    ]  # fmt: skip
    echo_table(("describer", "text", "score", "place"), rows, right="  r")


@describer.command("drop")
def drop(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Turn a describer off and delete all that it found."""
    with open_collection(collection) as col:
        col.describers.drop(name)
    if json_:
        echo_json({"dropped": name})
    else:
        print_line(f"Deleted describer {name} and its facts")
