"""Compute T for theta > 0 and many rows: local pushes for Pi, solves for classes.

All parts of W add to two sums: d = W 1 and the product X'(W X) (docs/methods/s3ml.md, (15) to
(17)).  Free rows, those without labels or pairs, meet each other only through Pi, whose rows have
at most 1/theta entries that count.

Labelled rows: one solve per class, rank-one blocks, sorted ranges.  With h_c = Pi(2 y_c -
1_labelled): between a free row i and a labelled j of class c W = (h_c(i) + Pi_ji)/2, the same for
all of the class but where Pi_ji is not 0; between labelled i and j of classes b and c W = (h_c(i) +
h_b(j))/2.

Rows in pairs: a column z_j = Pi W0 e_j for each, pushed against the links.  Between a free row i
and a row j in pairs W = (z_j(i) + Pi_ji)/2; among rows in pairs W = (z_j(i) + z_i(j))/2.
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
from likewise_methods.s3ml.propagation.kernels import (
    opposite,
    push_lookup,
    push_pairs,
    push_rows,
    two_steps,
)
from likewise_methods.s3ml.propagation.solves import (
    COLUMNS,
    Floats,
    Progress,
    Sum,
    chunks,
    column_sums,
    solve,
    threshold,
)

Ints = NDArray[np.int64]
# The largest error of an entry of Pi over (1 - a) times its column's sum.  T then has a relative
# error of a few 1e-4.
EPS = 2e-5
# Candidates are found with this share of theta as the error of an entry.
ROUGH = 0.5
# The largest number of paths of two links into a row that are looked up.
CROWD = 600
# From this many rows on, rows are renumbered so that neighbours are near each other in memory.
ORDERED_FROM = 50_000
SOURCES = 20_000
ROOM = 4_000_000


def work_arrays(n: int) -> tuple[Any, ...]:
    """Return residuals and values, a ring of waiting rows, rows pushed, marks, links followed."""
    ring = 1 << int(n).bit_length()
    return (
        np.zeros((n, 2)),
        np.empty(ring, np.int32),
        np.empty(n + 1, np.int32),
        np.zeros(n, np.int8),
        np.zeros(1, np.int64),
    )


class Pusher:
    """Rows of Pi over one graph; its work arrays take about 30 bytes a row."""

    def __init__(self, graph: Graph, a: float, eps: float, progress: Progress | None) -> None:
        self.graph, self.a, self.eps, self.progress = graph, a, eps * (1 - a), progress
        self.work = work_arrays(len(graph))
        self.links = opposite(graph)

    def again(self) -> tuple[Any, ...]:
        """Return a second set of work arrays that shares the count of links."""
        return (*work_arrays(len(self.graph))[:-1], self.work[-1])

    @property
    def followed(self) -> int:
        """The number of links followed so far, the cost of pushes."""
        return int(self.work[-1][0])

    def rows(self, sources: Ints, floors: Floats, what: str, eps: float | None = None) -> Any:
        """Yield CSR parts (sources, n) of Pi off its diagonal, entries of at least ``floors``."""
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
            self.report(what, begin, len(sources))

    def lookup(self, asked: sp.csr_array, what: str) -> Floats:
        """Return Pi_ij for every stored (i, j) of ``asked``."""
        n = len(self.graph)
        values = np.zeros(asked.nnz)
        starts = asked.indptr.astype(np.int64)
        indices = asked.indices.astype(np.int32)
        paths = two_steps(*self.links)
        # Each term added in full makes the remainder smaller by the factor a.
        a = max(self.a, 0.25)
        for part in chunks(n, SOURCES):
            push_lookup(
                self.graph, self.links, paths, CROWD, part.start, part.stop, self.a,
                self.eps / a**3, self.eps / a, starts, indices, self.work, values,
            )  # fmt: skip
            self.report(what, part.stop, n)
        return values

    def report(self, what: str, done: int, of: int) -> None:
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
    """Return T for theta > 0 without any n-by-n matrix, and how many pairs of each sign count."""
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
    """Return the graph and the constraints with row ``order[i]`` called i."""
    new = np.empty(len(order), np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    graph = new[graph[order]]
    if said.codes is not None:
        return graph, replace(said, codes=said.codes[order])
    ends = np.sort(new[np.stack([said.first, said.second])].astype(np.int64), axis=0)
    return graph, replace(said, first=ends[0], second=ends[1])


def _free_affinities(pusher: Pusher, free: NDArray[np.bool_], theta: float) -> sp.csr_array:
    """Return W among free rows: (Pi_ij + Pi_ji)/2 where that reaches theta.

    The larger of the two then reaches theta, so short pushes find candidates: an entry is low by at
    most their residual times the column's sum.  Both directions of each candidate are then computed
    accurately.
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


