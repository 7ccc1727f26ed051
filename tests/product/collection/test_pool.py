"""The pool: crashing, hanging and greedy tasks cost themselves and nothing else."""

from __future__ import annotations

import errno
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.ingest import pool, worker_process
from likewise.ingest.pool import Failure, WorkersCannotStart, picture_seconds, run
from likewise_methods.blas_threads import blas_threads


@pytest.fixture(autouse=True)
def no_idle_workers() -> Iterator[None]:
    yield
    pool.stop_idle()


def failed(task: int, failure: Failure) -> tuple[int, str]:
    return task, failure.kind


def die_on_seven(task: int) -> tuple[int, str]:
    if task == 7:
        os.kill(os.getpid(), signal.SIGSEGV)
    return task, ""


def be_killed_on_seven(task: int) -> tuple[int, str]:
    if task == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return task, ""


def hang_on_seven(task: int) -> tuple[int, str]:
    if task == 7:
        while True:
            pass
    return task, ""


def sleep_on_seven(task: int) -> tuple[int, str]:
    if task == 7:
        time.sleep(3600)
    return task, ""


def ask_for_all_memory(task: int) -> tuple[int, str]:
    if task == 7:
        try:
            np.ones(worker_process.MEMORY + (1 << 30), np.uint8)
        except MemoryError:
            return task, "refused"
    return task, ""


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def pid_of(task: int) -> int:
    return os.getpid()


def raise_on_seven(task: int) -> tuple[int, str]:
    if task == 7:
        raise ValueError("a fault of ours")
    return task, ""


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal of POSIX")
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("work", "kind"), [(die_on_seven, "crash"), (be_killed_on_seven, "killed")]
)
def test_a_task_that_kills_its_worker_costs_itself(work, kind: str, workers: int) -> None:
    found = sorted(run(work, range(14), workers, failed))
    assert found == [(i, kind if i == 7 else "") for i in range(14)]


@pytest.mark.slow
@pytest.mark.parametrize("work", [hang_on_seven, sleep_on_seven])
def test_a_task_that_never_ends_costs_itself(work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "1")
    found = sorted(run(work, range(14), 2, failed))
    assert found == [(i, "slow" if i == 7 else "") for i in range(14)]


@pytest.mark.slow
def test_the_rest_is_told_while_one_task_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for answers can save what there is."""
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "1")
    got: list[int] = []
    at_ticks: list[int] = []
    for task, _ in run(sleep_on_seven, range(9), 1, failed, tick=lambda: at_ticks.append(len(got))):
        got.append(task)
    assert sorted(got) == list(range(9))
    assert 7 in at_ticks, "seven are done, the eighth hangs, and the clock goes on"


def test_stopping_waits_for_no_task() -> None:
    under_way = run(sleep_on_seven, [0, 7, 7, 7, 7], 2, failed)
    assert next(under_way) == (0, "")
    under_way.close()  # or this test would last an hour
    assert not multiprocessing.active_children()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits of memory are Linux's")
def test_memory_is_limited() -> None:
    assert dict(run(ask_for_all_memory, range(6, 9), 1, failed))[7] == "refused"


def test_workers_are_used_again() -> None:
    first = set(run(pid_of, range(8), 1, failed))
    assert set(run(pid_of, range(8), 1, failed)) == first
    pool.stop_idle()
    assert set(run(pid_of, range(8), 1, failed)) != first


def test_one_that_left_meanwhile_is_replaced() -> None:
    (pid,) = set(run(pid_of, range(3), 1, failed))
    os.kill(pid, signal.SIGKILL)
    (other,) = set(run(pid_of, range(3), 1, failed))
    assert other != pid


def test_a_fault_of_ours_is_told_with_its_place() -> None:
    with pytest.raises(RuntimeError, match="raise_on_seven"):
        list(run(raise_on_seven, range(9), 1, failed))


def test_workers_that_cannot_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "serve", os._exit)
    with pytest.raises(WorkersCannotStart, match="--workers 0"):
        list(run(die_on_seven, range(3), 1, failed))


def test_a_system_that_starts_no_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(pool.SpawnProcess, "start", refuse)
    with pytest.raises(WorkersCannotStart, match=r"temporarily unavailable.*--workers 0"):
        list(run(die_on_seven, range(2), 1, failed))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_that_leave_are_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_REAP_SECONDS", 0.05)
    list(run(die_on_seven, range(3), 1, failed, stay=0.2))
    (worker,) = pool._idle
    pid = worker.process.pid
    deadline = time.monotonic() + 60
    # An entry in the table, alive or defunct; then nobody counts on it any more.
    while Path(f"/proc/{pid}").exists() or pool._idle:
        assert time.monotonic() < deadline, (pool._idle, _state_of(pid))
        time.sleep(0.02)
    assert sorted(run(die_on_seven, range(3), 1, failed)) == [(i, "") for i in range(3)]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_worker_that_waits_leaves_with_its_parent() -> None:
    """However its parent ended, and however long it was told to wait for more."""
    script = (
        "import time\n"
        "from likewise.ingest import pool\n"
        "from tests.product.collection.test_pool import die_on_seven, failed\n"
        "list(pool.run(die_on_seven, [1], 1, failed, stay=3600))\n"
        "print(pool._idle[0].process.pid, flush=True)\n"
        "time.sleep(3600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        worker = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 60
    while (state := _state_of(worker)) not in ("", "Z"):
        assert time.monotonic() < deadline, f"worker {worker} lives on: {state}"
        time.sleep(0.05)


def _state_of(pid: int) -> str:
    """One letter for what a process does; nothing where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_tasks_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for i in range(100):
            taken.append(i)
            yield i

    answers = run(pid_of, source(), 2, failed)
    next(answers)
    assert len(taken) <= 2 * pool.AHEAD
    answers.close()


