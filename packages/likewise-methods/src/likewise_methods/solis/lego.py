"""LEGO (Jain et al. 2009): online LogDet learning of a Mahalanobis metric.

A triplet gives two pairs: the nearer should be closer than a low target, the farther not closer
than a high target.  Only violated pairs change the metric (docs/methods/solis.md, (18)).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.solis.rival_kernels import lego_diagonal, lego_full
from likewise_methods.solis.rivals import MinusDistance, OnlineRival
from likewise_methods.solis.rows import Floats, Triplets
from likewise_methods.sparse_rows import Rows
from likewise_methods.validation import number

_SAMPLE = 10_000


class LEGO(MinusDistance, OnlineRival):
    """Learn ``d(a, b) = sum_j w_j (a_j - b_j)^2`` (or a full matrix) from w = 1.

    Each violated pair causes a LogDet step of rate ``eta``.  ``similarity`` is minus the distance,
    and ``sample_weight`` multiplies eta.

    Parameters
    ----------
    eta : float, default=0.1
        Rate of a step; above 0.
    low, high : float, optional
        Targets: nearer pictures should be closer than ``low``, farther ones not closer than
        ``high``.  By default the 5th and 95th percentile of the distances in the first triplets.
    form : {"diagonal", "full"}, default="diagonal"
        One weight per word, or a matrix (up to 10,000 words).

    Attributes
    ----------
    weights_ : array of shape (words,)
        The weights; only of the diagonal form.
    matrix_ : array of shape (words, words)
        The matrix, or the weights as a diagonal one.
    scales_ : dict of str to float
        The rate and the targets that were used.
    n_rounds_, n_losses_ : int
        Triplets learnt from, and those that caused an update.

    See Also
    --------
    OASIS : learns a similarity.

    References
    ----------
    Jain et al., 2009.

    docs/methods/solis.md, (18).

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> LEGO(eta=0.5, low=1.0, high=2.0).fit(X, [[0, 1, 2]]).weights_.round(3).tolist()
    [1.063, 0.781, 0.819]
    """

    kind: ClassVar[str] = "LEGO learner"

    def __init__(
        self,
        eta: float = 0.1,
        *,
        low: float | None = None,
        high: float | None = None,
        form: str = "diagonal",
    ) -> None:
        self.eta = eta
        self.low = low
        self.high = high
        self.form = form

    def _check_parameters(self) -> dict[str, Any]:
        found = {
            "eta": number(self.eta, "eta", above=0),
            "low": None if self.low is None else number(self.low, "low", least=0),
            "high": None if self.high is None else number(self.high, "high", above=0),
        }
        low, high = found["low"], found["high"]
        if low is not None and high is not None and not low <= high:
            raise InvalidInput(f"low is {low:g} and high is {high:g}; low <= high expected")
        return found

    def _measure(self, rows: Rows, triplets: Triplets, given: dict[str, Any]) -> None:
        targets = dict(given)
        if given["low"] is None or given["high"] is None:
            chosen = np.linspace(0, len(triplets) - 1, min(len(triplets), _SAMPLE)).astype(np.int64)
            distances = _plain_distances(rows, triplets[chosen])
            low, high = np.percentile(distances, [5, 95])
            targets["low"] = float(low) if given["low"] is None else given["low"]
            targets["high"] = float(high) if given["high"] is None else given["high"]
            # Two measured targets may be equal: all distances are.
            one_given = given["low"] is not None or given["high"] is not None
            if one_given and targets["low"] >= targets["high"]:
                known, other = ("low", "high") if given["high"] is None else ("high", "low")
                raise InvalidInput(
                    f"{known} is {targets[known]:g}, but {other} measured on the triplets is "
                    f"{targets[other]:g}; low < high expected: give both"
                )
        self.scales_ = {name: float(targets[name]) for name in ("eta", "low", "high")}

    def _learn(self, rows: Rows, triplets: Triplets, sample_weight: Floats) -> None:
        eta, low, high = (self.scales_[name] for name in ("eta", "low", "high"))
        longest = 2 * int(np.diff(rows.ends).max(initial=0)) + 1
        kernel = lego_full if self._is_full() else lego_diagonal
        room = rows.width if self._is_full() else longest
        kernel(
            rows, triplets, sample_weight, self._state, self._counters, eta, low, high,
            np.zeros(longest, np.int64), np.zeros(longest), np.zeros(room),
        )  # fmt: skip


def _plain_distances(rows: Rows, triplets: Triplets) -> Floats:
    """Return the squared distances of the nearer, then of the farther pairs."""
    values = rows.values.astype(np.float64)
    X = sp.csr_array(
        (values, rows.words.astype(np.int64), rows.ends), shape=(len(rows.ends) - 1, rows.width)
    )
    a, p, n = triplets.T
    apart = [np.asarray((X[a] - X[other]).power(2).sum(axis=1)).reshape(-1) for other in (p, n)]
    return np.concatenate(apart)
