"""What every learned metric offers: ``transform``, ``distance``, ``score``; and the two plain ones.

d(a, b)^2 = (a - b)' M (a - b) with M = L'L; ``components_`` is L and ``transform`` gives X L', so
that plain Euclidean search over transformed rows ranks by the metric.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.errors import InvalidInput
from likewise.metric.pairs import Constraints, as_constraints

Floats = NDArray[np.float64]
# What a covariance gets on its diagonal, as a share of its mean diagonal.
RIDGE = 1e-3


class LearnedMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A Mahalanobis metric: ``metric_`` (m, m), ``components_``, and what follows from them.

    ``middle_`` is the median distance between the pairs learned from (NaN where there were none).
    """

    metric_: Floats
    components_: Floats
    middle_: float
    n_features_in_: int

    def _learned(self, X: Any, said: Constraints | None, M: Floats) -> Self:
        """Keep a positive definite metric and what is derived from it."""
        self.metric_ = (M + M.T) / 2
        self.components_ = cholesky(self.metric_)
        self._n_features_out = len(self.components_)
        first, second, _ = (np.empty(0, int),) * 3 if said is None else said.listed()
        away = self._lengths(X, first, second)
        self.middle_ = float(np.median(away)) if len(away) else float("nan")
        return self

    def transform(self, X: Any) -> Floats:
        """X L': rows whose plain Euclidean distances are the learned ones."""
        check_is_fitted(self)
        return np.asarray(as_rows(self, X, reset=False) @ self.components_.T)

    def distance(self, A: Any, B: Any = None) -> Floats:
        """Learned distances between the rows of A and those of B (or of A): (len A, len B)."""
        a = self.transform(A)
        return np.asarray(cdist(a, a if B is None else self.transform(B)))

    def score(self, X: Any, y: Any, same: Any = None) -> float:
        """Share of the pairs on the right side of the median training distance.

        Similar pairs belong below ``middle_`` (or at it), dissimilar ones above.  ``y`` and
        ``same`` as in ``fit``; without pairs to learn from the middle is that of the pairs here.
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        first, second, alike = as_constraints(y, same, len(rows)).listed()
        if not len(first):
            raise InvalidInput("there is no pair to score; give pairs, or two labelled rows")
        away = self._lengths(rows, first, second)
        middle = float(np.median(away)) if np.isnan(self.middle_) else self.middle_
        return float(np.mean((away <= middle) == alike))

    def _lengths(self, X: Any, first: Any, second: Any) -> Floats:
        """Learned distance of each pair of rows."""
        difference = np.asarray(X[first], np.float64) - np.asarray(X[second], np.float64)
        return np.asarray(np.linalg.norm(difference @ self.components_.T, axis=1))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Made dense at the door: the scatter matrices are dense whatever the rows are.
        tags.input_tags.sparse = True
        return tags


class Euclidean(LearnedMetric):
    """The metric that learns nothing: M = I.

    >>> Euclidean().fit([[0.0], [3.0], [4.0]]).distance([[1.0]], [[3.0]]).tolist()
    [[2.0]]
    """

    def fit(self, X: Any, y: Any = None, same: Any = None) -> Self:
        """Take the width; with ``y`` also the middle of its pairs."""
        rows = as_rows(self, X, reset=True)
        said = None if y is None else as_constraints(y, same, len(rows))
        return self._learned(rows, said, np.eye(rows.shape[1]))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class Mahalanobis(Euclidean):
    """M = (Cov + ridge)^-1 of the rows, labels unused; ``ridge`` as a share of Cov's mean diagonal.

    >>> X = [[0.0, 0.0], [2.0, 0.0], [0.0, 20.0], [2.0, 20.0]]
    >>> d = Mahalanobis(ridge=0).fit(X).distance(X[:1], X)
    >>> bool(np.isclose(d[0, 1], d[0, 2]))
    True
    """

    def __init__(self, ridge: float = RIDGE) -> None:
        self.ridge = ridge

    def fit(self, X: Any, y: Any = None, same: Any = None) -> Self:
        """Invert the covariance of the rows."""
        rows = as_rows(self, X, reset=True)
        said = None if y is None else as_constraints(y, same, len(rows))
        return self._learned(rows, said, inverse(covariance(rows, at_least(self, "ridge", 0))))


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as finite numbers, float32 kept as such; ``reset`` takes its width, else compares it."""
    try:
        if hasattr(X, "toarray"):
            X = X.toarray()
        return validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32])
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def at_least(estimator: Any, name: str, least: float, *, open_end: bool = False) -> float:
    """A parameter as a finite number of at least (or above) ``least``."""
    value = getattr(estimator, name)
    sound = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not sound or not np.isfinite(value) or value < least or (open_end and value == least):
        bound = f"above {least}" if open_end else f"of at least {least}"
        raise InvalidInput(f"{name} is {value!r}; a finite number {bound} expected")
    return float(value)


def covariance(X: Any, ridge: float) -> Floats:
    """Cov + ridge times its mean diagonal, so that constant features do not make it singular."""
    m = X.shape[1]
    centred = np.asarray(X, np.float64) - X.mean(axis=0, dtype=np.float64)
    cov = centred.T @ centred / max(len(X) - 1, 1)
    size = float(np.trace(cov)) / m
    if size <= 0:
        return np.eye(m)
    # Without a ridge a constant feature still needs something to be divided by.
    return np.asarray(cov + np.eye(m) * size * max(ridge, 1e-12))


def inverse(S: Floats) -> Floats:
    """The inverse of a positive definite matrix, symmetric to the bit."""
    M = cho_solve(cho_factor(S), np.eye(len(S)))
    return np.asarray((M + M.T) / 2)
