"""Screening: the solution splits into the connected blocks of |S_ij| > l1, exactly.

Where |S_ij| <= l1 for all i in one block and j in another, M with zeros between both is optimal
(Witten et al. 2011; Mazumder and Hastie 2012), whether S is definite or not.  One pass over S finds
the blocks and checks S.  S is never copied as a whole, so m = 10,000 costs the memory of S and of
the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from likewise_methods.kernels import kernel
from likewise_methods.s3ml.objective import Floats

Whole = NDArray[np.int64]
TILE = 64


@kernel
def _root(parent, i):  # type: ignore[no-untyped-def]
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _scan(S, l1, parent):  # type: ignore[no-untyped-def]
    """Join what |S_ij| > l1 connects; return (largest asymmetry, largest |S_ij|, all finite).

    This runs tile by tile, as entries below the diagonal are strided.
    """
    m = len(S)
    apart = largest = 0.0
    # A NaN or an infinity in any entry ends up here as NaN.
    health = 0.0
    for top in range(0, m, TILE):
        for left in range(top, m, TILE):
            for i in range(top, min(top + TILE, m)):
                for j in range(max(left, i), min(left + TILE, m)):
                    upper, lower = S[i, j], S[j, i]
                    health += 0.0 * upper + 0.0 * lower
                    apart = max(apart, abs(upper - lower))
                    size = abs(0.5 * (upper + lower))
                    largest = max(largest, size)
                    if size > l1 and i != j:
                        one, other = _root(parent, i), _root(parent, j)
                        if one != other:
                            parent[max(one, other)] = min(one, other)
    for i in range(m):
        parent[i] = _root(parent, i)
    return apart, largest, health == 0.0


def is_sparse(S: Any) -> bool:
    return bool(sp.issparse(S))


@dataclass(frozen=True, eq=False)
class BlockScan:
    """The result of a pass over S: a label for each variable, and checks of S."""

    labels: Whole
    asymmetry: float
    largest: float
    finite: bool


def scan(S: Any, l1: float) -> BlockScan:
    """Find the connected blocks of |S_ij| > l1 (S dense float64 or CSR)."""
    if is_sparse(S):
        finite = bool(np.isfinite(S.data).all())
        largest = float(np.abs(S.data).max(initial=0.0))
        asymmetry = float(np.abs((S - S.T).data).max(initial=0.0))
        even = 0.5 * (S + S.T)
        edges = sp.csr_array(np.abs(even) > l1)
        labels = connected_components(edges, directed=False)[1].astype(np.int64)
        return BlockScan(labels, asymmetry, largest, finite)
    parent = np.arange(len(S))
    asymmetry, largest, finite = _scan(S, l1, parent)
    return BlockScan(parent, asymmetry, largest, finite)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The variables block after block, ascending in each, the smallest blocks first."""

    variables: Whole
    sizes: Whole

    @classmethod
    def of(cls, labels: Whole) -> Blocks:
        counts = np.bincount(labels)
        # By size, then by label, so that equal labels stay together.
        order = np.lexsort((labels, counts[labels]))
        return cls(order, np.sort(counts[counts > 0]))

    def between(self, least: int, most: int) -> Blocks:
        """Return the blocks of ``least`` to ``most`` variables."""
        first, last = self.sizes.searchsorted((least, most + 1))
        begin, end = self.ends[first], self.ends[last]
        return Blocks(self.variables[begin:end], self.sizes[first:last])

    @cached_property
    def ends(self) -> Whole:
        """Where blocks end, after a 0."""
        made = np.zeros(len(self.sizes) + 1, np.int64)
        self.sizes.cumsum(out=made[1:])
        return made

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[Whole]:
        yield from np.split(self.variables, np.cumsum(self.sizes)[:-1]) if len(self) else ()


def take_block(S: Any, block: Whole, place: Whole) -> Floats:
    """Return the block's part of S, dense and exactly symmetric.

    ``place`` has a number for each variable, -1 before and after the call.
    """
    if not is_sparse(S):
        part = S[np.ix_(block, block)]
        return np.ascontiguousarray(0.5 * (part + part.T))
    # Slicing CSR by columns would read all of them for each block.
    size = len(block)
    place[block] = np.arange(size)
    counts = S.indptr[block + 1] - S.indptr[block]
    rows = np.repeat(np.arange(size), counts)
    begins = np.repeat(S.indptr[block] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    entries = begins + np.arange(len(rows))
    columns = place[S.indices[entries]]
    inside = columns >= 0
    part = np.zeros((size, size))
    part[rows[inside], columns[inside]] = S.data[entries[inside]]
    place[block] = -1
    return np.ascontiguousarray(0.5 * (part + part.T))


class Proof:
    """The dual point in parts, assembled on demand."""

    def __init__(self, m: int, sparse: bool) -> None:
        self._m, self._sparse = m, sparse
        self._entries: list[tuple[Whole, Whole, Floats]] = []
        self._blocks: list[tuple[Whole, Floats | None]] = []
        self._packed: list[Any] = []

    def packed(self, part: Any) -> None:
        """Add many blocks in one (``small_blocks.Packed``)."""
        self._packed.append(part)

    def entries(self, rows: Whole, columns: Whole, values: Floats) -> None:
        self._entries.append((rows, columns, values))

    def block(self, block: Whole, Z: Floats | None) -> None:
        self._blocks.append((block, Z))

    def whole(self) -> Any:
        """Return Z in the form of the precision, dense or CSR; None where a block has none."""
        made = Assembly(self._m, self._sparse)
        for rows, columns, values in self._entries:
            made.entries(rows, columns, values)
        for block, Z in self._blocks:
            if Z is None:
                return None
            made.block(block, Z)
        for part in self._packed:
            part.enter(made)
        return made.whole()


class Assembly:
    """The precision assembled from blocks: dense or CSR, as S is."""

    def __init__(self, m: int, sparse: bool) -> None:
        self.m = m
        # Pages of zeros are not allocated until written.
        self.dense: Floats | None = None if sparse else np.zeros((m, m))
        self.rows: list[Whole] = []
        self.columns: list[Whole] = []
        self.values: list[Floats] = []

    def entries(self, rows: Whole, columns: Whole, values: Floats) -> None:
        if self.dense is not None:
            self.dense[rows, columns] = values
        else:
            self.rows.append(rows)
            self.columns.append(columns)
            self.values.append(values)

    def block(self, block: Whole, M: Floats) -> None:
        if self.dense is not None:
            # A single block is M itself.
            if len(block) == self.m:
                self.dense = M
            else:
                self.dense[np.ix_(block, block)] = M
            return
        rows, columns = np.nonzero(M)
        self.entries(block[rows], block[columns], M[rows, columns])

    def whole(self) -> Any:
        if self.dense is not None:
            return self.dense
        rows = np.concatenate([*self.rows, np.zeros(0, np.int64)])
        columns = np.concatenate([*self.columns, np.zeros(0, np.int64)])
        values = np.concatenate([*self.values, np.zeros(0)])
        return sp.csr_array((values, (rows, columns)), shape=(self.m, self.m))
