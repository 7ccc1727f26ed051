"""Commands about other engines: push brings rows there, engine says who answers searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import DEFAULT, Json, Usage, Where, open_collection, stoppable
from likewise.cli.output import echo_json, plural, print_line, printable
from likewise.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping
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

    Only what differs is sent, so that a stopped push can continue.  Later changes are sent there
    too; 'likewise admin engine' makes it answer searches.  The API key is read from
    LIKEWISE_QDRANT_API_KEY.  Exit code 1 if the sides do not agree.
    """
    if forget:
        with open_collection(collection) as col:
            col.shipping.forget(to)
        print_line(f"new pictures are not sent to {printable(to)} any more")
        return
    stopped = stoppable("what was sent stays there; the same command sends the rest")
    with stopped, open_collection(collection) as col, progress_bar() as report:
        done = col.shipping.push(to, space or (), report=report)
    if json_:
        echo_json([{**vars(one), "shipped": vars(one.shipped)} for one in done])
    else:
        for one in done:
            sent = one.shipped
            print_line(
                f"{one.space}: {plural(one.pictures, 'picture')} there, generation "
                f"{one.generation}: {sent.sent:,} sent, {sent.retagged:,} with new tags, "
                f"{sent.removed:,} removed, {sent.unchanged:,} unchanged"
            )
            for name in one.dropped:
                print_line(f"  {printable(name)} was deleted there")
            for text in one.wrong:
                print_line(f"  {printable(text)}")
    if any(one.wrong for one in done):
        raise typer.Exit(1)


def engine(
    address: Annotated[
        str | None,
        typer.Argument(
            metavar="ADDRESS", help="An engine that was pushed to, or 'embedded'; default: show."
        ),
    ] = None,
    collection: Where = DEFAULT,
    first: Annotated[
        str | None,
        typer.Option(
            metavar="SPACE:N",
            help="Two stages for words: look only at the N nearest in a dense space.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Show or choose the engine that answers searches.

    After 'likewise admin engine qdrant://host:6333/photos' that engine answers all searches, with
    the same results; 'likewise admin engine embedded' goes back.  While the engine is unavailable,
    only pictures it does not hold yet are searched, and answers say so.  --first is for tens of
    millions of pictures: 'look:20000' is faster, and finds nothing beyond those.
    """
    with open_collection(collection) as col:
        if address is not None:
            col.shipping.answer_from(
                None if address == "embedded" else address, first=_first_stage(first, address)
            )
        elif first is not None:
            raise Usage("--first goes with an address")
        chosen, waiting = col.shipping.engine, col.shipping.waiting()
    if json_:
        echo_json({"engine": None if chosen is None else vars(chosen), "waiting": waiting})
        return
    print_line(who_answers(None if chosen is None else vars(chosen)))
    for one, n in waiting.items():
        print_line(f"{printable(one)}: {plural(n, 'changed picture')} to send")


def _first_stage(text: str | None, address: str) -> tuple[str, int] | None:
    if text is None:
        return None
    name, _, number = text.rpartition(":")
    if address == "embedded" or not name or not number.isdecimal() or int(number) < 1:
        raise Usage(f"--first {text!r}: a dense space and a number, as in look:20000, expected")
    return name, int(number)


def who_answers(chosen: Mapping[str, Any] | None) -> str:
    """Who answers searches, in words."""
    if chosen is None:
        return "searches are answered by the embedded index"
    stages = ""
    if chosen["first_space"]:
        stages = f", words among the first {chosen['first_limit']:,} by {chosen['first_space']}"
    return f"searches are answered by {printable(chosen['address'])}{stages}"


def send_new(col: Collection) -> None:
    """After a change: send it to where the collection was pushed, or say what waits."""
    for address, reason in col.shipping.send_new().items():
        print_line(f"not sent yet: {printable(reason)}", err=True)
        print_line(f"  'likewise admin push --to {printable(address)}' sends it", err=True)


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
            print_line(f"{name}: {'the same on both sides' if not texts else 'not the same'}")
            for text in texts:
                print_line(f"  {printable(text)}")
        if wrong:
            print_line(f"'likewise admin push --to {printable(against)}' sends what differs")
    if wrong:
        raise typer.Exit(1)
