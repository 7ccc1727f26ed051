"""Bulk actions and their undo: exact, leaving alone what was changed since, whole or not at all."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.catalog import action_tables
from likewise.catalog.content import digest_of
from likewise.collection.collection import Collection
from likewise.errors import (
    CollectionError,
    DamagedCollection,
    UnknownName,
    UnknownPicture,
)
from likewise.library import removed_files
from tests.product.collection.pictures import write
from tests.product.collection.tag_cases import KINDS, copied, inside, picture, tag_some

MANY = range(1, 7)


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    """Pictures shared by all tests: nothing may be written beside them."""
    with Collection.open(copied(tmp_path)) as opened:
        yield opened


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Collection]:
    """Nine pictures of this test's own, in ``mine``."""
    for kind in KINDS:
        for number in range(3):
            write(tmp_path / "mine" / f"{kind}-{number}.png", picture(kind, number))
    with Collection.create(tmp_path / "own.lw", words={"n_words": 10}, deep=False) as made:
        made.add(tmp_path / "mine", metadata={"roll": 7}, workers=0)
        yield made


def state(col: Collection) -> dict[int, dict[str, list[str]]]:
    return {row.id: col.tags.sources(row.id) for row in col.images()}


# -- tags -----------------------------------------------------------------------------------


def test_tagging_many_is_an_action_and_undo_restores_it_exactly(col: Collection) -> None:
    col.actor = "the page"
    col.tag(3, "sea", "old")
    before = state(col)
    done = col.tags.change_many(MANY, ["sea", "sun"], ["old"])
    (action,) = col.actions.list()
    assert (action.id, action.kind, action.pictures) == (done.action, "tag", 6)
    assert (action.who, action.undone) == ("the page", None)
    assert action.what == "Tagged “sea”, “sun”, removed the tag “old”"

    undone = col.actions.undo(action.id)
    assert (undone.restored, undone.left) == (6, 0)
    assert state(col) == before
    assert col.actions.list()[0].undone is not None
    with pytest.raises(CollectionError, match="undone already"):
        col.actions.undo(action.id)
    with pytest.raises(CollectionError, match="no action that could be undone"):
        col.actions.undo()
    assert col.verify() == []


def test_what_was_said_since_is_left_alone_and_counted(col: Collection) -> None:
    action = col.tags.change_many(MANY, ["sea"]).action
    col.tags.reject(2, "sea")
    col.tag(9, "sea")
    undone = col.actions.undo(action)
    assert (undone.restored, undone.left) == (5, 1)
    assert col.tags.refused(2) == ["sea"]
    assert {image for image, tags in state(col).items() if tags} == {9}

    all_of_it = col.tags.change_many([4, 5], ["hill"]).action
    col.tags.change_many([4, 5], remove=["hill"])
    with pytest.raises(CollectionError, match="nothing was undone"):
        col.actions.undo(all_of_it)
    assert col.tags.refused(4) == ["hill"]
    assert col.actions.list()[1].undone is None, "a refusal changes nothing"


def test_one_picture_is_no_bulk_action(col: Collection) -> None:
    assert col.tags.change_many([1], ["sea"]).action is None
    assert col.tags.change_many([1, 2], ["sea"]).action is None, "one of the two had it"
    assert col.actions.list() == []
    with pytest.raises(UnknownName, match="likewise library actions"):
        col.actions.undo(1)


def test_lines_taken_back_one_by_one_undo_their_action(col: Collection) -> None:
    done = col.tags.change_many([1, 2], ["sea"], ["sun"])
    for line in done.lines:
        assert col.actions.list()[0].undone is None
        col.tags.undo(line)
    assert col.actions.list()[0].undone is not None


