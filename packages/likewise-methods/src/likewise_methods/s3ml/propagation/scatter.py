"""Affinities spread from a few pairs or labels to all rows, and the scatter matrix T they give.

W* = (1-a)(I - aP)^-1 W0 over the kNN graph P; W is W* symmetrised and cut at theta, its
negative entries at theta times what a dissimilar pair weighs, where that is below 1;
T = X'(diag(W 1) - W)X (docs/methods/s3ml.md, (2) and (3)).  Three ways to the same T: a full matrix
for few rows; without threshold a matrix-free one; with a threshold local pushes and class solves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.graph import Graph, knn_graph
from likewise_methods.s3ml.mahalanobis import check_finite
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
# Up to here the full matrix is the fastest way.
DENSE_UP_TO = 1_000
# T, and how many of the similar and of the dissimilar pairs the threshold left.
Scattered = tuple[Floats, int, int]


def affinities(
    X: Any,
    y: Any,
    same: Any = None,
    *,
    n_neighbors: int = 6,
    propagation: float = 0.5,
    threshold: float = 0.01,
) -> Floats:
    """The full matrix W (n, n) from labels or pairs; for a few thousand rows.

    Parameters
    ----------
    X : array of shape (n, columns)
        Rows.
    y : int array of shape (n,), or int array of shape (m, 2)
        Labels (-1: unlabelled), or pairs with ``same``.
    same : bool array of shape (m,), optional
        Whether each pair is alike.
    n_neighbors : int, default=6
        Of a row, over which affinities spread.
    propagation : float, default=0.5
        How far.
    threshold : float, default=0.01
        Below it they do not count.

    Returns
    -------
    array of shape (n, n)

    See Also
    --------
    scatter : what a metric needs of it, without the matrix.

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
) -> Floats:
    """T (m, m).  ``graph`` None: no propagation, W = W0.

    Parameters
    ----------
    X : array of shape (n, m)
        Rows.
    said : Constraints
        What is alike and what is not.
    graph : Graph or None
        Neighbours.
    propagation : float
        How far affinities spread.
    threshold : float
        Below it they do not count.
    method : {"auto", "dense", "matrix-free", "push"}, default="auto"
        How it is computed.
    progress : callable, optional
        Hears how far it is.

    Returns
    -------
    array of shape (m, m)

    See Also
    --------
    affinities : the matrix itself.
    likewise_methods.s3ml.S3ML : learns from it.

    References
    ----------
    docs/methods/s3ml.md, (3).
    """
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
) -> Scattered:
    """T, and how many of the similar and of the dissimilar pairs the threshold left.

    Parameters
    ----------
    X : array of shape (n, m)
        Rows.
    said : Constraints
        What is alike and what is not.
    graph : Graph or None
        Neighbours; None: no propagation.
    propagation : float
        How far affinities spread.
    threshold : float
        Below it they do not count.
    method : {"auto", "dense", "matrix-free", "push"}, default="auto"
        How it is computed.
    progress : callable, optional
        Hears how far it is.

    Returns
    -------
    T : array of shape (m, m)
        As of :func:`scatter`.
    similar, dissimilar : int
        Pairs that the threshold left.

    See Also
    --------
    scatter : without the counts.
    """
    check_weights(propagation, threshold)
    if graph is None:
        return plain_scatter(X, said), said.n_similar, said.n_dissimilar
    one_of(method, "method", ("auto", *METHODS))
    if method == "auto":
        large = "push" if threshold > 0 else "matrix-free"
        method = "dense" if len(X) <= DENSE_UP_TO else large
    way = METHODS[method]
    if way.threshold not in (None, threshold > 0):
        others = [
            name for name, other in METHODS.items() if other.threshold in (None, threshold > 0)
        ]
        raise InvalidInput(
            f"method {method!r} is for a threshold {'above' if way.threshold else 'of'} 0, and it "
            f"is {threshold:g}; use {' or '.join(others)}"
        )
    return way.run(X, graph, said, propagation, threshold, progress)


class Method(NamedTuple):
    """One way to T and the numbers of pairs left.

    ``threshold``: True where it needs one above 0, False where it knows none, None where either
    will do.
    """

    run: Callable[[Any, Graph, Constraints, float, float, Progress | None], Scattered]
    threshold: bool | None


def _dense(
    X: Any, graph: Graph, said: Constraints, a: float, theta: float, progress: Progress | None
) -> Scattered:
    return dense_scatter(X, graph, said, a, theta)


def _matrix_free(
    X: Any, graph: Graph, said: Constraints, a: float, theta: float, progress: Progress | None
) -> Scattered:
    T = matrix_free_scatter(X, graph, said, a, progress)
    return T, said.n_similar, said.n_dissimilar


def _push(
    X: Any, graph: Graph, said: Constraints, a: float, theta: float, progress: Progress | None
) -> Scattered:
    return pushed_scatter(X, graph, said, a, theta, progress=progress)


METHODS = {
    "dense": Method(_dense, threshold=None),
    "matrix-free": Method(_matrix_free, threshold=False),
    "push": Method(_push, threshold=True),
}


def check_weights(propagation: float, threshold: float) -> None:
    """0 <= a < 1 and theta >= 0, or a clear refusal."""
    number(propagation, "propagation", least=0, below=1)
    number(threshold, "threshold", least=0)


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
