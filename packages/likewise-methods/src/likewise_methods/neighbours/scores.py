"""Scores of dense rows, the same bits however a row was found and on every machine.

Flat search, graph search and matrix products add float32 terms in different orders, so they only
nominate rows.  The score of a row is *defined* as a float64 sum in the fixed order below, rounded
once to float32.  :class:`Flat` takes enough nominees to prove that no other row is among the k
best, ties included.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel, prefer_numpy
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.numpy_reference import inner_products, minus_distances, shorten
from likewise_methods.neighbours.protocol import Metric

Rows = NDArray[np.float32]
Places = NDArray[np.int64]

_ROUNDING = 2.0**-24
"""Half an ulp of float32: the relative error of one operation."""
_LARGEST = float(np.finfo(np.float32).max)


@kernel
def _inner(rows, places, query, out):  # type: ignore[no-untyped-def]
    """Compute inner products in four parallel sums.

    A product of two float32 numbers is exact in float64, so fused additions give the same bits.
    """
    n = len(query)
    for i in range(len(places)):
        row = rows[places[i]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for run in range(n >> 2):
            j = run << 2
            a += np.float64(row[j]) * query[j]
            b += np.float64(row[j + 1]) * query[j + 1]
            c += np.float64(row[j + 2]) * query[j + 2]
            d += np.float64(row[j + 3]) * query[j + 3]
        for j in range(n & ~3, n):
            a += np.float64(row[j]) * query[j]
        out[i] = (a + b) + (c + d)


@kernel
def _minus_distance(rows, places, query, out):  # type: ignore[no-untyped-def]
    """Compute minus the Euclidean distances, in the same order, without ``fastmath``."""
    n = len(query)
    for i in range(len(places)):
        row = rows[places[i]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for run in range(n >> 2):
            j = run << 2
            p = np.float64(row[j]) - query[j]
            q = np.float64(row[j + 1]) - query[j + 1]
            r = np.float64(row[j + 2]) - query[j + 2]
            s = np.float64(row[j + 3]) - query[j + 3]
            a += p * p
            b += q * q
            c += r * r
            d += s * s
        for j in range(n & ~3, n):
            p = np.float64(row[j]) - query[j]
            a += p * p
        out[i] = -np.sqrt((a + b) + (c + d))


def row_scores(rows: Rows, places: Places, query: Rows, metric: Metric) -> Rows:
    """Return the scores of the rows at ``places``: inner product, or minus the distance.

    Columns after the width of ``query`` are ignored.

    >>> rows = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
    >>> row_scores(rows, np.array([2, 0]), rows[1], "l2").tolist()
    [-5.0, -5.0]
    """
    wide = query.astype(np.float64)
    if prefer_numpy(len(places) * len(query)):
        made = (minus_distances if metric == "l2" else inner_products)(rows[places], wide)
    else:
        made = np.empty(len(places))
        kernel = _minus_distance if metric == "l2" else _inner
        kernel(rows, places, wide, made)
    # An overflow to infinity still ranks correctly.
    with np.errstate(over="ignore"):
        return made.astype(np.float32)


@kernel
def _shorten(rows):  # type: ignore[no-untyped-def]
    """Divide each row by its length, in place; sums as in ``_inner``."""
    n = rows.shape[1]
    for i in range(len(rows)):
        row = rows[i]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for run in range(n >> 2):
            j = run << 2
            a += np.float64(row[j]) * np.float64(row[j])
            b += np.float64(row[j + 1]) * np.float64(row[j + 1])
            c += np.float64(row[j + 2]) * np.float64(row[j + 2])
            d += np.float64(row[j + 3]) * np.float64(row[j + 3])
        for j in range(n & ~3, n):
            a += np.float64(row[j]) * np.float64(row[j])
        length = np.sqrt((a + b) + (c + d))
        if length > 0:
            for j in range(n):
                row[j] = np.float32(np.float64(row[j]) / length)


def unit_length(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows divided by their lengths; rows of zeros stay zero.

    >>> unit_length(np.array([[3, 4], [0, 0]], np.float32)).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    made: NDArray[np.float32] = np.array(rows, np.float32, order="C")
    if prefer_numpy(made.size):
        shorten(made)
    else:
        _shorten(made)
    return made


class Flat:
    """Exhaustive search with exact scores; the caller keeps the rows.

    >>> rows = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], np.float32)
    >>> places, values = Flat("ip", rows).best(rows, np.ones(4, bool), rows[0], 2)
    >>> {0, 2, 3} <= set(places.tolist())  # all that tie for second place
    True
    """

    def __init__(self, metric: Metric, rows: Rows) -> None:
        self.metric = metric
        self._index = Exact(metric).build(rows)
        self._longest = _longest(rows)

    def add(self, rows: Rows) -> Self:
        """Add rows."""
        self._index.add(rows)
        self._longest = max(self._longest, _longest(rows))
        return self

    def best(
        self, rows: Rows, alive: NDArray[np.bool_], query: Rows, k: int
    ) -> tuple[Places, Rows]:
        """Return indices and scores of the k best rows, all ties of the last, and perhaps others.

        They are not sorted.  ``rows`` are the rows added; those not ``alive`` are skipped.
        """
        n_dead = len(alive) - int(alive.sum())
        wanted = k + k // 4 + 16 + n_dead
        while True:
            found, values = self._index.search(query[None], min(wanted, len(self._index)))
            places = found[0][found[0] >= 0]
            worst = float(values[0][len(places) - 1]) if len(places) else 0.0
            places = places[alive[places]]
            made = row_scores(rows, places, query, self.metric)
            if wanted >= len(self._index):
                return places, made
            if len(made) >= k:
                last = float(np.partition(made, len(made) - k)[len(made) - k])
                if self._bound(worst, query) < last - 2 * _ROUNDING * abs(last):
                    return places, made
            wanted *= 2

    def _bound(self, worst: float, query: Rows) -> float:
        """Bound the score of rows that faiss ranks after one of value ``worst``.

        A float32 sum of n terms has an error of at most n roundings of the sum of their magnitudes
        (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
        """
        share = 1.01 * (len(query) + 3) * _ROUNDING
        if self.metric == "l2":
            return -float(np.sqrt(max(min(worst, _LARGEST) * (1 - share), 0.0)))
        if not np.isfinite(worst):
            return np.inf
        return worst + share * self._longest * float(np.linalg.norm(query.astype(np.float64)))


def _longest(rows: Rows) -> float:
    """Return the largest norm, computed in float64 in chunks."""
    chunks = (rows[a : a + 4096].astype(np.float64) for a in range(0, len(rows), 4096))
    return max((float(np.sqrt((chunk**2).sum(axis=1).max())) for chunk in chunks), default=0.0)
