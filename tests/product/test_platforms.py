"""What other systems do otherwise, as far as it can be acted out here.

Nothing of this replaces a run on macOS or Windows (``docs/platforms.md``): a branch is entered by
telling the package that it is there, and what the system would refuse is refused by the test.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import sqlite3
import struct
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog import filters, jobs, segments
from likewise.catalog.sqlite_catalog import connect
from likewise.errors import CollectionError
from likewise.images import jpegs
from likewise.ingest import pool, worker_process
from likewise.server import routes_pictures, run, sessions
from likewise_methods import durable_files as _durable
from likewise_methods.durable_files import sync_file, write_whole


class Elsewhere:
    """A module of the standard library as one of ours sees it, with a few things otherwise.

    Told to the whole process, that it runs on Windows, Python's own paths would break.
    """

    def __init__(self, real: types.ModuleType, **otherwise: Any) -> None:
        self.__dict__.update(otherwise)
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


linux = pytest.mark.skipif(sys.platform != "linux", reason="acts a system out with calls of Linux")


# -- macOS -----------------------------------------------------------------------------------------


@linux
def test_macos_empties_the_cache_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    asked: list[int] = []
    monkeypatch.setattr(_durable, "sys", Elsewhere(sys, platform="darwin"))
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, what: asked.append(what))
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("the weaker call was made"))
    write_whole(tmp_path / "file", b"new")
    sync_file(tmp_path / "file")
    assert asked == [51, 51, 51]


@linux
def test_a_share_on_macos_that_cannot_is_synced_as_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(handle: int, what: int) -> None:
        raise OSError(errno.ENOTSUP, "not on this share")

    synced: list[int] = []
    monkeypatch.setattr(_durable, "sys", Elsewhere(sys, platform="darwin"))
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", synced.append)
    write_whole(tmp_path / "file", b"new")
    assert len(synced) == 2


def test_a_catalog_asks_for_it_too(tmp_path: Path) -> None:
    connection, _ = connect(tmp_path / "catalog", 1.0, read_only=False)
    assert tuple(connection.execute("PRAGMA fullfsync").fetchone()) == (1,)
    connection.close()
    plain = sqlite3.connect(tmp_path / "catalog")
    assert plain.execute("PRAGMA fullfsync").fetchone() == (0,)
    plain.close()


def core_limit(_: int) -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)[0]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_worker_that_crashes_leaves_no_core_file() -> None:
    try:
        assert list(pool.run(core_limit, [0], 1, lambda *_: -1)) == [0]
    finally:
        pool.stop_idle()


def test_without_proc_a_worker_still_leaves_no_core_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, where nothing says how much memory a process has."""
    resource = pytest.importorskip("resource")
    limited: list[tuple[int, Any]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda which, to: limited.append((which, to)))
    real = open

    def without_proc(path: Any, *args: Any, **named: Any) -> Any:
        if str(path).startswith("/proc"):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return real(path, *args, **named)

    monkeypatch.setattr("builtins.open", without_proc)
    worker_process._write_no_core()
    worker_process._limit_memory()
    assert limited == [(resource.RLIMIT_CORE, (0, 0))]


# -- Windows ---------------------------------------------------------------------------------------


def test_windows_replaces_a_file_once_nobody_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    real, tries = os.replace, []

    def held_twice(source: Any, target: Any) -> None:
        tries.append(target)
        if len(tries) < 3:
            raise PermissionError(errno.EACCES, "used by another process", str(target))
        real(source, target)

    monkeypatch.setattr(os, "replace", held_twice)
    with pytest.raises(PermissionError):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert len(tries) == 1
    tries.clear()
    monkeypatch.setattr(_durable, "os", Elsewhere(os, name="nt"))
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert len(tries) == 3


def test_windows_is_not_asked_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"

    def held(source: Any, target: Any) -> None:
        raise PermissionError(errno.EACCES, "used by another process", str(target))

    monkeypatch.setattr(_durable, "_PATIENCE", 0.05)
    monkeypatch.setattr(os, "replace", held)
    monkeypatch.setattr(_durable, "os", Elsewhere(os, name="nt"))
    with pytest.raises(PermissionError):
        write_whole(path, b"new")
    assert os.listdir(tmp_path) == []


