"""After any history every backup restores, to equal answers; and what a backup may not hold."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.store import FILE
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, DamagedCollection, LikewiseError
from tests import trials
from tests.product.private import store_of
from tests.product.trust.stored_cases import ROUNDS, ask_all, make_full, write_small


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_full(tmp_path_factory.mktemp("backups"))


@pytest.fixture
def copy(full: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(full, tmp_path / "photos.lw"))


@pytest.mark.parametrize("recipe", [{"feature": "holistic"}, {"feature": "vlad"}])
def test_a_picture_that_a_space_cannot_describe_is_no_damage(
    tmp_path: Path, recipe: dict[str, str]
) -> None:
    paths = write_small(tmp_path / "pictures", 8)
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=1)
        paths[3].write_bytes(paths[3].read_bytes()[:200])
        gone = col.id_of(paths[3])
        col.spaces.add("again", recipe, workers=1)
        assert store_of(col).gaps("again", 1) == {gone}
        assert col.verify() == []
        before = ask_all(col)
        col.backup(tmp_path / "copy")
        with Collection.restore(tmp_path / "copy", tmp_path / "back.lw") as back:
            assert ask_all(back) == before
        # A row that is lost is still told.
        with store_of(col).write() as c:
            c.execute("DELETE FROM vectors WHERE space = 'again' AND image <> ?", (gone,))
        assert any("has no vector" in text for text in col.verify())
        with pytest.raises(DamagedCollection, match="no backup was made"):
            col.backup(tmp_path / "other")
        assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("seed", range(1 + ROUNDS // 25))
def test_every_backup_restores_to_equal_answers(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([24, seed])
    paths = write_small(tmp_path / "pictures", 10, seed)
    n_written = len(paths)
    col = Collection.create(tmp_path / "photos.lw", deep=False)
    col.add(tmp_path / "pictures", workers=1)
    done = []
    with col:
        for step in range(12):
            ids = [row.id for row in col.images()]
            act = str(
                rng.choice(
                    ["add", "remove", "truncate", "judge", "judge", "tag", "space", "drop",
                     "retrain", "refresh", "undo", "lose", "sync"]
                )
            )  # fmt: skip
            done.append(act)
            try:
                if act == "add":
                    write_small(tmp_path / "pictures" / f"more {step}", 2, n_written + step)
                    col.add(tmp_path / "pictures", workers=1)
                elif act == "remove":
                    col.remove(int(rng.choice(ids)))
                elif act == "truncate":
                    path = Path(col.image(int(rng.choice(ids))).path)
                    path.write_bytes(path.read_bytes()[: int(rng.integers(1, 400))])
                elif act == "lose":
                    Path(col.image(int(rng.choice(ids))).path).unlink(missing_ok=True)
                elif act == "judge":
                    asked = [int(i) for i in rng.choice(ids, 3, replace=False)]
                    col.judge(asked[0], [asked[1]], [asked[2]])
                elif act == "tag":
                    col.tag(int(rng.choice(ids)), str(rng.choice(["sea", "garden"])))
                elif act == "space":
                    col.spaces.add("extra", {"feature": "holistic"}, workers=1)
                elif act == "drop":
                    col.spaces.drop("extra")
                elif act == "sync":
                    col.sync(workers=1)
                elif act == "undo":
                    col.undo()
                else:
                    getattr(col, act)()
            except LikewiseError:
                done[-1] += " (refused)"
            if step % 3 == 2:
                target = tmp_path / f"copy {step}"
                col.backup(target)
                before = ask_all(col)
                with Collection.restore(target, tmp_path / f"back {step}.lw") as back:
                    assert ask_all(back) == before, done
                    assert back.verify() == [], done
                trials.count(trials.BACKUPS)


# -- what a collection or a backup from elsewhere may hold ------------------------------------


def _tamper(root: Path, sql: str, *values: object) -> None:
    """Change a catalog as somebody would who means harm."""
    with closing(sqlite3.connect(root / FILE)) as c:
        c.execute(sql, values)
        c.commit()


@pytest.mark.parametrize(
    "name", ["../.bashrc", "/etc/passwd", "words/../../x", "segments//x", "a\\..\\b/c", "words/x\n"]
)
def test_names_of_a_hostile_catalog_stay_inside(copy: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / ".bashrc").write_text("mine")
    _tamper(copy, "INSERT INTO segments VALUES (?, 'holistic', 1, 1, 1)", name)
    with Collection.open(copy) as col:
        with pytest.raises(DamagedCollection, match="plain name"):
            col.backup(tmp_path / "deep" / "copy")
        with pytest.raises(DamagedCollection, match="plain name"):
            col.search(1, by="holistic")
    assert (tmp_path / ".bashrc").read_text() == "mine"
    assert not list((tmp_path / "deep").iterdir())


@pytest.mark.parametrize("what", ["link", "folder", "pipe", "device"])
def test_a_backup_holds_plain_files_only(copy: Path, tmp_path: Path, what: str) -> None:
    with Collection.open(copy) as col:
        made = col.backup(tmp_path / "made")
    (tmp_path / "secret").write_text("secret")
    odd = made / "words" / "odd"
    if what == "link":
        odd.symlink_to(tmp_path / "secret")
    elif what == "folder":
        odd.symlink_to(tmp_path)
    elif what == "pipe":
        os.mkfifo(odd)
    else:
        try:
            os.mknod(odd, stat.S_IFCHR | 0o600, os.makedev(1, 5))
        except OSError:
            pytest.skip("no device can be made here")
    with pytest.raises(CollectionError, match="neither a plain file nor a folder"):
        Collection.restore(made, tmp_path / "back.lw")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["made", "photos.lw", "secret"]


def test_a_link_in_a_collection_is_not_backed_up(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    with Collection.open(copy) as col:
        name = next(name for name in store_of(col).named_files())
        (copy / name).unlink()
        (copy / name).symlink_to(tmp_path / "secret")
        with pytest.raises(CollectionError, match="neither a plain file nor a folder"):
            col.backup(tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_a_folder_of_the_users_stays(copy: Path, tmp_path: Path) -> None:
    mine = tmp_path / "copy.part"
    mine.mkdir()
    (mine / "letter").write_text("dear")
    with Collection.open(copy) as col:
        col.backup(tmp_path / "copy")
        theirs = tmp_path / "back.lw.part"
        theirs.mkdir()
        Collection.restore(tmp_path / "copy", tmp_path / "back.lw").close()
    assert (mine / "letter").read_text() == "dear"
    assert theirs.is_dir()


@pytest.mark.skipif(os.name == "nt", reason="rights are of another kind there")
def test_what_is_made_belongs_to_its_owner(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        root = make_full(tmp_path)
        with Collection.open(root) as col:
            made = col.backup(tmp_path / "made")
            Collection.restore(made, tmp_path / "back.lw").close()
    finally:
        os.umask(before)
    for place in (root, made, tmp_path / "back.lw"):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert stat.S_IMODE((place / FILE).stat().st_mode) == 0o600
        folders = [path for path in place.iterdir() if path.is_dir()]
        assert folders
        assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_a_foreign_trigger_is_refused(copy: Path) -> None:
    _tamper(
        copy,
        "CREATE TRIGGER guest AFTER INSERT ON tags BEGIN DELETE FROM log; END",
    )
    with pytest.raises(DamagedCollection, match="trigger 'guest' that Likewise did not make"):
        Collection.open(copy)


def test_a_trigger_of_ours_that_says_something_else_is_refused(copy: Path) -> None:
    _tamper(copy, "DROP TRIGGER tag_comes")
    with pytest.raises(DamagedCollection, match="lacks the trigger 'tag_comes'"):
        Collection.open(copy)
    _tamper(copy, "CREATE TRIGGER tag_comes AFTER INSERT ON tags BEGIN DELETE FROM log; END")
    with pytest.raises(DamagedCollection, match=r"'tag_comes' of .* is not what Likewise made"):
        Collection.open(copy)


def test_a_view_in_the_place_of_a_table_is_refused(copy: Path) -> None:
    _tamper(copy, "DROP TABLE roots")
    _tamper(copy, "CREATE VIEW roots AS SELECT path FROM files")
    with pytest.raises(DamagedCollection, match="view 'roots' that Likewise did not make"):
        Collection.open(copy)
