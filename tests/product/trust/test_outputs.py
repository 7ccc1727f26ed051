"""What leaves a collection says neither where and when pictures were taken nor with what.

Originals are the owner's to give away; what Likewise makes of them (thumbnails, pages, what guests
see) is drawn from pixels.  And what was taken in is committed by the clock.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from likewise.catalog.cache import cache_of
from likewise.collection.collection import Collection
from likewise.ingest import add as adding
from likewise.server.access import GUESTS, cookie_name
from tests.product.cli.process import Likewise
from tests.product.collection.pictures import small_scenes
from tests.product.collection.test_library import photograph
from tests.product.server.conftest import HOST, Client, client_of
from tests.product.trust.stored_cases import write_small

PLACE = (48.137, 11.575)


@pytest.fixture(scope="module")
def located(tmp_path_factory: pytest.TempPathFactory) -> Likewise:
    """A collection of photographs whose camera knew where it was."""
    home = tmp_path_factory.mktemp("located")
    for number, scene in enumerate(list(small_scenes())[:4]):
        photograph(
            home / "pictures" / f"{number}.jpg", scene, taken="2024:05:06 07:08:09", place=PLACE
        )
    with Collection.create(home / "photos.lw", deep=False) as col:
        col.add(home / "pictures", workers=0)
        assert len(col.library.places()) == 4
    return Likewise(home)


@pytest.fixture
def owner(located: Likewise) -> Iterator[Client]:
    with client_of(located.folder / "photos.lw") as made:
        yield made


def assert_says_nothing(content: bytes) -> None:
    """A picture with pixels and nothing about them."""
    with Image.open(io.BytesIO(content)) as found:
        assert not found.getexif()
        assert not {"exif", "xmp", "comment", "photoshop"} & set(found.info)
    assert b"EF 50mm" not in content
    assert b"2024" not in content


def test_the_fixture_has_something_to_tell(located: Likewise) -> None:
    content = (located.pictures / "0.jpg").read_bytes()
    assert b"EF 50mm" in content
    with Image.open(io.BytesIO(content)) as found:
        assert found.getexif().get_ifd(0x8825)


def test_thumbnails_have_no_place(owner: Client, located: Likewise) -> None:
    for picture in owner.ids():
        for asked in ("thumbnail", "thumbnail?side=160"):
            assert_says_nothing(owner.get(f"/api/pictures/{picture}/{asked}").content)
    cache = cache_of(located.folder / "photos.lw")
    assert cache.names()
    for key in cache.names():
        assert_says_nothing(cache.get(key) or b"")


@pytest.mark.slow
def test_what_guests_see_has_no_place(owner: Client, located: Likewise) -> None:
    address = owner.post_json("/api/compare/shares", {"name": "Ada"}, 201)["address"]
    cookie = f"{GUESTS}{cookie_name(HOST)}={address.partition('token=')[2]}"
    with client_of(located.folder / "photos.lw", cookie=cookie, origin=f"http://{HOST}") as guest:
        answer = guest.get("/api/compare/questions?n=2")
        assert b"48.1" not in answer.content
        assert b"2024" not in answer.content
        for question in answer.json()["questions"]:
            for part in ("anchor", "left", "right"):
                assert_says_nothing(guest.get(question[part]["thumbnail"]).content)


def test_exported_pages_have_no_place(located: Likewise, tmp_path: Path) -> None:
    located("search", 1, "--sheet", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "48.1" not in text
    pictures = re.findall(r"data:image/jpeg;base64,([A-Za-z0-9+/=]+)", text)
    assert len(pictures) >= 4
    for one in pictures:
        assert_says_nothing(base64.b64decode(one))


def test_what_was_taken_in_is_committed_by_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many make a batch: a picture that takes long keeps none of the others waiting."""
    write_small(tmp_path / "pictures", 5)
    seen: list[int] = []
    commit = adding._commit
    monkeypatch.setattr(adding, "_SECONDS", -1.0)  # the time is always up
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:

        def counted(store, batch, *rest) -> None:
            commit(store, batch, *rest)
            if batch:
                seen.append(len(list(col.images())))

        monkeypatch.setattr(adding, "_commit", counted)
        col.add(tmp_path / "pictures", workers=0)
    assert seen == [1, 2, 3, 4, 5]
