"""The dictionary of a lasso, and its scan for many queries at once.

A tile of rows times all residuals is one float32 matrix product.  Each tile is filtered while it is
in the cache, and only the k largest correlations above a floor are kept for each query.  The whole
n-by-batch matrix never exists, and a scan touches one tile of a memory-mapped dictionary at a time.

Column i of the lasso is ``scale[i]`` times row i of what is stored: rows need not be normalised
copies, and a scale of zero excludes a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.kernels import kernel
from likewise_methods.prefetch import prefetch
from likewise_methods.siso.solver.cholesky import FAST

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

TILE = 1024
# Columns of a tile tested together; only if one is above the floor, each is tested.
_FEW = 32
_UNIT = 2.0**-24


class Dictionary:
    """The columns of a lasso: rows in one or several arrays, in memory or memory-mapped.

    Rows must be finite; this is checked when their lengths are computed.

    Parameters
    ----------
    blocks : sequence of arrays of shape (n_i, d)
        Rows, float32 or float64, one block after another; nothing is copied.
    scale : array of shape (n,), optional
        Factors of the rows; 0 excludes a row.  By default 1 / length, so that columns are unit
        vectors, and 0 for rows of length zero.

    Attributes
    ----------
    n : int
        Number of rows.
    width : int
        Columns of a row, d.
    starts : array of shape (blocks + 1,)
        The number of the first row of each block, and n.

    See Also
    --------
    lasso : the solver that takes it.

    References
    ----------
    Scans: docs/methods/siso.md, (5).

    Examples
    --------
    >>> dictionary = Dictionary([np.array([[3.0, 4.0]]), np.eye(2)])
    >>> dictionary.n, dictionary.width, dictionary.scale.tolist()
    (3, 2, [0.2, 1.0, 1.0])
    """

    def __init__(self, blocks: Sequence[NDArray[Any]], scale: Floats | None = None) -> None:
        self.blocks = [np.asarray(block) for block in blocks]
        self.starts = np.concatenate([[0], np.cumsum([len(b) for b in self.blocks])])
        self.n = int(self.starts[-1])
        self.width = int(self.blocks[0].shape[1])
        self.scale = unit_scale(self) if scale is None else np.asarray(scale, np.float64)
        # ``lasso`` refuses a scale beyond float32.
        with np.errstate(over="ignore"):
            self._scale32 = self.scale.astype(np.float32)

    def rows(self, ids: Ids) -> Floats:
        """Return columns of the lasso, exactly: float64, scaled."""
        found = np.empty((len(ids), self.width))
        for block, own, here in self._homes(ids):
            _fetch(block, own, self.scale[ids[here]], here, found)
        return found

    def correlations(self, ids: Ids, r: Floats) -> Floats:
        """Return a_i'r of some columns in float64, without copying rows."""
        found = np.empty(len(ids))
        for block, own, here in self._homes(ids):
            _correlate(block, own, self.scale[ids[here]], here, r, found)
        return found

    def _homes(self, ids: Ids) -> Iterator[tuple[NDArray[Any], Ids, Ids]]:
        """Yield (block, rows of it, their places among ``ids``) for every block that has some."""
        if len(self.blocks) == 1:
            yield self.blocks[0], ids, np.arange(len(ids))
            return
        home = np.searchsorted(self.starts, ids, side="right") - 1
        for h in np.unique(home):
            here = np.flatnonzero(home == h)
            yield self.blocks[h], ids[here] - self.starts[h], here

    def tiles(self, part: int = 0, parts: int = 1) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield (number of the first row, rows) of every ``parts``-th tile, as views."""
        number = 0
        for first, block in zip(self.starts, self.blocks, strict=False):
            for start in range(0, len(block), TILE):
                if number % parts == part:
                    yield int(first) + start, block[start : start + TILE]
                number += 1

    def scan(
        self, R: Floats, floor: Floats, k: int, members: Any, nonnegative: bool,
        part: int = 0, parts: int = 1,
    ) -> Candidates:  # fmt: skip
        """Return the k columns with the largest correlation above ``floor`` for each row of R.

        ``members`` (rows of R, n / 8 bytes) marks columns to skip, one bit each.
        """
        B = len(R)
        R32 = np.ascontiguousarray(R, np.float32)
        found = Candidates(B, k, floor)
        product = np.empty(B * TILE, np.float32)
        for start, tile in self.tiles(part, parts):
            out = product[: B * len(tile)].reshape(B, len(tile))
            scale = self._scale32[start : start + len(tile)]
            if tile.dtype != np.float32:
                tile = (tile * self.scale[start : start + len(tile), None]).astype(np.float32)
                scale = np.ones_like(scale)
            np.matmul(R32, tile.T, out=out)
            _sift(
                out, scale, start, members, found.floor, k, nonnegative,
                found.ids, found.values, found.count,
            )  # fmt: skip
        _close(found.ids, found.values, found.count, found.floor, k)
        return found

    def scan_precisely(self, r: Floats, k: int, nonnegative: bool) -> tuple[Ids, float]:
        """Return one query's k largest columns in float64, and the largest correlation."""
        c = np.concatenate([tile.astype(np.float64) @ r for _, tile in self.tiles()]) * self.scale
        c = c if nonnegative else np.abs(c)
        k = min(k, self.n)
        return np.argpartition(-c, k - 1)[:k].astype(np.int64), float(c.max())

    def doubt(self, R: Floats) -> Floats:
        """Return the largest error of a float32 correlation for each row of R.

        The classical bound for a sum of ``width`` products in any order, with the rounding of rows,
        residual and scale: (width + 5) 2^-24 |a| |r| with |a| = 1.
        """
        return np.asarray((self.width + 5) * _UNIT * 1.01 * np.linalg.norm(R, axis=1))


