"""A worker process: it prepares once, then runs one task after another.

The system enforces a limit of processor time and of memory for each task.  A task beyond a limit
ends the process, and the pool (``pool.py``) blames that task.
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
    """Run tasks until none has come for a while; a second thread reads messages meanwhile."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import cv2

    cv2.setNumThreads(1)
    _write_no_core()
    _limit_memory()
    tasks: queue.SimpleQueue[tuple[Callable[[Any], Any], Any, float, float]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    for name in modules:
        with suppress(Exception):  # the task that needs it fails
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
                _send(connection, ("ready", None))
            begun.add(work)
        _limit_time(seconds)
        try:
            answer: tuple[str, Any] = "answer", work(task)
        except Exception as error:
            # A bug of ours: send its traceback, because not every error can be pickled.
            text = "".join(traceback.format_exception(error))
            answer = "error", RuntimeError(f"a worker failed at {repr(task)[:500]}:\n{text}")
        _send(connection, answer)


def _settle() -> None:
    """Freeze loaded objects, use one BLAS thread and silence decoders, before the first task.

    Later errors are sent to the parent, so standard error is not needed.
    """
    # Imports NumPy, which is not needed before there is work.
    from likewise.images.jpegs import take_stderr
    from likewise_methods.blas_threads import libraries

    gc.freeze()
    # Opening a network takes twice its memory.
    return_free_memory()
    libraries().limit(limits=1)
    take_stderr()


def _prepare(task: Any) -> None:
    """Run ``prepare`` of the first task, if any, outside its time limit.

    Without a cache every process compiles kernels for ten seconds, which must not count for the
    picture.
    """
    prepare = getattr(task, "prepare", None)
    if prepare is not None:
        _limit_time(LONGEST)
        with suppress(Exception):  # the task itself will fail
            prepare()


def _send(connection: Connection, answer: tuple[str, Any]) -> None:
    try:
        connection.send(answer)
    except OSError:
        os._exit(1)  # the parent is gone


def _listen(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        # The parent is gone.
        os._exit(1)


def _limit_time(seconds: float) -> None:
    """Have the system end this process when the task takes more processor time."""
    try:
        import resource
    except ImportError:  # Windows: the parent measures the time
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY:
        until = min(until, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


def _write_no_core() -> None:
    """Disable core dumps, which would hold some hundred megabytes of a crashed decoder."""
    try:
        import resource
    except ImportError:  # Windows writes none
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_memory() -> None:
    """Limit the memory of this process: a picture that needs more gets a MemoryError."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return  # not Linux: only the decoder's own limits hold
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = held + MEMORY
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