# Links a column may follow, as a multiple of all; beyond, sweeps over all rows are faster.
BUDGET = 4
# Rows in pairs, and entries found, at a time.
AT_ONCE = 2_000
ROOM = 1_000_000


def add_classes(
    total: Sum, pusher: Any, said: Constraints, free: NDArray[np.bool_], theta: float
) -> None:
    """Add the parts of W with labelled rows.

    Memory: n x 16 numbers, and labelled x (features + classes).
    """
    labelled = said.constrained_rows()
    if not len(labelled):
        return
    assert said.codes is not None
    codes = said.codes[labelled]
    least = said.least(theta)
    n_classes = len(said.class_sizes())
    own = np.empty((len(labelled), n_classes))
    for part in chunks(n_classes, COLUMNS):
        start = np.zeros((len(free), part.stop - part.start))
        mine = codes[:, None] == np.arange(part.start, part.stop)
        start[labelled] = np.where(mine, 1.0, -said.minus)
        H = solve(pusher.graph, start, pusher.a)
        own[:, part] = H[labelled]
        for c in range(part.start, part.stop):
            _class_and_free(total, pusher, H[:, c - part.start], labelled[codes == c], free, least)
        pusher.report("classes", part.stop, n_classes)
    _among_labelled(total, labelled, codes, own, least)


def _class_and_free(
    total: Sum,
    pusher: Any,
    h: Floats,
    members: NDArray[np.int64],
    free: NDArray[np.bool_],
    least: tuple[float, float],
) -> None:
    """Add g(i), the same for every member, then what Pi_ji changes."""
    g = threshold(np.where(free, h / 2, 0.0), least)
    some = np.flatnonzero(g)
    ends = total.rows(members)
    ends_sum = ends.sum(axis=0)
    weighted = np.zeros_like(ends_sum)
    for part in chunks(len(some)):
        rows = some[part]
        weighted += g[rows] @ total.rows(rows)
    # W X between the sets is g times the sum of the members one way, sum g x the other way.
    A = np.outer(weighted, ends_sum)
    total.product += A + A.T
    total.d += g * len(members)
    total.d[members] += g.sum()
    floors = np.where(free, 1e-300, np.inf)
    for where, row in pusher.rows(members, floors, "classes: neighbourhoods"):
        change = (h[row.indices] + row.data) / 2
        row.data = threshold(change, least) - g[row.indices]
        near = np.unique(row.indices)
        total.add_block(members[where], near, row[:, near])


def _among_labelled(
    total: Sum,
    labelled: NDArray[np.int64],
    codes: NDArray[np.int64],
    own: Floats,
    least: tuple[float, float],
) -> None:
    """Add labelled rows among themselves: w = (A_i + B_j)/2 where that is not cut.

    With B sorted, the j that count for an i are a beginning and an end of the list, whose sums are
    differences of running sums.
    """
    X = total.rows(labelled)
    above, below = 2 * least[0], -2 * least[1]
    uncut = np.zeros(2, np.int64)
    for b in range(own.shape[1]):
        mine = np.flatnonzero(codes == b)
        for c in range(own.shape[1]):
            theirs = np.flatnonzero(codes == c)
            A, B = own[mine, c], own[theirs, b]
            order = np.argsort(B, kind="stable")
            B, there = B[order], X[theirs[order]]
            count, plain, scaled = (
                _running(np.ones(len(B))),
                _running(there),
                _running(B[:, None] * there),
            )
            sums = _running(B)
            upto = np.searchsorted(B, below - A, side="right")
            since = np.searchsorted(B, above - A, side="left")
            since = np.maximum(since, upto)

            def outside(run: Floats, upto: Any = upto, since: Any = since) -> Floats:
                return np.asarray(run[upto] + run[-1] - run[since])

            total.d[labelled[mine]] += (A * outside(count) + outside(sums)) / 2
            near = (A[:, None] * outside(plain) + outside(scaled)) / 2
            total.product += X[mine].T @ near
            # Every pair is met from both its ends, and of one class each row with itself.
            itself = (below - A >= A) | (above - A <= A) if b == c else np.zeros(0)
            uncut[int(b == c)] += int(outside(count).sum() - itself.sum())
    total.dissimilar += int(uncut[0]) // 2
    total.similar += int(uncut[1]) // 2


