"""kill -9 at random moments: the old state or the new one, nothing acknowledged is lost.

Twenty rounds here; ``make trust`` runs more (``LIKEWISE_TRUST_ROUNDS``).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.jobs import running
from likewise.catalog.store import FILE
from likewise.collection.collection import Collection
from tests.product.collection.launching import Launcher, moment
from tests.product.collection.loop_cases import SPACES, copied, weights
from tests.product.collection.loop_reference import Log
from tests.product.collection.pictures import small_scenes, write, write_pictures

ROUNDS = int(os.environ.get("LIKEWISE_TRUST_ROUNDS", "20"))


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    made = Launcher(tmp_path_factory.mktemp("launcher") / "why")
    yield made
    made.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crash") / "pictures"
    write_pictures(folder, views=2)
    return folder


def paths_in(col: Collection) -> set[str]:
    return {row.path for row in col.images()}


def check(root: Path) -> set[str]:
    """A reopened collection is sound, free, and answers; gives its pictures."""
    with Collection.open(root) as col:
        assert running(root) is None
        assert col.verify() == []
        paths = paths_in(col)
        for row in list(col.images())[:2]:
            assert len(col.search(row.id, k=100, by="holistic")) == len(paths) - 1
            if col.spaces["words"].generation:
                assert len(col.search(row.id, k=100, by="words")) == len(paths) - 1
        return paths


def test_kill_while_adding(launcher: Launcher, pictures: Path, tmp_path: Path) -> None:
    rng = random.Random(0)
    everything = {str(path) for path in pictures.iterdir()}
    root = tmp_path / "whole.lw"
    launcher.run(do="create", root=str(root))
    status, whole = launcher.run(do="add", root=str(root), pictures=str(pictures))
    assert status == 0
    assert check(root) == everything
    killed = finished = 0
    for i in range(max(ROUNDS // 5, 5)):
        if i % 5 == 0:
            root = tmp_path / f"c{i}.lw"
            launcher.run(do="create", root=str(root))
            before: set[str] = set()
        status, _ = launcher.run(
            moment(rng, i, whole), do="add", root=str(root), pictures=str(pictures)
        )
        assert status in (0, signal.SIGKILL)
        killed += status == signal.SIGKILL
        finished += status == 0
        after = check(root)
        assert before <= after <= everything
        before = after
        if i % 5 == 4:
            status, _ = launcher.run(do="add", root=str(root), pictures=str(pictures))
            assert status == 0
            assert check(root) == everything
    assert killed > 0


def test_kill_at_every_file_and_statement(
    launcher: Launcher, pictures: Path, tmp_path: Path
) -> None:
    """Killed at the n-th thing that an add does to a file or the catalog, the next add ends it.

    Three deaths in a row, since what an add has to do depends on where the last one died.
    ``make trust`` takes more of them.
    """
    everything = {str(path) for path in pictures.iterdir()}
    moments = tmp_path / "moments"
    job = {"do": "add", "pictures": str(pictures), "moments": str(moments)}
    launcher.run(do="create", root=str(tmp_path / "whole.lw"))
    assert launcher.run(**job, root=str(tmp_path / "whole.lw"), die_at="0")[0] == 0
    total = int(moments.read_text())
    assert total > 200
    rng = random.Random(total)
    killed = 0
    for i in range(max(ROUNDS // 16, 1)):
        root = tmp_path / f"c{i}.lw"
        launcher.run(do="create", root=str(root))
        before: set[str] = set()
        points = [rng.randrange(1, total) for _ in range(3)]
        for n in points:
            status, _ = launcher.run(**job, root=str(root), die_at=str(n))
            assert status in (0, signal.SIGKILL), f"after deaths at {points} of {total}"
            killed += status == signal.SIGKILL
            after = check(root)
            assert before <= after <= everything
            before = after
        assert launcher.run(**job, root=str(root))[0] == 0, f"after deaths at {points} of {total}"
        assert check(root) == everything
        shutil.rmtree(root)
    assert killed > 0


def test_kill_while_creating(launcher: Launcher, tmp_path: Path) -> None:
    rng = random.Random(1)
    for i in range(max(ROUNDS // 10, 3)):
        root = tmp_path / f"n{i}.lw"
        launcher.run(rng.uniform(0, 0.03), do="create", root=str(root))
        if not (root / FILE).exists():
            # Not there yet: then it can be created.
            status, _ = launcher.run(do="create", root=str(root))
            assert status == 0
        assert check(root) == set()


@pytest.mark.slow
def test_kill_other_jobs(launcher: Launcher, pictures: Path, tmp_path: Path) -> None:
    rng = random.Random(2)
    home = tmp_path / "home"
    shutil.copytree(pictures, home)
    root = tmp_path / "c.lw"
    launcher.run(do="create", root=str(root))
    launcher.run(do="add", root=str(root), pictures=str(home))
    seconds = {}
    for job in ("refresh", "retrain", "backup"):
        target = str(tmp_path / f"warm-{job}")
        status, seconds[job] = launcher.run(do=job, root=str(root), target=target)
        assert status == 0
    seconds["sync"] = seconds["retrain"]
    killed = 0
    for i in range(max(ROUNDS // 2, 8)):
        job = ("sync", "refresh", "retrain", "backup")[i % 4]
        before = check(root)
        expected = set(before)
        if job == "sync":
            scene = list(small_scenes().values())[i % 8]
            # No two alike, however many rounds: a copy is no picture of its own.
            added = write(home / f"new{i}.jpg", scene[i % 40 + 1 :, i // 40 :])
            removed = Path(min(before))
            removed.unlink()
            expected = (before | {str(added)}) - {str(removed)}
        target = tmp_path / f"b{i}"
        status, _ = launcher.run(
            moment(rng, i, seconds[job]), do=job, root=str(root), target=str(target)
        )
        killed += status == signal.SIGKILL
        after = check(root)
        if job == "sync":
            assert before & expected <= after <= before | expected
        else:
            assert after == before
        if job == "backup" and target.exists():
            assert check(target) == before
        if i % 5 == 4 or job == "sync":
            status, _ = launcher.run(do="sync", root=str(root))
            assert status == 0
            assert check(root) == {str(path) for path in home.iterdir()}
    assert killed > 0


def test_kill_while_judging(launcher: Launcher, tmp_path: Path) -> None:
    """Every judgement that was acknowledged is in the log, and what is learned is its fold."""
    rng = random.Random(3)
    root = copied(tmp_path)
    said = tmp_path / "said"
    job = {"do": "judge", "root": str(root), "said": str(said), "times": "12"}
    status, whole = launcher.run(**job, seed="warm")
    assert status == 0
    killed = 0
    for i in range(max(ROUNDS // 4, 5)):
        status, _ = launcher.run(moment(rng, i, whole), **job, seed=str(i))
        killed += status == signal.SIGKILL
        acknowledged = [tuple(map(int, line.split())) for line in said.read_text().splitlines()]
        with Collection.open(root) as col:
            assert col.verify() == []
            lines = {line.number: line for line in col.log.entries() if line.kind == "judge"}
            for number, query, liked in acknowledged:
                assert (lines[number].query, lines[number].liked) == (query, (liked,))
            log = Log(root)
            # At most the one that was being written has not been acknowledged.
            assert len(lines) - len(acknowledged) <= i + 1
            for name in SPACES:
                space = col.spaces[name]
                wanted = log.weights("default", name, space.generation, space.width)
                assert np.array_equal(weights(col, space=name), wanted)
            col.search(1, by="default")
        if i % 10 == 9:
            said.unlink()
            shutil.rmtree(root)
            copied(tmp_path)
            said.touch()
    assert killed > 0


def test_two_processes_at_once(launcher: Launcher, pictures: Path, tmp_path: Path) -> None:
    """A second job gets a clear refusal, and both processes stay usable."""
    root = tmp_path / "c.lw"
    launcher.run(do="create", root=str(root))
    assert launcher.process.stdin is not None
    launcher.process.stdin.write(
        json.dumps({"do": "add", "root": str(root), "pictures": str(pictures)}) + "\n"
    )
    launcher.process.stdin.flush()
    launcher._line()
    from likewise.errors import CollectionBusy

    refused = searched = 0
    with Collection.open(root) as col:
        deadline = time.monotonic() + 60
        while running(root) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        while time.monotonic() < deadline and len(col) < 16:
            try:
                col.refresh()
            except CollectionBusy as busy:
                refused += "add runs in process" in str(busy)
            if len(col) > 1:
                first = next(iter(col.images()))
                searched += len(col.search(first.id, k=3, by="holistic")) > 0
                col.tag(first.id, f"seen{searched}")
            time.sleep(0.02)
        assert int(launcher._line()) == 0
        assert refused > 0
        assert searched > 0
        assert len(col) == 16
        assert f"seen{searched}" in {tag for row in col.images() for tag in col.tags.of(row.id)}
        assert col.verify() == []
