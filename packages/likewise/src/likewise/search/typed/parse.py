"""What was typed, read: words to look up, words to leave out, dates, and the text that is meant.

Everything typed is data.  A word with a minus in front is one not wanted; quotes, stars and
brackets are separators; small words count only where there is nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from likewise.catalog.content import digest_of
from likewise.catalog.word_index import fold, plain
from likewise.errors import InvalidInput
from likewise.search.typed.dates import DateSpan, read_date
from likewise_methods.validation import refuse

LONGEST = 10_000
"""Characters of a typed query, at most."""
MOST_TERMS = 24
"""Words of a query that are looked up, at most."""
_MEANT = 1_000
"""Characters of a query that a model reads, at most."""
_MINUS = "-\N{MINUS SIGN}\N{EN DASH}"
# Punctuation of ASCII separates words, but for what dates are written with.
_APART = re.compile(r"[\s!-,:-@\[-`{-~]+")
_INSIDE = re.compile(r"[-./]+")
_SMALL = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "is",
        "it",
        "its",
        "my",
        "near",
        "of",
        "on",
        "or",
        "our",
        "some",
        "that",
        "the",
        "their",
        "this",
        "to",
        "under",
        "us",
        "we",
        "where",
        "with",
        "without",
        "photo",
        "photos",
        "picture",
        "pictures",
        "image",
        "images",
    ]
)


@dataclass(frozen=True)
class Term:
    """A word that was typed, or a date of several; ``folded`` is what equal ones share."""

    typed: str
    folded: str
    span: DateSpan | None = None


@dataclass(frozen=True)
class TypedQuery:
    """A typed query: ``text`` as the log keeps it, and what it is made of.

    ``meaning`` is what a model is asked: the words that are wanted, without dates; ``unwanted``
    those that are not.
    """

    text: str
    terms: tuple[Term, ...]
    minus: tuple[Term, ...]
    meaning: str
    unwanted: str

    @property
    def key(self) -> bytes:
        """What names it in the log: the same for the same words, however they are written."""
        return text_key(self.text)


def text_key(text: str, picture: bytes = b"") -> bytes:
    """What names a typed query in the log, with the picture it was asked beside if there was one.

    Minus words count as such; case, accents, spaces and punctuation do not.  Text without a letter
    or digit stands for itself.
    """
    folded = " ".join(
        f"-{fold(part)}" if part[0] in _MINUS and fold(part) else fold(part)
        for part in text.split()
        if fold(part)
    )
    return digest_of(b"text\0" + (folded or text).encode() + b"\0" + picture)


def read_text(text: object, today: date) -> TypedQuery:
    """What was typed, taken apart, or a clear refusal."""
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
    return TypedQuery(clean, terms, minus, " ".join(meant)[:_MEANT], " ".join(unmeant)[:_MEANT])


def clean_text(text: object) -> str:
    """What was typed, as it is kept: one space between words, nothing that no file could hold."""
    if not isinstance(text, str):
        raise refuse("text", text, "words")
    if len(text) > LONGEST:
        raise InvalidInput(f"text has {len(text):,} characters; at most {LONGEST:,} expected")
    clean = " ".join(plain(text).split())
    if not clean:
        raise InvalidInput("text is empty; type what to look for")
    return clean


def _read_terms(words: Sequence[str], today: date) -> tuple[tuple[Term, ...], list[str]]:
    """Terms, each once, and the words that are no dates, as they were typed."""
    meant: list[str] = []
    found: dict[str, Term] = {}
    bare = [piece for word in words for piece in _APART.split(word) if piece]
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
    # Emoji and the like are no words, and a model may still know them.
    if not bare:
        meant = list(words)
    terms = list(found.values())
    large = [term for term in terms if term.folded not in _SMALL]
    return tuple((large or terms)[:MOST_TERMS]), meant
