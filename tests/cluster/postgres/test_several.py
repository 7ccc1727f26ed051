"""Several servers, one truth: after any interleaving every process gives the fold of the log."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from likewise.catalog.tag_tables import KINDS
from likewise.collection.collection import Collection
from likewise.errors import CatalogAway, CollectionBusy
from likewise_cluster.postgres import connections
from tests.cluster.postgres.cases import Worker, moved, numbers, read_log, workers
from tests.cluster.postgres.server import Server
from tests.cluster.postgres.worker import answers
from tests.product.collection.loop_cases import SPACES, N, weights
from tests.product.private import store_of

PATIENCE = 60.0


@pytest.fixture(scope="module")
def two() -> Iterator[list[Worker]]:
    """Two processes, which open one collection after another."""
    with workers(2) as started:
        yield started


def command(chance: random.Random, profiles: list[str]) -> tuple[Any, ...]:
    """Something a person may say."""
    query, *others = chance.sample(range(1, N + 1), 4)
    kind = chance.random()
    if kind < 0.65:
        return "judge", query, others[:2], others[2:], chance.choice(profiles)
    if kind < 0.8:
        return ("undo",)
    return ("tag" if kind < 0.92 else "untag"), query, chance.choice("abc")


def check_fold(root: Path, folder: Path, said: dict[str, Any]) -> None:
    """What a process answers is what a fresh one folds, and what the reference makes of the log."""
    with Collection.open(root) as col:
        with store_of(col).write() as c:
            c.execute("DELETE FROM checkpoints")
        # As it comes from a worker: a key is text there.
        due = answers(col)
        assert said["rankings"] == {k: [list(h) for h in v] for k, v in due["rankings"].items()}
        assert said["tags"] == {str(image): tags for image, tags in due["tags"].items()}
        log = read_log(store_of(col), folder)
        # The reference knows what profiles learn from, and no tags.
        for profile, lines in log.lines.items():
            log.lines[profile] = [line for line in lines if line[1] not in KINDS]
        for name in SPACES:
            space = col.spaces[name]
            assert np.array_equal(said["weights"][name], weights(col, space=name))
            # Float64 sums of a few dozen steps, in another order.
            wanted = log.weights("default", name, space.generation, space.width)
            np.testing.assert_allclose(said["weights"][name], wanted, rtol=0, atol=1e-12)
        assert numbers(col) == list(range(1, len(numbers(col)) + 1))
        assert col.verify() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_two_processes_agree_after_any_interleaving(
    server: Server, two: list[Worker], tmp_path: Path, seed: int
) -> None:
    root = moved(server, tmp_path)
    chance = random.Random(seed)
    profiles = ["default"]
    for worker in two:
        worker.open(root)
    for step in range(30):
        one = chance.choice(two)
        if step == 12:
            assert one.ask("copy", "default", "taste") is None
            profiles.append("taste")
        one.ask(*command(chance, profiles))
        if chance.random() < 0.1:
            assert two[0].ask("answers") == two[1].ask("answers")
    said = [worker.ask("answers") for worker in two]
    assert said[0] == said[1]
    check_fold(root, tmp_path, said[0])


def test_two_processes_that_judge_at_once(
    server: Server, two: list[Worker], tmp_path: Path
) -> None:
    """Nobody waits for the other: lines are numbered without gaps, each has its own."""
    root = moved(server, tmp_path)
    chance = random.Random(3)
    n = 20
    for worker in two:
        worker.open(root)
    for _ in range(n):
        for worker in two:
            query, *others = chance.sample(range(1, N + 1), 4)
            worker.send("judge", query, others[:2], others[2:], "default")
    found = [worker.answer() for _ in range(n) for worker in two]
    assert sorted(found) == list(range(1, 2 * n + 1))
    said = [worker.ask("answers") for worker in two]
    assert said[0] == said[1]
    check_fold(root, tmp_path, said[0])


def test_a_failed_write_leaves_no_gap(server: Server, tmp_path: Path) -> None:
    with Collection.open(moved(server, tmp_path)) as col:
        col.judge(1, [2], [3])
        with pytest.raises(RuntimeError), store_of(col).write() as c:
            fail_after_a_line(c)
        assert col.judge(4, [5], [6]).number == 2
        assert col.verify() == []


def fail_after_a_line(c: Any) -> None:
    c.execute(
        "INSERT INTO log (profile, kind, made, session, body) VALUES (?, ?, ?, ?, ?)",
        ("default", "judge", "now", 1, "{}"),
    )
    raise RuntimeError


# -- the lease --------------------------------------------------------------------------------


def test_a_job_on_one_machine_keeps_others_waiting(
    server: Server, two: list[Worker], tmp_path: Path
) -> None:
    root, other = moved(server, tmp_path), two[0]
    other.open(root)
    with Collection.open(root) as col:
        assert other.ask("lease") == "held"
        running = f"a long job runs in process {other.process.pid}"
        assert str(col.info()["job"]).startswith(running)
        with pytest.raises(CollectionBusy, match=running):
            col.refresh()
        # What is no job goes on.
        assert col.judge(1, [2], [3]).number == 1
        other.send("end")
        assert other.answer() == "let go"
        # At once, and not only when the database notices that somebody hung up.
        assert col.running_job() is None
        col.refresh()
        assert col.running_job() is None


@pytest.mark.slow
def test_a_lease_ends_with_its_process(server: Server, tmp_path: Path) -> None:
    root = moved(server, tmp_path)
    with Collection.open(root) as col, workers(1) as (other,):
        other.open(root)
        assert other.ask("lease") == "held"
        other.process.send_signal(signal.SIGKILL)
        other.process.wait()
        # The database notices by itself.
        deadline = time.monotonic() + PATIENCE
        while col.running_job() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        col.refresh()


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_judges(server: Server, tmp_path: Path) -> None:
    root = moved(server, tmp_path)
    with Collection.open(root) as col, workers(1) as (other,):
        other.open(root)
        for turn in range(40):
            other.send("judge", 1 + turn % 9, [10, 11], [12], "default")
        acknowledged = [other.answer() for _ in range(5)]
        other.process.send_signal(signal.SIGKILL)
        other.process.wait()
        own = col.judge(13, [1], [2]).number
        kept = numbers(col)
        assert kept == list(range(1, own + 1))
        assert set(acknowledged) <= set(kept)
        assert col.verify() == []


def test_a_job_that_lost_its_lease_writes_no_more(server: Server, tmp_path: Path) -> None:
    with Collection.open(moved(server, tmp_path)) as col:
        store = store_of(col)
        with store.lease("job"):
            with psycopg.connect(server.plain_address(), autocommit=True) as c:
                c.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name LIKE 'likewise job %'"
                )
            with pytest.raises(CatalogAway, match="lease"), store.write():
                pass
        col.tag(1, "later")


def test_whoever_waits_too_long_is_told(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 1)
    root = moved(server, tmp_path)
    with Collection.open(root) as one, Collection.open(root) as two:
        with store_of(one).write(), pytest.raises(CollectionBusy, match="being written"):
            two.tag(1, "a")
        two.tag(1, "a")
        assert one.tags.of(1) == ["a"]


# -- hearing of changes -----------------------------------------------------------------------


def test_a_change_by_another_process_is_heard(
    server: Server, two: list[Worker], tmp_path: Path
) -> None:
    root = moved(server, tmp_path)
    two[0].open(root)
    heard = threading.Event()
    with Collection.open(root) as col:
        watching = col.watch(heard.set)
        assert watching is not None
        assert watching.listening.wait(PATIENCE)  # type: ignore[attr-defined]
        assert heard.wait(PATIENCE)
        heard.clear()
        before = col.revision
        two[0].ask("tag", 1, "new")
        assert heard.wait(PATIENCE)
        assert col.revision == before + 1
        watching.close()
