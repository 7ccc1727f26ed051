"""Commands that change a collection: add, sync, remove, space, refresh, backup, Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.ingest import new_space
from tests.product.cli.process import Likewise, few_views, hear_ctrl_c
from tests.product.corpus import BROKEN
from tests.product.private import store_of


def test_a_creation_that_was_killed_is_begun_again(empty: Likewise) -> None:
    few_views(empty.pictures)
    left = empty.folder / "photos.lw"
    left.mkdir()
    (left / "catalog.sqlite.part").write_bytes(b"half of it")
    done = empty("add", "pictures")
    assert done.returncode == 0, done.stderr
    assert "12 added" in done.stdout
    assert not list(left.glob("catalog.sqlite.part*"))


def test_a_space_that_was_stopped_goes_on(empty: Likewise) -> None:
    few_views(empty.pictures)
    with Collection.create(empty.folder / "photos.lw", deep=False) as col:
        col.spaces.drop("words")
        col.add(empty.pictures, workers=0)
    command = ("space", "add", "words", "--workers", "0")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_space, "learn_space", stop)
        stopped = empty(*command)
    assert stopped.returncode == 130
    assert "likewise: stopped; the same command goes on from there" in stopped.stderr
    done = empty(*command)
    assert done.returncode == 0, done.stderr
    assert empty.json("search", 1, "--by", "words")["hits"]
    assert "words" in empty("space", "add", "--help").stdout.split("holistic by")[0]


def test_two_adds_make_one_collection(empty: Likewise) -> None:
    few_views(empty.pictures)
    command = [sys.executable, "-m", "likewise", "add", "pictures", "-C", "new.lw"]
    both = [
        subprocess.Popen(
            command, cwd=empty.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [one.communicate(timeout=120)[1] for one in both]
    assert 0 in [one.returncode for one in both], said
    for one, errors in zip(both, said, strict=True):
        assert one.returncode == 0 or "is busy: add runs" in errors, errors
    assert sum("Created a new collection" in errors for errors in said) == 1
    with Collection.open(empty.folder / "new.lw") as col:
        assert len(col) == 12
        assert col.verify() == []


def test_add_sync_problems_remove(empty: Likewise) -> None:
    paths = few_views(empty.pictures)
    (empty.pictures / "half.jpg").write_bytes(BROKEN["half.jpg"][0]())
    (empty.pictures / "note.txt").write_text("no picture")
    assert "is not there" in empty.refused("add", "absent")
    assert not (empty.folder / "photos.lw").exists()

    done = empty("add", "pictures", "--set", "album=first", "--set", "year=2024")
    assert done.returncode == 0, done.stderr
    assert f"Created a new collection: {empty.folder / 'photos.lw'}" in done.stderr
    assert "half.jpg: is a truncated or corrupt JPEG" in done.stdout
    assert "12 added, 0 known, 1 skipped" in done.stdout
    again = empty.json("add", "pictures")
    assert (again["added"], again["known"], again["skipped"]) == (0, 13, [])
    (problem,) = empty.json("problems")
    assert problem["path"].endswith("half.jpg")
    found = empty.json("search", paths[0], "--where", "year=2024", "--where", "album=first")
    assert len(found["hits"]) == 11

    # A file moves, one goes, one comes.
    (empty.pictures / "sub").mkdir()
    paths[1].rename(empty.pictures / "sub" / "moved.jpg")
    paths[2].unlink()
    shutil.copy(paths[3], empty.pictures / "copy.jpg")
    said = empty.json("sync")
    assert (said["added"], said["copies"], said["removed"], said["pictures"]) == (0, 2, 1, 11)

    gone = empty.json("remove", paths[0])
    assert (gone["removed"], gone["pictures"], gone["moved"]) == (1, 10, 0)
    assert "is not in the collection" in empty.refused("remove", paths[0])
    assert "1 picture removed, 9 left" in empty("remove", "pictures/sub").stdout
    assert empty("verify").returncode == 0


def test_spaces(built: Likewise, tmp_path: Path) -> None:
    made = built.json("space", "add", "small", "--feature", "words", "--set", "n_words=50")
    assert made["width"] == 50
    assert built.json("search", 1, "--by", "small", "-k", 2)["hits"]
    assert "already" in built.refused("space", "add", "small", "--feature", "holistic")
    assert "no parameter" in built.refused(
        "space", "add", "x", "--feature", "words", "--set", "colour=3"
    )
    built.refused("space", "add", "x", "--feature", "taste", code=2)

    assert built("space", "add", "mine", "--feature", "own", "--set", "metric=l2").returncode == 0
    rows = json.loads(built("export", "--json").stdout)
    ids = tmp_path / "ids.txt"
    ids.write_text("".join(f"{row['id']}\n" for row in rows))
    vectors = tmp_path / "vectors.npy"
    np.save(vectors, np.arange(24, dtype=np.float32).reshape(12, 2))
    assert built.json("space", "fill", "mine", vectors, "--ids", ids)["stored"] == 12
    hits = built.json("search", rows[0]["id"], "--by", "mine", "-k", 2)["hits"]
    assert [hit["id"] for hit in hits] == [rows[1]["id"], rows[2]["id"]]
    paths = tmp_path / "paths.txt"
    paths.write_text(rows[4]["path"] + "\n")
    np.save(vectors, np.zeros((1, 2)))
    assert (
        "1 vector of 2 numbers" in built("space", "fill", "mine", vectors, "--paths", paths).stdout
    )

    built.refused("space", "fill", "mine", vectors, code=2)
    np.save(vectors, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "not a plain .npy" in built.refused("space", "fill", "mine", vectors, "--paths", paths)
    paths.write_text("three\n")
    np.save(vectors, np.zeros((1, 2)))
    assert "one id per line" in built.refused("space", "fill", "mine", vectors, "--ids", paths)

    assert set(built.json("space", "list")) == {"holistic", "mine", "small", "words"}
    assert built.json("space", "drop", "mine") == {"dropped": "mine"}
    assert built("space", "drop", "small").stdout == "Deleted space small\n"
    assert built("space", "drop", "words").stdout == "Deleted space words\n"
    assert "only space" in built.refused("space", "drop", "holistic")
    assert "there are words" not in built.refused("search", "1", "--by", "words")
    assert built("space", "add", "words").returncode == 0


def test_generations(built: Likewise) -> None:
    before = built.json("info")["spaces"]["words"]
    refreshed = built.json("refresh")["words"]
    assert refreshed == {"generation": before["generation"] + 1, "words": before["width"]}
    assert f"generation {before['generation'] + 2}" in built("retrain", "--seed", 3).stdout


def test_backup_and_restore(built: Likewise, tmp_path: Path) -> None:
    copy, back = tmp_path / "copy", tmp_path / "back.lw"
    assert built.json("backup", copy)["pictures"] == 12
    assert "exists already" in built.refused("backup", copy)
    said = built("restore", copy, back).stdout
    assert "12 pictures, verified" in said
    assert "key" not in said
    assert built("verify", "-C", back).returncode == 0
    assert "exists already" in built.refused("restore", copy, back)
    assert "is not a backup" in built.refused("restore", tmp_path, tmp_path / "new.lw")


def test_a_restore_says_which_keys_and_links_it_leaves_out(built: Likewise, tmp_path: Path) -> None:
    with Collection.open(built.folder / "photos.lw") as col:
        col.keys.add("ada", "look")
        for name in ("bob", "eve"):
            col.shares.create(name)
        col.backup(tmp_path / "copy")
        col.keys.revoke("ada")
        for name in ("bob", "eve"):
            col.shares.revoke(name)
    said = built("restore", tmp_path / "copy", tmp_path / "back.lw").stdout
    assert "1 key and 2 links for guests of the backup were not restored" in said
    closed = built.json("restore", tmp_path / "copy", tmp_path / "again.lw")
    assert (closed["keys_revoked"], closed["links_closed"]) == (1, 2)


def test_a_second_job_is_told_who_is_busy(built: Likewise) -> None:
    from likewise.catalog.jobs import lease

    with lease(built.folder / "photos.lw", "add"):
        assert "busy: add runs in process" in built.refused("sync")
        assert "now: add runs in process" in built("info").stdout


def test_ctrl_c_keeps_what_was_done(empty: Likewise) -> None:
    from likewise.collection.collection import Collection

    few_views(empty.pictures)
    # Larger files, so that there is time to stop in the middle.
    from PIL import Image

    for path in list(empty.pictures.iterdir()):
        with Image.open(path) as picture:
            picture.resize((1000, 750)).save(path)
            picture.rotate(90).resize((600, 800)).save(path.with_name(f"turned-{path.name}"))
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", "add", "pictures", "--workers", "1"],
        cwd=empty.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )
    store = empty.folder / "photos.lw" / "catalog.sqlite"
    while not store.exists():
        assert process.poll() is None
        time.sleep(0.02)
    stopped = False
    with Collection.open(store.parent) as col:
        while not stopped and process.poll() is None:
            # Whoever holds the catalog keeps the job from ending before the signal is there.
            with store_of(col).write():
                if stopped := len(col) > 0:
                    # As a terminal does: to the whole group, workers included.
                    os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.02)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (out, err)
    assert err.splitlines()[-1].startswith("likewise: stopped; what was done is kept")
    assert "Traceback" not in err
    with Collection.open(store.parent) as col:
        kept = len(col)
    assert kept > 0
    said = empty.json("add", "pictures", "--workers", 1)
    assert said["known"] == kept
    assert said["pictures"] == 24
