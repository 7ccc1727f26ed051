"""Stars inside a picture's file: xmp:Rating, as cameras and other programs write it."""

from __future__ import annotations

import re

from likewise.library.keywords.xmp import LARGEST

# An attribute or an element; -1 means rejected elsewhere, and is no star.
_RATING = re.compile(rb"""xmp:Rating(?:\s*=\s*["']|\s*>)\s*([1-5])(?:\.0+)?\s*["'<]""")


def embedded_rating(packet: bytes) -> int | None:
    """The stars of an XMP packet; None where it has none.

    >>> embedded_rating(b'<rdf:Description xmp:Rating="4"/>')
    4
    """
    found = _RATING.search(packet) if len(packet) <= LARGEST else None
    return int(found[1]) if found else None
