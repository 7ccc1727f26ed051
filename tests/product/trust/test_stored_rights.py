"""Read-only collections, folders that cannot be written, full disks: each is told as what it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import likewise
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, DamagedCollection, DiskFull
from tests.product.private import store_of
from tests.product.trust import without_rights
from tests.product.trust.stored_cases import make_full

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="rights are given up in Linux's way"
)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_full(tmp_path_factory.mktemp("rights"))


@pytest.fixture
def copy(full: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(full, tmp_path / "photos.lw"))


@pytest.fixture
def sealed(copy: Path) -> Iterator[Path]:
    """A collection that may be read and not written."""
    places = [*copy.rglob("*"), copy]
    for path in places:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield copy
    for path in reversed(places):
        path.chmod(0o755 if path.is_dir() else 0o644)


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command, run by somebody for whom modes of files count."""
    source = str(Path(likewise.__file__).parents[1])
    return subprocess.run(
        [sys.executable, without_rights.__file__, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": source, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
@linux
def test_a_read_only_collection_is_searched_and_not_changed(sealed: Path) -> None:
    with Collection.open(sealed) as col:
        due = [str(hit.id) for hit in col.search(1, k=5)]
    for command in (
        ["search", "1", "-k", "5"],
        ["tag", "1"],
        ["info"],
        ["tags"],
        ["log"],
        ["verify"],
    ):
        done = run(*command, "--collection", sealed)
        assert done.returncode == 0, (command, done.stderr)
        if command[:2] == ["search", "1"]:
            found = [line.split()[1] for line in done.stdout.splitlines()[1:6]]
            assert found == due, done.stdout
    for command in (
        ["judge", "1", "--liked", "2"],
        ["accept", "1", "sea"],
        ["undo"],
        ["refresh"],
        ["remove", "1"],
    ):
        done = run(*command, "--collection", sealed)
        assert done.returncode == 1, command
        assert "is read-only" in done.stderr, (command, done.stderr)
        assert "damaged" not in done.stderr


@linux
def test_changes_that_only_the_journal_has_are_no_damage_to_who_may_not_read_it(
    copy: Path,
) -> None:
    with Collection.open(copy) as col:
        col.tag(1, "later")
        (copy / "catalog.sqlite-shm").chmod(0)
        copy.chmod(0o555)
        (copy / "catalog.sqlite").chmod(0o444)
        done = run("info", "--collection", copy)
        copy.chmod(0o755)
    assert done.returncode == 1
    assert "being written by another user" in done.stderr


@pytest.mark.slow
@linux
def test_nothing_fails_where_no_folder_can_be_written(full: Path, tmp_path: Path) -> None:
    """Compiled kernels have nowhere to be kept: they are compiled, and the answer is the same."""
    package = tmp_path / "src" / "likewise"
    shutil.copytree(
        Path(likewise.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder, _, _ in os.walk(tmp_path / "src"):
        os.chmod(folder, 0o555)
    try:
        done = run(
            "search", "1", "-k", "3", "--by", "words", "--collection", full,
            PYTHONPATH=str(tmp_path / "src"), HOME="/proc/nowhere", XDG_CACHE_HOME="/proc/nowhere",
            PYTHONDONTWRITEBYTECODE="1", NUMBA_CACHE_DIR="",
        )  # fmt: skip
    finally:
        for folder, _, _ in os.walk(tmp_path / "src"):
            os.chmod(folder, 0o755)
    assert done.returncode == 0, done.stderr
    with Collection.open(full) as col:
        due = [str(hit.id) for hit in col.search(1, k=3, by="words")]
    assert [line.split()[1] for line in done.stdout.splitlines()[1:4]] == due


def test_a_full_disk_is_told_as_one(copy: Path) -> None:
    with Collection.open(copy) as col:
        before = col.tags.of(1)
        pages = store_of(col).one("PRAGMA page_count")
        store_of(col).connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(DiskFull, match="is full; nothing was changed"):
            col.tag(1, *(f"{'long ' * 35}{i}" for i in range(400)))
        assert col.tags.of(1) == before
        store_of(col).connection.execute("PRAGMA max_page_count = 1073741823")
        col.tag(1, "short")
        assert col.verify() == []


def test_the_first_error_is_the_one_to_see(copy: Path) -> None:
    """An error of the disk ends a transaction; ending it again must not hide why."""
    with Collection.open(copy) as col:
        store = store_of(col)

        def fail() -> None:
            with store.snapshot():
                store.connection.execute("ROLLBACK")
                raise ValueError("the first")

        with pytest.raises(ValueError, match="the first"):
            fail()


def test_a_flip_in_a_vector_is_told_on_read(copy: Path) -> None:
    with sqlite3.connect(copy / "catalog.sqlite") as c:
        number, blob = c.execute(
            "SELECT number, vector FROM vectors WHERE space = 'holistic' LIMIT 1"
        ).fetchone()
        hurt = bytes([blob[0] ^ 1, *blob[1:]])
        c.execute("UPDATE vectors SET vector = ? WHERE number = ?", (hurt, number))
    c.close()
    with Collection.open(copy) as col:
        with pytest.raises(DamagedCollection, match="not what was written"):
            col.search(1, by="holistic")
        assert any("table vectors is not what was written" in text for text in col.verify())


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE log SET body = replace(body, '\"liked\":[', '\"liked\":[1,') WHERE number = 4",
        "UPDATE log SET made = '2001-01-01T00:00:00+00:00' WHERE number = 4",
        "DELETE FROM log WHERE number = 4",
        "INSERT INTO log SELECT 4000, profile, kind, made, session, body, digest FROM log LIMIT 1",
    ],
)
def test_a_log_that_was_changed_is_told(copy: Path, sql: str) -> None:
    with sqlite3.connect(copy / "catalog.sqlite") as c:
        c.execute(sql)
    c.close()
    with Collection.open(copy) as col:
        assert any("of the log is damaged" in text for text in col.verify())
        reads = [partial(col.log.entries, profile=name) for name in col.profiles]
        told = []
        for read in (*reads, col.tags.log):
            try:
                read()
            except DamagedCollection as error:
                told.append(str(error))
        assert any("of the log is damaged" in text for text in told)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE files SET path = path || 'x'",
        "UPDATE images SET width = width + 1 WHERE id = 1",
        "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'images'",
        "DELETE FROM tombstones",
        "UPDATE spaces SET recipe = replace(recipe, ':', ': ') WHERE name = 'holistic'",
    ],
)
def test_rows_that_others_change_are_told(copy: Path, sql: str) -> None:
    with sqlite3.connect(copy / "catalog.sqlite") as c:
        assert c.execute(sql).rowcount
    c.close()
    with Collection.open(copy) as col:
        assert any("is not what was written" in text for text in col.verify())


def test_a_killed_space_add_goes_on(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from likewise.ingest import new_space

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    with Collection.open(copy) as col:
        for recipe in ({"feature": "holistic"}, {"feature": "vlad"}):
            with monkeypatch.context() as patch:
                patch.setattr(new_space, "_fill", die)
                with pytest.raises(Killed):
                    col.spaces.add("late", recipe, workers=1)
            with pytest.raises(CollectionError, match="already"):
                col.spaces.add("late", {"feature": "words"}, workers=1)
            col.spaces.add("late", recipe, workers=1)
            assert col.search(1, by="late")
            assert col.verify() == []
            with pytest.raises(CollectionError, match="already"):
                col.spaces.add("late", recipe, workers=1)
            col.spaces.drop("late")
