"""Who may do what: every route of the application, by every role; none can be forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import BaseRoute

from likewise.collection.collection import Collection
from likewise.collection.keys import JUDGE, LOOK, MANAGE, ROLES
from likewise.server.access import Access, Guard, allowed_hosts
from likewise.server.replies import send_json
from likewise.server.roles import CALLER, LEAST, least_role
from tests import trials
from tests.product.server.conftest import HOST, KEY, Client, check_error
from tests.product.server.test_access import Asked

LOOK_SENDS = {
    "/api/search",
    "/api/explain",
    "/api/uploads",
    "/api/maps/{name}/likeness",
}
"""What is sent and changes nothing."""
JUDGE_SENDS = {
    "/api/judge", "/api/undo", "/api/profiles", "/api/compare/answers", "/api/compare/undo",
    "/api/tags/set", "/api/tags/accept", "/api/tags/reject", "/api/tags/save", "/api/tags/settle",
    "/api/tags/undo", "/api/actions/undo", "/api/library/marks", "/api/library/marks/restore",
    "/api/library/albums/add", "/api/library/albums/take", "/api/library/albums/rename",
    "/api/library/albums/delete",
}  # fmt: skip
MANAGE_READS = {"/api/collection/problems", "/api/compare/shares", "/api/keys"}


def due(method: str, path: str) -> str:
    """The least role of a route, told once more: whoever changes one table reads the other."""
    if method in ("GET", "HEAD"):
        return MANAGE if path in MANAGE_READS else LOOK
    return LOOK if path in LOOK_SENDS else JUDGE if path in JUDGE_SENDS else MANAGE


def patterns(found: list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """(method, pattern) of every route."""
    for route in found:
        inner = getattr(route, "routes", None) or getattr(
            getattr(route, "original_router", None), "routes", None
        )
        if inner:
            yield from patterns(inner)
            continue
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            yield method, route.path  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def every(reader: Client) -> list[tuple[str, str]]:
    return sorted(set(patterns(reader.inner.routes)))


@pytest.fixture(scope="module")
def keys(reader: Client) -> dict[str, str]:
    """A key of each role."""
    found: Collection = reader.inner.state.service.collection
    return {role: found.keys.add(f"somebody who may {role}", role).secret for role in ROLES}


def test_every_route_has_a_role_and_every_role_a_route(every: list[tuple[str, str]]) -> None:
    told = {(method, path) for path, methods in LEAST.items() for method in methods}
    assert told == set(every), "a new route needs a row in server/roles.py, an old one none"
    for method, path in every:
        assert LEAST[path][method] == due(method, path), (method, path)


def test_each_role_reaches_what_the_table_says(
    reader: Client, every: list[tuple[str, str]], keys: dict[str, str]
) -> None:
    """Every route, every role: the guard before an application that only says that it was reached,
    and whatever it refuses once more with the whole application behind it."""
    reached: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope[CALLER].role)
        await send_json(send, 200, {})

    access = Access(allowed_hosts("127.0.0.1", 8700), KEY, None)
    access.keys = reader.inner.state.access.keys
    guard = Guard(inner, access)
    tried = 0
    for method, pattern in every:
        path = re.sub(r"\{[^}]*\}", "7", pattern)
        for role, secret in keys.items():
            reached.clear()
            headers = [(b"host", HOST.encode()), (b"authorization", f"Bearer {secret}".encode())]
            asked = Asked(guard, path=path, method=method, headers=headers)
            may = ROLES.index(role) >= ROLES.index(due(method, pattern))
            assert (asked.status, reached) == ((200, [role]) if may else (403, [])), (path, role)
            tried += 1
            if not may:
                answer = reader.request(
                    method, path, headers={"authorization": f"Bearer {secret}"}, content=b"{}"
                )
                message = check_error(answer, 403, "role")
                assert f"may {role}" in message, "it names the key"
                trials.count(trials.WITHOUT_RIGHT)
    assert tried == 3 * len(every)


def test_what_no_pattern_knows_is_for_manage() -> None:
    for method, path in (
        ("GET", "/api/unheard"), ("PUT", "/api/judge"), ("POST", "/api/judge/"),
        ("DELETE", "/api/keys/1"), ("POST", "/api/JUDGE"), ("OPTIONS", "/api/search"),
    ):  # fmt: skip
        assert least_role(method, path) == MANAGE, path
    # Where two patterns fit the stricter one counts, whichever the request reaches.
    assert least_role("POST", "/api/pictures/remove") == MANAGE
    assert least_role("GET", "/page/a/b.js") == LOOK
