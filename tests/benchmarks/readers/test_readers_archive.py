"""Pictures in a tar file: the same rows as unpacked, one forward pass, nothing believed."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from benchmarks.readers.folders import read_folders
from likewise_methods.evaluation.datasets import LabelledImages
from tests.benchmarks.readers.test_readers_support import development, grow, refusal

# Not in sorted order, on purpose: rows are sorted, the archive is not.
FILES = {
    "set/train/dog/1.jpg": b"d1",
    "set/train/cat/2.jpg": b"c2" * 700,
    "set/test/dog/3.jpg": b"",
    "set/train/cat/1.jpg": b"c1",
    "set/ABOUT.md": b"about",
    "set/train/cat/._1.jpg": b"junk",
}


def pack(path: Path, files: dict[str, bytes] = FILES, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def content(data: LabelledImages, split: str | None = None) -> dict[int, bytes]:
    return {r: p if isinstance(p, bytes) else p.read_bytes() for r, p in data.pictures(split)}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_gives_the_rows_of_its_unpacked_copy(tmp_path: Path, mode: str) -> None:
    packed = read_folders(pack(tmp_path / "a.tar", mode=mode))
    unpacked = read_folders(grow(tmp_path / "b", dict(FILES)))
    assert list(packed.split) == list(unpacked.split) == ["test", "train", "train", "train"]
    assert packed.labels.tolist() == unpacked.labels.tolist()
    assert packed.classes == unpacked.classes
    assert content(packed) == content(unpacked)
    assert content(packed, "test") == {0: b""}


def test_pictures_come_in_the_order_of_the_archive(tmp_path: Path) -> None:
    data = read_folders(pack(tmp_path / "a.tar.gz"))
    assert [row for row, _ in data.pictures()] == [3, 2, 0, 1]
    assert data.archive is not None
    assert data.name == "a"


def test_an_archive_that_shrank_since_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar", mode="w")
    data = read_folders(path)
    path.write_bytes(path.read_bytes()[:1000])
    assert "not a whole tar archive" in refusal(lambda: list(data.pictures()))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_every_truncation_is_refused(tmp_path: Path, mode: str) -> None:
    # Incompressible, so that every cut falls into something that matters.
    rng = np.random.default_rng(0)
    files = {f"{c}/{i}.jpg": rng.bytes(2000) for c in "ab" for i in range(3)}
    whole = pack(tmp_path / "whole.tar", files, mode).read_bytes()
    cut = tmp_path / "cut.tar"
    # The padding after the end mark of a plain tar is nobody's loss.
    end = 6 * (512 + 2048) if mode == "w" else len(whole) - 1
    for size in {1, 100, 512, 513, 1024, 2560, 2561, end // 2, end - 300, end}:
        cut.write_bytes(whole[:size])
        message = refusal(read_folders, cut)
        assert "cut.tar: not a whole tar archive" in message, size


def test_a_damaged_header_in_the_middle_is_not_taken_for_the_end(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar", {"a/1.jpg": b"1", "a/2.jpg": b"2"}, "w")
    raw = bytearray(path.read_bytes())
    raw[1024 + 150] ^= 0xFF
    path.write_bytes(raw)
    assert "no end mark after 1 pictures" in refusal(read_folders, path)


def test_a_corrupt_gzip_stream_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar.gz", {"a/1.jpg": np.random.default_rng(0).bytes(9000)})
    raw = bytearray(path.read_bytes())
    raw[4000:4100] = bytes(100)
    path.write_bytes(raw)
    assert "not a whole tar archive" in refusal(read_folders, path)


@pytest.mark.parametrize("name", ["../a/1.jpg", "/etc/a/1.jpg", "a/../../b/1.jpg"])
def test_names_that_point_outside_are_refused(tmp_path: Path, name: str) -> None:
    path = pack(tmp_path / "a.tar", {name: b"x"}, "w")
    assert "points outside the archive" in refusal(read_folders, path)


def test_links_and_devices_are_no_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE):
            member = tarfile.TarInfo(f"a/{int(kind)}.jpg")
            member.type = kind
            member.linkname = "/etc/passwd"
            tar.addfile(member)
        member = tarfile.TarInfo("a/real.jpg")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    assert [p.name for p in read_folders(path).paths] == ["real.jpg"]


def test_a_member_twice_and_an_absurd_size_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("a/1.jpg"))
    assert "a/1.jpg is there twice" in refusal(read_folders, path)
    huge = tarfile.TarInfo("a/1.jpg")
    huge.size = 1 << 40
    path.write_bytes(huge.tobuf(tarfile.GNU_FORMAT))
    assert "claims 1,099,511,627,776 bytes" in refusal(read_folders, path)


def test_a_file_that_is_no_tar(tmp_path: Path) -> None:
    for name, raw in {"a": b"", "b": b"text" * 300, "c": gzip.compress(b"text")}.items():
        (tmp_path / name).write_bytes(raw)
        assert "not a whole tar archive" in refusal(read_folders, tmp_path / name)


@pytest.mark.data
def test_cifar10() -> None:
    data = read_folders(development("cifar10.tar.gz"))
    assert data.name == "cifar10"
    assert data.classes[:2] == ["airplane", "automobile"]
    assert np.bincount(data.labels[data.part("train")]).tolist() == [5000] * 10
    assert np.bincount(data.labels[data.part("test")]).tolist() == [1000] * 10
    seen = content(data, "test")
    assert sorted(seen) == data.part("test").tolist()
    assert all(picture[:3] == b"\xff\xd8\xff" for picture in seen.values())
