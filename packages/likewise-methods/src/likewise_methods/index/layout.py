"""The bytes of a block: one layout, used in memory and on disk alike.

A block holds up to 65,536 pictures twice: as *rows* (the raw vectors) and as *postings* (word by
word).  Both are views into one buffer, so saving is writing the buffer and opening is mapping it.
Section offsets follow from the sizes in the header; nothing in a file is a pointer.

Postings only nominate pictures, so an impact is a code c of four bits: it is at most
``(c - zero) * step`` and above ``(c - 1 - zero) * step``, step being its word's; code 0 is no
posting.  They come in three forms:

- A *list* is a run of uint16, twelve bits of distance to the picture before and four of code.  A
  distance beyond 4,095 is made of several, with code 0.
- A *rare* list, of 32 postings at most, would be mostly such fillers: it is its picture numbers,
  then its codes, four to a uint16.
- A *column*, of a word that one picture in twelve or more has, is the codes of all pictures, two to
  a byte: byte i holds picture i and picture ``half + i``, so that it is added by vector code.

The directory says which words have lists, and how long they are; words are cut into buckets of
consecutive numbers so that it takes four to five bytes a word.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAGIC = b"LWBLOCK\x00"
VERSION = 2
HEADER_BYTES = 256
BLOCK_PICTURES = 65_536
# The uint16 of lists, of which a posting takes two at most, are counted in uint32.
BLOCK_ENTRIES = 1 << 30
# Rows are checksummed in groups of this many pictures (a shift): few are read at a time, and the
# rest of a group is read only to be checked.
GROUP_SHIFT = 3
# Lists of so many uint16 at most are rare ones: 32 postings.
RARE_LENGTH = 40
FARTHEST = 4095
CODE_BITS = 4
CODE_MASK = 15

Array = npt.NDArray[Any]

# magic, version, nothing, pictures, width, entries, words, codes, postings, shift, columns,
# dropped, zero, base step, norms of lists and of columns, checksum of the core
_HEADER = struct.Struct("<8sII10QdddQ")


class Sizes(NamedTuple):
    """What the header says; every section length follows from it."""

    pictures: int
    width: int  # one more than the largest word the index may hold
    entries: int  # non-zeros of the rows
    words: int  # words with a posting list
    codes: int  # uint16 of all lists
    postings: int  # of lists and columns
    shift: int  # a directory bucket spans 2**shift words
    columns: int  # words with a column
    dropped: int  # words present in the rows whose postings were compacted away
    zero: int  # the code whose upper bound is 0.0
    base: float  # step of the word with the largest impact
    list_norm: float  # largest norm of a row of bounds, over the words with lists
    column_norm: float  # and over those with columns

    @property
    def buckets(self) -> int:
        return (max(self.width, 1) - 1 >> self.shift) + 1

    @property
    def half(self) -> int:
        return (self.pictures + 1) // 2


class Views(NamedTuple):
    """The arrays of a block, as kernels take them."""

    ids: Array  # int64 (pictures)
    row_ends: Array  # int64 (pictures + 1): entries before each row
    row_sums: Array  # uint64 (groups): checksum of each group of rows
    buckets: Array  # uint32 (buckets + 1, 2): words before, codes before
    low8: Array  # uint8 (words): word minus the first word of its bucket; empty where
    low16: Array  # uint16 (words): buckets are too wide for that
    lengths: Array  # uint16 (words): uint16 of its list, less one
    scale: Array  # uint8 (words): step = steps[scale]
    column_words: Array  # uint32 (columns), ascending
    column_scale: Array  # uint8 (columns)
    dropped: Array  # uint32, ascending
    codes: Array  # uint16
    columns: Array  # uint8 (columns, half)
    rows: Array  # uint32: per row its words, then the bits of its values
    row_values: Array  # float32 view of rows
    steps: Array  # float64 (256)
    width: int
    shift: int
    group_shift: int
    zero: int
    list_norm: float
    column_norm: float


class Damage(Exception):
    """The bytes contradict themselves; the message says how.  Files turn it into DamagedIndex."""


def _sections(s: Sizes) -> list[tuple[str, str, int]]:
    """Name, type and length of every section, in file order."""
    groups = (s.pictures + (1 << GROUP_SHIFT) - 1) >> GROUP_SHIFT
    return [
        ("ids", "<i8", s.pictures),
        ("row_ends", "<i8", s.pictures + 1),
        ("row_sums", "<u8", groups),
        ("buckets", "<u4", 2 * (s.buckets + 1)),
        ("low8", "|u1", s.words if s.shift <= 8 else 0),
        ("low16", "<u2", s.words if s.shift > 8 else 0),
        ("lengths", "<u2", s.words),
        ("scale", "|u1", s.words),
        ("column_words", "<u4", s.columns),
        ("column_scale", "|u1", s.columns),
        ("dropped", "<u4", s.dropped),
        ("codes", "<u2", s.codes),
        ("columns", "|u1", s.columns * s.half),
        ("rows", "<u4", 2 * s.entries),
    ]


def place_sections(
    sections: list[tuple[str, str, int]],
) -> tuple[dict[str, tuple[int, str, int]], int, int]:
    """Offset, type and length of each section; where the rows begin; the length of the block."""
    out: dict[str, tuple[int, str, int]] = {}
    at = HEADER_BYTES
    rows_at = at
    for name, kind, length in sections:
        if name == "rows":
            rows_at = at
        out[name] = (at, kind, length)
        at += -(-length * np.dtype(kind).itemsize // 64) * 64
    return out, rows_at, at


def places(s: Sizes) -> tuple[dict[str, tuple[int, str, int]], int, int]:
    """Where the sections of a block of these sizes are, as of ``place_sections``."""
    return place_sections(_sections(s))


def pack_header(s: Sizes, checksum: int) -> bytes:
    return _HEADER.pack(MAGIC, VERSION, 0, *s, checksum).ljust(HEADER_BYTES, b"\x00")


def header_version(data: bytes) -> int:
    """The format of a block, or Damage where it is none."""
    if len(data) < HEADER_BYTES:
        raise Damage(f"{len(data)} bytes; a block has at least {HEADER_BYTES}")
    if data[:8] != MAGIC:
        raise Damage(f"it begins with {data[:8]!r}; {MAGIC!r} expected")
    return int.from_bytes(data[8:12], "little")


def unpack_header(data: bytes) -> tuple[Sizes, int]:
    """The sizes and the core's checksum, or Damage.  Sizes are bounded before they are used."""
    version = header_version(data)
    if version != VERSION:
        raise Damage(f"format version {version}; this release reads {VERSION} and 1")
    _, _, _, *rest, checksum = _HEADER.unpack_from(data)
    s = Sizes(*rest)
    if not (
        1 <= s.pictures <= BLOCK_PICTURES
        and s.width <= 1 << 32
        and s.entries <= BLOCK_ENTRIES
        and s.postings <= s.entries
        and s.words <= s.postings
        and s.codes <= 2 * s.entries
        and s.shift <= 16
        and s.columns * s.pictures <= 12 * s.entries
        and s.dropped <= s.entries
        and s.zero in (0, 8)
        and 0.0 <= s.base < np.inf
        and 0.0 <= s.list_norm < np.inf
        and 0.0 <= s.column_norm < np.inf
    ):
        raise Damage("the sizes in its header are impossible")
    return s, checksum


def read_views(buffer: Array, s: Sizes) -> Views:
    """Views into a buffer of uint8 whose length is that of ``places``; all read-only."""
    where, _, _ = places(s)

    def section(name: str, kind: str | None = None) -> Array:
        at, stored, length = where[name]
        raw = buffer[at : at + length * np.dtype(stored).itemsize]
        view = raw.view(kind or stored)
        view.flags.writeable = False
        return view

    steps = s.base * np.exp2(np.arange(256) / -8.0)
    steps.flags.writeable = False
    return Views(
        ids=section("ids"),
        row_ends=section("row_ends"),
        row_sums=section("row_sums"),
        buckets=section("buckets").reshape(-1, 2),
        low8=section("low8"),
        low16=section("low16"),
        lengths=section("lengths"),
        scale=section("scale"),
        column_words=section("column_words"),
        column_scale=section("column_scale"),
        dropped=section("dropped"),
        codes=section("codes"),
        columns=section("columns").reshape(s.columns, s.half),
        rows=section("rows"),
        row_values=section("rows", "<f4"),
        steps=steps,
        width=s.width,
        shift=s.shift,
        group_shift=GROUP_SHIFT,
        zero=s.zero,
        list_norm=s.list_norm,
        column_norm=s.column_norm,
    )
