"""A worker process: it listens, prepares once, and works on one task after another.

Each task has a limit of processor time and of memory, which the system enforces: what exceeds one
ends the process, and the pool (``pool.py``), which started it, knows which task that was.
"""

from __future__ import annotations

import gc
import importlib
import os
import queue
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from likewise_methods.memory import return_free_memory

STAY = 20.0
"""Seconds a worker waits for new work before it leaves."""
MEMORY = 3 << 30
"""Bytes a worker may ask for beyond what it has when it begins."""
LONGEST = 86_400.0
"""Seconds a task may be given, at most."""


def serve(connection: Connection, modules: tuple[str, ...]) -> None:
    """One thread of arithmetic; one that listens, so that nobody ever waits to be heard."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import cv2

    cv2.setNumThreads(1)
    _leave_no_core()
    _limit_memory()
    tasks: queue.SimpleQueue[tuple[Callable[[Any], Any], Any, float, float]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    for name in modules:
        with suppress(Exception):  # whoever needs it says so
            module, _, function = name.partition(":")
            found = importlib.import_module(module)
            if function:
                getattr(found, function)()
    stay, begun = STAY, set[Callable[[Any], Any]]()
    while True:
        try:
            work, task, seconds, stay = tasks.get(timeout=stay)
        except queue.Empty:
            return
        if work not in begun:
            _prepare(task)
            if not begun:
                _settle()
                _tell(connection, ("ready", None))
            begun.add(work)
        _limit_time(seconds)
        try:
            answer: tuple[str, Any] = "answer", work(task)
        except Exception as error:
            # A fault of ours, told with its place: not every error survives being sent.
            told = "".join(traceback.format_exception(error))
            answer = "error", RuntimeError(f"a worker failed at {repr(task)[:500]}:\n{told}")
        _tell(connection, answer)


def _settle() -> None:
    """Before the first task: what is loaded by now stays, and other threads are no help.

    What goes wrong from now on is told to the parent, so decoders may have the standard error.
    """
    # Brings NumPy, which this process has by now and whoever hires early has not.
    from likewise.images.jpegs import take_stderr
    from likewise_methods.blas_threads import libraries

    gc.freeze()
    # Opening a network takes twice what the network takes.
    return_free_memory()
    libraries().limit(limits=1)
    take_stderr()


def _prepare(task: Any) -> None:
    """Load what the first task needs, where it says what, on nobody's time.

    Where nothing can be kept kernels are compiled in every process: ten seconds that are no fault
    of the picture.
    """
    prepare = getattr(task, "prepare", None)
    if prepare is not None:
        _limit_time(LONGEST)
        with suppress(Exception):  # what is wrong the task says itself
            prepare()


def _tell(connection: Connection, answer: tuple[str, Any]) -> None:
    try:
        connection.send(answer)
    except OSError:
        os._exit(1)  # the parent is gone: there is nobody to complain to either


def _listen(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        # The parent is gone, in whatever way: so is the reason to work.
        os._exit(1)


def _limit_time(seconds: float) -> None:
    """The system ends this process when the task takes more processor time than that."""
    try:
        import resource
    except ImportError:  # Windows: the parent looks at the clock
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY:
        until = min(until, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


def _leave_no_core() -> None:
    """A decoder that crashes must not write its memory, some hundred megabytes, to the disk."""
    try:
        import resource
    except ImportError:  # Windows writes none
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_memory() -> None:
    """A picture that asks for more gets a MemoryError, and the machine keeps its memory."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return  # not a Linux: the decoder's own limits are all there is
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = held + MEMORY
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
