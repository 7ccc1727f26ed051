"""The page of what was learned: one file, nothing from elsewhere, every name escaped."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.cli.learned_page import draw_curve, learned_page
from likewise.cli.pages import thumbnail
from likewise.collection.collection import Collection
from likewise.learning.learned_report import CurvePoint
from tests.product.cli.process import Likewise
from tests.product.cli.test_looking import Page

HOSTILE = "<b onload=x>&'\".jpg"


@pytest.fixture(scope="module")
def taught(built: Likewise, tmp_path_factory: pytest.TempPathFactory):
    """A collection of twelve pictures and one with a bad name; a few judgements, one undone."""
    folder = tmp_path_factory.mktemp("taught")
    shutil.copytree(built.folder / "photos.lw", folder / "photos.lw")
    (folder / "more").mkdir()
    with Collection.open(folder / "photos.lw") as col:
        with Image.open(built.pictures / "china-00-original.jpg") as whole:
            whole.crop((20, 20, 300, 220)).save(folder / "more" / HOSTILE, quality=90)
        col.add(folder / "more", workers=0)
        ids = {Path(row.path).name: row.id for row in col.images()}
        col.profiles.create("mine", "words")
        col.judge(ids["china-00-original.jpg"], [ids["coffee-00-original.jpg"]], [ids[HOSTILE]],
                  profile="mine")  # fmt: skip
        col.judge(ids[HOSTILE], [ids["china-01-crop.jpg"]], profile="mine")
        col.judge(ids["rocket-00-original.jpg"], [], [ids["chelsea-00-original.jpg"]],
                  profile="mine")  # fmt: skip
        col.undo(profile="mine")
        yield col


def test_page(taught: Collection) -> None:
    found = taught.profiles.report("mine", top=2, examples=3)
    text = learned_page(found, "photos.lw")
    page = Page(text)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "onload" not in {key for _, attrs in page.tags for key in attrs}
    assert "<b onload" not in text
    assert "prefers-color-scheme: dark" in text
    assert len(page.all("style")) == 1
    # Every picture is in the page itself, and nothing says where on this machine it lies.
    examples = sum(len(word.examples) for word in (*found.gained, *found.lost))
    assert len(page.pictures()) >= examples >= 6
    assert not page.all("a")
    assert "http" not in re.sub(r"http-equiv", "", text.lower())
    # A mark lies inside its patch.
    marks = re.findall(r'<i style="left:([\d.]+)%;top:([\d.]+)%;width:([\d.]+)%;height:', text)
    assert len(marks) == examples
    assert all(0 <= float(x) <= 100 and 0 < float(w) <= 100 for x, _, w in marks)
    assert "Words that count more" in text
    assert "Words that count less" in text
    # Versions: four lines, one of which no longer counts.
    assert text.count("<b>") >= 4
    assert text.count("undone</div>") == 1
    assert "undid judgement 3" in text


def test_command(taught: Collection, tmp_path: Path) -> None:
    run = Likewise(tmp_path)
    out = tmp_path / "learned.html"
    options = ("--profile", "mine", "--top", 1, "-C", taught.root)
    done = run("learned", "--html", out, *options)
    assert done.returncode == 0, done.stderr
    assert f"Open {out}" in done.stdout
    assert "2 judgements not undone" in done.stdout
    Page(out.read_text())
    command = ["learned", *map(str, options), "--json"]
    said = json.loads(CliRunner().invoke(app, command).output)
    assert len(said["gained"]) == len(said["lost"]) == 1
    assert len(said["gained"][0]["examples"][0]["box"]) == 4
    assert [line["stands"] for line in said["log"]] == [True, True, False, True]
    assert len(said["curve"]) == 2
    refused = run.refused("learned", "--html", tmp_path / "no" / "x.html", "-C", taught.root)
    assert "cannot be written" in refused


def test_page_without_lessons_and_without_words(taught: Collection) -> None:
    taught.profiles.create("colours", "holistic")
    taught.profiles.create("empty", "words")
    taught.judge(1, [2], profile="colours")
    colours = learned_page(taught.profiles.report("colours"), "photos.lw")
    Page(colours)
    assert "has no words" in colours
    empty = learned_page(taught.profiles.report("empty"), "photos.lw")
    Page(empty)
    assert "No word has changed its weight yet" in empty
    assert "is empty" in empty


def test_a_picture_that_is_gone_leaves_a_gap(taught: Collection, tmp_path: Path) -> None:
    found = taught.profiles.report("mine", top=2, examples=2)
    path = found.gained[0].examples[0].path
    shutil.move(path, tmp_path / "hidden.jpg")
    try:
        from likewise.cli import learned_page as module

        module._pixels.cache_clear()
        thumbnail.cache_clear()
        text = learned_page(found, "photos.lw")
    finally:
        shutil.move(tmp_path / "hidden.jpg", path)
    Page(text)
    assert '<span class="patch"' in text


def points(*shares: tuple[float, float]) -> list[CurvePoint]:
    return [CurvePoint(n, n, learned, plain) for n, (learned, plain) in enumerate(shares, 1)]


@pytest.mark.parametrize("shares", [[(1.0, 1.0)], [(0.0, 0.0), (1.0, 0.5)], [(0.55, 0.5)] * 900])
def test_curve_stays_on_its_drawing(shares: list[tuple[float, float]]) -> None:
    text = draw_curve(points(*shares))
    Page(text)
    lines = re.findall(r'<path class="(learned|plain)" d="M([^"]+)"', text)[2:]
    assert [kind for kind, _ in lines] == ["plain", "learned"]
    for _, line in lines:
        spots = [tuple(map(float, spot.split())) for spot in line.split(" L")]
        assert 2 <= len(spots) <= 240
        assert all(0 <= x <= 640 and 0 <= y <= 260 for x, y in spots)
    # Higher is better: the last point's height follows its share.
    if shares[-1] == (1.0, 0.5):
        plain, best = (float(line.split(" L")[-1].split()[1]) for _, line in lines)
        assert best < plain
    assert f"{shares[-1][0]:.1%}" in text
