"""Names of tags: how they are written, and which one may have been meant."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

from likewise.errors import InvalidInput

LONGEST = 200
"""Characters of a tag, at most; longer ones are captions."""
# Invisible signs that words and emoji are made with: joiners between two others, and the letters
# behind a black flag that make it the flag of a region.
_WITHIN = (
    "(?<=[^\\s\u200c\u200d])[\u200c\u200d](?=[^\\s\u200c\u200d])"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f"
)
_HIDDEN, _SIGN = re.compile(_WITHIN), re.compile(f"({_WITHIN})|.", re.DOTALL)


def clean(tag: object) -> str:
    """A tag as it is kept: composed letters, single spaces, nothing invisible.

    But joiners inside a word or an emoji, without which it would be another.

    >>> clean("  New   York ")
    'New York'
    """
    if not isinstance(tag, str):
        raise InvalidInput(f"{tag!r} is no tag; text expected")
    plain = " ".join(unicodedata.normalize("NFC", tag).split())
    if not plain:
        raise InvalidInput("a tag is empty; text expected")
    if len(plain) > LONGEST:
        raise InvalidInput(
            f"the tag {plain[:20]!r}… has {len(plain)} characters; {LONGEST} at most"
        )
    if not _HIDDEN.sub("", plain).isprintable():
        raise InvalidInput(f"the tag {plain!r} holds signs that cannot be printed")
    return plain


def clean_all(tags: Iterable[object]) -> list[str]:
    """Tags as they are kept, each once, in their order; a lone text is refused."""
    if isinstance(tags, str | bytes):
        raise InvalidInput(f"{tags!r} is one tag; a list of tags expected")
    return list(dict.fromkeys(map(clean, tags)))


def usable(tags: Iterable[str]) -> list[str]:
    """Tags from a file: what can be kept, cleaned; the rest is passed by."""
    found = []
    for tag in tags:
        try:
            found.append(clean(_SIGN.sub(_printable_sign, tag)))
        except InvalidInput:
            continue
    return list(dict.fromkeys(found))


def _printable_sign(sign: re.Match[str]) -> str:
    text = sign[0]
    return text if sign[1] or text.isprintable() or text.isspace() else ""


def fold_case(text: str) -> str:
    """For comparing in any case of letters, of any alphabet."""
    return unicodedata.normalize("NFC", text).casefold()


def near(tag: str, every: Iterable[str]) -> list[str]:
    """Tags that may have been meant: the same letters in another case, or nearly the same."""
    plain = {name.casefold(): name for name in every}
    close = difflib.get_close_matches(tag.casefold(), plain, n=3, cutoff=0.7)
    return [plain[name] for name in close]
