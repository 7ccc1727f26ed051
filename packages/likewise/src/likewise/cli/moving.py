"""The command that moves a catalog to PostgreSQL, and back: move."""

from __future__ import annotations

from typing import Annotated

import typer

from likewise.cli.finding import find_collection, is_collection
from likewise.cli.options import DEFAULT, Json, Where, report_found, stoppable
from likewise.cli.output import echo_json, plural, print_line, printable
from likewise.cli.progress import progress_bar
from likewise.errors import LikewiseError


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
    from likewise.server.running import running_servers

    found = find_collection(collection)
    if not is_collection(found.path):
        raise LikewiseError(f"there is no collection {found.path}; -C names another")
    report_found(found)
    servers = running_servers(found.path)
    if servers:
        # It would go on answering from what it has open.
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
