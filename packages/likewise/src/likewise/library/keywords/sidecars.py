"""Keywords in sidecars beside pictures.

They change without the picture, so every ``add`` and ``sync`` looks at them again: one listing a
folder tells which sidecars there are, and only new or changed ones are opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from likewise.catalog import action_tables, tag_tables
from likewise.catalog.action_tables import SidecarRow
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import SIDECAR, usable
from likewise.library.keywords import xmp
from likewise.library.keywords.picture_keywords import KeywordsFound


def sidecars_of(path: str) -> list[str]:
    """The names a picture's sidecar may have: NAME.EXT.xmp and NAME.xmp, also in capitals."""
    stems = (path, os.path.splitext(path)[0])
    return [f"{stem}{suffix}" for suffix in (".xmp", ".XMP") for stem in stems]


def follow_sidecars(store: Store, *, every: bool = False) -> KeywordsFound:
    """Take in what sidecars say now: new, changed and deleted ones (``every``: all of them)."""
    result = KeywordsFound()
    files = tag_tables.picture_files(store)
    known = action_tables.sidecars(store)
    listed, unseen = _list_sidecars({os.path.dirname(path) for path, _ in files})
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
            new.append(_read_sidecar(name, size, mtime, before.written if before else ()))
    # What cannot be looked at (a folder on a disk that is not there) takes nothing back.
    gone = [
        path
        for path in known
        if path not in listed and path in pictures and not {path, os.path.dirname(path)} & unseen
    ]
    gone += [path for path in known if path not in pictures and not os.path.lexists(path)]
    result.problems += [(row.path, row.problem) for row in new if row.problem]
    # One that cannot be read (half written, perhaps) leaves what was known.
    kept = [
        r._replace(tags=known[r.path].tags, written=known[r.path].written)
        if r.problem and r.path in known
        else r
        for r in new
    ]
    now = {**known, **{row.path: row for row in kept}}
    for path in gone:
        del now[path]
    # Of all pictures, since one that moved leaves its sidecar behind.
    said, last = _tags_by_picture(now.values(), pictures), tag_tables.tags_by_source(store, SIDECAR)
    changed = {
        image: said.get(image, set())
        for image in said.keys() | last.keys()
        if said.get(image, set()) != last.get(image, set())
    }
    result.said = said
    if new or gone or changed:
        with store.write() as c:
            action_tables.drop_sidecars(c, gone)
            for row in kept:
                action_tables.put_sidecar(c, row)
            tag_tables.replace_source(c, SIDECAR, changed)
    return result


def _tags_by_picture(
    sidecars: Iterable[SidecarRow], pictures: Mapping[str, set[int]]
) -> dict[int, set[str]]:
    """What the sidecars of pictures say; what Likewise wrote itself is no news."""
    said: dict[int, set[str]] = {}
    for row in sidecars:
        theirs = set(row.tags) - set(row.written)
        for image in pictures.get(row.path, ()) if theirs else ():
            said.setdefault(image, set()).update(theirs)
    return said


def _list_sidecars(folders: Iterable[str]) -> tuple[dict[str, tuple[int, int]], set[str]]:
    """(sidecars in folders with size and time, folders and sidecars that cannot be looked at)."""
    found: dict[str, tuple[int, int]] = {}
    unseen: set[str] = set()
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.name.endswith((".xmp", ".XMP")):
                        continue
                    try:
                        status = entry.stat()
                    except FileNotFoundError:
                        continue  # a link that leads nowhere
                    except OSError:
                        unseen.add(entry.path)
                        continue
                    if stat.S_ISREG(status.st_mode):
                        found[entry.path] = (status.st_size, status.st_mtime_ns)
        except OSError:
            unseen.add(folder)
    return found, unseen


def _read_sidecar(path: str, size: int, mtime_ns: int, written: Iterable[str]) -> SidecarRow:
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
