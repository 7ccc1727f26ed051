"""Named keys over HTTP: made, shown once, signed in with, named in the log, closed, taken back."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from likewise.collection.collection import Collection
from likewise.collection.keys import PREFIX, hour
from likewise.server.sessions import LASTS, RENEWED_AFTER
from tests.product.server.conftest import HOST, KEY, SESSIONS, Client, check_error, client_of

OWN = {"origin": f"http://{HOST}"}
NAME = SESSIONS.cookie


class Person:
    """Somebody with a key, as a program."""

    def __init__(self, client: Client, secret: str, id_: int) -> None:
        self.client, self.secret, self.id = client, secret, id_
        self.headers = {"authorization": f"Bearer {secret}"}

    def get(self, place: str) -> Any:
        return self.client.get(place, headers=self.headers)

    def post(self, place: str, said: Any = None) -> Any:
        return self.client.post(place, json={} if said is None else said, headers=self.headers)

    def said(self, place: str, said: Any = None, status: int = 200) -> Any:
        answer = self.post(place, said)
        assert answer.status_code == status, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def owner(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One server for this module: each test makes keys of its own."""
    copied = tmp_path_factory.mktemp("keys") / "photos.lw"
    shutil.copytree(home / "photos.lw", copied)
    with client_of(copied) as made:
        yield made


@pytest.fixture
def person(owner: Client) -> Iterator[Callable[[str, str], Person]]:
    """Makes people with keys; their names are free again afterwards."""
    made: list[int] = []

    def make(name: str, role: str) -> Person:
        said = owner.post_json("/api/keys", {"name": name, "role": role}, 201)
        made.append(said["key"]["id"])
        return Person(owner, said["secret"], said["key"]["id"])

    yield make
    for one in owner.get_json("/api/keys")["items"]:
        if one["id"] in made and one["revoked"] is None:
            owner.post_json(f"/api/keys/{one['id']}/revoke", {})


def collection_of(owner: Client) -> Collection:
    found: Collection = owner.inner.state.service.collection
    return found


def test_a_key_is_shown_once(owner: Client) -> None:
    answer = owner.post("/api/keys", json={"name": " Ada ", "role": "look"})
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    said = answer.json()
    assert said["secret"].startswith(PREFIX)
    assert len(said["secret"]) >= 40
    assert (said["key"]["name"], said["key"]["role"]) == ("Ada", "look")
    assert said["key"]["maker"] == "the page"
    assert said["secret"] not in owner.get("/api/keys").text
    for name in ("Ada", "ADA", "\uff41\uff44\uff41"):
        owner.refused("/api/keys", {"name": name, "role": "look"}, 409, "refused")
    owner.post_json(f"/api/keys/{said['key']['id']}/revoke", {})
    # Its name is free for another key, which is not the same one.
    again = owner.post_json("/api/keys", {"name": "Ada", "role": "manage"}, 201)
    assert again["key"]["id"] != said["key"]["id"]
    owner.post_json(f"/api/keys/{again['key']['id']}/revoke", {})
    owner.refused(f"/api/keys/{again['key']['id']}/revoke", {}, 409, "refused")
    owner.refused("/api/keys/4000000000/revoke", {}, 404, "unknown_name")


@pytest.mark.parametrize(
    "name",
    ["", " ", "a" * 41, "a\x1b[31m", "a\nb", "a\u202eb", "\u200bada", "12", "The Page", "owner"],
)
def test_names_that_mislead_are_refused(owner: Client, name: str) -> None:
    owner.refused("/api/keys", {"name": name, "role": "look"}, 422, "invalid")


def test_roles_that_are_none_are_refused(owner: Client) -> None:
    for role in ("", "Manage", "owner", None, ["look"]):
        owner.refused("/api/keys", {"name": "eve", "role": role}, 422, "invalid")


