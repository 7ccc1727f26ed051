"""Commands and options that this package adds: push, engine, move, --against, --scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.finding import find_collection, is_collection
from likewise.cli.maintenance import describe_engine
from likewise.cli.options import (
    DEFAULT,
    Json,
    Usage,
    Where,
    open_collection,
    report_found,
    stoppable,
)
from likewise.cli.output import echo_json, plural, print_line, printable, progress_bar
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from likewise_cluster.dask.cluster import Cluster
    from likewise_cluster.engines.sync import SyncedSpace

_ADDRESS = "qdrant://HOST:6333/NAME"


def push(
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar=_ADDRESS,
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
            col.engine_sync.forget(to)
        print_line(f"new pictures are not sent to {printable(to)} any more")
        return
    stopped = stoppable("what was sent stays there; the same command sends the rest")
    with stopped, open_collection(collection) as col, progress_bar() as report:
        done = col.engine_sync.push(to, space or (), report=report)
    if json_:
        echo_json([_as_json(one) for one in done])
    else:
        for one in done:
            sent = one.sent
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
            col.engine_sync.answer_from(
                None if address == "embedded" else address, first=_first_stage(first, address)
            )
        elif first is not None:
            raise Usage("--first goes with an address")
        chosen, waiting = col.engine_sync.engine, col.engine_sync.waiting()
    if json_:
        echo_json({"engine": None if chosen is None else vars(chosen), "waiting": waiting})
        return
    print_line(describe_engine(None if chosen is None else vars(chosen)))
    for one, n in waiting.items():
        print_line(f"{printable(one)}: {plural(n, 'changed picture')} to send")


def _as_json(done: SyncedSpace) -> dict[str, Any]:
    return {**{k: v for k, v in vars(done).items() if k != "sent"}, "shipped": vars(done.sent)}


def _first_stage(text: str | None, address: str) -> tuple[str, int] | None:
    if text is None:
        return None
    name, _, number = text.rpartition(":")
    if address == "embedded" or not name or not number.isdecimal() or int(number) < 1:
        raise Usage(f"--first {text!r}: a dense space and a number, as in look:20000, expected")
    return name, int(number)


def verify_against(collection: Path | None, against: str, json_: bool) -> None:
    """Compare a collection with an engine, for ``verify --against``."""
    with open_collection(collection) as col, progress_bar() as report:
        found = col.engine_sync.compare(against, report=report)
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


def move(
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="postgresql://USER@HOST/NAME|sqlite",
            help="The database, with ?schema=NAME for one of several; sqlite is the folder itself.",
        ),
    ],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Move the catalog of a collection to PostgreSQL for several servers, or back.

    Tags, judgements and all else that people said go with it; pictures, vectors and thumbnails
    stay in the collection's folder, which every server must reach.  Both sides are compared before
    the switch, and a move that is stopped changes nothing.  The password is read from PGPASSWORD or
    ~/.pgpass.
    """
    from likewise.collection.collection import Collection
    from likewise.server.sessions import running_servers

    found = find_collection(collection)
    if not is_collection(found.path):
        raise LikewiseError(f"there is no collection {found.path}; -C names another")
    report_found(found)
    servers = running_servers(found.path)
    if servers:
        # A running server would keep using the catalog it has open.
        raise LikewiseError(
            f"a server of {found.path} runs in process {servers[0].pid}; end it first, and start "
            "it again afterwards"
        )
    with stoppable("the catalog is where it was"), progress_bar() as report:
        moved = Collection.move(found.path, to, report=report)
    if json_:
        echo_json({"catalog": moved.place, "rows": moved.rows})
        return
    rows = plural(sum(moved.rows.values()), "row")
    print_line(
        f"The catalog is in {printable(moved.place)}: {rows} of {len(moved.rows)} tables compared."
    )


def open_workers(scheduler: str, path_map: Mapping[str, str]) -> Cluster:
    """Connect to the workers of a Dask cluster, for ``--scheduler``."""
    import logging

    from likewise_cluster.dask.cluster import Cluster

    # Cluster failures are reported in one line; Dask would print tracebacks.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return Cluster(scheduler, path_map=path_map)
