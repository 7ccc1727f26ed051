"""The byte layout of a block, in memory and on disk.

A block holds up to 65,536 pictures twice: as *rows* (the vectors) and as *postings* (by word).
Both are views into one buffer, so saving writes the buffer and opening maps it.  Section offsets
follow from the sizes in the header.

Postings only nominate pictures, so an impact is a code c of four bits: it is at most
``(c - zero) * step`` and above ``(c - 1 - zero) * step`` with the step of its word; code 0 is no
posting.  Postings have three forms:

- A *list* is a run of uint16: twelve bits of distance to the picture before, four bits of code.  A
  distance above 4,095 takes several, with code 0.
- A *rare* list of up to 32 postings is its picture numbers, then its codes, four per uint16.
- A *column*, for a word in at least one picture of twelve, is the codes of all pictures, two per
  byte: byte i holds pictures i and ``half + i``, which allows vector code.

The directory has the words with lists and their lengths, in buckets of consecutive words, in four
to five bytes per word.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likewise_methods.errors import LikewiseError

MAGIC = b"LWBLOCK\x00"
VERSION = 2
HEADER_BYTES = 256
BLOCK_PICTURES = 65_536
# A posting takes at most two uint16 of a list; they are counted in uint32.
BLOCK_ENTRIES = 1 << 30
# Rows are checksummed in groups of this many pictures (a shift): few are read at a time, and the
# rest of a group is read only to be checked.
GROUP_SHIFT = 3
# Rare lists have at most so many uint16: 32 postings.
RARE_LENGTH = 40
FARTHEST = 4095
CODE_BITS = 4
CODE_MASK = 15

Array = npt.NDArray[Any]

# magic, version, nothing, pictures, width, entries, words, codes, postings, shift, columns,
# dropped, zero, base step, norms of lists and of columns, checksum of the core
_HEADER = struct.Struct("<8sII10QdddQ")


class Sizes(NamedTuple):
    """The header; every section length follows from it."""

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
    """The arrays of a block, for kernels."""

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


class DamagedIndex(LikewiseError):
    """A saved index was altered: ``path`` names the file, ``found`` the fault."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(path, found)
        self.path = path
        self.found = found

    def __str__(self) -> str:
        return f"{self.path}: {self.found}; restore it from a copy, or build the index again"


class Damage(Exception):
    """The bytes are inconsistent; ``files`` turns this into DamagedIndex."""


def _sections(s: Sizes) -> list[tuple[str, str, int]]:
    """Return name, type and length of every section, in file order."""
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
    """Return offset, type and length of the sections, where rows start, and the block length."""
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
    """Return ``place_sections`` of a block of these sizes."""
    return place_sections(_sections(s))


def pack_header(s: Sizes, checksum: int) -> bytes:
    return _HEADER.pack(MAGIC, VERSION, 0, *s, checksum).ljust(HEADER_BYTES, b"\x00")


def header_version(data: bytes) -> int:
    """Return the format version of a block; raise Damage if it is no block."""
    if len(data) < HEADER_BYTES:
        raise Damage(f"{len(data)} bytes; a block has at least {HEADER_BYTES}")
    if data[:8] != MAGIC:
        raise Damage(f"it begins with {data[:8]!r}; {MAGIC!r} expected")
    return int.from_bytes(data[8:12], "little")


def unpack_header(data: bytes) -> tuple[Sizes, int]:
    """Return the sizes and the checksum of the core; raise Damage if a size is out of bounds."""
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
    """Return read-only views into a buffer of the length that ``places`` gives."""
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
