"""One scan of the dictionary for many queries: tiles of a matrix product, thresholded as they come.

A tile of rows times all residuals is one float32 matrix product; each tile is sifted while it is
still in the cache, and of every query only the k largest correlations above its floor are kept.
The whole n-by-batch matrix never exists, and of a memory-mapped dictionary only a tile is touched
at a time.

Column i of the lasso is ``scale[i]`` times row i of what is stored: rows need not be normalised
copies, and a scale of zero takes a row out of the game.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._kernels import kernel
from likewise.errors import InvalidInput

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

TILE = 2048
_UNIT = 2.0**-24


class Dictionary:
    """The columns of a lasso: rows in one or several arrays, in memory or memory-mapped.

    Rows must be finite, which is checked where lengths are measured.

    Parameters
    ----------
    blocks : sequence of arrays of shape (n_i, d)
        Rows, float32 or float64, one block after another; nothing is copied.
    scale : array of shape (n,), optional
        What rows are multiplied by; 0 takes a row out of the game.  By default 1 / length, so
        that columns are unit vectors, with 0 for rows of length zero.

    Attributes
    ----------
    n : int
        Rows in all blocks together.
    width : int
        Columns of a row, d.
    starts : array of shape (blocks + 1,)
        The number of the first row of each block, and n.

    See Also
    --------
    lasso : the solver that takes it.

    References
    ----------
    The scans that it answers: docs/methods/siso.md, (5).

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
        # A scale beyond float32 is refused where scans are asked for (``input``).
        with np.errstate(over="ignore"):
            self._scale32 = self.scale.astype(np.float32)

    def rows(self, ids: Ids) -> Floats:
        """Columns of the lasso, exactly: float64, scaled."""
        if len(self.blocks) == 1:
            found = self.blocks[0][ids].astype(np.float64)
        else:
            found = np.empty((len(ids), self.width))
            home = np.searchsorted(self.starts, ids, side="right") - 1
            for h in np.unique(home):
                here = home == h
                found[here] = self.blocks[h][ids[here] - self.starts[h]]
        found *= self.scale[ids][:, None]
        return found

    def tiles(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """(number of the first row, rows), a view of what is stored."""
        for first, block in zip(self.starts, self.blocks, strict=False):
            for start in range(0, len(block), TILE):
                yield int(first) + start, block[start : start + TILE]

    def scan(self, R: Floats, floor: Floats, k: int, members: Any, nonnegative: bool) -> Candidates:
        """The k columns with the largest correlation above ``floor`` for each row of R.

        ``members`` (rows of R, n / 8 bytes) marks columns to pass over, one bit each.
        """
        B = len(R)
        R32 = np.ascontiguousarray(R, np.float32).T
        found = Candidates(B, k, floor)
        product = np.empty((TILE, B), np.float32)
        for start, tile in self.tiles():
            out = product[: len(tile)]
            scale = self._scale32[start : start + len(tile)]
            if tile.dtype != np.float32:
                tile = (tile * self.scale[start : start + len(tile), None]).astype(np.float32)
                scale = np.ones_like(scale)
            np.matmul(tile, R32, out=out)
            _sift(
                out, scale, start, members, found.floor, k, nonnegative,
                found.ids, found.values, found.count,
            )  # fmt: skip
        _close(found.ids, found.values, found.count, found.floor, k)
        return found

    def scan_precisely(self, r: Floats, k: int, nonnegative: bool) -> tuple[Ids, float]:
        """The k columns with the largest correlation in float64, and the largest: one query."""
        c = np.concatenate([tile.astype(np.float64) @ r for _, tile in self.tiles()]) * self.scale
        c = c if nonnegative else np.abs(c)
        k = min(k, self.n)
        return np.argpartition(-c, k - 1)[:k].astype(np.int64), float(c.max())

    def doubt(self, R: Floats) -> Floats:
        """How far a float32 correlation may be from the exact one, for each row of R.

        The classical bound of a sum of ``width`` products in any order, with the rounding of
        rows, residual and scale: (width + 5) 2^-24 |a| |r| with |a| = 1.
        """
        return np.asarray((self.width + 5) * _UNIT * 1.01 * np.linalg.norm(R, axis=1))


class Candidates:
    """What a scan kept of each query: ``count`` ids and values, in no order.

    Every column that is neither listed nor a member has a float32 correlation of at most
    ``floor``, which a full list has raised.
    """

    def __init__(self, B: int, k: int, floor: Floats) -> None:
        self.ids = np.empty((B, 2 * k), np.int64)
        self.values = np.empty((B, 2 * k), np.float32)
        self.count = np.zeros(B, np.int64)
        # Rounded down: a floor may be lower than asked, never higher.
        self.floor = np.nextafter(floor.astype(np.float32), np.float32(-np.inf))

    def of(self, b: int) -> Ids:
        """Ids found for query b."""
        return self.ids[b, : self.count[b]]


@kernel
def _select(values, ids, count, k):  # type: ignore[no-untyped-def]
    """Bring the k largest of the first ``count`` to the front (Hoare's quickselect)."""
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
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
def _any_above(row, factor, floor):  # type: ignore[no-untyped-def]
    most = np.float32(-1.0)
    for b in range(row.shape[0]):
        most = max(most, np.abs(row[b]) * factor - floor[b])
    return most > 0


@kernel
def _sift(C, scale, start, members, floor, k, nonnegative, ids, values, count):  # type: ignore[no-untyped-def]
    """Sort a tile's correlations (rows, queries) into the lists."""
    for i in range(C.shape[0]):
        factor, column = scale[i], start + i
        if not _any_above(C[i], factor, floor):
            continue
        bit = np.uint8(1 << (column & 7))
        for b in range(C.shape[1]):
            value = C[i, b] * factor
            if value < 0 and not nonnegative:
                value = -value
            if value > floor[b] and not members[b, column >> 3] & bit:
                at = count[b]
                ids[b, at], values[b, at] = column, value
                count[b] = at + 1
                if count[b] == ids.shape[1]:
                    _keep_largest(ids[b], values[b], count, floor, b, k)


@kernel
def _keep_largest(ids, values, count, floor, b, k):  # type: ignore[no-untyped-def]
    """Keep the k largest; from now on only larger ones count."""
    _select(values, ids, count[b], k)
    least = values[0]
    for i in range(k):
        least = min(least, values[i])
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
    """1 / length of every row, 0 for a row of zeros; refuses rows that are not finite."""
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
    """The length of a row whose squares may leave the range of float64."""
    largest = float(np.abs(row).max(initial=0.0))
    if not np.isfinite(largest):
        raise InvalidInput(f"row {number} of the dictionary is not finite; replace or drop it")
    return largest * float(np.linalg.norm(row / largest)) if largest else 0.0
