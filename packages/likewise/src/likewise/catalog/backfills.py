"""Back-fills that are not over: spaces that lack rows of pictures, and why.

A space whose rows are complete has no entry here, so that an ``add`` need not look for gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from likewise.catalog.store import Store, Transaction

RUNNING = "running"
"""Rows are being made, or were when the job died: whoever comes next looks for what is missing."""
WAITING = "waiting"
"""Pictures came in where the space's rows cannot be made: a machine where they can fills them."""
UNREACHED = "unreached"
"""The named pictures could not be read; only those are tried again."""


@dataclass(frozen=True)
class Backfill:
    """Why a space lacks rows; ``images`` are the pictures that were ``UNREACHED``."""

    state: str
    images: frozenset[int] = frozenset()


def backfill_of(store: Store, space: str) -> Backfill | None:
    """What a space still lacks; None where nothing is known to be missing."""
    state = store.one("SELECT state FROM backfills WHERE space = ?", (space,))
    if state is None:
        return None
    rows = store.all("SELECT image FROM backfill_images WHERE space = ?", (space,))
    return Backfill(state, frozenset(row[0] for row in rows))


def put_backfill(c: Transaction, space: str, state: str, images: Iterable[int] = ()) -> None:
    """A space lacks rows from now on, for this reason and no other."""
    drop_backfill(c, space)
    c.execute("INSERT INTO backfills VALUES (?, ?)", (space, state))
    c.executemany(
        # A picture may have left since it could not be read.
        "INSERT OR IGNORE INTO backfill_images SELECT ?, id FROM images WHERE id = ?",
        [(space, image) for image in images],
    )


def drop_backfill(c: Transaction, space: str) -> None:
    """Nothing is known to be missing any more."""
    c.execute("DELETE FROM backfills WHERE space = ?", (space,))
