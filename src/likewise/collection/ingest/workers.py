"""The workers: processes that read, decode and describe pictures, and nothing else.

They are spawned, never forked, and know no catalog.  A worker that dies (a decoder may crash on
hostile bytes) costs one picture, not the run: what was under way is tried again one by one, and
the picture that kills a worker twice is reported as a problem.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from likewise._doors import Later
from likewise.collection.content import digest_of, read_content
from likewise.collection.errors import CannotDescribe
from likewise.collection.ingest.walk import Candidate
from likewise.collection.keywords.embedded import embedded_keywords
from likewise.collection.spaces.base import DECODE_SIDE, Space
from likewise.collection.store.store import TRANSIENT
from likewise.errors import ImageError, UnreadableImage
from likewise.features.deep.errors import UnusableModel
from likewise.images import ImageInfo, decode

if TYPE_CHECKING:
    import cv2
else:
    cv2 = Later("cv2")

IN_FLIGHT = 4
"""Pictures under way for each worker: enough to keep it busy, few enough to bound memory."""

_FEW = 16

T = TypeVar("T")
R = TypeVar("R")


class PictureDescription(NamedTuple):
    """What a worker found out about one file.

    ``keywords`` are those inside it, by source; ``remark`` says what of it could not be read
    though the picture could.
    """

    candidate: Candidate
    problem: str | None
    digest: bytes
    info: ImageInfo | None
    vectors: dict[tuple[str, int], bytes]
    keywords: Mapping[str, list[str]] | None = None
    remark: str | None = None


class DescribeTask(NamedTuple):
    """One file, and the spaces it shall have rows in."""

    candidate: Candidate
    spaces: tuple[Space, ...]


def describe(task: DescribeTask) -> PictureDescription:
    """Read one file and make its vectors; every failure of the picture is an answer."""
    candidate = task.candidate
    try:
        content = read_content(candidate.path)
        picture = decode(content, max_side=DECODE_SIDE)
    except UnreadableImage as error:
        return PictureDescription(candidate, f"{TRANSIENT}{error.reason}", b"", None, {})
    except ImageError as error:
        return PictureDescription(candidate, error.reason, b"", None, {})
    vectors = {}
    shared: dict[str, Any] = {}
    try:
        for space in task.spaces:
            vectors[space.name, space.generation] = space.packed_row(picture, shared)
    except (MemoryError, CannotDescribe, UnusableModel) as error:
        reason = f"cannot be described here ({error or type(error).__name__})"
        return PictureDescription(candidate, f"{TRANSIENT}{reason}", b"", None, {})
    keywords, remark = embedded_keywords(picture.packets)
    return PictureDescription(
        candidate, None, digest_of(content), picture.info, vectors, keywords, remark
    )


def n_workers(wanted: int | None, n_tasks: int) -> int:
    """Processes for a job: none for a handful of pictures, else one a core."""
    if wanted is not None:
        return wanted
    return 0 if n_tasks < _FEW else min(os.cpu_count() or 1, 16)


def run(
    work: Callable[[T], R],
    tasks: Iterable[T],
    workers: int,
    on_crash: Callable[[T], R],
) -> Iterator[R]:
    """``work`` of every task, in any order, at most IN_FLIGHT tasks a worker at a time.

    With no workers the work is done here.
    """
    if workers == 0:
        yield from map(work, tasks)
        return
    queue = iter(tasks)
    pool = _pool(workers)
    under_way: dict[Future[R], T] = {}
    waiting: list[T] = []
    try:
        while True:
            waiting += islice(queue, IN_FLIGHT * workers - len(under_way) - len(waiting))
            if not under_way and not waiting:
                return
            try:
                while waiting:
                    # A worker may die between two looks at it; then submitting fails.
                    with _own_children():
                        future = pool.submit(work, waiting[0])
                    under_way[future] = waiting.pop(0)
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    del under_way[future]
                    yield result
            except BrokenProcessPool:
                left = [*under_way.values(), *waiting]
                under_way.clear()
                waiting.clear()
                pool.shutdown(cancel_futures=True)
                for task in left:
                    yield _alone(work, task, on_crash)
                pool = _pool(workers)
    finally:
        pool.shutdown(cancel_futures=True)


def _alone(work: Callable[[T], R], task: T, on_crash: Callable[[T], R]) -> R:
    with _pool(1) as pool:
        try:
            with _own_children():
                future = pool.submit(work, task)
            return future.result()
        except BrokenProcessPool:
            return on_crash(task)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_quiet,
        initargs=(os.getpid(),),
    )


@contextmanager
def _own_children() -> Iterator[None]:
    """Processes started inside know nothing of the user's script, and ignore Ctrl-C.

    A spawned process imports the main module of its parent first, which for a script without a
    guard would run it again; workers need nothing from it.  ``_quiet`` alone would make them deaf
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
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _quiet(parent: int) -> None:
    """One thread a worker; Ctrl-C is the parent's to handle; no worker outlives its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    threading.Thread(target=_leave_with_parent, args=(parent,), daemon=True).start()


def _leave_with_parent(parent: int) -> None:
    """A parent that was killed cannot tell its workers to stop."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
