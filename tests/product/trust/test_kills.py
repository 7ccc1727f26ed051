"""kill -9 of what learns, describes and restores: afterwards the state of before or the new one.

Whatever it was, asking for it again ends it, and the answers are those of a collection whose job
was never killed.  Processes that worked for a killed one are gone.  Few rounds here, many more in
``make trust``.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog.jobs import running
from likewise.collection.collection import Collection
from likewise.errors import CollectionError
from tests.product.collection import model_cases
from tests.product.collection.launching import Launcher, moment
from tests.product.collection.model_cases import template
from tests.product.trust.stored_cases import ROUNDS

pytestmark = pytest.mark.slow

MARK = "LIKEWISE_TEST_OF_KILLS"
rounds = max(ROUNDS // 10, 2)


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    made = Launcher(tmp_path_factory.mktemp("launcher") / "why", **{MARK: str(os.getpid())})
    yield made
    made.close()


@pytest.fixture(scope="module")
def warm(launcher: Launcher, taught: Path, tmp_path_factory: pytest.TempPathFactory) -> Launcher:
    """A launcher that has imported and loaded what models need."""
    root = tmp_path_factory.mktemp("warm") / "c.lw"
    shutil.copytree(taught, root)
    for what in ("metric", "map"):
        assert launcher.run(do=what, root=str(root), here="1")[0] == 0
    return launcher


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty pictures of two kinds, judged and compared."""
    root = tmp_path_factory.mktemp("taught") / "c.lw"
    shutil.copytree(template() / "c.lw", root)
    with Collection.open(root) as col:
        model_cases.taught(col)
        model_cases.compared(col, 12)
        col.spaces.add("own", {"feature": "own"})
    return root


@pytest.fixture
def copy(taught: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(taught, tmp_path / "c.lw"))


def answers(col: Collection, by: str) -> list[Any]:
    """Rankings with scores to the last bit; a picture without a row has none."""
    found: list[Any] = []
    for image in range(1, 13):
        try:
            found.append([(hit.id, hit.score) for hit in col.search(image, 20, by=by)])
        except CollectionError:
            found.append(None)
    return found


def look(root: Path, by: str) -> list[Any] | None:
    """What a collection answers by a similarity, None where it has none; it must be sound."""
    with Collection.open(root) as col:
        assert running(root) is None
        assert col.verify() == []
        assert answers(col, "default")[0]
        return answers(col, by) if by in col.similarities else None


def workers_of(launcher: Launcher) -> list[int]:
    """Processes that were started by jobs, and live."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == launcher.process.pid:
            continue
        try:
            environment = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # ended meanwhile, or somebody else's
            continue
        if f"{MARK}={os.getpid()}".encode() in environment.split(b"\0") and state != "Z":
            found.append(int(entry.name))
    return found


def killed_again_and_again(
    launcher: Launcher, root: Path, by: str, job: dict[str, str], each: Callable[[], None]
) -> int:
    """Kill a job at random moments; gives how often it died."""
    whole_root = root.with_name("whole.lw")
    shutil.copytree(root, whole_root)
    before = look(root, by)
    status, whole = launcher.run(**job, root=str(whole_root))
    assert status == 0
    due = look(whole_root, by)
    assert due is not None
    assert due != before
    if "said" in job:
        Path(job["said"]).unlink()  # what the other collection acknowledged
    rng, killed = random.Random(0), 0
    for i in range(rounds):
        status, _ = launcher.run(moment(rng, i, whole), **job, root=str(root))
        assert status in (0, signal.SIGKILL)
        killed += status == signal.SIGKILL
        each()
        now = look(root, by)
        # Rows of a new space come in some at a time.
        assert now in (before, due) or job["do"] in ("space", "fill")
    # What has begun ends when it is asked for again, or has ended.
    status, _ = launcher.run(**job, root=str(root))
    if status:
        assert "already" in launcher.why.read_text()
    assert look(root, by) == due
    return killed


@pytest.mark.parametrize("what", ["metric", "map"])
def test_kill_while_learning_a_model(warm: Launcher, copy: Path, what: str) -> None:
    assert killed_again_and_again(warm, copy, what, {"do": what}, lambda: None)


def test_a_model_that_is_learned_again_is_the_old_one_or_the_new_one(
    warm: Launcher, copy: Path
) -> None:
    assert warm.run(do="metric", root=str(copy))[0] == 0
    with Collection.open(copy) as col:
        for query in range(30, 40):
            col.judge(query, [query + 2], [query + 1])
    assert killed_again_and_again(warm, copy, "metric", {"do": "metric"}, lambda: None)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_kill_while_a_space_is_described_by_workers(launcher: Launcher, copy: Path) -> None:
    def nobody_is_left() -> None:
        deadline = time.monotonic() + 60
        while workers_of(launcher):
            assert time.monotonic() < deadline, "workers outlived the process they worked for"
            time.sleep(0.05)

    job = {"do": "space", "feature": "holistic", "workers": "1"}
    assert killed_again_and_again(launcher, copy, "late", job, nobody_is_left)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_kill_while_pictures_are_added_by_workers(
    launcher: Launcher, copy: Path, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    shutil.copytree(template() / "later", more)
    due = len(list(more.iterdir())) + model_cases.N
    job = {"do": "add", "pictures": str(more), "workers": "2", "root": str(copy)}
    rng, here = random.Random(1), model_cases.N
    for i in range(max(rounds // 2, 1)):
        launcher.run(moment(rng, i, 3.0), **job)
        with Collection.open(copy) as col:
            assert col.verify() == []
            assert here <= len(col) <= due
            here = len(col)
    assert launcher.run(**job)[0] == 0
    with Collection.open(copy) as col:
        assert len(col) == due
        assert col.verify() == []
        assert len(col.search(due, 100, by="holistic")) == due - 1


def test_kill_while_vectors_come_in(launcher: Launcher, copy: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"

    def what_was_acknowledged_is_there() -> None:
        with Collection.open(copy) as col:
            for line in said.read_text().split() if said.exists() else ():
                assert col.search(int(line), 1, by="own") is not None

    job = {"do": "fill", "seed": "5", "said": str(said)}
    killed_again_and_again(launcher, copy, "own", job, what_was_acknowledged_is_there)


def test_kill_while_restoring(launcher: Launcher, taught: Path, tmp_path: Path) -> None:
    with Collection.open(taught) as col:
        col.backup(tmp_path / "backup")
        due = answers(col, "default")
    moments = tmp_path / "moments"
    job = {"do": "restore", "backup": str(tmp_path / "backup"), "moments": str(moments)}
    assert launcher.run(**job, root=str(tmp_path / "whole.lw"), die_at="0")[0] == 0
    total = int(moments.read_text())
    # What it does to files and catalogs, from the first to the last, and more often early: most of
    # it, and of the time it takes, is checking what was copied.
    points = {int(at) for at in np.geomspace(2, total - 1, rounds + 6)}
    killed = 0
    for at in sorted(points):
        target = tmp_path / f"r{at}.lw"
        status, _ = launcher.run(**job, root=str(target), die_at=str(at))
        assert status in (0, signal.SIGKILL), f"at {at} of {total}"
        killed += status == signal.SIGKILL
        if target.exists():
            assert look(target, "default") == due
        else:
            assert launcher.run(**job, root=str(target))[0] == 0
            assert look(target, "default") == due
    assert killed
