"""XMP: read keywords (dc:subject) from a packet, and replace them without changing the rest.

A packet is scanned for the positions of its keywords, and only those bytes are replaced.  Keywords
of the picture itself are dc:subject in a description directly below rdf:RDF, as elements or as an
attribute.  Deeper ones belong to other pictures.  Packets are untrusted: their size is limited, and
document types and entities are refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from likewise.errors import LikewiseError

MAX_BYTES = 8 << 20
"""Bytes of a packet, at most: real ones have some kilobytes, with a preview inside a megabyte."""
MAX_KEYWORDS = 10_000
"""Keywords of a picture, at most."""
MAX_PLACES = 1_000
"""Places with keywords in a packet, at most; one is what there should be."""
_DEEPEST = 200
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_DC = "http://purl.org/dc/elements/1.1/"
_SUBJECT, _LI, _VALUE = f"{_DC} subject", f"{_RDF} li", f"{_RDF} value"
_ROOT, _DESCRIPTION = f"{_RDF} RDF", f"{_RDF} Description"
_ABOUT = (f"{_RDF} about", "about")
# The longest byte order mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"), (b"<\0\0\0", "utf-32-le"), (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"),
)  # fmt: skip
_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")
# Single-byte encodings that are read, and written with &#…; for other characters.
_NARROW = {"iso8859-1": "latin-1", "iso8859-15": "iso8859-15", "cp1252": "cp1252", "ascii": "ascii"}
_ATTRIBUTE = re.compile(rb"""\s+([^\s=/>]+)\s*=\s*(?:"[^"]*"|'[^']*')""")
_NAME = re.compile(rb"<([^\s/>]+)")


class UnusableXmp(LikewiseError):
    """A packet that cannot be read, or must not be."""


@dataclass
class _Scan:
    """The result of one pass over a packet; places are byte offsets in its UTF-8 text.

    ``subjects`` are elements with keywords, ``attributes`` keywords in short form; ``rdf`` is where
    a description can be inserted, ``closed`` the name of an rdf:RDF that closes itself there.
    ``rich``: keywords have qualifiers.
    """

    keywords: list[str] = field(default_factory=list)
    subjects: list[tuple[int, int]] = field(default_factory=list)
    attributes: list[tuple[int, int]] = field(default_factory=list)
    rdf: int | None = None
    closed: bytes = b""
    about: str | None = None
    rich: bool = False


def keywords(packet: bytes) -> list[str]:
    """Return the keywords of a packet, in order.

    >>> keywords(new_packet(["sea", "boat"]))
    ['sea', 'boat']
    """
    return list(dict.fromkeys(_scan(_text(packet)).keywords))


def new_packet(tags: Iterable[str]) -> bytes:
    """Return a packet with these keywords and nothing else."""
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Likewise">\n'
        f'<rdf:RDF xmlns:rdf="{_RDF}">\n{_description(tags, "")}</rdf:RDF>\n'
        '</x:xmpmeta>\n<?xpacket end="w"?>\n'
    ).encode()


def merge_keywords(packet: bytes, tags: Iterable[str]) -> bytes:
    """Return the packet with other keywords; everything else stays."""
    text = _text(packet)
    found = _scan(text)
    if found.rdf is None:
        raise UnusableXmp("it has no rdf:RDF; it is XML, but no XMP")
    wanted = list(tags)
    if found.keywords == wanted:
        return packet
    if found.rich:
        raise UnusableXmp("its keywords have qualifiers, which would be lost")
    # In a single-byte encoding write our own characters as &#…;, because programs differ in how
    # they read characters beyond ASCII.
    narrow = _encoding(packet) in _NARROW.values()
    new = _splice_keywords(text.encode(), found, wanted, "ascii" if narrow else "utf-8")
    result = _encode(new.decode(), packet)
    # Read the result again: it must have exactly these keywords.
    if keywords(result) != list(dict.fromkeys(wanted)):
        raise UnusableXmp("its keywords cannot be replaced safely")
    return result


