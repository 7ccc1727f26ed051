"""Tagging by sparse reconstruction and a linear machine over the same rows, kept in step.

The reconstruction names the pictures a tag comes from; the linear machine sees what all pictures
have in common.  :mod:`~likewise_methods.siso.mixing` makes one score of both.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.estimators import Estimator, check_is_fitted
from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.linear import LinearAnnotator
from likewise_methods.siso.mixing import mixed_shares
from likewise_methods.siso.tags import as_list
from likewise_methods.validation import number, whole

Floats = NDArray[np.float64]


class Opinions(NamedTuple):
    """What both say of some queries: coefficients over ``ids_``, shares and odds over ``tags_``.

    ``odds`` is None where rows are too wide for a linear machine.
    """

    codes: Any
    shares: Floats
    odds: Floats | None


class MixedAnnotator(Estimator):
    """``SparseAnnotator`` and ``LinearAnnotator`` together; pictures come and go in both.

    Parameters
    ----------
    alpha : float, default=0.05
        That of the reconstruction.
    penalty : float, default=2.0
        That of the linear machine.
    mix : float, default=0.5
        The weight of the linear machine, from 0 (none) to 1.
    widest : int, default=512
        Wider rows have no linear machine, as an update costs the square of the width for each tag:
        the mix is 0 then.

    Attributes
    ----------
    sparse_ : SparseAnnotator
        The reconstruction.
    linear_ : LinearAnnotator or None
        The linear machine; None where rows are too wide.
    ids_ : array
        Ids of the pictures held.
    tags_ : list
        Columns of ``predict_scores``.

    See Also
    --------
    SparseAnnotator : the one half.
    LinearAnnotator : the other.

    References
    ----------
    docs/methods/siso.md, (22).

    Examples
    --------
    >>> X = [[1.0, 0.0, 0.1], [0.9, 0.3, 0.0], [0.0, 1.0, 0.2]]
    >>> model = MixedAnnotator().fit(X, [["sea"], ["sea", "boat"], ["forest"]])
    >>> model.predict_scores([[1.0, 0.1, 0.1]]).argmax(axis=1).tolist()
    [0]
    """

    def __init__(
        self, alpha: float = 0.05, penalty: float = 2.0, mix: float = 0.5, widest: int = 512
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.mix = mix
        self.widest = widest

    def fit(self, X: Any, Y: Any, ids: Any = None) -> Self:
        """Forget, then hold these pictures.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.
        ids : sequence of n ids, optional
            Numbered from 0 by default.

        Returns
        -------
        self
        """
        number(self.mix, "mix", least=0, most=1)
        whole(self.widest, "widest")
        Y = as_list(Y)
        sparse = SparseAnnotator(alpha=self.alpha, nonnegative=True).fit(X, Y, ids)
        narrow = sparse.n_features_in_ <= self.widest
        linear = LinearAnnotator(self.penalty).fit(X, Y) if narrow else None
        self.sparse_, self.linear_ = sparse, linear
        return self

    def partial_fit(self, X: Any, Y: Any, ids: Any = None) -> Self:
        """Hold more pictures, perhaps with new tags.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.
        ids : sequence of n ids, optional
            Numbered on by default.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y, ids)
        Y = as_list(Y)
        # The first refuses what both would refuse, and has then changed nothing.
        self.sparse_.partial_fit(X, Y, ids)
        if self.linear_ is not None:
            self.linear_.partial_fit(X, Y)
        return self

    def remove(self, ids: Any) -> Self:
        """Let go of the pictures with these ids (one, or several); tags stay known."""
        check_is_fitted(self)
        if self.linear_ is not None:
            self.linear_.remove(*self.sparse_.tagged(ids))
        self.sparse_.remove(ids)
        return self

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the pictures held, in the order of the coefficients."""
        check_is_fitted(self)
        return self.sparse_.ids_

    @property
    def tags_(self) -> list[Any]:
        """Names of the tags, or their numbers, in the order of ``predict_scores``."""
        check_is_fitted(self)
        return self.sparse_.tags_

    def opinions(self, X: Any, without: Any = None) -> Opinions:
        """What each of the two says; pictures of ``without`` (ids) take no part."""
        check_is_fitted(self)
        codes, shares = self.sparse_.codes_and_scores(X, without)
        if self.linear_ is None:
            return Opinions(codes, shares, None)
        out = None if without is None else self.sparse_.tagged(without)
        return Opinions(codes, shares, self.linear_.predict_scores(X, out))

    def predict_scores(self, X: Any, without: Any = None) -> Floats:
        """Scores of both, as shares.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        without : sequence of ids, optional
            Pictures that take no part.

        Returns
        -------
        array of shape (q, tags)
        """
        _, shares, odds = self.opinions(X, without)
        return mixed_shares(shares, odds, self.mix)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "sparse_")
