"""Every route: what it gives, and what it says when it cannot."""

from __future__ import annotations

import io
import json
import shutil
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import compress, crc32

import numpy as np
import pytest
from PIL import Image

from likewise._version import __version__
from likewise.catalog.cache import cache_of
from likewise.catalog.jobs import lease
from likewise.catalog.sqlite_catalog import SQLiteCatalog
from likewise.collection.collection import Collection
from likewise.search.searcher import Searcher
from likewise.server import schemas, service
from likewise.vision.deep import libraries
from tests.product.collection import pair_cases
from tests.product.private import connections_of
from tests.product.server.conftest import Client, N, check_error, client_of
from tests.product.vision.deep_cases import needs_deep

PICTURE = {
    "id", "name", "folder", "width", "height", "date", "date_source", "thumbnail", "image",
}  # fmt: skip
MARKS = {"stars", "favourite", "hidden"}


def opened(content: bytes) -> Any:
    return Image.open(io.BytesIO(content))


def upload(client: Client, path: Path) -> str:
    answer = client.post("/api/uploads", content=path.read_bytes())
    assert answer.status_code == 201, answer.text
    said = schemas.UploadOut(**answer.json())
    with Image.open(path) as image:
        assert (said.width, said.height) == image.size
    return said.upload


# -- search ---------------------------------------------------------------------------------


def test_search_by_a_picture(reader: Client) -> None:
    picture, *others = reader.ids()
    found = reader.search(picture)
    schemas.SearchOut.model_validate(found, strict=True)
    assert set(found["items"][0]) == PICTURE | MARKS | {"score", "verdict", "reasons"}
    assert found["total"] == N - 1
    assert {item["id"] for item in found["items"]} == set(others)
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)
    assert (found["scores"]["highest"], found["scores"]["lowest"]) == (scores[0], scores[-1])
    assert (found["by"], found["profile"]) == ("default", "default")
    assert found["learned"] == {"liked": 0, "disliked": 0}
    # Its other view is what it is most like.
    first = reader.get_json(f"/api/pictures/{picture}")
    assert found["items"][0]["name"].split("-")[0] == first["name"].split("-")[0]


@pytest.mark.parametrize("by", ["both", "words", "holistic", "default"])
def test_pages_fit_together(reader: Client, by: str) -> None:
    picture = reader.ids()[3]
    whole = reader.search(picture, by=by)
    for size in (1, 4, 7):
        paged: list[Any] = []
        while True:
            page = reader.search(picture, by=by, limit=size, offset=len(paged))
            assert page["total"] == whole["total"] == N - 1
            if not page["items"]:
                break
            paged += page["items"]
        assert paged == whole["items"]
    assert reader.search(picture, by=by, offset=10_000)["items"] == []


