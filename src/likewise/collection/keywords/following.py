"""Tags that come with the files: keywords inside pictures, in sidecars beside them, folder names.

Keywords inside a picture belong to its content and are read once, when it is added.  Sidecars and
folders change without the picture, so every ``add`` and ``sync`` looks at them again: one listing a
folder tells which sidecars there are, and only new or changed ones are opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from likewise.collection.jobs import Progress, Report
from likewise.collection.keywords import xmp
from likewise.collection.keywords.embedded import embedded
from likewise.collection.store import sidecars as catalog_sidecars
from likewise.collection.store import tags as rows
from likewise.collection.store.changes import drop_setting, put_setting
from likewise.collection.store.sidecars import SidecarRow
from likewise.collection.store.store import Store
from likewise.collection.store.tags import FOLDER, IPTC, SIDECAR, XMP
from likewise.collection.tag_names import usable
from likewise.errors import ImageError
from likewise.images import Packets, decode, packets

FOLDERS = "tags_from_folders"
"""The setting: how many folder names become tags; not there when none do."""
_BATCH = 500
# Folders that cameras make, and names without a letter, say nothing about what is seen.  Cameras
# write capitals: 100CANON is one of theirs, 2019Rome is not.
_NO_NAME = re.compile(r"(?i:DCIM)|\d{3}[A-Z0-9_]{5}|[\W\d_]*")
_PNG = b"\x89PNG\r\n\x1a\n"
_TEXTS = (b"iTXt", b"zTXt", b"tEXt", b"eXIf")


@dataclass
class Read:
    """What a look at keywords found; ``problems`` are files that could not be read."""

    said: dict[int, set[str]] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def pictures(self) -> int:
        """Pictures that have keywords."""
        return sum(map(bool, self.said.values()))

    @property
    def tags(self) -> int:
        """Keywords of all pictures, each counted once a picture."""
        return sum(map(len, self.said.values()))

    def __add__(self, other: Read) -> Read:
        said = {i: self.said.get(i, set()) | other.said.get(i, set()) for i in self.said}
        return Read({**other.said, **said}, self.problems + other.problems)


# -- inside pictures --------------------------------------------------------------------------


def read_again(store: Store, report: Report) -> Read:
    """Keywords inside every picture of the collection, for those added before they were read."""
    result = Read()
    total = store.n_images()
    found: dict[str, dict[int, list[str]]] = {XMP: {}, IPTC: {}}

    def put() -> None:
        with store.write() as c:
            for source, said in found.items():
                rows.replace_source(c, source, said)
        for said in found.values():
            said.clear()

    for done, row in enumerate(store.every_image(), 1):
        try:
            said, problem = embedded(_packets(row.path))
        except ImageError as error:
            # A disk that is not there has not taken the keywords back.
            result.problems.append((row.path, error.reason))
            continue
        if problem is not None:
            result.problems.append((row.path, problem))
            continue
        for source in (XMP, IPTC):
            found[source][row.id] = said.get(source, [])
        result.said[row.id] = {tag for tags in said.values() for tag in tags}
        report(Progress("reading keywords", done, total, problems=len(result.problems)))
        if done % _BATCH == 0:
            put()
    put()
    return result


def _packets(path: str) -> Packets:
    """All that a file carries, from its header where that is enough."""
    try:
        late = _late(path)
    except OSError:
        late = False  # whatever is wrong, the reader will say it
    return decode(path, max_side=64).packets if late else packets(path)


def _late(path: str) -> bool:
    """Whether this is a PNG with texts behind its pixels, where only a full read finds them."""
    with open(path, "rb") as file:
        if file.read(8) != _PNG:
            return False
        pixels = False
        while len(head := file.read(8)) == 8:
            kind = head[4:]
            if pixels and kind in _TEXTS:
                return True
            pixels |= kind == b"IDAT"
            file.seek(int.from_bytes(head[:4], "big") + 4, os.SEEK_CUR)
    return False


# -- beside them --------------------------------------------------------------------------------


def sidecars_of(path: str) -> list[str]:
    """The names a picture's sidecar may have: NAME.EXT.xmp and NAME.xmp, also in capitals."""
    stems = (path, os.path.splitext(path)[0])
    return [f"{stem}{suffix}" for suffix in (".xmp", ".XMP") for stem in stems]


def follow_sidecars(store: Store, *, every: bool = False) -> Read:
    """Take in what sidecars say now: new, changed and deleted ones (``every``: all of them)."""
    result = Read()
    files = rows.picture_files(store)
    known = catalog_sidecars.sidecars(store)
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
    said, last = _union(now.values(), pictures), rows.tags_by_source(store, SIDECAR)
    changed = {
        image: said.get(image, set())
        for image in said.keys() | last.keys()
        if said.get(image, set()) != last.get(image, set())
    }
    result.said = said
    if new or gone or changed:
        with store.write() as c:
            catalog_sidecars.drop_sidecars(c, gone)
            for row in kept:
                catalog_sidecars.put_sidecar(c, row)
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


def follow_folders(store: Store) -> int:
    """Tags by folder names, as the setting has it; gives how many changed."""
    changed = _by_folders(store, store.setting(FOLDERS))
    if not changed:
        return 0
    with store.write() as c:
        return rows.replace_source(c, FOLDER, changed)


def set_folders(store: Store, levels: int | None) -> int:
    """Folder names are tags from now on (None: no more), these at once; gives how many changed."""
    with store.write() as c:
        if levels is None:
            drop_setting(c, FOLDERS)
        else:
            put_setting(c, FOLDERS, levels)
        return rows.replace_source(c, FOLDER, _by_folders(store, levels))


def _by_folders(store: Store, levels: int | None) -> dict[int, set[str]]:
    """Pictures of which folders say something else now, with all that they say."""
    before = rows.tags_by_source(store, FOLDER)
    now: dict[int, set[str]] = {}
    if levels:
        files = rows.picture_files(store)
        places = _places(store.roots(), {os.path.dirname(path) for path, _ in files})
        names: dict[str, list[str]] = {}
        for path, image in files:
            folder = os.path.dirname(path)
            if folder not in names:
                names[folder] = folder_names(folder, places, int(levels))
            if names[folder]:
                now.setdefault(image, set()).update(names[folder])
    return {
        image: now.get(image, set())
        for image in before.keys() | now.keys()
        if before.get(image, set()) != now.get(image, set())
    }


def _places(roots: Iterable[str], folders: Iterable[str]) -> dict[str, bool]:
    """What was added, and whether the name of such a folder counts itself.

    It says something only where it is the folder of a kind: where no picture lies in a folder
    below it.
    """
    above = {parent for folder in folders for parent in _upwards(os.path.dirname(folder))}
    return {root: root not in above for root in roots}


def _upwards(folder: str) -> Iterator[str]:
    """A folder and all above it."""
    last = ""
    while folder != last:
        yield folder
        last, folder = folder, os.path.dirname(folder)


def folder_names(folder: str, places: Mapping[str, bool], levels: int) -> list[str]:
    """The names of the last ``levels`` folders, this one the last, below what was added.

    >>> folder_names("/p/animals/cats", {"/p": False}, 1)
    ['cats']
    """
    names: list[str] = []
    for at in _upwards(folder):
        if at in places:
            names += [os.path.basename(at)] if places[at] else []
            break
        names.append(os.path.basename(at))
    else:
        # A picture that was added by itself: the folder it lies in.
        names, levels = [os.path.basename(folder)], 1
    return usable(name for name in reversed(names[:levels]) if not _NO_NAME.fullmatch(name))
