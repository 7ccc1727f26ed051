"""Move a catalog from its folder into PostgreSQL, and back: compared, and switched by one commit.

To PostgreSQL: the SQLite file is locked for writing.  All rows are copied in one transaction, read
again and compared; then one commit *in the file* marks it as moved.  Back: the database is locked
for writing, a new file is written and compared, and one commit *in the database* marks it as moved.
If killed before that commit, the source is still the catalog; after it, the target is, and opening
the folder completes the remaining steps.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from likewise.catalog import locations
from likewise.catalog.jobs import Report, silent
from likewise.catalog.locations import Moved, Pointer
from likewise.catalog.sqlite_catalog import FILE, MOVED, SQLiteCatalog, translate_error
from likewise.catalog.sums import put_sum
from likewise.errors import CatalogRefused, CollectionError
from likewise_cluster.postgres import copies, functions
from likewise_cluster.postgres.addresses import Address, read_address
from likewise_cluster.postgres.catalog import PostgresCatalog, key_of, read_state
from likewise_cluster.postgres.connections import Connection, open_connection
from likewise_cluster.postgres.plugin import COMING_BACK, MOVE_TOKEN, finish_coming_back
from likewise_methods.durable_files import sync_file

CATALOG_ID = "catalog_id"
"""The setting that tells this collection's catalog from another's."""


def move_to_postgres(root: Path, text: str, report: Report = silent) -> Moved:
    """Move the catalog of a folder into PostgreSQL."""
    address = read_address(text)
    pointer = locations.read_pointer(root)
    if pointer is not None:
        raise CollectionError(f"the catalog of {root} is in {pointer.address} already")
    catalog = SQLiteCatalog.open(root / FILE)
    try:
        with catalog.lease("move"):
            moved, pointer = _move(catalog, address, report)
            catalog.fold_journal()
            catalog.close()
            there = PostgresCatalog(address)
            try:
                make_live(there, pointer.token)
            finally:
                there.close()
            locations.write_pointer(root, pointer)
            return moved
    finally:
        catalog.close()


def _move(catalog: SQLiteCatalog, address: Address, report: Report) -> tuple[Moved, Pointer]:
    pointer = Pointer(str(address), _name_collection(catalog), secrets.token_hex(16))
    c = catalog.connect()
    try:
        c.execute("PRAGMA synchronous = FULL")
        c.execute("BEGIN IMMEDIATE")
        try:
            rows = _copy_there(c, address, pointer, report)
            c.execute(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)",
                (locations.MOVED_TO, json.dumps(asdict(pointer))),
            )
            # From this commit on the catalog is in PostgreSQL; the file is not written any more.
            c.execute(f"PRAGMA user_version = {MOVED}")
            c.execute("COMMIT")
        except BaseException:
            if c.in_transaction:
                c.execute("ROLLBACK")
            raise
    except sqlite3.Error as error:
        raise translate_error(error, catalog.path) from error
    return Moved(str(address), rows), pointer


def _name_collection(catalog: SQLiteCatalog) -> str:
    """Return the id of this catalog, written before its first move.

    It identifies as ours what a killed move leaves in the database.
    """
    asked = "SELECT value FROM settings WHERE key = ?"
    found = catalog.one(asked, (CATALOG_ID,))
    if found is None:
        with catalog.write(durable=True) as c:
            found = json.dumps(secrets.token_hex(16))
            c.execute("INSERT INTO settings VALUES (?, ?)", (CATALOG_ID, found))
    return str(json.loads(found))


def _copy_there(
    c: sqlite3.Connection, address: Address, pointer: Pointer, report: Report
) -> dict[str, int]:
    target = open_connection(address, "likewise moves")
    try:
        target.run(f"BEGIN; SELECT pg_advisory_xact_lock({key_of(address, 'write')})")
        _prepare_schema(target, address, pointer.collection)
        copies.fill(target, c, (functions.INCOMING, pointer.collection, pointer.token), report)
        target.commit()
        # Read back what was committed, in a transaction of its own.
        target.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        rows = copies.compare(c, target, report)
        target.roll_back()
        return rows
    finally:
        target.close()


def _prepare_schema(target: Connection, address: Address, collection: str) -> None:
    """Create an empty schema, and drop what a killed move or an earlier move back left."""
    schema = address.schema
    state = read_state(target)
    if state is not None:
        if state.collection != collection:
            raise CatalogRefused(
                f"{address} holds the catalog of another collection; use another database, or "
                "another schema: …?schema=NAME"
            )
        if state.state == functions.LIVE:
            raise CatalogRefused(
                f"{address} holds a catalog of this collection that is in use; is this folder an "
                "old copy?"
            )
        target.run(f'DROP SCHEMA "{schema}" CASCADE')
    asked = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    ((others,),) = target.run(f"{asked} WHERE n.nspname = '{schema}'")
    if others:
        raise CatalogRefused(
            f"the schema {schema} of {address} holds other tables; name another one: …?schema=NAME"
        )
    target.run(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')


def make_live(catalog: PostgresCatalog, token: str) -> None:
    """Mark the catalog of a finished move as the current one."""
    with catalog.connections.borrow() as connection:
        connection.execute(
            "UPDATE catalog_state SET state = ? WHERE token = ? AND state = ?",
            (functions.LIVE, token, functions.INCOMING),
        )


def move_to_sqlite(root: Path, text: str | None = None, report: Report = silent) -> Moved:
    """Move the catalog of a folder back into it; ``text`` is an address as for opening."""
    if locations.read_pointer(root) is None:
        raise CollectionError(f"the catalog of {root} is in its folder already")
    store = locations.open_store(root, text)
    catalog = store.catalog
    try:
        if not isinstance(catalog, PostgresCatalog):
            # A move back that was killed is finished by opening the folder.
            return Moved(str(root / FILE), {})
        with catalog.lease("move"):
            token = secrets.token_hex(16)
            rows = _copy_back(root, catalog, token, report)
            finish_coming_back(root, token)
            return Moved(str(root / FILE), rows)
    finally:
        catalog.close()


def _copy_back(root: Path, catalog: PostgresCatalog, token: str, report: Report) -> dict[str, int]:
    back = root / COMING_BACK
    for leftover in root.glob(f"{COMING_BACK}*"):
        leftover.unlink()
    source = open_connection(catalog.address, "likewise moves")
    try:
        source.run(f"BEGIN; SELECT pg_advisory_xact_lock({key_of(catalog.address, 'write')})")
        copies.write_sqlite(source, back, report)
        with closing(sqlite3.connect(back, isolation_level=None)) as c:
            rows = copies.compare(c, source, report)
            c.execute("BEGIN IMMEDIATE")
            c.execute(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)",
                (MOVE_TOKEN, json.dumps(token)),
            )
            put_sum(c, "settings")
            c.execute("COMMIT")
            c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for journal in root.glob(f"{COMING_BACK}-*"):
            os.unlink(journal)
        sync_file(back)
        source.execute(
            "UPDATE catalog_state SET state = ?, token = ?", (functions.MOVED_OUT, token)
        )
        # From this commit on the catalog is in the folder; PostgreSQL is not written any more.
        source.commit()
        return rows
    finally:
        source.close()
