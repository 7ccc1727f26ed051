"""Comparisons over the wire: questions, answers, undo, guests with a link, agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from likewise.server import roles
from likewise.server.access import GUESTS, Access, allowed_hosts, cookie_name
from likewise.server.app import make_app
from tests.product.server.conftest import HOST, SESSIONS, Client, check_error, client_of


def answered(client: Client, n: int) -> list[int]:
    """Answer n questions: the left one is closer."""
    numbers = []
    while len(numbers) < n:
        asked = client.get_json("/api/compare/questions?n=10")["questions"]
        assert asked, "there are always questions"
        for one in asked[: n - len(numbers)]:
            said = {
                "anchor": one["anchor"]["id"],
                "nearer": one["left"]["id"],
                "farther": one["right"]["id"],
            }
            numbers.append(client.post_json("/api/compare/answers", said, 201)["number"])
    return numbers


def test_questions_are_about_three_pictures(client: Client) -> None:
    found = client.get_json("/api/compare/questions?n=6")
    assert len(found["questions"]) == 6
    for one in found["questions"]:
        assert len({one[part]["id"] for part in ("anchor", "left", "right")}) == 3
    untested = {"agreement": None, "plain": None, "gain": None, "tested": 0}
    assert found["progress"] == {"yours": 0, "all": 0, "since": 0, "goal": 20, **untested}


def test_answers_are_counted_and_taken_back(client: Client) -> None:
    numbers = answered(client, 3)
    assert numbers == sorted(set(numbers))
    undone = client.post_json("/api/compare/undo", {"number": numbers[1]})
    assert undone["progress"]["all"] == 2
    message = client.refused("/api/compare/undo", {"number": numbers[1]}, 409, "refused")
    assert "not one of your answers" in message


def test_an_answer_names_three_pictures(client: Client) -> None:
    one, two = client.ids()[:2]
    said = {"anchor": one, "nearer": one, "farther": two}
    client.refused("/api/compare/answers", said, 422, "invalid")
    said = {"anchor": one, "nearer": "nobody", "farther": two}
    client.refused("/api/compare/answers", said, 404, "unknown_picture")


def test_other_questions_come_for_another_number(client: Client) -> None:
    """Who skips writes nothing, and wants to be asked something else all the same."""
    asked = [client.get_json(f"/api/compare/questions?n=4&seed={seed}") for seed in (1, 2, 1)]
    sets = [{tuple(q[p]["id"] for p in q) for q in found["questions"]} for found in asked]
    assert sets[0] == sets[2] != sets[1]


def test_an_answer_sent_twice_counts_once(client: Client) -> None:
    one, two, three = client.ids()[:3]
    said = {"anchor": one, "nearer": two, "farther": three, "once": "a name made up"}
    first = client.post_json("/api/compare/answers", said, 201)
    again = client.post_json("/api/compare/answers", said, 201)
    assert first["number"] == again["number"]
    assert again["progress"]["all"] == 1
    other = client.post_json("/api/compare/answers", {**said, "once": "another"}, 201)
    assert other["progress"]["all"] == 2


def test_a_report_without_answers_is_empty(client: Client) -> None:
    found = client.get_json("/api/compare/report")
    assert (found["people"], found["repeated"]) == ([], None)
    assert found["progress"]["all"] == 0


@pytest.fixture
def guest(client: Client, root: Path) -> Any:
    """Somebody who opened a link, on the same server."""
    address = client.post_json("/api/compare/shares", {"name": "Ada"}, 201)["address"]
    token = address.partition("token=")[2]
    with client_of(
        root, cookie=f"{GUESTS}{cookie_name(HOST)}={token}", origin=f"http://{HOST}"
    ) as made:
        made.token = token  # type: ignore[attr-defined]
        yield made


def test_a_link_lets_in_to_answer_and_nothing_else(client: Client, guest: Client) -> None:
    assert guest.get_json("/api/me") == {"guest": True, "name": "Ada", "role": "guest"}
    assert client.get_json("/api/me") == {"guest": False, "name": "", "role": "manage"}
    answered(guest, 2)
    question = guest.get_json("/api/compare/questions?n=1")["questions"][0]
    assert guest.get(question["left"]["thumbnail"]).status_code == 200
    shown = [question[part] for part in ("anchor", "left", "right")]
    assert {(one["name"], one["folder"], one["date"]) for one in shown} == {("picture", "", None)}
    for place in (
        "/api/pictures", "/api/collection", "/api/similarities", "/api/models", "/api/tags",
        "/api/compare/shares", "/api/compare/report", "/api/openapi.json", "/api/events",
        f"/api/pictures/{question['left']['id']}", "/api/metrics", "/api/compare/questions/",
    ):  # fmt: skip
        check_error(guest.get(place), 403, "guest")
    judged = {"query": {"picture": question["left"]["id"]}, "liked": []}
    check_error(guest.post("/api/judge", json=judged), 403, "guest")
    check_error(guest.post("/api/compare/shares", json={"name": "Eve"}), 403, "guest")


def test_a_link_is_no_key_to_the_collection(
    client: Client, guest: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only pictures of a guest's own questions are shown, small, and only so many."""
    listed = client.get_json("/api/pictures?limit=1000")["items"]
    for one in listed:
        check_error(guest.get(one["thumbnail"]), 404, "unknown_picture")
    asked = guest.get_json("/api/compare/questions?n=50")["questions"]
    assert len(asked) <= roles.GUEST_QUESTIONS
    left = asked[0]["left"]
    assert guest.get(left["thumbnail"]).status_code == 200
    check_error(guest.get(f"/api/pictures/{left['id']}/image"), 403, "guest")
    seen = {one[side]["id"] for one in asked for side in ("anchor", "left", "right")}
    monkeypatch.setattr(roles, "GUEST_PICTURES", len(seen))
    monkeypatch.setattr(roles, "PICTURES_PER_ANSWER", 0)
    for seed in range(200):
        answer = guest.get(f"/api/compare/questions?n=8&seed={seed}")
        if answer.status_code != 200:
            break
    assert "answer some, then go on" in check_error(answer, 409, "busy")
    others = [one for one in listed if one["id"] not in seen]
    assert others
    for one in others:
        check_error(guest.get(one["thumbnail"]), 404, "unknown_picture")


