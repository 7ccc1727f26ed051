"""Several pictures and colours over the wire."""

from __future__ import annotations

import pytest

from tests.product.server.conftest import Client


def test_several_pictures_find_what_is_like_all_of_them(reader: Client) -> None:
    one, other = reader.ids()[:2]
    found = reader.search(query={"pictures": [one, other]}, by="holistic")
    ids = [item["id"] for item in found["items"]]
    assert not {one, other} & set(ids)
    assert found["total"] == len(ids) == len(reader.ids()) - 2
    swapped = reader.search(query={"pictures": [other, one]}, by="holistic")
    assert [item["id"] for item in swapped["items"]] == ids
    alone = reader.search(query={"pictures": [one]}, by="holistic")
    assert [item["id"] for item in alone["items"]] == reader.order(one, by="holistic")


def test_pages_of_colours_fit_together(reader: Client) -> None:
    query = {"colours": ["#d02020", "#101010"]}
    whole = reader.search(query=query)
    ids = [item["id"] for item in whole["items"]]
    assert whole["total"] == len(ids) == len(reader.ids())
    scores = [item["score"] for item in whole["items"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1
    second = reader.search(query=query, offset=3, limit=4)
    assert [item["id"] for item in second["items"]] == ids[3:7]
    above = reader.search(query=query, above=scores[2])
    assert above["total"] == 3
    tagged = reader.search(query=query, where={"tag": "first"})
    assert tagged["total"] == 1


@pytest.mark.parametrize(
    "query",
    [
        {"colours": ["red"]},
        {"colours": []},
        {"colours": ["#000000"] * 6},
        {"pictures": []},
        {"colours": ["#000000"], "picture": "1"},
        {"colours": ["#000000"], "region": [0, 0, 4, 4]},
        {},
    ],
)
def test_what_is_no_question_is_refused(reader: Client, query: dict[str, object]) -> None:
    reader.refused("/api/search", {"query": query}, 422, "invalid")


def test_colours_go_without_words_and_are_not_explained(reader: Client) -> None:
    query = {"colours": ["#d02020"]}
    reader.refused("/api/search", {"query": query, "text": "cat"}, 422, "invalid")
    picture = reader.ids()[0]
    reader.refused("/api/explain", {"query": query, "picture": picture}, 422, "invalid")
    reader.refused("/api/judge", {"query": query, "liked": [picture]}, 422, "invalid")
    several = {"pictures": reader.ids()[1:3]}
    reader.refused("/api/judge", {"query": several, "liked": [picture]}, 422, "invalid")
