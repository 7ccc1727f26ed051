"""One support vector machine a tag, with the Gaussian kernel (docs/methods/siso.md, (17)).

scikit-learn solves each; the kernel matrix is computed once and shared by all tags.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.siso.baselines.base import Baseline, Floats
from likewise_methods.siso.inputs import Rows
from likewise_methods.siso.pictures import as_seed
from likewise_methods.validation import check_seed, number, whole

_BATCH = 2048


class SVMAnnotator(Baseline):
    """One-vs-rest SVMs with K(u, v) = exp(-gamma |u - v|^2); a tag's score is its decision value.

    A tag that no picture has scores -1 everywhere, one that all have 1.

    Parameters
    ----------
    gamma : float, default=0.6
        Of the kernel; above 0.
    penalty : float, default=1.0
        C; above 0.
    max_rows : int or None, default=10000
        Training needs the kernel of all pairs, so of more pictures than this as many are drawn;
        None: no limit.
    random_state : int, Generator or None, default=None
        Draws them.

    Attributes
    ----------
    tags_ : list
        Columns of ``predict_scores``.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    LinearAnnotator : a linear machine in closed form.

    References
    ----------
    docs/methods/siso.md, (17).

    Examples
    --------
    >>> model = SVMAnnotator().fit([[1, 0], [0.9, 0.1], [0, 1]], [["a"], ["a"], ["b"]])
    >>> model.predict([[1, 0.2], [0, 2]], k=1)
    [['a'], ['b']]
    """

    def __init__(
        self,
        gamma: float = 0.6,
        penalty: float = 1.0,
        max_rows: int | None = 10_000,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.penalty = penalty
        self.max_rows = max_rows
        self.random_state = random_state

    def _check(self) -> None:
        number(self.gamma, "gamma", above=0)
        number(self.penalty, "penalty", above=0)
        if self.max_rows is not None:
            whole(self.max_rows, "max_rows", 2)
        check_seed(self.random_state)

    def _learn(self, X: Rows, labels: Any) -> None:
        if self.max_rows is not None and len(X) > self.max_rows:
            rng = np.random.default_rng(as_seed(self.random_state))
            some = np.sort(rng.choice(len(X), int(self.max_rows), replace=False))
            X, labels = X[some], labels[some]
        kernel = self._kernel(X, X)
        weights, shifts = np.zeros((len(X), labels.shape[1])), np.empty(labels.shape[1])
        columns = labels.tocsc()
        for tag in range(labels.shape[1]):
            has = np.zeros(len(X), bool)
            has[columns.indices[columns.indptr[tag] : columns.indptr[tag + 1]]] = True
            if has.all() or not has.any():
                shifts[tag] = 1.0 if has.any() else -1.0
                continue
            solved = SVC(kernel="precomputed", C=float(self.penalty)).fit(kernel, has)
            weights[solved.support_, tag] = solved.dual_coef_[0]
            shifts[tag] = solved.intercept_[0]
        # Only pictures that some tag leans on are asked for again.
        used = np.flatnonzero(weights.any(axis=1))
        self._rows, self._weights, self._shifts = X[used], weights[used], shifts

    def _scores(self, Q: Rows) -> Floats:
        made = np.empty((len(Q), self._weights.shape[1]))
        for start in range(0, len(Q), _BATCH):
            some = slice(start, start + _BATCH)
            made[some] = self._kernel(Q[some], self._rows) @ self._weights + self._shifts
        return made

    def _kernel(self, A: Rows, B: Rows) -> Floats:
        """K of unit rows, where |u - v|^2 = 2 - 2 u.v."""
        products = A.astype(np.float64) @ B.astype(np.float64).T
        return np.exp(2 * float(self.gamma) * np.minimum(products - 1, 0), out=products)
