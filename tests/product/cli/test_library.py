"""Stars, favourites, hiding, albums and duplicates on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.product.cli.process import Likewise


def found(built: Likewise, *where: str) -> set[int]:
    filters = [part for one in where for part in ("--where", one)]
    return {hit["id"] for hit in built.json("search", "1", "-k", "20", *filters)["hits"]}


def test_stars_and_favourites_are_filters(built: Likewise) -> None:
    assert built("star", "4", "2", "3").stdout == "2 pictures given 4 stars\n"
    assert built.json("star", "5", "3") == {"changed": 1}
    assert found(built, "stars>=4") == {2, 3}
    assert found(built, "stars=5") == {3}
    assert built("favourite", "4").stdout == "1 picture added to favourites\n"
    assert found(built, "favourite") == {4}
    assert built("favourite", "4", "--remove").stdout == "1 picture removed from favourites\n"
    assert found(built, "favourite") == set()
    assert "1 picture given no stars" in built("star", "0", "3").stdout
    built.refused("star", "6", "2", code=2)


def test_hidden_pictures_do_not_answer(built: Likewise) -> None:
    assert 5 in found(built)
    assert built("hide", "5", "6").stdout == "2 pictures hidden\n"
    assert not {5, 6} & found(built)
    assert found(built, "hidden") == {5, 6}
    assert built("hide", "5", "6", "--show").stdout == "2 pictures shown again\n"
    assert {5, 6} <= found(built)


def test_albums(built: Likewise, tmp_path: Path) -> None:
    assert built("album", "list").stdout.startswith("No albums yet")
    assert built("album", "add", "Sea", "1", "2").stdout == "2 pictures added to 'Sea'\n"
    assert built("album", "take", "Sea", "1").stdout == "1 picture removed from 'Sea'\n"
    assert built.json("album", "list") == [{"name": "Sea", "pictures": 1}]
    assert [one["id"] for one in built.json("album", "show", "Sea")] == [2]
    assert found(built, "album=Sea") == {2}
    assert built("album", "rename", "Sea", "Shore").returncode == 0
    out = tmp_path / "marks.json"
    assert "written to" in built("album", "export", out).stdout
    assert built("album", "delete", "Shore").stdout == "Deleted album 'Shore'; 1 picture kept\n"
    assert "found here" in built("album", "import", out).stdout
    assert built.json("album", "list") == [{"name": "Shore", "pictures": 1}]
    assert "there is no album 'Sea'" in built.refused("album", "show", "Sea")
    out.write_text("{}")
    assert "not an export" in built.refused("album", "import", out)


def test_duplicates_by_pixels_are_hidden_but_for_the_best(empty: Likewise) -> None:
    from PIL import Image, ImageOps

    from likewise.collection.collection import Collection
    from tests.product.collection.pictures import small_scenes

    empty.pictures.mkdir()
    for name in ("coffee", "rocket"):
        Image.fromarray(small_scenes()[name]).save(empty.pictures / f"{name}.jpg", quality=92)
    mirrored = ImageOps.mirror(Image.fromarray(small_scenes()["coffee"]))
    mirrored.save(empty.pictures / "mirrored.jpg", quality=60)
    with Collection.create(empty.folder / "photos.lw", deep=False) as col:
        col.add(empty.pictures, workers=0)
    said = empty("duplicates", "--hide-rest").stdout
    assert said.index("coffee.jpg") < said.index("mirrored.jpg")
    assert said.endswith("1 group\n1 picture hidden\n")
    assert empty("duplicates").stdout == "No near-duplicates.\n"
