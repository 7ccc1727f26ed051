"""Kept thumbnails: appended by many at once, whole or not there, gone when they are too many."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from likewise.catalog import thumbnail_packs, thumbnails
from likewise.catalog.thumbnail_packs import LIST, PACK, Key, ThumbnailPacks

SIDE = 320


def key(number: int) -> Key:
    return number.to_bytes(20, "big"), SIDE


def content(number: int) -> bytes:
    return b"\xff\xd8\xff" + number.to_bytes(4, "big") * (50 + number % 7) + b"\xff\xd9"


def put(packs: ThumbnailPacks, *numbers: int) -> None:
    for number in numbers:
        packs.put(key(number), content(number))


def found(packs: ThumbnailPacks, numbers: range) -> list[int]:
    return [number for number in numbers if packs.get(key(number)) == content(number)]


def test_what_one_process_puts_another_finds(tmp_path: Path) -> None:
    here, there = ThumbnailPacks(tmp_path / "t"), ThumbnailPacks(tmp_path / "t")
    assert there.get(key(1)) is None
    put(here, 1, 2)
    assert found(there, range(5)) == [1, 2]
    put(there, 3)
    put(here, 4)
    assert found(here, range(6)) == found(there, range(6)) == [1, 2, 3, 4]
    assert there.kept() == {key(number) for number in range(1, 5)}
    assert here.get((key(1)[0], 160)) is None


def test_the_last_one_put_counts(tmp_path: Path) -> None:
    packs = ThumbnailPacks(tmp_path)
    packs.put(key(1), b"before")
    assert packs.get(key(1)) == b"before"
    packs.put(key(1), b"now")
    assert ThumbnailPacks(tmp_path).get(key(1)) == b"now"


def _put_many(folder: str, first: int) -> None:
    put(ThumbnailPacks(Path(folder)), *range(first, first + 150))


def test_many_processes_append_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        pool.starmap(_put_many, [(str(tmp_path / "t"), first) for first in (0, 1000, 2000)])
    packs = ThumbnailPacks(tmp_path / "t")
    for first in (0, 1000, 2000):
        assert len(found(packs, range(first, first + 150))) == 150
    assert len(list((tmp_path / "t").iterdir())) == 2


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_that_was_cut_off_costs_its_thumbnail(tmp_path: Path, cut: int) -> None:
    packs = ThumbnailPacks(tmp_path)
    put(packs, 1, 2)
    (lines,) = tmp_path.glob(f"*{LIST}")
    lines.write_bytes(lines.read_bytes()[:-cut])
    put(packs, 3)
    for one in (packs, ThumbnailPacks(tmp_path)):
        assert set(found(one, range(5))) >= {1, 3}
        # A line is believed only by its bytes: it names the right ones or none.
        assert one.get(key(2)) in (None, content(2))


@pytest.mark.parametrize(
    "line", ["0 99999999999999999999999", "0 999999999999999", "99999999999999999999999999 10",
             "-5 10", "0 -1", "ten 10", ""],
)  # fmt: skip
def test_a_damaged_line_costs_its_thumbnail(tmp_path: Path, line: str) -> None:
    packs = ThumbnailPacks(tmp_path)
    packs.put((b"a", 320), b"one")
    packs.put((b"b", 320), b"other")
    (tmp_path / "²²².list").touch()
    with (tmp_path / "000001.list").open("a") as file:
        file.write(f"\n{b'a'.hex()} 320 {line} 0\n")
    again = ThumbnailPacks(tmp_path)
    assert again.get((b"a", 320)) in (b"one", None)
    assert again.get((b"b", 320)) == b"other"


def test_a_full_disk_costs_thumbnails_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packs = ThumbnailPacks(tmp_path)
    put(packs, 1)
    write = os.write
    for number, room in enumerate((0, 5, 10_000, 10_030), start=2):
        left = [room]

        def short(handle: int, some: bytes, left: list[int] = left) -> int:
            taken = some[: left[0]] if len(some) < 10_000 else some
            left[0] -= len(taken) if len(some) < 10_000 else 10_000
            return write(handle, taken)

        with monkeypatch.context() as full:
            full.setattr(os, "write", short)
            # The pack or the list has no room: told to whoever puts, who needs no thumbnail.
            with pytest.raises(OSError, match="whole"):
                packs.put(key(number), content(number) if room < 10_000 else bytes(10_000))
        assert packs.get(key(number)) is None
    put(packs, 9)
    for one in (packs, ThumbnailPacks(tmp_path)):
        assert found(one, range(20)) == [1, 9]


def test_other_bytes_are_no_thumbnail(tmp_path: Path) -> None:
    packs = ThumbnailPacks(tmp_path)
    put(packs, 1, 2)
    assert found(packs, range(3)) == [1, 2]
    (pack,) = tmp_path.glob(f"*{PACK}")
    damaged = bytearray(pack.read_bytes())
    damaged[10] ^= 1
    pack.write_bytes(damaged)
    assert found(packs, range(3)) == [2]
    pack.write_bytes(damaged[:-3])  # as after a power cut
    assert found(packs, range(3)) == []
    put(packs, 1, 2)
    assert found(packs, range(3)) == [1, 2]


def test_the_folder_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    packs, other = ThumbnailPacks(tmp_path / "t"), ThumbnailPacks(tmp_path / "t")
    put(packs, 1)
    assert found(other, range(2)) == [1]
    shutil.rmtree(tmp_path / "t")
    assert packs.get(key(1)) is None
    assert other.kept() == set()
    put(packs, 2)
    assert found(other, range(3)) == found(packs, range(3)) == [2]


def test_old_packs_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnail_packs, "A_PACK", 1_000)
    folder = tmp_path / thumbnails.FOLDER
    packs = thumbnail_packs.packs_in(folder)
    put(packs, *range(20))
    sizes = [path.stat().st_size for path in sorted(folder.glob(f"*{PACK}"))]
    assert len(sizes) > 3
    assert all(1_000 <= size < 1_500 for size in sizes[:-1])
    kept = found(packs, range(20))
    assert kept == list(range(20))
    thumbnails.prune(tmp_path, sum(sizes[2:]))
    left = found(packs, range(20))
    assert left == found(ThumbnailPacks(folder), range(20)) == list(range(20))[-len(left) :]
    assert 0 < len(left) < 20
    put(packs, 30)
    assert found(packs, range(31))[-1] == 30
    thumbnails.prune(tmp_path, 0)
    assert list(folder.iterdir()) == []
    put(packs, 31)
    assert found(packs, range(32)) == [31]
    thumbnails.prune(tmp_path / "nothing")


def test_files_of_an_earlier_version_go(tmp_path: Path) -> None:
    folder = tmp_path / thumbnails.FOLDER
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "ab12-320.jpg").write_bytes(b"x")
    (folder / "ab" / "ab12-320.jpg.0123").write_bytes(b"left by a process that was killed")
    (folder / "cd").mkdir()
    (folder / "cd" / "mine.txt").write_bytes(b"whatever this is")
    (folder / "colours.npy").write_bytes(b"kept")
    thumbnails.prune(tmp_path)
    assert sorted(path.name for path in folder.rglob("*")) == ["cd", "colours.npy", "mine.txt"]
