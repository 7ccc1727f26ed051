"""Start and stop a server: addresses, the ticket, Ctrl-C within five seconds."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, LikewiseError
from likewise.server.access import Access, allowed_hosts
from likewise.server.app import make_app
from likewise.server.connections import BACKLOG, ImpatientProtocol
from likewise.server.jobs import Job
from likewise.server.sessions import Sessions, announce, base_url, this_server
from likewise_methods.memory import share_heaps

GRACE = 2
"""Seconds for open requests and a running job when the server stops."""


@dataclass(frozen=True)
class Address:
    """Where a server listens, and its key.

    ``lasting``: sessions survive a restart of the server.  ``can_link``: ``likewise admin link``
    finds this server.  ``browser_url`` is for a browser started here.
    """

    url: str
    host: str
    port: int
    key: str | None
    lasting: bool = False
    can_link: bool = False
    browser_url: str | None = None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def own_addresses(host: str) -> tuple[str, ...]:
    """Return the addresses at which other machines reach a server with this host.

    For "all addresses", take the one the system would send from; nothing is sent.
    """
    asked = {"0.0.0.0": (socket.AF_INET, "192.0.2.1"), "::": (socket.AF_INET6, "2001:db8::1")}
    if host not in asked:
        return () if is_loopback(host) else (host,)
    family, anywhere = asked[host]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((anywhere, 9))
            found = str(probe.getsockname()[0])
    except OSError:
        return ()
    return () if is_loopback(found) else (found,)


def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    key: str | None = None,
    open_to_all: bool = False,
    hosts: Iterable[str] = (),
    ready: Callable[[Address], object] = lambda _: None,
    ending: Callable[[], object] = lambda: None,
    begin: tuple[str, Job] | None = None,
    catalog: str | None = None,
) -> None:
    """Serve a collection until Ctrl-C.

    ``key`` is the bearer token of programs (random if None).  ``open_to_all`` needs no key, on
    loopback only.  ``hosts`` are further names of the server.  ``ready`` is called once the port is
    open, ``ending`` when the server begins to stop: a request that is still computing can delay the
    end.  ``begin`` is a job (name, function) that starts as soon as the port is open; the page
    shows its progress.  ``catalog`` is the address of the catalog's database, if it differs from
    the one that the folder names.
    """
    host = host.strip("[]")
    if open_to_all and not is_loopback(host):
        raise CollectionError(
            f"{host} is open to other machines; a server without a key must use 127.0.0.1"
        )
    if key is not None and len(key) < 16:
        raise CollectionError("the key is short; use at least 16 characters")
    share_heaps()
    # Check that the folder is a collection before anything is written into it.
    Collection.open(root, catalog=catalog).close()
    with _listener(host, port) as listener:
        _run(root, listener, host, key, open_to_all, hosts, ready, ending, begin, catalog)


def _run(
    root: Path,
    listener: socket.socket,
    host: str,
    key: str | None,
    open_to_all: bool,
    hosts: Iterable[str],
    ready: Callable[[Address], object],
    ending: Callable[[], object],
    begin: tuple[str, Job] | None,
    catalog: str | None,
) -> None:
    port = listener.getsockname()[1]
    others = (*hosts, *own_addresses(host))
    names = allowed_hosts(host, port, others)
    loopback = is_loopback(host)
    this = this_server(host, port, () if loopback else others)
    sessions = Sessions(None if open_to_all else root)
    access = Access(names, sessions=sessions, run=this.run, collection=root if loopback else None)
    if open_to_all:
        access.key = access.ticket = access.own_ticket = None
    elif key is not None:
        access.key = key
    guarded, app = make_app(root, access, catalog)
    ticket = f"/?token={access.ticket}" if access.ticket else "/"
    url = f"{base_url(host, port)}{ticket}"
    own = f"{base_url(host, port)}/?token={access.own_ticket}" if access.own_ticket else url
    config = uvicorn.Config(
        guarded, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE,
        server_header=False, proxy_headers=False, ws="none",
        http=ImpatientProtocol, backlog=BACKLOG,
    )  # fmt: skip

    def on_start() -> None:
        try:
            if begin is not None:
                again = app.state.service.collection.open_again()
                app.state.work.start(begin[0], again, begin[1])
        finally:
            # The server is ready even if the job failed.
            ready(Address(url, host, port, access.key, sessions.lasting, said, own))
            threading.Thread(target=_prepare_words, args=(app,), daemon=True).start()

    server = _Server(config, app, on_start, ending)
    with announce(root, this) as said:
        server.run(sockets=[listener])
    # What a job did is committed; waiting for the rest could take an hour.
    app.state.work.stop(GRACE)


def _prepare_words(app: FastAPI) -> None:
    """Open the text model before the first typed query, since that takes seconds.

    Wait while a job runs, which needs the processor more.
    """
    while app.state.work.running is not None:
        if app.state.events.closing.is_set():
            return
        time.sleep(1.0)
    with suppress(LikewiseError):  # a typed query reports it again
        app.state.service.collection.searcher.typed.texts.picture_words()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name TCP: otherwise asyncio delays small responses by 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # Reuse a port that was just closed.  Windows always does, and there the option would let two
    # servers share one.
    if os.name != "nt":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise CollectionError(
            f"cannot listen on {host}, port {port}: {error.strerror}; try another port (0 takes a "
            "free one)"
        ) from error
    return listener


class _Server(uvicorn.Server):
    """uvicorn with callbacks when it is ready and when it begins to stop."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: FastAPI,
        ready: Callable[[], object],
        ending: Callable[[], object],
    ) -> None:
        super().__init__(config)
        self._app, self._ready, self._ending = app, ready, ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn would raise the signal again afterwards; here Ctrl-C is the normal end.
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        threading.Thread(target=self._ready, daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams end at their next event, and a job at its next report.
        self._ending()
        # Do not log requests that are cut off at the end.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self._app.state.events.closing.set()
        self._app.state.events.look()
        self._app.state.work.ask_to_stop()
        await super().shutdown(sockets)
