"""Tags over the wire: list, complete, suggest, set many, accept, reject, undo, sidecars."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.product.server.conftest import Client, check_error
from tests.product.server.waiting import ended


@pytest.fixture
def tagged(client: Client) -> Client:
    """Half of the pictures are tagged by their folder."""
    names = client.ids()
    client.post_json("/api/tags/set", {"pictures": names[:4], "add": ["stone", "old"]})
    client.post_json("/api/tags/set", {"pictures": names[8:12], "add": ["glass"]})
    return client


def test_tags_are_listed_with_counts_and_completed(tagged: Client) -> None:
    found = tagged.get_json("/api/tags")["items"]
    assert {one["tag"]: one["pictures"] for one in found} == {
        "stone": 4, "old": 4, "glass": 4, "first": 1,
    }  # fmt: skip
    assert found[0]["sources"] == {"user": 4}
    begun = tagged.get_json("/api/tags?prefix=GL")["items"]
    assert [one["tag"] for one in begun] == ["glass"]


def test_pictures_nobody_tagged_come_in_their_order(tagged: Client) -> None:
    names = tagged.ids()
    found = tagged.get_json("/api/tags/untagged?limit=100")
    assert [one["id"] for one in found["items"]] == names[4:8] + names[12:]
    assert found["total"] == 8
    rest = tagged.get_json("/api/tags/untagged?limit=2&offset=3")
    assert [one["id"] for one in rest["items"]] == [names[7], names[12]]


def test_a_picture_gets_suggestions_with_what_is_behind_them(tagged: Client) -> None:
    names = tagged.ids()
    # Pictures come in pairs: the second shows what the first shows.
    tagged.post_json("/api/tags/set", {"pictures": [names[14]], "add": ["pair"]})
    found = tagged.get_json(f"/api/pictures/{names[15]}/tags")
    assert found["picture"]["id"] == names[15]
    assert found["tags"] == {}
    assert found["suggestions"], "something is tagged"
    for one in found["suggestions"]:
        assert 0 <= one["confidence"] <= 1
        assert all(0 < behind["weight"] <= 1 for behind in one["because"])
    by_tag = {one["tag"]: one for one in found["suggestions"]}
    assert by_tag["pair"]["because"][0]["picture"]["id"] == names[14]


def test_accepting_rejecting_and_undoing(tagged: Client) -> None:
    picture = tagged.ids()[13]
    place = f"/api/pictures/{picture}/tags"
    said = tagged.post_json("/api/tags/accept", {"picture": picture, "tag": "glass"})
    assert tagged.get_json(place)["tags"] == {"glass": ["accepted"]}
    again = tagged.post_json("/api/tags/accept", {"picture": picture, "tag": "glass"})
    assert again["lines"] == [], "it had been said"
    tagged.post_json("/api/tags/undo", {"lines": said["lines"]})
    assert tagged.get_json(place)["tags"] == {}

    no = tagged.post_json("/api/tags/reject", {"picture": picture, "tag": "glass"})
    found = tagged.get_json(place)
    assert found["refused"] == ["glass"]
    assert "glass" not in {one["tag"] for one in found["suggestions"]}
    tagged.post_json("/api/tags/undo", {"lines": no["lines"]})
    assert tagged.get_json(place)["refused"] == []


def test_many_are_tagged_at_once_or_not_at_all(tagged: Client) -> None:
    names = tagged.ids()
    both = {"pictures": names[:2], "add": ["new"], "remove": ["old"]}
    lines = tagged.post_json("/api/tags/set", both)["lines"]
    assert len(lines) == 2
    assert set(tagged.get_json(f"/api/pictures/{names[0]}/tags")["tags"]) == {
        "first", "new", "stone",
    }  # fmt: skip
    listed = tagged.get_json("/api/pictures?tag=new")
    assert {one["id"] for one in listed["items"]} == set(names[:2])
    tagged.post_json("/api/tags/undo", {"lines": lines})
    assert tagged.get_json("/api/pictures?tag=new")["total"] == 0

    unknown = {"pictures": [names[0], "99-0123456789ab"], "add": ["half"]}
    tagged.refused("/api/tags/set", unknown, 404, "unknown_picture")
    assert tagged.get_json("/api/pictures?tag=half")["total"] == 0
    torn = {"pictures": names[:1], "add": ["x"], "remove": ["x"]}
    assert "choose one" in tagged.refused("/api/tags/set", torn, 422, "invalid")


@pytest.mark.parametrize("tag", ["", "x" * 201, "   "])
def test_what_is_no_tag_is_refused(client: Client, tag: str) -> None:
    said = {"pictures": client.ids()[:1], "add": [tag]}
    client.refused("/api/tags/set", said, 422, "invalid")


def test_sidecars_are_written_below_a_folder(tagged: Client, tmp_path: Path) -> None:
    place = tmp_path / "sidecars"
    place.mkdir()
    with ended(tagged) as told:
        tagged.post_json("/api/tags/export", {"place": str(place)}, 202)
    assert told["what"] == "export"
    assert told["written"] == 8
    files = sorted(place.rglob("*.xmp"))
    assert len(files) == 8
    words = set()
    for file in files:
        tree = ElementTree.parse(file)
        words |= {one.text for one in tree.iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li")}
    assert {"stone", "old", "glass", "first"} <= words


def test_an_export_needs_tags_and_a_place(client: Client, tagged: Client) -> None:
    message = tagged.refused("/api/tags/export", {"place": "relative"}, 422, "invalid")
    assert "start it with /" in message


def test_all_pictures_are_tagged_in_the_background(tagged: Client) -> None:
    with ended(tagged) as told:
        tagged.post_json("/api/tags/all", {"above": 0.01}, 202)
    assert told["what"] == "tag"
    assert told["tagged"] > 0
    suggested = [
        one for one in tagged.get_json("/api/tags")["items"] if "suggested" in one["sources"]
    ]
    assert suggested
    tags = {one["tag"]: one for one in tagged.get_json("/api/tags")["items"]}
    assert tags["stone"]["pictures"] == 4, "suggestions are told by their source only"
    # A suggestion is no tag yet: nobody has looked.
    assert tagged.get_json("/api/tags/untagged")["total"] == 8


def test_bulk_work_without_any_tag_says_so(client: Client) -> None:
    (line,) = [client.ids()[0]]
    client.post_json("/api/tags/set", {"pictures": [line], "remove": ["first"]})
    answer = client.post("/api/tags/all", json={"above": 0.5})
    assert "tag some first" in check_error(answer, 409, "refused")
