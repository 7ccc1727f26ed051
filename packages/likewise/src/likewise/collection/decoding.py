"""Decode pictures for requests: each in a worker, with a time limit, a few at a time.

A decoder that hangs or crashes ends its worker and fails only its own request.  The failure is
cached, so that a page that shows the picture again need not wait again.  One worker is reserved for
pictures of the collection, however many are uploaded.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.content import digest_of
from likewise.catalog.thumbnails import QUALITY, small_copy
from likewise.errors import CollectionBusy, DecoderFailed, LikewiseError
from likewise.images.decode import CameraFacts, ImageInfo, Source, decode, read_camera_facts
from likewise.ingest.pool import Failure, picture_seconds, run
from likewise.search.query import Region, decode_in_process

SECONDS = 5.0
"""Processor time of a request for a picture, at most."""
STAY = 600.0
"""Seconds a worker waits for the next picture: people look at pictures one after another."""
PATIENCE = 30.0
"""Seconds a request waits for its turn."""
REMEMBERED = 1000
"""Failures that are remembered, at most."""
T = TypeVar("T")


class ClientGone(LikewiseError):
    """The client of a request has disconnected."""


CLIENT_GONE: ContextVar[threading.Event | None] = ContextVar("CLIENT_GONE", default=None)
"""Set once the client of a request has disconnected: what is decoded for it is ended."""


class _Task(NamedTuple):
    source: str | bytes
    max_side: int | None = None
    region: Region | None = None
    quality: int = QUALITY


class Decoders:
    """Workers that decode for requests, at most ``most`` at a time."""

    def __init__(self, most: int) -> None:
        self._all = threading.BoundedSemaphore(most)
        self._uploads = threading.BoundedSemaphore(max(1, most - 1))
        self._failed: OrderedDict[object, str] = OrderedDict()
        self._lock = threading.Lock()

    def pixels(
        self, source: Source, max_side: int | None, region: Region | None
    ) -> NDArray[np.uint8]:
        """Return the pixels of a picture, or of a region of it."""
        return self._do(_pixels, _Task(_plain(source), max_side, region), is_upload=True)

    def small_copy(self, source: Source, side: int, quality: int = QUALITY) -> bytes:
        """Return a JPEG of a picture, at most ``side`` on its longer side, without metadata."""
        return self._do(_small_copy, _Task(_plain(source), side, quality=quality))

    def thumbnail(self, source: Source, side: int) -> bytes:
        """Return a small JPEG of a file of the collection, or of a larger thumbnail."""
        return self._do(_small_copy, _Task(_plain(source), side), is_upload=False)

    def size(self, content: bytes) -> tuple[int, int]:
        """Return width and height of a picture that can be decoded."""
        return self._do(_size, _Task(content))

    def camera_facts(self, source: Source) -> CameraFacts:
        """Return the EXIF facts in a file."""
        return self._do(_camera_facts, _Task(_plain(source)))

    def info(self, path: str | os.PathLike[str]) -> ImageInfo:
        """Return the facts of a picture that was decoded completely."""
        return self._do(_info, _Task(os.fspath(path)), is_upload=True)

    def warm_up(self) -> None:
        """Start a worker, so that the first picture need not wait for it."""
        with self._place(False):
            for _ in run(_decode_one_pixel, [0], 1, lambda *_: None, stay=STAY):
                pass

    def _do(self, work: Callable[[_Task], T], task: _Task, *, is_upload: bool | None = None) -> T:
        """Run a task in a worker; uploads (by default: bytes) never take the last one."""
        source = task.source
        name = source if isinstance(source, str) else f"<{len(source)} bytes>"
        key = _key(source)
        with self._lock:
            known = self._failed.get(key)
        if known is not None:
            raise DecoderFailed(name, known)
        with self._place(isinstance(source, bytes) if is_upload is None else is_upload):
            (answer,) = run(
                _answer,
                [(work, task)],
                1,
                lambda _, failure: failure,
                tick=_stop_if_gone,
                seconds=min(SECONDS, picture_seconds()),
                stay=STAY,
                try_slow_again=False,
            )
        if isinstance(answer, Failure):
            if answer.kind != "killed":
                with self._lock:
                    self._failed[key] = str(answer)
                    while len(self._failed) > REMEMBERED:
                        self._failed.popitem(last=False)
            raise DecoderFailed(name, str(answer))
        if isinstance(answer, LikewiseError):
            raise answer
        made: T = answer
        return made

    @contextmanager
    def _place(self, is_upload: bool) -> Iterator[None]:
        with ExitStack() as held:
            for places in (self._uploads, self._all) if is_upload else (self._all,):
                if not places.acquire(timeout=PATIENCE):
                    raise CollectionBusy("too many pictures are being decoded; try again")
                held.callback(places.release)
            _stop_if_gone()
            yield


@lru_cache(maxsize=1)
def decoders() -> Decoders:
    """Return the decoders of this process, for a command that reads pictures one after another."""
    return Decoders(2)


def _stop_if_gone() -> None:
    gone = CLIENT_GONE.get()
    if gone is not None and gone.is_set():
        raise ClientGone("the client has disconnected")


def _plain(source: Source) -> str | bytes:
    return bytes(source) if isinstance(source, bytes | bytearray) else os.fspath(source)


def _key(source: str | bytes) -> object:
    """Return the key of a cached failure: these bytes, or the file as it is now."""
    if isinstance(source, bytes):
        return digest_of(source)
    try:
        status = os.stat(source)
    except OSError:
        return source
    return source, status.st_size, status.st_mtime_ns


# -- in a worker ----------------------------------------------------------------------------------


def _answer(job: tuple[Callable[[_Task], Any], _Task]) -> Any:
    """Run the task; return our errors."""
    work, task = job
    try:
        return work(task)
    except LikewiseError as error:
        return error


def _pixels(task: _Task) -> NDArray[np.uint8]:
    return decode_in_process(task.source, task.max_side, task.region)


def _small_copy(task: _Task) -> bytes:
    assert task.max_side is not None
    return small_copy(task.source, task.max_side, task.quality)


def _size(task: _Task) -> tuple[int, int]:
    info = decode(task.source, max_side=64).info
    return info.width, info.height


def _info(task: _Task) -> ImageInfo:
    return decode(task.source).info


def _camera_facts(task: _Task) -> CameraFacts:
    return read_camera_facts(task.source)


def _decode_one_pixel(task: int) -> None:
    decode(_PIXEL, max_side=task + 1)


_PIXEL = (
    b"BM:\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0\0\0\0\0\4\0\0\0"
    + bytes(16)
    + bytes(4)
)
"""A picture of one pixel: decoding it loads the decoder."""
