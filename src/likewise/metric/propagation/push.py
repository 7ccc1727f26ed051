"""T for theta > 0 and many rows: sparse rows of Pi by local push, dense parts by class solves.

Everything is brought into two quantities: d = W 1 and the product X'(W X), from four parts of W
(docs/methods/s3ml.md, (15) to (17)).  Rows about which nothing was said meet each other only
through Pi, whose rows have at most 1/theta entries that count.  Rows that are labelled share one
column h_c a class; rows in pairs have a column each, solved some at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise.metric.graph import Graph
from likewise.metric.pairs import Constraints
from likewise.metric.propagation.constrained import add_classes, add_pairs
from likewise.metric.propagation.kernels import push_lookup, push_rows
from likewise.metric.propagation.matrix_free import Floats, Progress, chunks, weighted_gram
from likewise.metric.propagation.sums import Sum

Ints = NDArray[np.int64]
# Residual left where a push stops, over 1 - a: relative error of T of a few 1e-4 at most.  The
# further affinities spread the more rows keep such a residual, and the less each of them weighs.
EPS = 2e-5
_SOURCES = 20_000
_ROOM = 4_000_000


class Pusher:
    """Rows of Pi over one graph; holds the work arrays, five of length n."""

    def __init__(self, graph: Graph, a: float, eps: float, progress: Progress | None) -> None:
        n = len(graph)
        self.graph, self.a, self.eps, self.progress = graph, a, eps, progress
        self.work = (
            np.zeros(n),
            np.zeros(n),
            np.empty(n, np.int64),
            np.zeros(n, np.int8),
            np.empty(n, np.int64),
        )

    def rows(self, sources: Ints, least: float, wanted: NDArray[np.bool_], what: str) -> Any:
        """CSR parts (sources, n) of Pi without its diagonal, entries of at least ``least``."""
        n = len(self.graph)
        room = max(_ROOM, n)
        columns, values = np.empty(room, np.int32), np.empty(room)
        mask = wanted.astype(np.int8)
        begin = 0
        while begin < len(sources):
            ends = np.zeros(min(_SOURCES, len(sources) - begin) + 1, np.int64)
            stop = push_rows(
                self.graph, sources, begin, self.a, self.eps, least, mask,
                self.work, ends, columns, values,
            )  # fmt: skip
            ends = ends[: stop - begin + 1]
            parts = (values[: ends[-1]].copy(), columns[: ends[-1]].copy(), ends)
            yield slice(begin, stop), sp.csr_array(parts, shape=(stop - begin, n))
            begin = stop
            self.tell(what, begin, len(sources))

    def lookup(self, asked: sp.csr_array, what: str) -> Floats:
        """Pi_ji for every stored (j, i) of ``asked``."""
        n = len(self.graph)
        values = np.zeros(asked.nnz)
        starts = asked.indptr.astype(np.int64)
        indices = asked.indices.astype(np.int32)
        for part in chunks(n, _SOURCES):
            push_lookup(
                self.graph, part.start, part.stop, self.a, self.eps, starts, indices,
                self.work, values,
            )  # fmt: skip
            self.tell(what, part.stop, n)
        return values

    def tell(self, what: str, done: int, of: int) -> None:
        if self.progress is not None:
            self.progress(what, done, of)


def pushed_scatter(
    X: Any,
    graph: Graph,
    said: Constraints,
    a: float,
    theta: float,
    *,
    eps: float = EPS,
    progress: Progress | None = None,
) -> tuple[Floats, int, int]:
    """T for theta > 0 without any n-by-n matrix, and how many pairs of each sign were not cut."""
    total = Sum(X)
    free = np.ones(len(X), bool)
    free[said.constrained_rows()] = False
    pusher = Pusher(graph, a, eps * (1 - a), progress)
    total.add_sparse(_free_affinities(pusher, free, theta))
    add = add_pairs if said.codes is None else add_classes
    add(total, pusher, said, free, theta)
    T = weighted_gram(X, total.mean, total.d) - (total.product + total.product.T) / 2
    return np.asarray((T + T.T) / 2), total.similar, total.dissimilar


def _free_affinities(pusher: Pusher, free: NDArray[np.bool_], theta: float) -> sp.csr_array:
    """W among rows nothing was said about: (Pi_ij + Pi_ji)/2 where that reaches theta.

    The larger of the two reaches theta then, so a first pass finds candidates; a second pass looks
    their opposite direction up, which may be small.
    """
    n = len(free)
    sources = np.flatnonzero(free)
    parts = [part for _, part in pusher.rows(sources, theta, free, "finding neighbourhoods")]
    if not parts:
        return sp.csr_array((n, n))
    stacked = sp.coo_array(sp.vstack(parts))
    del parts
    i, j, there = sources[stacked.row], stacked.col.astype(np.int64), stacked.data
    # Sorted by (j, i): the questions to each row j.
    order = np.lexsort((i, j))
    i, j, there = i[order], j[order], there[order]
    starts = np.searchsorted(j, np.arange(n + 1))
    back = pusher.lookup(sp.csr_array((np.zeros(len(i)), i, starts), shape=(n, n)), "looking back")
    w = (there + back) / 2
    # A pair that is a candidate both ways comes twice by itself; the others are mirrored here.
    once = back < theta
    strong = w >= theta
    rows = np.concatenate([i[strong], j[strong & once]])
    columns = np.concatenate([j[strong], i[strong & once]])
    return sp.csr_array((np.concatenate([w[strong], w[strong & once]]), (rows, columns)), (n, n))
