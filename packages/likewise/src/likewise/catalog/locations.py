"""Where the catalog of a folder is: a SQLite file in it, or a database it was moved to.

A folder whose catalog was moved has a file ``catalog.postgresql``: the address, without a password,
and the id of the catalog in that database.  That file takes precedence over any ``catalog.sqlite``,
and a remaining SQLite file is marked as such (``MOVED``), so after a crash an old catalog is never
used as the current one.  A plug-in of the address's scheme opens a moved catalog.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from likewise.catalog.jobs import Report, silent
from likewise.catalog.sqlite_catalog import FILE, MOVED
from likewise.catalog.store import Store
from likewise.errors import CatalogRefused, CollectionError, DamagedCollection, InvalidInput
from likewise.plugins import CATALOGS, PluginMissing, load
from likewise_methods.durable_files import rename_whole, write_whole

POINTER = "catalog.postgresql"
VARIABLE = "LIKEWISE_CATALOG"
FOLDER = "sqlite"
"""The target of a move that brings the catalog back into the folder."""
LEFT_BEHIND = f"{FILE}.moved"
MOVED_TO = "moved_to"
"""The setting of a catalog that was left behind: where it went."""


@dataclass(frozen=True)
class Pointer:
    """Where a catalog is: its address, its id at that address, and the id of the move."""

    address: str
    collection: str
    token: str


class Moved(NamedTuple):
    """Where a catalog is now, and how many rows of each table were compared."""

    place: str
    rows: dict[str, int]


class CatalogPlugin(Protocol):
    """Opens catalogs of one scheme of addresses; an entry point of ``likewise.catalogs``."""

    def open(self, root: Path, pointer: Pointer, address: str | None) -> Store:
        """Open the catalog that a folder points to; ``address`` is another one of the same place,
        for example with a password."""

    def move_here(self, root: Path, address: str, report: Report) -> Moved:
        """Move the catalog of a folder to an address, and point to it (:func:`write_pointer`)."""

    def move_back(self, root: Path, address: str | None, report: Report) -> Moved:
        """Move the catalog of a folder back into it, and remove the pointer."""


def is_collection(root: Path) -> bool:
    """Return whether a folder is a collection, wherever its catalog is."""
    return (root / FILE).is_file() or (root / POINTER).is_file()


def read_pointer(root: Path) -> Pointer | None:
    """Return where the catalog of a folder is; None if it is in the folder."""
    try:
        held = json.loads((root / POINTER).read_bytes())
        return Pointer(str(held["address"]), str(held["collection"]), str(held["token"]))
    except FileNotFoundError:
        return pointer_left_in(root / FILE)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedCollection(
            f"{root / POINTER} does not say where the catalog is ({error}); restore it"
        ) from error


def pointer_left_in(path: Path) -> Pointer | None:
    """Return the pointer in a SQLite file left by a move that was killed."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as c:
            if c.execute("PRAGMA user_version").fetchone()[0] != MOVED:
                return None
            query = "SELECT value FROM settings WHERE key = ?"
            return Pointer(**json.loads(c.execute(query, (MOVED_TO,)).fetchone()[0]))
    except sqlite3.Error:
        return None  # opening it reports what is wrong
    except (ValueError, TypeError) as error:
        raise DamagedCollection(f"{path} was moved and does not say where to") from error


def write_pointer(root: Path, pointer: Pointer) -> None:
    """Point a folder to its catalog, and rename a remaining SQLite file."""
    text = json.dumps(asdict(pointer), indent=2).encode() + b"\n"
    write_whole(root / POINTER, text, private=True)
    if (root / FILE).exists():
        rename_whole(root / FILE, root / LEFT_BEHIND)
        for journal in (f"{FILE}-wal", f"{FILE}-shm"):
            (root / journal).unlink(missing_ok=True)


def open_store(root: Path, catalog: str | None = None) -> Store:
    """Open the store of a folder, wherever its catalog is.

    ``catalog`` (else ``LIKEWISE_CATALOG``) is another address of the same database, for example
    with a password; it must hold this very catalog.
    """
    pointer = read_pointer(root)
    if pointer is not None:
        return _plugin_of(pointer.address).open(root, pointer, catalog or os.environ.get(VARIABLE))
    if catalog is not None:
        raise CatalogRefused(
            f"the catalog of {root} is in its folder; 'likewise admin move --to ADDRESS' moves it"
        )
    return Store.open(root / FILE)


def move_catalog(root: Path, to: str, catalog: str | None = None, report: Report = silent) -> Moved:
    """Move the catalog of a collection to an address, or back into its folder ("sqlite")."""
    if not is_collection(root):
        raise CollectionError(f"{root} is not a collection")
    if to != FOLDER:
        return _plugin_of(to).move_here(root, to, report)
    pointer = read_pointer(root)
    if pointer is None:
        raise CollectionError(f"the catalog of {root} is in its folder already")
    return _plugin_of(pointer.address).move_back(root, catalog, report)


def _plugin_of(address: str) -> CatalogPlugin:
    scheme, sign, _ = address.partition("://")
    try:
        found: CatalogPlugin = load(CATALOGS, scheme)
    except PluginMissing as error:
        if error.package is None or not sign:
            raise InvalidInput(
                f"to is {address!r}; an address like postgresql://user@host:5432/database, or "
                f"{FOLDER}, expected"
            ) from None
        raise CatalogRefused(f"a catalog at {scheme}:// cannot be opened: {error}") from error
    return found
