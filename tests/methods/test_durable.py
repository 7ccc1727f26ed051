"""Durable files: the old content or the new, whole, whatever fails or dies in between."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise_methods.durable_files import rename_whole, sync_file, sync_folder, write_whole

posix = pytest.mark.skipif(os.name == "nt", reason="folders are synced, and children killed, here")


class Recorder:
    """Names of the file operations in the order they happened, failing at the one asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail_at: int | None = None) -> None:
        self.seen: list[str] = []
        self.fail_at = fail_at
        for name in ("fsync", "replace"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, real: Any) -> Any:
        def call(*args: Any) -> Any:
            if len(self.seen) == self.fail_at:
                raise OSError(errno.ENOSPC, "No space left on device")
            folder = name == "fsync" and os.path.isdir(f"/proc/self/fd/{args[0]}")
            self.seen.append("fsync folder" if folder else name)
            return real(*args)

        return call


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(old=st.binary(max_size=50), parts=st.lists(st.binary(max_size=50), max_size=4))
def test_content_is_all_parts_and_nothing_else(
    tmp_path: Path, old: bytes, parts: list[bytes]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(old)
    write_whole(path, *parts)
    assert path.read_bytes() == b"".join(parts)
    write_whole(str(path), *map(memoryview, parts), old)
    assert path.read_bytes() == b"".join(parts) + old
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="tells folders from files by /proc")
def test_content_before_name_before_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Recorder(monkeypatch)
    write_whole(tmp_path / "file", b"new")
    assert watch.seen == ["fsync", "replace", "fsync folder"]
    watch.seen.clear()
    write_whole(tmp_path / "file", b"newer", sync_name=False)
    assert watch.seen == ["fsync", "replace"]
    (tmp_path / "part" / "inner").mkdir(parents=True)
    watch.seen.clear()
    rename_whole(tmp_path / "part", tmp_path / "whole")
    assert watch.seen == ["fsync folder", "fsync folder", "replace", "fsync folder"]
    watch.seen.clear()
    rename_whole(tmp_path / "file", tmp_path / "other")
    assert watch.seen == ["replace", "fsync folder"]


@posix
@pytest.mark.parametrize("fail_at", [0, 1, 2])
def test_a_full_disk_leaves_old_or_new(
    fail_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        Recorder(patch, fail_at)
        with pytest.raises(OSError, match="No space"):
            write_whole(path, b"new")
    # Only when the name is there already, and its folder fails, is it the new content.
    assert path.read_bytes() == (b"new" if fail_at == 2 else b"old")
    assert os.listdir(tmp_path) == ["file"]


def test_whoever_writes_may_refuse_at_the_last_moment(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen = []

    def refuse(unfinished: Path) -> None:
        seen.append((unfinished.name, unfinished.read_bytes()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"n", b"ew", unfinished="file.1.new", ready=refuse)
    assert seen == [("file.1.new", b"new")]
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


DYING = """
import os, signal, sys
from likewise_methods.durable_files import write_whole
point, path = sys.argv[1:]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if point == "folder":
    real = os.replace
    def last(*args):
        real(*args)
        die()
    os.replace = last
else:
    setattr(os, point, die)
write_whole(path, b"new")
"""


@posix
@pytest.mark.parametrize("point", ["fsync", "replace", "folder"])
def test_killed_in_between(point: str, tmp_path: Path) -> None:
    """The old content until the rename, the new one from then on; leftovers do not matter."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", DYING, point, str(path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == (b"new" if point == "folder" else b"old")
    left = {name for name in os.listdir(tmp_path) if name != "file"}
    assert len(left) == (0 if point == "folder" else 1)
    write_whole(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert {name for name in os.listdir(tmp_path) if name != "file"} == left


def test_many_writers_of_one_name(tmp_path: Path) -> None:
    """Each writes a file of its own: whoever is last wins, and nobody meets a mixture."""
    path = tmp_path / "file"
    whole = {bytes([letter]) * 100_000 for letter in b"abcd"}
    write_whole(path, min(whole))
    threads = [
        threading.Thread(target=lambda c=content: [write_whole(path, c) for _ in range(5)])
        for content in whole
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert path.read_bytes() in whole
    for thread in threads:
        thread.join()
    assert path.read_bytes() in whole
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_takes_its_name_whole(tmp_path: Path) -> None:
    part = tmp_path / "x.part"
    (part / "a").mkdir(parents=True)
    (part / "a" / "b").write_bytes(b"1")
    sync_file(part / "a" / "b")
    rename_whole(part, tmp_path / "x")
    assert (tmp_path / "x" / "a" / "b").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["x"]


@posix
def test_a_share_that_syncs_no_folders_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(code: int) -> Any:
        def call(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        return call

    for code in (errno.EINVAL, errno.ENOTSUP):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", refuses(code))
            sync_folder(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuses(errno.EACCES))
        sync_folder(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuses(errno.EIO))
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "none")


def test_windows_has_no_folder_to_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a folder was opened")

    # Path picks its kind by os.name when it is made: it is made before.
    folder = tmp_path
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", never)
        patch.setattr(os, "name", "nt")
        sync_folder(folder)
