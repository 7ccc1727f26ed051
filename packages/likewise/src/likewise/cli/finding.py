"""Find the collection that a command works on.

1. The one that is named: ``-C PATH``, or ``LIKEWISE_COLLECTION``.
2. The one of the query picture's folder; or the one of the current folder, if the former does not
   exist or the latter has the picture too.  The collection of a folder is the nearest, in it and
   its parents, of: the folder itself, ``DIR.lw`` next to ``DIR`` (made by ``likewise open DIR``),
   ``photos.lw`` inside (made by ``likewise add``).
3. The only collection (``*.lw``) in the current folder.
4. The last one that ``open``, ``serve`` or ``add`` opened.

``open`` and ``add`` first look for a collection that has the folder already, so that no picture is
added to two.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from likewise.catalog.filters import absolute
from likewise.errors import LikewiseError
from likewise_methods.durable_files import private_folder, write_whole

USUAL = Path("photos.lw")
SUFFIX = ".lw"
VARIABLE = "LIKEWISE_COLLECTION"
NAMED = "named"
"""``Found.how`` of a collection that the command line names."""
_LAST = "last-collection.json"


class Found(NamedTuple):
    """A collection, and how it was found, in words."""

    path: Path
    how: str


def find_collection(named: Path | None, near: str | os.PathLike[str] | None = None) -> Found:
    """Return the collection a command works on; ``near`` is the query picture, if any."""
    if named is not None:
        by_environment = os.environ.get(VARIABLE) == str(named)
        return Found(absolute(named), f"named by {VARIABLE}" if by_environment else NAMED)
    here = Path.cwd()
    own = next(_of_folder(here), None)
    folder = None if near is None else _folder_of(near)
    theirs = None if folder is None else next(_of_folder(folder), None)
    if own is not None and theirs is not None and folder is not None and own != theirs:
        # The current folder wins if its collection has the picture too.
        theirs = None if _holds(own, [folder]) else theirs
    if theirs is not None:
        return Found(theirs, "of the picture's folder")
    if own is not None:
        return Found(own, "of this folder")
    only = sorted(path for path in here.glob(f"*{SUFFIX}") if is_collection(path))
    last = last_opened()
    if len(only) == 1:
        return Found(only[0], "the only one in this folder")
    if last is not None:
        return Found(last, "the last one opened")
    if only:
        names = ", ".join(path.name for path in only[:5])
        raise LikewiseError(f"there are several collections here ({names}); name one with -C")
    raise LikewiseError(
        "there is no collection here; 'likewise open DIR' makes one of a folder of pictures, "
        "-C names another"
    )


def find_for_folder(folder: Path) -> Path:
    """Return the collection ``open`` uses for a folder: one that has it, else ``DIR.lw``."""
    beside = folder.with_name(f"{folder.name}{SUFFIX}")
    if folder.name and is_collection(beside):
        return beside
    known = _that_holds([folder])
    if known is not None:
        return known
    if is_collection(folder / USUAL):
        return folder / USUAL
    # The root of a file system has no name, so nothing can lie next to it.
    return beside if folder.name else absolute(USUAL)


def find_for_adding(paths: Iterable[Path]) -> Path:
    """Return the collection ``add`` uses: one that has the pictures, the one of the current
    folder, else a new one."""
    wanted = [absolute(path) for path in paths]
    beside = [path.with_name(f"{path.name}{SUFFIX}") for path in wanted if path.name]
    for path in (*beside, _that_holds(wanted), *_of_folder(Path.cwd())):
        if path is not None and is_collection(path):
            return path
    return absolute(USUAL)


def is_collection(path: Path) -> bool:
    from likewise.catalog import locations

    try:
        return locations.is_collection(path)
    except OSError:
        return False


def _of_folder(start: Path) -> Iterator[Path]:
    """Yield the collections of a folder and of its parents, nearest first."""
    for folder in (start, *start.parents):
        beside = [folder.with_name(f"{folder.name}{SUFFIX}")] if folder.name else []
        yield from (p for p in (folder, *beside, folder / USUAL) if is_collection(p))


def _folder_of(picture: str | os.PathLike[str]) -> Path | None:
    """Return the folder of a picture, if the file exists."""
    try:
        path = absolute(picture)
        return path.parent if path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _that_holds(paths: list[Path]) -> Path | None:
    """Return a collection that has all these: of their parents, of this folder, the last opened."""
    last = last_opened()
    candidates = [found for path in paths for found in _of_folder(path.parent)]
    candidates += [*_of_folder(Path.cwd()), *([] if last is None else [last])]
    return next((one for one in dict.fromkeys(candidates) if _holds(one, paths)), None)


def _holds(collection: Path, paths: list[Path]) -> bool:
    """Return whether all these were added, or lie in folders that were."""
    roots = _roots(collection)
    return all(any(root in (path, *path.parents) for root in roots) for path in paths)


def _roots(collection: Path) -> list[Path]:
    from likewise.collection.collection import Collection

    # Ignore a collection that is damaged or of a newer version.
    with suppress(LikewiseError, OSError), Collection.open(collection) as col:
        return [Path(root) for root in col.pictures.roots()]
    return []


def state_folder() -> Path:
    """Return the folder for the state of this user."""
    own = os.environ.get("LIKEWISE_STATE")
    if own:
        return absolute(own)
    base = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base or Path.home() / ".local" / "state") / "likewise"


def remember_opened(collection: Path) -> None:
    """Record which collection was opened last; ignore errors, as it is only a convenience."""
    said = json.dumps({"path": str(absolute(collection))}).encode()
    with suppress(OSError, RuntimeError):
        folder = state_folder()
        private_folder(folder)
        write_whole(folder / _LAST, said, private=True)


def last_opened() -> Path | None:
    """Return the collection opened last, if it still exists."""
    try:
        path = Path(json.loads((state_folder() / _LAST).read_bytes())["path"])
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None
    return path if path.is_absolute() and is_collection(path) else None