def test_what_was_found_first_stays_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fused ranking looks deeper for a longer answer, which moves places about."""
    monkeypatch.setattr(service, "FIRST_RESULTS", 5)
    find = Searcher.find

    def moved(self: Searcher, query: Any, k: int, **options: Any) -> Any:
        found = find(self, query, k, **options)
        return replace(found, ids=found.ids[::-1]) if k > 5 else found

    monkeypatch.setattr(Searcher, "find", moved)
    with client_of(root) as client:
        for picture in client.ids()[:4]:
            one_by_one = [
                client.search(picture, limit=1, offset=i)["items"][0]["id"] for i in range(N - 1)
            ]
            assert len(set(one_by_one)) == N - 1
            assert client.order(picture) == one_by_one
            assert client.order(picture, limit=5) == one_by_one[:5]
            scores = [item["score"] for item in client.search(picture)["items"]]
            assert scores == sorted(scores, reverse=True)
            assert client.search(picture, limit=2)["total"] == N - 1
    # From nothing kept, the same again.
    monkeypatch.setattr(service, "KEPT_ANSWERS", 0)
    with client_of(root) as client:
        for i in range(N - 1):
            page = client.search(picture, limit=1, offset=i)
            assert [item["id"] for item in page["items"]] == one_by_one[i : i + 1]


def test_the_total_counts_what_has_vectors(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.open(root) as col:
        col.spaces.add("mine", {"feature": "own", "kind": "dense"})
        col.spaces.add_vectors("mine", [1, 2, 3, 4], np.eye(4, dtype=np.float32))
    monkeypatch.setattr(service, "FIRST_RESULTS", 2)
    with client_of(root) as client:
        page = client.search(client.ids()[0], by="mine", limit=1)
        assert page["total"] == 3
        assert len(client.search(client.ids()[0], by="mine")["items"]) == 3
        message = client.refused(
            "/api/search", {"query": {"picture": client.ids()[9]}, "by": "mine"}, 404,
            "unknown_picture",
        )  # fmt: skip
        assert "mine" in message


def test_search_by_an_upload(reader: Client, home: Path) -> None:
    path = sorted((home / "outside").iterdir())[0]
    name = upload(reader, path)
    found = reader.search(query={"upload": name})
    assert found["total"] == len(found["items"]) == N
    assert found["items"][0]["name"].startswith(path.stem)
    # Bytes of a picture that is there are that picture.
    inside = upload(reader, next((home / "pictures").rglob("coffee-0.jpg")))
    assert reader.search(query={"upload": inside})["total"] == N - 1
    shown = reader.get(f"/api/uploads/{name}/image")
    assert shown.headers["content-type"] == "image/jpeg"
    with Image.open(path) as image:
        assert opened(shown.content).size == image.size
    assert b"SECRET" not in shown.content


def test_search_by_a_region(reader: Client, home: Path) -> None:
    picture = reader.ids()[0]
    about = reader.get_json(f"/api/pictures/{picture}")
    half = [0, 0, about["width"] / 2, about["height"]]
    found = reader.search(query={"picture": picture, "region": half})
    assert found["total"] == len(found["items"])
    assert found["items"] != reader.search(picture)["items"]
    name = upload(reader, sorted((home / "outside").iterdir())[0])
    assert reader.search(query={"upload": name, "region": [10, 10, 90, 90]})["items"]
    for region in ([5000, 0, 10, 10], [0, 0, 0, 0], [0, 0, -5, 5]):
        reader.refused(
            "/api/search", {"query": {"picture": picture, "region": region}}, 422, "invalid"
        )


def test_cut_off_filters_and_dates(reader: Client, home: Path) -> None:
    picture = reader.ids()[0]
    whole = reader.search(picture, by="holistic")
    middle = whole["items"][6]["score"]
    cut = reader.search(picture, by="holistic", above=middle, limit=3)
    assert cut["total"] == 7
    assert cut["items"] == whole["items"][:3]
    assert reader.search(picture, by="holistic", above=2.0)["total"] == 0
    odd = str(home / "pictures" / "odd")
    some = reader.search(picture, where={"folder": odd})
    assert some["total"] == len(some["items"]) == N // 2
    assert {item["folder"] for item in some["items"]} == {"pictures/odd"}
    assert reader.search(reader.ids()[1], where={"tag": "first"})["total"] == 1
    assert reader.search(picture, where={"format": "png"})["total"] == 0
    dated = reader.search(picture, where={"after": "2021-05-03", "before": "2021-05-06"})
    assert {item["date"][:10] for item in dated["items"]} == {
        "2021-05-03", "2021-05-04", "2021-05-05",
    }  # fmt: skip
    by_date = reader.search(picture, sort="date")
    dates = [item["date"] or "" for item in by_date["items"]]
    assert dates == sorted(dates, reverse=True)
    assert dates[-1][:10] == "2021-05-02", "the oldest; those without EXIF have their file's time"
    assert by_date["total"] == N - 1
    page = reader.search(picture, sort="date", offset=3, limit=5)
    assert page["items"] == by_date["items"][3:8]


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({}, "query"),
        ({"query": {}}, "one of"),
        ({"query": {"picture": "1", "upload": "2"}}, "one of"),
        ({"query": {"picture": "x" * 100}}, "64"),
        ({"query": {"picture": 7}}, "string"),
        ({"query": {"picture": "a"}, "limit": 0}, "limit"),
        ({"query": {"picture": "a"}, "limit": 1001}, "limit"),
        ({"query": {"picture": "a"}, "offset": -1}, "offset"),
        ({"query": {"picture": "a"}, "offset": 10**30}, "offset"),
        ({"query": {"picture": "a"}, "sort": "size"}, "score"),
        ({"query": {"picture": "a"}, "whatever": 1}, "whatever"),
        ({"query": {"picture": "a", "region": [1, 2, 3]}}, "region"),
        ({"query": {"picture": "a", "region": [0, 0, 1e308, 1]}}, "region"),
        ({"query": {"picture": "a\ud800"}}, ""),
        ({"query": {"picture": "a"}, "\ud800": 1}, ""),
        ([], "object"),
        ("query", "object"),
        (None, ""),
    ],
)
def test_a_search_that_is_not_understood(reader: Client, said: Any, word: str) -> None:
    # Written by hand: clients refuse to send halves of characters.
    answer = reader.post(
        "/api/search", content=json.dumps(said), headers={"content-type": "application/json"}
    )
    assert word in check_error(answer, 422, "invalid")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(reader: Client, value: str) -> None:
    json_type = {"content-type": "application/json"}
    picture = reader.ids()[0]
    for text in (
        f'{{"query": {{"picture": "{picture}"}}, "above": {value}}}',
        f'{{"query": {{"picture": "{picture}", "region": [0, 0, {value}, 5]}}}}',
    ):
        answer = reader.post("/api/search", content=text, headers=json_type)
        check_error(answer, 422, "invalid")


def test_json_that_is_a_trap(reader: Client) -> None:
    json_type = {"content-type": "application/json"}
    for content in (b"[" * 900_000, b'{"a":' * 150_000, b"9" * 900_000, b"{", b"\xff\xfe", b""):
        answer = reader.post("/api/search", content=content, headers=json_type)
        assert answer.status_code in (400, 422), content[:20]
        check_error(answer, answer.status_code, answer.json()["error"]["kind"])
    assert reader.get("/api/health").status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_other_content_types_are_no_json(reader: Client, kind: str | None) -> None:
    content = f'{{"query": {{"picture": "{reader.ids()[0]}"}}}}'.encode()
    answer = reader.post("/api/search", content=content, headers={"content-type": kind or ""})
    check_error(answer, 422, "invalid")


def test_names_that_were_not_handed_out(reader: Client, tmp_path: Path, home: Path) -> None:
    given = reader.ids()[0]
    number, mark = given.split("-")
    with Collection.create(tmp_path / "other.lw", deep=False) as col:
        col.add(next((home / "outside").iterdir()), workers=0)
    with client_of(tmp_path / "other.lw") as stranger:
        other = stranger.ids()[0]
    assert other.split("-")[0] == number
    forged = [
        "1", "0", "-1", f"2-{mark}", f"{number}-{'0' * 12}", given.upper() + "x", f" {given}",
        f"0x{given}", f"+{given}", f"{'f' * 40}-{mark}", other, "%00", "ü", f"{given}-", "1e1-x",
    ]  # fmt: skip
    for name in forged:
        for place in ("", "/thumbnail", "/image"):
            check_error(reader.get(f"/api/pictures/{name}{place}"), 404, "unknown_picture")
        if name != "%00":
            reader.refused("/api/search", {"query": {"picture": name}}, 404, "unknown_picture")
            said = {"query": {"picture": given}, "liked": [name]}
            reader.refused("/api/judge", said, 404, "unknown_picture")
    # A path is no name.
    for name in ("..%2f..%2fetc", "x%2fy"):
        answer = reader.get(f"/api/pictures/{name}/thumbnail")
        assert answer.status_code == 404


def test_unknown_names_of_other_kinds(reader: Client) -> None:
    picture = reader.ids()[0]
    query = {"picture": picture}
    assert "there are" in reader.refused(
        "/api/search", {"query": query, "by": "colour"}, 404, "unknown_name"
    )
    reader.refused("/api/search", {"query": {"upload": "gone"}}, 404, "unknown_upload")
    check_error(reader.get("/api/uploads/gone/image"), 404, "unknown_upload")
    reader.refused("/api/judge", {"query": query, "liked": [], "profile": "x"}, 404, "unknown_name")
    reader.refused("/api/undo", {"profile": "x"}, 404, "unknown_name")
    reader.refused("/api/similarities/use", {"name": "x"}, 404, "unknown_name")
    for place in ("log", "learned"):
        check_error(reader.get(f"/api/profiles/nobody/{place}"), 404, "unknown_name")
    reader.refused("/api/profiles/nobody/rollback", {"position": 0}, 404, "unknown_name")
    check_error(reader.get("/api/nothing"), 404, "not_found")
    check_error(reader.get("/api/search"), 405, "wrong_method")


# -- judging --------------------------------------------------------------------------------


def test_judge_changes_the_order_and_undo_restores_it(client: Client) -> None:
    picture = client.ids()[0]
    before = client.order(picture)
    liked, disliked = before[-1], before[0]
    said = client.post_json(
        "/api/judge",
        {"query": {"picture": picture}, "liked": [liked], "disliked": [disliked], "shown": before},
    )
    schemas.JudgeOut.model_validate(said, strict=True)
    assert said["contradicts"] == []
    assert said["learned"]["judgements"] == 1
    found = client.search(picture)
    after = [item["id"] for item in found["items"]]
    assert after != before
    assert after.index(liked) < before.index(liked)
    assert after[-1] == disliked
    assert found["total"] == N - 1
    assert found["learned"] == {"liked": 1, "disliked": 1}
    verdicts = {item["id"]: item["verdict"] for item in found["items"] if item["verdict"]}
    assert verdicts == {liked: "liked", disliked: "disliked"}
    # Another query knows no verdicts, and another similarity none at all.
    assert client.search(client.ids()[5])["learned"] == {"liked": 0, "disliked": 0}
    assert client.search(picture, by="holistic")["profile"] is None
    # The opposite is noticed.
    again = client.post_json("/api/judge", {"query": {"picture": picture}, "disliked": [liked]})
    assert again["contradicts"] == [said["judgement"]]
    assert client.post_json("/api/undo", {}) == {"judgement": again["judgement"]}
    assert client.order(picture) == after
    undone = client.post_json("/api/undo", {"judgement": said["judgement"]})
    assert undone == {"judgement": said["judgement"]}
    assert client.order(picture) == before
    assert "no judgement" in client.refused("/api/undo", {}, 409, "refused")
    client.refused("/api/undo", {"judgement": said["judgement"]}, 409, "refused")
    client.refused("/api/undo", {"judgement": 10**30}, 422, "invalid")


def test_judging_an_upload_and_a_region(client: Client, home: Path) -> None:
    name = upload(client, sorted((home / "outside").iterdir())[0])
    for query in ({"upload": name}, {"upload": name, "region": [5, 5, 100, 100]}):
        before = [item["id"] for item in client.search(query=query)["items"]]
        client.post_json("/api/judge", {"query": query, "liked": before[-1:]})
        found = client.search(query=query)
        assert found["learned"]["liked"] == 1
        assert [item["id"] for item in found["items"]].index(before[-1]) < len(before) - 1
    lines = client.get_json("/api/profiles/default/log")["items"]
    assert [line["query"] for line in lines] == [None, None]
    # The same file, dropped again, is the same question.
    again = upload(client, sorted((home / "outside").iterdir())[0])
    assert client.search(query={"upload": again})["learned"]["liked"] == 1


def test_judgements_that_cannot_be(client: Client) -> None:
    picture, one, *_ = client.ids()
    query = {"picture": picture}
    for said in (
        {"query": query},
        {"query": query, "liked": [one], "disliked": [one]},
        {"query": query, "liked": [picture]},
    ):
        answer = client.post("/api/judge", json=said)
        assert answer.status_code in (409, 422), said
        check_error(answer, answer.status_code, answer.json()["error"]["kind"])
    too_many = {"query": query, "liked": [one] * 1001}
    client.refused("/api/judge", too_many, 422, "invalid")
    assert client.get_json("/api/profiles/default/log") == {"items": [], "position": 0}


def test_log_roll_back_and_what_was_learned(client: Client) -> None:
    ids = client.ids()
    orders = [client.order(ids[0])]
    numbers = [0]
    for liked, disliked in ((ids[3], ids[8]), (ids[4], ids[9]), (ids[7], ids[11])):
        said = {"query": {"picture": ids[0]}, "liked": [liked], "disliked": [disliked]}
        numbers.append(client.post_json("/api/judge", said)["judgement"])
        orders.append(client.order(ids[0]))
    log = client.get_json("/api/profiles/default/log")
    schemas.LogOut.model_validate(log, strict=True)
    assert log["position"] == numbers[-1]
    assert [line["number"] for line in log["items"]] == numbers[:0:-1]
    assert set(log["items"][0]["query"]) == PICTURE
    assert log["items"][0]["liked"][0]["id"] == ids[7]
    short = client.get_json("/api/profiles/default/log?limit=1")
    assert short == {"items": log["items"][:1], "position": numbers[-1]}
    back = client.post_json("/api/profiles/default/rollback", {"position": numbers[1]})
    assert client.order(ids[0]) == orders[1]
    assert [line["stands"] for line in back["items"]] == [True, False, False, True]
    assert back["position"] > numbers[-1]
    client.post_json("/api/profiles/default/rollback", {"position": 0})
    assert client.order(ids[0]) == orders[0]
    client.post_json("/api/profiles/default/rollback", {"position": numbers[3]})
    assert client.order(ids[0]) == orders[3]
    client.refused("/api/profiles/default/rollback", {"position": 999}, 409, "refused")
    client.refused("/api/profiles/default/rollback", {"position": 1 << 70}, 422, "invalid")
    found = client.get_json("/api/profiles/default/learned")
    schemas.LearnedOut.model_validate(found)
    assert (found["profile"], found["space"]) == ("default", "words")
    assert found["figures"]["judgements"] == 3
    assert found["gained"]
    assert [point["n"] for point in found["curve"]] == numbers[1:]
    for word in (*found["gained"], *found["lost"]):
        for example in word["examples"]:
            x, y, w, h = example["box"]
            assert 0 <= x < x + w <= example["picture"]["width"] + 1e-6
            assert 0 <= y < y + h <= example["picture"]["height"] + 1e-6
    assert [line["number"] for line in found["versions"]][-3:] == numbers[:0:-1]


def test_what_judged_pairs_taught(tmp_path: Path) -> None:
    """A space that learns from pairs has directions and moves where others have words."""
    root = pair_cases.make_collection(tmp_path)
    with Collection.open(root) as col:
        pair_cases.teach(col, 20)
        expected = col.profiles.report(pair_cases.PROFILE)
    with client_of(root) as client:
        found = client.get_json(f"/api/profiles/{pair_cases.PROFILE}/learned")
        by_name = {one["name"]: one for one in client.get_json("/api/similarities")["items"]}
        said = {"query": {"picture": client.ids()[0]}, "liked": [client.ids()[2]]}
        said |= {"profile": pair_cases.PROFILE}
        judged = client.post_json("/api/judge", said)["learned"]
        names = client.ids()
    schemas.LearnedOut.model_validate(found)
    assert found["figures"] == by_name[pair_cases.PROFILE]["figures"]
    assert found["figures"]["units"] == judged["units"] == "directions"
    assert by_name["default"]["figures"]["units"] == "words"
    assert found["figures"]["agreement"] == expected.figures.agreement
    assert judged["judgements"] == 21
    assert (found["gained"], found["lost"], found["curve"]) == ([], [], [])
    assert [one["value"] for one in found["directions"]] == pytest.approx(
        [one.value for one in expected.directions]
    )
    for one, made in zip(found["directions"], expected.directions, strict=True):
        for end, examples in ((one["one_end"], made.one_end), (one["other_end"], made.other_end)):
            assert [picture["id"] for picture in end] == [names[e.image - 1] for e in examples]
            assert set(end[0]) == PICTURE
    assert found["moved"]
    for one, move in zip(found["moved"], expected.moved, strict=True):
        assert (one["before"], one["after"]) == (move.before, move.after)
        assert one["picture"]["id"] == names[move.picture.image - 1]
        assert one["query"]["id"] == names[move.query.image - 1]


def test_similarities_and_profiles(client: Client) -> None:
    ids = client.ids()
    found = client.get_json("/api/similarities")
    schemas.SimilaritiesOut.model_validate(found, strict=True)
    assert found["default"] == "default"
    by_name = {item["name"]: item for item in found["items"]}
    assert {"words", "holistic", "both", "default"} <= set(by_name)
    assert by_name["words"] == {
        "name": "words", "kind": "space", "learned": False, "spaces": ["words"],
        "figures": None, "answers": None,
    }  # fmt: skip
    client.post_json("/api/judge", {"query": {"picture": ids[0]}, "liked": [ids[9]]})
    client.post_json("/api/profiles", {"name": "birds", "base": "words"}, 201)
    client.post_json("/api/profiles", {"name": "copy", "copy_of": "default"}, 201)
    by_name = {i["name"]: i for i in client.get_json("/api/similarities")["items"]}
    assert by_name["birds"]["figures"]["judgements"] == 0
    assert by_name["copy"]["figures"] == by_name["default"]["figures"]
    assert client.order(ids[0], by="copy") == client.order(ids[0])
    assert client.order(ids[0], by="birds") == client.order(ids[0], by="words")
    assert client.post_json("/api/similarities/use", {"name": "birds"})["default"] == "birds"
    assert client.order(ids[0]) == client.order(ids[0], by="words")
    about = client.get_json("/api/collection")
    assert (about["profile"], about["similarity"]) == ("birds", "words")
    said = {"query": {"picture": ids[0]}, "liked": [ids[9]], "profile": "default"}
    client.post_json("/api/judge", said)
    assert len(client.get_json("/api/profiles/birds/log")["items"]) == 1
    assert client.post_json("/api/similarities/use", {"name": "default"})["default"] == "default"
    client.post_json("/api/similarities/use", {"name": "holistic"})
    assert client.get_json("/api/collection")["similarity"] == "holistic"
    for said, status, kind in (
        ({"name": "birds"}, 409, "refused"),
        ({"name": "words"}, 409, "refused"),
        ({"name": "a b"}, 422, "invalid"),
        ({"name": ""}, 422, "invalid"),
        ({"name": "x" * 41}, 422, "invalid"),
        ({"name": "new", "base": "birds"}, 409, "refused"),
        ({"name": "new", "copy_of": "nobody"}, 404, "unknown_name"),
    ):
        client.refused("/api/profiles", said, status, kind)


def test_why_it_matched(reader: Client, home: Path) -> None:
    ids = reader.ids()
    about = reader.get_json(f"/api/pictures/{ids[0]}")
    said = {"query": {"picture": ids[0]}, "picture": ids[1]}
    found = reader.post_json("/api/explain", said)
    schemas.ExplainOut.model_validate(found)
    assert found["query_size"] == [about["width"], about["height"]]
    contributions = [word["contribution"] for word in found["words"]]
    assert 0 < len(contributions) <= 12
    assert contributions == sorted(contributions, reverse=True)
    for word in found["words"]:
        for side, size in (("query", "query_size"), ("picture", "picture_size")):
            assert word[side]
            for x, y in word[side]:
                assert 0 <= x <= found[size][0]
                assert 0 <= y <= found[size][1]
    part = [0, 0, about["width"] // 2, about["height"]]
    region = {**said, "query": {"picture": ids[0], "region": part}}
    for word in reader.post_json("/api/explain", region)["words"]:
        assert all(x <= part[2] for x, _ in word["query"])
    name = upload(reader, sorted((home / "outside").iterdir())[0])
    assert reader.post_json("/api/explain", {"query": {"upload": name}, "picture": ids[1]})["words"]
    # A fusion is explained by its part that has places.
    assert reader.post_json("/api/explain", {**said, "by": "both"})["words"] == found["words"]
    reader.refused("/api/explain", {**said, "by": "holistic"}, 409, "no_places")
    reader.refused("/api/explain", {**said, "by": "nowhere"}, 404, "unknown_name")


# -- pictures -------------------------------------------------------------------------------


def test_the_list_of_pictures(reader: Client, home: Path) -> None:
    found = reader.get_json("/api/pictures")
    schemas.PageOut.model_validate(found, strict=True)
    assert found["total"] == len(found["items"]) == N
    assert set(found["items"][0]) == PICTURE | MARKS
    dates = [item["date"] or "" for item in found["items"]]
    assert dates == sorted(dates, reverse=True)
    names = [i["name"] for i in reader.get_json("/api/pictures?sort=name&order=asc")["items"]]
    assert names[: N // 2] == sorted(names[: N // 2])
    page = reader.get_json("/api/pictures?offset=3&limit=4")
    assert page == {"total": N, "items": found["items"][3:7]}
    odd = reader.get_json("/api/pictures", params={"folder": str(home / "pictures" / "odd")})
    assert odd["total"] == N // 2
    assert reader.get_json("/api/pictures?tag=first")["total"] == 1
    assert reader.get_json("/api/pictures?after=2021-05-07&before=2022")["total"] == 2
    assert {item["date_source"] for item in found["items"]} == {"exif", "file"}
    assert reader.get_json("/api/pictures?tag=' OR 1=1 --")["total"] == 0
    for wrong in ("limit=0", "limit=1001", "offset=-1", f"offset={1 << 70}", "sort=size",
                  "order=up", "limit=x", f"tag={'x' * 2000}"):  # fmt: skip
        check_error(reader.get(f"/api/pictures?{wrong}"), 422, "invalid")
    for wrong in ("after=abc", "before=2021-13", "after=2021-02-30", "before=20210203"):
        for place in ("pictures", "library/months"):
            said = check_error(reader.get(f"/api/{place}?{wrong}"), 422, "invalid")
            assert "a date such as 2019, 2019-07 or 2019-07-04 expected" in said
    assert "'folders' is no filter" in check_error(
        reader.get("/api/library/months?folders=odd"), 422, "unknown_filter"
    )


def test_one_picture(reader: Client, home: Path) -> None:
    found = reader.get_json(f"/api/pictures/{reader.ids()[0]}")
    schemas.PictureMore.model_validate(found, strict=True)
    assert set(found) == PICTURE | {"tags", "path", "metadata", "format"}
    assert found["tags"] == ["first"]
    assert found["path"] == str(home / "pictures" / "even" / found["name"])
    assert (found["folder"], found["format"]) == ("pictures/even", "JPEG")


def test_thumbnails_carry_no_metadata_and_may_be_kept(client: Client, root: Path) -> None:
    picture = client.ids()[0]
    about = client.get_json(f"/api/pictures/{picture}")
    assert b"SECRET CAMERA" in Path(about["path"]).read_bytes()
    tags = set()
    for place in (f"{about['thumbnail']}?side=160", about["thumbnail"], about["image"]):
        answer = client.get(place)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "image/jpeg"
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        image = opened(answer.content)
        assert not image.getexif()
        assert not {"exif", "icc_profile", "comment", "xmp"} & set(image.info)
        assert b"SECRET" not in answer.content
        assert b"Exif" not in answer.content
        tag = answer.headers["etag"]
        tags.add(tag)
        for said in (tag, f"W/{tag}", f'"x", {tag}'):
            again = client.get(place, headers={"if-none-match": said})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == tag
            assert again.headers["cache-control"] == answer.headers["cache-control"]
        assert client.get(place, headers={"if-none-match": '"x"'}).status_code == 200
    assert len(tags) == 3
    assert max(opened(client.get(f"{about['thumbnail']}?side=16").content).size) == 160
    for side in (15, 1025, "x"):
        check_error(client.get(f"{about['thumbnail']}?side={side}"), 422, "invalid")
    # Small copies are no part of the collection: it is sound with them, and its size without.
    assert len(cache_of(root).names()) > N
    assert client.post_json("/api/collection/verify", {}) == {"wrong": []}


def test_a_thumbnail_costs_one_statement(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"/api/pictures/{client.ids()[0]}/thumbnail"
    tag = client.get(place).headers["etag"]
    asked: list[str] = []
    for name in ("all", "one"):
        really = getattr(SQLiteCatalog, name)

        def counted(self: SQLiteCatalog, sql: str, *more: Any, really: Any = really) -> Any:
            asked.append(sql)
            return really(self, sql, *more)

        monkeypatch.setattr(SQLiteCatalog, name, counted)
    for headers, status in (({"if-none-match": tag}, 304), ({}, 200)):
        asked.clear()
        assert client.get(place, headers=headers).status_code == status
        # What keeps events going asks for the revision now and then.
        assert [sql for sql in asked if "revision" not in sql] == [
            "SELECT hash FROM images WHERE id = ?"
        ]


def test_a_turned_picture_is_shown_upright(root: Path, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    noise = np.random.default_rng(0).integers(0, 255, (60, 100, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "turned.jpg", exif=exif)
    with Collection.open(root) as col:
        col.add(tmp_path / "turned.jpg", workers=0)
    with client_of(root) as client:
        about = client.get_json(f"/api/pictures/{client.ids()[-1]}")
        assert (about["width"], about["height"]) == (60, 100)
        assert opened(client.get(about["image"]).content).size == (60, 100)
        said = {"query": {"picture": about["id"], "region": [0, 60, 60, 40]}}
        assert client.post_json("/api/search", said)["items"]


def test_a_lost_file_is_said_clearly(root: Path, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(home / "outside", folder)
    with Collection.open(root) as col:
        col.add(folder, workers=0)
    with client_of(root) as client:
        kept, lost = client.ids()[-2:]
        assert client.get(f"/api/pictures/{kept}/thumbnail").status_code == 200
        shutil.rmtree(root / "thumbnails")
        assert client.get(f"/api/pictures/{kept}/thumbnail").status_code == 200
        paths = [Path(client.get_json(f"/api/pictures/{i}")["path"]) for i in (kept, lost)]
        paths[0].unlink()
        paths[1].write_bytes(b"no picture any more")
        # What was made before is still there; the rest says what to do.
        assert client.get(f"/api/pictures/{kept}/thumbnail").status_code == 200
        for name, place in ((kept, "image"), (lost, "thumbnail"), (lost, "image")):
            answer = client.get(f"/api/pictures/{name}/{place}")
            message = check_error(answer, 404, "lost_picture")
            assert "sync" in message
            assert str(tmp_path) not in message
        said = {"query": {"picture": kept, "region": [0, 0, 50, 50]}}
        assert "sync" in client.refused("/api/search", said, 404, "lost_picture")
        said = {"query": {"picture": kept}, "picture": lost}
        assert client.post("/api/explain", json=said).status_code in (404, 415)
        assert client.search(kept)["items"]


def bomb(side: int) -> bytes:
    """A small PNG of side x side pixels, most of them missing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", compress(bytes(100_000)))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