def _splice_keywords(whole: bytes, found: _Scan, wanted: list[str], code: str) -> bytes:
    """Replace all keywords: the new ones go to the first place, the other places are emptied."""
    assert found.rdf is not None
    changes = [(start, end, b"") for start, end in found.subjects + found.attributes]
    if wanted and found.subjects:
        changes[0] = (*found.subjects[0], _subject(wanted).encode(code, "xmlcharrefreplace"))
    elif wanted:
        new = _description(wanted, found.about or "").encode(code, "xmlcharrefreplace")
        if found.closed:
            # <rdf:RDF/> opens: its "/>" becomes ">", and an end follows.
            changes.append((found.rdf - 2, found.rdf, b">" + new + b"</" + found.closed + b">"))
        else:
            changes.append((found.rdf, found.rdf, new))
    made, at = [], 0
    for start, end, new in sorted(changes):
        made += [whole[at:start], new]
        at = end
    return b"".join([*made, whole[at:]])


def _subject(tags: Iterable[str]) -> str:
    # Imported here because it loads many modules, and few packets are written.
    from xml.sax.saxutils import escape, quoteattr

    # Prefixes are declared here, because the packet may use others.
    items = "".join(f"<rdf:li>{escape(tag)}</rdf:li>" for tag in tags)
    return (
        f"<dc:subject xmlns:dc={quoteattr(_DC)} xmlns:rdf={quoteattr(_RDF)}>"
        f"<rdf:Bag>{items}</rdf:Bag></dc:subject>"
    )


def _description(tags: Iterable[str], about: str) -> str:
    from xml.sax.saxutils import quoteattr

    return (
        f"<rdf:Description xmlns:rdf={quoteattr(_RDF)} rdf:about={quoteattr(about)}>"
        f"{_subject(tags)}</rdf:Description>\n"
    )


def _encoding(packet: bytes) -> str:
    found = next((name for mark, name in _MARKS if packet.startswith(mark)), None)
    if found is not None:
        return found
    declared = _DECLARED.match(packet[:200])
    name = declared[1].decode("ascii", "replace") if declared else "utf-8"
    try:
        plain = codecs.lookup(name).name
    except LookupError:
        plain = ""
    if plain != "utf-8" and plain not in _NARROW:
        raise UnusableXmp(f"it says that it is written in {name!r}, which is not read")
    return _NARROW.get(plain, "utf-8")


def _encode(text: str, packet: bytes) -> bytes:
    """Encode text as the packet is encoded."""
    encoding = _encoding(packet)
    if encoding in ("utf-16", "utf-32"):
        # Python would write its own byte order mark and order; keep those of the file.
        little = packet.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF32_LE))
        mark = next(m for m, name in _MARKS if name == encoding and packet.startswith(m))
        return mark + text.encode(f"{encoding}-{'le' if little else 'be'}")
    return text.encode(encoding)


def _text(packet: bytes) -> str:
    if len(packet) > MAX_BYTES:
        raise UnusableXmp(f"it has {len(packet):,} bytes; {MAX_BYTES:,} at most are read")
    try:
        return packet.decode(_encoding(packet)).rstrip("\0")
    except UnicodeDecodeError as error:
        raise UnusableXmp(f"it is not text ({error.reason})") from error


def _scan(text: str) -> _Scan:
    return _Scanner(text.encode()).scan()