def test_answers_are_told_apart_by_who_gave_them(client: Client, guest: Client) -> None:
    answered(guest, 3)
    mine = answered(client, 2)
    assert guest.get_json("/api/compare/questions")["progress"]["yours"] == 3
    told = client.get_json("/api/compare/questions")["progress"]
    assert (told["yours"], told["all"]) == (2, 5)
    report = client.get_json("/api/compare/report")
    assert {one["name"]: one["answers"] for one in report["people"]} == {"": 2, "Ada": 3}
    assert client.get_json("/api/compare/shares")["items"][0]["answers"] == 3
    # A guest takes back their own answers only.
    guest.refused("/api/compare/undo", {"number": mine[0]}, 409, "refused")


def test_what_a_guest_says_waits_until_the_owner_takes_it_in(client: Client, guest: Client) -> None:
    answered(guest, 2)
    (waits,) = client.get_json("/api/compare/waiting")["items"]
    assert waits == {"profile": "ada-answers", "name": "Ada", "answers": 2}
    assert client.get_json("/api/profiles/default/log")["items"] == []
    check_error(guest.get("/api/compare/waiting"), 403, "guest")
    check_error(guest.post("/api/compare/take-in", json={}), 403, "guest")
    taken = client.post_json("/api/compare/take-in", {"answers": "ada-answers"})
    assert taken == {"before": 0, "items": [waits]}
    (line,) = client.get_json("/api/profiles/default/log")["items"]
    assert (line["kind"], line["person"], line["answers"]) == ("merge", "Ada", 2)
    assert client.get_json("/api/compare/waiting")["items"] == []
    client.refused("/api/compare/take-in", {}, 409, "refused")


