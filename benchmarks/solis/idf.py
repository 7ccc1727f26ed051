"""Weights from document frequencies: the baseline that learners are compared with."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import check_is_fitted
from likewise_methods.solis.base import WeightedSimilarity
from likewise_methods.solis.rows import Floats, as_rows, as_triplets


class IdfWeights(WeightedSimilarity):
    """w_j = idf_j ^ power, idf_j = log(N / df_j), counted on X; words never seen weigh 0.

    The baseline that every learner has to beat; triplets are checked and not used.

    Parameters
    ----------
    power : int, default=2
        0 weighs all words alike: the cosine of unit rows, and TF-IDF where the rows are TF-IDF
        rows.  2 turns plain frequencies into TF-IDF similarity, and over TF-IDF rows is the
        "idf squared" baseline, which is strong.

    Attributes
    ----------
    weights_ : array of shape (words,)
        The weights, float64.
    df_ : array of shape (words,)
        Pictures that have a word.
    n_pictures_ : int
        Pictures counted.
    changed_ : float
        Share of words that do not weigh 1, as in plain similarity.

    See Also
    --------
    SOLIS : learns the weights.
    likewise_methods.coding.BagOfWords : makes TF-IDF rows.

    References
    ----------
    TF-IDF rows: docs/methods/solis.md, (15).

    Examples
    --------
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1]])
    >>> IdfWeights(power=2).fit(X).weights_.round(3).tolist()
    [0.0, 0.48, 0.48]
    """

    df_: NDArray[np.int64]
    n_pictures_: int

    def __init__(self, power: int = 2) -> None:
        self.power = power

    def fit(self, X: Any, triplets: Any = None, sample_weight: Any = None) -> Self:
        """Count anew.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            Rows of pictures.
        triplets : int array of shape (m, 3), optional
            Checked and not used.
        sample_weight : array of shape (m,), optional
            Not used.

        Returns
        -------
        self
        """
        return self._count(X, triplets, anew=True)

    def partial_fit(self, X: Any, triplets: Any = None, sample_weight: Any = None) -> Self:
        """Count more pictures.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            Rows of pictures.
        triplets : int array of shape (m, 3), optional
            Checked and not used.
        sample_weight : array of shape (m,), optional
            Not used.

        Returns
        -------
        self
        """
        return self._count(X, triplets, anew=not hasattr(self, "df_"))

    def _count(self, X: Any, triplets: Any, *, anew: bool) -> Self:
        if isinstance(self.power, bool) or self.power not in (0, 1, 2):
            raise InvalidInput(f"power is {self.power!r}; 0, 1 or 2 expected")
        rows = as_rows(X, None if anew else self.n_features_in_)
        n = len(rows.ends) - 1
        if triplets is not None:
            as_triplets(triplets, n)
        df = np.bincount(rows.words, minlength=rows.width)
        self.df_ = df if anew else self.df_ + df
        self.n_pictures_ = n if anew else self.n_pictures_ + n
        self.scales_: dict[str, float] = {}
        self.n_features_in_ = rows.width
        return self

    @property
    def weights_(self) -> Floats:
        """float64, one per word."""
        check_is_fitted(self)
        seen = self.df_ > 0
        out = np.zeros(len(self.df_))
        out[seen] = np.log(self.n_pictures_ / self.df_[seen]) ** self.power
        return out

    def _start_weight(self) -> float:
        return 1.0
