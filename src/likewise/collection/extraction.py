"""The workers: processes that read, decode and describe pictures, and nothing else.

They are spawned, never forked, and know no catalog.  A worker that dies (a decoder may crash on
hostile bytes) costs one picture, not the run: what was under way is tried again one by one, and
the picture that kills a worker twice is reported as a problem.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.collection.recipes import DECODE_SIDE, Step, local_features, vector_of
from likewise.collection.walking import Candidate
from likewise.errors import ImageError
from likewise.images import MAX_BYTES, ImageInfo, decode

IN_FLIGHT = 4
"""Pictures under way for each worker: enough to keep it busy, few enough to bound memory."""

T = TypeVar("T")
R = TypeVar("R")


class Described(NamedTuple):
    """What a worker found out about one file."""

    candidate: Candidate
    problem: str | None
    digest: bytes
    info: ImageInfo | None
    vectors: dict[tuple[str, int], bytes]


class DescribeTask(NamedTuple):
    candidate: Candidate
    steps: tuple[Step, ...]


class SampleTask(NamedTuple):
    """Descriptors of one picture, to learn words from."""

    path: str
    recipe: dict[str, Any]


def digest_of(content: bytes) -> bytes:
    """What makes two files the same picture."""
    return hashlib.blake2b(content, digest_size=20).digest()


def digest_of_file(path: str | Path) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()


def describe(task: DescribeTask) -> Described:
    """Read one file and make its vectors; every failure of the picture is an answer."""
    candidate = task.candidate
    try:
        content = _read(candidate.path)
        picture = decode(content, max_side=DECODE_SIDE)
    except ImageError as error:
        return Described(candidate, error.reason, b"", None, {})
    vectors = {}
    for step in task.steps:
        vector = vector_of(step, picture)
        if vector is not None:
            vectors[step.space, step.generation] = vector
    return Described(candidate, None, digest_of(content), picture.info, vectors)


def sample(task: SampleTask) -> NDArray[np.float16]:
    """Descriptors of one picture; none where it cannot be read any more."""
    try:
        picture = decode(_read(task.path), max_side=DECODE_SIDE)
    except ImageError:
        return np.zeros((0, 128), np.float16)
    # Half precision is a thousandth of a unit descriptor's length: far below a word's size.
    return local_features(task.recipe, picture).descriptors.astype(np.float16)


def _read(path: str) -> bytes:
    """The content, by way of the decoder's own checks for pipes, folders and permissions."""
    from likewise.errors import ImageTooLarge
    from likewise.images import recognise

    recognise(path)
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise ImageTooLarge(path, f"more than {MAX_BYTES:,} bytes")
        return Path(path).read_bytes()
    except OSError as error:
        from likewise.errors import UnreadableImage

        raise UnreadableImage(path, f"cannot be read: {error.strerror}") from error


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
    try:
        while True:
            for task in islice(queue, IN_FLIGHT * workers - len(under_way)):
                with _deaf_children():
                    under_way[pool.submit(work, task)] = task
            if not under_way:
                return
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            try:
                for future in done:
                    result = future.result()
                    del under_way[future]
                    yield result
            except BrokenProcessPool:
                left = list(under_way.values())
                under_way.clear()
                pool.shutdown(cancel_futures=True)
                for task in left:
                    yield _alone(work, task, on_crash)
                pool = _pool(workers)
    finally:
        pool.shutdown(cancel_futures=True)


def _alone(work: Callable[[T], R], task: T, on_crash: Callable[[T], R]) -> R:
    with _pool(1) as pool:
        with _deaf_children():
            future = pool.submit(work, task)
        try:
            return future.result()
        except BrokenProcessPool:
            return on_crash(task)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_quiet
    )


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started inside ignore Ctrl-C from their first instruction on.

    A signal that is ignored when a program starts stays ignored; ``_quiet`` alone would come
    after a second of imports, and Ctrl-C in that second would print a traceback a worker.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _quiet() -> None:
    """One thread a worker; Ctrl-C is the parent's to handle; no worker outlives its parent."""
    import cv2

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()


def _leave_with_parent(parent: int) -> None:
    """A parent that was killed cannot tell its workers to stop."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
