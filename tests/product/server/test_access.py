"""Secure by construction: every route, found by asking the application for its routes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import BaseRoute

from likewise.errors import CollectionError
from likewise.server import access
from likewise.server.access import Access, Guard, allowed_hosts
from likewise.server.app import make_app
from likewise.server.run import is_loopback, serve
from likewise.server.sessions import Sessions
from tests import trials
from tests.product.server.browser import run_in_loop
from tests.product.server.conftest import (
    HOST,
    KEY,
    SESSIONS,
    TICKET,
    Client,
    check_error,
    client_of,
)

OWN = f"http://{HOST}"
NAME = SESSIONS.cookie


def routes(found: list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """(method, an address) of every route, with something in place of its parameters."""
    for route in found:
        inner = getattr(route, "routes", None) or getattr(
            getattr(route, "original_router", None), "routes", None
        )
        if inner:
            yield from routes(inner)
            continue
        path = re.sub(r"\{[^}]*\}", "x", route.path)  # type: ignore[attr-defined]
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            yield method, path


@pytest.fixture(scope="module")
def every(reader: Client) -> list[tuple[str, str]]:
    found = sorted(set(routes(reader.inner.routes)))
    described = reader.get_json("/api/openapi.json")["paths"]
    # The description is another way to count: none of its routes may be missing here.
    for path, methods in described.items():
        for method in methods:
            assert (method.upper(), re.sub(r"\{[^}]*\}", "x", path)) in found
    assert ("GET", "/") in found
    assert ("GET", "/api/openapi.json") in found
    assert len(found) > 25
    return found


def bare(client: Client, method: str, path: str, **headers: str) -> Any:
    """A request with these headers only."""
    request = client.build_request(method, path, headers=headers)
    request.headers.pop("authorization", None)
    for name, value in headers.items():
        request.headers[name] = value
    return client.send(request)


def check_headers(answer: Any) -> None:
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert "server" not in answer.headers


def test_no_route_answers_without_the_key(reader: Client, every: list[tuple[str, str]]) -> None:
    for method, path in [*every, ("GET", "/nothing"), ("DELETE", "/api/search")]:
        for offered in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": f"Basic {KEY}"},
            {"cookie": f"{NAME}=wrong"},
            {"cookie": f"{NAME}={KEY}"},
            {"cookie": f"likewise-8700={KEY}"},
            {"cookie": f"{NAME}={Sessions().issue()}"},
            {"cookie": f"{NAME}={SESSIONS.ticket('run')}"},
        ):
            answer = bare(reader, method, path, **offered, origin=OWN)
            check_error(answer, 401, "not_let_in")
            check_headers(answer)
            trials.count(trials.WITHOUT_RIGHT)


def test_the_icon_a_browser_asks_for_is_empty(reader: Client) -> None:
    answer = bare(reader, "GET", "/favicon.ico")
    assert (answer.status_code, answer.content) == (204, b"")
    check_headers(answer)


def test_no_route_answers_to_another_name(reader: Client, every: list[tuple[str, str]]) -> None:
    for method, path in [*every, ("GET", "/favicon.ico")]:
        for host in ("evil.example", "127.0.0.1", "127.0.0.1:8701", f"{HOST}.evil.example", ""):
            answer = bare(reader, method, path, host=host, authorization=f"Bearer {KEY}")
            check_error(answer, 421, "wrong_host")
            check_headers(answer)
            trials.count(trials.WITHOUT_RIGHT)


def test_no_change_comes_from_another_site(reader: Client, every: list[tuple[str, str]]) -> None:
    changing = [(m, p) for m, p in every if m not in ("GET", "HEAD", "OPTIONS")]
    assert len(changing) >= 10
    by_cookie = {"cookie": f"{NAME}={SESSIONS.issue()}"}
    for method, path in changing:
        for key in ({"authorization": f"Bearer {KEY}"}, by_cookie):
            for sign in (
                {"origin": "http://evil.example"},
                {"origin": "null"},
                {"origin": "http://127.0.0.1:3000"},
                {"origin": OWN, "sec-fetch-site": "cross-site"},
                {"origin": OWN, "sec-fetch-site": "same-site"},
            ):
                answer = bare(reader, method, path, **key, **sign)
                check_error(answer, 403, "wrong_origin")
                check_headers(answer)
                trials.count(trials.WITHOUT_RIGHT)
        # A browser says where a change comes from; a cookie without that is no page of ours.
        check_error(bare(reader, method, path, **by_cookie), 403, "wrong_origin")


def test_other_sites_cannot_read_either(reader: Client, every: list[tuple[str, str]]) -> None:
    for method, path in every:
        if method != "GET":
            continue
        key = {"authorization": f"Bearer {KEY}"}
        answer = bare(reader, "GET", path, **key, origin="http://evil.example")
        check_error(answer, 403, "wrong_origin")
        if path != "/":  # the page itself may be linked to
            answer = bare(reader, "GET", path, **key, **{"sec-fetch-site": "cross-site"})
            check_error(answer, 403, "wrong_origin")


def test_every_answer_carries_the_headers(reader: Client) -> None:
    picture = reader.ids()[0]
    small = reader.get(f"/api/pictures/{picture}/thumbnail")
    again = reader.get(
        f"/api/pictures/{picture}/thumbnail", headers={"if-none-match": small.headers["etag"]}
    )
    answers = [
        small,
        again,
        reader.get("/api/health"),
        reader.get("/api/nothing"),
        reader.delete("/api/search"),
        reader.post("/api/search", content=b"{"),
        reader.options("/api/search", headers={"origin": OWN}),
        reader.get("/page/nothing.js"),
    ]
    assert [a.status_code for a in answers] == [200, 304, 200, 404, 405, 422, 405, 404]
    for answer in answers:
        check_headers(answer)


def test_a_ticket_opens_once_and_leaves_the_address(root: Path) -> None:
    with client_of(root, accept="application/json") as browser:
        check_error(browser.get("/?token=wrong"), 401, "not_let_in")
        answer = browser.get(f"/?q=a%26b&token={TICKET}&view=learned")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/?q=a%26b&view=learned"
        check_headers(answer)
        cookie = answer.headers["set-cookie"]
        assert re.fullmatch(rf"{NAME}=[\w.]+; Path=/; HttpOnly; SameSite=Strict", cookie)
        value = cookie.split(";")[0]
        assert KEY not in cookie
        browser.cookies.clear()
        check_error(browser.get(f"/?token={TICKET}"), 401, "not_let_in")
        # With the cookie an old address is no trouble, and other servers' cookies are none.
        jar = {"cookie": f'other={{"a":[1]}}; {value}; x'}
        assert browser.get(f"/?token={TICKET}", headers=jar).status_code == 303
        assert browser.get("/api/health", headers=jar).status_code == 200
        answer = browser.post("/api/undo", json={}, headers={**jar, "origin": OWN})
        check_error(answer, 409, "refused")  # it got in: there is nothing to take back


def test_a_click_in_another_page_still_lets_in(root: Path) -> None:
    # Strict cookies stay away from redirections that began elsewhere; a page's own step is ours.
    with client_of(root, **{"sec-fetch-site": "cross-site"}) as browser:
        answer = browser.get(f"/?token={TICKET}&q=1")
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["refresh"] == "0; url=/?q=1"
        assert "set-cookie" in answer.headers


@pytest.mark.parametrize(
    "asked",
    [
        "x=%0d%0aset-cookie:%20a=b",
        "x=%0aLocation:%20http://evil.example",
        "%0d%0ax=1",
        "x=%ff%fe%00",
        "//evil.example=1",
        "x=" + "a" * 20_000,
        "&".join(f"x{i}=1" for i in range(2_000)),
    ],
)
def test_nothing_gets_into_headers_by_the_query(root: Path, asked: str) -> None:
    with client_of(root, accept="*/*") as browser:
        answer = browser.get(f"/?{asked}&token={TICKET}")
        assert answer.status_code == 303
        place = answer.headers["location"]
        assert place.startswith("/?")
        assert re.fullmatch(r"[!-~]+", place)
        assert answer.headers["set-cookie"].startswith(f"{NAME}=")
        assert len(answer.headers.get_list("set-cookie")) == 1


def test_a_server_without_key_stays_on_this_machine(root: Path) -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.org", "8.8.8.8"):
        assert not is_loopback(host)
        with pytest.raises(CollectionError, match=r"must use 127\.0\.0\.1"):
            serve(root, host=host, open_to_all=True)
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.8.9.1"):
        assert is_loopback(host)
    with pytest.raises(CollectionError, match="16 characters"):
        serve(root, key="short")
    assert Access(frozenset()).key is not None
    made = {Access(frozenset()).key for _ in range(5)} | {Access(frozenset()).ticket}
    assert len(made) == 6


def test_without_a_key_other_sites_stay_out_all_the_same(root: Path) -> None:
    guarded, _ = make_app(root, Access(allowed_hosts("127.0.0.1", 8700), None, None))
    with Client(guarded, base_url=OWN, follow_redirects=False) as anybody:
        assert anybody.get("/api/health").status_code == 200
        assert anybody.get("/?token=x").status_code == 303
        foreign = {"origin": "http://evil.example"}
        check_error(anybody.post("/api/undo", json={}, headers=foreign), 403, "wrong_origin")
        rebound = {"host": "evil.example:8700"}
        check_error(anybody.get("/api/health", headers=rebound), 421, "wrong_host")


def test_nothing_is_told_to_anybody(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI can send traces of every request somewhere; not this one, whatever is set."""
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    with client_of(root) as client:
        told = getattr(client.inner, "_telemetry", {})
        assert not [name for name, value in told.items() if value]
        assert client.get("/api/health").status_code == 200


