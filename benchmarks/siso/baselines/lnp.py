"""Linear neighbourhood propagation, local and global consistency: docs/methods/siso.md, (18)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.siso.baselines.base import Floats
from benchmarks.siso.baselines.graph import Ids
from benchmarks.siso.baselines.graph_kernels import local_weights
from benchmarks.siso.baselines.propagation import consistent, normalise_graph
from benchmarks.siso.baselines.transductive import GraphBaseline
from likewise_methods.siso.inputs import Rows
from likewise_methods.validation import number

# Of the value of each little problem: far below what a score shows.
_PRECISION = 1e-6


class LNP(GraphBaseline):
    """Each picture is a mix of its neighbours (weights >= 0, together 1), and tags follow the mix.

    W <- (W + W') / 2, S = D^-1/2 W D^-1/2, F = (1 - share)(I - share S)^-1 Y.  A new picture gets
    the mix of its neighbours' F.

    Parameters
    ----------
    n_neighbours : int, default=10
        Pictures a mix is made of.
    share : float, default=0.95
        The paper's a, at least 0 and below 1: .95 with 10 neighbours, .99 with 20.
    tol : float, default=1e-6
        It ends where every residual is this share of its right side.
    max_steps : int, default=1000
        Steps, at most.

    Attributes
    ----------
    tags_ : list
        Columns of ``predict_scores``.
    unlabelled_scores_ : array of shape (unlabelled, tags)
        Of the unlabelled pictures that ``fit`` was given.
    steps_ : int
        Steps taken.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    EGSSC : probabilities in place of sums.
    SparseAnnotator : reconstruction from all pictures.

    References
    ----------
    Wang and Zhang, 2008 (the induction).

    docs/methods/siso.md, (18).

    Examples
    --------
    >>> X = [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]
    >>> LNP(n_neighbours=1).fit(X[::2], [["a"], ["b"]], X[1::2]).predict(X[1::2], k=1)
    [['a'], ['b']]
    """

    def __init__(
        self, n_neighbours: int = 10, share: float = 0.95, tol: float = 1e-6, max_steps: int = 1000
    ) -> None:
        self.n_neighbours = n_neighbours
        self.share = share
        self.tol = tol
        self.max_steps = max_steps

    def _check(self) -> None:
        super()._check()
        number(self.share, "share", least=0, below=1)

    def _weigh(self, Q: Rows, ids: Ids, squares: Floats) -> Floats:
        return np.asarray(local_weights(Q, self._points, ids, _PRECISION))

    def _propagate(self, W: Any, Y: Floats) -> tuple[Floats, int, float]:
        S = normalise_graph(W)
        found = consistent(S, Y, float(self.share), float(self.tol), int(self.max_steps))
        self._beliefs = found.values
        return found.values, found.steps, found.error

    def _score_new(self, W: Any) -> Floats:
        return np.asarray(W @ self._beliefs)
