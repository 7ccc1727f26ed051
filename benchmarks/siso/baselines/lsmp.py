"""A relative of LSMP (Chen et al. 2010): tags spread over an l1 graph.

LSMP's own objective is not in the SISO paper.  This takes what that paper says of it, the graph,
and spreads tags by the update of EGSSC (docs/methods/siso.md, (20)) with nu = 1; hence "like".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.siso.baselines.base import Floats
from benchmarks.siso.baselines.egssc import EntropicBaseline
from benchmarks.siso.baselines.graph import Ids, Index, build_lsh
from benchmarks.siso.baselines.graph_kernels import l1_weights
from likewise_methods.siso.inputs import Rows
from likewise_methods.siso.pictures import as_seed
from likewise_methods.validation import check_seed, number

# Of the largest correlation with a neighbour.
_PRECISION = 1e-6


class LSMPLike(EntropicBaseline):
    """Edges are each picture's lasso over the neighbours that hashing finds.

    Negative coefficients are clipped and rows sum to 1.

    Parameters
    ----------
    n_neighbours : int, default=50
        Pictures that a lasso may choose from.
    alpha : float, default=0.1
        gamma is alpha times the largest correlation with a neighbour; between 0 and 1.
    mu : float, default=10.0
        Weight of agreeing with neighbours.
    beta : float, default=5.0
        The paper's second trade-off, 5 or 8 there.
    tol : float, default=1e-4
        It stops when a step changes less than this.
    max_steps : int, default=500
        Steps, at most.
    random_state : int, Generator or None, default=None
        Seeds the hashes.

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
    EGSSC : the same update over nearest neighbours.

    References
    ----------
    A relative of LSMP (Chen et al., 2010), whose own objective was not at hand.

    docs/methods/siso.md, (20).

    Examples
    --------
    >>> X = [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]
    >>> model = LSMPLike(n_neighbours=1, random_state=0).fit(X[::2], [["a"], ["b"]], X[1::2])
    >>> model.predict(X[1::2], k=1)
    [['a'], ['b']]
    """

    nu = 1.0

    def __init__(
        self,
        n_neighbours: int = 50,
        alpha: float = 0.1,
        mu: float = 10.0,
        beta: float = 5.0,
        tol: float = 1e-4,
        max_steps: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.alpha = alpha
        self.mu = mu
        self.beta = beta
        self.tol = tol
        self.max_steps = max_steps
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        number(self.alpha, "alpha", above=0, below=1)
        check_seed(self.random_state)

    def _build_index(self, X: Rows) -> Index:
        return build_lsh(X, as_seed(self.random_state))

    def _weigh(self, Q: Rows, ids: Ids, squares: Floats) -> Floats:
        return np.asarray(l1_weights(Q, self._points, ids, float(self.alpha), _PRECISION))
