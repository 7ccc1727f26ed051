"""The pool: worker processes that run one task after another, each with a time limit.

Decoders read untrusted bytes: a task may crash, run for hours or ask for all memory, and must cost
nothing else.  A worker runs its tasks in order, so when it dies, the first task of its queue is to
blame and the others go to another worker.

Workers are spawned, never forked.  Starting one costs a second of processor time, so an idle worker
is kept for a while; it exits at once when its parent does.
"""

from __future__ import annotations

import importlib
import itertools
import math
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from likewise.errors import CollectionError
from likewise.ingest.worker_process import LONGEST, STAY, serve
from likewise_methods.validation import number

AHEAD = 3
"""Tasks a worker has at a time: enough to be busy while the parent is, few enough for memory."""
_MOST_AHEAD = 10
"""Tasks a worker has at a time where they are quick."""
_NAP = 0.02
"""Seconds this process sleeps while all workers have work for twice as long.  Waking for each
answer of quick tasks would take a core from a worker."""
SECONDS = 10.0
"""Processor time of a task; its wall-clock time may be ``CLOCK`` times that (a slow disk, a busy
machine).  ``LIKEWISE_PICTURE_SECONDS`` sets it."""
CLOCK = 6
START_SECONDS = 120.0
"""Wall-clock seconds that starting a worker may take."""
_MAX_WORKERS = 16
_TICK = 0.5
_REAP_SECONDS = 2.0
"""Seconds between two checks of which workers are idle."""
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_BUFFER = 1 << 20
"""Bytes asked for, for answers that wait to be read; the system gives what it allows."""
_MAX_FALSE_STARTS = 3
"""Workers in a row that may die before they are ready."""

T = TypeVar("T")
R = TypeVar("R")


class Failure(NamedTuple):
    """Why a task has no result.

    It was ``slow``, its worker ended twice by a ``crash``, or its worker was ``killed`` from
    outside, usually by a system out of memory; that may work next time.
    """

    kind: str
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.kind == "slow":
            return f"takes more than {self.seconds:g} s to decode and describe"
        if self.kind == "killed":
            return "its worker was killed twice, perhaps for want of memory"
        return "crashes its decoder"


class WorkersCannotStart(CollectionError):
    """No worker process can be started here."""


class Executor(Protocol):
    """Workers on other machines, with the contract of :func:`run`: one result for each task."""

    @property
    def n_threads(self) -> int:
        """Threads for computations in this process."""

    def run(
        self,
        work: Callable[[T], R],
        tasks: Iterable[T],
        on_failure: Callable[[T, Failure], R],
        *,
        tick: Callable[[], None],
        seconds: float,
    ) -> Iterator[R]:
        """Yield ``work`` of every task, and ``on_failure`` of those that failed."""


_FEW = 8
"""Pictures for which one worker is enough: starting one costs as much as describing fifty."""
Workers = int | Executor
"""Processes of this machine (0: work in the calling process), or workers on other machines."""
W = TypeVar("W", bound=Workers)


def default_workers() -> int:
    """Return the number of processes of this machine for a job of many tasks."""
    return min(os.cpu_count() or 1, _MAX_WORKERS)


def n_workers(wanted: W | None, n_tasks: int) -> W | int:
    """Return the number of processes of a job: one a core, one for a few tasks, at least one.

    Decoding never runs in the process that holds the catalog, because a decoder may crash.
    """
    if wanted is not None:
        return wanted
    return 1 if n_tasks < _FEW else default_workers()


def n_threads(workers: Workers) -> int:
    """Return the number of threads for computations in this process while workers run."""
    return max(workers, 1) if isinstance(workers, int) else workers.n_threads


def picture_seconds() -> float:
    """Return the processor time of a picture: ``LIKEWISE_PICTURE_SECONDS``, else ``SECONDS``."""
    given = os.environ.get("LIKEWISE_PICTURE_SECONDS", "")
    if not given:
        return SECONDS
    try:
        value: float | str = float(given)
    except ValueError:
        value = given
    return number(value, "LIKEWISE_PICTURE_SECONDS", above=0, most=LONGEST)


