"""IPTC-IIM: the keywords (dataset 2:25) inside a block of datasets.

A dataset is a mark, a record, a number, a length of two bytes and so many bytes; nothing is nested,
and whatever does not fit ends the reading.
"""

from __future__ import annotations

from likewise.library.keywords.xmp import MOST

_MARK = 0x1C
_KEYWORD = (2, 25)
_CHARSET = (1, 90)
_UTF8 = b"\x1b%G"


def keywords(block: bytes) -> list[str]:
    """The keywords of a block, in its order.

    >>> keywords(bytes([28, 2, 25, 0, 3]) + b"sea")
    ['sea']
    """
    found: list[bytes] = []
    declared = False
    at = 0
    while at + 5 <= len(block) and block[at] == _MARK and len(found) < MOST:
        name = (block[at + 1], block[at + 2])
        length = int.from_bytes(block[at + 3 : at + 5], "big")
        at += 5
        if length & 0x8000:
            # An extended length: so many bytes of length follow.
            size = length & 0x7FFF
            if size > 4:
                break
            length = int.from_bytes(block[at : at + size], "big")
            at += size
        value = block[at : at + length]
        at += length
        if len(value) < length:
            break
        if name == _CHARSET:
            declared = value == _UTF8
        elif name == _KEYWORD:
            found.append(value)
    texts = [" ".join(_text(value, declared).replace("\0", " ").split()) for value in found]
    return list(dict.fromkeys(text for text in texts if text))


def _text(value: bytes, declared: bool) -> str:
    """UTF-8 where it is said, or where it happens to be; else Western, as old programs had it."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("utf-8" if declared else "cp1252", "replace")
