"""T for theta > 0 and many rows: rows and columns of Pi by local pushes, classes by solves.

Everything is brought into two quantities: d = W 1 and the product X'(W X), from four parts of W
(docs/methods/s3ml.md, (15) to (17)).  Rows about which nothing was said meet each other only
through Pi, whose rows have at most 1/theta entries that count.  Rows that are labelled share one
column h_c a class; rows in pairs have a column each, found where it is not small.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.neighbours.join import walk_order
from likewise_methods.s3ml.graph import Graph
from likewise_methods.s3ml.pairs import Constraints
from likewise_methods.s3ml.propagation.constrained import add_classes, add_pairs
from likewise_methods.s3ml.propagation.kernels import opposite, push_lookup, push_rows, two_steps
from likewise_methods.s3ml.propagation.matrix_free import Floats, Progress, chunks, column_sums
from likewise_methods.s3ml.propagation.sums import Sum

Ints = NDArray[np.int64]
# What an entry of Pi may be low by, over (1 - a) times its column's sum: relative error of T of a
# few 1e-4 at most.  The further affinities spread the more entries are low, and the less each of
# them weighs.
EPS = 2e-5
# Candidates are looked for with this share of theta as the error of an entry.
ROUGH = 0.5
# Paths of two links into a row up to which they are looked up.
CROWD = 600
# From here on rows are taken in an order in which neighbours are near each other in memory.
ORDERED_FROM = 50_000
SOURCES = 20_000
ROOM = 4_000_000


def work_arrays(n: int) -> tuple[Any, ...]:
    """Residuals and values, a ring of waiting rows, rows pushed, marks, and links followed."""
    ring = 1 << int(n).bit_length()
    return (
        np.zeros((n, 2)),
        np.empty(ring, np.int32),
        np.empty(n + 1, np.int32),
        np.zeros(n, np.int8),
        np.zeros(1, np.int64),
    )


class Pusher:
    """Rows of Pi over one graph; holds the work arrays, about 30 bytes a row."""

    def __init__(self, graph: Graph, a: float, eps: float, progress: Progress | None) -> None:
        self.graph, self.a, self.eps, self.progress = graph, a, eps * (1 - a), progress
        self.work = work_arrays(len(graph))
        self.links = opposite(graph)

    def again(self) -> tuple[Any, ...]:
        """A second set of work arrays, counted together with the first."""
        return (*work_arrays(len(self.graph))[:-1], self.work[-1])

    @property
    def followed(self) -> int:
        """Links followed so far: what pushes cost."""
        return int(self.work[-1][0])

    def rows(self, sources: Ints, floors: Floats, what: str, eps: float | None = None) -> Any:
        """CSR parts (sources, n) of Pi without its diagonal, entries of at least ``floors``."""
        n = len(self.graph)
        room = max(ROOM, n)
        columns, values = np.empty(room, np.int32), np.empty(room)
        begin = 0
        while begin < len(sources):
            ends = np.zeros(min(SOURCES, len(sources) - begin) + 1, np.int64)
            stop = push_rows(
                self.graph, sources, begin, self.a, self.eps if eps is None else eps, floors,
                self.work, ends, columns, values,
            )  # fmt: skip
            ends = ends[: stop - begin + 1]
            parts = (values[: ends[-1]].copy(), columns[: ends[-1]].copy(), ends)
            yield slice(begin, stop), sp.csr_array(parts, shape=(stop - begin, n))
            begin = stop
            self.tell(what, begin, len(sources))

    def lookup(self, asked: sp.csr_array, what: str) -> Floats:
        """Pi_ij for every stored (i, j) of ``asked``."""
        n = len(self.graph)
        values = np.zeros(asked.nnz)
        starts = asked.indptr.astype(np.int64)
        indices = asked.indices.astype(np.int32)
        paths = two_steps(*self.links)
        # What is left after the terms that are added in full is smaller by a for each of them.
        a = max(self.a, 0.25)
        for part in chunks(n, SOURCES):
            push_lookup(
                self.graph, self.links, paths, CROWD, part.start, part.stop, self.a,
                self.eps / a**3, self.eps / a, starts, indices, self.work, values,
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
    order = None
    if len(X) >= ORDERED_FROM:
        order = walk_order(graph)
        graph, said = _renumber(graph, said, order)
    total = Sum(X, order)
    free = np.ones(len(X), bool)
    free[said.constrained_rows()] = False
    pusher = Pusher(graph, a, eps, progress)
    total.add_sparse(_free_affinities(pusher, free, theta))
    add = add_pairs if said.codes is None else add_classes
    add(total, pusher, said, free, theta)
    return total.scatter(), total.similar, total.dissimilar


def _renumber(graph: Graph, said: Constraints, order: Ints) -> tuple[Graph, Constraints]:
    """The graph and what was said, with ``order[i]`` called i."""
    new = np.empty(len(order), np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    graph = new[graph[order]]
    if said.codes is not None:
        return graph, replace(said, codes=said.codes[order])
    ends = np.sort(new[np.stack([said.first, said.second])].astype(np.int64), axis=0)
    return graph, replace(said, first=ends[0], second=ends[1])


def _free_affinities(pusher: Pusher, free: NDArray[np.bool_], theta: float) -> sp.csr_array:
    """W among rows nothing was said about: (Pi_ij + Pi_ji)/2 where that reaches theta.

    The larger of the two reaches theta then, so short pushes find candidates: an entry is low by
    at most their residual times the column's sum.  Both directions of each candidate are then
    looked up well.
    """
    n = len(free)
    sums = column_sums(pusher.graph, pusher.a)
    rough = max(ROUGH * theta / max(10.0, float(sums.max())), pusher.eps)
    floors = np.where(free, np.maximum(theta - rough * sums, 1e-300), np.inf)
    sources = np.flatnonzero(free)
    found = pusher.rows(sources, floors, "finding neighbourhoods", rough)
    lengths, columns = np.zeros(n + 1, np.int64), [np.zeros(0, np.int32)]
    for where, part in found:
        lengths[sources[where] + 1] = np.diff(part.indptr)
        columns.append(part.indices)
    nnz = int(lengths.sum())
    candidates = sp.csr_array(
        (np.ones(nnz, np.int8), np.concatenate(columns), np.cumsum(lengths)), shape=(n, n)
    )
    del columns
    asked = sp.csr_array(candidates + candidates.T)
    del candidates
    asked.sort_indices()
    W = sp.csr_array((pusher.lookup(asked, "looking back"), asked.indices, asked.indptr), (n, n))
    del asked
    # The pattern is symmetric, so that the entries of W' lie where those of W do.
    back = sp.csr_array(W.T)
    back.sort_indices()
    W.data = (W.data + back.data) / 2
    W.data[W.data < theta] = 0
    W.eliminate_zeros()
    return W
