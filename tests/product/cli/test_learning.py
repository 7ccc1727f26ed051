"""Commands of the loop: judge, undo, log, learn, compact, profile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.cli.comparison_files import read_triplets
from likewise.errors import InvalidInput
from tests.product.cli.process import Likewise


class Here:
    """Runs commands in this process, on a collection of the test's own."""

    def __init__(self, folder: Path, source: Likewise) -> None:
        self.folder = folder
        self.pictures = source.pictures
        shutil.copytree(source.folder / "photos.lw", folder / "photos.lw")
        self("profile", "create", "mine", "--base", "words")

    def __call__(self, *arguments: object, code: int = 0) -> str:
        command = [*map(str, arguments), "-C", str(self.folder / "photos.lw")]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == code, (done.output, done.exception)
        return done.output if done.exception is None or code else str(done.exception)

    def json(self, *arguments: object, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code))

    def refused(self, *arguments: object) -> str:
        command = [*map(str, arguments), "-C", str(self.folder / "photos.lw")]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 1
        assert done.output == ""
        return str(done.exception)

    def path(self, name: str) -> Path:
        return next(self.pictures.glob(f"{name}*.jpg"))

    def id(self, name: str) -> int:
        path = str(self.path(name))
        rows = json.loads(self("export", "--format", "json"))
        return next(row["id"] for row in rows if row["path"] == path)


@pytest.fixture
def here(built: Likewise, tmp_path: Path) -> Here:
    return Here(tmp_path, built)


def test_judge_then_undo(here: Here) -> None:
    query, liked, disliked = (here.path(name) for name in ("china-00", "rocket-00", "coffee-01"))
    search = ("search", query, "--by", "mine", "-k", 11)
    before = here.json(*search)["hits"]
    said = here.json(
        "judge", query, "--liked", liked, "--disliked", disliked, "--profile", "mine", "-k", 11
    )
    assert (said["profile"], said["kind"], said["stands"]) == ("mine", "judge", True)
    assert (len(said["liked"]), len(said["disliked"]), said["contradicts"]) == (1, 1, [])
    order = [hit["path"] for hit in said["hits"]]
    assert order.index(str(liked)) < [hit["path"] for hit in before].index(str(liked))
    assert order[-1] == str(disliked)
    assert here.json(*search)["hits"] != before
    undone = here.json("undo", said["number"], "--profile", "mine")
    assert (undone["undone"], undone["profile"]) == (said["number"], "mine")
    assert here.json(*search)["hits"] == before
    kinds = [(line["kind"], line["stands"]) for line in here.json("log", "--profile", "mine")]
    assert kinds == [("judge", False), ("undo", True)]
    assert "not in effect" in here.refused("undo", said["number"], "--profile", "mine")
    assert "no judgement to take back" in here.refused("undo", "--profile", "mine")


def test_judge_says_what_it_contradicts(here: Here) -> None:
    query, other = here.path("china-00"), here.id("rocket-00")
    first = here.json("judge", query, "--liked", f"{other},{here.id('coffee-01')}")["number"]
    text = here("judge", query, "--disliked", other, "-k", 2)
    assert f"It contradicts judgement {first}; the later one counts." in text
    assert len(text.splitlines()) == 6
    log = here("log")
    assert f"contradicts {first}" in log
    third = here.json("judge", query, "--liked", other)
    assert third["contradicts"] == [third["number"] - 1]
    assert len(here("log", "--limit", 1).splitlines()) == 3


def test_judge_with_what_was_shown(here: Here) -> None:
    ids = [here.id(name) for name in ("rocket-00", "coffee-01", "china-01")]
    said = here.json(
        "judge", here.path("china-00"), "--liked", ids[2], "--shown", ",".join(map(str, ids)),
        "--profile", "mine",
    )  # fmt: skip
    figures = here.json("profile", "show", "mine")
    assert said["disliked"] == []
    # Both pictures that were passed over, and nothing drawn at random, were learned from.
    assert here.json("learned", "--profile", "mine")["curve"][0]["asked"] == 2
    assert figures["judgements"] == 1


def test_judge_refusals(here: Here) -> None:
    query = here.path("china-00")
    here("judge", query, code=2)
    here("judge", query, "--liked", 1, "--region", "1,2", code=2)
    assert "no picture with id 999" in here.refused("judge", query, "--liked", 999)
    assert "query itself" in here.refused("judge", query, "--liked", here.id("china-00"))
    assert "no profile 'x'" in here.refused("judge", query, "--liked", 1, "--profile", "x")


