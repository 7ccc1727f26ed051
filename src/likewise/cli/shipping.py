"""The command that brings a collection's rows to another engine: push."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import DEFAULT, Json, Where, open_collection, stoppable
from likewise.cli.output import echo_json, plural, printable, say
from likewise.cli.progress import progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    from likewise.collection.collection import Collection

ADDRESS = "qdrant://HOST:6333/NAME"


def push(
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar=ADDRESS,
            help="The engine: qdrant://, qdrants:// (TLS) or qdrant-edge:///FOLDER.",
        ),
    ],
    collection: Where = DEFAULT,
    space: Annotated[
        list[str] | None, typer.Option(help="Only this space; may be repeated.")
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Send new pictures there no more; all there stays.")
    ] = False,
    json_: Json = False,
) -> None:
    """Copy the vectors of a collection to Qdrant, and check that both sides agree.

    Only what differs is sent, so that a push that was stopped goes on where it was.  From then on
    'likewise add' sends new pictures there.  The API key is read from LIKEWISE_QDRANT_API_KEY.
    Exit code 1 if the sides do not agree.
    """
    if forget:
        with open_collection(collection) as col:
            col.shipping.forget(to)
        say(f"new pictures are not sent to {printable(to)} any more")
        return
    stopped = stoppable("what was sent stays there; the same command sends the rest")
    with stopped, open_collection(collection) as col, progress_bar() as report:
        done = col.shipping.push(to, space or (), report=report)
    if json_:
        echo_json([{**vars(one), "shipped": vars(one.shipped)} for one in done])
    else:
        for one in done:
            sent = one.shipped
            say(
                f"{one.space}: {plural(one.pictures, 'picture')} there, generation "
                f"{one.generation}: {sent.sent:,} sent, {sent.retagged:,} with new tags, "
                f"{sent.removed:,} removed, {sent.unchanged:,} unchanged"
            )
            for name in one.dropped:
                say(f"  {printable(name)} was deleted there")
            for text in one.wrong:
                say(f"  {printable(text)}")
    if any(one.wrong for one in done):
        raise typer.Exit(1)


def send_new(col: Collection) -> None:
    """After pictures came in: send them to where the collection was pushed, or say what waits."""
    for address, reason in col.shipping.send_new().items():
        say(f"not sent yet: {printable(reason)}", err=True)
        say(f"  'likewise push --to {printable(address)}' sends it", err=True)


def compare(collection: Path | None, against: str, json_: bool) -> None:
    """What ``verify --against`` does."""
    with open_collection(collection) as col, progress_bar() as report:
        found = col.shipping.compare(against, report=report)
    wrong = any(found.values())
    said: dict[str, Any] = {"ok": not wrong, "against": against, "spaces": found}
    if json_:
        echo_json(said)
    else:
        for name, texts in found.items():
            say(f"{name}: {'the same on both sides' if not texts else 'not the same'}")
            for text in texts:
                say(f"  {printable(text)}")
        if wrong:
            say(f"'likewise push --to {printable(against)}' sends what differs")
    if wrong:
        raise typer.Exit(1)
