"""Lines of the log that speak of tags: the newest ones, those that stand, those before another.

The log only grows, so nothing here reads more of it than is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from likewise.catalog.database import Row
from likewise.catalog.store import Store
from likewise.catalog.sums import LINE, check_line

_PAGE = 1000


class TagLine(NamedTuple):
    """A line of the log about tags; ``pictures`` are hashes of their content.

    ``suggested`` are those for which the tags were suggested in the same breath; ``who`` is the
    named key it was said with.
    """

    number: int
    kind: str
    made: str
    pictures: tuple[bytes, ...]
    tags: tuple[str, ...]
    source: str
    withdraws: int | None
    suggested: tuple[bytes, ...] = ()
    who: str | None = None


# The kinds in full, each time: so SQLite sees that its index of these lines serves.
_LINES = f"""SELECT {LINE} FROM log
    WHERE kind IN ('accept', 'reject', 'withdraw')"""
_WITHDRAWALS = """SELECT CAST(json_extract(body, '$.line') AS INTEGER) FROM log
    WHERE kind IN ('accept', 'reject', 'withdraw') AND kind = 'withdraw'"""
# A withdrawal that was taken back itself takes nothing back.
_TAKEN_BACK = f"{_WITHDRAWALS} AND number NOT IN ({_WITHDRAWALS})"
_STANDING = f"{_LINES} AND kind <> 'withdraw' AND number NOT IN ({_TAKEN_BACK})"


def lines(store: Store, newest: int | None = None) -> list[TagLine]:
    """The lines of the log that speak of tags, oldest first."""
    rows = store.all(f"{_LINES} ORDER BY number DESC LIMIT ?", (-1 if newest is None else newest,))
    return [_line(row) for row in reversed(rows)]


def withdrawn_lines(store: Store) -> set[int]:
    """Numbers of the lines that were taken back."""
    return {row[0] for row in store.all(_TAKEN_BACK)}


def standing_line(store: Store, number: int | None) -> TagLine | None:
    """The newest line that stands, or the one named, if it does."""
    named = "" if number is None else " AND number = ?"
    rows = store.all(
        f"{_STANDING}{named} ORDER BY number DESC LIMIT 1", () if number is None else (number,)
    )
    return _line(rows[0]) if rows else None


def line_withdrawn_by(store: Store, withdrawal: int) -> TagLine | None:
    """The line that a withdrawal is about, while that counts."""
    rows = store.all(
        f"""{_LINES} AND kind <> 'withdraw' AND number = (SELECT CAST(json_extract(body, '$.line')
            AS INTEGER) FROM log WHERE number = ? AND kind = 'withdraw')
            AND ? NOT IN ({_WITHDRAWALS})""",
        (withdrawal, withdrawal),
    )
    return _line(rows[0]) if rows else None


def standing_of(store: Store, numbers: set[int]) -> list[TagLine]:
    """Those of some lines that speak of tags and stand, oldest first."""
    rows = store.all(f"{_STANDING} ORDER BY number")
    return [_line(row) for row in rows if row["number"] in numbers]


def standing_before(store: Store, line: TagLine) -> Iterator[TagLine]:
    """Lines that stand and are older than one, newest first; read as far as they are wanted."""
    # A line about one picture is by far the most frequent: others that do not name it are passed
    # over unread.
    named, wanted = "", list[Any]()
    if len(line.pictures) == 1:
        named, wanted = " AND instr(body, ?) > 0", [line.pictures[0].hex()]
    sql = f"{_STANDING}{named} AND number < ? ORDER BY number DESC LIMIT {_PAGE}"
    below = line.number
    while page := store.all(sql, (*wanted, below)):
        for row in page:
            yield _line(row)
        below = page[-1]["number"]


def _line(row: Row) -> TagLine:
    body = json.loads(check_line(row)["body"])
    return TagLine(
        row["number"], row["kind"], row["made"],
        tuple(bytes.fromhex(text) for text in body.get("pictures", ())),
        tuple(body.get("tags", ())), body.get("source", ""), body.get("line"),
        tuple(bytes.fromhex(text) for text in body.get("suggested", ())), body.get("who"),
    )  # fmt: skip
