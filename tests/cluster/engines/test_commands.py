"""``likewise admin push`` and ``verify --against``, with Qdrant's engine in a folder."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.engines import open_engine
from likewise.errors import CollectionError
from tests.product.cli.conftest import built as built
from tests.product.cli.process import Likewise, few_views

pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"qdrant-edge://{tmp_path}/engine"


def test_push_and_compare(built: Likewise, address: str) -> None:
    missing = built("verify", "--against", address)
    assert missing.returncode == 1
    assert "words: not the same\n  generation 1 is not there\n" in missing.stdout

    done = built("push", "--to", address)
    assert done.returncode == 0, done.stdout
    assert "words: 12 pictures there, generation 1: 12 sent" in done.stdout
    again = built.json("push", "--to", address)
    assert [one["shipped"]["unchanged"] for one in again] == [12] * len(again)
    assert {one["space"] for one in again} == {"words", "holistic"}

    same = built("verify", "--against", address)
    assert (same.returncode, same.stdout) == (
        0,
        "holistic: the same on both sides\nwords: the same on both sides\n",
    )
    with Collection.open(built.folder / "photos.lw") as col:
        assert col.engine_sync.pushed()[address] == {"words": 1, "holistic": 1}


def test_what_changed_here_is_found_and_sent(built: Likewise, address: str) -> None:
    assert built("push", "--to", address, "--space", "words").returncode == 0
    with Collection.open(built.folder / "photos.lw") as col:
        first, second = (row.id for row in list(col.images())[:2])
        col.tag(first, "new tag")
    try:
        differs = built("verify", "--against", address, "--json")
        assert differs.returncode == 1
        assert f"other tags, folders or dates there (the first: {first})" in differs.stdout
        assert "1 pictures pass {'tag': 'new tag'} here, 0 there" in differs.stdout
        # Somebody took a picture out, over there.
        with open_engine(address) as engine, Collection.open(built.folder / "photos.lw") as col:
            col.engine_sync.store_in(engine, "words").remove([second])
        (said,) = built.json("push", "--to", address, "--space", "words")
        assert said["shipped"] == {"sent": 1, "retagged": 1, "removed": 0, "unchanged": 10}
        assert said["wrong"] == []
    finally:
        with Collection.open(built.folder / "photos.lw") as col:
            col.untag(first, "new tag")


def test_both_sides_answer_filters_alike(built: Likewise, address: str) -> None:
    with Collection.open(built.folder / "photos.lw") as col:
        ids = [row.id for row in col.images()]
        for image in ids[::3]:
            col.tag(image, "third")
        col.engine_sync.push(address, ["words"])
        view = col._views.view("words")
        with open_engine(address) as engine:
            store = col.engine_sync.store_in(engine, "words")
            for where in (
                {"tag": "third"},
                {"folder": str(built.pictures)},
                {"folder": "pictures", "tag": ["third"]},
                {"folder": "no such folder"},
                {"format": "JPEG", "tag": "third"},
                {"format": "PNG"},
            ):
                row = view.row_of(ids[0])
                hits = col.search(ids[0], 20, by="words", where=where)
                found, scores = store.search(row, 20, col.engine_sync.where(where))
                keep = found != ids[0]
                assert found[keep].tolist() == [hit.id for hit in hits], where
                np.testing.assert_array_equal(
                    scores[keep], np.array([hit.score for hit in hits], np.float32)
                )
        for image in ids[::3]:
            col.untag(image, "third")


@pytest.mark.slow
def test_a_new_generation_takes_the_place_of_the_old_one(tmp_path: Path, address: str) -> None:
    rng = np.random.default_rng(1)
    few_views(tmp_path / "pictures")
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=0)
        col.engine_sync.push(address)
        col.refresh()
        ids = [row.id for row in col.images()]
        gone = int(rng.choice(ids))
        col.remove(gone)
        done = {one.space: one for one in col.engine_sync.push(address)}
        assert done["words"].generation == 2
        assert done["words"].dropped == ("words-1",)
        assert (done["words"].sent.sent, done["words"].pictures) == (11, 11)
        assert (done["holistic"].sent.removed, done["holistic"].dropped) == (1, ())
        assert not any(one.wrong for one in done.values())
        with open_engine(address) as engine:
            assert set(engine.names()) == {"words-2", "holistic-1"}
            assert col.engine_sync.store_in(engine, "holistic").rows([gone])[0].tolist() == []
    # Another collection's rows are not written over.
    with Collection.create(tmp_path / "other.lw", deep=False) as other:
        other.add(tmp_path / "pictures", workers=0)
        with pytest.raises(CollectionError, match="11 pictures of another collection"):
            other.engine_sync.push(address, ["holistic"])


HOLDER = """
import sys
from likewise.engines import open_engine
with open_engine(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(address: str) -> Iterator[None]:
    """The engine is open in another process, and so away for this one."""
    command = [sys.executable, "-c", HOLDER, address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        try:
            yield
        finally:
            other.stdin.close()


@pytest.mark.slow
def test_changes_go_on_being_shipped(tmp_path: Path, address: str) -> None:
    here = Likewise(tmp_path)
    paths = few_views(tmp_path / "pictures")
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.add(*paths[:8], workers=0)
        col.engine_sync.push(address, ["holistic"])
        ids = [row.id for row in col.images()]
    assert here("add", *paths[8:10], "--workers", "0").returncode == 0
    assert here("tag", ids[0], "--set", "new").returncode == 0
    assert here("remove", ids[1]).returncode == 0
    with Collection.open(tmp_path / "photos.lw") as col, open_engine(address) as engine:
        store = col.engine_sync.store_in(engine, "holistic")
        assert store.count() == 9
        assert store.count(col.engine_sync.where({"tag": "new"})) == 1
        assert col.engine_sync.waiting() == {address: 0}
    assert here("engine", address).stdout.startswith(f"searches are answered by {address}\n")
    whole = here.json("search", ids[0], "--by", "holistic", "-k", "20")
    assert (len(whole["hits"]), whole["away"]) == (8, None)
    with held_elsewhere(address):
        # The pictures are added all the same, and found.
        busy = here("add", paths[10], "--workers", "0")
        assert busy.returncode == 0
        assert "is open in another process" in busy.stderr
        assert f"'likewise admin push --to {address}' sends it" in busy.stderr
        lacking = here("search", ids[0], "--by", "holistic")
        assert lacking.returncode == 0
        assert "only the 1 picture that waits to be sent there can be found" in lacking.stderr
        assert paths[10].name in lacking.stdout
        assert "1 changed picture to send" in here("info").stdout
    assert here("add", paths[11], "--workers", "0").returncode == 0
    info = here("info").stdout
    assert f"the catalog is in its folder; searches are answered by {address}" in info
    assert f"its vectors are in {address} too (holistic 1); 0 changed pictures to send" in info
    assert here("engine", "embedded").stdout.startswith("searches are answered by the embedded")
    assert here("verify", "--against", address, "--json").returncode == 1  # words were not pushed
    with Collection.open(tmp_path / "photos.lw") as col:
        assert col.engine_sync.compare(address, ["holistic"]) == {"holistic": []}
        col.backup(tmp_path / "backup")
    with Collection.restore(tmp_path / "backup", tmp_path / "copy.lw") as copy:
        copy.tag(ids[0], "only here")
        assert copy.engine_sync.send_changes() == {
            address: "this collection is a copy, or was moved"
        }
        copy.engine_sync.answer_from(address)
        assert copy._views.engine.state() is None
    assert here("push", "--to", address, "--forget").returncode == 0
    with Collection.open(tmp_path / "photos.lw") as col:
        assert col.engine_sync.pushed() == {}
    refused = here("engine", address)
    assert refused.returncode == 1
    assert "nothing was pushed" in refused.stderr


KILLED = """
import os, signal, sys
from likewise_cluster.engines import sync
from likewise.collection.collection import Collection
sync._PART = 2
def report(progress):
    if progress.done >= 6:
        os.kill(os.getpid(), signal.SIGKILL)
with Collection.open(sys.argv[1]) as col:
    col.engine_sync.push(sys.argv[2], ["holistic"], report=report)
"""


def test_a_push_that_was_killed_goes_on(built: Likewise, address: str) -> None:
    where = [str(built.folder / "photos.lw"), address]
    done = subprocess.run([sys.executable, "-c", KILLED, *where], check=False)
    assert done.returncode == -signal.SIGKILL
    with Collection.open(built.folder / "photos.lw") as col:
        assert address not in col.engine_sync.pushed()
        (said,) = col.engine_sync.push(address, ["holistic"])
        assert (said.sent.sent, said.sent.unchanged, said.wrong) == (6, 6, ())
        assert col.engine_sync.pushed()[address] == {"holistic": 1}


def test_what_cannot_be_done_is_one_line(built: Likewise, address: str) -> None:
    wrong = built("push", "--to", "ftp://somewhere")
    assert wrong.returncode == 1
    assert "is no address of an engine" in wrong.stderr
    assert built("engine", "--first", "holistic:9").returncode == 2
    assert built("engine", address, "--first", "holistic").returncode == 2
    unknown = built("push", "--to", address, "--space", "nonsense")
    assert unknown.returncode == 1
    assert "there are no rows of a space 'nonsense'" in unknown.stderr
