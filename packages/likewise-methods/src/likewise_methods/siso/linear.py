"""Tags by a linear machine in closed form: ridge regression of every tag, read as odds.

All tags share one matrix of products, so that a picture more or less is a handful of sums and the
weights follow from one factorisation, n by n never.  For a tag that a share p of the n pictures
has, with the summed centred rows d of those that have it, scatter S and penalty k:

    w = (S + k I)^-1 d,   R = d'w / (n p (1 - p)),
    log odds of x = (x'w - middle) / (p (1 - p) (1 - R)) + log(p / (1 - p)).

That is Fisher's discriminant of the tag against all other pictures (docs/methods/siso.md, (21)):
ridge regression gives its direction, 1 - R turns the scatter of all into the scatter within, and
the middle lies half way between the means of both sides.  Tags are taken one at a time, so a
picture may have several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Estimator, check_is_fitted
from likewise_methods.siso.inputs import (
    Rows,
    as_list,
    as_rows,
    from_matrix,
    from_names,
    is_names,
    unit,
    unit_rows,
)
from likewise_methods.validation import number, whole

if TYPE_CHECKING:
    from sklearn.utils import Tags

Floats = NDArray[np.float64]

# Pictures at a time, so that only their float64 copy is made.
_BLOCK = 16384
# Of the total variance; keeps the factorisation possible where all rows are equal.
_LEAST_VARIANCE = 1e-6
# Leaving so few pictures out (a share of the width) corrects the factor; more are summed anew.
_FEW = 0.25


class Sums(NamedTuple):
    """What the machine knows of its pictures; sums of two sets of pictures add up."""

    n: int
    rows: Floats
    products: Floats
    counts: Floats
    by_tag: Floats

    def plus(self, more: Sums, sign: int = 1) -> Sums:
        """These and others; with a sign of -1, these less others."""
        return Sums(
            self.n + sign * more.n,
            self.rows + sign * more.rows,
            self.products + sign * more.products,
            self.counts + sign * more.counts,
            self.by_tag + sign * more.by_tag,
        )


class Solution(NamedTuple):
    """Factor L of S + k I, mean, and L^-1 d for each tag (a column each), d about that mean."""

    factor: Floats
    mean: Floats
    towards: Floats


class LinearAnnotator(Estimator):
    """Ridge regression of every tag on all tagged pictures, as log odds; exact in any order.

    Rows are scaled to unit length inside and not kept: ``remove`` and ``without`` take rows and
    tags again, and what is left is what a fit of the others gives, up to rounding.  Either also
    takes a sparse 0/1 matrix over ``tags_`` where ``fit`` was given names.

    Parameters
    ----------
    penalty : float, default=2.0
        Of the ridge, in units of the total variance of the rows; above 0.

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
    MixedAnnotator : both opinions in one score.

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

    # -- pictures come and go ---------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> Self:
        """Forget, then learn these pictures.

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
        Y = as_list(Y)
        by_name = is_names(Y)
        names: list[str] = []
        if by_name:
            labels, names = from_names(Y, len(found), [])
        else:
            labels = from_matrix(Y, len(found))
        if not labels.nnz:
            raise InvalidInput("there are no tags in Y; at least one picture must have one")
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
        labels, names = self._labels(Y, len(found), new=True)
        before = _widened(self._sums, labels.shape[1])
        more = _sums(found, labels)
        self._sums = before.plus(more)
        self._names, self._solution = names, None
        return self

    def remove(self, X: Any, Y: Any) -> Self:
        """Unlearn pictures.  Tags stay known.

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
        labels, _ = self._labels(Y, len(found), new=False)
        self._sums, self._solution = self._less(found, labels), None
        return self

    @property
    def tags_(self) -> list[Any]:
        """Names of the tags, or their numbers, in the order of ``predict_scores``."""
        check_is_fitted(self)
        return list(self._names) if self._by_name else list(range(len(self._sums.counts)))

    @property
    def n_pictures_(self) -> int:
        """How many pictures were learned."""
        check_is_fitted(self)
        return self._sums.n

    @property
    def penalty_(self) -> float:
        """The ridge's penalty in the scale of the rows, the k above."""
        check_is_fitted(self)
        n, rows, products = self._sums[:3]
        # About the mean; of unit rows, one less the squared length of their mean.
        variance = np.trace(products) / n - (rows @ rows) / n**2 if n else 0.0
        return float(self.penalty) * max(float(variance), _LEAST_VARIANCE)

    # -- scores -----------------------------------------------------------------------------

    def predict_scores(self, X: Any, without: tuple[Any, Any] | None = None) -> Floats:
        """Log odds; minus infinity for a tag that no picture has (any more).

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        without : (X, Y), optional
            Pictures that are left out for this call, as they were given to ``fit``.  The penalty
            stays that of all pictures.  Leaving a few out corrects the factor of all, so each
            picture can be asked about without itself for the price of a prediction.

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
            solution, sums = self._solved(), self._sums
            here = _within(solution, queries)
            along = np.einsum("kt,kt->t", solution.towards, solution.towards)
            return _log_odds(here.T @ solution.towards, along, sums.n, sums.counts)
        out = _unit(as_rows(without[0], self.n_features_in_))
        labels, _ = self._labels(without[1], len(out), new=False)
        n, counts = self._sums.n - len(out), self._sums.counts - labels.sum(axis=0)
        _check_left(n, counts)
        if not n:
            raise InvalidInput("without names every picture there is; leave at least one")
        if len(out) <= _FEW * self.n_features_in_:
            return self._corrected(queries, out, labels, n, counts)
        solution = _solve(self._less(out, labels), self.penalty_)
        along = np.einsum("kt,kt->t", solution.towards, solution.towards)
        return _log_odds(_within(solution, queries).T @ solution.towards, along, n, counts)

    def predict(self, X: Any, k: int = 5) -> Any:
        """The k tags with the highest odds, best first, equal ones by number of the tag.

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
        scores = self.predict_scores(X)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        if self._by_name:
            return [[self._names[i] for i in row] for row in best.tolist()]
        made = np.full((len(scores), k), -1, np.int64)
        made[:, : best.shape[1]] = best
        return made

    # -- inside -----------------------------------------------------------------------------

    def _corrected(
        self, queries: Floats, out: Floats, labels: Any, n: int, counts: Floats
    ) -> Floats:
        """Scores without some pictures, from the factor of all (Woodbury's identity).

        About the mean of all, the scatter of the others is S - B'B, where B are the rows left out
        and one more: their sum over the root of how many stay.
        """
        whole_ = self._solved()
        gone = _within(whole_, out)
        shift = gone.sum(axis=1)
        B = np.hstack([gone, shift[:, None] / np.sqrt(n)])
        core = cholesky(np.eye(B.shape[1]) - B.T @ B, lower=True, check_finite=False)
        # Rows that have a tag, summed about the mean of those that stay.
        towards = whole_.towards - np.asarray(labels.T @ gone.T).T
        towards += np.outer(shift / n, counts)
        here = _within(whole_, queries) + shift[:, None] / n
        a = solve_triangular(core, B.T @ towards, lower=True, check_finite=False)
        b = solve_triangular(core, B.T @ here, lower=True, check_finite=False)
        along = np.einsum("kt,kt->t", towards, towards) + np.einsum("kt,kt->t", a, a)
        return _log_odds(here.T @ towards + b.T @ a, along, n, counts)

    def _solved(self) -> Solution:
        if self._solution is None:
            self._solution = _solve(self._sums, self.penalty_)
        return self._solution

    def _less(self, X: Rows, labels: Any) -> Sums:
        """The sums without some pictures."""
        left = self._sums.plus(_widened(_sums(X, labels), len(self._sums.counts)), -1)
        _check_left(left.n, left.counts)
        if left.n:
            # Nothing but rounding is left of a tag without pictures.
            left.by_tag[left.counts == 0] = 0.0
            return left
        return Sums(0, *(np.zeros_like(one) for one in left[1:]))

    def _labels(self, Y: Any, n: int, new: bool) -> tuple[Any, list[str]]:
        known = len(self._sums.counts)
        if sp.issparse(Y) and self._by_name and not new:
            labels = from_matrix(Y, n)
            if labels.shape[1] != known:
                raise InvalidInput(f"Y has {labels.shape[1]} columns; {known} expected, one a tag")
            return labels, self._names
        Y = as_list(Y)
        by_name = is_names(Y)
        if by_name != self._by_name and n:
            kinds = ("a matrix", "names")
            raise InvalidInput(
                f"Y is {kinds[by_name]}, but fit was given {kinds[self._by_name]}; stay with one"
            )
        if self._by_name:
            labels, names = from_names(Y, n, self._names)
            if not new and len(names) > known:
                raise InvalidInput(f"no picture has the tag {names[known]!r}")
            return labels, names
        labels = from_matrix(Y, n)
        if labels.shape[1] < known or (not new and labels.shape[1] > known):
            raise InvalidInput(f"Y has {labels.shape[1]} columns; {known} expected, one a tag")
        return labels, []

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        tags.input_tags.sparse = True
        return tags


