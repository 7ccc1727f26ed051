"""The bytes of a block: one layout, used in memory and on disk alike.

A block holds up to 65,536 pictures twice: as *rows* (the raw vectors) and as *postings* (word by
word).  Both are views into one buffer, so saving is writing the buffer and opening is mapping it.
Section offsets follow from the sizes in the header; nothing in a file is a pointer.

Postings are two parallel arrays in ascending order of words: picture numbers (uint16) and impacts
(float32, or uint8 codes).  The directory says which words have lists, and how long they are; words
are cut into buckets of consecutive numbers so that it takes three to four bytes a word.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAGIC = b"LWBLOCK\x00"
VERSION = 1
HEADER_BYTES = 256
BLOCK_PICTURES = 65_536
# Postings are counted in uint32.
BLOCK_ENTRIES = 1 << 31
# Rows are checksummed in groups of this many pictures (a shift), as few are read at a time.
GROUP_SHIFT = 5
MAX_LEVELS = 16

Array = npt.NDArray[Any]

# magic, version, quantised, pictures, width, entries, words, postings, shift, levels,
# dropped, zero, base step, largest norm, checksum of the core
_HEADER = struct.Struct("<8sII9QddQ")


class Sizes(NamedTuple):
    """What the header says; every section length follows from it."""

    quantised: int  # 1 where impacts are uint8 codes
    pictures: int
    width: int  # one more than the largest word the index may hold
    entries: int  # non-zeros of the rows
    words: int  # words with a posting list
    postings: int
    shift: int  # a directory bucket spans 2**shift words
    levels: int  # nested classes of frequent words, for pruning
    dropped: int  # words present in the rows whose lists were compacted away
    zero: int  # the code that stands for 0.0
    base: float  # step of the uint8 codes of the word with the largest impact
    largest_norm: float  # of any row, over the words that have lists

    @property
    def buckets(self) -> int:
        return (max(self.width, 1) - 1 >> self.shift) + 1


class Views(NamedTuple):
    """The arrays of a block, as kernels take them."""

    ids: Array  # int64 (pictures)
    row_ends: Array  # int64 (pictures + 1): entries before each row
    row_sums: Array  # uint64 (groups): checksum of each group of rows
    buckets: Array  # uint32 (buckets + 1, 2): words before, postings before
    low8: Array  # uint8 (words): word minus the first word of its bucket; empty where
    low16: Array  # uint16 (words): buckets are too wide for that
    counts: Array  # uint16 (words): postings less one
    scale: Array  # uint8 (words where quantised): step = steps[scale]
    cuts: Array  # int64 (levels): fewest postings of a word of this class
    norm_steps: Array  # float64 (levels)
    norms: Array  # uint8 (levels, pictures): norm of a row within the class, rounded up
    dropped: Array  # uint32, ascending
    list_ids: Array  # uint16 (postings)
    impacts: Array  # float32 or uint8 (postings)
    rows: Array  # uint32: per row its words, then the bits of its values
    row_values: Array  # float32 view of rows
    steps: Array  # float64 (256)
    width: int
    shift: int
    zero: int
    quantised: int
    largest_norm: float


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
        ("counts", "<u2", s.words),
        ("scale", "|u1", s.words if s.quantised else 0),
        ("cuts", "<i8", s.levels),
        ("norm_steps", "<f8", s.levels),
        ("norms", "|u1", s.levels * s.pictures),
        ("dropped", "<u4", s.dropped),
        ("list_ids", "<u2", s.postings),
        ("impacts", "|u1" if s.quantised else "<f4", s.postings),
        ("rows", "<u4", 2 * s.entries),
    ]


def places(s: Sizes) -> tuple[dict[str, tuple[int, str, int]], int, int]:
    """Offset, type and length of each section; where the rows begin; the length of the block."""
    out: dict[str, tuple[int, str, int]] = {}
    at = HEADER_BYTES
    rows_at = at
    for name, kind, length in _sections(s):
        if name == "rows":
            rows_at = at
        out[name] = (at, kind, length)
        at += -(-length * np.dtype(kind).itemsize // 64) * 64
    return out, rows_at, at


def pack_header(s: Sizes, checksum: int) -> bytes:
    body = _HEADER.pack(
        MAGIC, VERSION, s.quantised, s.pictures, s.width, s.entries, s.words,
        s.postings, s.shift, s.levels, s.dropped, s.zero, s.base, s.largest_norm, checksum,
    )  # fmt: skip
    return body.ljust(HEADER_BYTES, b"\x00")


def unpack_header(data: bytes) -> tuple[Sizes, int]:
    """The sizes and the core's checksum, or Damage.  Sizes are bounded before they are used."""
    if len(data) < HEADER_BYTES:
        raise Damage(f"{len(data)} bytes; a block has at least {HEADER_BYTES}")
    magic, version, *rest, checksum = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise Damage(f"it begins with {magic!r}; {MAGIC!r} expected")
    if version != VERSION:
        raise Damage(f"format version {version}; this release reads {VERSION}")
    s = Sizes(*rest)
    if not (
        s.quantised in (0, 1)
        and 1 <= s.pictures <= BLOCK_PICTURES
        and s.width <= 1 << 32
        and s.entries <= BLOCK_ENTRIES
        and s.postings <= s.entries
        and s.words <= s.postings
        and s.shift <= 16
        and s.levels <= MAX_LEVELS
        and s.dropped <= s.entries
        and s.zero in (0, 128)
        and 0.0 <= s.base < np.inf
        and 0.0 <= s.largest_norm < np.inf
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

    powers = np.exp2(np.arange(256) / -8.0)
    steps = s.base * powers
    steps.flags.writeable = False
    return Views(
        ids=section("ids"),
        row_ends=section("row_ends"),
        row_sums=section("row_sums"),
        buckets=section("buckets").reshape(-1, 2),
        low8=section("low8"),
        low16=section("low16"),
        counts=section("counts"),
        scale=section("scale"),
        cuts=section("cuts"),
        norm_steps=section("norm_steps"),
        norms=section("norms").reshape(s.levels, s.pictures),
        dropped=section("dropped"),
        list_ids=section("list_ids"),
        impacts=section("impacts"),
        rows=section("rows"),
        row_values=section("rows", "<f4"),
        steps=steps,
        width=s.width,
        shift=s.shift,
        zero=s.zero,
        quantised=s.quantised,
        largest_norm=s.largest_norm,
    )
