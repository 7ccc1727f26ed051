"""The tags of the nearest pictures (docs/methods/siso.md, (15))."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.siso.baselines.base import Baseline, Floats
from likewise_methods.neighbours.exact import Exact
from likewise_methods.siso.inputs import Rows
from likewise_methods.validation import one_of, whole

# Queries at a time: bounds the lists of neighbours in memory.
_BATCH = 4096


class KNNAnnotator(Baseline):
    """A tag's score is its share among the ``n_neighbours`` nearest tagged pictures.

    The nearest by l2 on unit rows are the nearest by cosine.

    Parameters
    ----------
    n_neighbours : int, default=500
        Pictures that are asked; all of them where there are fewer.
    weights : {"uniform", "gaussian"}, default="uniform"
        "gaussian" lets a neighbour count by exp(-d^2 / s^2), s^2 being the mean squared distance of
        the query to its neighbours.

    Attributes
    ----------
    tags_ : list
        Columns of ``predict_scores``.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    SparseAnnotator : neighbours that together explain the query.

    References
    ----------
    docs/methods/siso.md, (15).

    Examples
    --------
    >>> model = KNNAnnotator(n_neighbours=2).fit([[1, 0], [1, 1], [0, 1]], [["a"], ["a"], ["b"]])
    >>> model.predict_scores([[1, 0.1]]).tolist(), model.predict([[0, 1]], k=1)
    ([[1.0, 0.0]], [['a']])
    """

    def __init__(self, n_neighbours: int = 500, weights: str = "uniform") -> None:
        self.n_neighbours = n_neighbours
        self.weights = weights

    def _check(self) -> None:
        whole(self.n_neighbours, "n_neighbours")
        one_of(self.weights, "weights", ("uniform", "gaussian"))

    def _learn(self, X: Rows, labels: Any) -> None:
        self._index = Exact("ip").build(X)
        self._labels = labels

    def _scores(self, Q: Rows) -> Floats:
        k, n = min(int(self.n_neighbours), len(self._index)), len(self._index)
        made = np.empty((len(Q), self._labels.shape[1]))
        for start in range(0, len(Q), _BATCH):
            ids, near = self._index.search(Q[start : start + _BATCH], k)
            counts = self._counts(near)
            ends = np.arange(0, ids.size + 1, k)
            shares = sp.csr_array((counts.ravel(), ids.ravel(), ends), shape=(len(ids), n))
            made[start : start + _BATCH] = (shares @ self._labels).toarray()
        return made

    def _counts(self, near: Any) -> Floats:
        """How much each neighbour counts; together 1."""
        if self.weights == "uniform":
            return np.full(near.shape, 1 / near.shape[1])
        # Unit rows: d^2 = 2 - 2 a.q.
        squares = np.maximum(2 - 2 * near.astype(np.float64), 0)
        spread = squares.mean(axis=1, keepdims=True)
        counts = np.exp(-squares / np.where(spread > 0, spread, 1))
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))
