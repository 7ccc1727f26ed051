"""A plugin for pytest that moves every collection a test opens to PostgreSQL first.

``make test-postgres`` runs the tests of collections so: what they ask of SQLite they then ask of
PostgreSQL.  Tests that look into the file of SQLite itself are left out.
"""

from __future__ import annotations

import atexit
import inspect
import os
import tempfile
from pathlib import Path

import pytest

from likewise.catalog import locations
from likewise.catalog.store import Store
from likewise.collection import collection as collection_module
from likewise_cluster.postgres.addresses import read_address
from likewise_cluster.postgres.catalog import PostgresCatalog
from likewise_cluster.postgres.moves import move_to_postgres
from tests.cluster.postgres.server import Server, missing
from tests.product.collection.loop_reference import Log

_APART = (
    "sqlite3",
    "PRAGMA",
    "zeroblob",
    "lease(",
    "copytree",
    "catalog.sqlite",
    "FILE",
    "catalog_module",
    "connections_of",
)
"""What a test speaks of that is about the file and not about the catalog."""
_server: list[Server] = []
_homes: dict[str, Path] = {}


def _open_moved(root: Path, catalog: str | None = None) -> Store:
    if not _server:
        _server.append(Server())
        atexit.register(_server[0].stop)
    pointer = locations.read_pointer(root)
    if pointer is not None and _homes.setdefault(pointer.address, root) != root:
        # Tests copy the folder of a collection: a copy has a catalog of its own.
        original = PostgresCatalog(read_address(pointer.address))
        original.backup_to(root / locations.FILE)
        original.close()
        (root / locations.POINTER).unlink()
        pointer = None
    if pointer is None and (root / locations.FILE).is_file() and os.access(root, os.W_OK):
        address = _server[0].address()
        move_to_postgres(root, address)
        _homes[str(read_address(address))] = root
    return locations.open_store(root, catalog)


_read_log = Log.__init__


def _read_moved_log(self: Log, root: Path) -> None:
    """The reference reads a file of SQLite: a backup of now is one."""
    pointer = locations.read_pointer(root)
    if pointer is None:
        _read_log(self, root)
        return
    with tempfile.TemporaryDirectory() as folder:
        catalog = PostgresCatalog(read_address(pointer.address))
        catalog.backup_to(Path(folder) / locations.FILE)
        catalog.close()
        _read_log(self, Path(folder))


def pytest_configure(config: pytest.Config) -> None:
    why = missing()
    if why is not None:
        pytest.exit(why)
    collection_module.open_store = _open_moved
    Log.__init__ = _read_moved_log  # type: ignore[method-assign]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        function = getattr(item, "function", None)
        text = "" if function is None else inspect.getsource(inspect.unwrap(function))
        named = [word for word in _APART if word in text]
        if named:
            item.add_marker(pytest.mark.skip(reason=f"is about the file of SQLite: {named[0]}"))
