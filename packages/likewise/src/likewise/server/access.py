"""Check every request: host, origin, key or session, role and size; add the security headers.

This is one layer around the whole application, so that no route can omit a check.  A *ticket* in a
printed address signs a browser in once and gives it the cookie of a *session* (``sessions.py``).
Programs send the *key* as a bearer token.  Other people sign in with *named keys*, each with a role
(``roles.py`` lists what a role may do).  A *guest* has a token that only opens :data:`FOR_GUESTS`.
Nothing else opens a route, and only signing in sets a cookie.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from likewise.catalog.key_table import Actor, acting
from likewise.collection.keys import PREFIX, AccessKey, Keys
from likewise.errors import CatalogAway, CollectionBusy
from likewise.server import replies
from likewise.server.connections import asks_another_user
from likewise.server.replies import plain_error, send_html, send_json, send_redirect, send_text
from likewise.server.roles import CALLER, MAY, OWNER, Caller, least_role
from likewise.server.sessions import LASTS, RENEWED_AFTER, Session, Sessions

GUESTS = "guest-"
"""The prefix of the name of a guest's cookie."""
MAX_BODY = 1 << 20
"""The most bytes of a request, other than an upload."""
MAX_UPLOAD = 64 << 20
UPLOAD_PATH = "/api/uploads"
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
"""The routes that exchange a key for a session, and that end a session."""
MAX_SIGN_IN = 4096
OPEN_PATHS = frozenset({"/favicon.ico"})
"""Paths that a browser requests by itself, without a cookie; the response is empty."""
OPEN_PARTS = frozenset(f"/page/{name}" for name in replies.PARTS)
"""Files of the page that need no sign-in; they are the same in every installation."""

FOR_GUESTS = re.compile(
    r"/|/page/.*|/api/me|/api/compare/(?:questions|answers|undo)"
    r"|/api/pictures/[^/]+/thumbnail"
)
"""What a guest may request: the page, the questions, and thumbnails of their pictures.

Picture names cannot be guessed, and the route checks that the guest was asked about the picture.
"""
GUEST = "likewise.guest"
"""The key of the guest in a request's scope."""

_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        b"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
_NOT_LET_IN = (
    "sign in with an address that 'likewise open', 'serve' or 'admin link' printed "
    "(it works once), or send a key as a bearer token; 'likewise admin link' prints a new address"
)
_NO_SUCH_KEY = (
    "this key does not work; it may be mistyped or revoked: ask the person who gave it to you"
)
"""The same message for every reason, so that guessing a key reveals nothing."""
_KEY_IN_ADDRESS = (
    "do not put a key into an address, which browsers and proxies store: sign in with it, "
    "and have it revoked if others could read the address"
)
_USED = "this address was used already or is too old; 'likewise admin link' prints a new one"

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass
class Access:
    """The keys, tickets and sessions that a server accepts.

    Without a ``key`` (loopback only) every program of this machine has access.  ``ticket`` is in
    the address that the server prints when it starts; a ticket that another process signs for the
    server named ``run`` works too.  ``own_ticket`` is in the address a browser is started with,
    which other users can read, so it works for the server's own user only.  ``collection`` is shown
    on the sign-in page, so that a person can make a new address; None hides it from strangers.
    """

    hosts: frozenset[str]
    key: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    ticket: str | None = field(default_factory=lambda: secrets.token_urlsafe(24))
    own_ticket: str | None = field(default_factory=lambda: secrets.token_urlsafe(24))
    guest: Callable[[str], Any | None] = lambda token: None
    sessions: Sessions = field(default_factory=Sessions)
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    collection: Path | None = None
    keys: Keys | None = None
    note_use: Callable[[AccessKey], object] = lambda key: None

    def __post_init__(self) -> None:
        self._ticket_of = self.sessions.cookie

    def knows(self, headers: dict[str, str]) -> bool:
        """Return whether a request has the server's key or the cookie of an owner's session."""
        if self.key is None:
            return True
        bearer = _bearer(headers)
        if bearer is not None:
            return _is(bearer, self.key)
        found = self.session_of(headers)
        return found is not None and found.key is None

    def session_of(self, headers: dict[str, str]) -> Session | None:
        """Return the session of a request's cookie, if it is valid."""
        return self.sessions.find(self.cookie_of(headers), self.key or "")

    def named_key(self, headers: dict[str, str]) -> AccessKey | None:
        """Return the named key of a request or of its session, while that key works.

        Each request checks the catalog, so that a revoked key stops working at once on all servers.
        """
        if self.keys is None:
            return None
        bearer = _bearer(headers)
        if bearer is not None:
            return self.keys.of_secret(bearer)
        found = self.session_of(headers)
        return None if found is None or found.key is None else self.keys.of_id(found.key)

    def cookie_of(self, headers: dict[str, str]) -> str | None:
        """Return the value of a request's session cookie."""
        return _cookie(headers, self.sessions.cookie)

    def session_cookie(self, key: int | None = None, *, mark: str = "") -> str:
        """Return the Set-Cookie value of a new session, of the owner or of a named key.

        ``mark`` is the mark of the session that it replaces.
        """
        kept = f"; Max-Age={LASTS}" if self.sessions.lasting else ""
        value = self.sessions.issue(key, mark=mark, server_key=(self.key or "") if mark else "")
        return f"{self.sessions.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{kept}"

    def no_session(self) -> str:
        """Return the Set-Cookie value that deletes a browser's session."""
        return f"{self.sessions.cookie}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"

    def sign_in(self, secret: str) -> tuple[Caller, str] | None:
        """Return the caller with this key and the cookie of a new session."""
        if self.key is not None and _is(secret, self.key):
            return OWNER, self.session_cookie(mark="s")
        found = None if self.keys is None else self.keys.of_secret(secret)
        return None if found is None else (Caller(found.role, found), self.session_cookie(found.id))

    def take(self, offered: str, *, by_another: bool = False) -> bool:
        """Accept a ticket, once; return whether it was valid.

        Ending all sessions invalidates it.  ``by_another``: another user of this machine sent it.
        """
        if self.key is not None and self.sessions.take(offered, self.run):
            return True
        if self._ticket_of != self.sessions.cookie:
            return False
        if _is(offered, self.ticket):
            self.ticket = None
            return True
        # Another user who read it does not use it up: the browser has yet to send it.
        if not by_another and _is(offered, self.own_ticket):
            self.own_ticket = None
            return True
        return False


