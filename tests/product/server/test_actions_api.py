"""Bulk actions over the wire: listed, undone, removing, sidecars planned, suggestions settled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.product.server.conftest import Client
from tests.product.server.waiting import ended


def actions(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get_json("/api/actions")["items"]
    return found


def undo(client: Client, action: int) -> Any:
    return client.post_json("/api/actions/undo", {"action": action})


def test_many_are_tagged_listed_and_undone(client: Client) -> None:
    names = client.ids()
    done = client.post_json("/api/tags/set", {"pictures": names[:5], "add": ["sea"]})
    (one,) = actions(client)
    assert (one["id"], one["pictures"], one["what"]) == (done["action"], 5, "Tagged “sea”")
    assert (one["who"], one["undone"]) == ("the page", None)
    client.post_json("/api/tags/reject", {"picture": names[0], "tag": "sea"})
    back = undo(client, done["action"])
    assert (back["restored"], back["left"], back["problems"]) == (4, 1, [])
    assert back["action"]["undone"] is not None
    assert client.get_json("/api/pictures?tag=sea")["total"] == 0
    client.refused("/api/actions/undo", {"action": done["action"]}, 409, "refused")
    client.refused("/api/actions/undo", {"action": 99}, 404, "unknown_name")
    client.refused("/api/actions/undo", {"action": 0}, 422, "invalid")

    single = client.post_json("/api/tags/set", {"pictures": names[:1], "add": ["alone"]})
    assert (single["action"], len(single["lines"])) == (None, 1)


def test_pictures_are_removed_and_come_back(client: Client, home: Path) -> None:
    names = client.ids()
    before = {one["name"] for one in client.get_json("/api/pictures?limit=100")["items"]}
    done = client.post_json("/api/pictures/remove", {"pictures": names[:3]})
    assert (done["pictures"], done["moved"], done["problems"]) == (3, 0, [])
    assert client.get_json("/api/pictures")["total"] == 13
    assert client.get(f"/api/pictures/{names[0]}").status_code == 404
    with ended(client) as told:
        client.post_json("/api/collection/sync", None, 202)
    assert told["added"] == 0, "a re-scan does not bring them back"
    assert undo(client, done["action"])["restored"] == 3
    after = {one["name"] for one in client.get_json("/api/pictures?limit=100")["items"]}
    assert after == before
    assert client.get_json("/api/pictures?tag=first")["total"] == 1, "with its tag"


def test_removing_from_disk_is_asked_twice(client: Client, home: Path) -> None:
    said = {"pictures": client.ids()[:1], "from_disk": True}
    message = client.refused("/api/pictures/remove", said, 422, "invalid")
    assert "removed" in message
    assert client.get_json("/api/pictures")["total"] == 16
    path = Path(client.get_json(f"/api/pictures/{said['pictures'][0]}")["path"])
    done = client.post_json("/api/pictures/remove", {**said, "sure": True})
    try:
        assert (done["moved"], path.exists()) == (1, False)
    finally:
        undo(client, done["action"])
    assert path.is_file()


def test_sidecars_are_planned_written_and_taken_back(client: Client, tmp_path: Path) -> None:
    client.post_json("/api/tags/set", {"pictures": client.ids()[:4], "add": ["sea"]})
    beside = client.post_json("/api/tags/export/plan", {"place": "beside"})
    assert (beside["new"], beside["changed"], beside["problems"]) == (4, 0, 0)
    assert sum(one["files"] for one in beside["folders"]) == 4
    assert beside["n_folders"] == len(beside["folders"])
    place = tmp_path / "sidecars"
    plan = client.post_json("/api/tags/export/plan", {"place": str(place)})
    assert plan["new"] == 4
    assert not place.exists()
    client.refused("/api/tags/export/plan", {"place": "relative"}, 422, "invalid")
    with ended(client) as told:
        client.post_json("/api/tags/export", {"place": str(place)}, 202)
    assert told["action"] == actions(client)[0]["id"]
    assert actions(client)[0]["who"] == "the page"
    assert len(list(place.rglob("*.xmp"))) == 4
    assert undo(client, told["action"])["restored"] == 4
    assert list(place.rglob("*.xmp")) == []


def test_suggestions_of_a_tag_are_settled_in_one_step(client: Client) -> None:
    names = client.ids()
    client.post_json("/api/tags/set", {"pictures": names[:8:2], "add": ["sea"]})
    with ended(client) as told:
        client.post_json("/api/tags/all", {"above": 0.01}, 202)
    assert told["action"] is not None
    found = client.get_json("/api/tags/suggested?tag=sea")
    ids = [one["id"] for one in found["items"]]
    assert found["total"] == len(ids) > 2
    second = client.get_json("/api/tags/suggested?tag=sea&offset=1&limit=1")
    assert [one["id"] for one in second["items"]] == ids[1:2]

    said = {"tag": "sea", "accept": ids[1:], "reject": ids[:1]}
    done = client.post_json("/api/tags/settle", said)
    assert client.get_json("/api/tags/suggested?tag=sea")["total"] == 0
    assert client.get_json(f"/api/pictures/{ids[0]}/tags")["refused"] == ["sea"]
    assert undo(client, done["action"])["restored"] == len(ids)
    assert client.get_json("/api/tags/suggested?tag=sea")["total"] == len(ids)
    assert undo(client, told["action"])["left"] == 0
    assert client.get_json("/api/tags/suggested?tag=sea")["total"] == 0
    client.refused("/api/tags/settle", {"tag": "sea"}, 422, "invalid")


@pytest.mark.parametrize("place", ["/api/actions/undo", "/api/pictures/remove", "/api/tags/settle"])
def test_who_has_no_key_does_nothing(client: Client, place: str) -> None:
    answer = client.post(place, json={}, headers={"authorization": "Bearer no"})
    assert answer.status_code == 401
