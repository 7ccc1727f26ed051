"""Two metrics that learn nothing from pairs: Euclidean distance and the inverse covariance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from likewise_methods.s3ml.metric import RIDGE, LearnedMetric, as_rows, covariance, inverse
from likewise_methods.s3ml.pairs import as_constraints
from likewise_methods.validation import number


class Euclidean(LearnedMetric):
    """Plain Euclidean distance: M = I.

    >>> Euclidean().fit([[0.0], [3.0], [4.0]]).distance([[1.0]], [[3.0]]).tolist()
    [[2.0]]
    """

    def fit(self, X: Any, y: Any = None, same: Any = None) -> Self:
        """Store the width; with ``y`` also the median distance of its pairs."""
        rows = as_rows(self, X, reset=True)
        said = None if y is None else as_constraints(y, same, len(rows))
        return self._keep_metric(rows, said, np.eye(rows.shape[1]))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class Mahalanobis(Euclidean):
    """M = (Cov + ridge)^-1 of the rows; ``ridge`` is a share of Cov's mean diagonal.

    >>> X = [[0.0, 0.0], [2.0, 0.0], [0.0, 20.0], [2.0, 20.0]]
    >>> d = Mahalanobis(ridge=0).fit(X).distance(X[:1], X)
    >>> bool(np.isclose(d[0, 1], d[0, 2]))
    True
    """

    def __init__(self, ridge: float = RIDGE) -> None:
        self.ridge = ridge

    def fit(self, X: Any, y: Any = None, same: Any = None) -> Self:
        """Invert the covariance of the rows; ``y`` is for ``middle_`` only."""
        rows = as_rows(self, X, reset=True)
        said = None if y is None else as_constraints(y, same, len(rows))
        ridge = number(self.ridge, "ridge", least=0)
        return self._keep_metric(rows, said, inverse(covariance(rows, ridge)))
