"""Keywords and stars inside picture files: read from XMP and IPTC.

They belong to the content and are read once, when a picture is added.  IPTC is a flat list of
datasets, each with a mark, a record, a number and a length; reading ends at the first damaged one.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from likewise.catalog import tag_tables
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import IPTC, XMP, usable
from likewise.errors import ImageError
from likewise.images.decode import EmbeddedMetadata, decode, embedded_metadata
from likewise.library import xmp
from likewise.library.xmp import MAX_BYTES, MAX_KEYWORDS

_IPTC_MARK = 0x1C
_IPTC_KEYWORD = (2, 25)
_IPTC_CHARSET = (1, 90)
_UTF8 = b"\x1b%G"


def iptc_keywords(block: bytes) -> list[str]:
    """Return the keywords (dataset 2:25) of an IPTC block, in order.

    >>> iptc_keywords(bytes([28, 2, 25, 0, 3]) + b"sea")
    ['sea']
    """
    found: list[bytes] = []
    declared = False
    at = 0
    while at + 5 <= len(block) and block[at] == _IPTC_MARK and len(found) < MAX_KEYWORDS:
        name = (block[at + 1], block[at + 2])
        length = int.from_bytes(block[at + 3 : at + 5], "big")
        at += 5
        if length & 0x8000:
            # An extended length: the number of length bytes that follow.
            size = length & 0x7FFF
            if size > 4:
                break
            length = int.from_bytes(block[at : at + size], "big")
            at += size
        value = block[at : at + length]
        at += length
        if len(value) < length:
            break
        if name == _IPTC_CHARSET:
            declared = value == _UTF8
        elif name == _IPTC_KEYWORD:
            found.append(value)
    texts = [" ".join(_iptc_text(value, declared).replace("\0", " ").split()) for value in found]
    return list(dict.fromkeys(text for text in texts if text))


def _iptc_text(value: bytes, declared: bool) -> str:
    """Decode UTF-8 if possible, else Windows-1252, which old programs wrote."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("utf-8" if declared else "cp1252", "replace")


# An attribute or an element; -1 means rejected, and is no star.
_RATING = re.compile(rb"""xmp:Rating(?:\s*=\s*["']|\s*>)\s*([1-5])(?:\.0+)?\s*["'<]""")


def embedded_rating(packet: bytes) -> int | None:
    """Return the stars of an XMP packet, None if it has none.

    >>> embedded_rating(b'<rdf:Description xmp:Rating="4"/>')
    4
    """
    found = _RATING.search(packet) if len(packet) <= MAX_BYTES else None
    return int(found[1]) if found else None


def embedded_keywords(found: EmbeddedMetadata) -> tuple[dict[str, list[str]], str | None]:
    """Return (tags by source, what could not be read) of the metadata of one picture."""
    said: dict[str, list[str]] = {}
    problem = None
    if found.xmp:
        try:
            said["xmp"] = usable(xmp.keywords(found.xmp))
        except xmp.UnusableXmp as error:
            problem = f"its XMP cannot be read: {error}"
    if found.iptc:
        said["iptc"] = usable(iptc_keywords(found.iptc))
    return {source: tags for source, tags in said.items() if tags}, problem


_BATCH = 500
_PNG = b"\x89PNG\r\n\x1a\n"
_TEXTS = (b"iTXt", b"zTXt", b"tEXt", b"eXIf")


@dataclass
class KeywordsFound:
    """Keywords that were read; ``problems`` are files that could not be."""

    said: dict[int, set[str]] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def pictures(self) -> int:
        """How many pictures have keywords."""
        return sum(map(bool, self.said.values()))

    @property
    def tags(self) -> int:
        """How many keywords there are in all pictures."""
        return sum(map(len, self.said.values()))

    def __add__(self, other: KeywordsFound) -> KeywordsFound:
        said = {i: self.said.get(i, set()) | other.said.get(i, set()) for i in self.said}
        return KeywordsFound({**other.said, **said}, self.problems + other.problems)


def reread_keywords(store: Store, report: Report) -> KeywordsFound:
    """Read the keywords inside every picture again."""
    result = KeywordsFound()
    total = store.n_images()
    found: dict[str, dict[int, list[str]]] = {XMP: {}, IPTC: {}}

    def write_batch() -> None:
        with store.write() as c:
            for source, said in found.items():
                tag_tables.replace_source(c, source, said)
        for said in found.values():
            said.clear()

    for done, row in enumerate(store.every_image(), 1):
        try:
            said, problem = embedded_keywords(_read_embedded(row.path))
        except ImageError as error:
            # Keywords on an unavailable disk stay.
            result.problems.append((row.path, error.reason))
            continue
        if problem is not None:
            result.problems.append((row.path, problem))
            continue
        for source in (XMP, IPTC):
            found[source][row.id] = said.get(source, [])
        result.said[row.id] = {tag for tags in said.values() for tag in tags}
        report(Progress("reading keywords", done, total, problems=len(result.problems)))
        if done % _BATCH == 0:
            write_batch()
    write_batch()
    return result


def _read_embedded(path: str) -> EmbeddedMetadata:
    """Return the metadata of a file, from its header where that is enough."""
    try:
        late = _has_late_texts(path)
    except OSError:
        late = False  # the reader will report what is wrong
    return decode(path, max_side=64).embedded if late else embedded_metadata(path)


def _has_late_texts(path: str) -> bool:
    """Return whether this is a PNG with texts after its pixels, which the header lacks."""
    with open(path, "rb") as file:
        if file.read(8) != _PNG:
            return False
        pixels = False
        while len(head := file.read(8)) == 8:
            kind = head[4:]
            if pixels and kind in _TEXTS:
                return True
            pixels |= kind == b"IDAT"
            file.seek(int.from_bytes(head[:4], "big") + 4, os.SEEK_CUR)
    return False
