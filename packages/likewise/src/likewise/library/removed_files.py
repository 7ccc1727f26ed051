"""Files of removed pictures: moved out of their folders, never deleted.

They go to ``removed/N/`` in the collection, where N is the action, so undoing it can move them
back.  A file is moved only if it still is the removed picture, byte for byte.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from likewise.catalog.content import digest_of_file, plain_name
from likewise.errors import ImageError
from likewise.images.decode import recognise
from likewise_methods.durable_files import private_folder, rename_whole, sync_file, sync_folder

FOLDER = "removed"
Problem = tuple[str, str]


def places_for(paths: Iterable[str], action: int) -> dict[str, str]:
    """Return target paths in the collection's folder; numbers keep equal names apart."""
    return {
        path: f"{FOLDER}/{action}/{number:05d}-{_plain(os.path.basename(path))}"
        for number, path in enumerate(sorted(paths), 1)
    }


def _plain(name: str) -> str:
    """Return a file name with safe characters only."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name)[-60:]


def move_away(root: Path, moves: Mapping[str, str], digests: Mapping[str, bytes]) -> list[Problem]:
    """Move files to their targets; return those that stay, with the reason."""
    problems = []
    for path, place in moves.items():
        try:
            if os.path.islink(path):
                raise OSError(None, "it is a link")
            if digest_of_file(path) != digests[path]:
                raise OSError(None, "it was changed since it was added")
            private_folder(root / FOLDER)
            private_folder((root / place).parent)
            _move(Path(path), root / place)
        except OSError as error:
            problems.append((path, f"stays where it is: {error.strerror or error}"))
    return problems


def move_back(root: Path, moves: Mapping[str, str]) -> list[Problem]:
    """Move files back; return those that stay, with the reason."""
    problems = []
    for path, place in moves.items():
        kept = root / plain_name(place)
        if kept.is_symlink() or not kept.is_file():
            continue  # it was never moved, or was deleted
        try:
            # A catalog may be untrusted: move only pictures.
            recognise(kept)
            if os.path.lexists(path):
                raise OSError(None, "another file has that name now")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _move(kept, Path(path))
        except ImageError as error:
            problems.append((path, f"stays in {kept}: {error.reason}"))
        except OSError as error:
            problems.append((path, f"stays in {kept}: {error.strerror or error}"))
    return problems


def holds_files(root: Path) -> bool:
    """Return whether the collection's folder holds files of removed pictures."""
    return any(files for _, _, files in os.walk(root / FOLDER))


def _move(source: Path, target: Path) -> None:
    """Rename a file; on another disk copy it, compare, and delete the original."""
    try:
        rename_whole(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        sync_folder(source.parent)
        return
    part = target.with_name(f"{target.name}.part")
    try:
        shutil.copy2(source, part)
        sync_file(part)
        if digest_of_file(part) != digest_of_file(source):
            raise OSError(None, "its copy differs from it")
        rename_whole(part, target)
    finally:
        part.unlink(missing_ok=True)
    source.unlink()
    sync_folder(source.parent)
