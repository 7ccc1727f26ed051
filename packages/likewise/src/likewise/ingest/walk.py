"""Which files are candidates: folders walked in a fixed order, other things passed by.

Hidden names, collections themselves and links to folders are not entered.  A file counts as a
picture by the name it has or by the bytes it starts with; the decoder has the last word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from likewise.catalog.locations import is_collection
from likewise.errors import ImageError
from likewise.images.decode import recognise

SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".gif", ".tif", ".tiff"),
    *(".bmp", ".dib", ".heic", ".heif", ".hif", ".avif"),
    # RAW files: those with a preview that can be read come in, the others are told with a reason.
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


def candidates(
    roots: Iterable[Path],
    closed: Callable[[OSError], object] | None = None,
    video: Callable[[str], object] | None = None,
) -> Iterator[Candidate]:
    """Every candidate below the given folders and files, each once, in order of its path.

    ``closed`` is told of each folder that cannot be entered, ``video`` of each film passed by.
    """
    seen: set[str] = set()
    for root in roots:
        for path in _walk(root, closed, video):
            if path in seen:
                continue
            seen.add(path)
            try:
                status = os.stat(path)
            except OSError:
                # Vanished or unreadable: the decoder will say which, with its reason.
                yield Candidate(path, -1, -1)
                continue
            yield Candidate(path, status.st_size, status.st_mtime_ns)


def _walk(
    root: Path,
    closed: Callable[[OSError], object] | None,
    video: Callable[[str], object] | None,
) -> Iterator[str]:
    if not root.is_dir():
        yield str(root)
        return
    for folder, folders, files in os.walk(root, onerror=closed):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not is_collection(Path(folder, name))
        )
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.startswith("."):
                continue
            if os.path.splitext(name)[1].lower() in VIDEOS:
                if video is not None:
                    video(path)
            elif is_candidate(path):
                yield path


def is_candidate(path: str) -> bool:
    """By its suffix, else by its first bytes."""
    if os.path.splitext(path)[1].lower() in SUFFIXES:
        return True
    try:
        recognise(path)
    except ImageError:
        return False
    return True
