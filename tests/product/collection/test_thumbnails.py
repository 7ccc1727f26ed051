"""The cache of thumbnails and vectors: shared by processes, whole or missing, pruned in time."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from likewise.catalog import thumbnails
from likewise.catalog.cache import FILE, FOLDER, Cache, cache_of


def key(number: int) -> str:
    return thumbnails.cache_key(number.to_bytes(20, "big"), 320)


def content(number: int) -> bytes:
    return b"\xff\xd8\xff" + number.to_bytes(4, "big") * (50 + number % 7) + b"\xff\xd9"


def put(cache: Cache, *numbers: int) -> None:
    for number in numbers:
        cache.put(key(number), content(number))


def found(cache: Cache, numbers: range) -> list[int]:
    return [number for number in numbers if cache.get(key(number)) == content(number)]


def test_what_one_process_puts_another_finds(tmp_path: Path) -> None:
    here, there = Cache(tmp_path / "t"), Cache(tmp_path / "t")
    assert there.get(key(1)) is None
    assert not (tmp_path / "t").exists(), "looking makes no file"
    put(here, 1, 2)
    assert found(there, range(5)) == [1, 2]
    put(there, 3)
    put(here, 4)
    assert found(here, range(6)) == found(there, range(6)) == [1, 2, 3, 4]
    assert set(there.names()) == {key(number) for number in range(1, 5)}
    assert here.get(f"{key(1)}0") is None


def test_the_last_one_put_counts(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(key(1), b"before")
    assert cache.get(key(1)) == b"before"
    cache.put(key(1), b"now")
    assert Cache(tmp_path).get(key(1)) == b"now"


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    put(Cache(tmp_path / "t"), 1)
    assert (tmp_path / "t" / FILE).stat().st_mode & 0o077 == 0


def _put_many(folder: str, first: int) -> None:
    put(Cache(Path(folder)), *range(first, first + 150))


def test_many_processes_put_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        pool.starmap(_put_many, [(str(tmp_path / "t"), first) for first in (0, 1000, 2000)])
    cache = Cache(tmp_path / "t")
    for first in (0, 1000, 2000):
        assert len(found(cache, range(first, first + 150))) == 150


@pytest.mark.parametrize("rest", [0, 10, 100, 5000])
def test_a_file_that_was_cut_off_is_replaced(tmp_path: Path, rest: int) -> None:
    cache = Cache(tmp_path)
    put(cache, 1, 2)
    cache.close()
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:rest])
    found(cache, range(3))
    put(cache, 3)
    put(cache, 3)
    for one in (cache, Cache(tmp_path)):
        assert 3 in found(one, range(5))
        assert one.get(key(2)) in (None, content(2))


def test_damaged_bytes_are_no_thumbnail(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, 1, 2)
    cache.close()
    file = tmp_path / FILE
    damaged = bytearray(file.read_bytes())
    damaged[damaged.index(content(1)) + 10] ^= 1
    file.write_bytes(damaged)
    assert found(cache, range(3)) == [2]
    put(cache, 1)
    assert found(cache, range(3)) == [1, 2]


@pytest.mark.parametrize(
    "sql",
    ["CREATE TRIGGER t AFTER INSERT ON cached BEGIN DELETE FROM cached; END",
     "DROP TABLE cached; CREATE VIEW cached AS SELECT 1 AS key, 2 AS number",
     "DROP TABLE cached; CREATE TABLE cached (number, key, sum, content)"],
)  # fmt: skip
def test_a_file_of_another_schema_is_replaced(tmp_path: Path, sql: str) -> None:
    """A collection from elsewhere may hold anything: no trigger or view of it may run."""
    cache = Cache(tmp_path)
    put(cache, 1)
    cache.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as c:
        c.executescript(sql)
    assert found(cache, range(3)) == []
    put(cache, 2)
    assert found(cache, range(3)) == [2]


def test_a_full_disk_costs_thumbnails_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, 1)
    connection = cache._connect(True)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    cache.put(key(2), bytes(100_000))
    assert cache.get(key(2)) is None
    put(cache, 9)
    for one in (cache, Cache(tmp_path)):
        assert found(one, range(20)) == [1, 9]


def test_the_folder_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    cache, other = Cache(tmp_path / "t"), Cache(tmp_path / "t")
    put(cache, 1)
    assert found(other, range(2)) == [1]
    shutil.rmtree(tmp_path / "t")
    assert cache.get(key(1)) is None
    assert other.names() == []
    put(cache, 2)
    assert found(other, range(3)) == found(cache, range(3)) == [2]


def test_the_oldest_thumbnails_go(tmp_path: Path) -> None:
    cache = cache_of(tmp_path)
    put(cache, *range(20))
    put(cache, 0)
    newest = [0, *range(17, 20)]
    thumbnails.prune(tmp_path, sum(len(content(number)) for number in newest))
    assert found(cache, range(20)) == newest
    put(cache, 30)
    assert found(cache, range(31))[-1] == 30
    for number in range(100, 150):
        cache.put(key(number), bytes(100_000))
    file = tmp_path / FOLDER / FILE
    full = file.stat().st_size
    thumbnails.prune(tmp_path, 0)
    assert cache.names() == []
    assert file.stat().st_size < full / 10
    put(cache, 31)
    assert found(cache, range(32)) == [31]
    thumbnails.prune(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_files_of_an_earlier_version_go(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "ab12-320.jpg").write_bytes(b"x")
    (folder / "ab" / "ab12-320.jpg.0123").write_bytes(b"left by a process that was killed")
    (folder / "cd").mkdir()
    (folder / "cd" / "mine.txt").write_bytes(b"whatever this is")
    (folder / "colours.npy").write_bytes(b"kept")
    (folder / "000001.jpegs").write_bytes(b"a pack of thumbnails")
    (folder / "000001.list").write_bytes(b"and what is in it")
    thumbnails.prune(tmp_path)
    assert sorted(path.name for path in folder.rglob("*")) == ["cd", "colours.npy", "mine.txt"]
