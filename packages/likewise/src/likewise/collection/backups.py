"""Backup and restore: a consistent copy made while the collection is in use.

Files never change once the catalog names them, so a copy of the catalog and of its files is the
state of one moment.  If a job deletes a file before it is copied, the catalog is copied again.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from likewise.catalog import key_table
from likewise.catalog.segments import sweep
from likewise.catalog.store import FILE, Store
from likewise.collection.integrity import verify
from likewise.errors import CollectionError, DamagedCollection
from likewise.learning.log import timestamp
from likewise.learning.shares import Shares
from likewise_methods.durable_files import private_folder, rename_whole, sync_file

_PLAIN_ONLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_TRIES = 100
"""How often the catalog is copied again when files go before they are copied."""


class Closed(NamedTuple):
    """How many keys and links of a backup do not work in the restored collection."""

    keys: int
    links: int


def backup(store: Store, target: Path) -> Path:
    """Copy the collection to a new folder, complete and checked."""
    if target.exists():
        raise CollectionError(f"{target} exists already; choose another name for the backup")
    if store.root == target or store.root in target.parents:
        raise CollectionError(f"{target} lies inside the collection; choose a place outside")
    with _temporary_folder(target) as part:
        for attempt in range(_TRIES):
            try:
                _copy_state(store, part)
            except OSError as error:
                if not isinstance(error, FileNotFoundError):
                    raise CollectionError(f"{target} cannot be written: {error}") from error
                if attempt + 1 == _TRIES or not catalog_moved(store, part):
                    raise DamagedCollection(f"a file is missing ({error}); run verify") from error
            else:
                break
        wrong = _check(part)
        if wrong:
            raise DamagedCollection(
                f"{store.root} is damaged and no backup was made: {_first_of(wrong)}"
            )
        rename_whole(part, target)
    return target


@contextmanager
def _temporary_folder(target: Path) -> Iterator[Path]:
    """Make a temporary folder next to the target, and delete what is left of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
    part.mkdir(mode=0o700)
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _check(part: Path) -> list[str]:
    """Return what is wrong with a copy."""
    copy = Store.open(part / FILE)
    try:
        wrong = verify(copy)
        copy.fold_journal()
    finally:
        copy.close()
    return wrong


def _first_of(wrong: list[str]) -> str:
    return wrong[0] + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else "")


def _copy_state(store: Store, part: Path) -> None:
    """Update a copy to the current state."""
    for old in part.glob(f"{FILE}*"):
        old.unlink()
    store.backup_to(part / FILE)
    copy = Store.open(part / FILE)
    try:
        named = copy.named_files()
        sweep(part, named)
        _copy_named(store.root, part, named)
        copy.fold_journal()
    finally:
        copy.close()


def _copy_named(source: Path, part: Path, named: set[str]) -> None:
    for name in sorted(named):
        if not (part / name).exists():
            # It gets its name only when complete: a later attempt relies on that.
            shutil.rmtree(part / "copying", ignore_errors=True)
            private_folder(part / "copying")
            _copy(source / name, part / "copying" / "one")
            private_folder((part / name).parent)
            os.replace(part / "copying" / "one", part / name)
    shutil.rmtree(part / "copying", ignore_errors=True)


def catalog_moved(store: Store, part: Path) -> bool:
    """Return whether the collection changed since its catalog was copied."""
    copy = Store.open(part / FILE)
    try:
        return copy.revision != store.revision
    finally:
        copy.close()


def restore(source: Path, target: Path) -> Closed:
    """Make a collection from a backup, after checking all of it.

    No key or guest link works in it; return how many worked in the backup.  A backup may come from
    anyone: links and devices in it are refused, and only files that its catalog names are copied.
    """
    if not (source / FILE).is_file():
        raise CollectionError(f"{source} is not a backup (it has no {FILE})")
    if target.exists():
        raise CollectionError(f"{target} exists already; choose another name")
    for folder, folders, files in os.walk(source):
        for name in (*folders, *files):
            _kind_of(Path(folder) / name)
    try:
        with _temporary_folder(target) as part:
            # A collection copied by hand may have its last changes in the journal.
            for name in (FILE, f"{FILE}-wal"):
                if (source / name).exists():
                    _copy(source / name, part / name)
                    os.chmod(part / name, 0o600)
            copy = Store.open(part / FILE)
            try:
                named = copy.named_files()
            finally:
                copy.close()
            try:
                _copy_named(source, part, named)
            except FileNotFoundError as error:
                raise DamagedCollection(f"a file is missing ({error.filename})") from error
            wrong = _check(part)
            if wrong:
                raise DamagedCollection(_first_of(wrong))
            closed = _revoke_access(part)
            rename_whole(part, target)
    except DamagedCollection as error:
        raise DamagedCollection(f"{source} is damaged and was not restored: {error}") from error
    return closed


def _revoke_access(part: Path) -> Closed:
    """Revoke all keys and links: some may have been revoked after the backup was made."""
    copy = Store.open(part / FILE)
    try:
        keys = len(key_table.working_keys(copy))
        if keys:
            with copy.write(durable=True) as c:
                key_table.revoke_every_key(c, timestamp())
        closed = Closed(keys, Shares(copy).revoke_all())
        if any(closed):
            copy.fold_journal()
    finally:
        copy.close()
    return closed


def _kind_of(path: Path) -> bool:
    """Return whether this is a folder; refuse links, devices and pipes."""
    mode = path.lstat().st_mode
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise CollectionError(
            f"{path} is neither a plain file nor a folder (a link, a device or a pipe); a backup "
            "holds nothing of the kind"
        )
    return stat.S_ISDIR(mode)


def _copy(source: Path, target: Path) -> None:
    """Copy a file or folder to disk without following links."""
    if _kind_of(source):
        target.mkdir(mode=0o700)
        for child in sorted(source.iterdir()):
            _copy(child, target / child.name)
        return
    # It may have become a link, or a pipe that waits for a writer, since the check.
    handle = os.open(source, os.O_RDONLY | _PLAIN_ONLY)
    with open(handle, "rb") as old, open(target, "xb") as new:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise CollectionError(f"{source} is no plain file; a backup holds nothing of the kind")
        shutil.copyfileobj(old, new, 1 << 20)
    sync_file(target)
