"""Rows of a space: fresh ones in the catalog, sealed ones in segments, small segments merged.

Rows are stored raw (term counts, for words); the index holds them weighted by the frozen idf of the
generation.  ``seal_segment`` moves rows of the live generation from the catalog to segments,
``merge_segments`` joins small segments, ``renew_segments`` rewrites segments of an earlier format,
and every job calls ``tidy`` at its start and end.
"""

from __future__ import annotations

import mmap
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.segments import comparable_rows, open_idf
from likewise.catalog.store import SegmentRow, SpaceRow, Store
from likewise.errors import DamagedCollection
from likewise_methods.coding import BagOfWords
from likewise_methods.neighbours import release

WORDS_FOLDER = "words"
_NAME = re.compile(r"-(\d{10,})-(\d+)(?:-[0-9a-f]{8})?$")


def raw_rows(store: Store, space: SpaceRow) -> Iterator[tuple[Any, Any]]:
    """Yield (ids, raw rows) of all present pictures of a space, at most ``AT_ONCE`` at a time."""
    dead = np.array([image for _, image in store.tombstones()], np.int64)
    for row in store.segments(space.name, space.generation):
        for ids, raw in space.row_format.open_segment(store.root, row.name).parts():
            alive = ~np.isin(ids, dead)
            yield ids[alive], raw[alive]
    yield from fresh_rows(store, space, seg.AT_ONCE)


def fresh_rows(store: Store, space: SpaceRow, size: int) -> Iterator[tuple[Any, Any]]:
    """Yield (ids, raw rows) of the rows that are still in the catalog, ``size`` at a time."""
    chunks = store.vectors_in_chunks(space.name, space.generation, size)
    return space.row_format.read_fresh(chunks, space.width)


def write_chunk(
    root: Path,
    space: SpaceRow,
    idf: BagOfWords | None,
    chunk: list[tuple[int, int, bytes]],
    serial: int,
) -> tuple[str, int]:
    """Write a segment of fresh rows that the catalog does not name yet; return name and size."""
    name = segment_name(space.name, space.generation, chunk[-1][0], serial)
    ids = np.array([image for _, image, _ in chunk], np.int64)
    raw = space.row_format.unpack([vector for _, _, vector in chunk], space.width)
    return name, space.row_format.write_segment(root, name, ids, raw, idf)


def segment_name(space: str, generation: int, number: int, serial: int) -> str:
    """Return a new name for a segment of the space, in the order of vector numbers.

    The token makes it differ from the unnamed segment that a killed job wrote from the same rows;
    the next job deletes that one.
    """
    return f"{seg.FOLDER}/{space}-{generation}-{number:010d}-{serial}-{secrets.token_hex(4)}"


def number_and_serial(name: str) -> tuple[int, int]:
    """Return the two numbers given to :func:`segment_name`; earlier names have no token."""
    found = _NAME.search(name)
    if found is None:
        raise DamagedCollection(f"{name} is no name of a segment")
    return int(found[1]), int(found[2])


def seal_segment(store: Store, name: str, *, at_least: int | None = None) -> bool:
    """Move the fresh rows of a space into segments of so many rows when there are enough."""
    space = store.spaces()[name]
    enough = seg.SEAL_AT if at_least is None else max(at_least, 1)
    if store.n_vectors(name, space.generation) < enough:
        return False
    chunk = store.vectors(name, space.generation, limit=seg.SEAL_AT)
    made, n_bytes = write_chunk(store.root, space, open_idf(store.root, space), chunk, 0)
    with store.write(durable=True) as c:
        change.put_segment(c, made, name, space.generation, len(chunk), n_bytes)
        change.drop_vectors(c, [n for n, _, _ in chunk])
    return True


def merge_segments(store: Store, name: str, *, at_least: int | None = None) -> bool:
    """Join small segments into one of at most the full size, without removed pictures.

    A segment that is more than half full stays: merging it would block later merges, and the index
    of twice as many sparse rows takes twice the memory to build.
    """
    space = store.spaces()[name]
    small: list[SegmentRow] = []
    size = 0
    # The smallest first: two that are nearly half full would fill the segment.
    for row in sorted(store.segments(name, space.generation), key=lambda one: one.n_pictures):
        if row.n_pictures < seg.FULL // 2 and size + row.n_pictures <= seg.FULL:
            small.append(row)
            size += row.n_pictures
    if len(small) < max(seg.MERGE_AT if at_least is None else at_least, 2):
        return False
    joined = _join(store, space, small, np.zeros(0, np.int64))
    with store.write(durable=True) as c:
        name_segment(c, space, joined)
    return True


def renew_segments(store: Store, name: str) -> None:
    """Rewrite segments of an earlier format, so that readers need not build their index."""
    space = store.spaces()[name]
    for row in store.segments(name, space.generation):
        if space.row_format.is_current(store.root, row.name):
            continue
        # Reading a damaged one raises an error of its own; the others are renewed.
        with suppress(DamagedCollection):
            joined = _join(store, space, [row], np.zeros(0, np.int64))
            with store.write(durable=True) as c:
                name_segment(c, space, joined)


class JoinedSegment(NamedTuple):
    """A segment that replaces others, not yet named in the catalog."""

    old: list[str]
    name: str
    n_pictures: int
    n_bytes: int


def rewrite_segments(store: Store, name: str, without: Any) -> list[JoinedSegment]:
    """Rewrite segments without some pictures; the caller names them, the other segments stay."""
    space = store.spaces()[name]
    return [
        _join(store, space, [row], without)
        for row in store.segments(name, space.generation)
        if np.isin(space.row_format.open_segment(store.root, row.name).ids, without).any()
    ]