def test_people_who_answer_the_same_are_seen_to_agree(client: Client, guest: Client) -> None:
    one = client.get_json("/api/compare/questions?n=1")["questions"][0]
    said = {
        "anchor": one["anchor"]["id"],
        "nearer": one["left"]["id"],
        "farther": one["right"]["id"],
    }
    client.post_json("/api/compare/answers", said, 201)
    guest.post_json("/api/compare/answers", said, 201)
    found = client.get_json("/api/compare/report")["repeated"]
    assert found == {"questions": 1, "agreement": 1.0}


def test_a_closed_link_opens_nothing(client: Client, guest: Client) -> None:
    answered(guest, 1)
    client.post_json("/api/compare/unshare", {"name": "Ada"})
    check_error(guest.get("/api/compare/questions"), 401, "not_let_in")
    assert client.get_json("/api/compare/questions")["progress"]["all"] == 1, "what was said stays"
    client.refused("/api/compare/unshare", {"name": "Ada"}, 404, "unknown_name")


def test_the_link_itself_becomes_a_cookie(client: Client, guest: Client, root: Path) -> None:
    with client_of(root, accept="text/html") as visitor:
        answer = visitor.get(f"/?token={guest.token}")  # type: ignore[attr-defined]
        assert answer.status_code == 303
        assert answer.headers["location"] == "/?view=compare"
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{GUESTS}{cookie_name(HOST)}="), "the owner's stays as it is"
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        # It is no ticket: it works again, until it is closed.
        assert visitor.get(f"/?token={guest.token}").status_code == 303  # type: ignore[attr-defined]
        assert visitor.get("/?token=something-else").status_code == 401


def test_the_owner_stays_the_owner_with_a_guests_cookie_too(
    client: Client, guest: Client, root: Path
) -> None:
    own = f"{SESSIONS.cookie}={SESSIONS.issue()}"
    cookies = f"{GUESTS}{cookie_name(HOST)}={guest.token}; {own}"  # type: ignore[attr-defined]
    with client_of(root, cookie=cookies, origin=f"http://{HOST}") as both:
        assert both.get_json("/api/me") == {"guest": False, "name": "", "role": "manage"}


def test_without_a_key_there_are_no_links(root: Path) -> None:
    guarded, _ = make_app(root, Access(allowed_hosts("127.0.0.1", 8700), None, None))
    with Client(guarded, base_url=f"http://{HOST}") as anybody:
        message = anybody.refused("/api/compare/shares", {"name": "Ada"}, 409, "refused")
        assert "start it with a key" in message


def test_names_of_links_are_names(client: Client) -> None:
    client.post_json("/api/compare/shares", {"name": " Ada "}, 201)
    assert "already" in client.refused("/api/compare/shares", {"name": "Ada"}, 409, "refused")
    client.refused("/api/compare/shares", {"name": "a\nb"}, 422, "invalid")
    client.refused("/api/compare/shares", {"name": "  "}, 422, "invalid")
    # The token itself is kept nowhere.
    (share,) = client.inner.state.service.collection.shares
    assert share.name == "Ada"
    assert len(share.digest) == 48


def test_a_new_guest_of_the_same_name_takes_back_nothing_of_the_former(
    client: Client, guest: Client, root: Path
) -> None:
    (number,) = answered(guest, 1)
    client.post_json("/api/compare/unshare", {"name": "Ada"})
    address = client.post_json("/api/compare/shares", {"name": "Ada"}, 201)["address"]
    token = address.partition("token=")[2]
    with client_of(
        root, cookie=f"{GUESTS}{cookie_name(HOST)}={token}", origin=f"http://{HOST}"
    ) as other:
        message = other.refused("/api/compare/undo", {"number": number}, 409, "refused")
        assert "not one of your answers" in message
        (own,) = answered(other, 1)
        assert other.post_json("/api/compare/undo", {"number": own})["number"] == own
    assert client.post_json("/api/compare/undo", {"number": number})["number"] == number
