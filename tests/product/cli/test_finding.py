"""One rule finds the collection: named, of the picture's or this folder's parents, the last one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from likewise.catalog.changes import put_root
from likewise.cli import finding
from likewise.cli.finding import (
    find_collection,
    find_for_adding,
    find_for_folder,
    last_opened,
    remember_opened,
    state_folder,
)
from likewise.collection.collection import Collection
from likewise.errors import LikewiseError
from tests.product.cli.process import Likewise
from tests.product.private import store_of

At = Callable[[str], Path]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> At:
    """Paths of a small world: folders of pictures, some with collections, one elsewhere."""
    for folder in ("home/Pictures/2019/May", "home/Desk", "home/Music/live", "away"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("LIKEWISE_STATE", str(tmp_path / "state"))

    def path(text: str) -> Path:
        return tmp_path / text

    return path


def make(*collections: Path) -> None:
    for one in collections:
        Collection.create(one, deep=False).close()


@pytest.mark.parametrize(
    ("here", "near", "wanted", "how"),
    [
        ("home/Pictures", None, "home/Pictures.lw", "of this folder"),
        ("home/Pictures/2019/May", None, "home/Pictures.lw", "of this folder"),
        ("home/Music/live", None, "home/Music/photos.lw", "of this folder"),
        ("home/Music", None, "home/Music/photos.lw", "of this folder"),
        ("home/Pictures.lw", None, "home/Pictures.lw", "of this folder"),
        ("home", None, "home/Pictures.lw", "the only one in this folder"),
        ("home/Desk", None, "last.lw", "the last one opened"),
        ("away", None, "last.lw", "the last one opened"),
        ("away", "home/Pictures/2019/May/a.jpg", "home/Pictures.lw", "of the picture's folder"),
        ("home/Music", "home/Pictures/a.jpg", "home/Pictures.lw", "of the picture's folder"),
        ("home/Music", "away/a.jpg", "home/Music/photos.lw", "of this folder"),
        ("home/Music", "home/Pictures/absent.jpg", "home/Music/photos.lw", "of this folder"),
        ("away", "not a file at all", "last.lw", "the last one opened"),
    ],
)
def test_the_rule(
    at: At, monkeypatch: pytest.MonkeyPatch, here: str, near: str | None, wanted: str, how: str
) -> None:
    for one in ("home/Pictures.lw", "home/Music/photos.lw", "last.lw"):
        at(one).mkdir()
        (at(one) / "catalog.sqlite").touch()
    for picture in ("home/Pictures/a.jpg", "home/Pictures/2019/May/a.jpg", "away/a.jpg"):
        at(picture).touch()
    remember_opened(at("last.lw"))
    monkeypatch.chdir(at(here))
    asked = None if near is None else str(at(near)) if "/" in near else near
    assert find_collection(None, asked) == (at(wanted), how)
    # Whoever names one gets that one.
    assert find_collection(Path("x.lw"), asked) == (at(here) / "x.lw", "named")


def test_where_one_stands_counts_if_it_has_the_picture(
    at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(at("home/Pictures.lw"), at("away/photos.lw"))
    picture = at("home/Pictures/2019/a.jpg")
    picture.touch()
    monkeypatch.chdir(at("away"))
    assert find_collection(None, picture) == (at("home/Pictures.lw"), "of the picture's folder")
    with Collection.open(at("away/photos.lw")) as col, store_of(col).write() as c:
        put_root(c, str(at("home/Pictures")))
    assert find_collection(None, picture) == (at("away/photos.lw"), "of this folder")


def test_nothing_or_too_much_is_said(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(at("away"))
    with pytest.raises(LikewiseError, match="there is no collection here; 'likewise open DIR'"):
        find_collection(None)
    for one in ("away/a.lw", "away/b.lw"):
        at(one).mkdir()
        (at(one) / "catalog.sqlite").touch()
    with pytest.raises(LikewiseError, match=r"several collections here \(a.lw, b.lw\)"):
        find_collection(None)
    # A folder of that name is none.
    at("away/away.lw").mkdir()
    remember_opened(at("away/b.lw"))
    assert find_collection(None) == (at("away/b.lw"), "the last one opened")


def test_open_and_add_find_what_has_the_folder(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(at("away"))
    pictures, year = at("home/Pictures"), at("home/Pictures/2019")
    # Nothing there: beside the folder, and in the current folder, as each always did.
    assert find_for_folder(pictures) == at("home/Pictures.lw")
    assert find_for_adding([pictures]) == at("away/photos.lw")
    # 'add' made one here; 'open' of the folder, or of one inside it, must not make another.
    make(at("away/photos.lw"))
    with (
        Collection.open(at("away/photos.lw")) as col,
        store_of(col).write() as c,
    ):
        put_root(c, str(pictures))
    assert find_for_folder(pictures) == at("away/photos.lw")
    assert find_for_folder(year) == at("away/photos.lw")
    monkeypatch.chdir(at("home/Desk"))
    assert find_for_folder(pictures) == at("home/Pictures.lw"), "nobody here knows of it"
    remember_opened(at("away/photos.lw"))
    assert find_for_folder(pictures) == at("away/photos.lw")
    assert find_for_adding([year, pictures]) == at("away/photos.lw")
    # Other folders are not put into the last one that happened to be open.
    assert find_for_folder(at("home/Music")) == at("home/Music.lw")
    assert find_for_adding([at("home/Music")]) == at("home/Desk/photos.lw")
    assert find_for_adding([year, at("home/Music")]) == at("home/Desk/photos.lw")
    # One that stands beside the folder is its own.
    make(at("home/Pictures.lw"))
    assert find_for_folder(pictures) == at("home/Pictures.lw")
    assert find_for_adding([pictures]) == at("home/Pictures.lw")


def test_the_last_one_is_remembered_privately_and_forgotten_when_gone(
    at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert last_opened() is None
    at("last.lw").mkdir()
    remember_opened(at("last.lw"))
    assert last_opened() is None, "it is not there"
    (at("last.lw") / "catalog.sqlite").touch()
    assert last_opened() == at("last.lw")
    kept = next(state_folder().iterdir())
    if os.name != "nt":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for wrong in (b"", b"[]", b'{"path": 3}', b'{"path": "last.lw"}', b"\xff"):
        kept.write_bytes(wrong)
        assert last_opened() is None
    # Where nothing can be remembered, nothing is, and no command fails for it.
    monkeypatch.setenv("LIKEWISE_STATE", str(kept / "below a file"))
    remember_opened(at("last.lw"))
    assert last_opened() is None
    monkeypatch.delenv("LIKEWISE_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(at("xdg")))
    assert finding.state_folder() == at("xdg/likewise")


def test_every_command_says_which_one_it_used(built: Likewise, tmp_path: Path) -> None:
    """In the folder, in one below it, elsewhere: the same collection, told in one dim line."""
    root = built.folder / "photos.lw"
    state = str(tmp_path / "state")
    picture = built.pictures / "china-01-crop.jpg"
    done = built("add", "pictures", LIKEWISE_STATE=state)
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"using {root} (of these pictures or of this folder)\n"
    for folder, arguments, how in (
        (built.folder, ["info"], "of this folder"),
        (built.pictures, ["problems"], "of this folder"),
        (tmp_path, ["search", picture, "-k", 1], "of the picture's folder"),
        (tmp_path, ["tags"], "the last one opened"),
    ):
        shell = Likewise(folder)
        done = shell(*arguments, LIKEWISE_STATE=state)
        assert done.returncode == 0, done.stderr
        assert done.stderr == f"using {root} ({how})\n"
        quiet = shell(*arguments, "--json", LIKEWISE_STATE=state)
        assert quiet.stderr == ""
    # Who names one knows.
    assert Likewise(tmp_path)("info", "-C", root).stderr == ""
    told = Likewise(tmp_path)("info", LIKEWISE_COLLECTION=str(root))
    assert told.stderr == f"using {root} (named by LIKEWISE_COLLECTION)\n"


def test_open_honours_the_key_of_programs(built: Likewise) -> None:
    """As ``serve``: one that is too short is refused before a port is opened."""
    for command in (("open", "photos.lw", "--no-browser"), ("serve",)):
        done = built(*command, LIKEWISE_KEY="short")
        assert done.returncode == 1
        assert "the key is short" in done.stderr


def test_filters_of_the_command_line(built: Likewise) -> None:
    query = "pictures/china-01-crop.jpg"
    assert len(built.json("search", query, "--where", "folder=PICT")["hits"]) == 11
    assert built.json("search", query, "--where", "camera=Canon")["hits"] == []
    said = built.refused("search", query, "--where", "colour=red")
    assert "'colour' is no filter; there are after, before, camera, folder" in said
    said = built.refused("search", query, "--where", "folder=Wardrobe")
    assert "no folder with pictures is called 'Wardrobe'; there are pictures" in said
