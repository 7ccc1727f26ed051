"""``likewise library actions``: what was done to many pictures at once, and undoing it."""

from __future__ import annotations

from typing import Annotated

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
from likewise.cli.output import echo_json, echo_table, plural, print_line, printable
from likewise.cli.progress import progress_bar

_LISTED = 20

actions = typer.Typer(help="List what was done to many pictures at once, and undo it.")


@actions.callback(invoke_without_command=True)
def list_(
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
        (one.id, format_time(one.made), one.who, counted(one.kind, one.pictures),
         printable(one.what) + ("  (undone)" if one.undone else ""))
        for one in found
    ]  # fmt: skip
    echo_table(("id", "when", "by", "of", "what"), rows, right="r")


def counted(kind: str, n: int) -> str:
    """How many of what an action is of."""
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
        f"{counted(done.action.kind, done.restored)} restored{left}"
    )