def _is(offered: str, ticket: str | None) -> bool:
    given = offered.encode(errors="surrogatepass")  # JSON can contain lone surrogates
    return ticket is not None and hmac.compare_digest(given, ticket.encode())


def allowed_hosts(host: str, port: int, more: Iterable[str] = ()) -> frozenset[str]:
    """Return the values of the Host header that this server accepts, in lower case."""
    names = {"127.0.0.1", "localhost", "[::1]", *more}
    if host not in ("0.0.0.0", "::"):
        names.add(host)
    shown = {f"[{name}]" if ":" in name and "[" not in name else name.lower() for name in names}
    return frozenset(f"{name}:{port}" for name in shown) | (shown if port == 80 else set())


def _is_another(scope: Scope) -> bool:
    return asks_another_user(scope.get("client"), scope.get("server"))


def cookie_name(host: str) -> str:
    """Return the name of a guest's cookie; with the port, since cookies ignore ports."""
    return f"likewise-{host.rpartition(']')[2].partition(':')[2] or '80'}"


class Guard:
    """ASGI middleware that checks every request before the application."""

    def __init__(self, app: App, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refused = self._reason_to_refuse(scope, headers)
        if refused is not None:
            if refused[0] == 421 and _is_person(headers):
                await send_html(send, 421, replies.wrong_name(headers.get("host", "")))
            else:
                await send_json(send, refused[0], plain_error(refused[1], refused[2]))
            return
        if scope["path"] in OPEN_PATHS:
            await send_text(send, 204, b"")
            return
        try:
            await self._let_in(scope, headers, receive, send)
        except CatalogAway as error:
            # Named keys and guests are in the catalog.
            await send_json(send, 503, plain_error("catalog_away", str(error)))
        except CollectionBusy as error:
            await send_json(send, 409, plain_error("busy", str(error)))

    async def _let_in(
        self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send
    ) -> None:
        asked = parse_qsl(scope["query_string"].decode("latin-1"))
        ticket = dict(asked).get("token")
        if scope["method"] == "GET" and scope["path"] == "/" and ticket is not None:
            await self._enter(scope, headers, ticket, asked, send)
        elif scope["method"] == "POST" and scope["path"] == SIGN_IN:
            await self._sign_in(receive, send)
        elif scope["method"] == "POST" and scope["path"] == SIGN_OUT:
            await send_json(send, 200, {"signed_in": False}, self._access.no_session())
        elif (caller := await self._caller(headers)) is not None:
            await self._serve(caller, scope, headers, receive, send)
        elif (guest := await self._guest(_guest_token(headers))) is None:
            if scope["method"] in ("GET", "HEAD") and scope["path"] in OPEN_PARTS:
                await self._pass(scope, receive, send)
            else:
                await self._send_not_let_in(send, headers, _NOT_LET_IN)
        elif not FOR_GUESTS.fullmatch(scope["path"]):
            message = "your link only allows you to answer questions"
            await send_json(send, 403, plain_error("guest", message))
        else:
            scope[GUEST] = guest
            await self._pass(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = MAX_UPLOAD if scope["path"] == UPLOAD_PATH else MAX_BODY
        await _BodyLimit(self._app, limit)(scope, receive, send)

    async def _caller(self, headers: dict[str, str]) -> Caller | None:
        """Return the owner or the person with a named key."""
        if self._access.knows(headers):
            return OWNER
        if _bearer(headers) is None and self._access.session_of(headers) is None:
            return None
        key = await asyncio.to_thread(self._access.named_key, headers)
        if key is None:
            return None
        self._access.note_use(key)
        return Caller(key.role, key)

    async def _serve(
        self, caller: Caller, scope: Scope, headers: dict[str, str], receive: Receive, send: Send
    ) -> None:
        """Check the role of a signed-in caller."""
        least = least_role(scope["method"], scope["path"])
        if not caller.may(least):
            message = (
                f"your key {caller.name!r} may {MAY[caller.role]}; this is for keys that may "
                f"{MAY[least]}"
            )
            await send_json(send, 403, plain_error("role", message))
            return
        if scope["path"] == "/":
            send = self._renewing(headers, send)
        scope[CALLER] = caller
        with acting(None if caller.key is None else Actor(caller.key.id, caller.key.name)):
            await self._pass(scope, receive, send)

    async def _sign_in(self, receive: Receive, send: Send) -> None:
        """Exchange a key, in the body and never in the address, for a session cookie."""
        body = b""
        while True:
            got = await receive()
            body += got.get("body", b"")
            if got["type"] == "http.disconnect" or len(body) > MAX_SIGN_IN:
                break
            if not got.get("more_body", False):
                break
        try:
            said = json.loads(body[: MAX_SIGN_IN + 1])
            secret = said["key"].strip()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            message = 'a key is expected, as {"key": "..."}'
            await send_json(send, 422, plain_error("invalid", message))
            return
        found = await asyncio.to_thread(self._access.sign_in, secret)
        if found is None:
            await send_json(send, 401, plain_error("not_let_in", _NO_SUCH_KEY))
            return
        caller, cookie = found
        if caller.key is not None:
            self._access.note_use(caller.key)
        await send_json(send, 200, {"name": caller.name, "role": caller.role}, cookie)

    async def _guest(self, token: str | None) -> Any | None:
        return None if token is None else await asyncio.to_thread(self._access.guest, token)

    def _reason_to_refuse(
        self, scope: Scope, headers: dict[str, str]
    ) -> tuple[int, str, str] | None:
        """Return (status, kind, message) if the host or origin of a request is wrong."""
        host = headers.get("host", "").lower()
        if host not in self._access.hosts:
            message = (
                f"this server does not answer to the name {host!r}; use the address it printed"
            )
            return 421, "wrong_host", message
        site = headers.get("sec-fetch-site", "none")
        origin = headers.get("origin")
        foreign = origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")
        changing = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if changing and (site not in ("same-origin", "none") or foreign):
            return 403, "wrong_origin", "only this server's own page may change something"
        by_cookie = "authorization" not in headers and self._access.key is not None
        offered = self._access.cookie_of(headers) or _guest_token(headers)
        if changing and by_cookie and origin is None and offered is not None:
            return (
                403,
                "wrong_origin",
                "a change with a cookie needs an Origin header; or use a bearer token",
            )
        # Other sites may only link to the page.
        if foreign or (site not in ("same-origin", "none") and scope["path"] != "/"):
            return 403, "wrong_origin", "other sites may not send requests to this server"
        return None

    async def _enter(
        self,
        scope: Scope,
        headers: dict[str, str],
        ticket: str,
        asked: list[tuple[str, str]],
        send: Send,
    ) -> None:
        """Exchange a ticket for a cookie and remove it from the address bar."""
        rest = [pair for pair in asked if pair[0] != "token"]
        place = "/" + (f"?{urlencode(rest, quote_via=quote)}" if rest else "")
        # After a click on another site the browser withholds strict cookies, also on redirects;
        # a refresh by our own page sends them.
        by_page = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if ticket.startswith(PREFIX):
            await self._send_not_let_in(send, headers, _KEY_IN_ADDRESS)
        elif self._access.knows(headers):
            await send_redirect(send, place, by_page=by_page)
        elif self._access.take(ticket, by_another=_is_another(scope)):
            await send_redirect(send, place, self._access.session_cookie(), by_page=by_page)
        elif await self._guest(ticket) is not None:
            # The token works until the link is closed.  It has a cookie of its own, so that the
            # owner who opens a guest's link stays signed in.
            name = f"{GUESTS}{cookie_name(headers['host'])}"
            cookie = f"{name}={ticket}; Path=/; HttpOnly; SameSite=Strict"
            await send_redirect(send, "/?view=compare", cookie, by_page=by_page)
        else:
            await self._send_not_let_in(send, headers, _USED)

    async def _send_not_let_in(self, send: Send, headers: dict[str, str], message: str) -> None:
        """Send 401: a page to a browser, JSON to programs."""
        if _is_person(headers):
            page = replies.not_let_in(
                self._access.collection,
                used=message == _USED,
                key_in_address=message == _KEY_IN_ADDRESS,
                lasting=self._access.sessions.lasting,
            )
            await send_html(send, 401, page)
        else:
            await send_json(send, 401, plain_error("not_let_in", message))

    def _renewing(self, headers: dict[str, str], send: Send) -> Send:
        """Return a ``send`` that renews an older session when the page is loaded."""
        found = self._access.session_of(headers)
        if found is None or found.age < RENEWED_AFTER or _bearer(headers) is not None:
            return send

        async def send_renewed(message: Message) -> None:
            if message["type"] == "http.response.start":
                renewed = self._access.session_cookie(mark=found.mark)
                cookie = (b"set-cookie", renewed.encode("ascii"))
                message["headers"] = [*message.get("headers", []), cookie]
            await send(message)

        return send_renewed


def _is_person(headers: dict[str, str]) -> bool:
    return "text/html" in headers.get("accept", "")


class _BodyLimit:
    """Refuse a request body that is too long, with or without a content length."""

    def __init__(self, app: App, limit: int) -> None:
        self._app, self._limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = _headers(scope).get("content-length", "")
        message = f"the request is longer than {self._limit >> 20} MiB; send a smaller one"
        if said.isdecimal() and (len(said) > 18 or int(said) > self._limit):
            await send_json(send, 413, plain_error("too_large", message))
            return
        seen = 0
        over = answered = False

        async def receive_counted() -> Message:
            nonlocal seen, over
            got = await receive()
            seen += len(got.get("body", b""))
            if seen > self._limit:
                over = True
                return {"type": "http.disconnect"}
            return got

        async def unless_over(out: Message) -> None:
            nonlocal answered
            if not over or answered:
                answered = True
                await send(out)

        try:
            await self._app(scope, receive_counted, unless_over)
        except Exception:
            if not over:
                raise
        if over and not answered:
            await send_json(send, 413, plain_error("too_large", message))


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return send_with_headers


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name; one that is sent twice gets a value that matches nothing."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        found[key] = f"{found[key]}, " if key in found else ""
        found[key] += value.decode("latin-1")
    return found


def _bearer(headers: dict[str, str]) -> str | None:
    """Return the bearer token of a request."""
    value = headers.get("authorization", "")
    return value[7:].strip() if value.lower().startswith("bearer ") else None


def _guest_token(headers: dict[str, str]) -> str | None:
    """Return the token of a guest."""
    cookie = f"{GUESTS}{cookie_name(headers.get('host', ''))}"
    bearer = _bearer(headers)
    return _cookie(headers, cookie) if bearer is None else bearer


def _cookie(headers: dict[str, str], wanted: str) -> str | None:
    # http.cookies rejects the whole header if another local server's cookie has an odd character.
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return None