def test_learn_from_a_file(here: Here) -> None:
    table = here.folder / "triplets.csv"
    table.write_text(
        "\ufeffanchor,nearer,farther\n"
        f"{here.path('china-00')},{here.path('china-01')},{here.path('coffee-00')}\n\n"
        f'{here.id("coffee-00")}, {here.id("coffee-01")},"{here.path("rocket-00")}"\n'
    )
    said = here.json("learn", "--from", table, "--profile", "mine")
    assert (said["written"], said["judgements"]) == (2, 2)
    assert 0 <= said["agreement"] <= 1
    again = here("learn", "--from", "log", "--profile", "mine")
    assert "the result is unchanged" in again
    assert "nearer to" in here("log", "--profile", "mine")


def test_learn_names_every_bad_line(here: Here) -> None:
    table = here.folder / "bad.csv"
    table.write_text("1,2,3\n1,2\n1,2,999\n\n2,2,1\nabsent.jpg,1,2\n")
    text = here.refused("learn", "--from", table, "--profile", "mine")
    for expected in (
        "line 2: 2 columns; 3 expected (anchor, nearer, farther)",
        "line 3: there is no picture with id 999",
        "line 5: the same picture twice",
        "line 6: ",
        "nothing was learned",
    ):
        assert expected in text
    assert "line 1:" not in text
    assert here.json("log", "--profile", "mine") == []
    assert "cannot be read" in here.refused("learn", "--from", here.folder / "none.csv")


def test_learn_from_labels(here: Here) -> None:
    for name in ("china-00", "china-01", "coffee-00", "coffee-01"):
        from likewise.collection.collection import Collection

        with Collection.open(here.folder / "photos.lw") as col:
            col.tag(here.path(name), name.split("-")[0])
    said = here.json("learn", "--from", "labels", "--labels", "tags", "-n", 8, "--profile", "mine")
    assert said["written"] == 8
    assert "two are needed" in here.refused("learn", "--from", "labels")


def test_sparse_only_with_enough_triplets(here: Here) -> None:
    here("learn", code=2)
    here("learn", "--from", "log", "--into", "thin", code=2)
    here("judge", here.path("china-00"), "--liked", here.id("china-01"), "--profile", "mine")
    said = here.json("learn", "--sparse", "--into", "thin", "--profile", "mine", code=1)
    assert said["sparse"]["made"] is False
    assert "200 are needed" in said["sparse"]["reason"]
    assert "no profile 'thin'" in here.refused("compact", "thin")
    assert "weight 0" in here.refused("compact", "mine")


def test_sparse_profile_and_its_smaller_index(here: Here) -> None:
    here("learn", "--from", _scenes(here), "--profile", "mine")
    said = here.json("learn", "--sparse", "--profile", "mine")
    assert said["sparse"]["made"], said
    assert said["sparse"]["profile"] == "mine-sparse"
    assert 0 < said["sparse"]["kept_words"] < said["sparse"]["width"]
    search = ("search", here.path("china-00"), "--by", "mine-sparse", "-k", 3)
    before = here.json(*search)["hits"]
    small = here.json("compact", "mine-sparse")
    assert small["postings_after"] < small["postings_before"]
    assert small["bytes_after"] < small["bytes_before"]
    assert here.json(*search)["hits"] == before
    text = here("compact", "mine-sparse")
    assert [line.split("  ")[0] for line in text.splitlines()[2:]] == [
        "lists", "postings", "CPU per search",
    ]  # fmt: skip
    shown = here("learned", "--profile", "mine-sparse")
    assert f"{said['sparse']['kept_words']:,} of the {said['sparse']['width']:,} words" in shown


def _scenes(here: Here) -> Path:
    """Every triplet of two views of one scene and a view of another: 12 x 10 of them, twice."""
    rows = json.loads(here("export", "--format", "json"))
    scene = {row["id"]: Path(row["path"]).name.rsplit("-", 2)[0] for row in rows}
    triplets = [
        (a, b, c)
        for a in scene
        for b in scene
        for c in scene
        if a != b and scene[a] == scene[b] and scene[a] != scene[c]
    ]
    assert len(triplets) == 120
    table = here.folder / "scenes.csv"
    table.write_text("".join(f"{a},{b},{c}\n" for a, b, c in triplets * 2))
    return table


