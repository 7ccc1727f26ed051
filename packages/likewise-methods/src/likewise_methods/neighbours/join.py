"""Approximate nearest neighbours of all rows of a matrix: random trees, then neighbour descent.

A tree of random cuts puts near rows into one leaf, whose rows are compared by a matrix product.  A
few trees find some of the neighbours; comparing each row with its neighbours' neighbours finds
nearly all (Dong et al. 2011).  The recall is measured on a sample with exact neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from likewise_methods.neighbours._join_kernels import (
    cut_values,
    offer_all,
    offer_leaf,
    refine,
    reverse_lists,
)

Ints = NDArray[np.int64]
# Rows per leaf, and trees.  More trees cost more than the rounds they save.
LEAF, TREES = 384, 6
# Rows and steps to find a cut; the smallest share of rows on one side.
CUT, STEPS, LEAST = 200, 4, 0.1
# Extra neighbours per row, and reverse neighbours per row, that rounds compare with.
MORE, NAMED = 4, 10
# Rows with exact neighbours, to measure recall.
SAMPLE = 256
# Rounds end at this recall, if one adds less than GAIN, or after ROUNDS.
ENOUGH, GAIN, ROUNDS = 0.95, 0.015, 10
_BLOCK = 65_536


def walk_order(graph: Any) -> Ints:
    """Return an order in which linked rows are near each other (reverse Cuthill-McKee).

    >>> walk_order(np.array([[2], [3], [0], [1]], np.int32)).tolist()
    [3, 1, 2, 0]
    """
    n, k = graph.shape
    one_way = sp.csr_array(
        (np.ones(n * k, np.int8), graph.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
    )
    both = sp.csr_matrix(one_way + one_way.T)
    return np.asarray(reverse_cuthill_mckee(both, symmetric_mode=True), np.int64)


def _leaves(X: Any, leaf: int, seed: int) -> Iterator[Ints]:
    """Yield the leaves of a tree; each cut is between the means of two groups."""
    rng = np.random.default_rng(seed)
    along = np.empty(len(X), np.float32)
    waiting = [np.arange(len(X))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= leaf:
            yield rows
            continue
        line, middle = _cut(X, rows, rng)
        values = along[: len(rows)]
        cut_values(X, rows, line, values)
        left = values < middle
        if not LEAST * len(rows) <= np.count_nonzero(left) <= (1 - LEAST) * len(rows):
            left = np.zeros(len(rows), bool)
            left[np.argpartition(values, len(rows) // 2)[: len(rows) // 2]] = True
        waiting += [rows[~left], rows[left]]


def _cut(X: Any, rows: Ints, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a direction and threshold that divide a sample of the rows (2-means)."""
    some = rows if len(rows) <= CUT else rows[rng.integers(0, len(rows), CUT)]
    part = np.asarray(X[some], np.float32)
    one, other = part[rng.choice(len(part), 2, replace=False)]
    for _ in range(STEPS):
        line = one - other
        middle = np.dot(line, one + other) / 2
        left = part @ line < middle
        if left.all() or not left.any():
            break
        one, other = part[~left].mean(axis=0), part[left].mean(axis=0)
    return line, middle


def join(X: NDArray[np.float32], k: int, seed: int = 0) -> tuple[NDArray[np.int32], float]:
    """Return the k nearest other rows of each row, nearest first, and the measured recall.

    ``X`` is in C order, with more than ``k`` + 4 rows.  The same seed gives the same bits.
    """
    n, wide = len(X), k + MORE
    ids = np.full((n, wide), -1, np.int32)
    away = np.full((n, wide), np.inf, np.float32)
    new = np.ones((n, wide), np.uint8)
    squares = np.einsum("ij,ij->i", X, X)
    # The smaller side of any cut must fill a list.
    leaf = max(LEAF, math.ceil(1.2 * wide / LEAST))
    for tree in range(TREES):
        for rows in _leaves(X, leaf, seed + tree):
            part = X[rows]
            offer_leaf(rows, part @ part.T, squares, ids, away, new)
    # For the rounds, put neighbours near each other in memory.
    order = walk_order(ids[:, :k])
    number = np.empty(n, np.int32)
    number[order] = np.arange(n, dtype=np.int32)
    X, away, ids = X[order], away[order], number[ids[order]]
    recall = _rounds(X, squares[order], k, seed, (ids, away, new))
    graph = np.empty((n, k), np.int32)
    graph[order] = order[ids[:, :k]]
    return graph, recall


def _rounds(X: Any, squares: Any, k: int, seed: int, lists: tuple[Any, Any, Any]) -> float:
    """Compare rows with their neighbours' neighbours; return the recall."""
    ids, away, new = lists
    sample, limits = _truth(X, squares, k, seed)
    recall = _recall(X, sample, limits, ids[:, :k])
    seen, named = np.empty(len(X), np.int32), np.empty((len(X), NAMED), np.int32)
    for _ in range(ROUNDS):
        if recall >= ENOUGH:
            break
        reverse_lists(ids, named)
        fresh = np.zeros_like(new)
        seen[:] = -1
        refine(X, ids, away, new, fresh, named, seen)
        new, before, recall = fresh, recall, _recall(X, sample, limits, ids[:, :k])
        if recall - before < GAIN:
            break
    return recall


def _truth(X: Any, squares: Any, k: int, seed: int) -> tuple[Ints, Any]:
    """Return sample rows and their squared distance to the k-th nearest other row."""
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(len(X), min(SAMPLE, len(X)), replace=False))
    # More than k: products are rounded, and the row itself is included.
    wide = min(2 * k + 8, len(X))
    near = np.full((len(sample), wide), -1, np.int32)
    values, marks = np.full((len(sample), wide), np.inf, np.float32), np.zeros((len(sample), wide))
    for low in range(0, len(X), _BLOCK):
        products = X[sample] @ X[low : low + _BLOCK].T
        offer_all(products, squares, low, near, values, marks)
    limits = np.empty(len(sample))
    for s, row in enumerate(sample):
        others = near[s][(near[s] >= 0) & (near[s] != row)]
        limits[s] = np.sort(_squared_distances(X, row, others))[k - 1]
    return sample, limits


def _recall(X: Any, sample: Ints, limits: Any, ids: Any) -> float:
    """Return the share of true neighbours among those found of the sample rows."""
    hits = 0
    for row, limit in zip(sample, limits, strict=True):
        found = ids[row][ids[row] >= 0]
        hits += int((_squared_distances(X, row, found) <= limit).sum())
    return float(min(hits / (len(sample) * ids.shape[1]), 1.0))


def _squared_distances(X: Any, row: Any, others: Any) -> Any:
    return np.square(X[others].astype(np.float64) - X[row].astype(np.float64)).sum(axis=1)
