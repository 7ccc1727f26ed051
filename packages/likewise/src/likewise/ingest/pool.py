"""The pool: processes that work on one task after another, each for a limited time.

Decoders are fed with bytes of unknown origin: one may crash, one may run for hours, one may ask for
all memory there is.  Each costs its own task and nothing else.  A worker works in the order it was
given, so whatever happens to it happened to the first task of its queue: that one is blamed, the
others go to another worker.

Workers are spawned, never forked.  They stay for a while after their work and are given new work,
since starting one costs a second of processor time; and they leave at once when their parent does.
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
"""Seconds this process sleeps while all workers have work for twice as long: woken by each answer
of quick ones, it would take a core from somebody each time."""
SECONDS = 10.0
"""Processor time a task may take; by the clock (a disk that hangs, a busy machine) six times that.
``LIKEWISE_PICTURE_SECONDS`` sets it."""
CLOCK = 6
START_SECONDS = 120.0
"""Seconds by the clock that starting a worker may take."""
_MOST = 16
_TICK = 0.5
_WATCH = 2.0
"""Seconds between two looks at who rests."""
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_ROOM = 1 << 20
"""Bytes asked for, for answers that wait to be read; the system gives what it allows."""
_STARTS = 3
"""Workers in a row that may die before they say that they are ready."""

T = TypeVar("T")
R = TypeVar("R")


class Failure(NamedTuple):
    """Why a task has no answer: it is ``slow``, or its worker ended twice by a ``crash``, or was
    ``killed`` by somebody else, most often a system out of memory: that may go well next time.
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
    """Workers elsewhere, with the contract of :func:`run`: every task has one answer."""

    @property
    def n_threads(self) -> int:
        """Threads for what is computed here, from what the workers found."""

    def run(
        self,
        work: Callable[[T], R],
        tasks: Iterable[T],
        on_failure: Callable[[T, Failure], R],
        *,
        tick: Callable[[], None],
        seconds: float,
    ) -> Iterator[R]:
        """``work`` of every task; ``on_failure`` of those that have no answer."""


Workers = int | Executor
"""Who works: so many processes of this machine (0: nobody but the caller), or workers elsewhere."""


def one_a_core() -> int:
    """Processes of this machine for a job of many tasks."""
    return min(os.cpu_count() or 1, _MOST)


def n_threads(workers: Workers) -> int:
    """Threads for what is computed in this process beside such workers."""
    return max(workers, 1) if isinstance(workers, int) else workers.n_threads


