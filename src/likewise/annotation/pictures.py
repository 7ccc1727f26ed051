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

from likewise.errors import InvalidInput
from likewise.solvers.lasso_scan import Dictionary

Rows = NDArray[np.floating[Any]]

# Smaller blocks are joined with the next: a tile of the scan should be full.
_SMALL = 8192
# Scans are float32; beyond these lengths products could leave its range.
_SHORTEST, _LONGEST = 1e-15, 1e15


def dense(X: Any) -> Any:
    """X, a plain array if it was sparse."""
    sparse = sp.issparse(X)
    return X.toarray() if sparse else X


def as_rows(X: Any, width: int | None = None) -> Rows:
    """X as finite rows, float32 or float64, of the expected width; no copy where none is needed."""
    try:
        found = np.asarray(dense(X))
    except ValueError as error:
        raise InvalidInput(f"X is not a matrix, its rows differ in length: {error}") from error
    if found.dtype.kind not in "fiub":
        raise InvalidInput(f"X has type {found.dtype}; real numbers expected")
    if found.ndim != 2:
        raise InvalidInput(f"X has {found.ndim} dimensions; 2 expected (pictures, features)")
    if width is not None and found.shape[1] != width:
        raise InvalidInput(f"X has {found.shape[1]} columns; {width} expected")
    if found.shape[1] == 0:
        raise InvalidInput("X has 0 columns; at least 1 expected")
    if found.dtype not in (np.float32, np.float64):
        found = found.astype(np.float32 if found.dtype.itemsize <= 2 else np.float64)
    found = np.ascontiguousarray(found)
    for start in range(0, len(found), 8192):
        sound = np.isfinite(found[start : start + 8192]).all(axis=1)
        if not sound.all():
            bad = start + int(np.flatnonzero(~sound)[0])
            raise InvalidInput(f"row {bad} of X holds NaN or infinity; replace or drop it")
    return found


def as_ids(ids: Any, n: int) -> NDArray[Any]:
    """n different ids: int64 if all are whole numbers, else objects."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids is {ids!r}; one id a picture expected")
    given = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(given) != n:
        raise InvalidInput(f"{len(given)} ids for {n} pictures; one each expected")
    strange = next((i for i in given if not isinstance(i, Hashable)), None)
    if strange is not None:
        raise InvalidInput(f"{strange!r} cannot be an id; numbers or names expected")
    if len(set(given)) != n:
        seen: set[Any] = set()
        twice = next(i for i in given if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InvalidInput(f"id {twice!r} is there twice; each picture needs its own")
    whole = all(isinstance(i, int) and not isinstance(i, bool) for i in given)
    made = np.empty(n, np.int64 if whole else object)
    made[:] = given
    return made


class Pictures:
    """Blocks of rows with ids and a CSR matrix of tags."""

    def __init__(self, X: Rows, on_disk: bool, ids: NDArray[Any], labels: Any) -> None:
        self.dictionary = _dictionary([X if on_disk else X.copy()])
        self.on_disk = [on_disk]
        self.ids = ids
        self.labels = labels
        self.alive = np.ones(len(X), bool)

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
        self.alive = np.concatenate([self.alive, np.ones(len(X), bool)])

    def rows_of(self, ids: Any) -> NDArray[np.int64]:
        """Where the pictures with these ids are; refuses unknown ones."""
        wanted = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
        place = {name: row for row, name in enumerate(self.ids.tolist()) if self.alive[row]}
        unknown = next((i for i in wanted if not isinstance(i, Hashable) or i not in place), None)
        if unknown is not None:
            raise InvalidInput(f"there is no picture with the id {unknown!r}")
        return np.unique(np.array([place[i] for i in wanted], np.int64))

    def remove(self, rows: NDArray[np.int64]) -> bool:
        """Take rows out; gives whether the others moved to close ranks."""
        self.alive[rows] = False
        scale = self.dictionary.scale.copy()
        scale[rows] = 0.0
        self.dictionary = Dictionary(self.dictionary.blocks, scale)
        return self._close_ranks()

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

    def unit_rows(self, start: int = 0) -> NDArray[np.float32]:
        """Rows from ``start`` on as unit vectors (removed ones zero), a float32 copy."""
        made = np.empty((self.dictionary.n - start, self.dictionary.width), np.float32)
        for first, tile in self.dictionary.tiles():
            skip = max(0, start - first)
            if skip < len(tile):
                scale = self.dictionary.scale[first + skip : first + len(tile), None]
                made[first + skip - start : first + len(tile) - start] = tile[skip:] * scale
        return made


def _dictionary(blocks: list[Rows]) -> Dictionary:
    made = Dictionary(blocks)
    empty = np.flatnonzero(made.scale == 0)
    if len(empty):
        raise InvalidInput(
            f"row {int(empty[0])} of X is all zeros ({len(empty)} such rows); a picture without "
            "features can reconstruct nothing: drop it"
        )
    odd = np.flatnonzero((made.scale > 1 / _SHORTEST) | (made.scale < 1 / _LONGEST))
    if len(odd):
        raise InvalidInput(
            f"row {int(odd[0])} of X has length {1 / made.scale[odd[0]]:.1g}; scale X to lengths "
            f"between {_SHORTEST:g} and {_LONGEST:g}"
        )
    return made