def test_guests_and_keys_do_not_share_a_name(
    owner: Client, person: Callable[[str, str], Person]
) -> None:
    person("Grace", "judge")
    owner.refused("/api/compare/shares", {"name": "grace"}, 409, "refused")
    owner.post_json("/api/compare/shares", {"name": "Edsger"}, 201)
    owner.refused("/api/keys", {"name": "EDSGER", "role": "look"}, 409, "refused")
    owner.post_json("/api/compare/unshare", {"name": "Edsger"})


def test_signing_in_with_a_key(owner: Client, person: Callable[[str, str], Person]) -> None:
    ada = person("ada", "judge")
    browser = Client(owner.app, base_url=f"http://{HOST}", headers=OWN)
    # One text for whatever is wrong with a key.
    said = {
        check_error(browser.post("/sign-in", json={"key": key}), 401, "not_let_in")
        for key in ("wrong", f"{ada.secret}x", ada.secret[:-1], PREFIX, "")
    }
    halves = browser.post("/sign-in", content=b'{"key": "\\ud800"}')
    assert said == {check_error(halves, 401, "not_let_in")}
    for body in (b"", b"[]", b'{"key": 1}', b"{" * 5000, b'"' + b"x" * 6000 + b'"'):
        check_error(browser.post("/sign-in", content=body), 422, "invalid")
    assert browser.get("/").status_code == 401
    answer = browser.post("/sign-in", json={"key": f" {ada.secret}\n"})
    assert answer.json() == {"name": "ada", "role": "judge"}
    assert "; HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
    assert ada.secret not in answer.headers["set-cookie"]
    assert browser.get("/").status_code == 200
    assert browser.get("/api/me").json() == {"guest": False, "name": "ada", "role": "judge"}
    check_error(browser.get("/api/keys"), 403, "role")
    # The number of another key in the cookie is no other session.
    value = browser.cookies[NAME]
    forged = value.replace(f".k{ada.id:x}.", f".k{ada.id + 1:x}.")
    assert forged != value
    for other in (forged, value.replace(f".k{ada.id:x}.", "."), f"{value}0"):
        answer = browser.get("/api/me", headers={"cookie": f"{NAME}={other}"})
        browser.cookies.clear()
        check_error(answer, 401, "not_let_in")
    browser.post("/sign-in", json={"key": ada.secret})
    assert browser.get("/").status_code == 200
    assert browser.post("/sign-out").headers["set-cookie"].startswith(f"{NAME}=;")
    assert browser.get("/").status_code == 401
    # Nobody signs somebody else's browser in from another page.
    elsewhere = {"origin": "http://evil.example"}
    answer = browser.post("/sign-in", json={"key": ada.secret}, headers=elsewhere)
    check_error(answer, 403, "wrong_origin")


def test_signing_in_with_the_servers_own_key(owner: Client) -> None:
    access = owner.inner.state.access
    browser = Client(owner.app, base_url=f"http://{HOST}", headers=OWN)
    assert browser.post("/sign-in", json={"key": KEY}).json() == {"name": "", "role": "manage"}
    assert browser.get("/api/me").json() == {"guest": False, "name": "", "role": "manage"}
    # It is that key's session: with another one the server starts anew.
    access.key = "another key of more than sixteen"
    try:
        assert browser.get("/").status_code == 401
    finally:
        access.key = KEY
    assert browser.get("/").status_code == 200


