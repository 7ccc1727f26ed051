"""Filters over the wire: partial names, and a typed refusal of keys that are none."""

from __future__ import annotations

from tests.product.server.conftest import Client, N, check_error


def test_folders_and_cameras_by_a_part_of_their_name(reader: Client) -> None:
    def total(**where: str) -> int:
        listed = reader.get_json("/api/pictures", params=where)["total"]
        assert reader.search(text="picture", query=None, where=where)["total"] <= listed
        found = reader.search(reader.ids()[0], where=where)["total"]
        assert listed - 1 <= found <= listed
        return int(listed)

    assert total(folder="odd") == N // 2
    assert total(folder="pictures/EVEN") == N // 2
    assert total(folder="pic") == N
    assert total(folder="nowhere") == 0
    assert total(camera="secret") == N
    assert total(camera="leica") == 0
    assert total(format="jpg") == N


def test_a_key_that_is_no_filter_is_refused(reader: Client) -> None:
    answer = reader.get("/api/pictures?colour=red")
    assert "camera" in check_error(answer, 422, "unknown_filter")
    query = {"picture": reader.ids()[0]}
    said = reader.refused(
        "/api/search", {"query": query, "where": {"colour": "red"}}, 422, "unknown_filter"
    )
    assert said.startswith("'colour' is no filter; there are ")
    assert "folder" in said
    # Other fields are told as before.
    reader.refused("/api/search", {"query": query, "colour": "red"}, 422, "invalid")
