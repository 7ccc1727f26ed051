"""Ridge regression over all tagged pictures, in its small form (docs/methods/siso.md, (16)).

The paper solves x = (A'A + k I)^-1 A'y for each query and scores L'x, with an n-by-n matrix.  The
same scores are W'y with W = (A A' + k I)^-1 A L: m by m, whatever the number of pictures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.siso.baselines.base import Baseline, Floats
from likewise_methods.siso.inputs import Rows
from likewise_methods.validation import number

# Pictures at a time, so that only their float64 copy is made.
_BLOCK = 16384


class RidgeAnnotator(Baseline):
    """Ridge regression over all tagged pictures.

    Parameters
    ----------
    penalty : float, default=8.0
        The paper's k, above 0: 8 was the best of .1 to 20 there.

    Attributes
    ----------
    coef_ : array of shape (columns, tags)
        W = (A A' + k I)^-1 A L.
    tags_ : list
        Columns of ``predict_scores``.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    LinearAnnotator : the same as log odds, with pictures that come and go.

    References
    ----------
    docs/methods/siso.md, (16).

    Examples
    --------
    >>> model = RidgeAnnotator(penalty=1.0).fit([[1, 0], [0, 1]], [["sea"], ["wood"]])
    >>> model.predict_scores([[3, 4]]).round(6).tolist()
    [[0.3, 0.4]]
    """

    def __init__(self, penalty: float = 8.0) -> None:
        self.penalty = penalty

    def _check(self) -> None:
        number(self.penalty, "penalty", above=0)

    def _learn(self, X: Rows, labels: Any) -> None:
        width = X.shape[1]
        products, towards = np.zeros((width, width)), np.zeros((width, labels.shape[1]))
        for start in range(0, len(X), _BLOCK):
            some = X[start : start + _BLOCK].astype(np.float64)
            products += some.T @ some
            towards += (labels[start : start + _BLOCK].T @ some).T
        products[np.diag_indices(width)] += float(self.penalty)
        self.coef_: Floats = cho_solve(cho_factor(products), towards)

    def _scores(self, Q: Rows) -> Floats:
        return np.asarray(Q.astype(np.float64) @ self.coef_)
