"""Typed words over HTTP: search with reasons, judging, saving as a tag, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.search.typed import meaning
from likewise.server import schemas
from tests.product.server.conftest import Client, N, client_of


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "open_words", lambda: None)


@pytest.fixture
def client(root: Path) -> Iterator[Client]:
    with client_of(root) as made:
        yield made


def ask(client: Client, text: str, **more: object) -> dict[str, object]:
    found = client.post_json("/api/search", {"text": text, **more})
    schemas.SearchOut.model_validate(found, strict=True)
    return dict(found)


def test_words_find_pictures_and_say_why(client: Client) -> None:
    ids = client.ids()
    found = ask(client, "first")
    (item,) = found["items"]  # type: ignore[misc]
    assert item["id"] == ids[0]
    assert item["reasons"] == [{"key": "tag:first", "kind": "tag", "text": "tagged first"}]
    assert "only tags, names and dates were searched" in str(found["hint"])
    assert ask(client, "first", without=["tag:first"])["items"] == []
    dated = ask(client, "may 2021")
    assert dated["total"] == 8
    assert ask(client, "odd", where={"tag": "first"})["total"] in (0, 1)


def test_pages_of_one_answer_fit_together(client: Client) -> None:
    whole = [item["id"] for item in ask(client, "even odd")["items"]]  # type: ignore[attr-defined]
    assert len(whole) == N
    parts = [
        item["id"]
        for offset in (0, 5, 10, 15)
        for item in ask(client, "even odd", limit=5, offset=offset)["items"]  # type: ignore[attr-defined]
    ]
    assert parts == whole


def test_a_picture_and_words_together(client: Client) -> None:
    ids = client.ids()
    found = ask(client, "first", query={"picture": ids[3]}, weight=0.3)
    assert next(item["id"] for item in found["items"]) == ids[0]  # type: ignore[attr-defined]
    assert found["total"] == N - 1


def test_judging_words_and_saving_them(client: Client) -> None:
    ids = client.ids()
    said = {"text": "nice things", "liked": ids[2:4], "disliked": [ids[5]]}
    made = client.post_json("/api/judge", said)
    found = ask(client, "Nice  things")
    assert found["learned"] == {"liked": 2, "disliked": 1}
    items: list[dict[str, object]] = found["items"]  # type: ignore[assignment]
    assert {item["id"] for item in items[:2]} == set(ids[2:4])
    assert items[0]["verdict"] == "liked"
    assert items[-1]["id"] == ids[5]
    (line,) = client.get_json("/api/profiles/default/log")["items"]
    assert (line["text"], line["query"]) == ("nice things", None)
    saved = client.post_json("/api/tags/save", {"text": "nice things", "tag": "nice", "k": 3})
    assert (saved["tag"], saved["tagged"], saved["suggested"]) == ("nice", 2, 3)
    client.post_json("/api/tags/undo", {"lines": saved["lines"]})
    assert client.get_json("/api/tags?prefix=nice")["items"] == []
    client.post_json("/api/undo", {"judgement": made["judgement"]})
    assert ask(client, "nice things")["items"] == []


def test_refusals_are_typed(client: Client) -> None:
    client.refused("/api/search", {}, 422, "invalid")
    client.refused("/api/search", {"text": ""}, 422, "invalid")
    client.refused("/api/search", {"text": "  "}, 422, "invalid")
    client.refused("/api/search", {"text": "x" * 10_001}, 422, "invalid")
    client.refused("/api/search", {"text": "a", "without": ["nonsense"]}, 422, "invalid")
    client.refused("/api/search", {"text": "a", "weight": 2}, 422, "invalid")
    client.refused("/api/search", {"text": "a", "by": "nowhere"}, 404, "unknown_name")
    client.refused("/api/judge", {"text": "a"}, 422, "invalid")
    client.refused("/api/judge", {"liked": []}, 422, "invalid")
    client.refused("/api/tags/save", {"text": "a", "tag": "b"}, 409, "refused")
    client.refused("/api/tags/save", {"text": "a", "tag": ""}, 422, "invalid")


@pytest.mark.parametrize("text", ["🙂", "a\0b", "'; DROP TABLE images; --", "שלום", "x" * 10_000])
def test_odd_text_is_answered(client: Client, text: str) -> None:
    ask(client, text)
    assert len(client.ids()) == N
