"""QPAO (after Cai et al. 2010): weights from a quadratic programme, with a duality gap.

``min |w|^2/2 + C sum_i max(0, margin - w.z_i), w >= 0``.  The dual has one bounded variable per
triplet and w = max(0, sum_i a_i z_i); it is solved by coordinate ascent (docs/methods/solis.md,
(19)).  Rebuilt from the paper's abstract: its text was not available.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likewise_methods.estimators import check_is_fitted
from likewise_methods.kernels import kernel
from likewise_methods.solis.base import WeightedSimilarity
from likewise_methods.solis.margin_kernels import count_margins, new_work, write_margins
from likewise_methods.solis.rows import Floats, as_rows, as_sample_weight, as_triplets
from likewise_methods.validation import generator, number, whole


class QPAO(WeightedSimilarity):
    """Learn non-negative weights by a hinge-loss quadratic programme; batch only.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against ``|w|^2 / 2``; above 0.
    margin : float, default=1.0
        Margin of the hinge; above 0.
    tol : float, default=1e-3
        Stop when the duality gap is at most this share of the primal objective.
    max_iter : int, default=200
        Most passes; reaching it gives a ``ConvergenceWarning``.
    random_state : int, Generator or None, default=0
        Seed of the order of the coordinates.

    Attributes
    ----------
    weights_ : array of shape (words,)
        The weights, none below 0.
    dual_ : array of shape (m,)
        One multiplier per triplet, 0 to C.
    objective_, gap_ : float
        The primal objective and its duality gap, computed from ``weights_`` and ``dual_``.
    n_iter_ : int
        Number of passes.
    sparsity_, changed_ : float
        Shares of weights that are zero, and that are not.
    scales_ : dict
        Empty: nothing is measured.

    See Also
    --------
    SOLIS : learns online.

    References
    ----------
    Cai et al., 2010, rebuilt from its abstract.

    docs/methods/solis.md, (19).

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> learner = QPAO(C=10.0).fit(X, [[0, 1, 2], [1, 0, 2]])
    >>> learner.weights_.round(3).tolist()
    [1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        margin: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 200,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.margin = margin
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, triplets: Any, sample_weight: Any = None) -> Self:
        """Solve for all triplets at once.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            Rows of pictures.
        triplets : int array of shape (m, 3)
            Rows of X: anchor, nearer, farther.
        sample_weight : array of shape (m,), optional
            Multiplies C of each triplet.

        Returns
        -------
        self
        """
        C, margin = number(self.C, "C", above=0), number(self.margin, "margin", above=0)
        tol, max_iter = number(self.tol, "tol", least=0), whole(self.max_iter, "max_iter", 1)
        rng = generator(self.random_state)
        rows = as_rows(X)
        triplets = as_triplets(triplets, len(rows.ends) - 1)
        weight = as_sample_weight(sample_weight, len(triplets))
        limit = np.full(len(triplets), C) if not len(weight) else C * weight
        ends = np.zeros(len(triplets) + 1, np.int64)
        count_margins(rows, triplets, new_work(rows, len(triplets)), ends)
        words, z = np.empty(ends[-1], np.uint32), np.empty(ends[-1])
        write_margins(rows, triplets, new_work(rows, len(triplets)), ends, words, z)
        total, dual = np.zeros(rows.width), np.zeros(len(triplets))
        n_iter, primal, gap = 0, 0.0, np.inf
        while n_iter < max_iter and not gap <= tol * primal:
            n_iter += 1
            climb(ends, words, z, total, dual, limit, margin, rng.permutation(len(triplets)))
            # Summed again: thousands of small updates accumulate rounding errors.
            primal, gap = certificate(ends, words, z, total, dual, limit, margin)
        if not gap <= tol * primal:
            warnings.warn(
                f"QPAO stopped at max_iter={max_iter} with a duality gap of {gap:.3g}, above "
                f"tol={tol:g} of the objective {primal:.3g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._total, self.dual_ = total, dual
        self.scales_: dict[str, float] = {}
        self.objective_, self.gap_, self.n_iter_ = float(primal), float(gap), n_iter
        self.n_features_in_ = rows.width
        return self

    @property
    def weights_(self) -> Floats:
        """float64, one per word; a copy."""
        check_is_fitted(self)
        return np.maximum(self._total, 0.0)

    def _start_weight(self) -> float:
        return 0.0


@kernel
def climb(ends, words, z, total, dual, limit, margin, order):  # type: ignore[no-untyped-def]
    """Do one pass: a_i <- clip(a_i + (margin - w.z_i)/|z_i|^2, 0, C_i), w = max(0, total)."""
    for t in order:
        value = 0.0
        power = 0.0
        for k in range(ends[t], ends[t + 1]):
            value += max(total[words[k]], 0.0) * z[k]
            power += z[k] * z[k]
        # Without shared words the loss is constant and the multiplier at its bound.
        fresh = limit[t]
        if power > 0.0:
            fresh = min(max(dual[t] + (margin - value) / power, 0.0), limit[t])
        step = fresh - dual[t]
        dual[t] = fresh
        if step != 0.0:
            for k in range(ends[t], ends[t + 1]):
                total[words[k]] += step * z[k]


@kernel
def certificate(ends, words, z, total, dual, limit, margin):  # type: ignore[no-untyped-def]
    """Return primal objective and duality gap; sum ``total`` again from ``dual``."""
    total[:] = 0.0
    for t in range(len(dual)):
        for k in range(ends[t], ends[t + 1]):
            total[words[k]] += dual[t] * z[k]
    half = 0.0
    for j in range(len(total)):
        half += 0.5 * max(total[j], 0.0) ** 2
    loss = 0.0
    gain = 0.0
    for t in range(len(dual)):
        value = 0.0
        for k in range(ends[t], ends[t + 1]):
            value += max(total[words[k]], 0.0) * z[k]
        loss += limit[t] * max(margin - value, 0.0)
        gain += margin * dual[t]
    return half + loss, (half + loss) - (gain - half)