@dataclass
class _Worker(Generic[T]):
    process: SpawnProcess
    connection: Connection
    tasks: deque[T] = field(default_factory=deque)
    ready: bool = False
    is_new: bool = True
    """Whether it has answered nothing yet."""
    since: float = 0.0
    """When it last answered, or was given work after it had none."""
    pace: float = math.inf
    """Recent seconds a task; unknown before the first answer."""
    epoch: int = 0
    is_early: bool = False
    """Started before there was work: it may exit for want of it without having begun."""

    def send(self, work: Callable[[T], Any], task: T, seconds: float, stay: float) -> None:
        if not self.tasks:
            self.since = time.monotonic()
        self.tasks.append(task)
        # ``receive`` detects a worker that died.
        with suppress(OSError):
            self.connection.send((work, task, seconds, stay))

    def receive(self) -> tuple[list[tuple[str, Any]], bool]:
        """Return its new results and whether it has ended; measure its pace."""
        found: list[tuple[str, Any]] = []
        ended = False
        try:
            while not found or self.connection.poll():
                found.append(self.connection.recv())
        except (EOFError, OSError):
            ended = True
        now = time.monotonic()
        answers = [one for one in found if one[0] != "ready"]
        if len(answers) < len(found):
            self.ready = True
        elif answers:
            each = (now - self.since) / len(answers)
            self.pace = each if self.pace == math.inf else (self.pace + each) / 2
        self.since = now
        return answers, ended

    def depth(self) -> int:
        """Return how many tasks it should have: more if they are short."""
        return max(AHEAD, min(_MOST_AHEAD, math.ceil(3 * _NAP / max(self.pace, 1e-9))))

    def has_work_for_a_nap(self) -> bool:
        known = self.ready and self.pace < math.inf
        return known and len(self.tasks) * self.pace > 2 * _NAP

    def is_overdue(self, now: float, seconds: float) -> bool:
        limit = CLOCK * seconds if self.ready else max(CLOCK * seconds, START_SECONDS)
        return bool(self.tasks) and now - self.since > limit

    def has_left(self) -> bool:
        """Return whether it exited because it had no work for too long."""
        return self.ready and not self.tasks and not self.process.is_alive()

    def kill(self) -> int:
        """Kill it and return the exit code."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode or 0


def run(
    work: Callable[[T], R],
    tasks: Iterable[T],
    workers: Workers,
    on_failure: Callable[[T, Failure], R],
    *,
    tick: Callable[[], None] = lambda: None,
    seconds: float | None = None,
    stay: float = STAY,
    try_slow_again: bool = True,
    ahead: Callable[[], int] = lambda: AHEAD,
) -> Iterator[R]:
    """Yield ``work`` of every task, in any order, and ``on_failure`` of those that failed.

    ``tick`` is called about twice a second.  Without workers the work is done here, without limits.
    ``seconds`` is the processor time of a task (default: that of a picture), ``stay`` how long an
    idle worker is kept, ``ahead`` how many tasks each has at a time (more where the caller will be
    busy). Other machines choose the last three themselves.
    """
    seconds = picture_seconds() if seconds is None else seconds
    if workers == 0:
        yield from map(work, tasks)
    elif isinstance(workers, int):
        yield from _Run(work, tasks, workers, seconds, stay, try_slow_again).answers(
            on_failure, tick, ahead
        )
    else:
        yield from workers.run(work, tasks, on_failure, tick=tick, seconds=seconds)


class _Run(Generic[T, R]):
    """One call of :func:`run` with processes of this machine."""

    def __init__(
        self,
        work: Callable[[T], R],
        tasks: Iterable[T],
        n_workers: int,
        seconds: float,
        stay: float,
        try_slow_again: bool,
    ) -> None:
        self._work, self._tasks, self._n_workers = work, iter(tasks), n_workers
        self._seconds, self._stay, self._try_slow_again = seconds, stay, try_slow_again
        self._again = deque[T]()
        # Tasks that killed a worker once, and are tried again.  Keyed by id, because tasks need not
        # be hashable; tasks in progress are referenced, so ids stay unique.
        self._blamed: dict[int, T] = {}
        self._staff: list[_Worker[T]] = []
        self._false_starts = 0

    def answers(
        self,
        on_failure: Callable[[T, Failure], R],
        tick: Callable[[], None],
        ahead: Callable[[], int],
    ) -> Iterator[R]:
        ticked = time.monotonic()
        try:
            while True:
                self._give_tasks(ahead())
                busy = [one for one in self._staff if one.tasks]
                if not busy:
                    return
                if all(one.has_work_for_a_nap() for one in busy):
                    time.sleep(_NAP)
                readable = set(wait([one.connection for one in busy], timeout=_TICK))
                now = time.monotonic()
                if now - ticked > _TICK:
                    ticked = now
                    tick()
                for one in busy:
                    lost = None
                    if one.connection in readable:
                        answers, ended = one.receive()
                        if one.ready:
                            self._false_starts = 0
                        for kind, answer in answers:
                            one.is_new = False
                            self._blamed.pop(id(one.tasks.popleft()), None)
                            if kind == "error":
                                raise answer
                            yield answer
                        if ended and one.tasks:
                            lost = self._lose(one)
                    elif one.is_overdue(now, self._seconds):
                        lost = self._lose(one, overdue=True)
                    if lost is not None:
                        yield on_failure(*lost)
        finally:
            # Ctrl-C does not wait for workers.
            for one in self._staff:
                _keep_or_kill(one)

    def _next_task(self) -> list[T]:
        return [self._again.popleft()] if self._again else list(itertools.islice(self._tasks, 1))

    def _send(self, one: _Worker[T], task: T) -> None:
        one.send(self._work, task, self._seconds, self._stay)

    def _give_tasks(self, ahead: int) -> None:
        """Give every worker ``AHEAD`` tasks, then distribute more in turn."""
        for gone in [one for one in self._staff if one.has_left()]:
            self._staff.remove(gone)
            gone.kill()
        for place in range(self._n_workers):
            while place >= len(self._staff) or len(self._staff[place].tasks) < AHEAD:
                task = self._next_task()
                if not task:
                    break
                # Start a worker only when there is work: a few tasks need no second worker.
                if place >= len(self._staff):
                    self._staff.append(_take_worker())
                self._send(self._staff[place], task[0])
            if place >= len(self._staff):
                break
        # In turn, so that the last tasks are spread over all workers.
        most = [max(ahead, one.depth()) for one in self._staff]
        for depth in range(AHEAD, max(most, default=0)):
            for one, deep in zip(self._staff, most, strict=True):
                if len(one.tasks) <= depth < deep and (task := self._next_task()):
                    self._send(one, task[0])

    def _lose(self, one: _Worker[T], *, overdue: bool = False) -> tuple[T, Failure] | None:
        """Drop a worker that died or takes too long; return the task that failed for good.

        A task whose worker died is tried once more, and so is a slow one that was the first of its
        worker, because loading and compiling count there.
        """
        self._staff.remove(one)
        if not overdue:
            one.process.join(5)  # its exit code says why
        code = one.kill()
        task = one.tasks.popleft()
        self._again.extendleft(reversed(one.tasks))
        one.tasks.clear()
        if not one.ready:
            self._note_false_start(one, overdue)
            self._again.appendleft(task)
            return None
        if overdue:
            failure = Failure("slow", CLOCK * self._seconds)
        elif hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU:
            failure = Failure("slow", self._seconds)
        else:
            failure = Failure("killed" if code in (-signal.SIGTERM, -9) else "crash")
        again = failure.kind != "slow" or (one.is_new and self._try_slow_again)
        if again and id(task) not in self._blamed:
            self._blamed[id(task)] = task
            self._again.appendleft(task)
            return None
        return task, failure

    def _note_false_start(self, one: _Worker[T], overdue: bool) -> None:
        """Count a worker that ended before it was ready, and give up after some in a row."""
        if overdue:
            raise WorkersCannotStart(
                f"a worker process did not start within {START_SECONDS:g} s; "
                "--workers 0 works without them"
            )
        if one.is_early and not one.process.exitcode:
            return  # it exited because it was idle, just when it was given work
        self._false_starts += 1
        if self._false_starts == _MAX_FALSE_STARTS:
            raise WorkersCannotStart(
                "worker processes end before they start (exit code "
                f"{one.process.exitcode}); --workers 0 works without them"
            )


# -- idle workers ----------------------------------------------------------------------------

_idle: list[_Worker[Any]] = []
_idle_lock = threading.Lock()
_reaper: threading.Thread | None = None
_epoch = 0
"""How often :func:`stop_idle` was called: a worker becomes idle only in the epoch it began in."""
# Threads of a server start workers too, and starting one changes global state.
_starting_lock = threading.Lock()


def prestart(count: int, modules: tuple[str, ...] = ()) -> None:
    """Start workers for work that will come soon; they import ``modules`` meanwhile.

    A name ``module:function`` also calls the function.  Without work they exit after ``STAY``
    seconds.
    """
    with _idle_lock:
        epoch = _epoch
    started: list[_Worker[Any]] = []
    try:
        for _ in range(count):
            one = _start(epoch, modules)
            one.is_early = True
            started.append(one)
    finally:
        # All at once, because starting one takes longer while the reaper thread runs.
        for one in started:
            _keep_or_kill(one, is_idle=True)


def stop_idle() -> None:
    """Stop idle workers now, and busy ones once they are done."""
    global _epoch
    with _idle_lock:
        _epoch += 1
        leaving = _idle[:]
        _idle.clear()
    for one in leaving:
        one.kill()


def _take_worker() -> _Worker[Any]:
    """Return an idle worker, or a new one."""
    while True:
        with _idle_lock:
            epoch = _epoch
            if not _idle:
                break
            one = _idle.pop()
        if one.process.is_alive():
            one.pace = math.inf  # of other work
            return one
        one.kill()
    return _start(epoch)


def _keep_or_kill(one: _Worker[Any], *, is_idle: bool = False) -> None:
    """Keep an idle worker for the next run, or end it."""
    global _reaper
    with _idle_lock:
        kept = (is_idle or (one.ready and not one.tasks)) and one.epoch == _epoch
        if kept:
            _idle.append(one)
            if _reaper is None:
                _reaper = threading.Thread(target=_reap, name="reaper of workers", daemon=True)
                _reaper.start()
    if not kept:
        one.kill()


def _reap() -> None:
    """Join idle workers that exit, so that no zombie process remains."""
    global _reaper
    while True:
        with _idle_lock:
            if not _idle:
                _reaper = None
                return
            # Keep references: a collected worker would close its sentinel.
            staff = _idle[:]
        wait([one.process.sentinel for one in staff], timeout=_REAP_SECONDS)
        with _idle_lock:
            left = [one for one in _idle if not one.process.is_alive()]
            _idle[:] = [one for one in _idle if all(one is not other for other in left)]
        for one in left:
            one.kill()


# -- starting processes ----------------------------------------------------------------------


def _start(epoch: int, modules: tuple[str, ...] = ()) -> _Worker[Any]:
    # A child gets this process's sys.path.  While a thread imports cv2, the folder of cv2 is in it,
    # whose ``typing`` would hide Python's; this waits for the import.
    if threading.active_count() > 1:
        importlib.import_module("cv2")
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    _widen(there)
    process = context.Process(target=serve, args=(there, modules), daemon=True)
    try:
        with _starting_lock, _child_state():
            process.start()
    except OSError as error:
        here.close()
        raise WorkersCannotStart(
            f"the system starts no worker process ({error.strerror or error}); "
            "--workers 0 works without them"
        ) from error
    finally:
        there.close()
    return _Worker(process, here, epoch=epoch)


def _widen(connection: Connection) -> None:
    """Enlarge the buffer of a worker's results, so it can continue while this process is busy."""
    if os.name == "nt":  # no socket there
        return
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)


