"""Describe a picture in a worker: read and decode it once, make its rows and a thumbnail.

Workers have no catalog.  Every failure of a picture is returned, not raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from likewise.catalog.content import digest_of, read_content
from likewise.catalog.store import TRANSIENT, Store
from likewise.catalog.thumbnails import FIRST_SIDE, make_thumbnail, put_thumbnail
from likewise.errors import CannotDescribe, ImageError, LikewiseError, UnreadableImage
from likewise.images.decode import ImageInfo, decode
from likewise.ingest.pool import Failure, Workers, run
from likewise.ingest.remote_paths import Needs, RemotePaths
from likewise.ingest.walk import Candidate
from likewise.ingest.worker_process import LONGEST
from likewise.library.embedded import embedded_keywords, embedded_rating
from likewise.spaces.base import Space, decode_size
from likewise.spaces.registry import SpaceSet, open_spaces
from likewise.vision.deep.libraries import BrokenLibrary, UnusableModel, mark_broken

UNDESCRIBED = "cannot be described here"
"""How the problem of a picture begins that a space refused."""


class PictureDescription(NamedTuple):
    """What a worker found in one file.

    ``keywords`` are those inside it, by source; ``remark`` says which metadata could not be read;
    ``rating`` is the stars in its XMP.  ``thumbnail`` is set where the worker cannot store it.
    """

    candidate: Candidate
    problem: str | None
    digest: bytes
    info: ImageInfo | None
    vectors: dict[tuple[str, int], bytes]
    keywords: Mapping[str, list[str]] | None = None
    remark: str | None = None
    rating: int | None = None
    thumbnail: bytes | None = None


class DescribeTask(NamedTuple):
    """One file, the spaces that describe it, and the collection that stores its thumbnail.

    ``carries_thumbnail``: the collection is on another machine; the answer holds the thumbnail.
    """

    candidate: Candidate
    spaces: tuple[Space, ...]
    thumbnails: Path | None = None
    carries_thumbnail: bool = False

    def prepare(self) -> None:
        """Load networks and kernels before the time limit of a picture starts."""
        for space in self.spaces:
            space.load()

    def needs(self) -> Needs:
        root = self.spaces[0].root if self.spaces else None
        return Needs(self.candidate.path, root, _as_set(self.spaces).needed_files)

    def at(self, there: RemotePaths) -> DescribeTask:
        return self._replace(
            candidate=replace(self.candidate, path=there.path(self.candidate.path)),
            spaces=_as_set(self.spaces).at(there.folder),
            thumbnails=None,
            carries_thumbnail=self.thumbnails is not None,
        )

    def bring_back(self, answer: PictureDescription) -> PictureDescription:
        if self.thumbnails is not None and answer.thumbnail is not None:
            put_thumbnail(self.thumbnails, answer.digest, answer.thumbnail, FIRST_SIDE)
        return answer._replace(candidate=self.candidate, thumbnail=None)


def _as_set(spaces: tuple[Space, ...]) -> SpaceSet:
    return spaces if isinstance(spaces, SpaceSet) else SpaceSet(spaces)


def describe(task: DescribeTask) -> PictureDescription:
    """Read one file and compute its rows; return every failure of the picture."""
    try:
        return _describe(task)
    except MemoryError:  # while it is read, or its thumbnail is made
        return _failed(task.candidate, f"{TRANSIENT}{UNDESCRIBED} (MemoryError)")


def _describe(task: DescribeTask) -> PictureDescription:
    candidate = task.candidate
    side, slack = decode_size(task.spaces)
    try:
        content = read_content(candidate.path)
        picture = decode(content, max_side=max(side, FIRST_SIDE), slack=slack)
        digest = digest_of(content)
    except UnreadableImage as error:
        return _failed(candidate, f"{TRANSIENT}{error.reason}")
    except ImageError as error:
        return _failed(candidate, error.reason)
    vectors = {}
    shared: dict[str, Any] = {}
    try:
        for space in task.spaces:
            vectors[space.name, space.generation] = space.packed_row(picture, shared)
    except (CannotDescribe, UnusableModel) as error:
        return _failed(candidate, f"{TRANSIENT}{UNDESCRIBED} ({error})")
    thumbnail = None
    if task.carries_thumbnail or task.thumbnails is not None:
        thumbnail = make_thumbnail(picture.pixels, FIRST_SIDE)
    if task.thumbnails is not None and thumbnail is not None:
        put_thumbnail(task.thumbnails, digest, thumbnail, FIRST_SIDE)
        thumbnail = None
    keywords, remark = embedded_keywords(picture.embedded)
    rating = embedded_rating(picture.embedded.xmp)
    return PictureDescription(
        candidate, None, digest, picture.info, vectors, keywords, remark, rating, thumbnail
    )


def describe_failure(task: DescribeTask, failure: Failure) -> PictureDescription:
    """Return the result for a picture whose worker ended.

    It is not tried again until its file changes or a user names it, unless its worker was killed
    from outside.
    """
    reason = f"{TRANSIENT}{failure}" if failure.kind == "killed" else str(failure)
    return _failed(task.candidate, reason)


def _failed(candidate: Candidate, problem: str) -> PictureDescription:
    return PictureDescription(candidate, problem, b"", None, {})


# -- loading spaces -------------------------------------------------------------------------


def spaces_to_describe(store: Store, workers: Workers) -> SpaceSet:
    """Return the spaces that can describe new pictures here, loaded.

    A broken space raises now, and not as a problem of every picture.
    """
    found = [one for one in open_spaces(store).values() if one.generation and one.is_available()]
    while (broken := load_spaces(found, workers)) is not None:
        left = [one for one in found if one.is_available()]
        if len(left) == len(found):
            raise broken
        found = left
    return SpaceSet(found)


def load_spaces(spaces: Sequence[Space], workers: Workers) -> BrokenLibrary | None:
    """Load spaces where pictures will be described; return the library that cannot be imported.

    Loads in a worker if there is one, because a network here would cost memory and half a second.
    A library that cannot be imported counts as missing from then on; other errors are raised.
    """
    try:
        if isinstance(workers, int) and workers and spaces:
            (refused,) = run(_load, [SpaceSet(spaces)], 1, _not_loaded, seconds=LONGEST)
            if refused is not None:
                raise refused
        else:
            for space in spaces:
                space.load()
    except BrokenLibrary as error:
        mark_broken(error)
        return error
    return None


def _load(spaces: SpaceSet) -> LikewiseError | None:
    """Load spaces in a worker; return our errors."""
    try:
        for space in spaces:
            space.load()
    except LikewiseError as error:
        return error
    return None


def _not_loaded(_: SpaceSet, failure: Failure) -> LikewiseError:
    return CannotDescribe(f"what describes pictures cannot be loaded: loading it {failure}")
