"""What other engines know of the pictures, and which they do not know as they are now.

Whatever changes what an engine holds of a picture (its row, tags, folders or date, or that it is
there at all) notes it here in the same transaction, under a number that grows.  Each engine has
been told everything up to a number of its own; what comes after is answered from the catalog.
Nothing is noted while no engine is shipped to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from likewise.catalog.database import Transaction

if TYPE_CHECKING:
    from likewise.catalog.store import Store

SHIPPED = "shipped"
"""The setting with what each engine was told, by address; without it nothing is noted."""
ENGINE = "engine"
"""The setting that names the engine which answers searches; the embedded index does without it."""
SHIPPED_FROM = "shipped_from"
"""The setting that says where the collection lay then: a copy must not send its own pictures."""


@dataclass(frozen=True)
class Told:
    """What an engine was told: which generations are whole there, changes up to which number, and
    the largest id that it may know."""

    spaces: Mapping[str, int]
    upto: int
    last: int


@dataclass(frozen=True)
class EngineChoice:
    """The engine that answers, and the first of two stages where it has them."""

    address: str
    first_space: str | None = None
    first_limit: int = 0


def engine_choice(store: Store) -> EngineChoice | None:
    """The engine that was chosen; None: the embedded index."""
    said = store.setting(ENGINE)
    return None if said is None else EngineChoice(**said)


def told(store: Store) -> dict[str, Told]:
    """What each engine was told, by address."""
    return {address: Told(**said) for address, said in store.setting(SHIPPED, {}).items()}


def is_copy(store: Store) -> bool:
    """Whether what engines were told is about another folder than this one."""
    return bool(store.setting(SHIPPED_FROM) != str(store.root))


def put_told(c: Transaction, store: Store, said: Mapping[str, Told]) -> None:
    """Inside a transaction: what engines were told by now; what all of them know is forgotten."""
    if said:
        made = {address: asdict(one) for address, one in said.items()}
        for key, value in ((SHIPPED, made), (SHIPPED_FROM, str(store.root))):
            c.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))
        forget = min(one.upto for one in said.values())
        c.execute("DELETE FROM unshipped WHERE number <= ?", (forget,))
    else:
        c.execute("DELETE FROM settings WHERE key IN (?, ?)", (SHIPPED, SHIPPED_FROM))
        c.execute("DELETE FROM unshipped")


def note_unshipped(c: Transaction, images: Iterable[int]) -> None:
    """Inside a transaction: these pictures are not what engines know of them any more."""
    if c.execute("SELECT 1 FROM settings WHERE key = ?", (SHIPPED,)).fetchone() is not None:
        c.executemany(
            "INSERT OR REPLACE INTO unshipped (image) VALUES (?)", [(one,) for one in images]
        )


def unshipped(store: Store, after: int, limit: int = -1) -> list[tuple[int, int]]:
    """(number, picture) of what changed behind a number, in order."""
    rows = store.all(
        "SELECT number, image FROM unshipped WHERE number > ? ORDER BY number LIMIT ?",
        (after, limit),
    )
    return [(row[0], row[1]) for row in rows]


def count_unshipped(store: Store, after: int) -> int:
    """How many pictures changed behind a number."""
    return int(store.one("SELECT count(*) FROM unshipped WHERE number > ?", (after,)))


def last_number(store: Store) -> int:
    """The largest number there is; 0 where nothing waits."""
    return int(store.one("SELECT coalesce(max(number), 0) FROM unshipped"))


def passing_of(store: Store, where: Mapping[str, Any] | None, images: Sequence[int]) -> set[int]:
    """Those of some pictures that pass a filter, without looking at all others."""
    clauses, parameters = store.conditions(where or {})
    found: set[int] = set()
    for start in range(0, len(images), 500):
        some = images[start : start + 500]
        marks = ", ".join("?" * len(some))
        kept = " AND ".join([f"i.id IN ({marks})", *clauses])
        rows = store.all(f"SELECT i.id FROM images i WHERE {kept}", [*some, *parameters])
        found |= {row[0] for row in rows}
    return found