@dataclass
class _Worker(Generic[T]):
    process: SpawnProcess
    connection: Connection
    tasks: deque[T] = field(default_factory=deque)
    ready: bool = False
    is_new: bool = True
    since: float = 0.0
    pace: float = math.inf
    """Seconds a task takes lately; unknown before the first answer."""
    term: int = 0
    is_early: bool = False
    """Hired before there was work: it may leave for want of it without having begun."""

    def send(self, work: Callable[[T], Any], task: T, seconds: float, stay: float) -> None:
        if not self.tasks:
            self.since = time.monotonic()
        self.tasks.append(task)
        # A worker that died is noticed where its answers are awaited.
        with suppress(OSError):
            self.connection.send((work, task, seconds, stay))

    def receive(self) -> tuple[list[tuple[str, Any]], bool]:
        """What it has said by now, and whether it is gone."""
        said: list[tuple[str, Any]] = []
        try:
            while not said or self.connection.poll():
                said.append(self.connection.recv())
        except (EOFError, OSError):
            return said, True
        return said, False

    def note_pace(self, now: float, n_answers: int) -> None:
        """So many tasks were done since it was heard last."""
        each = (now - self.since) / n_answers
        self.pace = each if self.pace == math.inf else (self.pace + each) / 2

    def depth(self) -> int:
        """Tasks it shall have: for some naps where they are quick, else the usual few."""
        return max(AHEAD, min(_MOST_AHEAD, math.ceil(3 * _NAP / max(self.pace, 1e-9))))

    def can_be_left(self) -> bool:
        """Whether it has work for longer than a nap, as far as is known."""
        known = self.ready and self.pace < math.inf
        return known and len(self.tasks) * self.pace > 2 * _NAP

    def is_overdue(self, now: float, seconds: float) -> bool:
        limit = CLOCK * seconds if self.ready else max(CLOCK * seconds, START_SECONDS)
        return bool(self.tasks) and now - self.since > limit

    def has_left(self) -> bool:
        """Whether it went away by itself: it had waited long enough for work."""
        return self.ready and not self.tasks and not self.process.is_alive()

    def kill(self) -> int:
        """End it, whatever it does; gives the exit code."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode or 0


_resting: list[_Worker[Any]] = []
_resting_lock = threading.Lock()
_undertaker: threading.Thread | None = None
_term = 0
"""How often everybody was dismissed: a worker rests only in the term it was hired in."""
# Threads of a server start workers too; what is hidden meanwhile is hidden once.
_starting_lock = threading.Lock()


def picture_seconds() -> float:
    """Processor time a picture may take: ``LIKEWISE_PICTURE_SECONDS``, else ``SECONDS``."""
    given = os.environ.get("LIKEWISE_PICTURE_SECONDS", "")
    if not given:
        return SECONDS
    try:
        value: float | str = float(given)
    except ValueError:
        value = given
    return number(value, "LIKEWISE_PICTURE_SECONDS", above=0, most=LONGEST)


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
    """``work`` of every task, in any order; ``on_failure`` of those that have no answer.

    ``tick`` is called about twice a second, whatever the workers do.  With no workers the work is
    done here, without limits.  ``seconds`` is the processor time of a task (default: that of a
    picture), ``stay`` how long a worker then waits for more, ``ahead`` how many tasks each has at a
    time (more than usual where the caller is about to be busy).  Workers elsewhere know when to
    leave, and try what failed again, by themselves.
    """
    if workers == 0:
        yield from map(work, tasks)
        return
    seconds = picture_seconds() if seconds is None else seconds
    if not isinstance(workers, int):
        yield from workers.run(work, tasks, on_failure, tick=tick, seconds=seconds)
        return
    source, again = iter(tasks), deque[T]()
    # A task that killed its worker is tried once more, and known by its place in memory: tasks need
    # not be hashable, and those under way are kept alive here.
    blamed: dict[int, T] = {}
    staff: list[_Worker[T]] = []
    false_starts = 0
    ticked = time.monotonic()

    def next_task() -> list[T]:
        return [again.popleft()] if again else list(itertools.islice(source, 1))

    try:
        while True:
            for gone in [one for one in staff if one.has_left()]:
                staff.remove(gone)
                gone.kill()
            for place in range(workers):
                # Hired when there is work for it: a handful of tasks needs no second worker.
                idle = place >= len(staff)
                while idle or len(staff[place].tasks) < AHEAD:
                    found = next_task()
                    if not found:
                        break
                    if idle:
                        staff.append(_hire())
                        idle = False
                    staff[place].send(work, found[0], seconds, stay)
                if idle:
                    break
            # What goes beyond that in turn: nobody shall have all of it when the tasks end.
            most = [max(ahead(), one.depth()) for one in staff]
            for depth, (one, deep) in itertools.product(
                range(AHEAD, max(most, default=0)), zip(staff, most, strict=True)
            ):
                if len(one.tasks) <= depth < deep and (found := next_task()):
                    one.send(work, found[0], seconds, stay)
            busy = [one for one in staff if one.tasks]
            if not busy:
                return
            if all(one.can_be_left() for one in busy):
                time.sleep(_NAP)
            readable = set(wait([one.connection for one in busy], timeout=_TICK))
            now = time.monotonic()
            if now - ticked > _TICK:
                ticked = now
                tick()
            for one in busy:
                if one.connection in readable:
                    said, is_gone = one.receive()
                    answers = [(kind, answer) for kind, answer in said if kind != "ready"]
                    heard = time.monotonic()
                    if len(answers) < len(said):
                        one.ready, false_starts = True, 0
                    elif answers:
                        one.note_pace(heard, len(answers))
                    one.since = heard
                    for kind, answer in answers:
                        one.is_new = False
                        blamed.pop(id(one.tasks.popleft()), None)
                        if kind == "error":
                            raise answer
                        yield answer
                    if is_gone and one.tasks:
                        failure, task = _part_with(staff, one, again, seconds)
                        if one.is_early and not (one.ready or one.process.exitcode):
                            # It had waited long enough and left just when it was given work.
                            again.appendleft(task)
                        elif not one.ready:
                            again.appendleft(task)
                            false_starts += 1
                            if false_starts == _STARTS:
                                raise WorkersCannotStart(
                                    "worker processes end before they begin (exit code "
                                    f"{one.process.exitcode}); --workers 0 works without them"
                                ) from None
                        elif (
                            _deserves_another(one, failure, try_slow_again)
                            and id(task) not in blamed
                        ):
                            blamed[id(task)] = task
                            again.appendleft(task)
                        else:
                            yield on_failure(task, failure)
                elif one.is_overdue(now, seconds):
                    _, task = _part_with(staff, one, again, seconds)
                    if not one.ready:
                        raise WorkersCannotStart(
                            f"a worker process did not begin within {START_SECONDS:g} s; "
                            "--workers 0 works without them"
                        )
                    failure = Failure("slow", CLOCK * seconds)
                    if _deserves_another(one, failure, try_slow_again) and id(task) not in blamed:
                        blamed[id(task)] = task
                        again.appendleft(task)
                    else:
                        yield on_failure(task, failure)
    finally:
        # Whatever they decode, Ctrl-C waits for none of them.
        for one in staff:
            with _resting_lock:
                rests = one.ready and not one.tasks and one.term == _term
                if rests:
                    _resting.append(one)
                    _watch_resting()
            if not rests:
                one.kill()


def _watch_resting() -> None:
    """Under the lock: have somebody bury those that leave while there is no work."""
    global _undertaker
    if _undertaker is None:
        _undertaker = threading.Thread(target=_bury, name="workers that left", daemon=True)
        _undertaker.start()


def _bury() -> None:
    """A process that ended stays in the system's table until its parent asks how."""
    global _undertaker
    while True:
        with _resting_lock:
            if not _resting:
                _undertaker = None
                return
            # Kept meanwhile: a worker that is forgotten takes its sentinel with it.
            staff = _resting[:]
        wait([one.process.sentinel for one in staff], timeout=_WATCH)
        with _resting_lock:
            left = [one for one in _resting if not one.process.is_alive()]
            _resting[:] = [one for one in _resting if all(one is not other for other in left)]
        for one in left:
            one.kill()


