"""Tags that come with the files: keywords inside pictures, in sidecars beside them, folder names.

Keywords inside a picture belong to its content and are read once, when it is added.  Sidecars and
folders change without the picture, so every ``add`` and ``sync`` looks at them again: one listing a
folder tells which sidecars there are, and only new or changed ones are opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from likewise.collection import catalog_tags as rows
from likewise.collection import xmp
from likewise.collection.catalog import Catalog
from likewise.collection.catalog_tags import FOLDER, IPTC, SIDECAR, XMP, SidecarRow
from likewise.collection.embedded import embedded
from likewise.collection.jobs import Progress, Report
from likewise.collection.tag_names import usable
from likewise.errors import ImageError
from likewise.images import packets

FOLDERS = "tags_from_folders"
"""The setting: how many folder names become tags; not there when none do."""
_BATCH = 500
# Folders that cameras make, and names without a letter, say nothing about what is seen.
_NO_NAME = re.compile(r"DCIM|\d{3}[A-Z0-9_]{5}|[\W\d_]*", re.IGNORECASE)


@dataclass
class Read:
    """What a look at keywords found; ``problems`` are files that could not be read."""

    pictures: int = 0
    tags: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)


# -- inside pictures --------------------------------------------------------------------------


def read_again(catalog: Catalog, report: Report) -> Read:
    """Keywords inside every picture of the collection, for those added before they were read."""
    result = Read()
    total = catalog.n_images()
    found: dict[str, dict[int, list[str]]] = {XMP: {}, IPTC: {}}

    def put() -> None:
        with catalog.write() as c:
            for source, said in found.items():
                rows.replace_source(c, source, said)
        for said in found.values():
            said.clear()

    for done, row in enumerate(catalog.every_image(), 1):
        try:
            said, problem = embedded(packets(row.path))
        except ImageError as error:
            # A disk that is not there has not taken the keywords back.
            result.problems.append((row.path, error.reason))
            continue
        if problem is not None:
            result.problems.append((row.path, problem))
            continue
        for source in (XMP, IPTC):
            found[source][row.id] = said.get(source, [])
        result.pictures += bool(said)
        result.tags += len({tag for tags in said.values() for tag in tags})
        report(Progress("reading keywords", done, total, problems=len(result.problems)))
        if done % _BATCH == 0:
            put()
    put()
    return result


# -- beside them --------------------------------------------------------------------------------


def sidecars_of(path: str) -> list[str]:
    """The names a picture's sidecar may have: NAME.EXT.xmp and NAME.xmp, also in capitals."""
    stems = (path, os.path.splitext(path)[0])
    return [f"{stem}{suffix}" for suffix in (".xmp", ".XMP") for stem in stems]


def follow_sidecars(catalog: Catalog, *, every: bool = False) -> Read:
    """Take in what sidecars say now: new, changed and deleted ones (``every``: all of them)."""
    result = Read()
    files = rows.picture_files(catalog)
    known = rows.sidecars(catalog)
    listed, unseen = _listed({os.path.dirname(path) for path, _ in files})
    pictures: dict[str, set[int]] = {}
    for path, image in files:
        for name in sidecars_of(path):
            if name in listed or name in known:
                pictures.setdefault(name, set()).add(image)
    new: list[SidecarRow] = []
    for name in sorted(pictures.keys() & listed.keys()):
        before = known.get(name)
        size, mtime = listed[name]
        if before is None or every or (before.size, before.mtime_ns) != (size, mtime):
            new.append(_read(name, size, mtime, before.written if before else ()))
    # A folder that cannot be listed (a disk that is not there) takes nothing back.
    gone = [
        path
        for path in known
        if path not in listed and path in pictures and os.path.dirname(path) not in unseen
    ]
    gone += [path for path in known if path not in pictures and not os.path.lexists(path)]
    result.problems += [(row.path, row.problem) for row in new if row.problem]
    # One that cannot be read (half written, perhaps) leaves what was known.
    kept = [
        r._replace(tags=known[r.path].tags) if r.problem and r.path in known else r for r in new
    ]
    now = {**known, **{row.path: row for row in kept}}
    for path in gone:
        del now[path]
    # Of all pictures, since one that moved leaves its sidecar behind.
    said, last = _union(now.values(), pictures), rows.said_by(catalog, SIDECAR)
    changed = {
        image: said.get(image, set())
        for image in said.keys() | last.keys()
        if said.get(image, set()) != last.get(image, set())
    }
    result.pictures, result.tags = len(said), sum(map(len, said.values()))
    if new or gone or changed:
        with catalog.write() as c:
            rows.drop_sidecars(c, gone)
            for row in kept:
                rows.put_sidecar(c, row)
            rows.replace_source(c, SIDECAR, changed)
    return result


