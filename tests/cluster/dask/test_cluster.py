"""Workers of a Dask cluster: what they make is what one process makes, whatever becomes of them.

A scheduler and two workers run on loopback, once for all tests.  One failure is allowed for (not
Dask's usual three) so that a task that ends whole workers is found after two of them.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from likewise.catalog.cache import cache_of
from likewise.cli.app import app
from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.ingest import pool
from likewise.tags import bulk
from likewise_cluster.dask import cluster as cluster_module
from likewise_cluster.dask.cluster import (
    BATCH,
    Cluster,
    ClusterAway,
    ClusterMissing,
    WorkersDiffer,
)
from likewise_methods.coding.vocabulary import Vocabulary
from tests.cluster.dask import cluster_work
from tests.cluster.dask.cluster_work import Answer
from tests.product.collection import space_package
from tests.product.collection.pictures import SCENES, write, write_pictures

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


class Started(NamedTuple):
    address: str
    marks: Path
    package: Path


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A scheduler and two workers with one thread each, as the command line starts them."""
    pytest.importorskip(
        "distributed", reason="distributed (likewise-cluster[dask]) is not installed"
    )
    folder = tmp_path_factory.mktemp("cluster")
    package = space_package.install(
        folder / "package", "fragile-spaces", "fragile_spaces", cluster_work.KIND,
        {"fragile": "fragile_spaces:FragileSpace"},
    )  # fmt: skip
    marks = folder / "marks"
    marks.mkdir()
    paths = [
        str(package),
        *map(str, ROOT.glob("packages/*/src")),
        str(ROOT),
        os.environ.get("PYTHONPATH", ""),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        cluster_work.MARKS: str(marks),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    }
    local = ("--host", "127.0.0.1", "--no-dashboard")
    file = folder / "scheduler.json"

    def start(what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{what}", *local, *options]
        with open(folder / "log", "ab") as log:
            return subprocess.Popen(
                command, env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True
            )

    processes = [start("dask_scheduler", "--port", "0", "--scheduler-file", str(file))]
    named = ("--scheduler-file", str(file), "--nthreads", "1", "--local-directory", str(folder))
    processes += [start("dask_worker", *named) for _ in range(2)]
    try:
        yield Started(_address(file, folder / "log"), marks, package)
    finally:
        # With all that they started: asked to leave, workers would take their time.
        for one in processes:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def _address(file: Path, log: Path) -> str:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise AssertionError(f"no scheduler came up:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def cluster(started: Started) -> Iterator[Cluster]:
    with Cluster(started.address) as made:
        yield made


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    yield
    pool.stop_idle()


def answers(
    cluster: Cluster, work: Callable[[int], Answer], n: int, seconds: float = 60
) -> list[Answer]:
    return list(cluster.run(work, range(n), cluster_work.fail, tick=int, seconds=seconds))


# -- the contract of the pool ---------------------------------------------------------------------


def test_a_task_that_never_ends_costs_itself(cluster: Cluster) -> None:
    found = answers(cluster, cluster_work.never_end_on_five, 14, seconds=1)
    assert found == [Answer(i, "slow" if i == 5 else "") for i in range(14)], "in order, each once"


def test_a_task_that_ends_whole_workers_is_found_and_the_others_are_done(cluster: Cluster) -> None:
    found = answers(cluster, cluster_work.end_the_worker, 9)
    assert found == [Answer(i, "killed" if i == 2 else "") for i in range(9)]


def test_a_fault_of_ours_is_told_with_its_place(cluster: Cluster) -> None:
    with pytest.raises(RuntimeError, match="raise_on_three"):
        answers(cluster, cluster_work.raise_on_three, 5)


def test_a_worker_with_other_versions_is_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {**cluster_module.versions(), "numpy": "1.0.0"}
    monkeypatch.setattr(cluster_module, "versions", lambda: other)
    with pytest.raises(WorkersDiffer, match=r"numpy .* instead of 1\.0\.0"):
        answers(cluster, cluster_work.never_end_on_five, 1)


# -- collections ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs, a picture that ends its process, and one with which a worker is killed."""
    folder = tmp_path_factory.mktemp("pictures")
    write_pictures(folder, 2)
    for name, colour in (("bad", (255, 0, 0)), ("late", (0, 0, 255))):
        write(folder / f"{name}.png", np.full((40, 60, 3), colour, np.uint8))
    return folder


def make(root: Path, pictures: Path, workers: Any) -> tuple[Any, Any]:
    """A collection of visual words and of the fragile kind; gives what was added, what was said."""
    with Collection.create(root, deep=False) as col:
        col.spaces.add("fragile", {"feature": "fragile"})
        result = col.add(pictures, workers=workers)
        return result, contents(root)


TABLES = {
    **dict.fromkeys(
        ("images", "files", "roots", "tags", "tag_sources", "spaces", "backfills", "cameras"), "*"
    ),
    # Not their numbers: they come in batches, and the clock ends a batch.
    "vectors": "space, generation, image, vector, sum",
}


def contents(root: Path) -> dict[str, Any]:
    """All that a collection holds, but for names drawn at random and times of the clock."""
    found: dict[str, Any] = {}
    with sqlite3.connect(root / "catalog.sqlite") as c:
        for table, columns in TABLES.items():
            found[table] = sorted(c.execute(f"SELECT {columns} FROM {table}"), key=repr)
        generations = c.execute(
            "SELECT space, number, width, n_pictures, files FROM generations ORDER BY 1, 2"
        ).fetchall()
    c.close()
    for space, number, width, n_pictures, files in generations:
        learned = {key: learned_of(key, root / name) for key, name in json.loads(files).items()}
        found[f"{space} {number}"] = width, n_pictures, learned
    cache = cache_of(root)
    found["thumbnails"] = {key: cache.get(key) for key in cache.names()}
    return found


def learned_of(key: str, path: Path) -> bytes:
    """What a file of a generation holds; how far the words were off, on the way to them, is summed
    by threads, of which a cluster's writer has more."""
    return Vocabulary.open(path).words_.tobytes() if key == "vocabulary" else path.read_bytes()


def test_a_killed_worker_and_a_bad_picture_change_nothing(
    cluster: Cluster, started: Started, pictures: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.syspath_prepend(str(started.package))
    result, alone = make(tmp_path / "alone.lw", pictures, 1)
    assert [(Path(path).name, why) for path, why in result.skipped] == [
        ("bad.png", "crashes its decoder")
    ]
    assert len(alone["images"]) == result.added == 17
    assert len(alone["thumbnails"]) == 17
    killed = threading.Thread(target=kill_who_waits, args=(started.marks,))
    killed.start()
    result, together = make(tmp_path / "together.lw", pictures, cluster)
    killed.join()
    assert result.added == 17
    for part in alone:
        assert together[part] == alone[part], part
    described = [path.name.split("-")[1] for path in started.marks.glob("done-*")]
    assert len(set(described)) == 17
    # Only what was lost with the worker, and what the bad picture took along, is done again.
    assert len(described) - 17 <= 2 * (BATCH - 1)
    assert result.known == 0
    with Collection.open(tmp_path / "together.lw") as col:
        # The bad picture is remembered.
        assert (col.add(pictures, workers=cluster).known, len(col)) == (18, 17)
        assert col.verify() == []


def kill_who_waits(marks: Path) -> None:
    """kill -9 of the worker whose process is at the blue picture."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            os.kill(int((marks / "waiting").read_text()), signal.SIGKILL)
            return
        except (OSError, ValueError):
            time.sleep(0.02)


def test_pictures_below_another_folder_and_words_learned_anew(
    started: Started, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIKEWISE_COLLECTION", raising=False)
    (tmp_path / "there").symlink_to(pictures)
    some = [pictures / "coins-0.jpg", pictures / "coins-1.jpg", pictures / "rocket-0.jpg"]
    found = {}
    for name in ("here", "there"):
        with Collection.create(tmp_path / f"{name}.lw", deep=False) as col:
            col.add(*some[:2], workers=0)
        where = ("-C", tmp_path / f"{name}.lw")
        options: tuple[object, ...] = ("--workers", 0)
        if name == "there":
            options = ("--scheduler", started.address, "--path-map", f"{pictures}={tmp_path}/there")
        likewise("add", some[2], *where, *options)
        likewise("retrain", *where, *options)
        found[name] = contents(tmp_path / f"{name}.lw")
    assert found["there"] == found["here"]
    nowhere = ("--scheduler", started.address, "--path-map", f"{pictures}=/nowhere")
    said = likewise("add", pictures / "flower-0.jpg", *where, *nowhere, code=1)
    assert "/nowhere/flower-0.jpg" in said
    assert "--path-map" in said
    with Collection.open(tmp_path / "there.lw") as col:
        assert (len(col), col.problems()) == (3, [])


def likewise(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, (arguments, done.output, done.exception)
    return f"{done.output} {done.exception or ''}"


def test_suggested_tags_are_those_of_one_process(
    started: Started, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIKEWISE_COLLECTION", raising=False)
    monkeypatch.setattr(bulk, "BATCH", 5)
    scenes = [pictures / f"{name}-0.jpg" for name in SCENES]
    with Collection.create(tmp_path / "here.lw", deep=False) as col:
        col.spaces.drop("words")
        col.add(pictures, workers=0)
        for one in scenes:
            col.tags.change([one], [one.stem])
        col.backup(tmp_path / "there.lw")
    found = {}
    for name, options in (("here", ()), ("there", ("--scheduler", started.address))):
        root = tmp_path / f"{name}.lw"
        likewise("tag", "--all", "--also-tagged", "--above", 0.1, "-C", root, *options)
        with Collection.open(root) as col:
            found[name] = {row.id: col.tags.of(row.id) for row in col.images()}
    assert sum(map(len, found["here"].values())) > len(scenes), "nothing was suggested"
    assert found["there"] == found["here"]


# -- without a cluster ----------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["", "host:8786", "http://host:8786", "tcp://"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="tcp://host:8786 expected"):
        Cluster(address)


@pytest.mark.parametrize("given", [{"photos": "/mnt"}, {"/photos": "mnt"}])
def test_a_path_map_needs_two_absolute_folders(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="/here=/there"):
        Cluster("tcp://host:8786", path_map=given)


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ClusterMissing, match=r"likewise-cluster\[dask\]"),
        Cluster("tcp://127.0.0.1:1"),
    ):
        pass


def test_a_scheduler_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(
        "distributed", reason="distributed (likewise-cluster[dask]) is not installed"
    )
    monkeypatch.setattr(cluster_module, "CONNECTING", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        pytest.raises(ClusterAway, match="the same command goes on"),
        Cluster(f"tcp://127.0.0.1:{port}"),
    ):
        pass


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    picture = write(tmp_path / "a.png", np.zeros((8, 8, 3), np.uint8))
    for options in (
        ("add", picture, "--path-map", "/a=/b"),
        ("add", picture, "--workers", 2, "--scheduler", "tcp://127.0.0.1:1"),
        ("tag", picture, "--scheduler", "tcp://127.0.0.1:1"),
    ):
        likewise(*options, "-C", tmp_path / "c.lw", code=2)
