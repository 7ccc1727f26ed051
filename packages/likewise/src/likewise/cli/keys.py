"""``likewise keys``: who may look, judge and tag, or manage; and taking back what a key said."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from likewise.cli.feedback_output import format_time
from likewise.cli.options import DEFAULT, Json, Where, open_collection
from likewise.cli.output import echo_json, echo_table, plural, printable, say

keys = typer.Typer(
    no_args_is_help=True, help="Named keys for other people: who may look, judge, or manage."
)

Name = Annotated[str, typer.Argument(help="Its name, or its number in 'likewise keys list'.")]


@keys.command()
def add(
    name: Annotated[str, typer.Argument(help="Who gets it: 1 to 40 letters. The log names it.")],
    role: Annotated[
        Literal["look", "judge", "manage"],
        typer.Option(
            help="look: search and see; judge: also judge, tag, rate and keep albums; manage: all."
        ),
    ],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Make a key for one person or program; it is shown this once.

    They sign in with it in the browser, or send it as 'Authorization: Bearer KEY'.
    """
    with open_collection(collection) as col:
        made = col.keys.add(name, role)
    if json_:
        echo_json({"key": made.secret, **asdict(made.key)})
        return
    say(made.secret)
    say(
        f"(the key of {printable(made.key.name)}, who may {_MAY[made.key.role]}. It is shown this "
        f"once: only a hash of it is kept. 'likewise keys revoke' closes it.)",
        err=True,
    )


_MAY = {"look": "look", "judge": "look, judge and tag", "manage": "do everything"}


@keys.command("list")
def list_(
    collection: Where = DEFAULT,
    every: Annotated[bool, typer.Option("--all", help="Those that were revoked, too.")] = False,
    json_: Json = False,
) -> None:
    """List keys: name, role, when and by whom each was made, and when it was last used."""
    with open_collection(collection) as col:
        found = [one for one in col.keys if every or one.revoked is None]
    if json_:
        echo_json([asdict(one) for one in found])
        return
    if not found:
        say("There are no keys. 'likewise keys add NAME --role look' makes one.")
        return
    rows = [
        (one.id, one.name, one.role, format_time(one.made), one.maker,
         format_time(one.used) if one.used else "never")
        + ((format_time(one.revoked) if one.revoked else "",) if every else ())
        for one in found
    ]  # fmt: skip
    heads = ("number", "name", "role", "made", "by", "last used") + (("revoked",) if every else ())
    echo_table(heads, rows, right="r")


@keys.command()
def revoke(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Close a key at once: it and the browsers signed in with it are refused from now on.

    What was said with it stays; 'likewise keys take-back' takes that back.
    """
    with open_collection(collection) as col:
        gone = col.keys.revoke(name)
    if json_:
        echo_json(asdict(gone))
        return
    say(f"The key of {printable(gone.name)} opens nothing any more, at any server.")


@keys.command()
def take_back(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Take back all that was judged, compared and tagged with a key, as one action.

    'likewise actions undo' lets it stand again. The key itself goes on working.
    """
    with open_collection(collection) as col:
        done = col.keys.take_back(name)
    if json_:
        echo_json(
            {
                "action": done.action, "key": asdict(done.key), "judgements": done.judgements,
                "tags": done.tags,
            }
        )  # fmt: skip
        return
    say(
        f"Took back {plural(done.judgements, 'judgement')} and "
        f"{plural(done.tags, 'line')} about tags of {printable(done.key.name)} "
        f"(action {done.action}; 'likewise actions undo {done.action}' lets them stand again)"
    )
