"""Rows of a dense space by place, without a float32 matrix of them all.

Segments stay on disk and are read where a search asks for a row; fresh rows are in memory.  Ids
find their places by bisection: a Python object for each of a million pictures would take more
memory than their codes.
"""

from __future__ import annotations

import mmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.segments import comparable_rows
from likewise.catalog.store import SpaceRow
from likewise_methods.neighbours import release

Ids = NDArray[np.int64]
Rows = NDArray[np.float32]


_PICK = 256
"""Rows of a segment that are read before its pages go again: 16 MB of them."""


class _Part(NamedTuple):
    """Raw rows of one segment, those that ``picked`` numbers (None: all)."""

    raw: Rows
    picked: NDArray[np.int32] | None
    mapped: mmap.mmap | None


class RowParts:
    """Rows as they are compared: ``parts[places]`` gives a matrix of those at the places.

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
        """Rows of a segment, those of the mask; before any fresh ones."""
        assert not len(self._fresh)
        picked = None if mask.all() else np.flatnonzero(mask).astype(np.int32)
        n = len(raw) if picked is None else len(picked)
        if n:
            self._parts.append(_Part(raw, picked, mapped))
            self._ends = np.append(self._ends, self._ends[-1] + n)

    def add(self, raw: Rows) -> None:
        """Fresh rows, as they were described."""
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
                    # With each row the system brings in 64 KB, and a file that was once read whole
                    # would stay in memory whole.
                    release(part.mapped)
        # A row is of the same bits alone as among others.
        return comparable_rows(self._space, raw)


class IdPlaces:
    """Where ids stand in a list that grows; of one that is there twice, the later place."""

    def __init__(self, ids: Ids) -> None:
        self._sorted_at = np.argsort(ids, kind="stable").astype(np.int32)
        self._ids = ids
        self._later: dict[int, int] = {}
        self._n = len(ids)

    def add(self, ids: Ids) -> None:
        self._later |= {image: self._n + at for at, image in enumerate(ids.tolist())}
        self._n += len(ids)

    def find(self, ids: Ids) -> NDArray[np.int64]:
        """A place for each id; -1 where there is none."""
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


def living(places: NDArray[np.int64], alive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The places, with -1 for those that are not alive."""
    made = places.copy()
    there = np.flatnonzero(places >= 0)
    made[there[~alive[places[there]]]] = -1
    return made
