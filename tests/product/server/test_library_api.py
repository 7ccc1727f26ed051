"""The library over the wire: months, folders, places, marks, albums, duplicates."""

from __future__ import annotations

from tests.product.server.conftest import Client, N, check_error
from tests.product.server.waiting import ended


def test_months_folders_and_pictures_with_their_sources(client: Client) -> None:
    found = client.get_json("/api/library/months")
    assert found["total"] == N
    may = next(one for one in found["items"] if one["month"] == "2021-05")
    assert may == {"month": "2021-05", "pictures": 8, "by_name": 0, "by_file": 0, "days": []}
    assert sum(one["by_file"] for one in found["items"]) == 8
    page = client.get_json("/api/library/months/2021-05?limit=3&offset=1")["items"]
    assert [one["moment"] for one in page] == [f"2021-05-0{day}T10:00:00" for day in (7, 6, 5)]
    assert {one["source"] for one in page} == {"exif"}
    assert page[0]["thumbnail"].startswith("/api/pictures/")
    assert client.get_json("/api/library/cameras")["items"] == [
        {"camera": "SECRET CAMERA", "pictures": N}
    ]
    tree = client.get_json("/api/library/folders")["items"]
    assert [(one["name"], one["depth"], one["all"]) for one in tree] == [
        ("pictures", 0, N), ("even", 1, N // 2), ("odd", 1, N // 2),
    ]  # fmt: skip
    inside = client.get_json(f"/api/library/months?folder={tree[1]['path']}")
    assert inside["total"] == N // 2
    assert "month" in check_error(client.get("/api/library/months/July"), 422, "invalid")


def test_marks_are_set_told_and_restored(client: Client) -> None:
    ids = client.ids()
    done = client.post_json("/api/library/marks", {"pictures": ids[:3], "stars": 4})
    assert done["before"] == [
        {"picture": one, "stars": 0, "favourite": False, "hidden": False} for one in ids[:3]
    ]
    client.post_json("/api/library/marks", {"pictures": ids[:1], "favourite": True})
    about = client.get_json(f"/api/library/pictures/{ids[0]}")
    assert (about["stars"], about["favourite"], about["albums"]) == (4, True, [])
    assert about["source"] in ("exif", "file")
    listed = client.get_json("/api/pictures?sort=added&order=asc")["items"]
    assert [(one["stars"], one["favourite"]) for one in listed[:4]] == [
        (4, True), (4, False), (4, False), (0, False),
    ]  # fmt: skip
    found = client.search(ids[3], limit=100)["items"]
    assert {one["id"] for one in found if one["stars"] == 4} == set(ids[:3])
    assert client.get_json("/api/library/months?stars=3")["total"] == 3
    assert client.get_json("/api/library/months?favourite=true")["total"] == 1
    client.post_json("/api/library/marks/restore", {"before": done["before"]})
    assert client.get_json("/api/library/months?stars=1")["total"] == 0
    said = client.refused("/api/library/marks", {"pictures": ids[:1]}, 422, "invalid")
    assert "nothing to mark" in said
    unknown = {"pictures": ["1-abc"], "stars": 1}
    client.refused("/api/library/marks", unknown, 404, "unknown_picture")


def test_hidden_pictures_are_left_out_of_answers(client: Client) -> None:
    ids = client.ids()
    asked = {"query": {"picture": ids[0]}, "limit": 100}
    assert client.post_json("/api/search", asked)["total"] == N - 1
    client.post_json("/api/library/marks", {"pictures": ids[1:4], "hidden": True})
    answer = client.post_json("/api/search", asked)
    assert answer["total"] == N - 4
    assert not {one["id"] for one in answer["items"]} & set(ids[1:4])
    assert client.get_json("/api/pictures?limit=100")["total"] == N - 3
    assert client.get_json("/api/library/months")["total"] == N - 3
    assert client.get_json("/api/library/months?hidden=only")["total"] == 3
    both = client.post_json("/api/search", {**asked, "where": {"hidden": "any"}})
    assert both["total"] == N - 1


def test_albums_are_made_filled_renamed_and_deleted(client: Client) -> None:
    ids = client.ids()
    made = client.post_json("/api/library/albums/add", {"album": "Sea", "pictures": ids[:4]})
    action = made.pop("action")
    assert made == {"album": "Sea", "pictures": ids[:4], "made": True}
    assert client.get_json("/api/actions")["items"][0]["id"] == action
    taken = client.post_json("/api/library/albums/take", {"album": "Sea", "pictures": ids[:1]})
    assert taken["pictures"] == ids[:1]
    (album,) = client.get_json("/api/library/albums")["items"]
    assert (album["name"], album["pictures"]) == ("Sea", 3)
    assert album["cover"]["id"] in ids[1:4]
    assert client.get_json("/api/library/months?album=Sea")["total"] == 3
    named = client.post_json("/api/library/albums/rename", {"album": "Sea", "name": "Shore"})
    assert [one["name"] for one in named["items"]] == ["Shore"]
    said = client.refused("/api/library/albums/delete", {"album": "Sea"}, 404, "unknown_name")
    assert "Shore" in said
    gone = client.post_json("/api/library/albums/delete", {"album": "Shore"})
    assert sorted(gone["pictures"]) == sorted(ids[1:4])
    assert client.get_json("/api/library/albums")["items"] == []


def test_places_need_both_numbers(client: Client) -> None:
    # The photographs of these tests say how far north they were taken, and nothing more.
    assert client.get_json("/api/library/places") == {"ids": [], "latitude": [], "longitude": []}


def test_duplicates_are_a_job_and_its_groups(client: Client) -> None:
    nobody = client.get_json("/api/library/duplicates")
    assert (nobody["looked"], nobody["groups"]) == (None, [])
    assert "most pixels" in nobody["rule"]
    with ended(client) as done:
        client.post_json("/api/library/duplicates", {}, 202)
    assert done["what"] == "duplicates"
    found = client.get_json("/api/library/duplicates")
    assert found["looked"] == N
    assert len(found["groups"]) == done["groups"]
    for group in found["groups"]:
        first, *rest = group["pictures"]
        assert all(first["width"] * first["height"] >= one["width"] * one["height"] for one in rest)
