"""Thumbnails show the picture they are named by, whole, or say why not."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise.catalog.cache import FILE, cache_of
from likewise.collection.collection import Collection
from likewise.errors import MissingDecoder
from likewise.images import decode as images
from likewise.images.decode import decode
from tests.product.collection.pictures import small_scenes, write
from tests.product.server.conftest import Client, check_error, client_of


@pytest.fixture
def mine(root: Path, tmp_path: Path) -> Path:
    """A picture of the collection that may be changed; the last that was added."""
    path = write(tmp_path / "mine" / "a.png", small_scenes()["rocket"])
    with Collection.open(root) as col:
        col.add(path, workers=0)
    shutil.rmtree(root / "thumbnails")
    return path


@pytest.mark.parametrize("place", ["thumbnail", "thumbnail?side=160", "image"])
def test_another_picture_at_its_path_is_not_shown(root: Path, mine: Path, place: str) -> None:
    write(mine, np.full((80, 80, 3), 200, np.uint8))
    with client_of(root) as client:
        answer = client.get(f"/api/pictures/{client.ids()[-1]}/{place}")
        assert "not what it was; sync" in check_error(answer, 404, "lost_picture")
        assert not cache_of(root).names()


def test_a_file_that_was_only_touched_is_shown(root: Path, mine: Path) -> None:
    os.utime(mine, (1, 1))
    with client_of(root) as client:
        assert client.get(f"/api/pictures/{client.ids()[-1]}/thumbnail").status_code == 200


def test_the_same_size_and_other_bytes_are_not_shown(root: Path, mine: Path) -> None:
    content = mine.read_bytes()
    mine.write_bytes(content[:-20] + bytes(20))
    os.utime(mine, (1, 1))
    with client_of(root) as client:
        answer = client.get(f"/api/pictures/{client.ids()[-1]}/thumbnail")
        check_error(answer, 404, "lost_picture")


def test_a_second_file_of_the_picture_is_shown_instead(
    root: Path, mine: Path, tmp_path: Path
) -> None:
    shutil.copy(mine, tmp_path / "mine" / "b.png")
    with Collection.open(root) as col:
        col.add(tmp_path / "mine" / "b.png", workers=0)
    mine.unlink()
    with client_of(root) as client:
        assert client.get(f"/api/pictures/{client.ids()[-1]}/image").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("rest", [0, 1, 400, -1])
def test_half_a_thumbnail_is_made_anew(client: Client, root: Path, rest: int) -> None:
    place = f"/api/pictures/{client.ids()[0]}/thumbnail"
    whole = client.get(place).content
    file = root / "thumbnails" / FILE
    with closing(sqlite3.connect(file)) as c, c:
        half = whole[:rest] + bytes(len(whole[rest:]))
        changed = c.execute("UPDATE cached SET content = ? WHERE content = ?", (half, whole))
        assert changed.rowcount == 1
    assert client.get(place).content == whole
    Image.open(io.BytesIO(client.get(place).content)).load()


def test_a_missing_codec_is_no_fault_of_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as passing, and the picture is added once the library is there."""
    heif = pytest.importorskip("pillow_heif")
    folder = tmp_path / "pictures"
    folder.mkdir()
    heif.from_pillow(Image.fromarray(small_scenes()["rocket"])).save(folder / "a.heic")
    images._decoder.cache_clear()
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "pillow_heif", None)
            with pytest.raises(MissingDecoder, match="pillow_heif"):
                decode(folder / "a.heic")
            assert col.add(folder, workers=0).added == 0
            (problem,) = col.problems()
            assert str(problem.problem).startswith("for now: is a HEIC, whose decoder cannot be")
        assert col.add(folder, workers=0).added == 1
        assert col.problems() == []