def _join(store: Store, space: SpaceRow, rows: list[SegmentRow], without: Any) -> JoinedSegment:
    """Write one segment in place of several, without the removed pictures and ``without``."""
    dead = np.array([image for _, image in store.tombstones()], np.int64)
    gone = np.union1d(dead, without)
    opened = [space.row_format.open_segment(store.root, row.name) for row in rows]
    ids = np.concatenate([part.ids[~np.isin(part.ids, gone)] for part in opened])
    left = (raw[~np.isin(some, gone)] for part in opened for some, raw in part.parts())
    numbers, serials = zip(*(number_and_serial(row.name) for row in rows), strict=True)
    last, serial = max(numbers), 1 + max(serials)
    made, n_bytes = segment_name(space.name, space.generation, last, serial), 0
    if len(ids):
        idf, form = open_idf(store.root, space), space.row_format
        n_bytes = form.write_parts(store.root, made, ids, left, space.width, idf)
    return JoinedSegment([row.name for row in rows], made, len(ids), n_bytes)


def name_segment(c: Any, space: SpaceRow, joined: JoinedSegment) -> None:
    """Inside a transaction: replace the old segments with the joined one."""
    change.drop_segments(c, joined.old)
    if joined.n_pictures:
        change.put_segment(
            c, joined.name, space.name, space.generation, joined.n_pictures, joined.n_bytes
        )


def tidy(store: Store) -> None:
    """Sweep, seal, merge and renew at the start and end of every job."""
    with store.write() as c:
        change.drop_unfinished(c)
    for name, space in store.spaces().items():
        if space.generation:
            while seal_segment(store, name):
                pass
            while merge_segments(store, name):
                pass
            renew_segments(store, name)
    seg.sweep(store.root, store.named_files())


Ids = NDArray[np.int64]
Rows = NDArray[np.float32]


_PICK = 256
"""Rows of a segment that are read before its pages go again: 16 MB of them."""


class _Part(NamedTuple):
    """Raw rows of one segment: those that ``picked`` numbers (None: all)."""

    raw: Rows
    picked: NDArray[np.int32] | None
    mapped: mmap.mmap | None


class RowParts:
    """Rows as they are compared: ``parts[places]`` returns a matrix of those at the places.

    Sealed rows come first, part by part; fresh ones follow.
    """

    def __init__(self, space: SpaceRow) -> None:
        self._space = space
        self._parts: list[_Part] = []
        self._ends = np.zeros(1, np.int64)
        self._fresh: Rows = np.zeros((0, space.width), np.float32)

    def __len__(self) -> int:
        return int(self._ends[-1]) + len(self._fresh)

    def add_part(self, raw: Rows, mask: NDArray[np.bool_], mapped: mmap.mmap | None = None) -> None:
        """Add the rows of a segment that the mask selects; call it before :meth:`add`."""
        assert not len(self._fresh)
        picked = None if mask.all() else np.flatnonzero(mask).astype(np.int32)
        n = len(raw) if picked is None else len(picked)
        if n:
            self._parts.append(_Part(raw, picked, mapped))
            self._ends = np.append(self._ends, self._ends[-1] + n)

    def add(self, raw: Rows) -> None:
        """Add fresh rows, as they were described."""
        self._fresh = np.concatenate([self._fresh, raw])

    def __getitem__(self, places: NDArray[np.int64]) -> Rows:
        raw = np.empty((len(places), self._space.width), np.float32)
        part_of = np.searchsorted(self._ends, places, side="right") - 1
        # Not np.unique: that would import masked arrays.
        for number in np.flatnonzero(np.bincount(part_of)).tolist():
            here = part_of == number
            at = places[here] - self._ends[number]
            if number == len(self._parts):
                raw[here] = self._fresh[at]
                continue
            part = self._parts[number]
            there = np.flatnonzero(here)
            for first in range(0, len(there), _PICK):
                some = at[first : first + _PICK]
                raw[there[first : first + _PICK]] = part.raw[
                    some if part.picked is None else part.picked[some]
                ]
                if part.mapped is not None:
                    # The system reads 64 KB for each row, and a file that was once read whole would
                    # stay in memory.
                    release(part.mapped)
        # A row has the same bits alone as in a batch.
        return comparable_rows(self._space, raw)


class IdPlaces:
    """Places of ids in a growing list; the last place where an id is there twice."""

    def __init__(self, ids: Ids) -> None:
        self._sorted_at = np.argsort(ids, kind="stable").astype(np.int32)
        self._ids = ids
        self._later: dict[int, int] = {}
        self._n = len(ids)

    def add(self, ids: Ids) -> None:
        self._later |= {image: self._n + at for at, image in enumerate(ids.tolist())}
        self._n += len(ids)

    def find(self, ids: Ids) -> NDArray[np.int64]:
        """Return the place of each id; -1 where it is missing."""
        found = np.full(len(ids), -1, np.int64)
        if len(self._ids):
            at = np.searchsorted(self._ids, ids, side="right", sorter=self._sorted_at) - 1
            places = self._sorted_at[np.maximum(at, 0)]
            right = (at >= 0) & (self._ids[places] == ids)
            found[right] = places[right]
        if self._later:
            for i, image in enumerate(ids.tolist()):
                found[i] = self._later.get(image, found[i])
        return found


def hide_removed(places: NDArray[np.int64], alive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the places, with -1 for those that are not alive."""
    made = places.copy()
    there = np.flatnonzero(places >= 0)
    made[there[~alive[places[there]]]] = -1
    return made
