"""The part of W that touches rows in pairs: a column of Pi W0 for each of them, solved in blocks.

Between a free row i and a row j in pairs W = (z_j(i) + Pi_ji)/2 with z_j = Pi W0 e_j; among rows in
pairs (z_j(i) + z_i(j))/2 (spec s3ml, section 6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.metric.pairs import Constraints
from likewise.metric.propagation_solve import COLUMNS, chunks, solve
from likewise.metric.propagation_sum import Sum, thresholded


def add_pairs(
    total: Sum, pusher: Any, said: Constraints, free: NDArray[np.bool_], theta: float
) -> None:
    """Add these parts; memory of a few blocks of n x 16 numbers and one of pairs x pairs."""
    rows = said.constrained()
    n = len(free)
    S = said.said()
    least = said.least(theta)
    own = np.zeros((len(rows), len(rows)))
    for part in chunks(len(rows), COLUMNS):
        block = rows[part]
        start = S[:, block].toarray()
        start[block, np.arange(len(block))] += 1
        Z = solve(pusher.graph, start, pusher.a)
        own[:, part] = Z[rows]
        for where, row in pusher.rows(block, 0.0, free, "pairs: neighbourhoods"):
            entries = row.tocoo()
            Z[entries.col, entries.row + where.start] += entries.data
        Z[~free] = 0
        thresholded(np.multiply(Z, 0.5, out=Z), least)
        for some in chunks(n):
            touched = some.start + np.flatnonzero(Z[some].any(axis=1))
            total.add_block(touched, block, Z[touched])
        pusher.tell("pairs: columns", part.stop, len(rows))
    W = thresholded((own + own.T) / 2, least)
    total.add_symmetric(rows, W)
    kept = W[np.searchsorted(rows, said.first), np.searchsorted(rows, said.second)] != 0
    total.similar += int((kept & said.alike).sum())
    total.dissimilar += int((kept & ~said.alike).sum())
