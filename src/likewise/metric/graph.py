"""The k-nearest-neighbour graph that affinities travel over: P of the S3ML paper.

P_ij = 1/k where j is among the k Euclidean neighbours of i, itself excluded.  Only the neighbours'
numbers are kept, an int32 array (n, k).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.neighbours.exact import Exact
from likewise.neighbours.hnsw import HNSW

Graph = NDArray[np.int32]
# Up to here every row is compared with all others; beyond, a graph index finds nearly all of them.
EXACT_UP_TO = 20_000
_QUERIES = 8_192


def knn_graph(X: Any, n_neighbors: int) -> Graph:
    """Neighbours of each row, nearest first; with too few rows all the others.

    >>> knn_graph(np.array([[0.0], [1.0], [5.0]]), 1).tolist()
    [[1], [0], [1]]
    """
    n = len(X)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return np.empty((n, 0), np.int32)
    # Far from the origin float32 would round small distances away.
    rows = np.asarray(X - X.mean(axis=0, dtype=np.float64).astype(X.dtype), np.float32)
    scale = float(np.abs(rows).max(initial=0))
    if scale > 0:
        rows /= scale
    index = Exact("l2") if n <= EXACT_UP_TO else HNSW("l2", ef_search=32)
    index.build(rows)
    graph = np.empty((n, k), np.int32)
    for low in range(0, n, _QUERIES):
        high = min(low + _QUERIES, n)
        ids, _ = index.search(rows[low:high], k + 1)
        graph[low:high] = _without_self(ids, np.arange(low, high))
    return graph


def _without_self(ids: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first k of k + 1 that are not the row itself; equal rows may have pushed it out.

    An approximate search can find fewer: the nearest then stands in for the missing ones.
    """
    other = (ids != own[:, None]) & (ids >= 0)
    order = np.argsort(~other, axis=1, kind="stable")
    found = np.take_along_axis(ids, order, 1)[:, :-1]
    missing = ~np.take_along_axis(other, order, 1)[:, :-1]
    if missing.any():
        lonely = missing[:, 0]
        found[lonely, 0] = np.where(own[lonely] > 0, own[lonely] - 1, 1)
        missing[:, 0] = False
        found = np.where(missing, found[:, :1], found)
    return found
