"""A disk that fails under SQLite: nothing acknowledged is lost, and the sentence names the disk.

``failing_disk.c`` is preloaded into the process: the n-th call that writes, syncs, cuts or opens
something below the collection fails, once (EIO) or from then on (ENOSPC: the disk stays full).
Some n here, all of them in ``make trust``.
"""

from __future__ import annotations

import errno
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog import sqlite_catalog
from likewise.catalog.jobs import running
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, tell_os_error
from tests import trials
from tests.product.collection.launching import Launcher
from tests.product.collection.loop_cases import SPACES, copied, weights
from tests.product.collection.loop_reference import Log
from tests.product.trust.stored_cases import ROUNDS, write_small

# The first calls belong to the cache, whose failure costs nothing.
FEW = 9
KINDS = {"full": (errno.ENOSPC, "1"), "failing": (errno.EIO, "")}


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler, to preload a disk that fails")
    made = tmp_path_factory.mktemp("shim") / "failing_disk.so"
    source = Path(__file__).with_name("failing_disk.c")
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"failing_disk.c cannot be compiled here: {done.stderr[:200]}")
    return made


@pytest.fixture(scope="module")
def launcher(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    home = tmp_path_factory.mktemp("launcher")
    made = Launcher(home / "why", LD_PRELOAD=str(shim))
    # Imported and compiled once, before anything is forked.
    root, said = str(copied(home)), str(home / "said")
    made.run(do="judge", root=root, said=said, times="2", seed="0", here="1")
    write_small(home / "pictures", 8)
    made.run(do="add", root=root, pictures=str(home / "pictures"), here="1")
    yield made
    made.close()


class Trial:
    """One job on copies of one collection, failing at every call in turn, or at some."""

    def __init__(self, launcher: Launcher, tmp_path: Path, job: dict[str, str]) -> None:
        self.launcher, self.tmp_path, self.job = launcher, tmp_path, job
        self.sentence, self.moments = tmp_path / "sentence", tmp_path / "moments"

    def run(self, root: Path, at: int, kind: str) -> tuple[int, str]:
        """(exit status, the sentence that a person sees)."""
        code, lasting = KINDS[kind]
        self.sentence.write_text("")
        status, _ = self.launcher.run(
            **self.job, root=str(root), disk=str(root), fail_at=str(at), code=str(code),
            lasting=lasting, sentence=str(self.sentence), moments=str(self.moments),
        )  # fmt: skip
        if at:
            trials.count(trials.DISK_ERRORS)
        return status, self.sentence.read_text()

    def points(self, root: Path) -> list[int]:
        """The calls to fail at: all that the job makes when nothing fails, or some of them."""
        status, _ = self.run(root, 0, "full")
        assert status == 0
        total = int(self.moments.read_text())
        assert total > 10
        every = list(range(1, total + 1))
        if ROUNDS:
            return every
        return sorted({1, 2, 3, total, *random.Random(total).sample(every, FEW - 4)})


def check_sentence(kind: str, sentence: str) -> None:
    assert "disk" in sentence
    assert "bug" not in sentence
    if kind == "full":
        assert "is full" in sentence or "cannot be read or written" in sentence


@pytest.mark.parametrize("kind", KINDS)
def test_judging_on_a_disk_that_fails(launcher: Launcher, tmp_path: Path, kind: str) -> None:
    said = tmp_path / "said"
    job = {"do": "judge", "said": str(said), "times": "3", "seed": "1"}
    trial = Trial(launcher, tmp_path, job)
    template = copied(tmp_path)
    whole = Path(shutil.copytree(template, tmp_path / "whole.lw"))
    failed = 0
    for at in trial.points(whole):
        root = Path(shutil.copytree(template, tmp_path / f"c{at}.lw"))
        said.unlink(missing_ok=True)
        status, sentence = trial.run(root, at, kind)
        if status:
            failed += 1
            check_sentence(kind, sentence)
        acknowledged = [
            tuple(map(int, line.split()))
            for line in (said.read_text().splitlines() if said.exists() else ())
        ]
        assert status or len(acknowledged) == 3
        with Collection.open(root) as col:
            assert col.verify() == []
            lines = {line.number: line for line in col.log.entries() if line.kind == "judge"}
            for number, query, liked in acknowledged:
                assert (lines[number].query, lines[number].liked) == (query, (liked,))
            for name in SPACES:
                space = col.spaces[name]
                wanted = Log(root).weights("default", name, space.generation, space.width)
                assert np.array_equal(weights(col, space=name), wanted)
            # When the disk has room again, work goes on.
            col.judge(1, [2], [3])
        shutil.rmtree(root)
    assert failed


@pytest.mark.parametrize("kind", KINDS)
def test_adding_on_a_disk_that_fails(launcher: Launcher, tmp_path: Path, kind: str) -> None:
    pictures = tmp_path / "pictures"
    paths = {str(path) for path in write_small(pictures, 4)}
    trial = Trial(launcher, tmp_path, {"do": "add", "pictures": str(pictures)})
    template = tmp_path / "empty.lw"
    Collection.create(template, deep=False).close()
    whole = Path(shutil.copytree(template, tmp_path / "whole.lw"))
    failed = 0
    for at in trial.points(whole):
        root = Path(shutil.copytree(template, tmp_path / f"c{at}.lw"))
        status, sentence = trial.run(root, at, kind)
        if status:
            failed += 1
            check_sentence(kind, sentence)
        with Collection.open(root) as col:
            assert running(root) is None
            assert col.verify() == []
            assert {row.path for row in col.images()} <= paths
            if not status:
                assert {row.path for row in col.images()} == paths
            col.add(pictures, workers=0)
            assert {row.path for row in col.images()} == paths
            assert col.verify() == []
            assert len(col.search(1, by="holistic")) == len(paths) - 1
        shutil.rmtree(root)
    assert failed


def test_a_connection_that_can_only_read_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite opens for reading what a disk refuses to open for writing, and keeps that to itself:
    who may write is told of the disk, and writes when it has room again."""
    root = copied(tmp_path)

    def refused(name: str, patience: float, *, uri: bool) -> sqlite3.Connection:
        return really(f"{Path(name).as_uri()}?mode=ro", patience, uri=True)

    really = sqlite_catalog._open
    monkeypatch.setattr(sqlite_catalog, "_open", refused)
    with Collection.open(root) as col:
        monkeypatch.setattr(sqlite_catalog, "_open", really)
        before = len(col.log.entries())
        with pytest.raises(CollectionError, match=r"disk that holds .* cannot be .* written"):
            col.judge(1, [2], [3])
        col.judge(1, [2], [3])
        assert len(col.log.entries()) == before + 1
        assert col.verify() == []


def test_what_the_system_refuses_is_told() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/photos/a")
    assert (
        tell_os_error(full)
        == "the disk that holds /photos/a is full; nothing that was there is lost"
    )
    assert "disk cannot be read or written" in tell_os_error(
        OSError(errno.EIO, "Input/output error")
    )
    denied = PermissionError(errno.EACCES, "Permission denied", "/photos/a")
    assert tell_os_error(denied) == "/photos/a: Permission denied"