def _union(sidecars: Iterable[SidecarRow], pictures: Mapping[str, set[int]]) -> dict[int, set[str]]:
    """What the sidecars of pictures say; what Likewise wrote itself is no news."""
    said: dict[int, set[str]] = {}
    for row in sidecars:
        theirs = set(row.tags) - set(row.written)
        for image in pictures.get(row.path, ()) if theirs else ():
            said.setdefault(image, set()).update(theirs)
    return said


def _listed(folders: Iterable[str]) -> tuple[dict[str, tuple[int, int]], set[str]]:
    """(sidecars in folders with size and time, folders that cannot be listed)."""
    found: dict[str, tuple[int, int]] = {}
    unseen: set[str] = set()
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.name.endswith((".xmp", ".XMP")):
                        continue
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode):
                        found[entry.path] = (status.st_size, status.st_mtime_ns)
        except OSError:
            unseen.add(folder)
    return found, unseen


def _read(path: str, size: int, mtime_ns: int, written: Iterable[str]) -> SidecarRow:
    tags: list[str] = []
    problem = None
    try:
        if size > xmp.LARGEST:
            raise xmp.UnusableXmp(f"it has {size:,} bytes; {xmp.LARGEST:,} at most are read")
        tags = usable(xmp.keywords(Path(path).read_bytes()))
    except xmp.UnusableXmp as error:
        problem = f"its XMP cannot be read: {error}"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    still = tuple(tag for tag in written if tag in set(tags))
    return SidecarRow(path, size, mtime_ns, tuple(tags), still, problem)


# -- above them ---------------------------------------------------------------------------------


def follow_folders(catalog: Catalog) -> int:
    """Tags by folder names, as the setting has it; gives how many changed."""
    levels = catalog.setting(FOLDERS)
    before = rows.said_by(catalog, FOLDER)
    now: dict[int, set[str]] = {}
    if levels:
        files = rows.picture_files(catalog)
        places = _places(catalog.roots(), [path for path, _ in files])
        for path, image in files:
            names = folder_names(path, places, int(levels))
            if names:
                now.setdefault(image, set()).update(names)
    changed = {
        image: now.get(image, set())
        for image in before.keys() | now.keys()
        if before.get(image, set()) != now.get(image, set())
    }
    if not changed:
        return 0
    with catalog.write() as c:
        return rows.replace_source(c, FOLDER, changed)


def _places(roots: Iterable[str], files: Iterable[str]) -> list[tuple[str, bool]]:
    """Added folders, deepest first, and whether their own name counts.

    The name of a folder that was added says something only where it is the folder of a kind:
    where no picture lies in a folder below it.
    """
    folders = {os.path.dirname(path) for path in files}
    found = []
    for root in sorted(roots, key=len, reverse=True):
        inside = root.rstrip(os.sep) + os.sep
        found.append((root, not any(folder.startswith(inside) for folder in folders)))
    return found


def folder_names(path: str, places: Iterable[tuple[str, bool]], levels: int) -> list[str]:
    """The names of the last ``levels`` folders a picture lies in, below what was added.

    >>> folder_names("/p/animals/cats/1.jpg", [("/p", False)], 1)
    ['cats']
    """
    folder = os.path.dirname(path)
    for root, counts in places:
        if folder == root or folder.startswith(root.rstrip(os.sep) + os.sep):
            parts = PurePath(os.path.relpath(folder, root)).parts if folder != root else ()
            names = [*([os.path.basename(root)] if counts else []), *parts]
            return usable(name for name in names[-levels:] if not _NO_NAME.fullmatch(name))
    # A picture that was added by itself: the folder it lies in.
    name = os.path.basename(folder)
    return [] if _NO_NAME.fullmatch(name) else usable([name])