def test_windows_leaves_every_jpeg_to_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library there may have a standard error of its own: nothing would be heard of damage."""
    monkeypatch.setattr(jpegs, "os", Elsewhere(os, name="nt"))
    monkeypatch.setattr(jpegs, "_taken", False)
    jpegs.take_stderr()
    pixels = np.zeros((8, 8, 3), np.uint8)
    assert jpegs.plain_pixels(jpegs.write_jpeg(pixels, 90), "RGB", (8, 8)) is None


@pytest.fixture
def windows_jobs(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """``jobs`` without ``fcntl``: ``msvcrt`` locks bytes from where a file stands."""
    if sys.platform != "linux":
        pytest.skip("acts a system out with calls of Linux")
    import fcntl

    def locking(handle: int, mode: int, length: int) -> None:
        kind = fcntl.F_UNLCK if mode == 0 else fcntl.F_WRLCK
        at = os.lseek(handle, 0, os.SEEK_CUR)
        # A lock of the open file, not of the process, as that of Windows is.
        flock = struct.pack("hhqqi4x", kind, os.SEEK_SET, at, length, 0)
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, flock)

    stand_in = types.ModuleType("msvcrt")
    vars(stand_in).update(locking=locking, LK_NBLCK=2, LK_UNLCK=0)
    spec = importlib.util.spec_from_file_location("windows_jobs", jobs.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "windows_jobs", module)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)
        patch.setitem(sys.modules, "msvcrt", stand_in)
        spec.loader.exec_module(module)
    return module


def test_a_lease_on_windows(tmp_path: Path, windows_jobs: Any) -> None:
    with windows_jobs.lease(tmp_path, "adding pictures"):
        said = windows_jobs.running(tmp_path)
        assert "adding pictures runs in process" in said
        with (
            pytest.raises(CollectionError, match="adding pictures runs"),
            windows_jobs.lease(tmp_path, "another"),
        ):
            pass
    assert windows_jobs.running(tmp_path) is None
    assert (tmp_path / jobs.FILE).read_bytes() == b""


def test_a_server_leaves_word_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, windows_jobs: Any
) -> None:
    """An open file is neither renamed nor removed there, and is written from its beginning."""

    def never(*_: object) -> None:
        raise PermissionError(errno.EACCES, "used by another process")

    this = sessions.this_server("127.0.0.1", 8700, ())
    monkeypatch.setattr(sessions, "try_lock", windows_jobs.try_lock)
    monkeypatch.setattr(sessions, "os", Elsewhere(os, name="nt", replace=never))
    with sessions.announce(tmp_path, this) as held:
        assert held
        assert sessions.running_servers(tmp_path) == [this]
        (file,) = (tmp_path / sessions.FOLDER).iterdir()
        assert json.loads(file.read_bytes())["port"] == 8700
    assert list((tmp_path / sessions.FOLDER).iterdir()) == []
    assert sessions.running_servers(tmp_path) == []


def test_what_is_mapped_on_windows_stays_until_the_next_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / segments.FOLDER
    folder.mkdir()
    (folder / "mapped").write_bytes(b"1")
    (folder / "free").write_bytes(b"1")
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path.name == "mapped":
            raise PermissionError(errno.EACCES, "used by another process", str(path))
        real(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        with pytest.raises(PermissionError):
            segments.sweep(tmp_path, {f"{segments.FOLDER}/free"})
        patch.setattr(segments, "os", Elsewhere(os, name="nt"))
        assert segments.sweep(tmp_path, set()) == [f"{segments.FOLDER}/free"]
    assert segments.sweep(tmp_path, set()) == [f"{segments.FOLDER}/mapped"]


@linux
def test_two_servers_never_share_a_port_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    with run._listener("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        run._listener("127.0.0.1", port).close()  # bound, and nobody listens: the option allows it
    monkeypatch.setattr(run, "os", Elsewhere(os, name="nt"))
    with (
        run._listener("127.0.0.1", 0) as first,
        pytest.raises(CollectionError, match="cannot listen"),
    ):
        run._listener("127.0.0.1", first.getsockname()[1])


def test_folders_below_a_folder_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "SEPARATOR", "\\")
    monkeypatch.setattr(filters, "find_folders", lambda *_: ["C:\\Pictures"])
    clause, values = filters.folder_condition(None, "Pictures")  # type: ignore[arg-type]
    folders = ["C:\\Pictures", "C:\\Pictures\\2019", "C:\\Pictures\\a\\b", "C:\\Pictures2", "C:\\"]
    catalog = sqlite3.connect(":memory:")
    catalog.execute("CREATE TABLE files (image INTEGER, folder TEXT)")
    catalog.execute("CREATE TABLE images (id INTEGER)")
    for number, folder in enumerate(folders):
        catalog.execute("INSERT INTO files VALUES (?, ?)", (number, folder))
        catalog.execute("INSERT INTO images VALUES (?)", (number,))
    found = catalog.execute(f"SELECT id FROM images i WHERE {clause} ORDER BY id", values)
    assert [row[0] for row in found] == [0, 1, 2]
    catalog.close()


def test_each_system_has_its_file_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEMROOT", "W:")
    for name, expected in {
        "darwin": ["/usr/bin/open", "-R"],
        "win32": [os.path.join("W:", "explorer.exe")],
    }.items():
        with monkeypatch.context() as patch:
            patch.setattr(routes_pictures, "sys", Elsewhere(sys, platform=name))
            assert routes_pictures._opener() == expected
