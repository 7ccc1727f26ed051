"""Metrics and maps over the wire: learned in the background, listed, drawn, coloured, forgotten."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise.server.routes_map import ACROSS, SPRITE, important, sprite
from tests.product.server.conftest import Client, N, check_error
from tests.product.server.waiting import ended


@pytest.fixture
def mapped(client: Client) -> Client:
    with ended(client) as told:
        client.post_json("/api/models", {"kind": "map", "name": "map"}, 202)
    assert told["what"] == "learn map"
    assert "There are no comparisons yet" in told["told"]
    return client


def test_a_map_is_learned_listed_and_ranked_by(mapped: Client) -> None:
    (made,) = mapped.get_json("/api/models")["items"]
    assert (made["name"], made["kind"], made["stale"], made["since"]) == ("map", "map", False, 0)
    assert made["agreement"] is None, "nobody said anything to hold out"
    names = {one["name"] for one in mapped.get_json("/api/similarities")["items"]}
    assert "map" in names
    first = mapped.ids()[0]
    found = mapped.search(first, by="map")
    assert found["total"] == N - 1
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) <= 0, "minus a distance"


def test_every_picture_has_a_place(mapped: Client) -> None:
    found = mapped.get_json("/api/maps/map")
    assert set(found["ids"]) == set(mapped.ids())
    assert len(found["x"]) == len(found["y"]) == N
    assert np.isfinite([found["x"], found["y"]]).all()
    assert len(set(zip(found["x"], found["y"], strict=True))) > 1


def test_a_sheet_shows_the_pictures_in_their_order(mapped: Client) -> None:
    found = mapped.get_json("/api/maps/map")
    answer = mapped.get(f"/api/maps/map/sheets/0?version={found['version']}")
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    pixels = np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"), float)
    assert pixels.shape == (SPRITE, ACROSS * SPRITE, 3), "sixteen pictures are one row"
    for place in (0, 7, 15):
        small = mapped.get(f"/api/pictures/{found['ids'][place]}/thumbnail?side=160").content
        seen = pixels[:, place * SPRITE : (place + 1) * SPRITE]
        assert np.abs(seen - sprite(small)).mean() < 12, "but for what JPEG loses"
    tag = {"if-none-match": answer.headers["etag"]}
    assert mapped.get("/api/maps/map/sheets/0", headers=tag).status_code == 304
    assert mapped.get("/api/maps/map/sheets/0").headers["cache-control"] == "no-store"
    check_error(mapped.get("/api/maps/map/sheets/1"), 422, "invalid")


def test_a_sheet_with_a_picture_that_is_gone_is_not_kept(
    mapped: Client, home: Path, root: Path, tmp_path: Path
) -> None:
    """Its disk may be back in a minute; here its thumbnails are gone with it."""
    shutil.rmtree(root / "thumbnails")
    away = tmp_path / "away"
    shutil.move(home / "pictures" / "odd", away)
    try:
        answer = mapped.get(
            f"/api/maps/map/sheets/0?version={mapped.get_json('/api/maps/map')['version']}"
        )
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
    finally:
        shutil.move(away, home / "pictures" / "odd")
    again = mapped.get(
        f"/api/maps/map/sheets/0?version={mapped.get_json('/api/maps/map')['version']}"
    )
    assert "immutable" in again.headers["cache-control"]
    assert again.content != answer.content


def test_the_order_of_importance_stays_when_pictures_come() -> None:
    before = [int(place) for place in important(list(range(1, 400)))]
    after = [place for place in important(list(range(1, 800))) if place < 399]
    assert before == after
    assert sorted(before) == list(range(399))
    assert before != sorted(before)


def test_a_sprite_of_any_picture_is_a_square(tmp_path: object) -> None:
    for width, height in ((400, 30), (3, 200), (40, 40), (1, 1)):
        held = io.BytesIO()
        Image.new("RGB", (width, height), (200, 40, 40)).save(held, "JPEG")
        made = sprite(held.getvalue())
        assert made.shape == (SPRITE, SPRITE, 3)
        assert np.abs(made.astype(int) - (200, 40, 40)).max() < 12


def test_colours_by_likeness_and_by_tag(mapped: Client) -> None:
    found = mapped.get_json("/api/maps/map")
    asked = found["ids"][3]
    said = {"query": {"picture": asked}, "by": "holistic"}
    ranks = mapped.post_json("/api/maps/map/likeness", said)["ranks"]
    order = mapped.order(asked, by="holistic")
    assert ranks[3] == 0
    assert ranks[found["ids"].index(order[0])] == 0
    assert ranks[found["ids"].index(order[-1])] == 1
    some = found["ids"][:5]
    mapped.post_json("/api/tags/set", {"pictures": some, "add": ["stone"]})
    told = mapped.get_json("/api/maps/map/tags")
    assert dict(zip(told["tags"], told["counts"], strict=True)) == {"stone": 5, "first": 1}
    at = {tag: i for i, tag in enumerate(told["tags"])}
    kinds = dict(zip(found["ids"], told["points"], strict=True))
    first = mapped.ids()[0]
    for one in found["ids"]:
        wanted = at["first"] if one == first else at["stone"] if one in some else -1
        assert kinds[one] == wanted


def test_a_metric_with_too_little_says_so(client: Client) -> None:
    with ended(client) as told:
        client.post_json("/api/models", {"kind": "metric", "name": "mine"}, 202)
    (made,) = client.get_json("/api/models")["items"]
    assert made["kind"] == "metric"
    assert made["learned"] is False
    assert made["told"] == told["told"] != ""
    first = client.ids()[0]
    assert client.order(first, by="mine") == client.order(first, by="holistic")


def test_a_model_is_renamed_and_forgotten(mapped: Client) -> None:
    mapped.post_json("/api/models/map/rename", {"name": "drawn"})
    assert [one["name"] for one in mapped.get_json("/api/models")["items"]] == ["drawn"]
    assert mapped.delete("/api/models/drawn").json() == {"items": []}
    check_error(mapped.get("/api/maps/drawn"), 404, "unknown_name")
    check_error(mapped.delete("/api/models/drawn"), 404, "unknown_name")


def test_a_name_that_is_taken_fails_in_the_background(mapped: Client) -> None:
    with pytest.raises(pytest.fail.Exception, match="choose another name"), ended(mapped):
        mapped.post_json("/api/models", {"kind": "metric", "name": "map"}, 202)


def test_what_was_said_since_is_counted(mapped: Client) -> None:
    one, two, three = mapped.ids()[:3]
    said = {"anchor": one, "nearer": two, "farther": three}
    mapped.post_json("/api/compare/answers", said, 201)
    (made,) = mapped.get_json("/api/models")["items"]
    assert made["since"] == 1
