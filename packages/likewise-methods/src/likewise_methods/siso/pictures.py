"""The tagged pictures an annotator holds: rows, ids, tags; some removed but still in their place.

Rows are kept in blocks as they came: adding copies little, and a memory-mapped matrix stays on
disk.  A removed row only loses its scale, so that it can never be chosen; when more than half of
the rows in memory are gone, the rest close ranks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.solver.input import LONGEST, SHORTEST
from likewise_methods.siso.solver.scan import Dictionary
from likewise_methods.validation import as_array, finite_rows

Rows = NDArray[np.floating[Any]]

# Smaller blocks are joined with the next: a tile of the scan should be full.
_SMALL = 8192
_LAST_ID = 2**63 - 1


def dense(X: Any) -> Any:
    """X, a plain array if it was sparse."""
    sparse = sp.issparse(X)
    return X.toarray() if sparse else X


def as_rows(X: Any, width: int | None = None) -> Rows:
    """X as finite rows, float32 or float64, of the expected width; no copy where none is needed."""
    found = as_array(dense(X), "X")
    # Small whole numbers and half floats lose nothing in float32.
    small = found.dtype.kind in "fiub" and found.dtype.itemsize <= 2
    kind = np.float32 if small else None
    made: Rows = finite_rows(found, "X", width, dtype=kind, of="pictures, features")
    return made


def unit(X: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """A copy with rows of unit length, and which were not all zeros; the type stays."""
    # By the largest entry first: the squares of a length could leave the range of its type.
    largest = np.abs(X).max(axis=1, keepdims=True)
    said = largest[:, 0] > 0
    made = X / np.where(largest > 0, largest, 1)
    made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1)
    return made, said


def unit_rows(X: Rows, name: str) -> Rows:
    """Rows of unit length; refuses a row of zeros, as ``SparseAnnotator`` does."""
    made, said = unit(X)
    if not said.all():
        empty = np.flatnonzero(~said)
        raise InvalidInput(
            f"row {int(empty[0])} of {name} is all zeros ({len(empty)} such rows); a picture "
            "without features is like nothing: drop it"
        )
    return made


def as_ids(ids: Any, n: int) -> NDArray[Any]:
    """n different ids: int64 if all are whole numbers, else objects."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids is {ids!r}; one id a picture expected")
    given = [i.item() if isinstance(i, np.generic) else i for i in ids]
    if len(given) != n:
        raise InvalidInput(f"{len(given)} ids for {n} pictures; one each expected")
    # NaN is not equal to itself: it could never be found again.
    for i in given:
        if not isinstance(i, Hashable) or i != i:
            raise InvalidInput(f"{i!r} cannot be an id; numbers or names expected")
    if len(set(given)) != n:
        seen: set[Any] = set()
        twice = next(i for i in given if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InvalidInput(f"id {twice!r} is there twice; each picture needs its own")
    whole = all(
        isinstance(i, int) and not isinstance(i, bool) and abs(i) <= _LAST_ID for i in given
    )
    made = np.empty(n, np.int64 if whole else object)
    for place, i in enumerate(given):
        made[place] = i
    return made


def next_id(ids: NDArray[Any], before: int) -> int:
    """One past the largest number among ``ids``, at least ``before``; 301.0 is the number 301."""
    if ids.dtype == np.int64:
        return max(before, int(ids.max(initial=-1)) + 1)
    numbers = [i for i in ids.tolist() if isinstance(i, (int, float)) and abs(i) <= _LAST_ID]
    return max([before, *(int(np.floor(i)) + 1 for i in numbers)])


def automatic_ids(first: int, n: int) -> NDArray[np.int64]:
    """n ids from ``first`` on."""
    if first + n > _LAST_ID:
        raise InvalidInput(f"no whole numbers are left after the id {first - 1}; give ids")
    return np.arange(first, first + n)


class Pictures:
    """Blocks of rows with ids and a CSR matrix of tags."""

    def __init__(self, X: Rows, on_disk: bool, ids: NDArray[Any], labels: Any) -> None:
        self.dictionary = _dictionary([X if on_disk else X.copy()])
        self.on_disk = [on_disk]
        self.ids = ids
        self.labels = labels
        self.alive = np.ones(len(X), bool)
        self._place: dict[Any, int] | None = None

    def __len__(self) -> int:
        return int(self.alive.sum())

    def add(self, X: Rows, on_disk: bool, ids: NDArray[Any], labels: Any) -> None:
        """More pictures; ``labels`` may have more columns than before."""
        old = self.dictionary
        new = _dictionary([X if on_disk else X.copy()])
        blocks = list(old.blocks)
        if not (on_disk or self.on_disk[-1]) and len(blocks[-1]) < _SMALL:
            blocks[-1] = np.concatenate([blocks[-1], new.blocks[0]])
        else:
            blocks.append(new.blocks[0])
            self.on_disk.append(on_disk)
        self.dictionary = Dictionary(blocks, np.concatenate([old.scale, new.scale]))
        both = self.ids.dtype == np.int64 and ids.dtype == np.int64
        self.ids = np.concatenate([self.ids, ids], dtype=np.int64 if both else object)
        wider = sp.csr_array(
            (self.labels.data, self.labels.indices, self.labels.indptr),
            shape=(self.labels.shape[0], labels.shape[1]),
        )
        self.labels = sp.csr_array(sp.vstack([wider, labels], format="csr"))
        if self._place is not None:
            self._place.update(zip(ids.tolist(), range(old.n, old.n + len(ids)), strict=True))
        self.alive = np.concatenate([self.alive, np.ones(len(X), bool)])

    @property
    def place(self) -> dict[Any, int]:
        """Which row each picture held has, by id; made when first asked for, then kept in step."""
        if self._place is None:
            rows = enumerate(self.ids.tolist())
            self._place = {name: row for row, name in rows if self.alive[row]}
        return self._place

    def rows_of(self, ids: Any) -> NDArray[np.int64]:
        """Where the pictures with these ids are; refuses unknown ones."""
        wanted = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
        place = self.place
        unknown = next((i for i in wanted if not isinstance(i, Hashable) or i not in place), None)
        if unknown is not None:
            raise InvalidInput(f"there is no picture with the id {unknown!r}")
        return np.unique(np.array([place[i] for i in wanted], np.int64))

    def without(self, rows: NDArray[np.int64]) -> Dictionary:
        """The dictionary less some rows, which stay in their place; the blocks are shared."""
        scale = self.dictionary.scale.copy()
        scale[rows] = 0.0
        return Dictionary(self.dictionary.blocks, scale)

    def remove(self, rows: NDArray[np.int64]) -> bool:
        """Take rows out; gives whether the others moved to close ranks."""
        for name in self.ids[rows].tolist():
            self.place.pop(name, None)
        self.alive[rows] = False
        self.dictionary = self.without(rows)
        moved = self._close_ranks()
        if moved:
            self._place = None
        return moved

    def _close_ranks(self) -> bool:
        movable = np.repeat(~np.array(self.on_disk), [len(b) for b in self.dictionary.blocks])
        gone = movable & ~self.alive
        if 2 * gone.sum() <= movable.sum() or gone.all():
            return False
        starts = self.dictionary.starts
        blocks, on_disk = [], []
        for block, start, disk in zip(self.dictionary.blocks, starts, self.on_disk, strict=False):
            kept = block if disk else block[~gone[start : start + len(block)]]
            if len(kept):
                blocks.append(kept)
                on_disk.append(disk)
        self.dictionary = Dictionary(blocks, self.dictionary.scale[~gone])
        self.on_disk, self.ids, self.alive = on_disk, self.ids[~gone], self.alive[~gone]
        self.labels = self.labels[~gone]
        return True

    def unit_rows(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """These rows as unit vectors, a float32 copy."""
        made = np.empty((len(rows), self.dictionary.width), np.float32)
        for start in range(0, len(rows), _SMALL):
            made[start : start + _SMALL] = self.dictionary.rows(rows[start : start + _SMALL])
        return made


def _dictionary(blocks: list[Rows]) -> Dictionary:
    made = Dictionary(blocks)
    empty = np.flatnonzero(made.scale == 0)
    if len(empty):
        raise InvalidInput(
            f"row {int(empty[0])} of X is all zeros ({len(empty)} such rows); a picture without "
            "features can reconstruct nothing: drop it"
        )
    odd = np.flatnonzero((made.scale > 1 / SHORTEST) | (made.scale < 1 / LONGEST))
    if len(odd):
        raise InvalidInput(
            f"row {int(odd[0])} of X has length {1 / made.scale[odd[0]]:.1g}; scale X to lengths "
            f"between {SHORTEST:g} and {LONGEST:g}"
        )
    return made