def test_uploads_that_are_no_pictures(
    reader: Client, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = sorted((home / "outside").iterdir())[0].read_bytes()
    header = good[:4]

    def refused(content: bytes, status: int, kind: str) -> str:
        return check_error(reader.post("/api/uploads", content=content), status, kind)

    assert "no body" in refused(b"", 422, "invalid")
    refused(b"hello", 415, "not_a_picture")
    refused(b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", 415, "not_a_picture")
    refused(good[: len(good) // 2], 415, "not_a_picture")
    refused(header + bytes(200), 415, "not_a_picture")
    assert "pixels" in refused(bomb(60_000), 413, "too_large")
    # A name in the request is only that: nothing is ever written under it.
    answer = reader.post(
        "/api/uploads",
        content=good,
        headers={"content-disposition": 'attachment; filename="../../evil.jpg"'},
    )
    assert answer.status_code == 201
    assert "evil" not in answer.text
    assert not list(home.rglob("evil*"))


def test_uploads_are_kept_for_a_while(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "KEPT_UPLOADS", 2)
    path = sorted((home / "outside").iterdir())[0]
    with client_of(root) as client:
        one, two = upload(client, path), upload(client, path)
        assert client.search(query={"upload": one})["items"]
        upload(client, path)
        # The one that was used last stays.
        assert client.get(f"/api/uploads/{one}/image").status_code == 200
        assert "drop" in client.refused(
            "/api/search", {"query": {"upload": two}}, 404, "unknown_upload"
        )
    monkeypatch.setattr(service, "KEPT_BYTES", 10)
    with client_of(root) as client:
        one, last = upload(client, path), upload(client, path)
        assert client.get(f"/api/uploads/{last}/image").status_code == 200
        assert client.get(f"/api/uploads/{one}/image").status_code == 404


# -- the collection -------------------------------------------------------------------------


@needs_deep
def test_the_page_says_why_new_pictures_get_no_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Collection.create(tmp_path / "deep.lw", deep=True).close()
    with client_of(tmp_path / "deep.lw") as client:
        assert client.get_json("/api/collection")["hint"] is None
        monkeypatch.setattr(libraries, "_broken", {"onnxruntime": "ImportError: no libstdc++"})
        hint = client.get_json("/api/collection")["hint"]
    assert hint.startswith("New pictures get no vectors in deep, deep-dense: run likewise add")
    assert "cannot be imported here: ImportError: no libstdc++" in hint


def test_the_collection_and_its_problems(reader: Client, home: Path) -> None:
    found = reader.get_json("/api/collection")
    schemas.CollectionOut.model_validate(found, strict=True)
    assert (found["name"], found["pictures"], found["problems"]) == ("photos.lw", N, 1)
    assert found["folders"] == [str(home / "pictures")]
    assert {space["name"]: space["pictures"] for space in found["spaces"]} == {
        "words": N, "holistic": N,
    }  # fmt: skip
    assert (found["similarity"], found["profile"], found["job"]) == ("both", "default", None)
    assert found["deep"] is False
    assert "onnxruntime" in found["hint"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libraries, "_broken", {"onnxruntime": "ImportError: no libstdc++"})
        hint = reader.get_json("/api/collection")["hint"]
    assert "cannot be imported here: ImportError: no libstdc++" in hint
    problems = reader.get_json("/api/collection/problems")
    assert problems["total"] == 1
    assert problems["items"][0]["path"].endswith("broken.jpg")
    assert len(problems["items"][0]["problem"]) > 5
    past = reader.get_json("/api/collection/problems?offset=1")
    assert past == {"total": 1, "items": []}


def test_verify_finds_what_is_wrong(client: Client, root: Path) -> None:
    assert client.post_json("/api/collection/verify", {}) == {"wrong": []}
    file = next((root / "words").glob("*.bag"))
    file.write_bytes(file.read_bytes()[:-20])
    assert client.post_json("/api/collection/verify", {})["wrong"]


def waited(client: Client, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while client.get_json("/api/collection")["job"] is not None:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_add_and_sync_go_on_beside_searching(
    client: Client, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new"
    shutil.copytree(home / "outside", folder)
    held, goes = threading.Event(), threading.Event()
    add = Collection.add

    def slowly(self: Collection, *paths: Any, **options: Any) -> Any:
        report = options["report"]

        def watched(progress: Any) -> None:
            report(progress)
            held.set()
            assert goes.wait(60)

        return add(self, *paths, **{**options, "report": watched, "workers": 0})

    monkeypatch.setattr(Collection, "add", slowly)
    picture = client.ids()[0]
    assert client.post_json("/api/collection/add", {"folder": str(folder)}, 202) == {"job": 1}
    assert held.wait(60)
    # In the middle of it: everything else goes on, and another job is told to wait.
    job = client.get_json("/api/collection")["job"]
    assert job["what"] == "add"
    assert job["since"].startswith("20")
    assert client.search(picture)["total"] == N - 1
    said = {"query": {"picture": picture}, "liked": [client.ids()[5]]}
    client.post_json("/api/judge", said)
    for place, body in (("add", {"folder": str(folder)}), ("sync", {})):
        message = client.refused(f"/api/collection/{place}", body, 409, "busy")
        assert "add" in message
    goes.set()
    waited(client)
    assert client.search(picture)["total"] == N + 1
    assert len(client.ids()) == N + 2
    next(folder.iterdir()).unlink()
    monkeypatch.setattr("likewise.ingest.add.n_workers", lambda *_: 0)
    assert client.post_json("/api/collection/sync", {}, 202) == {"job": 2}
    waited(client)
    assert client.search(picture)["total"] == N


@pytest.mark.parametrize(
    "folder",
    ["", "relative", "../x", "/not/there", "/a\0b", "~nobody-of-that-name/x", "/" + "x" * 4000,
     "/" + "x" * 5000],
)  # fmt: skip
def test_folders_that_cannot_be_added(reader: Client, folder: str) -> None:
    reader.refused("/api/collection/add", {"folder": folder}, 422, "invalid")


def test_a_job_of_another_process_is_told(client: Client, root: Path, home: Path) -> None:
    with lease(root, "retrain"):
        message = client.refused("/api/collection/sync", {}, 409, "busy")
        assert "retrain" in message
        assert "retrain" in client.get_json("/api/collection")["job"]["what"]


def test_health_and_metrics(client: Client) -> None:
    assert client.get_json("/api/health") == {"ok": True, "version": __version__}
    client.get("/api/nothing/at/all")
    client.get("/api/health", headers={"authorization": "Bearer wrong"})
    picture = client.ids()[0]
    client.get_json(f"/api/pictures/{picture}")
    text = client.get("/api/metrics").text
    assert f"likewise_pictures {N}\n" in text
    assert 'likewise_requests_total{route="/api/health",status="200"} 1\n' in text
    assert 'likewise_requests_total{route="none",status="401"} 1\n' in text
    assert 'route="/api/pictures/{picture}",status="200"} 1\n' in text
    assert picture not in text
    assert "nothing" not in text


def test_the_description_is_complete(reader: Client) -> None:
    found = reader.get_json("/api/openapi.json")
    assert found["openapi"].startswith("3.")
    assert found["security"] == [{"key": []}, {"cookie": []}]
    assert set(found["components"]["securitySchemes"]) == {"key", "cookie"}
    error = {"$ref": "#/components/schemas/ErrorOut"}
    seen = 0
    for path, methods in found["paths"].items():
        assert path.startswith("/api/")
        for method, described in methods.items():
            seen += 1
            assert described["description"], (method, path)
            good = [code for code in described["responses"] if code.startswith("2")]
            assert len(good) == 1, (method, path)
            (content,) = described["responses"][good[0]]["content"].items()
            if content[0] == "application/json":
                assert content[1]["schema"], (method, path)
            for code in ("4XX", "5XX"):
                body = described["responses"][code]["content"]["application/json"]
                assert body["schema"] == error
            without = ("/sync", "/verify", "/describe", "/reveal", "/duplicates")
            without += ("/keys/{key}/revoke", "/keys/{key}/take-back")
            if method == "post" and not path.endswith(without):
                assert "requestBody" in described, path
    assert seen >= 21
    shape = found["components"]["schemas"]["ErrorOut"]["properties"]["error"]
    assert shape == {"$ref": "#/components/schemas/Problem"}


def test_the_page_is_sent_again_only_when_it_changed(reader: Client) -> None:
    page = reader.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    again = reader.get("/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    script = reader.get("/page/api.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"


# -- together -------------------------------------------------------------------------------


def in_threads(*works: Any) -> None:
    """All at once; the first error of any of them is raised."""
    errors: list[BaseException] = []

    def guarded(work: Any) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_two_tabs_judge_at_once(client: Client) -> None:
    ids = client.ids()
    said: list[int] = []

    def tab(first: int) -> Any:
        def work() -> None:
            for i in range(6):
                body = {"query": {"picture": ids[first]}, "liked": [ids[4 + i]]}
                said.append(client.post_json("/api/judge", body)["judgement"])
                assert client.search(ids[first])["learned"]["liked"] >= i + 1

        return work

    in_threads(tab(0), tab(1), tab(0))
    log = client.get_json("/api/profiles/default/log")
    assert sorted(line["number"] for line in log["items"]) == sorted(said)
    assert len(set(said)) == 18
    for first in (0, 1):
        found = client.search(ids[first])
        assert found["learned"] == {"liked": 6, "disliked": 0}


def test_searching_while_vectors_come_in(client: Client, root: Path) -> None:
    """Rows are added to an index that other threads are searching."""
    with Collection.open(root) as col:
        col.spaces.add("mine", {"feature": "own", "kind": "dense"})
        col.spaces.add_vectors("mine", [1], np.eye(64, dtype=np.float32)[:1])
    ids = client.ids()
    stop = threading.Event()
    rng = np.random.default_rng(0)

    def writer() -> None:
        try:
            with Collection.open(root) as col:
                for image in (*range(2, N + 1), *range(2, N + 1)):
                    rows = rng.random((1, 64)).astype(np.float32)
                    col.spaces.add_vectors("mine", [image], rows)
        finally:
            stop.set()

    def searching() -> None:
        while not stop.is_set():
            found = client.search(ids[0], by="mine")
            assert found["total"] == len({item["id"] for item in found["items"]})

    in_threads(writer, searching, searching, searching)
    assert client.search(ids[0], by="mine")["total"] == N - 1


def test_threads_that_ended_leave_no_connection_open(client: Client) -> None:
    col = client.inner.state.service.collection

    def many() -> Iterator[Any]:
        for _ in range(12):
            yield lambda: client.get_json("/api/collection/problems")

    for _ in range(3):
        in_threads(*many())
        for _ in range(20):
            threading.Thread(target=lambda: col.revision).start()
    time.sleep(0.05)
    thread = threading.Thread(target=lambda: col.revision)
    thread.start()
    thread.join()
    assert sum(not one.is_alive() for one, _ in connections_of(col)) <= 1
