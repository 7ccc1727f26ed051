"""Lists of tags: what separates columns, quotes, names that are there twice; folders as tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.library import folder_tags
from likewise.library.folder_tags import folder_names
from tests.product.collection.tag_cases import copied, inside


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as made:
        yield made
        assert made.verify() == []


GOOD = {
    "many in one cell": "red/red-00.png,sea;boat;sun\nred/red-01.png,sea;boat\n",
    "bars in one cell": "red-00.png,sea|boat|sun\n",
    "commas in one cell": "red-00.png;sea, boat, sun\n",
    "strangers first": "gone-1.png,a;b;c;d\ngone-2.png,a;b;c;d\nred-00.png,sea;boat;sun\n",
    "quoted": '"red-00.png","sea;boat;sun"\n',
    "columns": "red-00.png\tsea\tboat\tsun\n",
    "excel": "sep=;\nred-00.png;sea|boat|sun\n",
    "excel with a heading": '"sep=,"\r\npath,tags\r\nred-00.png,sea;boat;sun\r\n',
    "a heading among many signs": "path,tags;x;y\nred-00.png,sea;boat;sun\n",
}


@pytest.mark.parametrize("name", GOOD)
def test_what_separates_columns(col: Collection, tmp_path: Path, name: str) -> None:
    (tmp_path / "tags.csv").write_text(GOOD[name], newline="")
    done = col.tags.import_file(tmp_path / "tags.csv")
    assert col.tags.of(inside("red", 0)) == ["boat", "sea", "sun"]
    assert len(done.unknown) == GOOD[name].count("gone")


def test_without_known_pictures_the_sign_behind_a_name_counts(
    col: Collection, tmp_path: Path
) -> None:
    for text in ("k0/a b.jpg,sea;boat;sun\n", "a,b.jpg;x,y,z\n", "a.jpg|x;y;z\n"):
        (tmp_path / "tags.csv").write_text(text)
        ((_, name),) = col.tags.import_file(tmp_path / "tags.csv").unknown
        assert name.endswith(".jpg")


BAD = {
    "unclosed": ('red-00.png,sea\nred-01.png,"boat\nred-02.png,sun\n', "line 2: a quote"),
    "closed by the next": ('red-00.png,"sea\nred-01.png,"boat"\n', "line 1: "),
    "over two lines": ('red-00.png,sea\nred-01.png,"boat\nsun"\n', "line 2: .*several lines"),
    "a number of another kind": ("id,tag\n1.5,sea\n", "line 2: '1.5' is no id"),
}


@pytest.mark.parametrize("name", BAD)
def test_quotes_that_swallow_lines_stop_the_import(
    col: Collection, tmp_path: Path, name: str
) -> None:
    text, message = BAD[name]
    (tmp_path / "tags.csv").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        col.tags.import_file(tmp_path / "tags.csv")
    assert col.tags.all() == []


def test_json_names_that_are_there_twice(col: Collection, tmp_path: Path) -> None:
    file = tmp_path / "tags.json"
    file.write_text('{"red-00.png": ["sea"], "red-00.png": ["boat", "sea"]}')
    assert col.tags.import_file(file).tags == 2
    assert col.tags.of(inside("red", 0)) == ["boat", "sea"]
    file.write_text('[{"path": "red-00.png", "tags": ["x"], "TAGS": ["y"]}]')
    with pytest.raises(InvalidInput, match="entry 1: a name occurs twice"):
        col.tags.import_file(file)


def test_json_ids_may_be_text(col: Collection, tmp_path: Path) -> None:
    image = col.id_of(inside("red", 3))
    file = tmp_path / "tags.json"
    file.write_text(f'[{{"id": "{image}", "tags": ["text"]}}, {{"id": {image}, "tags": ["n"]}}]')
    assert col.tags.import_file(file).unknown == []
    assert col.tags.of(image) == ["n", "text"]
    for bad in ('"abc"', "1.5", "true", '"-1"'):
        file.write_text(f'[{{"id": {bad}, "tags": ["x"]}}]')
        with pytest.raises(InvalidInput, match=r"entry 1: .* is no id"):
            col.tags.import_file(file)


# -- folders --------------------------------------------------------------------------------


def test_camera_folders_are_told_by_their_capitals() -> None:
    for name in ("2019Rome", "2024trip", "100miles", "Cats", "DCIMs"):
        assert folder_names(f"/p/{name}", {"/p": False}, 1) == [name]
    for name in ("100CANON", "101_PANA", "999APPLE", "DCIM", "dcim", "2024", "2024-05"):
        assert folder_names(f"/p/{name}", {"/p": False}, 1) == []


def test_the_nearest_added_folder_counts() -> None:
    places = {"/p": False, "/p/a/b": True, "/p/one.jpg": True}
    assert folder_names("/p/a/b", places, 2) == ["b"]
    assert folder_names("/p/a/b/c", places, 1) == ["c"]
    assert folder_names("/p/a/b/c", places, 3) == ["b", "c"]
    assert folder_names("/p/x/y/z", places, 2) == ["y", "z"]
    assert folder_names("/p", places, 2) == []
    assert folder_names("/elsewhere/x", places, 2) == ["x"]
    assert folder_names("/", {}, 1) == []
    assert folder_names("/r/s", {"/": False}, 5) == ["r", "s"]
    assert folder_tags._named_roots(["/p", "/q", "/p/a"], ["/p/a", "/q"]) == {
        "/p": False,
        "/q": True,
        "/p/a": True,
    }


def test_names_of_folders_are_found_once_a_folder(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    plain = folder_tags.folder_names

    def counted(folder: str, *rest: object) -> list[str]:
        asked.append(folder)
        return plain(folder, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_tags, "folder_names", counted)
    assert col.tags.from_folders() == 33
    assert len(asked) == 3