def test_a_session_of_a_key_is_renewed_as_what_it_is(
    owner: Client, person: Callable[[str, str], Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = person("ada", "look")
    sessions = owner.inner.state.access.sessions
    old = {"cookie": f"{NAME}={sessions.issue(ada.id)}"}
    later = time.time() + RENEWED_AFTER + 10
    monkeypatch.setattr("likewise.server.sessions.time.time", lambda: later)
    browser = Client(owner.app, base_url=f"http://{HOST}")
    cookie = browser.get("/", headers=old).headers["set-cookie"]
    assert f"={ada.id:x}." not in cookie
    assert f".k{ada.id:x}." in cookie
    monkeypatch.setattr("likewise.server.sessions.time.time", lambda: later + LASTS - 60)
    renewed = {"cookie": cookie.split(";")[0]}
    assert browser.get("/api/me", headers=renewed).json()["role"] == "look"


def test_revoking_ends_key_and_sessions_at_once(
    owner: Client, person: Callable[[str, str], Person]
) -> None:
    ada, bob = person("ada", "manage"), person("bob", "look")
    browser = Client(owner.app, base_url=f"http://{HOST}", headers=OWN)
    browser.post("/sign-in", json={"key": ada.secret})
    assert browser.get("/").status_code == 200
    # Another process does it: nothing is told to this server.
    with Collection.open(collection_of(owner).root) as other:
        assert other.keys.revoke("ada").revoked is not None
    assert browser.get("/").status_code == 401
    check_error(ada.get("/api/health"), 401, "not_let_in")
    check_error(browser.post("/sign-in", json={"key": ada.secret}), 401, "not_let_in")
    assert bob.get("/api/health").status_code == 200


def test_a_revoked_key_hears_nothing_more(
    owner: Client, person: Callable[[str, str], Person]
) -> None:
    """The stream of events of a key that was revoked ends at the next event, untold."""
    ada = person("ada", "look")
    events, col = owner.inner.state.events, collection_of(owner)

    async def heard() -> list[bytes]:
        stream = events.listen(lambda: col.revision, "", lambda: col.keys.of_id(ada.id) is not None)
        found = [await anext(stream)]
        events._put_event("progress", {"text": "before"})
        found.append(await anext(stream))
        col.keys.revoke("ada")
        events._put_event("progress", {"text": "after"})
        return found + [one async for one in stream]

    import anyio

    found = anyio.run(heard)
    assert any(b"before" in one for one in found)
    assert not any(b"after" in one for one in found)


def test_when_a_key_was_used_is_known_to_the_hour(
    owner: Client, person: Callable[[str, str], Person]
) -> None:
    ada = person("ada", "look")
    col = collection_of(owner)
    before = hour()
    assert ada.get("/api/health").status_code == 200
    deadline = time.monotonic() + 60
    while col.keys["ada"].used is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert col.keys["ada"].used in (before, hour())
    # Not a write a request.
    revision = col.revision
    for _ in range(5):
        assert ada.get("/api/health").status_code == 200
    owner.inner.state.service._notes.submit(lambda: None).result()
    assert col.revision == revision or hour() != before


def test_the_log_names_the_key(owner: Client, person: Callable[[str, str], Person]) -> None:
    ada = person("ada", "judge")
    a, b, c, d, *_ = owner.ids()
    line = ada.said("/api/judge", {"query": {"picture": a}, "liked": [b], "disliked": [c]})
    owner.post_json("/api/judge", {"query": {"picture": b}, "liked": [a], "disliked": [d]})
    tagged = ada.said("/api/tags/set", {"pictures": [a, b], "add": ["seen by ada"]})
    log = owner.get_json("/api/profiles/default/log")["items"]
    by = {one["number"]: one["who"] for one in log}
    assert by[line["judgement"]] == "ada"
    assert None in by.values()
    tag_line = collection_of(owner).tags.log(1)[0]
    assert (tag_line.number, tag_line.who) == (tagged["lines"][0], "ada")
    action = owner.get_json("/api/actions")["items"][0]
    assert (action["who"], action["key"]) == ("ada", ada.id)
    answered = ada.said("/api/compare/answers", {"anchor": a, "nearer": b, "farther": c}, 201)
    assert answered["progress"]["yours"] == 1
    waiting = owner.get_json("/api/compare/waiting")["items"]
    assert [(one["name"], one["answers"]) for one in waiting] == [("ada", 1)]


def test_a_judge_takes_back_their_own_and_nobody_elses(
    owner: Client, person: Callable[[str, str], Person]
) -> None:
    ada, bob = person("ada", "judge"), person("bob", "judge")
    a, b, c, d, *_ = owner.ids()
    said = {"query": {"picture": c}, "liked": [a], "disliked": [b]}
    first = ada.said("/api/judge", said)["judgement"]
    last = owner.post_json("/api/judge", {**said, "query": {"picture": d}})["judgement"]
    tags = ada.said("/api/tags/set", {"pictures": [a, b, c], "add": ["blue"]})
    starred = ada.said("/api/library/marks", {"pictures": [a, b], "stars": 3})["action"]
    compared = ada.said("/api/compare/answers", {"anchor": c, "nearer": a, "farther": b}, 201)
    for place, body, status, kind in (
        ("/api/undo", {"judgement": first}, 403, "not_yours"),
        ("/api/undo", {}, 409, "refused"),
        ("/api/tags/undo", {"lines": tags["lines"]}, 403, "not_yours"),
        ("/api/actions/undo", {"action": tags["action"]}, 403, "not_yours"),
        ("/api/actions/undo", {"action": starred}, 403, "not_yours"),
        ("/api/actions/undo", {"action": 10**9}, 404, "unknown_name"),
        ("/api/compare/undo", {"number": compared["number"]}, 409, "refused"),
    ):
        check_error(bob.post(place, body), status, kind)
    check_error(ada.post("/api/undo", {"judgement": last}), 403, "not_yours")
    # The last one is the last of one's own; the owner may take back everybody's.
    assert ada.said("/api/undo")["judgement"] == first
    assert ada.said("/api/actions/undo", {"action": starred})["restored"] == 2
    assert ada.said("/api/tags/undo", {"lines": tags["lines"]})["lines"] == tags["lines"]
    assert ada.said("/api/compare/undo", {"number": compared["number"]})["number"]
    owner.post_json("/api/undo", {"judgement": last})


def test_all_of_a_key_is_taken_back_and_stands_again(
    owner: Client, person: Callable[[str, str], Person]
) -> None:
    ada = person("ada lovelace", "judge")
    a, b, c, d, e, *_ = owner.ids()
    before = [owner.order(one) for one in (a, b, c)]
    for query in (a, b, c):
        others = [one for one in (a, b, c, d, e) if one != query]
        ada.said(
            "/api/judge", {"query": {"picture": query}, "liked": others[2:], "disliked": others[:1]}
        )
    ada.said("/api/tags/set", {"pictures": [a, b], "add": ["everything"]})
    after = [owner.order(one) for one in (a, b, c)]
    assert after != before
    # It need not work any more.
    owner.post_json(f"/api/keys/{ada.id}/revoke", {})
    done = owner.post_json(f"/api/keys/{ada.id}/take-back", {})
    assert (done["judgements"], done["tags"]) == (3, 1)
    assert [owner.order(one) for one in (a, b, c)] == before
    assert collection_of(owner).tags.all("everything") == []
    owner.refused(f"/api/keys/{ada.id}/take-back", {}, 409, "refused")
    undone = owner.post_json("/api/actions/undo", {"action": done["action"]})
    assert (undone["restored"], undone["left"]) == (4, 0)
    assert undone["action"]["kind"] == "takeback"
    assert [owner.order(one) for one in (a, b, c)] == after
    assert [row.pictures for row in collection_of(owner).tags.all("everything")] == [2]
    owner.post_json(f"/api/keys/{ada.id}/take-back", {})
    assert collection_of(owner).verify() == []


def test_a_job_is_named_after_who_began_it(
    owner: Client, person: Callable[[str, str], Person]
) -> None:
    grace = person("grace", "manage")
    ids = owner.ids()
    owner.post_json("/api/tags/set", {"pictures": ids[:4], "add": ["tagged"]})
    grace.said("/api/tags/all", {"above": 0.01}, 202)
    thread = owner.inner.state.work._thread
    thread.join(60)
    assert not thread.is_alive()
    action = owner.get_json("/api/actions")["items"][0]
    assert (action["kind"], action["who"], action["key"]) == ("suggest", "grace", grace.id)
