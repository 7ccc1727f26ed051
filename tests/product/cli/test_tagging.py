"""Tags on the command line; docs/tags.md, word for word."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.collection.collection import Collection
from tests.product.cli.process import Likewise
from tests.product.collection.tag_cases import copied, inside, outside, tag_some

PAGE = Path(__file__).parents[3] / "docs" / "tags.md"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection of three kinds of pictures, most of them tagged, as photos.lw."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIKEWISE_COLLECTION", raising=False)
    copied(tmp_path).rename(tmp_path / "photos.lw")
    shutil.copy(outside("red"), tmp_path / "holiday.jpg")
    with Collection.open("photos.lw") as col:
        tag_some(col)
    return tmp_path


def run(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, (arguments, done.output, done.exception)
    lines = done.output.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("using "))


@pytest.mark.slow
def test_every_command_of_the_page(here: Path) -> None:
    (here / "tags.csv").write_text(f"path,tags\n{inside('red', 0)},rose; sea\n")
    with Collection.open("photos.lw") as col:
        col.tag(2, "boat")
        col.tags.change([1, 4, 5], ["sea", "two words"])
    written = []
    for python, block in re.findall(r"```(python)?\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        if python:
            exec(compile(block, "tags.md", "exec"), {})
            continue
        for line in block.splitlines():
            _, *arguments = shlex.split(line, comments=True)
            if arguments == ["export", "xmp", "beside"]:
                continue  # the pictures here are shared by other tests
            run(*arguments)
            words = arguments[1:] if arguments[0] == "library" else arguments
            written.append(" ".join(words[:2]))
    assert {"tag 1", "accept 2", "reject 2", "tags log", "tags undo", "tag --all"} <= set(written)
    assert (here / "sidecars" / "red" / "red-00.png.xmp").is_file()


def test_tag_suggests_and_explains(here: Path) -> None:
    text = run("tag", inside("red", 9))
    assert re.match(r" *\d+%  red  because of red-\d\d.png \(0\.\d\d\)", text)
    said = json.loads(run("tag", here / "holiday.jpg", "-k", 1, "--json"))
    assert said["tags"] == []
    (one,) = said["suggestions"]
    assert (one["tag"], one["calibrated"]) == ("red", True)
    assert one["because"][0]["path"].endswith(".png")
    assert "tags: red" in run("tag", inside("red", 0))


def test_set_accept_reject_undo(here: Path) -> None:
    picture = inside("red", 9)
    assert "sea, two words" in run("tag", picture, "--set", "two words", "--set", "sea")
    said = json.loads(run("tag", picture, "--remove", "sea", "--json"))
    assert (said["tags"], len(said["lines"])) == (["two words"], 1)
    assert "red, two words" in run("accept", picture, "red")
    assert "Nothing changed" in run("accept", picture, "red")
    run("reject", picture, "two words", "boat")
    assert "rejected 'two words', 'boat'" in run("tags", "log")
    run("tags", "undo")
    assert json.loads(run("accept", picture, "red", "--json"))["tags"] == ["red", "two words"]
    assert "(undone)" in run("tags", "log")


@pytest.mark.slow
def test_bulk(here: Path) -> None:
    dry = json.loads(run("tag", "--all", "--dry-run", "--json"))
    assert dry["tagged"] == len(dry["found"]) > 0
    assert "would get" in run("tag", "--all", "--dry-run")
    assert f"{dry['tagged']:,} got" in run("tag", "--all", "--above", 0.6)
    assert "Nothing is left to do" in run("tag", "--all", "--above", 0.6)
    rows = {row["tag"]: row for row in json.loads(run("tags", "--json"))}
    assert rows["red"]["sources"]["user"] == 8
    assert rows["red"]["sources"]["suggested"] > 0
    assert "removed" in run("tags", "clear")


def test_where_by_tags(here: Path) -> None:
    run("tag", 1, "--set", "a=b")
    run("tag", 2, "--set", "a=b", "--set", "12")

    def hits(*where: str) -> set[int]:
        options = [part for one in where for part in ("--where", one)]
        return {h["id"] for h in json.loads(run("search", 3, *options, "--json"))["hits"]}

    assert hits("tag=a=b") == {1, 2}
    assert hits("tag=a=b", 'tag="12"') == {2}
    assert hits("tag=12", "format=png") == {2}
    cli = Likewise(here)
    assert "no picture has the tag 'Red'; is it 'red'?" in cli.refused(
        "search", 3, "--where", "tag=Red"
    )
    cli.refused("search", 3, "--where", "tag=", code=2)


def test_add_with_folder_names_and_export(empty: Likewise) -> None:
    shutil.copytree(inside("red", 0).parent, empty.folder / "in" / "roses")
    for number in range(2, 11):
        (empty.folder / "in" / "roses" / f"red-{number:02d}.png").unlink()
    (empty.folder / "in" / "roses" / "red-00.xmp").write_text("no XMP at all")
    done = empty("add", "in", "--tags-from-folders", "--workers", 0)
    assert done.returncode == 0, done.stderr
    assert "red-00.xmp: its XMP cannot be read" in done.stdout
    assert [row["tag"] for row in empty.json("tags")] == ["roses"]
    done = empty("export", "--xmp", "beside")
    assert done.returncode == 0, done.stderr
    assert "1 sidecar written" in done.stdout
    assert "red-00.xmp: left as it is" in done.stdout
    assert "roses" in (empty.folder / "in" / "roses" / "red-01.png.xmp").read_text()


def test_refusals(here: Path) -> None:
    cli = Likewise(here)
    for arguments in (
        ("tag",),
        ("tag", "1", "--all"),
        ("tag", "--all", "--set", "x"),
        ("tag", "1", "--above", "0.5"),
        ("tag", "1", "--dry-run"),
        ("tag", "--all", "--above", "1.5"),
        ("export", "--suggested"),
        ("export", "--xmp", "x", "-o", "y"),
    ):
        cli.refused(*arguments, code=2)
    assert "there is no picture" in cli.refused("accept", 999, "x")
    assert "cannot be read" in cli.refused("tags", "import", "nothing.csv")
    (here / "bad.csv").write_text("path,tag\n,x\n")
    assert "line 2: it names no picture" in cli.refused("tags", "import", "bad.csv")
    assert "no change of tags" in cli.refused("tags", "undo", 999)
    (here / "unknown.csv").write_text("path,tag\nnothing.jpg,x\n")
    assert "line 2: not in the collection: nothing.jpg" in run("tags", "import", "unknown.csv")


def test_options_before_a_command_are_refused(here: Path) -> None:
    """They would not reach it: it would act on another collection."""
    cli = Likewise(here)
    shutil.copytree(here / "photos.lw", here / "other.lw")
    before = json.loads(run("tags", "--json"))
    for arguments in (
        ("tags", "-C", "other.lw", "undo"),
        ("tags", "--collection", "other.lw", "clear"),
        ("tags", "--json", "log"),
        ("tags", "--prefix", "b", "read"),
    ):
        cli.refused(*arguments, code=2)
    assert json.loads(run("tags", "-C", "other.lw", "--json")) == before
    assert json.loads(run("tags", "--json")) == before
    assert "Undid" in run("tags", "undo", "-C", "other.lw")
    assert json.loads(run("tags", "--json")) == before


def test_accept_and_set_what_was_suggested(here: Path) -> None:
    run("tag", "--all", "--above", 0.6)
    assert "Nothing is left to do" in run("tag", "--all", "--above", 0.6, "--dry-run")
    assert "red" in run("accept", inside("red", 9), "red")
    assert "red" in run("tag", inside("red", 10), "--set", "red", "--set", "sea")
    run("tags", "undo")
    run("tags", "undo")
    rows = {row["tag"]: row for row in json.loads(run("tags", "--json"))}
    assert rows["red"]["sources"] == {"user": 8, "suggested": 3}


def test_a_list_that_was_exported_is_read_back(here: Path) -> None:
    odd = 'a;b, "c" | d'
    run("tag", 1, "--set", odd, "--set", "plain")
    for name, more in (("list.csv", ()), ("list.json", ("--format", "json"))):
        run("export", "-o", here / name, *more)
        done = json.loads(run("tags", "import", here / name, "--json"))
        assert done["unknown"] == []
    with Collection.open("photos.lw") as col:
        assert col.tags.sources(1)[odd] == ["user", "file"]
