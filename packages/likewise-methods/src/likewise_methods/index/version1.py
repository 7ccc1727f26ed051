"""Read blocks of the first format: their rows, of which a current block is built in memory.

Building takes seconds for a full block; saving the index writes the current format.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from likewise_methods.index.building import unpack_rows
from likewise_methods.index.checking import check_rows
from likewise_methods.index.hashing import xxh64
from likewise_methods.index.layout import (
    BLOCK_PICTURES,
    HEADER_BYTES,
    Array,
    Damage,
    place_sections,
)

VERSION = 1
_HEADER = struct.Struct("<8sII9QddQ")
_MOST_ENTRIES = 1 << 31
_MOST_LEVELS = 16
_GROUP_SHIFT = 5


class Sizes(NamedTuple):
    """The header."""

    quantised: int
    pictures: int
    width: int
    entries: int
    words: int
    postings: int
    shift: int
    levels: int
    dropped: int
    zero: int
    base: float
    largest_norm: float


class RowViews(NamedTuple):
    """The rows of a block, for ``check_rows``."""

    ids: Array
    row_ends: Array
    row_sums: Array
    rows: Array
    row_values: Array
    width: int
    group_shift: int


def places(s: Sizes) -> tuple[dict[str, tuple[int, str, int]], int, int]:
    """Return the sections, where rows start, and the length of the block."""
    groups = (s.pictures + (1 << _GROUP_SHIFT) - 1) >> _GROUP_SHIFT
    buckets = (max(s.width, 1) - 1 >> s.shift) + 1
    return place_sections(
        [
            ("ids", "<i8", s.pictures),
            ("row_ends", "<i8", s.pictures + 1),
            ("row_sums", "<u8", groups),
            ("buckets", "<u4", 2 * (buckets + 1)),
            ("low", "|u1" if s.shift <= 8 else "<u2", s.words),
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
    )


def unpack_header(data: bytes) -> tuple[Sizes, int]:
    """Return sizes and checksum of everything except rows; raise Damage."""
    _, _, *rest, checksum = _HEADER.unpack_from(data)
    s = Sizes(*rest)
    if not (
        s.quantised in (0, 1)
        and 1 <= s.pictures <= BLOCK_PICTURES
        and s.width <= 1 << 32
        and s.entries <= _MOST_ENTRIES
        and s.words <= s.postings <= s.entries
        and s.shift <= 16
        and s.levels <= _MOST_LEVELS
        and s.dropped <= s.entries
    ):
        raise Damage("the sizes in its header are impossible")
    return s, checksum


def read_rows(
    buffer: Array, s: Sizes, checksum: int
) -> tuple[Array, Array, Array, Array, int, Array]:
    """Return ids, offsets, words, values, width and dropped words of a block, checked."""
    where, rows_at, _ = places(s)

    def section(name: str, kind: str | None = None) -> Array:
        at, stored, length = where[name]
        return buffer[at : at + length * np.dtype(stored).itemsize].view(kind or stored)

    if int(xxh64(buffer.view("<u4"), HEADER_BYTES // 4, rows_at // 4)) != checksum:
        raise Damage("its checksum does not fit its content")
    ids, ends, dropped = section("ids"), section("row_ends"), section("dropped")
    if not (
        ends[0] == 0
        and ends[-1] == s.entries
        and bool((ends[1:] >= ends[:-1]).all())
        and bool((ids >= 0).all())
        and bool((dropped < s.width).all())
    ):
        raise Damage("its offsets or picture numbers are out of range")
    rows, row_values = section("rows"), section("rows", "<f4")
    sums = section("row_sums")
    check_rows(RowViews(ids, ends, sums, rows, row_values, s.width, _GROUP_SHIFT))
    words, values = np.empty(s.entries, np.uint32), np.empty(s.entries, np.float32)
    lengths = np.zeros(s.pictures, np.int64)
    unpack_rows(ends, rows, row_values, np.zeros(s.pictures, np.uint8), words, values, lengths)
    drop = np.zeros(s.width, bool)
    drop[dropped] = True
    return ids.copy(), ends.copy(), words, values, s.width, drop
