"""What engines hold of a collection, and which pictures changed since they were synced.

A change of a row, tag, folder or date of a picture, or its removal, is recorded here in the same
transaction, under a growing number.  Each engine is synced up to a number; later pictures are
searched in the catalog.  Without an engine nothing is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from likewise.catalog.database import Transaction

if TYPE_CHECKING:
    from likewise.catalog.store import Store

_STATES = "shipped"
"""The setting with the state of each engine, by address; without it nothing is noted."""
ENGINE = "engine"
"""The setting that names the engine which answers searches."""
_SYNCED_FROM = "shipped_from"
"""The setting with the folder that was synced: a copy of it must not send its own pictures."""


@dataclass(frozen=True)
class SyncState:
    """What an engine holds: complete generations by space, changes up to which number, and the
    largest picture id it may hold."""

    spaces: Mapping[str, int]
    upto: int
    last: int


@dataclass(frozen=True)
class EngineChoice:
    """The engine that answers searches, and the first of two stages if any."""

    address: str
    first_space: str | None = None
    first_limit: int = 0


def engine_choice(store: Store) -> EngineChoice | None:
    """Return the engine that was chosen; None: the embedded index."""
    value = store.setting(ENGINE)
    return None if value is None else EngineChoice(**value)


def has_engines(store: Store) -> bool:
    """Return whether changes are noted for an engine."""
    return store.setting(_STATES) is not None


def sync_states(store: Store) -> dict[str, SyncState]:
    """Return what each engine holds, by address."""
    return {address: SyncState(**one) for address, one in store.setting(_STATES, {}).items()}


def is_copy(store: Store) -> bool:
    """Return whether engines were synced from another folder than this one."""
    return bool(store.setting(_SYNCED_FROM) != str(store.root))


def put_sync_states(c: Transaction, store: Store, states: Mapping[str, SyncState]) -> None:
    """Inside a transaction: set what engines hold, and forget changes that all of them hold."""
    if states:
        made = {address: asdict(one) for address, one in states.items()}
        for key, value in ((_STATES, made), (_SYNCED_FROM, str(store.root))):
            c.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))
        synced = min(one.upto for one in states.values())
        c.execute("DELETE FROM unshipped WHERE number <= ?", (synced,))
    else:
        c.execute("DELETE FROM settings WHERE key IN (?, ?)", (_STATES, _SYNCED_FROM))
        c.execute("DELETE FROM unshipped")


def note_changed(c: Transaction, images: Iterable[int]) -> None:
    """Inside a transaction: note that engines do not hold these pictures as they are now."""
    if c.execute("SELECT 1 FROM settings WHERE key = ?", (_STATES,)).fetchone() is not None:
        c.executemany(
            "INSERT OR REPLACE INTO unshipped (image) VALUES (?)", [(one,) for one in images]
        )


def pending_sync(store: Store, after: int, limit: int = -1) -> list[tuple[int, int]]:
    """Return (number, picture) of changes after a number, in order."""
    rows = store.all(
        "SELECT number, image FROM unshipped WHERE number > ? ORDER BY number LIMIT ?",
        (after, limit),
    )
    return [(row[0], row[1]) for row in rows]


def count_pending(store: Store, after: int) -> int:
    """Return how many pictures changed after a number."""
    return int(store.one("SELECT count(*) FROM unshipped WHERE number > ?", (after,)))


def last_number(store: Store) -> int:
    """Return the largest number of a change; 0 without any."""
    return int(store.one("SELECT coalesce(max(number), 0) FROM unshipped"))
