"""What a worker does with a picture: read it once, decode it once, describe it, keep a thumbnail.

Workers know no catalog.  Every failure of a picture is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from likewise.catalog.content import digest_of, read_content
from likewise.catalog.store import TRANSIENT
from likewise.catalog.thumbnails import FIRST_SIDE, make_thumbnail, put_thumbnail
from likewise.errors import CannotDescribe, ImageError, UnreadableImage
from likewise.images.decode import ImageInfo, decode
from likewise.ingest.pool import Failure, Workers, default_workers
from likewise.ingest.remote_paths import Needs, RemotePaths
from likewise.ingest.walk import Candidate
from likewise.library.embedded import embedded_keywords, embedded_rating
from likewise.spaces.base import Space, decode_size
from likewise.spaces.registry import SpaceSet
from likewise.vision.deep.errors import UnusableModel

W = TypeVar("W", bound=Workers)
_FEW = 8
"""Pictures for which one worker is enough: starting one costs as much as describing fifty."""


class PictureDescription(NamedTuple):
    """What a worker found out about one file.

    ``keywords`` are those inside it, by source; ``remark`` says what of it could not be read
    though the picture could; ``rating`` is its stars, where its XMP has some.  ``thumbnail`` is
    there where the worker cannot keep it itself.
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
    """One file, the spaces it shall have rows in, and the collection that keeps its thumbnail.

    ``carries_thumbnail``: the collection is out of reach, so the thumbnail comes with the answer.
    """

    candidate: Candidate
    spaces: tuple[Space, ...]
    thumbnails: Path | None = None
    carries_thumbnail: bool = False

    def prepare(self) -> None:
        """Networks and kernels, before the time of a picture counts."""
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
    """Read one file and make its vectors; every failure of the picture is an answer."""
    try:
        return _describe(task)
    except MemoryError:  # while it is read, or its thumbnail is made
        return _failed(task.candidate, f"{TRANSIENT}cannot be described here (MemoryError)")


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
        reason = f"cannot be described here ({error})"
        return _failed(candidate, f"{TRANSIENT}{reason}")
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
    """The answer for a picture that its worker did not survive.

    It is not tried again until its file changes or somebody names it, unless somebody else may
    have been to blame.
    """
    reason = f"{TRANSIENT}{failure}" if failure.kind == "killed" else str(failure)
    return _failed(task.candidate, reason)


def _failed(candidate: Candidate, problem: str) -> PictureDescription:
    return PictureDescription(candidate, problem, b"", None, {})


def n_workers(wanted: W | None, n_tasks: int) -> W | int:
    """Processes for a job: one a core, one for a handful, and always one.

    Decoding is never done in the process that holds the catalog: a decoder may crash.
    """
    if wanted is not None:
        return wanted
    return 1 if n_tasks < _FEW else default_workers()
