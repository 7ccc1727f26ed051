"""Spread affinities from a few pairs or labels to all rows; compute their scatter matrix T.

W* = (1-a)(I - aP)^-1 W0 over the kNN graph P.  W is W* symmetrised and cut at theta, its negative
entries at theta times the weight of a dissimilar pair, where that is below 1.  T = X'(diag(W 1) -
W)X (docs/methods/s3ml.md, (2) and (3)).  There are three ways to T: the full matrix for few rows; a
matrix-free one without threshold; local pushes with a threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.graph import Graph, knn_graph
from likewise_methods.s3ml.metric import check_finite
from likewise_methods.s3ml.pairs import Constraints, as_constraints
from likewise_methods.s3ml.propagation.push import pushed_scatter
from likewise_methods.s3ml.propagation.solves import (
    Progress,
    matrix_free_scatter,
    plain_scatter,
    threshold,
)
from likewise_methods.validation import matrix, number, one_of, whole

Floats = NDArray[np.float64]
# Up to this many rows the full matrix is fastest.
DENSE_UP_TO = 1_000


def affinities(
    X: Any,
    y: Any,
    same: Any = None,
    *,
    n_neighbors: int = 6,
    propagation: float = 0.5,
    threshold: float = 0.01,
) -> Floats:
    """Return the full matrix W (n, n) from labels or pairs, for a few thousand rows.

    Parameters
    ----------
    X : array of shape (n, columns)
        Rows.
    y : int array of shape (n,), or int array of shape (m, 2)
        Labels (-1: unlabelled), or pairs with ``same``.
    same : bool array of shape (m,), optional
        Whether each pair is alike.
    n_neighbors : int, default=6
        Neighbours of a row over which affinities spread.
    propagation : float, default=0.5
        How far affinities spread.
    threshold : float, default=0.01
        Smaller affinities do not count.

    Returns
    -------
    array of shape (n, n)

    See Also
    --------
    scatter : what a metric needs of W, without the matrix.

    References
    ----------
    docs/methods/s3ml.md, (1) and (2).

    Examples
    --------
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
) -> tuple[Floats, int, int]:
    """Return T, and how many similar and dissimilar pairs the threshold left.

    Parameters
    ----------
    X : array of shape (n, m)
        Rows.
    said : Constraints
        Which rows are alike and which are not.
    graph : Graph or None
        Neighbours; None: no propagation, W = W0.
    propagation : float
        How far affinities spread.
    threshold : float
        Smaller affinities do not count.
    method : {"auto", "dense", "matrix-free", "push"}, default="auto"
        "dense" forms W, "matrix-free" needs a threshold of 0, "push" one above 0.
    progress : callable, optional
        Called with (what is being done, how much is done, how much there is).

    Returns
    -------
    T : array of shape (m, m)
        X'(diag(W 1) - W)X.
    similar, dissimilar : int
        Pairs that count.

    See Also
    --------
    affinities : the matrix W.
    likewise_methods.s3ml.S3ML : learns from T.

    References
    ----------
    docs/methods/s3ml.md, (3).
    """
    check_weights(propagation, threshold)
    if graph is None:
        return plain_scatter(X, said), said.n_similar, said.n_dissimilar
    one_of(method, "method", ("auto", "dense", "matrix-free", "push"))
    large = "push" if threshold > 0 else "matrix-free"
    if method == "auto":
        method = "dense" if len(X) <= DENSE_UP_TO else large
    if method == "dense":
        return dense_scatter(X, graph, said, propagation, threshold)
    if method != large:
        wanted = "above" if method == "push" else "of"
        raise InvalidInput(
            f"method {method!r} is for a threshold {wanted} 0, and it is {threshold:g}; use dense "
            f"or {large}"
        )
    if method == "push":
        return pushed_scatter(X, graph, said, propagation, threshold, progress=progress)
    T = matrix_free_scatter(X, graph, said, propagation, progress)
    return T, said.n_similar, said.n_dissimilar


def check_weights(propagation: float, threshold: float) -> None:
    """Refuse a propagation outside [0, 1) or a negative threshold."""
    number(propagation, "propagation", least=0, below=1)
    number(threshold, "threshold", least=0)


def dense_affinities(graph: Graph, said: Constraints, a: float, theta: float) -> Floats:
    """Return W: (1-a)(I - aP)^-1 W0, symmetrised, then cut at theta (docs/methods/s3ml.md, (3)).

    :meth:`Constraints.least` gives the cut of negative entries.
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
    """Return T = X'(diag(W 1) - W)X, and how many similar and dissimilar pairs count."""
    W = dense_affinities(graph, said, a, theta)
    rows = np.asarray(X, np.float64) - X.mean(axis=0, dtype=np.float64)
    T = rows.T @ (rows * W.sum(axis=1)[:, None]) - rows.T @ (W @ rows)
    return np.asarray((T + T.T) / 2), *_uncut(W, said)


def _uncut(W: Floats, said: Constraints) -> tuple[int, int]:
    """Return how many similar and dissimilar pairs count."""
    if said.codes is None:
        kept = W[said.first, said.second] != 0
        return int((kept & said.alike).sum()), int((kept & ~said.alike).sum())
    rows = said.constrained_rows()
    kept, codes = np.triu(W[np.ix_(rows, rows)] != 0, 1), said.codes[rows]
    alike = int((kept & (codes[:, None] == codes)).sum())
    return alike, int(kept.sum()) - alike