@contextmanager
def _child_state() -> Iterator[None]:
    """Start processes that do not import the user's script, ignore Ctrl-C and use one BLAS thread.

    A spawned process first imports the main module of its parent, which would run an unguarded
    script again.  BLAS creates its threads when NumPy is imported, so a later limit has no effect.
    ``serve`` itself would ignore Ctrl-C only after a second of imports.
    """
    main: dict[str, Any] = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    threads = os.environ.get(_BLAS_THREADS)
    main.update(dict.fromkeys(hidden))
    os.environ[_BLAS_THREADS] = "1"
    try:
        with _block_ctrl_c():
            yield
    finally:
        main.update(hidden)
        if threads is None:
            del os.environ[_BLAS_THREADS]
        else:
            os.environ[_BLAS_THREADS] = threads


@contextmanager
def _block_ctrl_c() -> Iterator[None]:
    """Block Ctrl-C for processes started inside; this process receives it afterwards.

    Children inherit the signals that a thread blocks.  Ignoring the signal meanwhile would lose it.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    with _defer_ctrl_c():
        # Start the resource tracker of multiprocessing now: its start unblocks Ctrl-C, and the
        # first worker would receive it.
        resource_tracker.ensure_running()
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _defer_ctrl_c() -> Iterator[None]:
    """Delay Ctrl-C until the block ends: a half-started worker would fail.

    Blocking the signal in this thread is not enough: another thread, of a BLAS, receives it, and
    Python still interrupts the main thread.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda sign, frame: received.append(sign))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            signal.raise_signal(signal.SIGINT)
