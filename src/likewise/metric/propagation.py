"""Affinities spread from a few pairs or labels to all rows, and the scatter matrix T they give.

W* = (1-a)(I - aP)^-1 W0 over the kNN graph P; W is W* symmetrised and cut at theta, its
negative entries at theta times what a dissimilar pair weighs, where that is below 1;
T = X'(diag(W 1) - W)X (spec s3ml, sections 1 and 6).  Three ways to the same T: a full matrix for
few rows; without threshold a matrix-free one; with a threshold local pushes and class solves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._validation import matrix, number, one_of, whole
from likewise.errors import InvalidInput
from likewise.metric.base import check_finite
from likewise.metric.graph import Graph, knn_graph
from likewise.metric.pairs import Constraints, as_constraints
from likewise.metric.propagation_dense import dense_affinities, dense_scatter
from likewise.metric.propagation_push import pushed_scatter
from likewise.metric.propagation_solve import Progress, matrix_free_scatter, plain_scatter

Floats = NDArray[np.float64]
# Up to here the full matrix is the fastest way.
DENSE_UP_TO = 1_000
METHODS = ("auto", "dense", "matrix-free", "push")


def affinities(
    X: Any,
    y: Any,
    same: Any = None,
    *,
    n_neighbors: int = 6,
    propagation: float = 0.5,
    threshold: float = 0.01,
) -> Floats:
    """The full matrix W (n, n) from labels, or from pairs with ``same``; for a few thousand rows.

    >>> W = affinities(np.arange(6.0)[:, None], [[0, 5]], [False], n_neighbors=2)
    >>> bool(W[0, 5] < 0), bool(W[1, 5] < 0), bool(W[1, 2] > 0)
    (True, True, True)
    """
    rows = matrix(X, "X")
    check_finite(rows)
    k = whole(n_neighbors, "n_neighbors")
    said = as_constraints(y, same, len(rows))
    check_weights(propagation, threshold)
    return dense_affinities(knn_graph(rows, k), said, propagation, threshold)


def scatter(
    X: Any,
    said: Constraints,
    graph: Graph | None,
    propagation: float,
    threshold: float,
    *,
    method: str = "auto",
    progress: Progress | None = None,
) -> Floats:
    """T (m, m).  ``graph`` None: no propagation, W = W0."""
    return scatter_and_counts(
        X, said, graph, propagation, threshold, method=method, progress=progress
    )[0]


def scatter_and_counts(
    X: Any,
    said: Constraints,
    graph: Graph | None,
    propagation: float,
    threshold: float,
    *,
    method: str = "auto",
    progress: Progress | None = None,
) -> tuple[Floats, int, int]:
    """T, and how many of the similar and of the dissimilar pairs the threshold left."""
    check_weights(propagation, threshold)
    every = said.n_similar, said.n_dissimilar
    if graph is None:
        return plain_scatter(X, said), *every
    one_of(method, "method", METHODS)
    if method == "auto":
        large = "push" if threshold > 0 else "matrix-free"
        method = "dense" if len(X) <= DENSE_UP_TO else large
    if method == "dense":
        return dense_scatter(X, graph, said, propagation, threshold)
    if method == "matrix-free":
        if threshold > 0:
            raise InvalidInput("the matrix-free way knows no threshold; set threshold=0 or push")
        return matrix_free_scatter(X, graph, said, propagation, progress), *every
    if threshold == 0:
        raise InvalidInput("push needs a threshold above 0; use the matrix-free way")
    return pushed_scatter(X, graph, said, propagation, threshold, progress=progress)


def check_weights(propagation: float, threshold: float) -> None:
    """0 <= a < 1 and theta >= 0, or a clear refusal."""
    number(propagation, "propagation", least=0, below=1)
    number(threshold, "threshold", least=0)