def dismiss() -> None:
    """End the workers that wait for new work, and those at work now once it is done."""
    global _term
    with _resting_lock:
        _term += 1
        leaving = _resting[:]
        _resting.clear()
    for one in leaving:
        one.kill()


def hire_early(count: int, modules: tuple[str, ...] = ()) -> None:
    """Start workers for work that is about to come; they import ``modules`` meanwhile, and call a
    function of one where it is named (``module:function``).

    Where none comes they leave after ``STAY`` seconds, as after work.
    """
    with _resting_lock:
        term = _term
    hired: list[_Worker[Any]] = []
    try:
        for _ in range(count):
            one = _start(term, modules)
            one.is_early = True
            hired.append(one)
    finally:
        # All at once: beside the thread that watches them another would take longer to start.
        with _resting_lock:
            rest = term == _term
            if rest and hired:
                _resting.extend(hired)
                _watch_resting()
        if not rest:
            for one in hired:
                one.kill()


def _deserves_another(one: _Worker[T], failure: Failure, try_slow_again: bool) -> bool:
    """Whether a task may not have been to blame.

    The first task of a worker also pays for what it loads, and where no cache can be written for
    compiling kernels.
    """
    return failure.kind != "slow" or (one.is_new and try_slow_again)


def _part_with(
    staff: list[_Worker[T]], one: _Worker[T], again: deque[T], seconds: float
) -> tuple[Failure, T]:
    """A worker that died, or is killed now; gives the task that it was at, and why it ended."""
    staff.remove(one)
    one.process.join(0.5)
    code = one.kill()
    task = one.tasks.popleft()
    again.extendleft(reversed(one.tasks))
    one.tasks.clear()
    if hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU:
        return Failure("slow", seconds), task
    return Failure("killed" if code == -signal.SIGTERM or code == -9 else "crash"), task


