"""Words of names: how tags, folders and files are split and folded, so that typed words find them.

People write ``beachHouse2``, ``IMG_0412`` and ``2019-07 beach``; they type ``house``, ``412`` or
``beach``.  A name is indexed whole and in its pieces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

PREFIX_FROM = 3
"""Letters of an ASCII word from which on it finds words that begin with it."""
_RUN = re.compile(r"[^\W_]+")
_ZEROS = re.compile(r"^0+(?=\d)")
_ASCII_PIECES = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=1024)  # the folders of a picture are those of the one before
def spread(name: str) -> str:
    """A name, and its pieces where it is written in one: what the index holds of it.

    >>> spread("beachHouse2")
    'beachHouse2 beach House 2'
    >>> spread("IMG_0412")
    'IMG_0412 412'
    """
    found = [plain(name)]
    for run in _RUN.findall(found[0]):
        pieces = _ASCII_PIECES.findall(run) if run.isascii() else list(_pieces(run))
        found += pieces if len(pieces) > 1 else []
        # Cameras count with zeros in front, people do not.
        found += [short for one in pieces if (short := _ZEROS.sub("", one)) != one]
    return " ".join(found)


def _pieces(run: str) -> Iterator[str]:
    """A run of letters and digits, cut where its kind changes: ``aB``, ``ABc``, ``a1``, ``1a``."""
    start = 0
    for at in range(1, len(run)):
        before, here = run[at - 1], run[at]
        after = run[at + 1] if at + 1 < len(run) else ""
        if (
            before.isdigit() != here.isdigit()
            or (before.islower() and here.isupper())
            or (before.isupper() and here.isupper() and after.islower())
        ):
            yield run[start:at]
            start = at
    yield run[start:]


def plain(text: str) -> str:
    """Text without what no index takes: control characters, halves of characters."""
    if text.isprintable():
        return text
    return "".join(" " if unicodedata.category(one) in ("Cc", "Cs") else one for one in text)


def fold(text: str) -> str:
    """Without case and accents, words with one space between them: equal for what looks alike.

    >>> fold("  Crème_BRÛLÉE ")
    'creme brulee'
    """
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(one for one in apart if not unicodedata.combining(one))
    return " ".join(_RUN.findall(bare))


def other_numbers(word: str) -> list[str]:
    """The singular or plural of an English word that its beginning does not find.

    >>> other_numbers("cities"), other_numbers("city"), other_numbers("gardens")
    (['citie', 'city'], ['cities'], ['garden'])
    """
    found = []
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        found.append(word[:-1])
        if word.endswith("ies"):
            found.append(f"{word[:-3]}y")
        elif word.endswith(("ches", "shes", "xes", "sses", "zes", "oes")):
            found.append(word[:-2])
        elif word.endswith("ves"):
            found += [f"{word[:-3]}f", f"{word[:-3]}fe"]
    elif len(word) > 2 and word.endswith("y") and word[-2] not in "aeiou":
        found.append(f"{word[:-1]}ies")
    elif word.endswith("f"):
        found.append(f"{word[:-1]}ves")
    elif word.endswith("fe"):
        found.append(f"{word[:-2]}ves")
    return found or [f"{word}s"]


def finds_beginnings(word: str) -> bool:
    """Whether a typed word also finds words that begin with it: not where nearly all would."""
    return len(word) >= PREFIX_FROM or not word.isascii()
