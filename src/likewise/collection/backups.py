"""Backup and restore: a consistent copy made while the collection is in use.

Files of a collection never change once the catalog names them, so a copy of the catalog and of
the files it names is the state of one moment.  A job may sweep a file away in between; then the
catalog is copied again.  No name is used twice, so files that were copied by then are not copied
again.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from likewise._durable import rename_whole, sync_file
from likewise.collection.errors import CollectionError, DamagedCollection
from likewise.collection.integrity import verify
from likewise.collection.store.segments import sweep
from likewise.collection.store.store import FILE, Store

_TRIES = 100
"""How often the catalog is copied again when files go before they are copied."""


def backup(store: Store, target: Path) -> Path:
    """Copy the collection to a new folder ``target``; it appears whole or not at all."""
    if target.exists():
        raise CollectionError(f"{target} exists already; choose another name for the backup")
    if store.root == target or store.root in target.parents:
        raise CollectionError(f"{target} lies inside the collection; choose a place outside")
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        for attempt in range(_TRIES):
            try:
                _copy_state(store, part)
            except OSError as error:
                if not _misses(error):
                    raise CollectionError(f"{target} cannot be written: {error}") from error
                if attempt + 1 == _TRIES or not catalog_moved(store, part):
                    raise DamagedCollection(f"a file is missing ({error}); run verify") from error
            else:
                break
        rename_whole(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _misses(error: OSError) -> bool:
    """Whether something was not there; copytree gathers all that it could not copy."""
    if isinstance(error, shutil.Error):
        return any(not os.path.exists(source) for source, _, _ in error.args[0])
    return isinstance(error, FileNotFoundError)


def _copy_state(store: Store, part: Path) -> None:
    """Make ``part`` the state of now, from what is in it already and the files it lacks."""
    for old in part.glob(f"{FILE}*"):
        old.unlink()
    store.backup_to(part / FILE)
    copy = Store.open(part / FILE)
    try:
        named = copy.named_files()
        sweep(part, named)
        for name in sorted(named):
            if not (part / name).exists():
                # Under its name only when it is whole: a later attempt relies on that.
                shutil.rmtree(part / "copying", ignore_errors=True)
                _copy(store.root / name, part / "copying" / "one")
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(part / "copying" / "one", part / name)
        shutil.rmtree(part / "copying", ignore_errors=True)
        copy.fold_journal()
    finally:
        copy.close()


def catalog_moved(store: Store, part: Path) -> bool:
    """Whether the collection changed since the copy of its catalog was made."""
    copy = Store.open(part / FILE)
    try:
        return copy.revision != store.revision
    finally:
        copy.close()


def restore(source: Path, target: Path) -> None:
    """A collection from a backup, checked byte by byte before it gets its name."""
    if not (source / FILE).is_file():
        raise CollectionError(f"{source} is not a backup (it has no {FILE})")
    if target.exists():
        raise CollectionError(f"{target} exists already; choose another name")
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        _copy(source, part)
        store = Store.open(part / FILE)
        try:
            wrong = verify(store)
            store.fold_journal()
        finally:
            store.close()
        if wrong:
            raise DamagedCollection(
                f"{source} is damaged and was not restored: {wrong[0]}"
                + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else "")
            )
        rename_whole(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)
    for path in target.rglob("*") if target.is_dir() else [target]:
        if path.is_file():
            sync_file(path)
