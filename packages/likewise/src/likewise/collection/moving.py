"""Where the catalog of a collection is kept: moving it to PostgreSQL, and back into its folder."""

from __future__ import annotations

from pathlib import Path

from likewise.catalog.jobs import Report, silent
from likewise.catalog.locations import Moved, is_collection
from likewise.errors import CollectionError, InvalidInput
from likewise_cluster.postgres.addresses import EXAMPLE, is_address

FOLDER = "sqlite"
"""What stands for the collection's own folder among addresses."""


def move_catalog(root: Path, to: str, catalog: str | None = None, report: Report = silent) -> Moved:
    """Move the catalog of a collection; gives where it is now, and the rows that were compared."""
    if not is_collection(root):
        raise CollectionError(f"{root} is not a collection")
    if to != FOLDER and not is_address(to):
        raise InvalidInput(f"to is {to!r}; an address like {EXAMPLE}, or {FOLDER}, expected")
    from likewise_cluster.postgres.moves import move_to_postgres, move_to_sqlite

    if to == FOLDER:
        return move_to_sqlite(root, catalog, report)
    return move_to_postgres(root, to, report)
