"""Answers below the framework: what the guard says before a route is reached."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def plain_error(kind: str, message: str) -> dict[str, Any]:
    """The one shape of an error."""
    return {"error": {"kind": kind, "message": message}}


async def send_json(send: Send, status: int, body: Any, cookie: str | None = None) -> None:
    headers = [(b"content-type", b"application/json")]
    if cookie is not None:
        headers += [(b"set-cookie", cookie.encode("ascii")), (b"cache-control", b"no-store")]
    await _send(send, status, json.dumps(body).encode(), headers)


async def send_text(send: Send, status: int, body: bytes) -> None:
    await _send(send, status, body, [(b"content-type", b"text/plain; charset=utf-8")])


async def send_html(send: Send, status: int, body: bytes) -> None:
    kind = (b"content-type", b"text/html; charset=utf-8")
    await _send(send, status, body, [kind, (b"cache-control", b"no-store")])


async def send_redirect(
    send: Send, place: str, cookie: str | None = None, *, by_page: bool = False
) -> None:
    """On to another place of this server; ``by_page`` lets an empty page do it."""
    way = (b"refresh", f"0; url={place}") if by_page else (b"location", place)
    headers = [(way[0], way[1].encode("ascii")), (b"cache-control", b"no-store")]
    if cookie is not None:
        headers.append((b"set-cookie", cookie.encode("ascii")))
    if by_page:
        headers.append((b"content-type", b"text/html; charset=utf-8"))
    await _send(send, 200 if by_page else 303, b"", headers)


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
