"""The methods of every learned metric: ``transform``, ``distance`` and ``score``.

d(a, b)^2 = (a - b)' M (a - b) with M = L'L.  ``components_`` is L and ``transform`` returns X L',
so plain Euclidean search over transformed rows ranks by the metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.pairs import Constraints, as_constraints

Floats = NDArray[np.float64]
# Added to the diagonal of a covariance, as a share of its mean diagonal.
RIDGE = 1e-3
# Numbers in a chunk of differences between rows: 16 MiB.
_CHUNK = 2**21


class LearnedMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A Mahalanobis metric: ``metric_`` (m, m), ``components_``, and what follows from them.

    ``middle_`` is the median distance between the pairs learned from (NaN without pairs).
    """

    metric_: Floats
    components_: Floats
    middle_: float
    n_features_in_: int

    def _keep_metric(self, X: Any, said: Constraints | None, M: Floats) -> Self:
        """Store a positive definite metric and what is derived from it."""
        self.metric_ = (M + M.T) / 2
        self.components_ = cholesky(self.metric_)
        self._n_features_out = len(self.components_)
        first, second, _ = (np.empty(0, int),) * 3 if said is None else said.list_pairs()
        away = self._lengths(X, first, second)
        self.middle_ = float(np.median(away)) if len(away) else float("nan")
        return self

    def transform(self, X: Any) -> Floats:
        """Return X L': rows whose Euclidean distances are the learned ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            Rows.

        Returns
        -------
        array of shape (n, columns)
        """
        check_is_fitted(self)
        return np.asarray(as_rows(self, X, reset=False) @ self.components_.T)

    def distance(self, A: Any, B: Any = None) -> Floats:
        """Return learned distances between the rows of A and those of B.

        Parameters
        ----------
        A : array or sparse matrix of shape (n, columns)
            Rows.
        B : array or sparse matrix of shape (m, columns), optional
            Rows; those of A by default.

        Returns
        -------
        array of shape (n, m)
        """
        a = self.transform(A)
        return np.asarray(cdist(a, a if B is None else self.transform(B)))

    def score(self, X: Any, y: Any, same: Any = None) -> float:
        """Return the share of pairs on the right side of the median training distance.

        Similar pairs belong below ``middle_`` (or at it), dissimilar ones above; a metric learned
        without pairs uses the median of the pairs given here.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            Rows.
        y : int array of shape (n,), or int array of shape (m, 2)
            Labels, or pairs with ``same``, as in ``fit``.
        same : bool array of shape (m,), optional
            Whether each pair is alike.

        Returns
        -------
        float
            Between 0 and 1.
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        first, second, alike = as_constraints(y, same, len(rows)).list_pairs()
        if not len(first):
            raise InvalidInput("there is no pair to score; give pairs, or two labelled rows")
        away = self._lengths(rows, first, second)
        middle = float(np.median(away)) if np.isnan(self.middle_) else self.middle_
        return float(np.mean((away <= middle) == alike))

    def _lengths(self, X: Any, first: Any, second: Any) -> Floats:
        """Return the learned distance of each pair of rows; each row is mapped once."""
        used, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        # Relative to the first row: far from the origin differences would be lost to rounding.
        middle = np.asarray(X[used[:1]], np.float64)
        mapped = (np.asarray(X[used], np.float64) - middle) @ self.components_.T
        place = place.reshape(2, -1)
        away = np.empty(len(first))
        for some in pair_chunks(len(first), mapped.shape[1]):
            away[some] = np.linalg.norm(mapped[place[0, some]] - mapped[place[1, some]], axis=1)
        return away

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Sparse rows are made dense, as scatter matrices are dense anyway.
        tags.input_tags.sparse = True
        return tags


def pair_chunks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n pairs whose differences take little memory."""
    size = max(_CHUNK // max(width, 1), 1)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def as_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as finite float32 or float64 rows; ``reset`` stores its width, else compares it."""
    try:
        if hasattr(X, "toarray"):
            X = X.toarray()
        X = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    check_finite(X)
    return X


def check_finite(X: Any) -> None:
    """Refuse NaN and infinity; name the place of the first."""
    # A finite sum suffices; otherwise search for the first bad entry.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return
    rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(rows):
        column = int(np.flatnonzero(~np.isfinite(X[rows[0]]))[0])
        what = "NaN" if np.isnan(X[rows[0], column]) else "infinity"
        raise InvalidInput(
            f"X has {what} in row {rows[0]}, column {column} ({len(rows)} rows have NaN or "
            "infinity); drop these rows or fill the values in"
        )


def variances(X: Any) -> Floats:
    """Return the variance of each feature, copying some rows at a time to float64."""
    total = np.zeros(X.shape[1])
    for part in _centred_parts(X):
        total += np.square(part).sum(axis=0)
    return total / len(X)


def _centred_parts(X: Any) -> Iterator[Floats]:
    mean = X.mean(axis=0, dtype=np.float64)
    for some in pair_chunks(len(X), X.shape[1]):
        yield np.asarray(X[some], np.float64) - mean


def covariance(X: Any, ridge: float) -> Floats:
    """Return Cov + ridge times its mean diagonal, so that constant features leave it regular."""
    m = X.shape[1]
    cov = np.zeros((m, m))
    for part in _centred_parts(X):
        cov += part.T @ part
    cov /= max(len(X) - 1, 1)
    size = float(np.trace(cov)) / m
    if size <= 0:
        return np.eye(m)
    # A constant feature needs a little even without a ridge.
    return np.asarray(cov + np.eye(m) * size * max(ridge, 1e-12))


def inverse(S: Floats) -> Floats:
    """Return the inverse of a positive definite matrix, exactly symmetric."""
    M = cho_solve(cho_factor(S), np.eye(len(S)))
    return np.asarray((M + M.T) / 2)