def test_names_a_server_goes_by() -> None:
    assert "127.0.0.1:80" in allowed_hosts("127.0.0.1", 80)
    assert "localhost" in allowed_hosts("127.0.0.1", 80)
    assert "localhost" not in allowed_hosts("127.0.0.1", 8700)
    assert "0.0.0.0:8700" not in allowed_hosts("0.0.0.0", 8700)
    assert "photos.lan:8700" in allowed_hosts("0.0.0.0", 8700, ["Photos.lan"])
    assert "[::1]:8700" in allowed_hosts("::1", 8700)
    # Of guests: the owner's is named by the collection.
    assert access.cookie_name("[::1]:81") == "likewise-81"
    assert access.cookie_name("localhost") == "likewise-80"


# -- sizes ----------------------------------------------------------------------------------


def chunks(n: int, size: int) -> Iterator[bytes]:
    """A body without a length: it is sent piece by piece."""
    for _ in range(n):
        yield b" " * size


@pytest.mark.parametrize("path", ["/api/search", "/api/judge", "/api/collection/verify"])
def test_a_body_is_at_most_a_mebibyte(reader: Client, path: str) -> None:
    json_type = {"content-type": "application/json"}
    answer = reader.post(path, content=b" " * (access.MAX_BODY + 1), headers=json_type)
    check_error(answer, 413, "too_large")
    check_headers(answer)
    if path != "/api/collection/verify":  # which reads no body at all
        answer = reader.post(path, content=chunks(20, 1 << 16), headers=json_type)
        check_error(answer, 413, "too_large")
        check_headers(answer)


