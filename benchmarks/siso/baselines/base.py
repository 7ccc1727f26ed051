"""What all baselines share: the doors for pictures and tags, and the best tags from scores.

A baseline says two things of its own: ``_learn`` (unit rows, CSR tags) and ``_scores`` (unit
queries).  Rows are scaled to unit length first, as SISO does, so that all see the same data.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
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
from likewise_methods.validation import whole

if TYPE_CHECKING:
    from sklearn.utils import Tags

Floats = NDArray[np.float64]

_HERE = str(Path(__file__).parent)


class Baseline(Estimator):
    """``fit(X, Y)``, ``predict_scores(X)`` and ``predict(X, k)``, as ``SparseAnnotator`` has them.

    After ``fit``: ``tags_`` (columns of ``predict_scores``) and ``n_features_in_``.
    """

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from tagged pictures.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures; scaled to unit length inside.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.

        Returns
        -------
        self
        """
        self._check()
        rows, labels = self._check_tagged(X, Y)
        self._learn(rows, labels)
        return self

    def predict_scores(self, X: Any) -> Floats:
        """Scores, higher is better; zeros, and a warning, for a query of zeros.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.

        Returns
        -------
        array of shape (q, tags)
        """
        check_is_fitted(self)
        self._check()
        rows, said = unit(as_rows(X, self.n_features_in_))
        made = np.zeros((len(rows), len(self.tags_)))
        if not said.all():
            empty = np.flatnonzero(~said)
            warn(
                f"query {int(empty[0])} is all zeros ({len(empty)} such queries): scores of zero",
            )
        if said.any():
            made[said] = self._scores(rows[said])
        return made

    def predict(self, X: Any, k: int = 5) -> Any:
        """The k tags with the highest scores, best first, equal scores by number of the tag.

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
            k tags.  A query of zeros gets no tags.
        """
        k = whole(k, "k")
        scores = self.predict_scores(X)
        _, said = unit(as_rows(X, self.n_features_in_))
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        if self._by_name:
            pairs = zip(best.tolist(), said.tolist(), strict=True)
            return [[self.tags_[i] for i in row] if some else [] for row, some in pairs]
        made = np.full((len(scores), k), -1, np.int64)
        made[:, : best.shape[1]] = best
        made[~said] = -1
        return made

    # -- what a baseline says ---------------------------------------------------------------

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        raise NotImplementedError

    def _learn(self, X: Rows, labels: Any) -> None:
        """Learn from unit rows and their tags (CSR, pictures by tags)."""
        raise NotImplementedError

    def _scores(self, Q: Rows) -> Floats:
        """Scores of unit rows."""
        raise NotImplementedError

    # -- inside -----------------------------------------------------------------------------

    def _check_tagged(self, X: Any, Y: Any) -> tuple[Rows, Any]:
        found = as_rows(X)
        if not len(found):
            raise InvalidInput("X has no rows; at least one tagged picture expected")
        rows = unit_rows(found, "X")
        Y = as_list(Y)
        names: list[str] = []
        by_name = is_names(Y)
        if by_name:
            labels, names = from_names(Y, len(rows), [])
        else:
            labels = from_matrix(Y, len(rows))
        if not labels.nnz:
            raise InvalidInput("there are no tags in Y; at least one picture must have one")
        self._by_name = by_name
        self.tags_: list[Any] = names if by_name else list(range(labels.shape[1]))
        self.n_features_in_ = int(rows.shape[1])
        return rows, labels

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


def warn(message: str) -> None:
    """A warning that names the first line outside this folder, whichever method was called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