def _hire() -> _Worker[Any]:
    while True:
        with _resting_lock:
            term = _term
            if not _resting:
                break
            one = _resting.pop()
        if one.process.is_alive():
            one.pace = math.inf  # of other work
            return one
        one.kill()
    return _start(term)


def _start(term: int, modules: tuple[str, ...] = ()) -> _Worker[Any]:
    # A child gets this process's sys.path.  While cv2 is imported, its own folder stands there,
    # and ``typing`` in it would hide Python's; this waits for a thread that is importing it.
    if threading.active_count() > 1:
        importlib.import_module("cv2")
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    _widen(there)
    process = context.Process(target=serve, args=(there, modules), daemon=True)
    try:
        with _starting_lock, _own_children(), _one_blas_thread_in_children():
            process.start()
    except OSError as error:
        here.close()
        raise WorkersCannotStart(
            f"the system starts no worker process ({error.strerror or error}); "
            "--workers 0 works without them"
        ) from error
    finally:
        there.close()
    return _Worker(process, here, term=term)


def _widen(connection: Connection) -> None:
    """Answers find room while nobody reads them: of all tasks that a worker has at hand when this
    process is busy.  Without room it would wait."""
    if os.name == "nt":  # no socket there
        return
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)


@contextmanager
def _own_children() -> Iterator[None]:
    """Processes started inside know nothing of the user's script, and ignore Ctrl-C.

    A spawned process imports the main module of its parent first, which for a script without a
    guard would run it again; workers need nothing from it.  ``serve`` alone would make them deaf
    only after a second of imports.
    """
    main = sys.modules["__main__"]
    hidden: dict[str, Any] = {
        name: vars(main)[name] for name in ("__spec__", "__file__") if name in vars(main)
    }
    vars(main).update(dict.fromkeys(hidden))
    try:
        with _without_ctrl_c():
            yield
    finally:
        vars(main).update(hidden)


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Processes started inside never hear of Ctrl-C; this one hears of it afterwards.

    What a thread blocks, the children it starts block too.  Ignoring the signal meanwhile would
    lose it, and only the main thread may.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    with _put_off_ctrl_c():
        # The process that multiprocessing starts beside its first child: once it has started it,
        # Python lets Ctrl-C through, whatever was before, and the first worker would hear of it.
        resource_tracker.ensure_running()
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _one_blas_thread_in_children() -> Iterator[None]:
    """Threads of a BLAS are made when NumPy is imported, and wait busily for the first products: a
    limit that is set afterwards comes too late for that."""
    before = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_BLAS_THREADS]
        else:
            os.environ[_BLAS_THREADS] = before


@contextmanager
def _put_off_ctrl_c() -> Iterator[None]:
    """This process is interrupted afterwards.

    What its thread blocks is no help: some other thread, one of a BLAS, receives the signal, and
    the main thread is interrupted all the same.  A worker that is half started fails, and tells.
    """
    hear = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(hear):
        yield
        return
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda sign, frame: heard.append(sign))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, hear)
        if heard:
            signal.raise_signal(signal.SIGINT)
