"""What a long-lived server holds grows by what people say, and by nothing else."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import CollectionError
from likewise.server import run
from likewise_methods import memory as _heaps
from likewise_methods.spaces import local_metric
from likewise_methods.spaces.local_metric import CHOOSE_FROM, Lesson, LocalMetric

WIDTH = 64


def lessons(n: int, first: int = 0) -> list[Lesson]:
    rng = np.random.default_rng([n, first])
    # All on one side, so that there are rows unlike all of them.
    rows = np.abs(rng.normal(size=(n, 4, WIDTH))).astype(np.float32)
    return [
        Lesson(first + at, own[0], own[1:2], own[2:], 1.0, at % 3 or None)
        for at, own in enumerate(rows)
    ]


def test_a_judgement_needs_no_memory_for_all_that_were_made() -> None:
    n = 800
    metric = LocalMetric(WIDTH, 0.05, prior=200.0)
    for one in lessons(n):
        metric.add(*one)
    said = lessons(8, first=n)
    metric.ask(said[0].query)
    metric.add(*said[0]).ask(said[0].query)  # now there is room for more
    tracemalloc.start()
    try:
        for one in said[1:]:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            metric.add(*one)
            # Far from all of them: what it takes to ask depends on how many are near.
            metric.ask(-np.ones(WIDTH))
            metric.discard([one.order]).ask(-np.ones(WIDTH))
            taken = tracemalloc.get_traced_memory()[1] - before
            assert taken < n * WIDTH * 8 / 2
    finally:
        tracemalloc.stop()


def test_lessons_that_come_and_go_are_those_packed_anew() -> None:
    """In place, one by one or many at once: to the bit what the same lessons teach from the
    start."""
    rng = np.random.default_rng(3)
    metric = LocalMetric(WIDTH, 0.05)
    there: dict[int, Lesson] = {}
    asked = [one.query for one in lessons(3, first=500)]
    for step, few in enumerate([34, 1, 18, 2, 1]):
        for one in lessons(few, first=1000 - 100 * step):
            metric.add(*one)
            there[one.order] = one
        gone = rng.choice(sorted(there), 1 + step % 3, replace=False).tolist()
        metric.discard(gone)
        for order in gone:
            del there[order]
        anew = LocalMetric(WIDTH, 0.05)
        for one in there.values():
            anew.add(*one)
        assert metric.used_prior() == anew.used_prior()
        for row in asked:
            assert np.array_equal(metric.ask(row), anew.ask(row))
    assert metric.agreement() == anew.agreement()


def test_the_prior_is_chosen_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not again for what comes later than the judgements that it is chosen by."""
    metric = LocalMetric(WIDTH, 0.05)
    for one in lessons(CHOOSE_FROM):
        metric.add(*one)
    chosen, choose = [], local_metric._choose_prior
    begun = threading.Event()

    def counted(timely: list[local_metric._Prepared]) -> float:
        chosen.append(len(timely))
        begun.wait()
        return choose(timely)

    monkeypatch.setattr(local_metric, "_choose_prior", counted)
    threads = [threading.Thread(target=metric.used_prior) for _ in range(4)]
    for thread in threads:
        thread.start()
    late = lessons(3, first=CHOOSE_FROM)
    metric.add(*late[0])  # somebody judges meanwhile
    begun.set()
    for thread in threads:
        thread.join()
    metric.add(*late[1])
    metric.used_prior()
    assert chosen == [CHOOSE_FROM]
    metric.discard([3])
    metric.used_prior()
    assert chosen == [CHOOSE_FROM] * 2


HEAPS = """
import threading
import numpy as np
from likewise_methods import memory as _heaps

def resident():
    with open("/proc/self/status") as file:
        return 1024 * int(next(line for line in file if line.startswith("RssAnon")).split()[1])

assert _heaps.share_heaps()
together = threading.Barrier(25)

def work():
    together.wait()
    for _ in range(3):  # the second one comes from the thread's own heap, and stays there
        np.ones(1 << 19)
    together.wait()
    together.wait()

threads = [threading.Thread(target=work) for _ in range(24)]
for thread in threads:
    thread.start()
before = resident()
together.wait(); together.wait()
print(resident() - before)
together.wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the heaps of the GNU C library")
def test_what_threads_give_back_goes_back_to_the_system() -> None:
    """24 threads that needed 4 MB each, and do no more."""
    done = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 24 << 20


FREED = """
from likewise_methods.memory import return_free_memory

def resident():
    with open("/proc/self/status") as file:
        return 1024 * int(next(line for line in file if line.startswith("RssAnon")).split()[1])

held = [bytes(64 << 10) for _ in range(1_000)]
last = bytes(64 << 10)  # at the end of the heap: what lies before it does not go by itself
del held
before = resident()
assert return_free_memory()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the heaps of the GNU C library")
def test_free_memory_between_what_is_used_goes_back() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 32 << 20


@pytest.mark.parametrize("libc", [None, OSError])
def test_another_library_is_left_alone(libc: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without these functions, and one that cannot be asked."""

    def opened(_: object) -> object:
        if libc is None:
            return object()
        raise libc

    monkeypatch.setattr(ctypes, "CDLL", opened)
    assert not _heaps.share_heaps()
    assert not _heaps.return_free_memory()


def test_a_server_begins_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[bool] = []
    monkeypatch.setattr(run, "share_heaps", lambda: called.append(True))
    with pytest.raises(CollectionError):
        run.serve(tmp_path)
    assert called
