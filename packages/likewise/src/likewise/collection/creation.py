"""Make a new, empty collection on disk, complete or not at all.

The creator holds the job lease, so two processes that start together make one collection.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from likewise.catalog import jobs
from likewise.catalog.locations import is_collection
from likewise.catalog.pictures import SECRET, new_secret
from likewise.catalog.store import FILE, Store
from likewise.errors import (
    CollectionBusy,
    CollectionError,
    CollectionExists,
    ReadOnlyCollection,
)
from likewise.ingest.new_space import first_recipes, put_first_spaces
from likewise_methods.durable_files import private_folder, rename_whole

_PART = f"{FILE}.part"
_PATIENCE = 30.0
"""Seconds for which another who creates the same collection is waited for: it takes him one."""


def is_vacant(root: Path) -> bool:
    """Return whether a collection can be made there; leftovers of a creation do not count."""
    if not root.exists():
        return True
    return root.is_dir() and all(
        p.name == jobs.FILE or p.name.startswith(_PART) for p in root.iterdir()
    )


def create_collection(
    root: Path, words: Mapping[str, Any] | None, deep: bool | None, all_spaces: bool
) -> None:
    """Make the directory and catalog of an empty collection, or raise ``CollectionExists``."""
    recipes = first_recipes(words, deep, all_spaces)
    _check_vacant(root)
    private_folder(root)
    with _sole_creator(root):
        # Make it under another name first, so that an incomplete collection is not used.
        part = root / _PART
        for leftover in root.glob(f"{_PART}*"):
            leftover.unlink()
        store = Store.create(part, {"made_by": "likewise", SECRET: new_secret()})
        try:
            put_first_spaces(store, recipes)
            store.fold_journal()
        finally:
            store.close()
        rename_whole(part, root / FILE)


def _check_vacant(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise CollectionError(f"{root} is a file; choose another name")
    if is_collection(root):
        raise CollectionExists(f"{root} is a collection already; open it, or choose another name")
    if not is_vacant(root):
        raise CollectionError(f"{root} is not empty and no collection; choose another name")


@contextmanager
def _sole_creator(root: Path) -> Iterator[None]:
    """Hold the lease of a folder while creating the collection."""
    until = time.monotonic() + _PATIENCE
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(jobs.lease(root, "creating the collection"))
                break
            except CollectionBusy:
                # The other process has created it and works on it, or is still creating it.
                _check_vacant(root)
                if time.monotonic() > until:
                    raise
            except ReadOnlyCollection as error:
                raise CollectionError(f"{root} cannot be written; choose another place") from error
        _check_vacant(root)
        yield
