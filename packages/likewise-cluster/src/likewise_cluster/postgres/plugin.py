"""Open a catalog in PostgreSQL for a folder that points to it; the entry point of the schemes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from likewise.catalog.jobs import Report
from likewise.catalog.locations import POINTER, Moved, Pointer, pointer_left_in, write_pointer
from likewise.catalog.sqlite_catalog import FILE
from likewise.catalog.store import Store
from likewise.errors import CollectionError
from likewise_cluster.postgres.addresses import read_address
from likewise_methods.durable_files import rename_whole, sync_folder

COMING_BACK = f"{FILE}.back"
MOVE_TOKEN = "move_token"
"""The setting of a catalog that came back: the id of the move."""


def open(root: Path, pointer: Pointer, address: str | None) -> Store:
    """Open the catalog that a folder points to, and finish a move that was killed."""
    from likewise_cluster.postgres.catalog import PostgresCatalog
    from likewise_cluster.postgres.functions import INCOMING, MOVED_OUT
    from likewise_cluster.postgres.moves import make_live

    # Use only the public part of the pointer's address, because the folder may be untrusted.
    found = PostgresCatalog(read_address(address or str(read_address(pointer.address))))
    try:
        state = found.state()
        if state is not None and state.collection == pointer.collection:
            if state.state == MOVED_OUT:
                found.close()
                finish_coming_back(root, state.token)
                return Store.open(root / FILE)
            if state.state == INCOMING and state.token == pointer.token:
                make_live(found, pointer.token)
        if not (root / POINTER).is_file() or pointer_left_in(root / FILE) is not None:
            write_pointer(root, pointer)
        found.open(pointer.collection)
    except BaseException:
        found.close()
        raise
    return Store(found, root)


def move_here(root: Path, address: str, report: Report) -> Moved:
    """Move the catalog of a folder into PostgreSQL."""
    from likewise_cluster.postgres.moves import move_to_postgres

    return move_to_postgres(root, address, report)


def move_back(root: Path, address: str | None, report: Report) -> Moved:
    """Move the catalog of a folder back into it."""
    from likewise_cluster.postgres.moves import move_to_sqlite

    return move_to_sqlite(root, address, report)


def finish_coming_back(root: Path, token: str) -> None:
    """Take the last step of a move back: rename the file and remove the pointer."""
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
    # Its journal is empty and it has no writer yet, so reading it creates no files.
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as c:
        query = "SELECT value FROM settings WHERE key = ?"
        row = c.execute(query, (MOVE_TOKEN,)).fetchone()
    return None if row is None else str(json.loads(row[0]))
