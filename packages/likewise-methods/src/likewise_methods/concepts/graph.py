"""The neighbour graph of a collection: rows are smoothed over it, and answers travel along it.

Both use what nobody labelled, as S3ML's propagation does (docs/methods/s3ml.md): a picture says
something about its neighbours, and more about those that are its neighbours in turn.  See
docs/methods/concepts.md, (1) and (2) and docs/methods/concepts.md, (5).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.lazy_imports import sparse
from likewise_methods.s3ml.graph import knn_graph
from likewise_methods.validation import finite_rows, whole

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]
Ids = NDArray[np.int64]

ONE_SIDED = 0.3
"""Weight of an edge that only one of its ends counts among its nearest; mutual ones weigh 1."""
NEGLIGIBLE = 1e-4
"""What arrives at a picture below this share of one answer is dropped, so that a round touches the
surroundings of the answers and not the whole collection."""


class NeighbourGraph:
    """Symmetric weights between each row and its nearest neighbours.

    Parameters
    ----------
    weights : sparse matrix of shape (n, n)
        Symmetric, not negative, zero on the diagonal.

    Attributes
    ----------
    weights : sparse matrix of shape (n, n)
        As given.

    See Also
    --------
    ConceptLearner : uses it.

    Examples
    --------
    >>> from likewise_methods.concepts import NeighbourGraph
    >>> graph = NeighbourGraph.build([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], n_neighbors=1)
    >>> graph.weights.toarray().round(1).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.3], [0.0, 0.3, 0.0]]
    """

    def __init__(self, weights: Any) -> None:
        self.weights = sparse.csr_array(weights)
        degrees = np.asarray(self.weights.sum(axis=1)).ravel()
        self._inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    @classmethod
    def build(cls, X: Any, n_neighbors: int = 10) -> Self:
        """Find the nearest rows of each row and weigh the edges.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows compared by Euclidean distance.
        n_neighbors : int, default=10
            Nearest rows of each row.

        Returns
        -------
        NeighbourGraph
            Exact up to 20,000 rows, nearly exact beyond.
        """
        rows = finite_rows(X, "X", dtype=np.float32)
        near = knn_graph(rows, whole(n_neighbors, "n_neighbors"))
        n, k = near.shape
        starts = np.arange(0, n * k + 1, max(k, 1)) if k else np.zeros(n + 1, np.int64)
        directed = sparse.csr_array((np.ones(n * k), near.ravel(), starts), shape=(n, n))
        mutual = directed.multiply(directed.T)
        either = (directed + directed.T) - mutual
        return cls(ONE_SIDED * either + (1 - ONE_SIDED) * mutual)

    def smooth(self, X: Any, steps: int = 3) -> Rows:
        """Mix each row with the mean of its neighbours, ``steps`` times, and scale to unit length.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows in the order of the graph.
        steps : int, default=3
            Times that a row takes over half of what its neighbours have.

        Returns
        -------
        array of shape (n, columns), float32
            Rows of unit length.
        """
        rows = np.asarray(X, np.float32)
        share = sparse.diags_array(self._inverse.astype(np.float32))
        mean = share @ self.weights.astype(np.float32)
        mixed = rows
        for _ in range(steps):
            mixed = 0.5 * rows + 0.5 * (mean @ mixed)
        lengths = np.sqrt(np.einsum("ij,ij->i", mixed, mixed, dtype=np.float64))
        unit: Rows = (mixed / np.maximum(lengths, 1e-12)[:, None]).astype(np.float32)
        return unit

    def propagate(self, seeds: Ids, values: Floats, decay: float, steps: int) -> tuple[Ids, Floats]:
        """Let values travel from seeds along the edges: F <- decay S F + Y, with normalised S.

        Parameters
        ----------
        seeds : array of int
            Rows that have a value, ascending.
        values : array of shape (seeds, columns)
            Their values, at least 0.
        decay : float
            Share that is passed on.
        steps : int
            Number of steps.

        Returns
        -------
        reached : array of int
            Rows that anything worth counting arrived at, ascending.
        amounts : array of shape (reached, columns)
            What arrived there.
        """
        root = np.sqrt(self._inverse)
        reached, amounts = seeds, values
        for _ in range(steps):
            part = self.weights[reached]
            sent = (amounts * (decay * root[reached])[:, None]).astype(np.float64)
            targets = part.indices
            share = np.repeat(np.arange(len(reached)), np.diff(part.indptr))
            found, place = np.unique(np.concatenate([seeds, targets]), return_inverse=True)
            arrived = np.zeros((len(found), values.shape[1]))
            for column in range(values.shape[1]):
                flow = part.data * sent[share, column]
                arrived[:, column] = root[found] * np.bincount(
                    place[len(seeds) :], weights=flow, minlength=len(found)
                )
            arrived[place[: len(seeds)]] += values
            kept = arrived.max(axis=1) >= NEGLIGIBLE
            reached, amounts = found[kept].astype(np.int64), arrived[kept]
        return reached, amounts
