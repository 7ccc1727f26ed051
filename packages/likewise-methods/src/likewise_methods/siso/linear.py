"""Tags by a linear classifier in closed form: ridge regression of every tag, read as odds.

All tags share one matrix of products, so adding or removing a picture updates a few sums, and one
factorisation gives all weights.  For a tag that a share p of the n pictures has, with the summed
centred rows d of those that have it, scatter S and penalty k:

    w = (S + k I)^-1 d,   R = d'w / (n p (1 - p)),
    log odds of x = (x'w - middle) / (p (1 - p) (1 - R)) + log(p / (1 - p)).

This is Fisher's discriminant of the tag against all other pictures (docs/methods/siso.md, (21)):
ridge regression gives its direction, 1 - R turns the total scatter into the scatter within the
classes, and ``middle`` lies half way between the two class means.  Tags are independent of each
other, so a picture may have several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import check_is_fitted
from likewise_methods.siso.inputs import Annotator, Rows, as_rows, unit, unit_rows
from likewise_methods.validation import number, whole

if TYPE_CHECKING:
    pass

Floats = NDArray[np.float64]

# Pictures at a time: only these are copied to float64.
_BLOCK = 16384
# Least total variance: keeps the factorisation possible where all rows are equal.
_LEAST_VARIANCE = 1e-6
# Up to this share of the width, pictures left out correct the factor; more are summed again.
_FEW = 0.25


class Sums(NamedTuple):
    """Sums over pictures; those of two sets of pictures add up."""

    n: int
    rows: Floats
    products: Floats
    counts: Floats
    by_tag: Floats

    def plus(self, more: Sums, sign: int = 1) -> Sums:
        """Return these sums plus others, or minus them with a sign of -1."""
        return Sums(
            self.n + sign * more.n,
            self.rows + sign * more.rows,
            self.products + sign * more.products,
            self.counts + sign * more.counts,
            self.by_tag + sign * more.by_tag,
        )


class Solution(NamedTuple):
    """Factor L of S + k I, mean, and L^-1 d of each tag (a column each), d about that mean."""

    factor: Floats
    mean: Floats
    towards: Floats


class LinearAnnotator(Annotator):
    """Ridge regression of every tag on all tagged pictures, in any order, as log odds.

    Rows are scaled to unit length and not kept: ``remove`` and ``without`` take rows and tags
    again, and the result is that of a fit without them, up to rounding.  Both also take a sparse
    0/1 matrix over ``tags_`` where ``fit`` was given names.

    Parameters
    ----------
    penalty : float, default=2.0
        The ridge penalty, in units of the total variance of the rows; above 0.

    Attributes
    ----------
    tags_ : list
        Columns of ``predict_scores``.
    n_pictures_ : int
        Pictures learned.
    penalty_ : float
        The penalty in the scale of the rows.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    SparseAnnotator : names the pictures a tag comes from.
    MixedAnnotator : both scores in one.

    References
    ----------
    docs/methods/siso.md, (21).

    Examples
    --------
    >>> X = [[1.0, 0.0, 0.1], [0.9, 0.3, 0.0], [0.0, 1.0, 0.2]]
    >>> model = LinearAnnotator().fit(X, [["sea"], ["sea", "boat"], ["forest"]])
    >>> model.predict([[1.0, 0.1, 0.1]], k=1)
    [['sea']]
    """

    def __init__(self, penalty: float = 2.0) -> None:
        self.penalty = penalty

    def fit(self, X: Any, Y: Any) -> Self:
        """Forget all pictures, then learn these.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.

        Returns
        -------
        self
        """
        number(self.penalty, "penalty", above=0)
        found = as_rows(X)
        if not len(found):
            raise InvalidInput("X has no rows; at least one tagged picture expected")
        by_name, labels, names = self._first_tags(Y, len(found))
        sums = _sums(found, labels)
        self._by_name, self._names, self._sums = by_name, names, sums
        self._solution: Solution | None = None
        self.n_features_in_ = int(found.shape[1])
        return self

    def partial_fit(self, X: Any, Y: Any) -> Self:
        """Learn more pictures, perhaps with new tags.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y)
        found = as_rows(X, self.n_features_in_)
        if not len(found):
            return self
        labels, names = self._more_tags(Y, len(found), len(self._sums.counts))
        before = _widen(self._sums, labels.shape[1])
        more = _sums(found, labels)
        self._sums = before.plus(more)
        self._names, self._solution = names, None
        return self

    def remove(self, X: Any, Y: Any) -> Self:
        """Unlearn pictures; their tags stay known.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures, as they were given.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            Their tags, as they were given.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        found = as_rows(X, self.n_features_in_)
        labels, _ = self._more_tags(Y, len(found), len(self._sums.counts), new=False)
        self._sums, self._solution = self._less(found, labels), None
        return self

    @property
    def tags_(self) -> list[Any]:
        """Names of the tags, or their numbers, in the order of ``predict_scores``."""
        check_is_fitted(self)
        return list(self._names) if self._by_name else list(range(len(self._sums.counts)))

    @property
    def n_pictures_(self) -> int:
        """The number of pictures learned."""
        check_is_fitted(self)
        return self._sums.n

    @property
    def penalty_(self) -> float:
        """The penalty k in the scale of the rows."""
        check_is_fitted(self)
        n, rows, products = self._sums[:3]
        # For unit rows this is 1 minus the squared length of their mean.
        variance = np.trace(products) / n - (rows @ rows) / n**2 if n else 0.0
        return float(self.penalty) * max(float(variance), _LEAST_VARIANCE)

    def predict_scores(self, X: Any, without: tuple[Any, Any] | None = None) -> Floats:
        """Return log odds; minus infinity for a tag without pictures.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        without : (X, Y), optional
            Pictures to leave out of this call, as they were given to ``fit``.  The penalty stays
            that of all pictures.  Leaving out a few costs about as much as a prediction.

        Returns
        -------
        array of shape (q, tags)
        """
        check_is_fitted(self)
        number(self.penalty, "penalty", above=0)
        rows, _ = unit(as_rows(X, self.n_features_in_).astype(np.float64))
        queries = np.asarray(rows, np.float64)
        if without is None:
            if not self._sums.n:
                raise InvalidInput("no pictures are left; add some with partial_fit")
            solution, sums = self._current_solution(), self._sums
            here = _within(solution, queries)
            along = np.einsum("kt,kt->t", solution.towards, solution.towards)
            return _log_odds(here.T @ solution.towards, along, sums.n, sums.counts)
        out = _unit(as_rows(without[0], self.n_features_in_))
        labels, _ = self._more_tags(without[1], len(out), len(self._sums.counts), new=False)
        n, counts = self._sums.n - len(out), self._sums.counts - labels.sum(axis=0)
        _check_left(n, counts)
        if not n:
            raise InvalidInput("without names every picture there is; leave at least one")
        if len(out) <= _FEW * self.n_features_in_:
            return self._scores_without(queries, out, labels, n, counts)
        solution = _solve(self._less(out, labels), self.penalty_)
        along = np.einsum("kt,kt->t", solution.towards, solution.towards)
        return _log_odds(_within(solution, queries).T @ solution.towards, along, n, counts)

    def predict(self, X: Any, k: int = 5) -> Any:
        """Return the k tags with the highest odds, best first; ties by tag number.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        k : int, default=5
            Tags a query.

        Returns
        -------
        list of lists of names, or int array of shape (q, k)
            Names if ``fit`` was given names; numbers are padded with -1 where there are fewer than
            k tags.
        """
        k = whole(k, "k")
        return self._best_tags(self.predict_scores(X), k)

    def _scores_without(
        self, queries: Floats, out: Floats, labels: Any, n: int, counts: Floats
    ) -> Floats:
        """Return scores without some pictures, from the factor of all (Woodbury's identity).

        About the mean of all, the scatter of the others is S - B'B, where B has the rows left out
        and one more row: their sum over the square root of the number that stay.
        """
        whole_ = self._current_solution()
        gone = _within(whole_, out)
        shift = gone.sum(axis=1)
        B = np.hstack([gone, shift[:, None] / np.sqrt(n)])
        core = cholesky(np.eye(B.shape[1]) - B.T @ B, lower=True, check_finite=False)
        # Rows with a tag, summed about the mean of those that stay.
        towards = whole_.towards - np.asarray(labels.T @ gone.T).T
        towards += np.outer(shift / n, counts)
        here = _within(whole_, queries) + shift[:, None] / n
        a = solve_triangular(core, B.T @ towards, lower=True, check_finite=False)
        b = solve_triangular(core, B.T @ here, lower=True, check_finite=False)
        along = np.einsum("kt,kt->t", towards, towards) + np.einsum("kt,kt->t", a, a)
        return _log_odds(here.T @ towards + b.T @ a, along, n, counts)

    def _current_solution(self) -> Solution:
        if self._solution is None:
            self._solution = _solve(self._sums, self.penalty_)
        return self._solution

    def _less(self, X: Rows, labels: Any) -> Sums:
        """Return the sums without some pictures."""
        left = self._sums.plus(_widen(_sums(X, labels), len(self._sums.counts)), -1)
        _check_left(left.n, left.counts)
        if left.n:
            # Only rounding errors are left of a tag without pictures.
            left.by_tag[left.counts == 0] = 0.0
            return left
        return Sums(0, *(np.zeros_like(one) for one in left[1:]))


def _unit(X: Rows) -> Floats:
    return np.asarray(unit_rows(X.astype(np.float64), "X"), np.float64)


def _sums(X: Any, labels: Any) -> Sums:
    """Return the sums of rows (of any length) and a CSR matrix of tags."""
    width = X.shape[1]
    rows, products = np.zeros(width), np.zeros((width, width))
    by_tag = np.zeros((labels.shape[1], width))
    for start in range(0, len(X), _BLOCK):
        some = _unit(X[start : start + _BLOCK])
        rows += some.sum(axis=0)
        products += some.T @ some
        by_tag += labels[start : start + _BLOCK].T @ some
    counts = np.asarray(labels.sum(axis=0), np.float64).ravel()
    return Sums(len(X), rows, products, counts, by_tag)


def _check_left(n: int, counts: Floats) -> None:
    if n < 0 or (counts < 0).any():
        raise InvalidInput("more pictures with these tags are to be removed than were added")


def _widen(sums: Sums, tags: int) -> Sums:
    """Return the sums with columns for more tags, which have no pictures yet."""
    more = tags - len(sums.counts)
    if not more:
        return sums
    counts = np.concatenate([sums.counts, np.zeros(more)])
    by_tag = np.concatenate([sums.by_tag, np.zeros((more, sums.by_tag.shape[1]))])
    return sums._replace(counts=counts, by_tag=by_tag)


def _solve(sums: Sums, penalty: float) -> Solution:
    mean = sums.rows / sums.n
    scatter = sums.products - sums.n * np.outer(mean, mean)
    scatter[np.diag_indices(len(mean))] += penalty
    factor = cholesky(scatter, lower=True, overwrite_a=True, check_finite=False)
    centred = sums.by_tag - np.outer(sums.counts, mean)
    towards = solve_triangular(factor, centred.T, lower=True, check_finite=False)
    return Solution(factor, mean, np.ascontiguousarray(towards))


def _within(solution: Solution, X: Floats) -> Floats:
    """Return L^-1 (x - mean), a column for each row of X."""
    made: Floats = solve_triangular(
        solution.factor, (X - solution.mean).T, lower=True, check_finite=False
    )
    return made


def _log_odds(fitted: Floats, along: Floats, n: int, counts: Floats) -> Floats:
    """Turn x'w (queries, tags) and d'w of each tag into log odds.

    Half a picture is added on either side, so that a tag of all pictures keeps finite odds.
    """
    having = np.maximum(counts, 1)
    lacking = np.maximum(n - counts, 1)
    # n p (1 - p), and n p (1 - p) (1 - R), kept above zero against rounding.
    spread = counts * (n - counts) / n
    unexplained = np.maximum(spread - along, 1e-12 * np.maximum(spread, 1))
    scale = np.where(spread > 0, n / unexplained, 0.0)
    middle = along * (1 / having - 1 / lacking) / 2
    prior = np.log((counts + 0.5) / (n - counts + 0.5))
    odds = (fitted - middle) * scale + prior
    odds[:, counts == 0] = -np.inf
    return odds