def _running(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, 2, ... values."""
    return np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])


def add_pairs(
    total: Sum, pusher: Any, said: Constraints, free: NDArray[np.bool_], theta: float
) -> None:
    """Add the parts of W with rows in pairs, in time and memory proportional to the pairs.

    Pushes against the links find each column where it is not small (docs/methods/s3ml.md, (18)).
    """
    rows = said.constrained_rows()
    if not len(rows):
        return
    n, least = len(free), said.least(theta)
    # Entries are cut at theta times the weight of a dissimilar pair where that is below 1.
    eps = pusher.eps * (min(1.0, said.minus) if said.minus > 0 else 1.0)
    budget = BUDGET * n * max(pusher.graph.shape[1], 1)
    W0 = said.start_rows(rows)
    place = np.full(n, -1, np.int32)
    place[rows] = np.arange(len(rows))
    hard = np.zeros(len(rows), np.int8)
    other = pusher.again()
    room = max(ROOM, 2 * n)
    columns, values = np.empty(room, np.int32), np.empty(room)
    own_columns, own_values = np.empty(room, np.int32), np.empty(room)
    own: list[Any] = []
    begin = 0
    while begin < len(rows):
        ends, own_ends = np.zeros((2, min(AT_ONCE, len(rows) - begin) + 1), np.int64)
        stop = push_pairs(
            pusher.graph, pusher.links, rows, begin, W0.indptr.astype(np.int64),
            W0.indices.astype(np.int32), W0.data, pusher.a, eps, budget, least, place,
            pusher.work, other, ends, columns, values, own_ends, own_columns, own_values, hard,
        )  # fmt: skip
        count = stop - begin
        part = _piece(values, columns, ends[: count + 1], n)
        near = np.unique(part.indices)
        total.add_block(rows[begin:stop], near, part[:, near])
        own.append(_piece(own_values, own_columns, own_ends[: count + 1], len(rows)))
        begin = stop
        pusher.report("pairs: columns", begin, len(rows))
    among = sp.csr_array(sp.vstack(own))
    del own, columns, values, own_columns, own_values
    slow = np.flatnonzero(hard)
    if len(slow):
        among = among + _sweep_pairs(total, pusher, W0, rows, slow, free, least)
    W = sp.csr_array((among + among.T) / 2)
    threshold(W.data, least)
    total.add_symmetric(rows, W)
    kept = W[np.searchsorted(rows, said.first), np.searchsorted(rows, said.second)] != 0
    total.similar += int((kept & said.alike).sum())
    total.dissimilar += int((kept & ~said.alike).sum())


def _piece(values: Floats, columns: Any, ends: Any, width: int) -> sp.csr_array:
    used = int(ends[-1])
    parts = (values[:used].copy(), columns[:used].copy(), ends)
    return sp.csr_array(parts, shape=(len(ends) - 1, width))


def _sweep_pairs(
    total: Sum,
    pusher: Any,
    W0: sp.csr_array,
    rows: NDArray[np.int64],
    slow: NDArray[np.int64],
    free: NDArray[np.bool_],
    least: tuple[float, float],
) -> sp.csr_array:
    """Add the rows whose column is large nearly everywhere; return z among rows in pairs.

    This takes sweeps over all rows, some columns at a time.
    """
    n = len(free)
    floors = np.where(free, 1e-300, np.inf)
    places, parts = [], []
    for part in chunks(len(slow), COLUMNS):
        which = slow[part]
        block = rows[which]
        Z = solve(pusher.graph, W0[which].T.toarray(), pusher.a)
        mine = Z[rows]
        mine[which, np.arange(len(which))] = 0
        there = np.nonzero(mine)
        places.append(np.stack([which[there[1]], there[0]]))
        parts.append(mine[there])
        for where, row in pusher.rows(block, floors, "pairs: neighbourhoods"):
            entries = row.tocoo()
            Z[entries.col, entries.row + where.start] += entries.data
        Z[~free] = 0
        threshold(np.multiply(Z, 0.5, out=Z), least)
        for some in chunks(n):
            touched = some.start + np.flatnonzero(Z[some].any(axis=1))
            total.add_block(touched, block, Z[touched])
        pusher.report("pairs: sweeps", part.stop, len(slow))
    i, j = np.concatenate(places, axis=1)
    return sp.csr_array((np.concatenate(parts), (i, j)), shape=(len(rows), len(rows)))
