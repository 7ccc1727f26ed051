"""Diagonal LMNN (Weinberger and Saul 2009) from triplets: pull targets close, push impostors away.

``min (1 - mu) sum_targets d_w + mu sum_triplets max(0, 1 + d_w(x, x+) - d_w(x, x-))``, w >= 0, with
``d_w = sum_j w_j (a_j - b_j)^2`` (docs/methods/solis.md, (20)): convex in w, solved by projected
subgradient steps that shrink when the objective rises.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from likewise.errors import InvalidInput
from likewise_methods.estimators import check_is_fitted
from likewise_methods.solis.rivals import MinusDistance
from likewise_methods.solis.rows import Floats, Triplets, as_rows, as_triplets
from likewise_methods.validation import number, whole


class LMNN(MinusDistance):
    """A diagonal metric from w = 1; batch only.

    Of the nearer pictures that triplets name for an anchor, the ``n_targets`` closest by plain
    distance are its targets; triplets with another nearer picture are left out, as in LMNN.

    Parameters
    ----------
    mu : float, default=0.5
        Weight of pushing impostors away against pulling targets close; between 0 and 1.
    n_targets : int, default=3
        Targets of an anchor, at most.
    max_iter : int, default=200
        Steps, at most; a ``ConvergenceWarning`` says that they came first.
    tol : float, default=1e-5
        It stops when a step moves the weights by at most this share of their length.

    Attributes
    ----------
    weights_ : array of shape (words,)
        The weights, none below 0.
    objective_ : float
        Of those weights.
    n_iter_ : int
        Steps taken.
    sparsity_, changed_ : float
        Shares of weights that are zero, and that differ from 1.
    scales_ : dict
        Empty: nothing is measured.

    See Also
    --------
    QPAO : the other batch learner, with a certificate.
    SOLIS : the same triplets, one at a time.

    References
    ----------
    Weinberger and Saul, 2009.

    docs/methods/solis.md, (20).

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> LMNN().fit(X, [[0, 1, 2], [1, 0, 2]]).score(X, [[0, 1, 2]])
    1.0
    """

    def __init__(
        self, mu: float = 0.5, *, n_targets: int = 3, max_iter: int = 200, tol: float = 1e-5
    ) -> None:
        self.mu = mu
        self.n_targets = n_targets
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, triplets: Any, sample_weight: None = None) -> Self:
        """Solve for all triplets at once.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            Rows of pictures.
        triplets : int array of shape (m, 3)
            Rows of X: anchor, nearer, farther.
        sample_weight : None
            Not supported.

        Returns
        -------
        self
        """
        mu = number(self.mu, "mu", above=0, below=1)
        n_targets, max_iter = (
            whole(self.n_targets, "n_targets", 1),
            whole(self.max_iter, "max_iter", 1),
        )
        tol = number(self.tol, "tol", least=0)
        if sample_weight is not None:
            raise InvalidInput("sample_weight is not supported by LMNN")
        rows = as_rows(X)
        triplets = as_triplets(triplets, len(rows.ends) - 1)
        shape = (len(rows.ends) - 1, rows.width)
        csr = (rows.values.astype(np.float64), rows.words.astype(np.int64), rows.ends)
        problem = _Problem(sp.csr_array(csr, shape=shape), triplets, n_targets, mu)
        w, value, n_iter, done = _descend(problem, np.ones(rows.width), max_iter, tol)
        if not done:
            warnings.warn(
                f"LMNN stopped at max_iter={max_iter} while steps still moved the weights by more "
                f"than tol={tol:g} of their length; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        w.flags.writeable = False
        self._w, self.objective_, self.n_iter_ = w, value, n_iter
        self.scales_: dict[str, float] = {}
        self.n_features_in_ = rows.width
        return self

    @property
    def weights_(self) -> Floats:
        """float64, one per word; read-only."""
        check_is_fitted(self)
        return self._w

    def _start_weight(self) -> float:
        return 1.0


def _descend(
    problem: _Problem, w: Floats, max_iter: int, tol: float
) -> tuple[Floats, float, int, bool]:
    """Weights, their objective, the number of steps tried, and whether the moves came to rest."""
    value, slope = problem.at(w)
    length = float(np.linalg.norm(slope))
    # The first step moves the weights by a hundredth of their length, none by more than all of it.
    longest = float(np.sqrt(len(w)))
    step = 0.01 * longest / length if length else 0.0
    n_iter = 0
    while length > 0:
        if n_iter == max_iter:
            return w, value, n_iter, False
        n_iter += 1
        tried = np.maximum(w - min(step, longest / length) * slope, 0.0)
        moved = float(np.linalg.norm(tried - w))
        at_rest = moved <= tol * float(np.linalg.norm(w))
        fresh, fresh_slope = problem.at(tried)
        # So put that a NaN is never taken.
        if fresh <= value:
            w, value, slope = tried, fresh, fresh_slope
            step = 1.2 * min(step, longest / length)
            length = float(np.linalg.norm(slope))
        else:
            step = min(step, longest / length) / 2
        if at_rest:
            break
    return w, value, n_iter, True


class _Problem:
    """Squared differences of the distinct pairs, once each: triplets share most of them."""

    def __init__(self, X: Any, triplets: Triplets, n_targets: int, mu: float) -> None:
        near, which = np.unique(triplets[:, :2], axis=0, return_inverse=True)
        which = which.reshape(-1)
        apart = (X[near[:, 0]] - X[near[:, 1]]).tocsr().power(2)
        plain = np.asarray(apart.sum(axis=1)).reshape(-1)
        # Rank of each pair among those of its anchor.
        order = np.lexsort((plain, near[:, 0]))
        first = np.searchsorted(near[order, 0], near[order, 0])
        rank = np.empty(len(near), np.int64)
        rank[order] = np.arange(len(near)) - first
        target = rank < n_targets
        kept = target[which]
        self.mu = mu
        self.pull = apart[np.flatnonzero(target)]
        self.nearer = (np.cumsum(target) - 1)[which[kept]]
        far, self.farther = np.unique(triplets[kept][:, [0, 2]], axis=0, return_inverse=True)
        self.farther = self.farther.reshape(-1)
        self.push = (X[far[:, 0]] - X[far[:, 1]]).tocsr().power(2)

    def at(self, w: Floats) -> tuple[float, Floats]:
        """Objective and a subgradient."""
        close, away = self.pull @ w, self.push @ w
        short = 1 + close[self.nearer] - away[self.farther]
        lost = short > 0
        value = (1 - self.mu) * close.sum() + self.mu * short[lost].sum()
        near = np.bincount(self.nearer[lost], minlength=len(close))
        far = np.bincount(self.farther[lost], minlength=len(away))
        slope = self.pull.T @ (1 - self.mu + self.mu * near) - self.mu * (self.push.T @ far)
        return float(value), np.asarray(slope)
