"""Find the files to add: walk folders once, in a fixed order.

Hidden names, collections and links to folders are not entered.  A file is a candidate by its suffix
or its first bytes; the decoder decides.  The same walk lists the sidecars.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from likewise.catalog.locations import is_collection
from likewise.errors import ImageError
from likewise.images.decode import recognise
from likewise.library.sidecars import SIDECARS, SidecarListing

SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".gif", ".tif", ".tiff"),
    *(".bmp", ".dib", ".heic", ".heif", ".hif", ".avif"),
    # RAW files: those with a preview that can be read are added, the others are listed.
    *(".dng", ".cr2", ".cr3", ".nef", ".nrw", ".arw", ".pef", ".srw", ".raf", ".orf", ".rw2"),
)
VIDEOS = (
    *(".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mts", ".m2ts", ".mpg", ".mpeg", ".wmv"),
    *(".3gp", ".flv", ".ogv"),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file worth opening, as it is on disk now."""

    path: str
    size: int
    mtime_ns: int


@dataclass
class Walked:
    """What a walk saw besides pictures: folders that cannot be entered, videos, sidecars."""

    closed: list[OSError] = field(default_factory=list)
    n_videos: int = 0
    sidecars: SidecarListing = field(default_factory=SidecarListing)


def candidates(roots: Iterable[Path], walked: Walked | None = None) -> Iterator[Candidate]:
    """Yield every candidate below some folders and files, each once, in order of its path."""
    walked = Walked() if walked is None else walked
    seen: set[str] = set()
    for root in roots:
        for path in _walk(root, walked):
            if path in seen:
                continue
            seen.add(path)
            try:
                status = os.stat(path)
            except OSError:
                # Deleted or unreadable: the decoder will report the reason.
                yield Candidate(path, -1, -1)
                continue
            yield Candidate(path, status.st_size, status.st_mtime_ns)


def _walk(root: Path, walked: Walked) -> Iterator[str]:
    if not root.is_dir():
        yield str(root)
        return
    for folder, folders, files in os.walk(root, onerror=walked.closed.append):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not is_collection(Path(folder, name))
        )
        walked.sidecars.folders.add(folder)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.endswith(SIDECARS):
                walked.sidecars.note(path)
            if name.startswith("."):
                continue
            if os.path.splitext(name)[1].lower() in VIDEOS:
                walked.n_videos += 1
            elif is_candidate(path):
                yield path


def is_candidate(path: str) -> bool:
    """Return whether a file is a picture by its suffix, else by its first bytes."""
    if os.path.splitext(path)[1].lower() in SUFFIXES:
        return True
    try:
        recognise(path)
    except ImageError:
        return False
    return True
