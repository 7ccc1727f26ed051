"""Tags from folder names, updated by every ``add`` and ``sync``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from likewise.catalog import tag_tables
from likewise.catalog.changes import drop_setting, put_setting
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import FOLDER, usable

FOLDERS = "tags_from_folders"
"""The setting: how many folder names become tags; not there when none do."""
# Names of camera folders, and names without a letter, describe no content.  Cameras use capitals,
# as in 100CANON; 2019Rome is no camera folder.
_NO_NAME = re.compile(r"(?i:DCIM)|\d{3}[A-Z0-9_]{5}|[\W\d_]*")


def follow_folders(store: Store) -> int:
    """Update the tags from folder names; return how many changed."""
    changed = _changed_tags(store, store.setting(FOLDERS))
    if not changed:
        return 0
    with store.write() as c:
        return tag_tables.replace_source(c, FOLDER, changed)


def set_folders(store: Store, levels: int | None) -> int:
    """Set how many folder names become tags (None: none); return how many tags changed."""
    with store.write() as c:
        if levels is None:
            drop_setting(c, FOLDERS)
        else:
            put_setting(c, FOLDERS, levels)
        return tag_tables.replace_source(c, FOLDER, _changed_tags(store, levels))


def _changed_tags(store: Store, levels: int | None) -> dict[int, set[str]]:
    """Return all folder tags of the pictures for which they changed."""
    before = tag_tables.tags_by_source(store, FOLDER)
    now: dict[int, set[str]] = {}
    if levels:
        files = tag_tables.picture_files(store)
        places = _named_roots(store.roots(), {os.path.dirname(path) for path, _ in files})
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


def _named_roots(roots: Iterable[str], folders: Iterable[str]) -> dict[str, bool]:
    """Return the added folders, and whether the name of each counts as a tag.

    It counts only where no picture lies in a subfolder.
    """
    above = {
        parent for folder in folders for parent in _folder_and_parents(os.path.dirname(folder))
    }
    return {root: root not in above for root in roots}


def _folder_and_parents(folder: str) -> Iterator[str]:
    """Yield a folder and all its parents."""
    last = ""
    while folder != last:
        yield folder
        last, folder = folder, os.path.dirname(folder)


def folder_names(folder: str, places: Mapping[str, bool], levels: int) -> list[str]:
    """Return the names of the last ``levels`` folders below what was added.

    >>> folder_names("/p/animals/cats", {"/p": False}, 1)
    ['cats']
    """
    names: list[str] = []
    for at in _folder_and_parents(folder):
        if at in places:
            names += [os.path.basename(at)] if places[at] else []
            break
        names.append(os.path.basename(at))
    else:
        # A picture that was added by itself: use its folder.
        names, levels = [os.path.basename(folder)], 1
    return usable(name for name in reversed(names[:levels]) if not _NO_NAME.fullmatch(name))
