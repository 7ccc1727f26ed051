"""Connections that never ask anything: others are served meanwhile."""

from __future__ import annotations

import resource
import select
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from likewise.server.connections import MOST_WAITING
from tests.product.server.conftest import Process

N = 300


@pytest.mark.slow
def test_half_open_connections_keep_nobody_out(start: Callable[..., Process], root: Path) -> None:
    """More of them than the server may have open files."""
    server = start("serve", "-C", root, "--port", 0)
    limit = MOST_WAITING + 160
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
    lines = []
    for number in range(N):
        line = socket.create_connection(("127.0.0.1", server.said["port"]), timeout=60)
        server.to_close.append(line)
        lines.append(line)
        # Some say nothing at all, some half a request.
        if number % 2:
            line.sendall(b"GET /api/pictures HTTP/1.1\r\nHost: 127")
    for _ in range(2):
        asked = urllib.request.Request(f"{server.base}/api/pictures", headers=server.headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert answer.status == 200
    # The first ones had to leave, or leave in time.
    readable, _, _ = select.select(lines[:20], [], [], 60)
    assert readable


def test_a_request_in_pieces_is_answered(start: Callable[..., Process], root: Path) -> None:
    """The timer of a head does not end a request whose body is on its way."""
    server = start("serve", "-C", root, "--port", 0)
    with socket.create_connection(("127.0.0.1", server.said["port"]), timeout=60) as line:
        head = (
            f"POST /api/uploads HTTP/1.1\r\nHost: 127.0.0.1:{server.said['port']}\r\n"
            f"Authorization: Bearer {server.said['key']}\r\nContent-Length: 10\r\n\r\n"
        )
        line.sendall(head[:40].encode())
        line.sendall(head[40:].encode() + b"12345")
        line.sendall(b"67890")
        assert line.recv(4096).startswith(b"HTTP/1.1 415")
