"""Responses that the guard sends itself: errors, redirects, and the sign-in page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from pathlib import Path
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def plain_error(kind: str, message: str) -> dict[str, Any]:
    """Return the body of an error."""
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
    """Redirect to another path of this server; ``by_page`` uses an empty page with a refresh."""
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


PARTS = ("base.css", "entrance.css", "entrance.js", "mark.svg", "theme.js")
"""Files that the sign-in page needs."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} - Likewise</title>
<link rel="icon" type="image/svg+xml" href="/page/mark.svg">
<link rel="stylesheet" href="/page/base.css">
<link rel="stylesheet" href="/page/entrance.css">
<script src="/page/theme.js"></script>
<script src="/page/entrance.js" defer></script>
</head>
<body class="entrance">
<main>
<p class="brand"><img src="/page/mark.svg" alt="" width="28" height="28"> likewise</p>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
_OWNER = "If that is you:"
_COMMAND = """<p>On the machine where Likewise runs, open a terminal and type:</p>
<p class="command"><code id="command">{command}</code>
<button type="button" id="copy" data-copied="Copied" data-by-hand="Press Ctrl+C"
hidden>Copy</button></p>
<p>It prints a new address. Open it in this browser, and the browser stays signed in.</p>"""
_START_AGAIN = """<p>In the terminal where Likewise runs, end it with Ctrl-C and start it again: it
prints a new address. Open it in this browser.</p>"""
_KEY = """<form id="sign-in" hidden>
<label for="key">{label}</label>
<p class="command"><input type="password" id="key" name="key" autocomplete="current-password"
maxlength="200" required spellcheck="false"><button class="main">Sign in</button></p>
<p id="said" role="alert" class="bad" data-away="Likewise does not respond."></p>
</form>"""
_GUESTS = """<p class="soft">If you got a link to answer questions, open that link again;
if it no longer works, ask them for a new one.</p>"""


def not_let_in(
    collection: Path | None,
    *,
    used: bool = False,
    lasting: bool = True,
    key_in_address: bool = False,
) -> bytes:
    """Return the page for a browser without a session, or with a used address.

    Sessions that do not last have no stored secret to make another address with.
    """
    place = "" if collection is None else f" -C {shlex.quote(str(collection))}"
    way = (
        _COMMAND.format(command=escape(f"likewise admin link{place}")) if lasting else _START_AGAIN
    )
    here = collection is not None
    # A local person has a terminal, a remote one has a key.
    key = _KEY.format(label="Or sign in with a key:" if here else "Sign in with your key:")
    ways = f"{way}\n{key}" if here else f"{key}\n<p>No key? Ask who runs it. {_OWNER}</p>\n{way}"
    body = f"{ways}\n{_GUESTS}"
    if key_in_address:
        return _page(
            "Do not put a key into an address",
            "<p>Browsers and proxies store addresses. Sign in with the key instead, and have it "
            f"revoked if others could read the address.</p>\n{body}",
        )
    if used:
        return _page(
            "This address no longer works",
            "<p>An address works once and for a short time. This one was used or is too old. "
            f"Make a new one:</p>\n{body}",
        )
    why = "<p>These pictures are private. Only signed-in browsers may see them.</p>"
    return _page("This browser is not signed in", f"{why}\n{body}")


def wrong_name(host: str) -> bytes:
    """Return the page for a request to a wrong host name."""
    return _page(
        "Likewise does not answer to this name",
        f"<p>You asked for <code>{escape(host[:100])}</code>. Use the address that Likewise "
        "printed when it started. To let it answer to another name of its machine, start it with "
        "<code>--name</code> and that name.</p>",
    )


def _page(title: str, body: str) -> bytes:
    # A file name can contain lone surrogates, which UTF-8 cannot.
    return _PAGE.format(title=escape(title), body=body).encode(errors="replace")