def test_an_upload_is_at_most_64_mebibytes(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = reader.post("/api/uploads", content=b"x", headers={"content-length": str(65 << 20)})
    check_error(answer, 413, "too_large")
    monkeypatch.setattr(access, "MAX_UPLOAD", 2 << 20)
    check_error(reader.post("/api/uploads", content=chunks(33, 1 << 16)), 413, "too_large")
    # Larger than other bodies may be, and heard to its end.
    check_error(reader.post("/api/uploads", content=chunks(20, 1 << 16)), 415, "not_a_picture")


@pytest.mark.parametrize("length", ["²", "9" * 30, "-1", "1e3"])
def test_odd_lengths_are_no_fault_of_ours(reader: Client, length: str) -> None:
    request = reader.build_request("POST", "/api/search", content=b"{}")
    request.headers["content-length"] = length.encode("latin-1").decode("latin-1")
    assert reader.send(request).status_code in (413, 422)


# -- paths ----------------------------------------------------------------------------------


class Asked:
    """A request as a server hands it over: clients would tidy its path up first."""

    def __init__(self, app: Any, **scope: Any) -> None:
        self.said: list[Any] = []
        whole = {
            "type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"",
            "headers": [(b"host", HOST.encode()), (b"authorization", f"Bearer {KEY}".encode())],
            "scheme": "http", "http_version": "1.1", "server": None, "client": None,
        }  # fmt: skip
        run_in_loop(app({**whole, **scope}, self.receive, self.send))
        self.status = self.said[0].get("status")
        self.headers = self.said[0].get("headers", [])

    async def send(self, message: Any) -> None:
        self.said.append(message)

    async def receive(self) -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}


@pytest.mark.parametrize(
    "name",
    ["../app.py", "../../server/access.py", "\0", "a\0.js", "/etc/passwd", "..\\app.py", ".", "",
     "index.html/", "~/x.js", "a" * 5000, ".hidden.js", "x/../index.html", "./index.html", "page",
     "..", "\ufffd/app.py", "index.html%00"],
)  # fmt: skip
def test_the_page_gives_only_its_parts(reader: Client, name: str) -> None:
    assert Asked(reader.inner, path="/page/index.html").status == 200
    asked = Asked(reader.inner, path=f"/page/{name}")
    assert asked.status == 404
    assert b"not_found" in asked.said[1]["body"]


async def never(*_: Any) -> None:
    raise AssertionError("let in")


def test_websockets_are_closed() -> None:
    asked = Asked(Guard(never, Access(frozenset())), type="websocket")
    assert [message["type"] for message in asked.said] == ["websocket.close"]


@settings(max_examples=max(150, 10 * trials.ROUNDS), deadline=None)
@given(
    path=st.sampled_from(["/", "/api/search", "/api/pictures/1-ab", "/page/x.js", "/favicon.ico"]),
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD"]),
    headers=st.lists(
        st.tuples(
            st.sampled_from([b"host", b"origin", b"cookie", b"authorization", b"sec-fetch-site"]),
            st.one_of(
                st.binary(max_size=40),
                st.sampled_from([HOST.encode(), b"Bearer x", f"{NAME}=x".encode(), b"none"]),
            ),
        ),
        max_size=5,
    ),
    query=st.binary(max_size=40),
)
def test_no_request_gets_past_the_guard(
    path: str, method: str, headers: list[tuple[bytes, bytes]], query: bytes
) -> None:
    """Whatever is sent, short of the key: the application behind is never reached."""

    guard = Guard(never, Access(allowed_hosts("127.0.0.1", 8700), KEY, TICKET))
    asked = Asked(guard, path=path, method=method, headers=headers, query_string=query)
    assert asked.status in (204, 401, 403, 421)
    assert (b"x-content-type-options", b"nosniff") in asked.headers
    assert not any(name == b"set-cookie" for name, _ in asked.headers)
    trials.count(trials.WITHOUT_RIGHT)
