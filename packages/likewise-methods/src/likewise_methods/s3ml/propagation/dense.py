"""Affinities as a full matrix: for up to a few thousand rows, and the form to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from likewise_methods.s3ml.graph import Graph
from likewise_methods.s3ml.pairs import Constraints
from likewise_methods.s3ml.propagation.sums import threshold

Floats = NDArray[np.float64]


def dense_affinities(graph: Graph, said: Constraints, a: float, theta: float) -> Floats:
    """W: (1-a)(I - aP)^-1 W0, symmetrised, then cut at theta (docs/methods/s3ml.md, (3)).

    The cut of negative entries is :meth:`Constraints.least`.
    """
    n, k = graph.shape
    system = np.eye(n)
    if k:
        np.add.at(system, (np.repeat(np.arange(n), k), graph.ravel()), -a / k)
    W0 = said.apply(np.eye(n))
    spread = (1 - a) * lu_solve(lu_factor(system, overwrite_a=True), W0, overwrite_b=True)
    W = (spread + spread.T) / 2
    return threshold(W, said.least(theta))


def dense_scatter(
    X: Any, graph: Graph, said: Constraints, a: float, theta: float
) -> tuple[Floats, int, int]:
    """T = X'(diag(W 1) - W)X, and how many similar and dissimilar pairs were not cut."""
    W = dense_affinities(graph, said, a, theta)
    rows = np.asarray(X, np.float64) - X.mean(axis=0, dtype=np.float64)
    T = rows.T @ (rows * W.sum(axis=1)[:, None]) - rows.T @ (W @ rows)
    return np.asarray((T + T.T) / 2), *_uncut(W, said)


def _uncut(W: Floats, said: Constraints) -> tuple[int, int]:
    if said.codes is None:
        kept = W[said.first, said.second] != 0
        return int((kept & said.alike).sum()), int((kept & ~said.alike).sum())
    rows = said.constrained_rows()
    kept, codes = np.triu(W[np.ix_(rows, rows)] != 0, 1), said.codes[rows]
    alike = int((kept & (codes[:, None] == codes)).sum())
    return alike, int(kept.sum()) - alike
