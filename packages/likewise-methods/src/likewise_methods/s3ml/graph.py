"""The k-nearest-neighbour graph over which affinities spread: P of the S3ML paper.

P_ij = 1/k where j is among the k Euclidean neighbours of i, itself excluded.  The graph holds the
neighbours' numbers, an int32 array (n, k).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.neighbours.exact import Exact
from likewise_methods.validation import finite_rows

Graph = NDArray[np.int32]
# Up to this many rows all are compared; beyond, nearly all of the nearest are found.
EXACT_UP_TO = 20_000
_ROWS = 8_192
# Up to this many rows NumPy compares them, this many at a time, without importing faiss.
_FEW, _AT_A_TIME = 2_048, 512


def knn_graph(X: Any, n_neighbors: int) -> Graph:
    """Return the neighbours of each row, nearest first; with too few rows all the others.

    >>> knn_graph(np.array([[0.0], [1.0], [5.0]]), 1).tolist()
    [[1], [0], [1]]
    """
    return knn_graph_and_recall(X, n_neighbors)[0]


def knn_graph_and_recall(X: Any, n_neighbors: int) -> tuple[Graph, float]:
    """Return the graph, and the share of the nearest neighbours that were found.

    The share is 1 up to 20,000 rows, where all rows are compared; beyond, it is measured on a
    sample (``likewise_methods.neighbours.join``).
    """
    n = len(X)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return np.empty((n, 0), np.int32), 1.0
    rows = _centre(X)
    if n <= EXACT_UP_TO:
        return (_compare_few if n <= _FEW else _compare_all)(rows, k), 1.0
    # It imports scipy, which takes longer than most commands run.
    from likewise_methods.neighbours.join import join

    return join(rows, k)


def _centre(X: Any) -> NDArray[np.float32]:
    """Return centred float32 rows: far from the origin float32 would lose small distances."""
    mean = X.mean(axis=0, dtype=np.float64)
    rows = np.empty(X.shape, np.float32)
    for low in range(0, len(X), _ROWS):
        part = slice(low, low + _ROWS)
        rows[part] = X[part] - mean.astype(X.dtype)
    scale = max(float(rows.max(initial=0)), -float(rows.min(initial=0)))
    if scale > 0:
        rows /= scale
    return rows


def _compare_few(rows: NDArray[Any], k: int) -> Graph:
    """Compare all rows in float64; of rows equally near the first come first."""
    n, rows = len(rows), finite_rows(rows, "X", dtype=np.float64)
    squares = np.einsum("ij,ij->i", rows, rows)
    graph = np.empty((n, k), np.int32)
    for low in range(0, n, _AT_A_TIME):
        own = np.arange(low, min(low + _AT_A_TIME, n))
        # The square of the row itself is the same for all.
        away = squares - 2 * (rows[own] @ rows.T)
        away[own - low, own] = np.inf
        farthest = np.partition(away, k - 1, axis=1)[:, k - 1 : k]
        nearer, as_far = away < farthest, away == farthest
        places = k - nearer.sum(axis=1, keepdims=True)
        chosen = nearer | (as_far & (as_far.cumsum(axis=1) <= places))
        found = np.nonzero(chosen)[1].reshape(len(own), k)
        order = np.take_along_axis(away, found, 1).argsort(axis=1, kind="stable")
        graph[own] = np.take_along_axis(found, order, 1)
    return graph


def _compare_all(rows: NDArray[np.float32], k: int) -> Graph:
    n = len(rows)
    index = Exact("l2").build(rows)
    graph = np.empty((n, k), np.int32)
    for low in range(0, n, _ROWS):
        high = min(low + _ROWS, n)
        ids, _ = index.search(rows[low:high], k + 1)
        graph[low:high] = _without_self(ids, np.arange(low, high))
    return graph


def _without_self(ids: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first k of k + 1 that are not the row itself; equal rows may have displaced it."""
    order = np.argsort(ids == own[:, None], axis=1, kind="stable")
    return np.take_along_axis(ids, order, 1)[:, :-1]
