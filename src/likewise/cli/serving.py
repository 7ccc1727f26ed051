"""Commands that open the page: open, serve."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.options import DEFAULT, Json, Where, stoppable
from likewise.cli.pictures import offer_deep
from likewise.cli.progress import shown
from likewise.cli.rendering import echo_json
from likewise.errors import LikewiseError

Host = Annotated[
    str, typer.Option(help="Address to listen on; others than 127.0.0.1 can be reached from afar.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
Names = Annotated[
    list[str] | None,
    typer.Option("--name", help="Another name others reach this machine by; may be repeated."),
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")]

_PATIENCE = 4.0
"""Seconds a server has to end in."""


def open_(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of pictures, or a collection.")
    ],
    collection: Annotated[
        Path | None,
        typer.Option("-C", "--collection", metavar="PATH", help="Default: DIR.lw beside DIR."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    name: Names = None,
    browser: Browser = True,
    json_: Json = False,
) -> None:
    """Index a folder (or take up its collection) and open the page."""
    from likewise.collection.catalog.catalog import FILE
    from likewise.collection.collection import Collection

    folder = Path(os.path.abspath(folder.expanduser()))
    if not folder.is_dir():
        raise LikewiseError(f"{folder} is no folder; name one with pictures, or a collection")
    if (folder / FILE).is_file():
        root = folder
    else:
        root = collection or folder.with_name(f"{folder.name}.lw")
        root = Path(os.path.abspath(root.expanduser()))
        known = (root / FILE).is_file()
        made = Collection.open(root) if known else Collection.create(root)
        if not known:
            offer_deep(made)
        with stoppable("the same command goes on from here"), made as col, shown() as report:
            result = col.add(folder, report=report)
        typer.echo(
            f"{result.added} pictures added, {len(result.skipped)} files skipped; "
            f"the collection is {root}",
            err=json_,
        )
    _serve(root, host, port or _usual_port(root), name, None, False, browser, json_)


def _usual_port(root: Path) -> int:
    """The same port for a collection every time, so that bookmarks and caches last; 0 if taken."""
    mark = hashlib.blake2b(str(root).encode(), digest_size=4).digest()
    number = 20_000 + int.from_bytes(mark, "big") % 20_000
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return 0
    return number


def serve(
    collection: Where = DEFAULT,
    host: Host = "127.0.0.1",
    port: Port = 8700,
    name: Names = None,
    key: Annotated[
        str | None,
        typer.Option(envvar="LIKEWISE_KEY", help="Bearer token for programs; default a new one."),
    ] = None,
    no_key: Annotated[
        bool, typer.Option("--no-key", help="Let everybody on this machine in; loopback only.")
    ] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser")] = False,
    json_: Json = False,
) -> None:
    """Serve a collection: the page and the JSON API (/api/openapi.json)."""
    if not collection.expanduser().exists():
        raise LikewiseError(
            f"there is no collection {collection}; 'likewise open DIR' makes one and serves it"
        )
    _serve(collection, host, port, name, key, no_key, browser, json_)


def _serve(
    root: Path,
    host: str,
    port: int,
    names: list[str] | None,
    key: str | None,
    no_key: bool,
    browser: bool,
    json_: bool,
) -> None:
    from likewise.server.serving import Address
    from likewise.server.serving import serve as run

    def ready(address: Address) -> None:
        if json_:
            echo_json({"url": address.url, "key": address.key, "port": address.port})
        else:
            typer.echo(f"Open {address.url}")
            typer.echo("(the address works once; Ctrl-C ends the server)")
            if host in ("0.0.0.0", "::") and not names:
                typer.echo("(others need a name of this machine that --name allows)", err=True)
        if browser:
            import webbrowser

            webbrowser.open(address.url)

    run(
        Path(os.path.abspath(root.expanduser())),
        host=host,
        port=port,
        key=key,
        open_to_all=no_key,
        hosts=names or (),
        ready=ready,
        ending=_end_for_sure,
    )


def _end_for_sure() -> None:
    """Whatever still computes when a server ends has had its time: what counts is on disk."""
    last = threading.Timer(_PATIENCE, os._exit, (0,))
    last.daemon = True
    last.start()
