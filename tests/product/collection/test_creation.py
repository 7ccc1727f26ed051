"""A collection is created once, whoever else creates it meanwhile and whoever was killed at it."""

from __future__ import annotations

import errno
import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from likewise.catalog import jobs
from likewise.collection import creation
from likewise.collection.collection import Collection
from likewise.collection.creation import is_vacant
from likewise.errors import CollectionBusy, CollectionError, CollectionExists

PART = "catalog.sqlite.part"
POINTS = {
    "the folder is made": "jobs.lease",
    "its turn has come": "Store.create",
    "the catalog is there": "put_first_spaces",
    "the spaces are in it": "SQLiteCatalog.fold_journal",
    "all is closed": "rename_whole",
}
"""What a creation does next when it is killed, by where it is."""
KILLED = """
import os, signal, sys
from likewise.catalog import sqlite_catalog
from likewise.collection import creation
from likewise.collection.collection import Collection
name = sys.argv[2]
owner = sqlite_catalog if name.startswith("SQLiteCatalog") else creation
while "." in name:
    first, name = name.split(".", 1)
    owner = getattr(owner, first)
setattr(owner, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
Collection.create(sys.argv[1], deep=False)
"""


def create(path: Path) -> str:
    """Create it, and what came of that."""
    try:
        Collection.create(path, deep=False).close()
    except CollectionExists:
        return "exists"
    return "created"


def create_each(folder: str, n: int, barrier: Barrier, said: multiprocessing.Queue[str]) -> None:
    for number in range(n):
        barrier.wait(60)
        said.put(create(Path(folder) / f"{number}.lw"))


def check(path: Path) -> None:
    with Collection.open(path) as col:
        assert set(col.spaces) == {"words", "holistic"}
        assert col.verify() == []
    assert not list(path.glob(f"{PART}*"))


def test_threads_that_create_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for number in range(5):
            root = tmp_path / f"{number}.lw"
            found = sorted(pool.map(create, [root] * 4))
            assert found == ["created", "exists", "exists", "exists"]
            check(root)


def test_processes_that_create_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    n, barrier, said = 12, context.Barrier(3), context.Queue()
    given = (str(tmp_path), n, barrier, said)
    started = [context.Process(target=create_each, args=given) for _ in range(3)]
    for one in started:
        one.start()
    found = sorted(said.get(timeout=120) for _ in range(3 * n))
    for one in started:
        one.join(60)
    assert found == ["created"] * n + ["exists"] * 2 * n
    for number in range(n):
        check(tmp_path / f"{number}.lw")


def test_who_comes_second_waits_and_sweeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is stopped right before the catalog gets its name."""
    root = tmp_path / "photos.lw"
    at_it, go_on = threading.Event(), threading.Event()
    rename = creation.rename_whole

    def wait_and_rename(part: Path, target: Path) -> None:
        at_it.set()
        assert go_on.wait(60)
        rename(part, target)

    monkeypatch.setattr(creation, "rename_whole", wait_and_rename)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(create, root)
        assert at_it.wait(60)
        half = (root / PART).stat()
        assert is_vacant(root)
        second = pool.submit(create, root)
        time.sleep(1.5 * jobs._PATIENCE)
        assert not second.done()
        assert (root / PART).stat() == half
        go_on.set()
        assert (first.result(60), second.result(60)) == ("created", "exists")
    check(root)


def test_who_waited_long_enough_is_told_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "_PATIENCE", 0.0)
    root = tmp_path / "photos.lw"
    root.mkdir()
    with (
        jobs.lease(root, "creating the collection"),
        pytest.raises(CollectionBusy, match="is busy: creating the collection runs in process"),
    ):
        Collection.create(root, deep=False)
    create(root)
    check(root)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing to kill with at once")
@pytest.mark.parametrize("point", POINTS)
def test_a_creation_that_was_killed_is_no_hindrance(tmp_path: Path, point: str) -> None:
    root = tmp_path / "photos.lw"
    command = [sys.executable, "-c", KILLED, str(root), POINTS[point]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert root.is_dir()
    assert is_vacant(root)
    with pytest.raises(CollectionError, match="is not a collection"):
        Collection.open(root)
    assert create(root) == "created"
    check(root)


def test_a_creation_that_fails_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "photos.lw"

    def fail(*_: object) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(creation, "put_first_spaces", fail)
        with pytest.raises(OSError, match="no room"):
            Collection.create(root, deep=False)
    assert is_vacant(root)
    assert create(root) == "created"
    check(root)


def test_what_is_there_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("x")
    for name, said in (("file", "is a file"), ("full", "not empty")):
        with pytest.raises(CollectionError, match=said) as refused:
            Collection.create(tmp_path / name, deep=False)
        assert not isinstance(refused.value, CollectionExists)
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["note.txt"]
    create(tmp_path / "photos.lw")
    with pytest.raises(CollectionExists, match="is a collection already; open it"):
        Collection.create(tmp_path / "photos.lw", deep=False)


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(jobs, "open", refuse, raising=False)
    with pytest.raises(CollectionError, match="cannot be written; choose another place"):
        Collection.create(tmp_path / "photos.lw", deep=False)
