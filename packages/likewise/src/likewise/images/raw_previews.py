"""Find the JPEG preview in a camera's RAW file, without decoding anything.

Sensor data is not developed.  DNG, CR2, NEF, ARW, PEF and similar files are TIFF files whose tables
give the position of the preview; RAF has it in its header.  Every offset and count is checked
against the file's size.
"""

from __future__ import annotations

import struct
from typing import IO, NamedTuple

_COMPRESSION, _PHOTOMETRIC, _STRIPS, _STRIP_BYTES = 259, 262, 273, 279
_SUB_TABLES, _JPEG_AT, _JPEG_BYTES, _DNG = 330, 513, 514, 50706
_SENSOR = {32803, 34892}
"""Kinds of pixels that only a sensor has: a colour filter array, and its linear form."""
_LETTERS = {1: "B", 3: "H", 4: "I", 13: "I"}
"""Types of values that are read, as :mod:`struct` writes them."""
_MAX_TABLES, _MAX_ENTRIES, _MAX_VALUES = 32, 512, 64
_RAF = b"FUJIFILMCCD-RAW "
_JPEG_BEGINS = b"\xff\xd8\xff"


class Preview(NamedTuple):
    """The position of the largest JPEG in a RAW file; ``tables``: EXIF is in the file's own tables,
    not in the JPEG.
    """

    at: int
    length: int
    tables: bool


class _Table(NamedTuple):
    values: dict[int, list[int]]
    next: int


def find_preview(stream: IO[bytes], size: int) -> Preview | None:
    """Find the largest JPEG in a RAW file; None for other files, and for a RAW file without one.

    Leave the stream at its start.
    """
    try:
        found = _find(stream, size)
    except (OSError, struct.error, ValueError):
        found = None
    finally:
        stream.seek(0)
    return found


def _find(stream: IO[bytes], size: int) -> Preview | None:
    head = stream.read(96)
    if head.startswith(_RAF) and len(head) >= 92:
        at, length = struct.unpack(">II", head[84:92])
        return _checked(stream, size, [(at, length)], tables=False)
    if head[:4] not in (b"II*\0", b"MM\0*"):
        return None
    way = "<" if head[:2] == b"II" else ">"
    is_raw = head[8:10] == b"CR"
    places: list[tuple[int, int]] = []
    waiting: list[int] = [struct.unpack(way + "I", head[4:8])[0]]
    seen: set[int] = set()
    while waiting and len(seen) < _MAX_TABLES:
        at = waiting.pop(0)
        if at in seen or not 8 <= at <= size - 6:
            continue
        seen.add(at)
        table = _read_table(stream, size, at, way)
        values = table.values
        is_raw |= _DNG in values or bool(_SENSOR & set(values.get(_PHOTOMETRIC, [])))
        places += _places(values)
        waiting += [*values.get(_SUB_TABLES, []), table.next]
    return _checked(stream, size, places, tables=True) if is_raw else None


def _places(values: dict[int, list[int]]) -> list[tuple[int, int]]:
    """Return the JPEGs a table points at: by name, or as the only strip of a compressed picture."""
    compressed = values.get(_COMPRESSION, [1])[0] in (6, 7)
    is_picture = compressed and not _SENSOR & set(values.get(_PHOTOMETRIC, []))
    pairs = [(_JPEG_AT, _JPEG_BYTES), *([(_STRIPS, _STRIP_BYTES)] if is_picture else [])]
    found = [(values.get(start, []), values.get(length, [])) for start, length in pairs]
    return [(at[0], size[0]) for at, size in found if len(at) == len(size) == 1]


def _checked(
    stream: IO[bytes], size: int, places: list[tuple[int, int]], *, tables: bool
) -> Preview | None:
    """Return the largest candidate inside the file that begins as a usable JPEG."""
    for at, length in sorted(places, key=lambda place: -place[1]):
        if at < 8 or length < 128 or at + length > size:
            continue
        stream.seek(at)
        begin = stream.read(min(length, 1 << 16))
        # Sensor data may be a JPEG too, a lossless one (SOF3), which no preview is.
        if begin.startswith(_JPEG_BEGINS) and _frame(begin) not in (None, 0xC3):
            return Preview(at, length, tables)
    return None


def _frame(begin: bytes) -> int | None:
    """Return the marker of the frame of a JPEG, None if it is not found."""
    at = 2
    while at + 4 <= len(begin) and begin[at] == 0xFF:
        marker = begin[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return marker
        at += 2 + int.from_bytes(begin[at + 2 : at + 4], "big")
    # A large EXIF may push the frame beyond the bytes that were read.
    return 0xC0 if at >= len(begin) else None


def _read_table(stream: IO[bytes], size: int, at: int, way: str) -> _Table:
    stream.seek(at)
    (count,) = struct.unpack(way + "H", stream.read(2))
    count = min(count, _MAX_ENTRIES)
    entries = stream.read(12 * count + 4)
    values: dict[int, list[int]] = {}
    for i in range(min(count, len(entries) // 12)):
        entry = entries[12 * i : 12 * i + 12]
        tag, kind, number = struct.unpack(way + "HHI", entry[:8])
        if kind not in _LETTERS or not 0 < number <= _MAX_VALUES:
            if tag == _DNG:
                values[tag] = [1]
            continue
        layout = f"{way}{number}{_LETTERS[kind]}"
        length = struct.calcsize(layout)
        content = entry[8:12]
        if length > 4:
            (where,) = struct.unpack(way + "I", content)
            if where + length > size:
                continue
            stream.seek(where)
            content = stream.read(length)
        values[tag] = list(struct.unpack(layout, content[:length]))
    last = entries[12 * count : 12 * count + 4]
    return _Table(values, struct.unpack(way + "I", last)[0] if len(last) == 4 else 0)
