"""A block in use: its bytes, views, dead pictures, and which parts were checked.

Blocks are immutable.  Removing pictures creates a new ``Block`` over the same bytes with another
``dead`` array, so that running searches are not affected.

Access to a page after the end of a mapped file kills the process (SIGBUS).  So the file's length is
checked before each use: a shortened file is a DamagedIndex, unless it is shortened during a search.
`files.save` replaces files and never shortens them.
"""

from __future__ import annotations

import contextlib
import mmap
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from likewise_methods.index.building import build_block, unpack_rows
from likewise_methods.index.checking import check_core, check_rows, rows_sound
from likewise_methods.index.layout import (
    BLOCK_ENTRIES,
    BLOCK_PICTURES,
    GROUP_SHIFT,
    Array,
    Damage,
    DamagedIndex,
    Sizes,
    Views,
    places,
    read_views,
)
from likewise_methods.index.lists import count_living
from likewise_methods.sparse_rows import Rows

_NOBODY_DEAD = np.zeros(BLOCK_PICTURES, np.uint8)
_NOBODY_DEAD.flags.writeable = False


class _Bytes:
    """The immutable part, shared by blocks that differ only in their dead pictures."""

    def __init__(
        self,
        sizes: Sizes,
        checksum: int,
        buffer: Array,
        path: Path | None,
        mapped: mmap.mmap | None = None,
    ) -> None:
        self.sizes = sizes
        self.checksum = checksum
        self.buffer = buffer
        self.path = path
        self.mapped = mapped
        self.id_range: tuple[int, int] | None = None
        self.views = read_views(buffer, sizes)
        # A block built in this process needs no check.
        self.sound = path is None
        self.checked = np.full(len(self.views.row_sums), path is None, np.uint8)
        self.lock = threading.Lock()
        self.advise_rows("MADV_RANDOM")

    def advise_rows(self, advice: str) -> None:
        """Advise the system that mapped rows are read at random.

        Without this each row would read 64 KiB into memory, and some hundred searches all rows.
        """
        if self.mapped is None or not hasattr(mmap, advice):
            return
        _, rows_at, total = places(self.sizes)
        # A page with both lists and rows counts as lists.
        begin = -(-rows_at // mmap.PAGESIZE) * mmap.PAGESIZE
        if begin < total:
            # The advice is optional, so ignore errors.
            with contextlib.suppress(OSError):
                self.mapped.madvise(getattr(mmap, advice), begin, total - begin)

    @contextlib.contextmanager
    def all_rows(self) -> Iterator[None]:
        """Advise the system to read all rows in order, and to release them afterwards."""
        self.advise_rows("MADV_SEQUENTIAL")
        try:
            yield
        finally:
            self.release_rows()
            self.advise_rows("MADV_RANDOM")

    def release_rows(self) -> None:
        """Release the pages of the rows; they are read again when needed."""
        self.advise_rows("MADV_DONTNEED")

    def check_length(self) -> None:
        """Raise Damage if the file is shorter than its mapping."""
        if self.mapped is not None and self.mapped.size() != len(self.buffer):
            raise Damage(f"{self.mapped.size()} bytes; {len(self.buffer)} expected")


class Block:
    """Up to 65,536 pictures."""

    def __init__(self, content: _Bytes, dead: Array | None) -> None:
        self._content = content
        n = content.sizes.pictures
        self.dead = _NOBODY_DEAD[:n] if dead is None else dead
        self.living = n if dead is None else n - int(np.count_nonzero(dead))
        self._order: Array | None = None

    @classmethod
    def build(
        cls, ids: Array, ends: Array, words: Array, values: Array, width: int,
        drop: Array | None, dead: Array | None = None,
    ) -> Block:  # fmt: skip
        built = build_block(ids, ends, words, values, width, drop)
        return cls(_Bytes(*built, None), dead)

    @classmethod
    def of_buffer(
        cls,
        sizes: Sizes,
        checksum: int,
        buffer: Array,
        path: Path,
        dead: Array | None,
        mapped: mmap.mmap | None = None,
    ) -> Block:
        """Return a block of a mapped file, of which only the header was checked."""
        return cls(_Bytes(sizes, checksum, buffer, path, mapped), dead)

    @property
    def sizes(self) -> Sizes:
        return self._content.sizes

    @property
    def path(self) -> Path | None:
        """The mapped file; None if the block was built in this process."""
        return self._content.path

    @property
    def checksum(self) -> int:
        return self._content.checksum

    @property
    def buffer(self) -> Array:
        return self._content.buffer

    @property
    def checked(self) -> Array:
        """One flag per group of rows, set by kernels that checked it."""
        return self._content.checked

    @property
    def has_dead(self) -> bool:
        return self.living < self.sizes.pictures

    def views(self) -> Views:
        """Return the arrays; check them at the first use, and the file's length every time."""
        content = self._content
        try:
            content.check_length()
            if not content.sound:
                with content.lock:
                    if not content.sound:
                        check_core(content.buffer, content.sizes, content.views, content.checksum)
                        content.sound = True
        except Damage as damage:
            raise self._damage_error(str(damage)) from None
        return content.views

    def verify(self) -> None:
        """Check everything, also rows."""
        content = self._content
        try:
            content.check_length()
            check_core(content.buffer, content.sizes, content.views, content.checksum)
            with content.all_rows():
                check_rows(content.views)
        except Damage as damage:
            raise self._damage_error(str(damage)) from None
        content.sound = True
        content.checked[:] = 1

    def release_rows(self) -> None:
        """Release the pages of mapped rows."""
        self._content.release_rows()

    def damaged_rows(self) -> DamagedIndex:
        return self._damage_error("the checksum of some of its rows does not fit")

    def _damage_error(self, found: str) -> DamagedIndex:
        return DamagedIndex(str(self._content.path or "index in memory"), found)

    def without(self, positions: Array) -> Block:
        """Return the block with these pictures marked dead."""
        dead = self.dead.copy()
        dead[positions] = 1
        dead.flags.writeable = False
        block = Block(self._content, dead)
        block._order = self._order
        return block

    def find(self, ids: Array) -> Array:
        """Return the position of each id among the living pictures, or -1."""
        own = self.views().ids
        if self._order is None:
            self._order = np.argsort(own, kind="stable")
        place = np.searchsorted(own, ids, sorter=self._order)
        position = self._order[np.minimum(place, len(own) - 1)]
        return np.where((own[position] == ids) & (self.dead[position] == 0), position, -1)

    def id_range(self) -> tuple[int, int]:
        """Return smallest and largest id, dead ones included, without checking the block."""
        content = self._content
        if content.id_range is None:
            try:
                content.check_length()
            except Damage as damage:
                raise self._damage_error(str(damage)) from None
            ids = content.views.ids
            content.id_range = int(ids.min()), int(ids.max())
        return content.id_range

    def living_ids(self) -> Array:
        living: Array = self.views().ids[self.dead == 0]
        return living

    def living_rows(self) -> tuple[Array, Array, Array, Array]:
        """Return ids, row lengths, words and values of the living pictures, checked."""
        views = self.views()
        if not self.checked.all():
            self.verify()
        lengths = np.zeros(self.living, np.int64)
        total = int(np.diff(views.row_ends)[self.dead == 0].sum())
        words = np.zeros(total, np.uint32)
        values = np.zeros(total, np.float32)
        with self._content.all_rows():
            unpack_rows(
                views.row_ends, views.rows, views.row_values, self.dead, words, values, lengths
            )
        return self.living_ids(), lengths, words, values

    def row_at(self, position: int) -> tuple[Array, Array]:
        """Return words and values of one picture, checked."""
        views = self.views()
        group = position >> GROUP_SHIFT
        if not self.checked[group]:
            if not rows_sound(views, group):
                raise self.damaged_rows()
            self.checked[group] = 1
        first, last = int(views.row_ends[position]), int(views.row_ends[position + 1])
        middle, end = first + last, 2 * last
        return views.rows[2 * first : middle].copy(), views.row_values[middle:end].copy()

    def word_counts(self) -> tuple[Array, Array]:
        """Return the words with postings, and the number of living pictures with each."""
        views = self.views()
        low = views.low8 if len(views.low8) else views.low16
        bucket = np.repeat(np.arange(len(views.buckets) - 1), np.diff(views.buckets[:, 0]))
        in_lists, in_columns = np.zeros(len(low), np.int64), np.zeros(self.sizes.columns, np.int64)
        count_living(views, self.dead, in_lists, in_columns)
        words = np.concatenate([(bucket << views.shift) + low, views.column_words])
        return words, np.concatenate([in_lists, in_columns])

    def list_bytes(self) -> int:
        """Bytes of ids, directory, lists and columns."""
        _, rows_at, _ = places(self.sizes)
        return rows_at - self._row_index_bytes()

    def row_bytes(self) -> int:
        """Bytes of the rows, their offsets and checksums."""
        _, rows_at, total = places(self.sizes)
        return total - rows_at + self._row_index_bytes()

    def _row_index_bytes(self) -> int:
        where, _, _ = places(self.sizes)
        return where["buckets"][0] - where["row_ends"][0]


def join(blocks: list[Block], width: int, drop: Array | None) -> Block:
    """Join the living pictures of several blocks into one."""
    parts = [block.living_rows() for block in blocks]
    ids, lengths, words, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return Block.build(ids, ends, words, values, width, drop)


def cut_blocks(rows: Rows, ids: Array, width: int, drop: Array | None) -> list[Block]:
    """Build blocks of these rows, in order, each as full as possible."""
    blocks = []
    first = 0
    while first < len(ids):
        room = np.searchsorted(rows.ends, rows.ends[first] + BLOCK_ENTRIES, side="right") - 1
        last = min(first + BLOCK_PICTURES, int(room), len(ids))
        span = slice(rows.ends[first], rows.ends[last])
        ends = rows.ends[first : last + 1] - rows.ends[first]
        words, values = rows.words[span], rows.values[span]
        blocks.append(Block.build(ids[first:last], ends, words, values, width, drop))
        first = last
    return blocks
