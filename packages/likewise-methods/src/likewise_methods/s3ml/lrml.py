"""LRML: Laplacian regularised metric learning (Hoi, Liu and Chang 2008), in closed form.

min tr(Q A) subject to logdet A >= 0 with Q = X'L X + gs S - gd D: L of the union kNN graph, S and D
the scatters of the similar and dissimilar pairs; A = det(Q)^(1/m) Q^-1 (docs/methods/s3ml.md,
(20)).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh

from likewise_methods.s3ml.graph import knn_graph
from likewise_methods.s3ml.metric import LearnedMetric, as_rows, pair_chunks
from likewise_methods.s3ml.pairs import Constraints, as_constraints
from likewise_methods.s3ml.propagation.solves import Sum, weighted_gram
from likewise_methods.validation import number, whole

Floats = NDArray[np.float64]


class LRML(LearnedMetric):
    """A full metric from pairs or labels and the kNN graph of all rows, in closed form.

    The three parts of Q are averages over edges and pairs, so ``similar`` (gs) and ``dissimilar``
    (gd) need no scale.

    Parameters
    ----------
    n_neighbors : int, default=6
        Edges of a row in the graph.
    similar : float, default=1.0
        Weight of the similar pairs against the graph; 0 or more.
    dissimilar : float, default=0.1
        Weight of the dissimilar pairs; 0 or more.
    floor : float, default=0.01
        Q is floored at this share of its largest eigenvalue; above 0.

    Attributes
    ----------
    metric_ : array of shape (columns, columns)
        The metric.
    components_ : array of shape (columns, columns)
        L with metric_ = L'L.
    middle_ : float
        The median distance between the pairs learned from.
    floor_acted_ : bool
        Whether some eigenvalue was raised to the floor.

    See Also
    --------
    S3ML : a sparse metric, with a certificate.

    References
    ----------
    Hoi, Liu and Chang, 2008.

    docs/methods/s3ml.md, (18).

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.1], [0.1, 4.0], [1.1, 4.1]]
    >>> model = LRML(n_neighbors=1).fit(X, [0, 0, 1, 1])
    >>> bool(model.metric_[1, 1] > model.metric_[0, 0])
    True
    """

    floor_acted_: bool

    def __init__(
        self,
        n_neighbors: int = 6,
        similar: float = 1.0,
        dissimilar: float = 0.1,
        floor: float = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.similar = similar
        self.dissimilar = dissimilar
        self.floor = floor

    def fit(self, X: Any, y: Any, same: Any = None) -> Self:
        """Learn from labels or pairs; all rows of X shape the graph.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            Rows.
        y : int array of shape (n,), or int array of shape (m, 2)
            Labels (-1: unlabelled), or pairs with ``same``.
        same : bool array of shape (m,), optional
            Whether each pair is alike.

        Returns
        -------
        self
        """
        k = whole(self.n_neighbors, "n_neighbors")
        gs, gd = (
            number(self.similar, "similar", least=0),
            number(self.dissimilar, "dissimilar", least=0),
        )
        floor = number(self.floor, "floor", above=0)
        rows = as_rows(self, X, reset=True)
        said = as_constraints(y, same, len(rows))
        S, D = pair_scatters(rows, said)
        Q = graph_scatter(rows, k) + gs * S - gd * D
        values, V = eigh((Q + Q.T) / 2)
        top = float(values[-1])
        if top <= 0:
            # Only constant features, or dissimilar pairs alone: no direction is preferred.
            top = max(float(-values[0]), 1.0)
            values = np.full_like(values, top)
        self.floor_acted_ = bool((values < floor * top).any())
        values = np.maximum(values, floor * top)
        # det(Q)^(1/m) is the geometric mean of the eigenvalues.
        scale = float(np.exp(np.log(values).mean()))
        return self._keep_metric(rows, said, (V * (scale / values)) @ V.T)


def pair_scatters(X: Any, said: Constraints) -> tuple[Floats, Floats]:
    """Return the mean of (x_i - x_j)(x_i - x_j)' over the similar pairs, and over the others."""
    first, second, alike = said.list_pairs()
    made = []
    for side in (alike, ~alike):
        one, other = first[side], second[side]
        total = np.zeros((X.shape[1], X.shape[1]))
        for some in pair_chunks(len(one), X.shape[1]):
            difference = np.asarray(X[one[some]], np.float64) - X[other[some]]
            total += difference.T @ difference
        made.append(total / max(len(one), 1))
    return made[0], made[1]


def graph_scatter(X: Any, n_neighbors: int) -> Floats:
    """Return the same mean over the edges of the union kNN graph: X'L X by the number of edges."""
    graph = knn_graph(X, n_neighbors)
    n, k = graph.shape
    total = Sum(X)
    if k == 0:
        return np.zeros_like(total.product)
    ends = np.arange(0, n * k + 1, k)
    directed = sp.csr_array((np.ones(n * k), graph.ravel().astype(np.int64), ends), shape=(n, n))
    union = sp.csr_array(directed.maximum(directed.T))
    total.add_sparse(union)
    Q = weighted_gram(X, total.mean, total.d) - total.product
    return np.asarray(Q / (union.nnz / 2))
