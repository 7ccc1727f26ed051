"""Where the catalog of a folder is: a file of SQLite in it, or a database it was moved to.

A folder whose catalog was moved holds ``catalog.postgresql``: the address, without a password, and
which catalog of that database is meant.  That file counts before any ``catalog.sqlite``, and a
file of SQLite that was left behind says itself that it is none any more (``MOVED``): whatever a
crash leaves, an old catalog is never taken for the truth.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from likewise.catalog.sqlite_catalog import FILE, MOVED
from likewise.catalog.store import Store
from likewise.errors import CatalogRefused, CollectionError, DamagedCollection
from likewise_methods.durable_files import rename_whole, sync_folder, write_whole

POINTER = "catalog.postgresql"
VARIABLE = "LIKEWISE_CATALOG"
LEFT_BEHIND = f"{FILE}.moved"
COMING_BACK = f"{FILE}.back"
CATALOG_ID = "catalog_id"
"""The setting that tells this collection's catalog from another's, wherever it is."""
MOVED_TO = "moved_to"
"""The setting of a catalog that was left behind: where it went."""
MOVE_TOKEN = "move_token"
"""The setting of a catalog that came back: by which move."""


@dataclass(frozen=True)
class Pointer:
    """Where a catalog went: its address, which one it is there, and by which move."""

    address: str
    collection: str
    token: str


class Moved(NamedTuple):
    """Where a catalog is now, and how many rows of each table both sides were found to share."""

    place: str
    rows: dict[str, int]


def is_collection(root: Path) -> bool:
    """Whether a folder is a collection, wherever its catalog is."""
    return (root / FILE).is_file() or (root / POINTER).is_file()


def read_pointer(root: Path) -> Pointer | None:
    """Where the catalog of a folder went; None where it is in the folder."""
    try:
        said = json.loads((root / POINTER).read_bytes())
        return Pointer(str(said["address"]), str(said["collection"]), str(said["token"]))
    except FileNotFoundError:
        return _left_behind(root / FILE)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedCollection(
            f"{root / POINTER} does not say where the catalog is ({error}); restore it"
        ) from error


def _left_behind(path: Path) -> Pointer | None:
    """What a file of SQLite says where it was left behind by a move that was then killed."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as c:
            if c.execute("PRAGMA user_version").fetchone()[0] != MOVED:
                return None
            asked = "SELECT value FROM settings WHERE key = ?"
            return Pointer(**json.loads(c.execute(asked, (MOVED_TO,)).fetchone()[0]))
    except sqlite3.Error:
        return None  # whoever opens it says what is wrong
    except (ValueError, TypeError) as error:
        raise DamagedCollection(f"{path} was moved and does not say where to") from error


def write_pointer(root: Path, pointer: Pointer) -> None:
    """From now on the catalog of a folder is elsewhere; what is left behind gets another name."""
    text = json.dumps(asdict(pointer), indent=2).encode() + b"\n"
    write_whole(root / POINTER, text, private=True)
    if (root / FILE).exists():
        rename_whole(root / FILE, root / LEFT_BEHIND)
        for journal in (f"{FILE}-wal", f"{FILE}-shm"):
            (root / journal).unlink(missing_ok=True)


def open_store(root: Path, catalog: str | None = None) -> Store:
    """The store of a folder, wherever its catalog is.

    ``catalog`` (else ``LIKEWISE_CATALOG``) is the address of the database under another name than
    the folder remembers, or with a password; it must hold this very catalog.
    """
    pointer = read_pointer(root)
    if pointer is None:
        if catalog is not None:
            raise CatalogRefused(
                f"the catalog of {root} is in its folder; "
                "'likewise admin move --to ADDRESS' moves it"
            )
        return Store.open(root / FILE)
    from likewise_cluster.postgres.addresses import read_address
    from likewise_cluster.postgres.catalog import PostgresCatalog
    from likewise_cluster.postgres.functions import INCOMING, LEFT
    from likewise_cluster.postgres.moves import make_live

    given = catalog or os.environ.get(VARIABLE)
    # Of what a folder says only the place counts: it may come from anybody.
    found = PostgresCatalog(read_address(given or str(read_address(pointer.address))))
    try:
        state = found.state()
        if state is not None and state.collection == pointer.collection:
            if state.state == LEFT:
                found.close()
                finish_coming_back(root, state.token)
                return Store.open(root / FILE)
            if state.state == INCOMING and state.token == pointer.token:
                # The move was killed when all was done but this.
                make_live(found, pointer.token)
        if not (root / POINTER).is_file() or _left_behind(root / FILE) is not None:
            write_pointer(root, pointer)
        found.open(pointer.collection)
    except BaseException:
        found.close()
        raise
    return Store(found, root)


def finish_coming_back(root: Path, token: str) -> None:
    """The last step of a move back, whoever takes it: the file gets its name."""
    back = root / COMING_BACK
    if back.is_file() and _token_of(back) == token:
        for journal in (f"{FILE}-wal", f"{FILE}-shm"):
            (root / journal).unlink(missing_ok=True)
        rename_whole(back, root / FILE)
    elif not (root / FILE).is_file() or _token_of(root / FILE) != token:
        raise CollectionError(
            f"the catalog of {root} was moved back from PostgreSQL, into another copy of this "
            "folder; use that one, or a backup"
        )
    (root / POINTER).unlink(missing_ok=True)
    sync_folder(root)


def _token_of(path: Path) -> str | None:
    # Its journal is folded, and nobody writes it yet: it is read without a trace.
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as c:
        asked = "SELECT value FROM settings WHERE key = ?"
        row = c.execute(asked, (MOVE_TOKEN,)).fetchone()
    return None if row is None else str(json.loads(row[0]))