def test_profiles(here: Here) -> None:
    judged = here.json(
        "judge", here.path("china-00"), "--liked", here.id("rocket-00"), "--disliked",
        here.id("china-01"), "--profile", "mine",
    )["number"]  # fmt: skip
    here("profile", "copy", "mine", "other")
    names = {one["name"]: one for one in here.json("profile", "list")}
    assert set(names) == {"default", "mine", "other"}
    assert [name for name, one in names.items() if one["in_use"]] == ["default"]
    assert names["mine"]["judgements"] == names["other"]["judgements"] == 1
    assert names["mine"]["changed"] == names["other"]["changed"] > 0
    # A copy goes its own way.
    back = here("profile", "rollback", 0, "--profile", "mine")
    assert "0 judgements not undone" in back
    assert f"To go forward again: likewise models profile rollback {judged} --profile mine" in back
    names = {one["name"]: one["judgements"] for one in here.json("profile", "list")}
    assert names == {"default": 0, "mine": 0, "other": 1}
    here("profile", "rollback", judged, "--profile", "mine")
    assert here.json("profile", "show", "mine")["judgements"] == 1
    assert "no version 77" in here.refused("profile", "rollback", 77, "--profile", "mine")
    assert here.json("profile", "use", "other") == {"in_use": "other"}
    assert here.json("profile", "show")["name"] == "other"
    assert here.json("profile", "use", "default") == {"in_use": "default"}
    assert "no profile 'words'" in here.refused("profile", "use", "words")
    assert "already" in here.refused("profile", "create", "words")
    text = here("profile", "list")
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["default", "mine", "other"]


def test_profile_out_and_in(here: Here) -> None:
    file = here.folder / "mine.profile"
    assert "learned nothing" in here.refused("profile", "export", file, "--profile", "mine")
    here(
        "judge", here.path("china-00"), "--liked", here.id("rocket-00"), "--disliked",
        here.id("china-01"), "--profile", "mine",
    )  # fmt: skip
    assert here.json("profile", "show", "mine")["changed"] > 0
    here("profile", "export", file, "--profile", "mine")
    assert here.json("profile", "import", file, "--as", "back") == {"profile": "back"}
    # Weights travel, verdicts about a query do not: another query ranks alike by both.
    found = [
        here.json("search", here.path("coffee-00"), "--by", by)["hits"] for by in ("mine", "back")
    ]
    assert found[0] == found[1]
    assert "already" in here.refused("profile", "import", file)
    content = bytearray(file.read_bytes())
    content[-20] ^= 0xFF
    file.write_bytes(content)
    assert here.refused("profile", "import", file, "--as", "broken")
    assert {one["name"] for one in here.json("profile", "list")} == {"default", "mine", "back"}


def known(picture: int | str) -> int:
    """A collection of three pictures, one of them with a name that looks like a heading."""
    places = {1: 1, 2: 2, 3: 3, "anchor": 1, "my cat.jpg": 2, "c, d.jpg": 3}
    if picture not in places:
        raise InvalidInput(f"no picture {picture}")
    return places[picture]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2,3\n", [(1, 2, 3)]),
        ("a,b,c\n1,2,3\n", [(1, 2, 3)]),
        ("Anchor,More like,Less like\r\n3,2,1\r\n", [(3, 2, 1)]),
        # Not a heading: its first cell is a picture.
        ("anchor,2,3\n", [(1, 2, 3)]),
        ('1,my cat.jpg,"c, d.jpg"\n\n , ,\n2,1,3', [(1, 2, 3), (2, 1, 3)]),
        ("a;b;c\n1;my cat.jpg;c, d.jpg\n", [(1, 2, 3)]),
        ("1\t2\t3\n2\t1\t3\n", [(1, 2, 3), (2, 1, 3)]),
        ("sep=;\r\n1;2;3\r\n", [(1, 2, 3)]),
    ],
)
def test_triplet_files(tmp_path: Path, text: str, expected: list[tuple[int, int, int]]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    assert read_triplets(path, known) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no triplets"),
        (b"a,b,c\n", "no triplets"),
        (b"1,2,3\na,b,c\n", "line 2: no picture a"),
        (b"x.jpg,2,3\n", "line 1: no picture x.jpg"),
        (b"1,2,3,1\n", "line 1: 4 columns"),
        (b'"1\n",2,3\n2,3\n', "line 3: 2 columns"),
        (b"1,2,3\n" + b"9,2,3\n" * 7, "line 6: no picture 9; and 2 more"),
        (b"1,2,\xff\n", "not UTF-8"),
    ],
)
def test_triplet_files_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        read_triplets(path, known)