def test_an_action_is_written_with_what_it_does_or_nothing_is(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("between the two")

    monkeypatch.setattr(action_tables, "put_action", fail)
    for act in (
        lambda: col.tags.change_many(MANY, ["sea"]),
        lambda: col.actions.remove(MANY),
        lambda: col.tags.settle_suggestions("sea", MANY),
    ):
        with pytest.raises(RuntimeError, match="between the two"):
            act()
    assert (len(col), col.tags.all(), col.tags.log()) == (33, [], [])


# -- suggestions ----------------------------------------------------------------------------


def test_suggesting_for_all_is_undone_but_for_what_people_said(col: Collection) -> None:
    tag_some(col)
    before = state(col)
    run = col.tags.suggest_for_all(above=0.01, k=1)
    suggested = [i for tag in KINDS for i in col.tags.suggested_for(tag)]
    assert run.tagged == len(suggested) == 9
    action = col.actions.list()[0]
    assert (action.id, action.kind, action.pictures) == (run.action, "suggest", 9)

    (tag,) = col.tags.of(suggested[0])
    col.tags.accept(suggested[0], tag)
    undone = col.actions.undo(run.action)
    assert (undone.restored, undone.left) == (8, 1)
    now = state(col)
    assert now.pop(suggested[0]) == {tag: ["accepted", "suggested"]}
    del before[suggested[0]]
    assert now == before
    again = col.tags.suggest_for_all(above=0.01, k=1)
    assert (again.resumed, again.tagged) == (0, 8), "the next run begins anew"


def test_suggestions_that_were_cleared_come_back(col: Collection) -> None:
    tag_some(col)
    col.tags.suggest_for_all(above=0.01, k=1)
    before = state(col)
    assert col.tags.clear_suggestions() == 9
    assert col.actions.undo().action.kind == "clear"
    assert state(col) == before


def test_a_run_that_changes_nothing_is_no_action(col: Collection) -> None:
    tag_some(col)
    n_actions = len(col.actions.list())
    assert col.tags.suggest_for_all(above=1.0, k=1).action is None
    assert len(col.actions.list()) == n_actions


def test_all_suggestions_of_a_tag_but_some_are_accepted_in_one_step(col: Collection) -> None:
    tag_some(col)
    col.tags.suggest_for_all(above=0.01, k=1)
    before = state(col)
    found = col.tags.suggested_for("red")
    assert len(found) == 3
    done = col.tags.settle_suggestions("red", found[1:], found[:1])
    assert col.tags.suggested_for("red") == []
    assert col.tags.refused(found[0]) == ["red"]
    assert col.tags.sources(found[1])["red"] == ["accepted", "suggested"]
    action = col.actions.list()[0]
    assert (action.id, action.pictures) == (done.action, 3)
    assert action.what == "Accepted 2 suggestions of “red”, rejected 1"
    col.actions.undo(done.action)
    assert state(col) == before
    assert col.tags.refused(found[0]) == []
    with pytest.raises(Exception, match="choose one"):
        col.tags.settle_suggestions("red", found, found[:1])


# -- sidecars -------------------------------------------------------------------------------


def test_sidecars_are_planned_written_and_taken_back(own: Collection, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    theirs = mine / "red-0.png.xmp"
    own.tags.change([mine / f"red-{i}.png" for i in range(3)], ["rose"])
    own.tags.export_xmp()
    theirs.write_bytes(theirs.read_bytes().replace(b"rose", b"hips"))
    content = theirs.read_bytes()
    own.actions.undo()
    assert sorted(mine.glob("*.xmp")) == [theirs], "the changed one is left"
    own.sync(workers=0)

    plan = own.tags.plan_xmp()
    assert (plan.new, plan.changed, plan.folders) == (2, 1, {str(mine): 3})
    assert sorted(mine.glob("*.xmp")) == [theirs], "a plan writes nothing"
    done = own.tags.export_xmp()
    assert done.written == 3
    action = own.actions.list()[0]
    assert (action.id, action.pictures) == (done.action, 3)
    assert action.what == "Wrote sidecars beside the pictures"
    (mine / "red-1.png.xmp").write_bytes(b"<x>somebody was here</x>")
    undone = own.actions.undo(done.action)
    assert (undone.restored, undone.left) == (2, 1)
    assert undone.problems[0][0].endswith("red-1.png.xmp")
    assert "changed since" in undone.problems[0][1]
    assert theirs.read_bytes() == content, "as it was, to the byte"
    assert sorted(mine.glob("*.xmp")) == [theirs, mine / "red-1.png.xmp"]
    own.sync(workers=0)
    assert own.tags.of(mine / "red-0.png") == ["hips", "rose"]
    assert own.verify() == []


def test_sidecars_below_another_folder(own: Collection, tmp_path: Path) -> None:
    own.tags.change([1, 2], ["rose"])
    place = tmp_path / "elsewhere"
    assert own.tags.plan_xmp(place).folders == {str(place): 2}
    assert not place.exists()
    own.tags.export_xmp(place)
    assert own.actions.list()[0].what == f"Wrote sidecars below {place}"
    assert len(list(place.iterdir())) == 2
    own.actions.undo()
    assert list(place.iterdir()) == []
    assert own.tags.export_xmp(place).written == 2, "and can be written again"
    # What was undone cannot be undone again, and what came since stands.
    assert own.tags.export_xmp(place).action is None


def test_an_export_that_fails_is_no_action(own: Collection, tmp_path: Path) -> None:
    own.tags.change([1, 2], ["rose"])
    n_actions = len(own.actions.list())
    place = tmp_path / "blocked"
    for row in own.images():
        (place / f"{Path(row.path).name}.xmp").mkdir(parents=True)
    done = own.tags.export_xmp(place)
    assert (done.action, len(done.problems) > 0) == (None, True)
    assert len(own.actions.list()) == n_actions


# -- removing -------------------------------------------------------------------------------


def neighbours(col: Collection, path: Path) -> list[tuple[str, float]]:
    return [(hit.path, round(hit.score, 5)) for hit in col.search(path, k=9)]


def test_removed_pictures_come_back_with_all_that_was_said(own: Collection, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    red, blue = mine / "red-0.png", mine / "blue-0.png"
    own.tag(red, "rose")
    own.tags.reject(red, "tulip")
    (tmp_path / "tags.csv").write_text(f"path,tags\n{red},listed\n")
    own.tags.import_file(tmp_path / "tags.csv")
    own.spaces.add("mine", {"feature": "own", "kind": "dense"})
    own.spaces.add_vectors("mine", [own.id_of(red), own.id_of(blue)], [[0.1, 1.0], [1.0, 0.0]])
    own.judge(blue, [red], [mine / "blue-1.png"])
    before, tags = neighbours(own, blue), own.tags.sources(red)
    assert set(tags) == {"rose", "listed"}

    gone = own.actions.remove([red, mine / "red-1.png"])
    assert (gone.pictures, gone.moved, len(own)) == (2, 0, 7)
    assert red.exists()
    with pytest.raises(UnknownPicture):
        own.id_of(red)
    assert own.verify() == []

    undone = own.actions.undo(gone.action)
    assert (undone.restored, undone.left, len(own)) == (2, 0, 9)
    assert own.tags.sources(red) == tags
    assert own.tags.refused(red) == ["tulip"]
    assert own.image(mine / "red-1.png").metadata == {"roll": 7}
    assert neighbours(own, blue) == before
    assert [Path(hit.path).name for hit in own.search(blue, by="mine", k=2)] == ["red-0.png"]
    assert own.log.verdicts(own.id_of(blue))[0] == [own.id_of(red)]
    assert own.verify() == []
    assert own.sync(workers=0).added == 0


def test_no_scan_brings_a_removed_picture_back(own: Collection, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    action = own.actions.remove([mine / "red-0.png", mine / "red-1.png"]).action
    (mine / "red-0.png").rename(mine / "moved.png")
    (mine / "red-1.png").touch()
    shutil.copy(mine / "red-1.png", mine / "copy.png")
    for scan in (lambda: own.sync(workers=0), lambda: own.add(mine, workers=0)):
        assert scan().added == 0
        assert len(own) == 7
    assert own.problems() == []
    # Somebody asks for one of them; undo then has only the other to bring back.
    assert own.add(mine / "copy.png", workers=0).added == 1
    (mine / "moved.png").rename(mine / "red-0.png")
    undone = own.actions.undo(action)
    assert (undone.restored, undone.left, len(own)) == (1, 1, 9)
    assert own.verify() == []


def test_a_file_that_is_another_picture_by_now_stays_out(own: Collection, tmp_path: Path) -> None:
    path = tmp_path / "mine" / "red-0.png"
    action = own.actions.remove([path]).action
    write(path, picture("green", 77))
    with pytest.raises(CollectionError, match="nothing was undone"):
        own.actions.undo(action)
    assert len(own) == 8
    assert own.sync(workers=0).added == 1, "it is a new picture, and nobody removed that"


def test_rows_of_another_generation_are_made_anew(own: Collection, tmp_path: Path) -> None:
    red = tmp_path / "mine" / "red-0.png"
    own.actions.remove([red])
    own.retrain(workers=0)
    own.actions.undo()
    assert own.id_of(red) in [hit.id for hit in own.search(1, by="words", k=9)]
    assert own.verify() == []


def test_from_disk_moves_files_where_undo_finds_them(own: Collection, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    names = ("red-0.png", "red-1.png", "red-2.png")
    contents = {name: (mine / name).read_bytes() for name in names}
    changed = mine / "red-2.png"
    paths = [own.id_of(mine / name) for name in names]
    changed.write_bytes(b"edited")
    gone = own.actions.remove(paths, from_disk=True)
    assert (gone.pictures, gone.moved) == (3, 2)
    assert gone.problems[0][0] == str(changed)
    assert "changed since" in gone.problems[0][1]
    assert changed.read_bytes() == b"edited"
    assert not (mine / "red-0.png").exists()
    kept = sorted((own.root / removed_files.FOLDER).rglob("*.png"))
    assert [path.name for path in kept] == ["00001-red-0.png", "00002-red-1.png"]
    with pytest.raises(CollectionError, match="holds files that were moved"):
        own.destroy()
    own.sync(workers=0)
    assert own.verify() == []

    write(mine / "red-1.png", picture("green", 50))
    undone = own.actions.undo(gone.action)
    assert (undone.restored, undone.left) == (1, 2)
    assert (mine / "red-0.png").read_bytes() == contents["red-0.png"]
    assert own.id_of(mine / "red-0.png")
    assert undone.problems[0][0] == str(mine / "red-1.png")
    assert "another file" in undone.problems[0][1]
    assert kept[1].read_bytes() == contents["red-1.png"], "nothing is lost"


def test_a_move_to_another_disk_copies_compares_and_only_then_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "a.png", picture("red", 1))
    content = source.read_bytes()
    rename = removed_files.rename_whole

    def other_disk(part: Path, target: Path) -> None:
        if part.suffix != ".part":
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        whole = {path.read_bytes() for path in tmp_path.rglob("*a.png")}
        assert whole == {content}, "deleted before its copy was whole"
        rename(part, target)

    monkeypatch.setattr(removed_files, "rename_whole", other_disk)
    digest = removed_files.digest_of_file(source)
    moves = removed_files.places_for([str(source)], 4)
    assert removed_files.move_away(tmp_path / "c.lw", moves, {str(source): digest}) == []
    assert not source.exists()
    assert (tmp_path / "c.lw" / moves[str(source)]).read_bytes() == content
    assert removed_files.move_back(tmp_path / "c.lw", moves) == []
    assert source.read_bytes() == content
    assert not removed_files.holds_files(tmp_path / "c.lw")


def test_a_catalog_from_elsewhere_deletes_and_plants_nothing(
    own: Collection, tmp_path: Path
) -> None:
    """Undo believes what it was told of sidecars and pictures, and of nothing else."""
    diary = tmp_path / "diary.txt"
    diary.write_bytes(b"dear diary")
    with own._store.write() as c:
        action = action_tables.put_action(c, own._store, "sidecars", 1, {"place": "beside"})
        file = action_tables.WrittenFile(str(diary), digest_of(b"dear diary"), None, None)
        action_tables.put_written_file(c, action, file)
    with pytest.raises(CollectionError, match="no sidecar"):
        own.actions.undo(action)
    assert diary.read_bytes() == b"dear diary"

    (own.root / "removed").mkdir()
    (own.root / "removed" / "script").write_bytes(b"#!/bin/sh")
    target = str(tmp_path / "run-me")
    (problem,) = removed_files.move_back(own.root, {target: "removed/script"})
    assert problem[0] == target
    assert not Path(target).exists()
    with pytest.raises(DamagedCollection, match="plain name"):
        removed_files.move_back(own.root, {target: "../diary.txt"})


def test_what_belongs_to_a_picture_is_remembered_whatever_table_it_is_in(own: Collection) -> None:
    """Rows of every table that refers to pictures come back, without a list of such tables."""
    catalog = own.root / "catalog.sqlite"
    with sqlite3.connect(catalog) as c:
        camera = c.execute("SELECT count(*) FROM cameras").fetchone()
    assert camera == (0,)
    with own._store.write() as writing:
        writing.execute("INSERT INTO cameras VALUES (1, 'Box Brownie')")
    own.actions.remove([1])
    assert own.search(text="brownie", k=5) == []
    own.actions.undo()
    (hit,) = own.search(text="brownie", k=5)
    assert Path(hit.path).name == "blue-0.png"


def test_actions_outlive_the_process_that_did_them(tmp_path: Path) -> None:
    root = copied(tmp_path)
    with Collection.open(root) as col:
        col.tags.change(MANY, ["sea"])
        col.remove(inside("red", 0), inside("red", 1))
    with Collection.open(root) as col:
        assert [one.kind for one in col.actions.list()] == ["remove", "tag"]
        assert [one.kind for one in col.actions.list(1)] == ["remove"]
        assert col.actions.undo().restored == 2
        assert col.actions.undo().restored == 6
        assert len(col) == 33
        assert col.tags.all() == []
