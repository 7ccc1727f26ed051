"""Read what was typed: words to look up, words to leave out, dates, and the text to understand.

A word with a minus in front is unwanted; quotes, stars and brackets are separators; small words
count only where there is nothing else.  Dates are "2019", "july 2019", "summer 2019", "2019-07",
"last week": seasons are those of the northern hemisphere, in whole months, and the winter of a year
begins in its December.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from likewise.catalog.content import digest_of
from likewise.catalog.word_index import fold, plain
from likewise.errors import InvalidInput
from likewise_methods.validation import refuse

LONGEST = 10_000
"""Characters of a typed query, at most."""
MAX_TERMS = 24
"""Words of a query that are looked up, at most."""
_MAX_MODEL_TEXT = 1_000
"""Characters of a query that a model reads, at most."""
_MINUS = "-\N{MINUS SIGN}\N{EN DASH}"
# ASCII punctuation separates words, except for what dates are written with.
_SEPARATORS = re.compile(r"[\s!-,:-@\[-`{-~]+")
_INSIDE = re.compile(r"[-./]+")
_SMALL = frozenset([
    "a", "an", "and", "are", "as", "at", "by", "for", "from", "in", "into", "is", "it", "its",
    "my", "near", "of", "on", "or", "our", "some", "that", "the", "their", "this", "to",
    "under", "us", "we", "where", "with", "without", "photo", "photos", "picture", "pictures",
    "image", "images",
])  # fmt: skip
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


@dataclass(frozen=True)
class Term:
    """A typed word, or a date of several words; equal terms have the same ``folded`` form."""

    typed: str
    folded: str
    span: DateSpan | None = None


@dataclass(frozen=True)
class TypedQuery:
    """A typed query: ``text`` as the log keeps it, and its parts.

    ``meaning`` is the text for a model: wanted words without dates; ``unwanted`` the others.
    """

    text: str
    terms: tuple[Term, ...]
    minus: tuple[Term, ...]
    meaning: str
    unwanted: str

    @property
    def key(self) -> bytes:
        """The key in the log: the same for the same words, however they are written."""
        return text_key(self.text)


def text_key(text: str, picture: bytes = b"") -> bytes:
    """Return the key of a typed query in the log, with the key of its picture if there is one.

    Minus words count as such; case, accents, spaces and punctuation do not.  Text without a
    letter or digit is taken as it is.
    """
    folded = " ".join(
        f"-{fold(part)}" if part[0] in _MINUS and fold(part) else fold(part)
        for part in text.split()
        if fold(part)
    )
    return digest_of(b"text\0" + (folded or text).encode() + b"\0" + picture)


def parse_text(text: object, today: date) -> TypedQuery:
    """Parse typed text, or refuse it."""
    clean = clean_text(text)
    wanted: list[str] = []
    unwanted: list[str] = []
    for part in clean.split(" "):
        if len(part) > 1 and part[0] in _MINUS and fold(part):
            unwanted.append(part.lstrip(_MINUS))
        else:
            wanted.append(part)
    terms, meant = _read_terms(wanted, today)
    minus, unmeant = _read_terms(unwanted, today)
    return TypedQuery(
        clean, terms, minus, " ".join(meant)[:_MAX_MODEL_TEXT], " ".join(unmeant)[:_MAX_MODEL_TEXT]
    )


def clean_text(text: object) -> str:
    """Normalise typed text: one space between words, no characters that files cannot hold."""
    if not isinstance(text, str):
        raise refuse("text", text, "words")
    if len(text) > LONGEST:
        raise InvalidInput(f"text has {len(text):,} characters; at most {LONGEST:,} expected")
    clean = " ".join(plain(text).split())
    if not clean:
        raise InvalidInput("text is empty; type what to look for")
    return clean


def _read_terms(words: Sequence[str], today: date) -> tuple[tuple[Term, ...], list[str]]:
    """Return the terms, each once, and the words that are no dates, as typed."""
    meant: list[str] = []
    found: dict[str, Term] = {}
    bare = [piece for word in words for piece in _SEPARATORS.split(word) if piece]
    at = 0
    while at < len(bare):
        read = read_date(bare[at : at + 2], today)
        if read is None:
            meant.append(bare[at])
            for piece in filter(None, _INSIDE.split(bare[at])):
                folded = fold(piece)
                if folded:
                    found.setdefault(folded, Term(piece, folded))
            at += 1
            continue
        taken, span = read
        folded = fold(span.name)
        found.setdefault(folded, Term(span.name, folded, span))
        at += taken
    # Emoji are no words, but a model may understand them.
    if not bare:
        meant = list(words)
    terms = list(found.values())
    large = [term for term in terms if term.folded not in _SMALL]
    return tuple((large or terms)[:MAX_TERMS]), meant


def read_date(words: Sequence[str], today: date) -> tuple[int, DateSpan] | None:
    """Return how many of the first words make a date, and the date; None if they make none.

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
        # "last": the latest one that is over; "this summer" in March is the coming one.
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
    """Return the span of n months from one on; None where there is no such month."""
    end = 12 * year + month - 1 + n
    try:
        return date(year, month, 1), date(end // 12, end % 12 + 1, 1)
    except ValueError:
        return None
