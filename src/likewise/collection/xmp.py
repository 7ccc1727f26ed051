"""XMP: keywords (dc:subject) read from a packet, and written into one without touching the rest.

The one idea: a packet is scanned for *where* its keywords are, and only those bytes are replaced,
so whatever else another program keeps in it stays as it was, to the byte.  Packets are of unknown
origin: their size is limited, and a document type or an entity is refused before it is looked at.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from likewise.errors import LikewiseError

LARGEST = 8 << 20
"""Bytes of a packet, at most: real ones have some kilobytes, with a preview inside a megabyte."""
MOST = 10_000
"""Keywords of a picture, at most."""
_DEEPEST = 200
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_DC = "http://purl.org/dc/elements/1.1/"
_SUBJECT, _LI = f"{_DC} subject", f"{_RDF} li"
_ROOT, _DESCRIPTION = f"{_RDF} RDF", f"{_RDF} Description"
_ABOUT = (f"{_RDF} about", "about")
# The longest mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"), (b"<\0\0\0", "utf-32-le"), (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"),
)  # fmt: skip


class UnusableXmp(LikewiseError):
    """A packet that cannot be read, or that must not be."""


@dataclass
class _Scan:
    """What one pass over a packet finds; places are byte offsets into its UTF-8 text."""

    keywords: list[str] = field(default_factory=list)
    subjects: list[tuple[int, int]] = field(default_factory=list)
    end_of_rdf: int | None = None
    about: str | None = None


def keywords(packet: bytes) -> list[str]:
    """The keywords of a packet, in its order.

    >>> keywords(made(["sea", "boat"]))
    ['sea', 'boat']
    """
    return list(dict.fromkeys(_scan(_text(packet)).keywords))


def made(tags: Iterable[str]) -> bytes:
    """A whole packet that holds these keywords and nothing else."""
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Likewise">\n'
        f'<rdf:RDF xmlns:rdf="{_RDF}">\n{_description(tags, "")}</rdf:RDF>\n'
        '</x:xmpmeta>\n<?xpacket end="w"?>\n'
    ).encode()


def merged(packet: bytes, tags: Iterable[str]) -> bytes:
    """The packet with these keywords in place of its own; everything else as it was."""
    text = _text(packet)
    found = _scan(text)
    if found.end_of_rdf is None:
        raise UnusableXmp("it has no rdf:RDF; it is XML, but no XMP")
    wanted = list(tags)
    if found.keywords == wanted:
        return packet
    whole = text.encode()
    if found.subjects:
        # All in the first place; further places, which should not be, are emptied.
        for number, (start, end) in reversed(list(enumerate(found.subjects))):
            new = _subject(wanted).encode() if number == 0 and wanted else b""
            whole = whole[:start] + new + whole[end:]
    elif wanted:
        at = found.end_of_rdf
        whole = whole[:at] + _description(wanted, found.about or "").encode() + whole[at:]
    encoding = _encoding(packet)
    result = whole.decode().encode(encoding)
    if encoding in ("utf-16", "utf-32"):
        # Python writes its own mark and order; keep those of the file.
        little = packet.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF32_LE))
        mark = next(m for m, name in _MARKS if name == encoding and packet.startswith(m))
        result = mark + whole.decode().encode(f"{encoding}-{'le' if little else 'be'}")
    # The last word has a reader: what is written must be what was meant.
    if keywords(result) != list(dict.fromkeys(wanted)):
        raise UnusableXmp("its keywords cannot be replaced safely")
    return result


def _subject(tags: Iterable[str]) -> str:
    # Prefixes are declared here: whatever the packet calls them, this part stands for itself.
    items = "".join(f"<rdf:li>{escape(tag)}</rdf:li>" for tag in tags)
    return (
        f"<dc:subject xmlns:dc={quoteattr(_DC)} xmlns:rdf={quoteattr(_RDF)}>"
        f"<rdf:Bag>{items}</rdf:Bag></dc:subject>"
    )


def _description(tags: Iterable[str], about: str) -> str:
    return (
        f"<rdf:Description xmlns:rdf={quoteattr(_RDF)} rdf:about={quoteattr(about)}>"
        f"{_subject(tags)}</rdf:Description>\n"
    )


def _encoding(packet: bytes) -> str:
    return next((name for mark, name in _MARKS if packet.startswith(mark)), "utf-8")


def _text(packet: bytes) -> str:
    if len(packet) > LARGEST:
        raise UnusableXmp(f"it has {len(packet):,} bytes; {LARGEST:,} at most are read")
    try:
        return packet.decode(_encoding(packet)).rstrip("\0")
    except UnicodeDecodeError as error:
        raise UnusableXmp(f"it is not text ({error.reason})") from error


def _scan(text: str) -> _Scan:
    found = _Scan()
    # The text is UTF-8 by now, whatever its first line claims.
    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    data = text.encode()
    depth = 0
    root: int | None = None
    subject: int | None = None
    item: list[str] | None = None
    plain: list[str] = []
    bag = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, subject, item, bag, root
        depth += 1
        if depth > _DEEPEST:
            raise UnusableXmp("it is nested too deeply")
        if name == _DESCRIPTION and found.about is None:
            found.about = next((attributes[a] for a in _ABOUT if a in attributes), None)
        if name == _ROOT and root is None:
            root = parser.CurrentByteIndex
        if name == _SUBJECT and subject is None:
            subject, bag = parser.CurrentByteIndex, False
            plain.clear()
        elif subject is not None:
            bag = True
            if name == _LI:
                item = []

    def end(name: str) -> None:
        nonlocal depth, subject, item
        depth -= 1
        if name == _LI and item is not None:
            _keep(found, "".join(item))
            item = None
        elif name == _SUBJECT and subject is not None:
            if not bag:
                # Not as the standard has it, and met all the same: one text, separated.
                for part in "".join(plain).replace(";", ",").split(","):
                    _keep(found, part)
            closing = _closing(data, subject, parser.CurrentByteIndex)
            found.subjects.append((subject, closing[1]))
            subject = None
        elif name == _ROOT and root is not None:
            at, behind = _closing(data, root, parser.CurrentByteIndex)
            found.end_of_rdf = at if at < behind else None

    def characters(some: str) -> None:
        if item is not None:
            item.append(some)
        elif subject is not None:
            plain.append(some)

    def refuse(*_: Any) -> None:
        raise UnusableXmp("it declares a document type or entities, which no XMP needs")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UnusableXmp(f"it is no XML: {error}") from error
    return found


def _closing(data: bytes, start: int, at: int) -> tuple[int, int]:
    """(where the closing tag of an element begins, where it ends), given where the parser is.

    An element that closes itself has none: both are behind it, and so is the parser by then.
    """
    opened = _after(data, start)
    if data.endswith(b"/>", start, opened):
        return opened, opened
    return at, _after(data, at)


def _after(data: bytes, at: int) -> int:
    """Behind the tag that begins at a place; a ``>`` inside quotes does not end it."""
    quote = 0
    for place in range(at, len(data)):
        sign = data[place]
        if quote:
            quote = 0 if sign == quote else quote
        elif sign in b"\"'":
            quote = sign
        elif sign == ord(">"):
            return place + 1
    raise UnusableXmp("it ends inside a tag")


def _keep(found: _Scan, keyword: str) -> None:
    plain = " ".join(keyword.split())
    if plain:
        if len(found.keywords) >= MOST:
            raise UnusableXmp(f"it has more than {MOST:,} keywords")
        found.keywords.append(plain)