def test_more_tasks_ahead_are_dealt_out_in_turn() -> None:
    waits = [0.5, 0.5, *[0.0] * 18]
    taken: list[float] = []

    def source() -> Iterator[float]:
        for seconds in waits:
            taken.append(seconds)
            yield seconds

    depth = 9
    answers = run(pid_after, source(), 2, failed, ahead=lambda: depth)
    found = [next(answers)]
    assert len(taken) == 2 * depth
    depth = pool.AHEAD
    found += answers
    assert len(found) == len(waits)
    assert min(found.count(pid) for pid in set(found)) >= depth
    assert len(set(found)) == 2


def test_the_limit_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIKEWISE_PICTURE_SECONDS", raising=False)
    assert picture_seconds() == pool.SECONDS
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "2.5")
    assert picture_seconds() == 2.5
    for wrong in ("0", "-1", "soon", "nan"):
        monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", wrong)
        with pytest.raises(InvalidInput, match="LIKEWISE_PICTURE_SECONDS"):
            picture_seconds()


def leave_quietly(task: int) -> tuple[int, str]:
    if not os.path.exists(os.environ["LEFT"]):
        open(os.environ["LEFT"], "w").close()
        os._exit(0)
    return task, ""


def test_a_worker_that_leaves_while_it_is_given_work_blames_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEFT", str(tmp_path / "left"))
    assert sorted(run(leave_quietly, range(5), 1, failed)) == [(i, "") for i in range(5)]


def leave_at_two(task: int) -> tuple[int, str]:
    if task == 2:
        os._exit(0)
    return task, ""


def test_a_task_that_ends_its_worker_quietly_is_to_blame() -> None:
    """Twice, as one that crashes it: else it would be given to a new worker for ever."""
    found = list(run(leave_at_two, range(5), 2, failed))
    assert sorted(found) == [(0, ""), (1, ""), (2, "crash"), (3, ""), (4, "")]


