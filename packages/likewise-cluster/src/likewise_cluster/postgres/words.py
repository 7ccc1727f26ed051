"""The full-text index in PostgreSQL: words cut and folded here, stored as a ``tsvector``.

PostgreSQL's own parsers treat file names as hosts and paths.  So words are cut as by FTS5's
``unicode61`` (letters and numbers, ignoring case, ASCII letters without accents), and each has a
letter for its field in front: one index serves all fields, prefixes, and phrases.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from likewise.catalog.database import Transaction
from likewise.catalog.word_index import FIELDS

_LETTERS = dict(zip(FIELDS, "tsdfc", strict=True))
_LONGEST = 400
"""Characters of a word that count; PostgreSQL takes 2,046 bytes."""
_LAST_PLACE = 16_383
_PICTOGRAMS = "\U0001f000"
"""From here on symbols are words: SQLite takes those for words that are younger than its tables."""


def cut(text: str) -> list[str]:
    """Return the words of a text, folded, in order.

    >>> cut("Crème-brûlée IMG_0412")
    ['creme', 'brulee', 'img', '0412']
    """
    found: list[str] = []
    held: list[str] = []
    for sign in text:
        folded = _fold(sign)
        if folded is None:
            if held:
                found.append("".join(held)[:_LONGEST])
            held = []
        else:
            held.append(folded)
    if held:
        found.append("".join(held)[:_LONGEST])
    return [word for word in found if word]


@lru_cache(4096)
def _fold(sign: str) -> str | None:
    """Fold a character of a word; None if it separates words."""
    kind = unicodedata.category(sign)
    if kind == "Mn" and "\u0300" <= sign <= "\u0331":
        return ""
    if kind[0] not in "LN" and kind != "Co" and not (kind == "So" and sign >= _PICTOGRAMS):
        return None
    base = unicodedata.normalize("NFD", sign)
    if len(base) > 1 and base[0].isascii() and all(map(unicodedata.combining, base[1:])):
        sign = base[0]
    return next((one for one in (sign.casefold(), sign.lower()) if len(one) == 1), sign)


def document(fields: Sequence[str]) -> str:
    """Return the ``tsvector`` of a document as text."""
    places: dict[str, list[int]] = {}
    for field, text in zip(FIELDS, fields, strict=True):
        for place, word in enumerate(cut(text), 1):
            places.setdefault(f"{_LETTERS[field]}{word}", []).append(min(place, _LAST_PLACE))
    return " ".join(f"'{word}':{','.join(map(str, at))}" for word, at in places.items())


def question(field: str, words: Sequence[str], beginnings: bool) -> str | None:
    """Return the ``tsquery`` for any of some words in a field; None if none is a word.

    With ``beginnings`` words that begin with the first one count too.
    """
    asked = []
    for number, word in enumerate(words):
        row = [f"'{_LETTERS[field]}{one}'" for one in cut(word)]
        if row:
            asked.append(" <-> ".join(row) + (":*" if beginnings and number == 0 else ""))
    return " | ".join(f"({one})" for one in asked) or None


def put_documents(c: Transaction, documents: Mapping[int, tuple[str, ...]]) -> None:
    """Insert documents into the full-text index."""
    c.executemany(
        "INSERT INTO written VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(image, *fields, document(fields)) for image, fields in documents.items()],
    )
