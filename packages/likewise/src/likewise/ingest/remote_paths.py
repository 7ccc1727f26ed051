"""Tasks that are done on another machine: what they need there, and by which names.

A worker of another machine sees the pictures, perhaps below another folder, and not the collection.
So a task says which picture it reads and which files of the collection it needs; these are sent
once, and the task is told where both are.  What comes back speaks of this machine again.
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
    """Where a worker finds things: pictures by a map of folders, files that were sent in one."""

    path_map: PathMap
    folder: Path

    def path(self, path: str) -> str:
        """A path of this machine as the worker has it.

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
    """A task that can be told where it is done; one that is not is sent as it is."""

    def needs(self) -> Needs:
        """What it reads, by the names of this machine."""

    def at(self, there: RemotePaths) -> Self:
        """The task as the worker must see it."""

    def bring_back(self, answer: Any) -> Any:
        """The worker's answer in the names of this machine; called here, by the writer."""


def path_map(given: Mapping[str, str]) -> PathMap:
    """Folders here and there, checked; the longest first, so that the nearest one counts."""
    made: dict[str, str] = {}
    for here, there in given.items():
        if not (os.path.isabs(here) and there.startswith("/")):
            raise InvalidInput(
                f"path map is {here!r}={there!r}; two absolute folders expected: /here=/there"
            )
        made[os.path.normpath(here).rstrip("/")] = there.rstrip("/")
    return tuple(sorted(made.items(), key=lambda pair: (-len(pair[0]), pair)))
