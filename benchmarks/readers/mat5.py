"""MATLAB version 5 files, read without trust.

SciPy's reader can end the whole process on a damaged file (a segmentation fault, seen by changing
single bytes), which no ``except`` can turn into a message.  This one is plain Python over a byte
string with every length checked; it knows numbers, text, cells and structs, which is all that data
sets use.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.readers.files import read_bytes
from likewise.errors import DatasetError

MAX_UNPACKED = 1 << 31
"""2 GiB for one variable: twenty times the largest file any of our data sets has."""

_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _CHAR = 1, 2, 4
_COMPLEX = 0x0800
_STORED = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_CLASSES = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_DEEPEST = 30


class _DamagedBytes(Exception):
    """What is wrong with the bytes; becomes a DatasetError with the file's name."""


def read_mat5(path: Path, variable: str | None = None) -> dict[str, Any]:
    """The variables of a version 5 file, or just one of them.

    A numeric variable is an array of its MATLAB shape, text a string (rows of a text matrix are
    joined), a cell array a list and a struct array a list of dicts, both column by column.
    """
    if not path.is_file():
        raise DatasetError(f"{path} is not there")
    raw = read_bytes(path)
    if raw[512:520] == b"\x89HDF\r\n\x1a\n":
        raise DatasetError(f"{path}: a MATLAB 7.3 file where version 5 was expected")
    try:
        found = dict(_variables(raw, variable))
    except (
        _DamagedBytes,
        struct.error,
        zlib.error,
        ValueError,
        IndexError,
        OverflowError,
    ) as error:
        raise DatasetError(f"{path}: not a readable MATLAB 5 file ({error})") from error
    if variable is not None and variable not in found:
        raise DatasetError(f"{path}: has no variable {variable!r}")
    return found


def _variables(raw: bytes, wanted: str | None) -> Iterator[tuple[str, Any]]:
    order = {b"IM": "<", b"MI": ">"}.get(raw[126:128])
    if order is None or raw[125 if order == "<" else 124] != 1:
        raise _DamagedBytes("no MATLAB 5 header")
    top = _Reader(raw, order, 128)
    while not top.at_end():
        kind, content = top.element()
        if kind == _COMPRESSED:
            kind, content = _Reader(_decompress(content), order).element()
        if kind != _MATRIX:
            raise _DamagedBytes(f"element of type {kind} where a variable was expected")
        name, value = _matrix(_Reader(content, order), wanted)
        if wanted is None or name == wanted:
            yield name, value


def _decompress(content: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    out = unpacker.decompress(content, MAX_UNPACKED)
    if not unpacker.eof:
        raise _DamagedBytes("a packed variable is cut short or too large")
    return out


class _Reader:
    """A place in a byte string; every step is checked against its end."""

    def __init__(self, raw: bytes, order: str, at: int = 0) -> None:
        self.raw, self.order, self.at = raw, order, at

    def at_end(self) -> bool:
        return self.at >= len(self.raw)

    def bytes_left(self) -> int:
        return len(self.raw) - self.at

    def element(self) -> tuple[int, bytes]:
        """(type, content) of the next data element, and a step past it."""
        if self.bytes_left() < 8:
            raise _DamagedBytes("the file ends within an element")
        (word,) = struct.unpack_from(self.order + "I", self.raw, self.at)
        if word >> 16:
            # Up to four bytes travel inside the tag itself.
            kind, size, start = word & 0xFFFF, word >> 16, self.at + 4
            if size > 4:
                raise _DamagedBytes(f"a small element of {size} bytes")
            self.at += 8
        else:
            (size,) = struct.unpack_from(self.order + "I", self.raw, self.at + 4)
            kind, start = word, self.at + 8
            if size > len(self.raw) - start:
                raise _DamagedBytes("an element reaches past the end of the file")
            # Packed variables follow each other directly, everything else in steps of 8 bytes.
            self.at = start + size + (0 if kind == _COMPRESSED else -size % 8)
        return kind, self.raw[start : start + size]

    def numbers(self) -> NDArray[Any]:
        """The next element as numbers of its stored type."""
        kind, content = self.element()
        if kind not in _STORED:
            raise _DamagedBytes(f"element of type {kind} where numbers were expected")
        return np.frombuffer(content, dtype=np.dtype(self.order + _STORED[kind]))


def _matrix(reader: _Reader, wanted: str | None = None, depth: int = 0) -> tuple[str, Any]:
    """Name and value of an array; the value is None where another name was wanted."""
    if depth > _DEEPEST:
        raise _DamagedBytes(f"cells nested more than {_DEEPEST} deep")
    if reader.at_end():
        return "", np.zeros((0, 0))
    flags = reader.numbers()
    shape = [int(n) for n in reader.numbers()]
    _, name_bytes = reader.element()
    name = name_bytes.decode("latin-1")
    if wanted is not None and name != wanted:
        return name, None
    if len(flags) < 1 or len(shape) < 2 or min(shape) < 0:
        raise _DamagedBytes(f"variable {name!r} has no valid shape")
    kind, count = int(flags[0]) & 0xFF, 1
    for n in shape:
        count *= n
    if kind == _CHAR:
        return name, _text(reader)
    if kind == _CELL:
        return name, _matrices(reader, count, depth)
    if kind == _STRUCT:
        width = int(reader.numbers()[0])
        _, joined = reader.element()
        if width < 1:
            raise _DamagedBytes("a struct without room for field names")
        pieces = [joined[i : i + width] for i in range(0, len(joined), width)]
        fields = [piece.split(b"\0")[0].decode("latin-1") for piece in pieces]
        values = _matrices(reader, count * len(fields), depth)
        rows = range(0, len(values), len(fields) or 1)
        return name, [dict(zip(fields, values[i : i + len(fields)], strict=True)) for i in rows]
    if kind not in _CLASSES or int(flags[0]) & _COMPLEX:
        raise _DamagedBytes(f"variable {name!r} is neither real numbers, text, a cell nor a struct")
    stored = reader.numbers()
    if len(stored) != count:
        raise _DamagedBytes(
            f"variable {name!r} has {len(stored)} values for the shape {tuple(shape)}"
        )
    return name, stored.astype(_CLASSES[kind]).reshape(shape, order="F")


def _matrices(reader: _Reader, count: int, depth: int) -> list[Any]:
    # Each takes a tag of 8 bytes at least, which bounds what a made-up count can ask for.
    if count > reader.bytes_left() // 8:
        raise _DamagedBytes(f"{count} values announced in {reader.bytes_left()} bytes")
    values = []
    for _ in range(count):
        kind, content = reader.element()
        if kind != _MATRIX:
            raise _DamagedBytes(f"element of type {kind} where a value was expected")
        values.append(_matrix(_Reader(content, reader.order), depth=depth + 1)[1])
    return values


def _text(reader: _Reader) -> str:
    if reader.at_end():
        return ""
    kind, content = reader.element()
    if kind not in _TEXT:
        raise _DamagedBytes(f"text stored as type {kind}")
    encoding = _TEXT[kind]
    if encoding not in ("latin-1", "utf-8"):
        encoding += "-le" if reader.order == "<" else "-be"
    return content.decode(encoding)
