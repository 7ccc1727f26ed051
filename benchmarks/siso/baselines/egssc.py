"""Entropic graph-regularised semi-supervised classification (Subramanya and Bilmes 2009):
docs/methods/siso.md, (19) and (20)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.siso.baselines.base import Floats
from benchmarks.siso.baselines.graph import Ids, gaussian, gaussian_width
from benchmarks.siso.baselines.propagation import belief, entropic
from benchmarks.siso.baselines.transductive import GraphBaseline
from likewise_methods.siso.inputs import Rows
from likewise_methods.validation import number


class EntropicBaseline(GraphBaseline):
    """Tags as distributions that neighbours should share; scores are p of :func:`entropic`.

    A picture with several tags shares its mass among them; one without counts as unlabelled.  A new
    picture's p is that of the update with its neighbours' q as they are, without an edge to itself.
    """

    mu: float
    nu: float
    beta: float

    def _check(self) -> None:
        super()._check()
        number(self.mu, "mu", above=0)
        number(self.nu, "nu", above=0)
        number(self.beta, "beta", least=0)

    def _symmetric(self, W: Any) -> Any:
        return W

    def _propagate(self, W: Any, Y: Floats) -> tuple[Floats, int, float]:
        total = Y.sum(axis=1, keepdims=True)
        found = entropic(
            self._symmetric(W), Y / np.where(total > 0, total, 1), float(self.mu), float(self.nu),
            float(self.beta), float(self.tol), int(self.max_steps),
        )  # fmt: skip
        self._log_q = np.log(found.q)
        return found.p, found.steps, found.error

    def _score_new(self, W: Any) -> Floats:
        weight = np.asarray(W.sum(axis=1)).ravel()
        return belief(W @ self._log_q, weight, float(self.mu), float(self.nu))


class EGSSC(EntropicBaseline):
    """EGSSC over the graph of nearest neighbours, edges exp(-d^2 / s^2), symmetric by the larger.

    (mu, nu, beta) = (.1, 1, 2) and (.5, 1, 1) in the paper.  s^2 is the mean squared distance to
    the last of the ``n_neighbours``.

    Parameters
    ----------
    n_neighbours : int, default=10
        Edges of a picture.
    mu : float, default=0.1
        Weight of agreeing with neighbours.
    nu : float, default=1.0
        Weight of entropy: what nobody says should stay undecided.
    beta : float, default=2.0
        Weight of a picture's agreement with itself.
    tol : float, default=1e-4
        It stops when a step changes less than this.
    max_steps : int, default=500
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
    LNP : tags spread over mixes of neighbours.
    LSMPLike : the same update over an l1 graph.
    SparseAnnotator : reconstruction from all pictures.

    References
    ----------
    Subramanya and Bilmes, 2009.

    docs/methods/siso.md, (19) and (20).

    Examples
    --------
    >>> X = [[1, 0], [1, 0.1], [0, 1], [0.1, 1]]
    >>> EGSSC(n_neighbours=1).fit(X[::2], [["a"], ["b"]], X[1::2]).predict(X[1::2], k=1)
    [['a'], ['b']]
    """

    def __init__(
        self,
        n_neighbours: int = 10,
        mu: float = 0.1,
        nu: float = 1.0,
        beta: float = 2.0,
        tol: float = 1e-4,
        max_steps: int = 500,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.mu = mu
        self.nu = nu
        self.beta = beta
        self.tol = tol
        self.max_steps = max_steps

    def _measure(self, squares: Floats) -> None:
        self._width = gaussian_width(squares)

    def _weigh(self, Q: Rows, ids: Ids, squares: Floats) -> Floats:
        return gaussian(squares, self._width)

    def _symmetric(self, W: Any) -> Any:
        return W.maximum(W.T)
