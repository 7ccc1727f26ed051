"""What judged pairs taught, on the command line and as a page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from likewise.cli.feedback_output import describe_place, describe_times
from likewise.cli.learned_page import learned_page
from likewise.collection.collection import Collection
from likewise.learning.learned_directions import Direction
from tests.product.cli.process import Likewise
from tests.product.cli.test_looking import Page
from tests.product.collection.pair_cases import PROFILE, SPACE, make_collection, teach


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_collection(tmp_path_factory.mktemp("directions"))
    with Collection.open(made) as col:
        teach(col, 30)
        col.profiles.create("empty", SPACE)
    return made


@pytest.mark.slow
def test_text(root: Path, tmp_path: Path) -> None:
    run = Likewise(tmp_path)
    done = run("learned", "--profile", PROFILE, "--top", 2, "-C", root)
    assert done.returncode == 0, done.stderr
    with Collection.open(root) as col:
        found = col.profiles.report(PROFILE, top=2, examples=0)
    right, plain = found.figures.agreement, found.figures.agreement_plain
    assert "30 judgements not undone" in done.stdout
    assert found.figures.interval is not None
    assert found.figures.gain is not None
    low, high = found.figures.interval
    least, most = (round(100 * end) for end in found.figures.gain)
    assert least > 0
    assert (
        f"accuracy {right:.1%} ({low:.0%} to {high:.0%}), by other judgements alone; "
        f"{plain:.1%} without learning: better by {least} to {most} points (30 judgements tested)"
    ) in done.stdout
    assert f"of the {found.width} directions of space fit changed" in done.stdout
    assert "word" not in done.stdout
    for one in found.directions:
        assert describe_times(one.value) in done.stdout
    for move in found.moved:
        row = [str(move.before), str(move.after), Path(move.picture.path).name]
        assert re.search(r"\s+".join(map(re.escape, row)), done.stdout)


def test_records(root: Path, tmp_path: Path) -> None:
    run = Likewise(tmp_path)
    said = run.json("learned", "--profile", PROFILE, "--top", 2, "--examples", 3, "-C", root)
    assert said["figures"]["units"] == "directions"
    assert (said["gained"], said["lost"]) == ([], [])
    assert len(said["moved"]) == 4
    # Two either way.
    assert sorted(one["value"] > 1 for one in said["directions"]) == [False, False, True, True]
    for one in said["directions"]:
        pictures = [*one["one_end"], *one["other_end"]]
        assert len({picture["id"] for picture in pictures}) == 6
        assert all(Path(picture["path"]).is_file() for picture in pictures)
    for move in said["moved"]:
        assert move["before"] != move["after"]
        assert move["query"]["id"] != move["picture"]["id"]


def test_page(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "learned.html"
    options = ("--profile", PROFILE, "--top", 2, "--examples", 3, "-C", root)
    done = Likewise(tmp_path)("learned", "--html", out, *options)
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    page = Page(text)
    assert "script" not in {tag for tag, _ in page.tags}
    for heading in (
        "Directions that count more now",
        "Directions that count less now",
        "Pictures that moved most",
    ):
        assert text.count(heading) == 1
    assert "Words" not in text
    # Four directions with three pictures at both ends; two moves either way, each with
    # its picture and the one asked about; every picture is in the page and has a name.
    patches = [one for one in page.all("span") if one.get("class") == "patch"]
    assert len(patches) == 4 * 6 + 4 * 2
    # Where pictures lie is their owner's; a page is made to be shown.
    assert not page.all("a")
    assert all(attrs.get("alt") for tag, attrs in page.tags if tag == "img")
    assert text.count('alt="query: ') == 4
    assert len(re.findall(r"rose from \d+ to \d+", text)) == 2
    assert len(re.findall(r"fell from \d+ to \d+", text)) == 2


def test_moves_are_called_better_or_worse_only_where_that_is_known(root: Path) -> None:
    with Collection.open(root) as col:
        found = col.profiles.report(PROFILE, top=2, examples=0)
    plain = learned_page(found, "c.lw")
    assert "better where you would say so too" in plain
    assert ": better, it" not in plain
    assert ": worse, it" not in plain
    # All belong: what rose is better. None belongs: what rose is worse.
    for belongs, rising, falling in ((True, "better", "worse"), (False, "worse", "better")):
        text = learned_page(found, "c.lw", lambda _, belongs=belongs: belongs)
        assert "2 of the 4 are for the better" in text
        assert len(re.findall(rf"rose from \d+ to \d+: {rising}, it", text)) == 2
        assert len(re.findall(rf"fell from \d+ to \d+: {falling}, it", text)) == 2


def test_a_direction_that_speaks_against_being_alike_says_so(root: Path) -> None:
    assert describe_times(-0.004) == "counts 0.00 times"
    with Collection.open(root) as col:
        found = col.profiles.report(PROFILE, top=1, examples=0)
    assert "its sense is turned round" not in learned_page(
        replace(found, directions=(Direction(0.4),)), "c.lw"
    )
    text = learned_page(replace(found, directions=(Direction(-1.12),)), "c.lw")
    assert "its sense is turned round" in text
    assert "counts 1.12 times against being alike" in text
    assert "-1.12" not in text


def test_page_before_the_first_judgement(root: Path) -> None:
    with Collection.open(root) as col:
        text = learned_page(col.profiles.report("empty"), "c.lw")
    Page(text)
    assert "No direction counts differently yet" in text
    assert "moved most" not in text


def test_profiles_are_described_by_what_they_learn(root: Path, tmp_path: Path) -> None:
    run = Likewise(tmp_path)
    shown = run("profile", "show", PROFILE, "-C", root).stdout
    assert "by other judgements alone" in shown
    assert "of the directions of space fit changed" in shown
    assert "weigh nothing" not in shown
    assert run.json("profile", "show", PROFILE, "-C", root)["units"] == "directions"
    again = run("learn", "--from", "log", "--profile", PROFILE, "-C", root).stdout
    assert "Replayed the whole log" in again
    assert "30 judgements not undone; " in again
    assert "by other judgements alone" in again
    words = run("profile", "show", "default", "-C", root).stdout
    assert "directions" not in words


def test_only_words_can_be_thinned(root: Path, tmp_path: Path, monkeypatch) -> None:
    """However many comparisons there are: a profile over directions has no words to leave out."""

    from likewise.learning import sparse_profiles

    monkeypatch.setattr(sparse_profiles, "ENOUGH", 1)
    run = Likewise(tmp_path)
    assert "learn --sparse" not in run("profile", "show", PROFILE, "-C", root).stdout
    assert "ranks by no words" in run.refused("learn", "--sparse", "--profile", PROFILE, "-C", root)


def test_places_behind_all_that_were_looked_at() -> None:
    assert describe_place(None) == "after 1,000"
    assert describe_place(1000) == "1,000"
