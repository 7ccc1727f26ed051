"""Decoding apart from whoever asks: every picture in a worker, for a few seconds, a few at a time.

The one idea: whoever waits for a picture may wait in vain, and nobody else.  A decoder that hangs
or crashes takes its worker along and becomes an error that says so; the picture is remembered, so
that a page that shows it again does not pay again.  As many decode at once as there are places,
and one place is kept for pictures of the collection, whatever is uploaded.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.content import digest_of
from likewise.catalog.thumbnails import QUALITY, small_copy
from likewise.errors import CollectionBusy, DecoderFailed, LikewiseError
from likewise.images.camera_facts import CameraFacts, read_camera_facts
from likewise.images.decode import ImageInfo, Source, decode
from likewise.ingest.pool import Failure, picture_seconds, run
from likewise.search.query import Region, decode_here

SECONDS = 5.0
"""Processor time a request may spend on a picture, at most."""
STAY = 600.0
"""Seconds a worker waits for the next picture: somebody looks at pictures one after another."""
PATIENCE = 30.0
"""Seconds a request waits for its turn."""
REMEMBERED = 1000
T = TypeVar("T")


class NobodyWaits(LikewiseError):
    """Whoever asked has left."""


LEFT: ContextVar[threading.Event | None] = ContextVar("LEFT", default=None)
"""Set once whoever asked has left: what is decoded for them is ended."""


class _Task(NamedTuple):
    source: str | bytes
    max_side: int | None = None
    region: Region | None = None
    quality: int = QUALITY


class Decoders:
    """Workers that decode for requests, ``most`` at a time."""

    def __init__(self, most: int) -> None:
        self._all = threading.BoundedSemaphore(most)
        self._strangers = threading.BoundedSemaphore(max(1, most - 1))
        self._failed: OrderedDict[object, str] = OrderedDict()
        self._lock = threading.Lock()

    def pixels(
        self, source: Source, max_side: int | None, region: Region | None
    ) -> NDArray[np.uint8]:
        """The pixels of a picture, or of a region of it; only these come back."""
        return self._do(_pixels, _Task(_plain(source), max_side, region), stranger=True)

    def small_copy(self, source: Source, side: int, quality: int = QUALITY) -> bytes:
        """A JPEG of a picture, at most ``side`` on its longer side, without metadata.

        Bytes come from outside: a file of the collection never waits for all of those.
        """
        plain = _plain(source)
        return self._do(
            _small_copy, _Task(plain, side, None, quality), stranger=isinstance(plain, bytes)
        )

    def thumbnail(self, source: Source, side: int) -> bytes:
        """A small JPEG of a file of the collection, or of a larger thumbnail kept of it."""
        return self._do(_small_copy, _Task(_plain(source), side, None, QUALITY), stranger=False)

    def size(self, content: bytes) -> tuple[int, int]:
        """Width and height of a picture that can be decoded."""
        return self._do(_size, _Task(content, 64), stranger=True)

    def camera_facts(self, source: Source) -> CameraFacts:
        """What the camera wrote into a file, read in a worker like everything of a file."""
        plain = _plain(source)
        return self._do(_camera_facts, _Task(plain), stranger=isinstance(plain, bytes))

    def warm_up(self) -> None:
        """Start a worker, so that the first picture need not wait for it."""
        with self._place(False):
            for _ in run(_nothing, [0], 1, lambda *_: None, stay=STAY):
                pass

    def info(self, path: str | os.PathLike[str]) -> ImageInfo:
        """What is known of a picture that was decoded in full."""
        return self._do(_info, _Task(os.fspath(path)), stranger=True)

    def _do(self, work: Callable[[_Task], T | LikewiseError], task: _Task, stranger: bool) -> T:
        name = _name(task.source)
        key = _key(task.source)
        with self._lock:
            known = self._failed.get(key)
        if known is not None:
            raise DecoderFailed(name, known)
        seconds = min(SECONDS, picture_seconds())
        with self._place(stranger):
            (answer,) = run(
                work,
                [task],
                1,
                lambda _, failure: failure,
                tick=_stop_if_left,
                seconds=seconds,
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
        return answer

    @contextmanager
    def _place(self, stranger: bool) -> Iterator[None]:
        with ExitStack() as held:
            for places in (self._strangers, self._all) if stranger else (self._all,):
                if not places.acquire(timeout=PATIENCE):
                    raise CollectionBusy("too many pictures are being decoded; try again")
                held.callback(places.release)
            _stop_if_left()
            yield


@lru_cache(maxsize=1)
def decoders() -> Decoders:
    """Those of this process, for a command that shows or checks pictures one after another."""
    return Decoders(2)


def _stop_if_left() -> None:
    left = LEFT.get()
    if left is not None and left.is_set():
        raise NobodyWaits("whoever asked has left")


def _plain(source: Source) -> str | bytes:
    return bytes(source) if isinstance(source, bytes | bytearray) else os.fspath(source)


def _name(source: str | bytes) -> str:
    return source if isinstance(source, str) else f"<{len(source)} bytes>"


def _key(source: str | bytes) -> object:
    """What a failure is remembered for: these bytes, or the file as it is now."""
    if isinstance(source, bytes):
        return digest_of(source)
    try:
        status = os.stat(source)
    except OSError:
        return source
    return source, status.st_size, status.st_mtime_ns


# -- in a worker ----------------------------------------------------------------------------------


def _pixels(task: _Task) -> NDArray[np.uint8] | LikewiseError:
    try:
        return decode_here(task.source, task.max_side, task.region)
    except LikewiseError as error:
        return error


def _small_copy(task: _Task) -> bytes | LikewiseError:
    assert task.max_side is not None
    try:
        return small_copy(task.source, task.max_side, task.quality)
    except LikewiseError as error:
        return error


def _size(task: _Task) -> tuple[int, int] | LikewiseError:
    try:
        info = decode(task.source, max_side=task.max_side).info
    except LikewiseError as error:
        return error
    return info.width, info.height


def _info(task: _Task) -> ImageInfo | LikewiseError:
    try:
        return decode(task.source).info
    except LikewiseError as error:
        return error


def _camera_facts(task: _Task) -> CameraFacts | LikewiseError:
    try:
        return read_camera_facts(task.source)
    except LikewiseError as error:
        return error


def _nothing(task: int) -> None:
    decode(_DOT, max_side=task + 1)


_DOT = (
    b"BM:\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0\0\0\0\0\4\0\0\0"
    + bytes(16)
    + bytes(4)
)
"""A picture of one pixel: whoever decodes it has loaded what decodes."""
