"""Bulk actions on the command line: listed, undone, removing with files, sidecars planned."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.collection.collection import Collection
from tests.product.collection.pictures import write
from tests.product.collection.tag_cases import KINDS, copied, picture, tag_some


def run(*arguments: object, code: int = 0, typed: str | None = None) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)), input=typed)
    assert done.exit_code == code, (arguments, done.output, done.exception)
    return done.output if code else done.stdout  # which collection is used is said aside


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tagged pictures as photos.lw, which other tests share; six of its own as own.lw."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIKEWISE_COLLECTION", raising=False)
    copied(tmp_path).rename(tmp_path / "photos.lw")
    for number, kind in enumerate(KINDS * 2):
        write(tmp_path / "mine" / f"{kind}-{number}.png", picture(kind, number))
    with Collection.create("own.lw", deep=False) as col:
        col.spaces.drop("words")
        col.add("mine", workers=0)
    return tmp_path


def test_actions_are_listed_and_undone(here: Path) -> None:
    assert "yet" in run("actions")
    with Collection.open("photos.lw") as col:
        tag_some(col)
    run("tag", "--all", "--above", 0.01, "-k", 1)
    said = json.loads(run("actions", "--json"))
    assert [one["kind"] for one in said] == ["suggest", "tag", "tag", "tag"]
    assert said[0]["who"] == "the command line"
    assert re.search(r" 1 .* a program +8 pictures +Tagged “blue”\n", run("actions"))

    text = run("actions", "undo")
    assert text == "Undid action 4 (Suggested tags): 9 pictures restored\n"
    run("tag", 1, "--remove", "blue")
    assert "7 pictures restored; 1 changed later" in run("actions", "undo", 1)
    assert run("actions", "-n", 4).count("(undone)") == 2
    done = CliRunner().invoke(app, ["actions", "undo", "1"])
    assert "undone already" in str(done.exception)
    assert "put -C after" in run("actions", "-C", "photos.lw", "undo", code=2)


def test_all_suggestions_but_some_are_accepted(here: Path) -> None:
    assert "has no suggestions" in run("tags", "accept-all", "red")
    with Collection.open("photos.lw") as col:
        tag_some(col)
        col.tags.suggest_for_all(above=0.01, k=1)
        first = col.tags.suggested_for("red")[0]
    assert "not suggested" in run("tags", "accept-all", "red", "--but", 1, code=2)
    assert "2 accepted, 1 rejected" in run("tags", "accept-all", "red", "--but", first)
    assert "3 pictures restored" in run("actions", "undo")


def test_removing_asks_before_it_moves_files(here: Path) -> None:
    path = here / "mine" / "red-2.png"
    text = run("remove", path, "-C", "own.lw")
    assert "1 picture removed, 5 left" in text
    assert path.exists()
    (action,) = re.findall(r"actions undo (\d+)", text)
    assert "1 picture restored" in run("actions", "undo", action, "-C", "own.lw")

    run("remove", path, "-C", "own.lw", "--from-disk", typed="n\n", code=1)
    assert path.exists()
    assert len(json.loads(run("actions", "-C", "own.lw", "--json"))) == 1
    assert "1 file moved" in run("remove", path, "-C", "own.lw", "--from-disk", typed="y\n")
    assert not path.exists()
    said = json.loads(run("actions", "undo", "-C", "own.lw", "--json"))
    assert (said["restored"], said["left"], said["problems"]) == (1, 0, [])
    assert path.exists()
    moved = json.loads(run("remove", path, "-C", "own.lw", "--from-disk", "--yes", "--json"))
    assert (moved["removed"], moved["moved"], moved["pictures"]) == (1, 1, 5)
    assert "--from-disk" in run("remove", 1, "-C", "own.lw", "--yes", code=2)


def test_sidecars_are_planned_and_taken_back(here: Path) -> None:
    run("tag", 1, "-C", "own.lw", "--set", "sea")
    text = run("export", "-C", "own.lw", "--xmp", "beside", "--dry-run")
    assert "would write 1 new sidecar and change 0" in text
    assert str(here / "mine") in text
    assert list(here.rglob("*.xmp")) == []
    plan = json.loads(run("export", "-C", "own.lw", "--xmp", "beside", "--dry-run", "--json"))
    assert plan["folders"] == {str(here / "mine"): 1}
    assert "takes them back" in run("export", "-C", "own.lw", "--xmp", "beside")
    assert len(list(here.rglob("*.xmp"))) == 1
    assert "1 sidecar restored" in run("actions", "undo", "-C", "own.lw")
    assert list(here.rglob("*.xmp")) == []
    assert "go with --xmp" in run("export", "-C", "own.lw", "--dry-run", code=2)
