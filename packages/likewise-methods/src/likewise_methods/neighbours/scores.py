"""What a dense row scores, computed one way whichever way found it.

Flat search, a walk over a graph and a matrix product each add float32 terms in an order of their
own, and another one on another processor.  So they only nominate: the score of a row is *defined*
as a float64 sum in the fixed order below, rounded once to float32.  :class:`Flat` asks for as many
nominees as it takes to prove that no other row belongs among the k best, ties included.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel, prefer_numpy
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.few import inner_products, minus_distances
from likewise_methods.neighbours.protocol import Metric

Rows = NDArray[np.float32]
Places = NDArray[np.int64]

_ROUNDING = 2.0**-24
"""Half an ulp of float32: what one operation may be wrong by, relatively."""
_LARGEST = float(np.finfo(np.float32).max)


@kernel
def _inner(rows, places, query, out):  # type: ignore[no-untyped-def]
    """Inner products; four sums side by side, since each addition waits for the one before it.

    A product of two float32 numbers is exact in float64: fused or not, the bits are the same.
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
    """Minus the Euclidean distances, in the same order (no ``fastmath``: nothing is fused)."""
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
    """Scores of the rows at ``places``, higher is better: inner product, or minus the distance.

    Only as many columns count as ``query`` has.

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
    # Beyond float32 there is only infinity, which ranks as it should.
    with np.errstate(over="ignore"):
        return made.astype(np.float32)


class Flat:
    """Rows that are all compared; the rows themselves stay with the caller.

    >>> rows = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], np.float32)
    >>> places, values = Flat("ip", rows).best(rows, np.ones(4, bool), rows[0], 2)
    >>> {0, 2, 3} <= set(places.tolist())  # all that share the second place
    True
    """

    def __init__(self, metric: Metric, rows: Rows) -> None:
        self.metric = metric
        self._index = Exact(metric).build(rows)
        self._longest = _longest(rows)

    def add(self, rows: Rows) -> Self:
        """Hold more rows."""
        self._index.add(rows)
        self._longest = max(self._longest, _longest(rows))
        return self

    def best(
        self, rows: Rows, alive: NDArray[np.bool_], query: Rows, k: int
    ) -> tuple[Places, Rows]:
        """Places and scores, in no order, of living rows: the k best, all that score as the last of
        them does, and perhaps others.

        ``rows`` are those that are held; those that are not ``alive`` are passed over.
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
        """The most that a row can score which faiss put behind one of value ``worst``.

        A float32 sum of n terms, in any order, is wrong by n roundings of the sum of their sizes
        (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
        """
        share = 1.01 * (len(query) + 3) * _ROUNDING
        if self.metric == "l2":
            return -float(np.sqrt(max(min(worst, _LARGEST) * (1 - share), 0.0)))
        if not np.isfinite(worst):
            return np.inf
        return worst + share * self._longest * float(np.linalg.norm(query.astype(np.float64)))


def _longest(rows: Rows) -> float:
    """The largest norm; a chunk at a time, as squares are taken in float64."""
    chunks = (rows[a : a + 4096].astype(np.float64) for a in range(0, len(rows), 4096))
    return max((float(np.sqrt((chunk**2).sum(axis=1).max())) for chunk in chunks), default=0.0)