class _Scanner:
    """One pass of the XML parser; names are "namespace name prefix"."""

    def __init__(self, data: bytes) -> None:
        self._data, self._found = data, _Scan()
        # The text was converted to UTF-8, whatever its declaration says.
        self._parser = expat.ParserCreate("utf-8", " ")
        self._parser.buffer_text = True
        self._parser.namespace_prefixes = True
        self._names: list[str] = []
        self._rdf: int | None = None
        self._rdf_at = 0
        self._subject: int | None = None
        self._item: list[str] | None = None
        self._plain: list[str] = []
        self._bag = False

    def scan(self) -> _Scan:
        parser = self._parser
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(self._data, True)
        except expat.ExpatError as error:
            raise UnusableXmp(f"it is no XML: {error}") from error
        return self._found

    def _below_rdf(self) -> int:
        """Return the depth of the innermost element below rdf:RDF; 0: not below it."""
        return 0 if self._rdf is None else len(self._names) - self._rdf

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        plain = _plain(name)
        self._names.append(plain)
        if len(self._names) > _DEEPEST:
            raise UnusableXmp("it is nested too deeply")
        depth = self._below_rdf()
        if plain == _ROOT and self._rdf is None and self._found.rdf is None:
            self._rdf, self._rdf_at = len(self._names), self._parser.CurrentByteIndex
        elif depth == 1 and plain == _DESCRIPTION:
            self._description(attributes)
        elif depth == 2 and plain == _SUBJECT and self._names[-2] == _DESCRIPTION:
            self._subject, self._bag = self._parser.CurrentByteIndex, False
            self._plain.clear()
        elif self._subject is not None:
            self._bag = True
            if depth == 4 and plain == _LI:
                self._item = []
            elif depth > 4:
                self._found.rich = True

    def _description(self, attributes: dict[str, str]) -> None:
        if self._found.about is None:
            plain = {_plain(name): value for name, value in attributes.items()}
            self._found.about = next((plain[a] for a in _ABOUT if a in plain), None)
        start = self._parser.CurrentByteIndex
        for name, value in attributes.items():
            if _plain(name) != _SUBJECT:
                continue
            self._add_separated(value)
            # An attribute of a namespace has a prefix: it is written "prefix:subject".
            written = f"{name.split(' ')[2]}:subject".encode()
            tag = self._data[start : _after(self._data, start)]
            for one in _ATTRIBUTE.finditer(tag, _NAME.match(tag).end()):  # type: ignore[union-attr]
                if one[1] == written:
                    self._place(self._found.attributes, start + one.start(), start + one.end())

    def _end(self, name: str) -> None:
        depth, at = self._below_rdf(), self._parser.CurrentByteIndex
        plain = self._names.pop()
        if self._item is not None and depth == 4:
            _keep(self._found, "".join(self._item))
            self._item = None
        elif self._subject is not None and depth == 2:
            if not self._bag:
                # Not in the standard, but it occurs.
                self._add_separated("".join(self._plain))
            _, end = _closing(self._data, self._subject, at)
            self._place(self._found.subjects, self._subject, end)
            self._subject = None
        elif depth == 0 and plain == _ROOT and self._rdf is not None:
            at, behind = _closing(self._data, self._rdf_at, at)
            self._found.rdf, self._rdf = at, None
            if at == behind:
                self._found.closed = _NAME.match(self._data, self._rdf_at)[1]  # type: ignore[index]

    def _place(self, places: list[tuple[int, int]], start: int, end: int) -> None:
        if len(places) >= MAX_PLACES:
            raise UnusableXmp(f"it has keywords in more than {MAX_PLACES:,} places")
        places.append((start, end))

    def _add_separated(self, text: str) -> None:
        """Add the keywords in one text."""
        for part in text.replace(";", ",").split(","):
            _keep(self._found, part)

    def _characters(self, some: str) -> None:
        if self._item is not None:
            # The rdf:value of a keyword with qualifiers is the word.
            if self._below_rdf() == 4 or self._names[-1] == _VALUE:
                self._item.append(some)
        elif self._subject is not None:
            self._plain.append(some)

    def _refuse(self, *_: Any) -> None:
        raise UnusableXmp("it declares a document type or entities, which no XMP needs")


def _plain(name: str) -> str:
    """Return a name with its namespace, without its prefix."""
    return " ".join(name.split(" ")[:2])


def _closing(data: bytes, start: int, at: int) -> tuple[int, int]:
    """Return (start, end) of the closing tag of an element, given the position of the parser.

    For an element that closes itself both are its end.
    """
    opened = _after(data, start)
    if data.endswith(b"/>", start, opened):
        return opened, opened
    return at, _after(data, at)


def _after(data: bytes, at: int) -> int:
    """Return the end of the tag that begins at a place; a ``>`` inside quotes does not end it."""
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
        if len(found.keywords) >= MAX_KEYWORDS:
            raise UnusableXmp(f"it has more than {MAX_KEYWORDS:,} keywords")
        found.keywords.append(plain)
