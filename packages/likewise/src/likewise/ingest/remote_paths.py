"""Rewrite tasks for workers on other machines: the files they need, and their paths there.

Such a worker reads the pictures, perhaps under another folder, but not the collection.  So a task
lists its picture and the files of the collection it needs; these are sent once, and paths in the
task and in the result are rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from likewise.errors import InvalidInput

PathMap = tuple[tuple[str, str], ...]
"""(folder here, the same folder on the workers), the longest first."""


class Needs(NamedTuple):
    """The picture a task reads, and files below ``root`` that it opens."""

    picture: str | None = None
    root: Path | None = None
    files: tuple[str, ...] = ()


class RemotePaths(NamedTuple):
    """Paths on a worker: pictures by a map of folders, sent files in one folder."""

    path_map: PathMap
    folder: Path

    def path(self, path: str) -> str:
        """Return a path of this machine as the worker sees it.

        >>> there = RemotePaths((("/photos/raw", "/raw"), ("/photos", "/mnt/p")), Path())
        >>> there.path("/photos/a.jpg"), there.path("/photos/raw/b.jpg"), there.path("/photos2/c")
        ('/mnt/p/a.jpg', '/raw/b.jpg', '/photos2/c')
        """
        for here, mapped in self.path_map:
            if path == here or path.startswith(f"{here}/"):
                return mapped + path[len(here) :]
        return path


@runtime_checkable
class PortableTask(Protocol):
    """A task whose paths can be rewritten for a worker; others are sent unchanged."""

    def needs(self) -> Needs:
        """Return the files it reads, by the paths of this machine."""

    def at(self, there: RemotePaths) -> Self:
        """Return the task with the paths of the worker."""

    def bring_back(self, answer: Any) -> Any:
        """Return the result with the paths of this machine."""


def path_map(given: Mapping[str, str]) -> PathMap:
    """Return the checked pairs of folders (here, there), the longest first."""
    made: dict[str, str] = {}
    for here, there in given.items():
        if not (os.path.isabs(here) and there.startswith("/")):
            raise InvalidInput(
                f"path map is {here!r}={there!r}; two absolute folders expected: /here=/there"
            )
        made[os.path.normpath(here).rstrip("/")] = there.rstrip("/")
    return tuple(sorted(made.items(), key=lambda pair: (-len(pair[0]), pair)))
