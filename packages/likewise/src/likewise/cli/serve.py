"""The commands ``open`` and ``serve``, which start a server."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.catalog.filters import absolute
from likewise.cli.finding import (
    SUFFIX,
    Found,
    find_collection,
    find_for_folder,
    is_collection,
    remember_opened,
)
from likewise.cli.options import DEFAULT, Json, Where, report_found
from likewise.cli.output import echo_json, plural, print_line, progress_bar
from likewise.cli.pictures import offer_deep, open_or_create
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.catalog.jobs import Progress, Report
    from likewise.collection.collection import Collection
    from likewise.ingest.add import AddResult
    from likewise.server.run import Address

Host = Annotated[
    str, typer.Option(help="Address to listen on; any but 127.0.0.1 is open to other machines.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")]
Names = Annotated[
    list[str] | None,
    typer.Option("--name", help="A further host name of this machine; may be repeated."),
]
Key = Annotated[
    str | None,
    typer.Option(envvar="LIKEWISE_KEY", help="Bearer token for programs; default: a new one."),
]
Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
]

_PATIENCE = 4.0
"""Seconds a server has to end in."""


def open_(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of pictures, or a collection.")
    ],
    collection: Annotated[
        Path | None,
        typer.Option(
            "-C",
            "--collection",
            metavar="PATH",
            help="Default: one that has DIR already, else DIR.lw next to DIR.",
        ),
    ] = None,
    host: Host = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 for the collection's usual one.")
    ] = 0,
    name: Names = None,
    key: Key = None,
    browser: Browser = True,
    json_: Json = False,
) -> None:
    """Open a folder in the browser; its pictures can be searched as they are added."""
    folder = absolute(folder)
    if not folder.is_dir():
        raise LikewiseError(f"{folder} is not a folder; name a folder of pictures or a collection")
    begin = None
    if is_collection(folder):
        if collection is not None:
            raise LikewiseError(f"{folder} is a collection itself; leave -C out")
        root = folder
    else:
        root = find_for_folder(folder) if collection is None else absolute(collection)
        known = is_collection(root)
        if collection is None:
            beside = root == folder.with_name(f"{folder.name}{SUFFIX}")
            how = "next to the folder" if beside else "it has this folder already"
            report_found(Found(root, how if known else "new, next to the folder"))
        made, is_new = open_or_create(root)
        with made:
            if is_new:
                offer_deep(made)
        begin = _TakingIn(folder, root, json_)
    _serve(root, host, port or _usual_port(root), name, key, False, browser, json_, begin)


class _TakingIn:
    """The first job of a server: add a folder's pictures and report it in the terminal too."""

    def __init__(self, folder: Path, root: Path, json_: bool) -> None:
        self.folder, self.root, self.json = folder, root, json_
        self.ended = False

    def __call__(self, col: Collection, report: Report) -> AddResult:
        with progress_bar() as drawn:

            def both(progress: Progress) -> None:
                report(progress)
                drawn(progress)

            try:
                result = col.add(self.folder, report=both)
            except LikewiseError as error:
                self.ended = True
                print_line(f"{self.folder} was not added: {error}", err=True)
                raise
        self.ended = True
        print_line(
            f"{plural(result.added, 'picture')} added, {plural(len(result.skipped), 'file')} "
            f"skipped; the collection is {self.root}",
            err=self.json,
        )
        if result.skipped:
            print_line(f"'likewise library problems -C {self.root}' says why", err=self.json)
        return result

    def stopping(self) -> None:
        """Print that the server stops; done first, since there may be no time later."""
        if not self.ended:
            print_line("adding was not finished; run the same command again to continue", err=True)


def _usual_port(root: Path) -> int:
    """Return the same port for a collection every time, so that bookmarks last; 0 if taken."""
    mark = hashlib.blake2b(str(root).encode(), digest_size=4).digest()
    number = 20_000 + int.from_bytes(mark, "big") % 20_000
    with socket.socket() as probe:
        # As the server does: a port that was closed a moment ago is free.
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
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
    key: Key = None,
    no_key: Annotated[
        bool, typer.Option("--no-key", help="Allow everyone on this machine; only with 127.0.0.1.")
    ] = False,
    browser: Browser = False,
    catalog: Annotated[
        str | None,
        typer.Option(
            metavar="postgresql://HOST/NAME",
            help="The database with the catalog, by another address than the folder knows.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Serve a collection: the page and the JSON API (/api/openapi.json).

    Several servers may serve one collection whose catalog is in PostgreSQL ('likewise admin move').
    """
    found = find_collection(collection)
    if not found.path.exists():
        raise LikewiseError(
            f"there is no collection {collection}; 'likewise open DIR' creates one and serves it"
        )
    report_found(found)
    _serve(found.path, host, port, name, key, no_key, browser, json_, catalog=catalog)


def _serve(
    root: Path,
    host: str,
    port: int,
    names: list[str] | None,
    key: str | None,
    no_key: bool,
    browser: bool,
    json_: bool,
    begin: _TakingIn | None = None,
    catalog: str | None = None,
) -> None:
    from likewise.server.run import serve as run

    def ready(address: Address) -> None:
        remember_opened(root)
        if json_:
            echo_json({"url": address.url, "key": address.key, "port": address.port})
        else:
            print_line(f"Open {address.url}")
            print_line(f"({_promise(address)} Ctrl-C ends the server.)")
        if browser:
            import webbrowser

            # Other users can read the browser's arguments: this ticket works only for us.
            webbrowser.open(address.browser_url or address.url)

    def ending() -> None:
        if begin is not None:
            begin.stopping()
        _end_for_sure()

    run(
        absolute(root),
        host=host,
        port=port,
        key=key,
        open_to_all=no_key,
        hosts=names or (),
        ready=ready,
        ending=ending,
        begin=None if begin is None else ("add", begin),
        catalog=catalog,
    )


def _promise(address: Address) -> str:
    """Describe who can use the printed address."""
    if address.key is None:
        return "There is no key: everyone on this machine may open it."
    stays = "also after a restart" if address.lasting else "until the server ends"
    said = f"The address works once; the browser that opens it stays signed in, {stays}."
    return f"{said} 'likewise admin link' prints another." if address.can_link else said


def _end_for_sure() -> None:
    """End the process even if threads still compute: all data is on disk."""
    last = threading.Timer(_PATIENCE, os._exit, (0,))
    last.daemon = True
    last.start()
