"""Filters as people write them: parts of names, any case; a key that nobody has is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from likewise.collection.collection import Collection
from likewise.errors import InvalidInput, UnknownFilter
from tests.product.collection.pictures import small_scenes

PLACES = {
    "Wardrobe/summer/a.jpg": ("Canon", "Canon EOS 5D"),
    "Wardrobe/b.jpg": ("Canon", "PowerShot A95"),
    "trips/Rome/c.jpg": ("NIKON CORPORATION", "NIKON D70"),
    "trips/Wardroberie/d.jpg": (None, None),
    "e.png": (None, None),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``Photos`` with five pictures in sub-folders, all under a folder whose name is no filter."""
    home = tmp_path_factory.mktemp("rome")
    for (place, (maker, model)), pixels in zip(
        PLACES.items(), small_scenes().values(), strict=False
    ):
        path = home / "Photos" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        exif = Image.Exif()
        if maker is not None:
            exif[0x010F], exif[0x0110] = maker, model
        Image.fromarray(pixels[:64, :64]).save(path, exif=exif)
    return home


@pytest.fixture(scope="module")
def col(home: Path) -> Iterator[Collection]:
    with Collection.create(home / "Photos.lw", words={"n_words": 20}, deep=False) as made:
        made.add(home / "Photos" / "e.png", metadata={"roll": "Kodak", "n": 3}, workers=0)
        made.add(home / "Photos", workers=0)
        yield made


def found(col: Collection, where: dict[str, Any]) -> str:
    """The pictures that pass, by their letters."""
    return "".join(sorted(Path(row.path).stem for row in col.pictures.page(where=where)[1]))


@pytest.mark.parametrize(
    ("folder", "letters"),
    [
        ("Wardrobe", "ab"),  # the name of one, and not the part of another
        ("wardrobe", "ab"),
        ("Wardrobe/", "ab"),
        ("Ward", "abd"),  # a part of two
        ("summer", "a"),
        ("wardrobe/summer", "a"),
        ("ward/sum", "a"),
        ("trips", "cd"),
        ("Photos", "abcde"),
        ("photos/trips/rome", "c"),
        ("rome", "c"),  # not the folder above all that was added
        ("nowhere", ""),
        ("summer/wardrobe", ""),
        ("../elsewhere", ""),
    ],
)
def test_folders_by_name(col: Collection, folder: str, letters: str) -> None:
    assert found(col, {"folder": folder}) == letters


def test_folders_by_path(
    col: Collection, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert found(col, {"folder": home / "Photos" / "trips"}) == "cd"
    assert found(col, {"folder": str(home / "Photos" / "Wardrobe")}) == "ab"
    assert found(col, {"folder": "/"}) == "abcde"
    # A path is meant as it stands: no part of it, and nothing that begins alike.
    assert found(col, {"folder": str(home / "Photos" / "Ward")}) == ""
    assert found(col, {"folder": str(home / "Photos" / "wardrobe")}) == ""
    # From where one stands, before the names are looked at.
    monkeypatch.chdir(home / "Photos" / "trips")
    assert found(col, {"folder": "."}) == "cd"
    assert found(col, {"folder": "Rome"}) == "c"
    assert found(col, {"folder": "../Wardrobe"}) == "ab"
    monkeypatch.chdir(tmp_path)
    assert found(col, {"folder": "trips"}) == "cd"


def test_folders_do_not_multiply_the_pictures_in_them(col: Collection) -> None:
    # A part that a folder and one inside it share: each picture once.
    assert col.pictures.page(where={"folder": "r"})[0] == 4
    assert col.pictures.find_folders("r") == sorted(col.pictures.find_folders("r"))
    tops = col.pictures.find_folders("r")
    assert not [one for one in tops for two in tops if one.startswith(f"{two}/")]


@pytest.mark.parametrize(
    ("where", "letters"),
    [
        ({"camera": "Canon"}, "ab"),
        ({"camera": "canon"}, "ab"),
        ({"camera": "canon 5d"}, "a"),
        ({"camera": "D"}, "ac"),
        ({"camera": "leica"}, ""),
        ({"camera": "%"}, ""),
        ({"format": "jpg"}, "abcd"),
        ({"format": ".PNG"}, "e"),
        ({"roll": "kodak"}, "e"),
        ({"n": 3}, "e"),
        ({"n": "3"}, ""),
        ({"folder": "wardrobe", "camera": "5D"}, "a"),
        ({"tagged": False}, "abcde"),
    ],
)
def test_cameras_formats_and_metadata(col: Collection, where: dict[str, Any], letters: str) -> None:
    assert found(col, where) == letters


def test_an_unknown_key_is_refused_with_those_there_are(col: Collection) -> None:
    for ask in (
        lambda where: col.pictures.page(where=where),
        lambda where: col.search(1, where=where),
        lambda where: col.search(text="rome", where=where),
    ):
        with pytest.raises(UnknownFilter, match="'colour' is no filter; there are after") as told:
            ask({"colour": "red"})
        assert isinstance(told.value, InvalidInput)
        assert set(told.value.keys) >= {"folder", "camera", "tag", "roll", "n"}
    for bad in (3, None, ["a"]):
        with pytest.raises(InvalidInput, match="where 'folder'"):
            found(col, {"folder": bad})
