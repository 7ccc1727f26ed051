"""Other users of the machine: what they can read of a running server opens nothing for them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from likewise.server import access, connections
from likewise.server.access import Access, allowed_hosts
from likewise.server.connections import user_of
from tests.product.private import store_of
from tests.product.server.conftest import HOST, KEY, check_error, client_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc says whose a connection is")
NOBODY = 65534


@linux
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_whose_a_connection_is(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"no {address} here")
    with listener, socket.socket(family) as client:
        client.connect(listener.getsockname()[:2])
        served, there = listener.accept()
        with served:
            assert user_of(there, served.getsockname()) == os.getuid()
            # A tunnel, or a container: nobody can tell.
            assert user_of((address, 1), served.getsockname()) is None
    assert user_of(None, None) is None
    assert user_of(("testclient", 50000), ("testserver", 80)) is None


@linux
@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root is another user")
def test_another_users_connection_is_known_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.settimeout(60)
        # Afterwards nothing can be imported: the interpreter's files may be root's alone.
        code = (
            "import encodings.idna, os, socket, sys; os.setuid(int(sys.argv[2]))\n"
            "one = socket.socket(); one.connect(('127.0.0.1', int(sys.argv[1]))); one.recv(1)"
        )
        process = subprocess.Popen([sys.executable, "-c", code, str(port), str(NOBODY)])
        served, there = listener.accept()
        try:
            assert user_of(there, served.getsockname()) == NOBODY
            assert connections.asks_another_user(there, served.getsockname())
        finally:
            served.close()
            process.wait(30)


def test_the_ticket_in_a_browsers_arguments_opens_for_its_own_user(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Access, "__post_init__", _with_known_ticket(Access.__post_init__))
    with client_of(root, accept="application/json") as browser:
        monkeypatch.setattr(access, "asks_another_user", lambda *_: True)
        check_error(browser.get("/?token=of-the-browser"), 401, "not_let_in")
        # What another user tried is not used up.
        monkeypatch.setattr(access, "asks_another_user", lambda *_: False)
        assert browser.get("/?token=of-the-browser").status_code == 303
        browser.cookies.clear()
        check_error(browser.get("/?token=of-the-browser"), 401, "not_let_in")


def test_the_printed_address_is_not_the_one_in_the_arguments() -> None:
    made = Access(allowed_hosts("127.0.0.1", 8700), KEY)
    assert made.ticket != made.own_ticket
    assert made.own_ticket is not None
    printed = made.ticket
    assert printed is not None
    # Another user's program may be the owner's, by an address that the owner gave it.
    assert made.take(printed, by_another=True)
    assert not made.take(made.own_ticket, by_another=True)
    assert made.take(made.own_ticket)
    assert HOST in made.hosts


def _with_known_ticket(begin):
    def begun(self: Access) -> None:
        self.own_ticket = "of-the-browser"
        begin(self)

    return begun


def test_closing_a_link_is_on_the_disk_when_it_is_said(root: Path) -> None:
    """A power cut must not open again what somebody closed."""
    with Collection.open(root) as col:
        col.shares.create("Ada")
        said: list[str] = []
        store_of(col).connection.set_trace_callback(said.append)
        col.shares.revoke("Ada")
        store_of(col).connection.set_trace_callback(None)
    full, commit = (said.index(one) for one in ("PRAGMA synchronous = FULL", "COMMIT"))
    assert full < commit < said.index("PRAGMA synchronous = NORMAL")