def test_nobody_naps_before_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker that rests was quick at says nothing of what it is asked next."""
    naps: list[float] = []
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=naps.append)
    monkeypatch.setattr(pool, "time", clock)
    for number in range(3):
        assert list(run(abs, [-number], 1, failed)) == [number]
    assert naps == []


def test_quick_tasks_are_given_by_the_handful() -> None:
    def worker(pace: float, n_tasks: int, ready: bool = True) -> pool._Worker[int]:
        made: Any = pool._Worker(cast(Any, None), cast(Any, None), deque(range(n_tasks)), ready)
        made.pace = pace
        return cast("pool._Worker[int]", made)

    unknown, quick, slow = worker(math.inf, 3), worker(0.006, 10), worker(1.5, 3)
    assert [one.depth() for one in (unknown, quick, slow)] == [3, 10, 3]
    assert [one.has_work_for_a_nap() for one in (unknown, quick, slow)] == [False, True, True]
    # With little to do it must be heard at once; so must one that has not begun.
    assert not worker(0.006, 3).has_work_for_a_nap()
    assert not worker(0.006, 10, ready=False).has_work_for_a_nap()


def answer_at_length(task: tuple[str, int]) -> bytes:
    folder, number = task
    (Path(folder) / str(number)).touch()
    return bytes(7_000)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="buffers of Linux")
def test_nobody_waits_for_answers_to_be_read(tmp_path: Path) -> None:
    """As many as a worker has at hand while spaces learn here, as long as those of an add."""
    tasks = [(str(tmp_path), number) for number in range(40)]
    answers = run(answer_at_length, tasks, 1, lambda *_: b"", ahead=lambda: len(tasks))
    found = [next(answers)]
    deadline = time.monotonic() + 20
    while len(os.listdir(tmp_path)) < len(tasks) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(os.listdir(tmp_path)) == len(tasks)
    assert len([*found, *answers]) == len(tasks)


def whose(_: int) -> int:
    return os.getpid()


def test_a_worker_at_work_when_all_are_stopped_is_not_kept() -> None:
    """A worker keeps the environment it was started in: it is not used again."""
    answers = run(whose, [1, 2], 1, lambda *_: 0)
    first = next(answers)
    pool.stop_idle()
    assert list(answers) == [first]
    assert list(run(whose, [3], 1, lambda *_: 0)) != [first]


def test_a_worker_starts_well_while_another_thread_imports_cv2() -> None:
    """OpenCV puts its folder on sys.path while it loads; ``typing`` there hid Python's."""
    script = """if True:
        import sys, threading, time
        from likewise.ingest import pool, worker_process

        def slowly(event, args):
            if event == "import" and args[0] == "cv2" and args[1]:  # its library is being loaded
                inside.set()
                time.sleep(1)

        assert "cv2" not in sys.modules
        inside = threading.Event()
        sys.addaudithook(slowly)
        threading.Thread(target=lambda: __import__("cv2")).start()
        assert inside.wait(60)
        print(*pool.run(abs, [-1, -2], 1, lambda task, failure: failure))
        """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 2\n", "")


class SlowToBegin(NamedTuple):
    """A task that needs something large: more processor time than a task has."""

    number: int
    fails: bool = False

    def prepare(self) -> None:
        _prepared.append(self.number)
        if self.fails:
            raise RuntimeError("what is wrong the task says itself")
        until = time.process_time() + 2.5
        while time.process_time() < until:
            pass


_prepared: list[int] = []


def what_was_prepared(task: SlowToBegin) -> tuple[int, list[int]]:
    return task.number, list(_prepared)


@pytest.mark.skipif(sys.platform == "win32", reason="the limit is the system's")
def test_what_a_worker_loads_is_on_nobodys_time() -> None:
    tasks = [SlowToBegin(number) for number in range(4)]
    found = list(run(what_was_prepared, tasks, 1, lambda *_: (-1, []), seconds=0.1))
    # Once a worker, and its picture is not blamed.
    assert found == [(number, [0]) for number in range(4)]
    pool.stop_idle()
    told = list(run(what_was_prepared, [SlowToBegin(9, True)], 1, lambda *_: (-1, [])))
    assert told == [(9, [9])]


def modules_of(_: int) -> bool:
    return "wave" in sys.modules


def speak(_: int) -> int:
    """What a decoder would write; gives the threads of the BLAS."""
    os.write(2, b"Corrupt JPEG data\n")
    return blas_threads()


def test_workers_prestarted_are_the_ones_that_work() -> None:
    pool.prestart(2, ("wave", "no_such_module", "math:no_such_name"))
    waiting = {worker.process.pid for worker in pool._idle}
    assert len(waiting) == 2
    assert set(run(pid_of, range(8), 2, failed)) <= waiting
    assert all(run(modules_of, range(4), 2, failed))


def test_workers_prestarted_for_nothing_are_stopped() -> None:
    pool.prestart(1)
    (worker,) = pool._idle
    pool.stop_idle()
    assert pool._idle == []
    assert worker.process.exitcode is not None


def exit_when_given_work(connection: Any, modules: tuple[str, ...]) -> None:
    """What a worker does that had waited long enough in that very moment."""
    connection.recv()
    os._exit(0)


def test_one_prestarted_that_left_is_no_false_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of them: they had waited long enough, and are replaced."""
    with monkeypatch.context() as patch:
        patch.setattr(pool, "serve", exit_when_given_work)
        pool.prestart(5)
    assert len(pool._idle) == 5
    assert sorted(run(die_on_seven, range(5), 5, failed)) == [(i, "") for i in range(5)]


def test_a_decoder_speaks_to_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    assert set(run(speak, range(2), 1, failed)) == {1}
    assert "Corrupt" not in capfd.readouterr().err
