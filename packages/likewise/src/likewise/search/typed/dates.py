"""Dates as people type them: "2019", "july 2019", "summer 2019", "2019-07", "last week".

Read by rules of our own, with the day it is today given from outside.  Seasons are those of the
northern half of the earth, in whole months; the winter of a year begins in its December.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH = {name: number for number, name in enumerate(_MONTHS, 1)}
_MONTH |= {name[:3]: number for name, number in _MONTH.items()} | {"sept": 9}
_SEASON = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ALONE = frozenset(_MONTHS) - {"march", "may"}
"""Months that are nothing but months, even without a year."""
_YEAR = re.compile(r"(?:18|19|20)\d\d")
_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?")


@dataclass(frozen=True)
class DateSpan:
    """A span of days [first, end), or a month of every year; ``name`` is how it was typed."""

    name: str
    first: date | None = None
    end: date | None = None
    month: int | None = None


def read_date(words: Sequence[str], today: date) -> tuple[int, DateSpan] | None:
    """A date that the words begin with, and how many of them it takes; None: they do not.

    >>> read_date(["summer", "2019", "beach"], date(2026, 1, 1))[1].name
    'summer 2019'
    """
    for n in (2, 1):
        if len(words) >= n:
            head = [word.casefold() for word in words[:n]]
            found = _read_two(head, today) if n == 2 else _read_one(head[0], today)
            if found is not None:
                name = " ".join(words[:n])
                if isinstance(found, int):
                    return n, DateSpan(name, month=found)
                return n, DateSpan(name, *found)
    return None


def _read_two(head: Sequence[str], today: date) -> tuple[date, date] | None:
    first, second = head
    for one, year in ((first, second), (second, first)):
        if _YEAR.fullmatch(year):
            if one in _MONTH:
                return _months(int(year), _MONTH[one], 1)
            if one in _SEASON:
                return _months(int(year), _SEASON[one], 3)
    if first not in ("last", "this"):
        return None
    back = 1 if first == "last" else 0
    if second == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=7)
    if second == "weekend":
        saturday = today - timedelta(days=today.weekday() - 5)
        if first == "last" or saturday > today:
            saturday -= timedelta(days=7)
        return saturday, saturday + timedelta(days=2)
    if second == "month":
        number = 12 * today.year + today.month - 1 - back
        return _months(number // 12, number % 12 + 1, 1)
    if second == "year":
        return _months(today.year - back, 1, 12)
    if second in _SEASON or second in _MONTH:
        start, n = (_SEASON[second], 3) if second in _SEASON else (_MONTH[second], 1)
        span = _months(today.year, start, n)
        # The last one that has begun; "this summer" in March is the one to come, with no pictures.
        if first == "last" and (span is None or span[1] > today):
            return _months(today.year - 1, start, n)
        return span
    return None


def _read_one(word: str, today: date) -> tuple[date, date] | int | None:
    if word == "today":
        return today, today + timedelta(days=1)
    if word == "yesterday":
        return today - timedelta(days=1), today
    if word in _ALONE:
        return _MONTH[word]
    if _YEAR.fullmatch(word):
        return _months(int(word), 1, 12)
    found = _DAY.fullmatch(word)
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    assert year is not None
    assert month is not None
    if day is None:
        return _months(year, month, 1)
    try:
        start = date(year, month, day)
        return start, start + timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _months(year: int, month: int, n: int) -> tuple[date, date] | None:
    """So many months from one on; None where there is no such month."""
    end = 12 * year + month - 1 + n
    try:
        return date(year, month, 1), date(end // 12, end % 12 + 1, 1)
    except ValueError:
        return None