class Candidates:
    """What a scan lists for each query: ``count`` ids and float32 correlations, unordered.

    Columns that are neither listed nor members have a float32 correlation of at most ``floor``,
    which a full list raises.
    """

    def __init__(self, B: int, k: int, floor: Floats) -> None:
        self.ids = np.empty((B, 2 * k), np.int64)
        self.values = np.empty((B, 2 * k), np.float32)
        self.count = np.zeros(B, np.int64)
        # Rounded down: a floor may be too low but not too high.
        low = np.maximum(floor, 0.0).astype(np.float32)
        self.floor = np.nextafter(low, np.float32(-np.inf))

    def of(self, b: int) -> tuple[Ids, Floats]:
        """Return the ids and correlations found for query b."""
        n = self.count[b]
        return self.ids[b, :n], self.values[b, :n].astype(np.float64)


@kernel(fastmath=FAST)
def _correlate(block, rows, scale, places, r, out):  # type: ignore[no-untyped-def]
    """out[places] = scale * block[rows] @ r, summed in float64."""
    n = rows.shape[0]
    for i in range(n):
        # Rows lie anywhere in memory: prefetch the one after the next.
        ahead = rows[min(i + 2, n - 1)] * block.shape[1]
        for k in range(0, block.shape[1], 16):
            prefetch(block, ahead + k)
        row = block[rows[i]]
        total = 0.0
        for k in range(r.shape[0]):
            total += np.float64(row[k]) * r[k]
        out[places[i]] = total * scale[i]


@kernel
def _fetch(block, rows, scale, places, out):  # type: ignore[no-untyped-def]
    """out[places] = scale * block[rows]."""
    for i in range(rows.shape[0]):
        row, to, factor = block[rows[i]], out[places[i]], scale[i]
        for k in range(to.shape[0]):
            to[k] = np.float64(row[k]) * factor


@kernel
def _select(values, ids, count, k):  # type: ignore[no-untyped-def]
    """Bring the k largest of the first ``count`` to the front (Hoare's quickselect)."""
    low, high = 0, count - 1
    while low < high:
        pivot = abs(values[(low + high) // 2])
        i, j = low, high
        while i <= j:
            while abs(values[i]) > pivot:
                i += 1
            while abs(values[j]) < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                ids[i], ids[j] = ids[j], ids[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@kernel(fastmath={"nnan", "ninf", "nsz", "reassoc", "contract"})
def _largest(row, scale):  # type: ignore[no-untyped-def]
    most = np.float32(0.0)
    for i in range(row.shape[0]):
        most = max(most, np.abs(row[i] * scale[i]))
    return most


@kernel
def _sift(C, scale, start, members, floor, k, nonnegative, ids, values, count):  # type: ignore[no-untyped-def]
    """Filter a tile's correlations (queries, rows) into the lists, a few columns at a time."""
    n = C.shape[1]
    for b in range(C.shape[0]):
        row = C[b]
        for first in range(0, n, _FEW):
            last = min(first + _FEW, n)
            if not _largest(row[first:last], scale[first:last]) > floor[b]:
                continue
            for i in range(first, last):
                value = row[i] * scale[i]
                if not (value if nonnegative else abs(value)) > floor[b]:
                    continue
                column = start + i
                if not members[b, column >> 3] & np.uint8(1 << (column & 7)):
                    at = count[b]
                    ids[b, at], values[b, at] = column, value
                    count[b] = at + 1
                    if count[b] == ids.shape[1]:
                        _keep_largest(ids[b], values[b], count, floor, b, k)


@kernel
def _keep_largest(ids, values, count, floor, b, k):  # type: ignore[no-untyped-def]
    """Keep the k largest and raise the floor to the smallest of them."""
    _select(values, ids, count[b], k)
    least = abs(values[0])
    for i in range(k):
        least = min(least, abs(values[i]))
    floor[b], count[b] = least, k


@kernel
def _close(ids, values, count, floor, k):  # type: ignore[no-untyped-def]
    for b in range(ids.shape[0]):
        if count[b] > k:
            _keep_largest(ids[b], values[b], count, floor, b, k)


@kernel
def mark(members, ids, on):  # type: ignore[no-untyped-def]
    """Set or clear the bits of some columns for one query."""
    for i in ids:
        bit = np.uint8(1 << (i & 7))
        if on:
            members[i >> 3] |= bit
        else:
            members[i >> 3] &= np.uint8(255) ^ bit


def unit_scale(dictionary: Dictionary) -> Floats:
    """Return 1 / length of every row, 0 for a row of zeros; refuse rows that are not finite."""
    scale = np.zeros(dictionary.n)
    for start, tile in dictionary.tiles():
        with np.errstate(over="ignore", under="ignore"):
            length = np.sqrt(np.einsum("ij,ij->i", tile, tile, dtype=np.float64))
        for i in np.flatnonzero(~((length > 1e-140) & (length < 1e140))):
            length[i] = _length(tile[i], start + int(i))
        with np.errstate(divide="ignore", over="ignore"):
            scale[start : start + len(tile)] = np.where(length > 0, 1 / length, 0.0)
    return scale


def _length(row: NDArray[Any], number: int) -> float:
    """Return the length of a row whose squares may leave the range of float64."""
    largest = float(np.abs(row).max(initial=0.0))
    if not np.isfinite(largest):
        raise InvalidInput(f"row {number} of the dictionary is not finite; replace or drop it")
    return largest * float(np.linalg.norm(row / largest)) if largest else 0.0
