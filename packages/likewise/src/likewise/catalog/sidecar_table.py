"""The catalog's table of sidecars: what each said last, and which of its words are ours."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from likewise.catalog.database import Row
from likewise.catalog.store import Store, Transaction


class SidecarRow(NamedTuple):
    """A sidecar as it was read last: its keywords, and those among them that Likewise wrote."""

    path: str
    size: int
    mtime_ns: int
    tags: tuple[str, ...]
    written: tuple[str, ...]
    problem: str | None


def sidecars(store: Store) -> dict[str, SidecarRow]:
    rows = store.all("SELECT * FROM sidecars")
    return {row["path"]: _sidecar(row) for row in rows}


def sidecar(store: Store, path: str) -> SidecarRow | None:
    rows = store.all("SELECT * FROM sidecars WHERE path = ?", (path,))
    return _sidecar(rows[0]) if rows else None


def _sidecar(row: Row) -> SidecarRow:
    return SidecarRow(
        row["path"], row["size"], row["mtime_ns"], tuple(json.loads(row["tags"])),
        tuple(json.loads(row["written"])), row["problem"],
    )  # fmt: skip


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_sidecar(c: Transaction, row: SidecarRow) -> None:
    c.execute(
        "INSERT OR REPLACE INTO sidecars VALUES (?, ?, ?, ?, ?, ?)",
        (
            row.path, row.size, row.mtime_ns, json.dumps(list(row.tags)),
            json.dumps(list(row.written)), row.problem,
        ),
    )  # fmt: skip


def drop_sidecars(c: Transaction, paths: Iterable[str]) -> None:
    c.executemany("DELETE FROM sidecars WHERE path = ?", [(path,) for path in paths])
