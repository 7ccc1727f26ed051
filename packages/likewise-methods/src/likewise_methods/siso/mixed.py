"""Tagging by sparse reconstruction and a linear classifier over the same rows.

The reconstruction names the pictures a tag comes from; the linear classifier uses what all pictures
have in common.  A share s in [0, 1] of a reconstruction has the odds log((s + e) / (1 - s + e))
with e = 0.1, so no share rules a tag out.  Both are mixed as odds (docs/methods/siso.md, (22)) and
read as a share again; a mix of 0 gives the shares themselves.  :class:`MixChoice` chooses the mix
by left-out pictures whose tags are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from likewise_methods.estimators import Estimator, check_is_fitted
from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.inputs import as_list
from likewise_methods.siso.linear import LinearAnnotator
from likewise_methods.validation import number, whole

Floats = NDArray[np.float64]

MIXES = tuple(i / 8 for i in range(9))
"""The weights of the linear classifier that :class:`MixChoice` tries."""
_DOUBT = 0.1
# Each mix is judged at its best sharpness among these.
_STEPS = 2
_SHARPNESS = 2.0 ** (np.arange(-3, 4) + np.arange(_STEPS)[:, None] / _STEPS)
# How much better in log likelihood one score alone must be than a mix of one half, so that a few
# pictures cannot move the mix to an end.
_CAUTION = 2.0


def mixed_odds(shares: Floats, odds: Floats, mix: float) -> Floats:
    """Return the log odds of both scores; ``mix`` is the weight of ``odds``."""
    s = np.clip(shares, 0.0, 1.0)
    own = np.log(s + _DOUBT) - np.log(1 - s + _DOUBT)
    # Avoid 0 * infinity: a tag without pictures is impossible only where the odds count.
    return own if mix == 0 else (1 - mix) * own + mix * odds


def mixed_shares(shares: Floats, odds: Floats | None, mix: float) -> Floats:
    """Mix shares with log odds and return shares.

    Values are at most 1; they fall below 0 (to -0.1) for a tag with no share and negative odds.

    Parameters
    ----------
    shares : array
        Shares of the reconstruction.
    odds : array of the same shape, or None
        Log odds of the linear classifier; None leaves the shares unchanged.
    mix : float
        The weight of ``odds``, from 0 to 1.

    Returns
    -------
    array of the same shape

    See Also
    --------
    MixChoice : chooses the mix.

    References
    ----------
    docs/methods/siso.md, (22).

    Examples
    --------
    >>> mixed_shares(np.array([0.0, 0.5]), np.array([-3.0, 3.0]), 0.5).round(2).tolist()
    [-0.02, 0.88]
    """
    mix = number(mix, "mix", least=0, most=1)
    if odds is None or mix == 0:
        return shares
    made: Floats = (1 + 2 * _DOUBT) * expit(mixed_odds(shares, odds, mix)) - _DOUBT
    return made


class MixChoice:
    """The mix under which the tags of left-out pictures are most likely.

    The likelihood is that of a choice among all tags with probabilities exp(sharpness * odds), at
    the best sharpness.  Without informative pictures the mix is one half.

    Parameters
    ----------
    mixes : sequence of float, default=(0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
        The weights to choose from.

    Attributes
    ----------
    pictures : int
        Pictures that counted.

    See Also
    --------
    mixed_shares : uses the mix.
    """

    def __init__(self, mixes: Sequence[float] = MIXES) -> None:
        self.mixes = tuple(mixes)
        self.pictures = 0
        self._loss = np.zeros((len(self.mixes), *_SHARPNESS.shape))

    def add(self, shares: Floats, odds: Floats, right: NDArray[np.bool_]) -> None:
        """Add a picture: shares and odds of all tags, and which of its tags are to be found.

        Tags without finite odds are unknown and do not compete.
        """
        known = np.isfinite(odds)
        if not (known & right).any():
            return
        shares, odds, right = shares[known], odds[known], right[known]
        mixes = np.array([mixed_odds(shares, odds, mix) for mix in self.mixes])
        mixes -= mixes.max(axis=1, keepdims=True)
        sought = mixes[:, right].mean(axis=1)
        for first in range(_STEPS):
            # Sharpness doubles within a row, so squares replace exponentials.
            powers = np.exp(_SHARPNESS[first, 0] * mixes)
            for at, sharpness in enumerate(_SHARPNESS[first]):
                self._loss[:, first, at] += np.log(powers.sum(axis=1)) - sharpness * sought
                np.square(powers, out=powers)
        self.pictures += 1

    @property
    def best(self) -> float:
        """The chosen mix."""
        from_half = 2 * np.abs(np.array(self.mixes) - 0.5)
        return self.mixes[int(np.argmin(self._loss.min(axis=(1, 2)) + _CAUTION * from_half**2))]


class Opinions(NamedTuple):
    """Both scores of some queries: codes over ``ids_``, shares and odds over ``tags_``.

    ``odds`` is None where rows are too wide for the linear classifier.
    """

    codes: Any
    shares: Floats
    odds: Floats | None


class MixedAnnotator(Estimator):
    """``SparseAnnotator`` and ``LinearAnnotator`` together, over the same pictures.

    Parameters
    ----------
    alpha : float, default=0.05
        ``alpha`` of the reconstruction.
    penalty : float, default=2.0
        ``penalty`` of the linear classifier.
    mix : float, default=0.5
        The weight of the linear classifier, from 0 (none) to 1.
    widest : int, default=512
        Wider rows have no linear classifier, as an update costs the square of the width; the mix is
        then 0.

    Attributes
    ----------
    sparse_ : SparseAnnotator
        The reconstruction.
    linear_ : LinearAnnotator or None
        The linear classifier; None where rows are too wide.
    ids_ : array
        Ids of the pictures.
    tags_ : list
        Columns of ``predict_scores``.

    See Also
    --------
    SparseAnnotator : the reconstruction.
    LinearAnnotator : the linear classifier.

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
        """Forget all pictures, then add these.

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
        """Add pictures, perhaps with new tags.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.
        ids : sequence of n ids, optional
            By default numbers after the largest one used.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y, ids)
        Y = as_list(Y)
        # The first call refuses all invalid input before anything changes.
        self.sparse_.partial_fit(X, Y, ids)
        if self.linear_ is not None:
            self.linear_.partial_fit(X, Y)
        return self

    def remove(self, ids: Any) -> Self:
        """Remove the pictures with these ids (one, or several); their tags stay known."""
        check_is_fitted(self)
        if self.linear_ is not None:
            self.linear_.remove(*self.sparse_.tagged(ids))
        self.sparse_.remove(ids)
        return self

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the pictures, in the order of the coefficients."""
        check_is_fitted(self)
        return self.sparse_.ids_

    @property
    def tags_(self) -> list[Any]:
        """Names of the tags, or their numbers, in the order of ``predict_scores``."""
        check_is_fitted(self)
        return self.sparse_.tags_

    def opinions(self, X: Any, without: Any = None) -> Opinions:
        """Return the scores of both; pictures of ``without`` (ids) are left out."""
        check_is_fitted(self)
        codes, shares = self.sparse_.codes_and_scores(X, without)
        if self.linear_ is None:
            return Opinions(codes, shares, None)
        out = None if without is None else self.sparse_.tagged(without)
        return Opinions(codes, shares, self.linear_.predict_scores(X, out))

    def predict_scores(self, X: Any, without: Any = None) -> Floats:
        """Return the mixed scores, as shares.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        without : sequence of ids, optional
            Pictures to leave out.

        Returns
        -------
        array of shape (q, tags)
        """
        _, shares, odds = self.opinions(X, without)
        return mixed_shares(shares, odds, self.mix)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "sparse_")