def _unit(X: Rows) -> Floats:
    return np.asarray(unit_rows(X.astype(np.float64), "X"), np.float64)


def _sums(X: Any, labels: Any) -> Sums:
    """Of pictures given as rows (of any length) and a CSR matrix of tags."""
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
        raise InvalidInput("more pictures with these tags are to go than were ever given")


def _widened(sums: Sums, tags: int) -> Sums:
    """The same with more tags, of which there are no pictures yet."""
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
    """L^-1 (x - mean), a column a row of X."""
    made: Floats = solve_triangular(
        solution.factor, (X - solution.mean).T, lower=True, check_finite=False
    )
    return made


def _log_odds(fitted: Floats, along: Floats, n: int, counts: Floats) -> Floats:
    """From x'w (queries, tags) and d'w of each tag to log odds.

    Half a picture is added on either side, so that a tag that all have is not beyond all doubt.
    """
    having = np.maximum(counts, 1)
    lacking = np.maximum(n - counts, 1)
    # n p (1 - p), and what of it the regression leaves: p (1 - p) (1 - R) times n, above zero but
    # for rounding.
    spread = counts * (n - counts) / n
    unexplained = np.maximum(spread - along, 1e-12 * np.maximum(spread, 1))
    scale = np.where(spread > 0, n / unexplained, 0.0)
    middle = along * (1 / having - 1 / lacking) / 2
    prior = np.log((counts + 0.5) / (n - counts + 0.5))
    odds = (fitted - middle) * scale + prior
    odds[:, counts == 0] = -np.inf
    return odds
