"""Two opinions about a tag made one: shares of a reconstruction and log odds of a linear machine.

A share s in [0, 1] has odds of its own, log((s + e) / (1 - s + e)) with e = 0.1 so that no share is
not beyond all hope.  Opinions are mixed as odds (docs/methods/siso.md, (22)), then read as a share
again: a mix of 0 gives the shares themselves.  How much the linear machine should say is chosen by
pictures whose tags are known and that were left out: the mix under which their tags are most likely
among all tags.
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
"""The weights of the linear machine among which one is chosen."""
_DOUBT = 0.1
# The sharpness of a mix is no part of its quality: each is judged by the best of these.
_STEPS = 2
_SHARPNESS = 2.0 ** (np.arange(-3, 4) + np.arange(_STEPS)[:, None] / _STEPS)
# By how much (in all, as a log likelihood) one opinion alone must be better than half of each: a
# few pictures must not throw the mix from end to end.
_CAUTION = 2.0


def mixed_odds(shares: Floats, odds: Floats, mix: float) -> Floats:
    """Log odds of both opinions together; ``mix`` is the weight of ``odds``."""
    s = np.clip(shares, 0.0, 1.0)
    own = np.log(s + _DOUBT) - np.log(1 - s + _DOUBT)
    # Not 0 * infinity: a tag that no picture has is hopeless only where the odds count.
    return own if mix == 0 else (1 - mix) * own + mix * odds


def mixed_shares(shares: Floats, odds: Floats | None, mix: float) -> Floats:
    """Both opinions as a share: up to 1, and below 0 (to -0.1) where odds outweigh no share.

    >>> mixed_shares(np.array([0.0, 0.5]), np.array([-3.0, 3.0]), 0.5).round(2).tolist()
    [-0.02, 0.88]
    """
    mix = number(mix, "mix", least=0, most=1)
    if odds is None or mix == 0:
        return shares
    made: Floats = (1 + 2 * _DOUBT) * expit(mixed_odds(shares, odds, mix)) - _DOUBT
    return made


class MixChoice:
    """Which mix makes the tags of left-out pictures most likely; pictures are added one by one.

    The likelihood is that of a choice among all tags with probabilities as exp(sharpness * odds).
    Without pictures that tell, half of each.
    """

    def __init__(self, mixes: Sequence[float] = MIXES) -> None:
        self.mixes = tuple(mixes)
        self.pictures = 0
        self._loss = np.zeros((len(self.mixes), *_SHARPNESS.shape))

    def add(self, shares: Floats, odds: Floats, right: NDArray[np.bool_]) -> None:
        """A picture: shares and odds of all tags, and which of its tags are to be found.

        A tag without odds is unknown, and no rival of the others.
        """
        known = np.isfinite(odds)
        if not (known & right).any():
            return
        shares, odds, right = shares[known], odds[known], right[known]
        mixes = np.array([mixed_odds(shares, odds, mix) for mix in self.mixes])
        mixes -= mixes.max(axis=1, keepdims=True)
        sought = mixes[:, right].mean(axis=1)
        for first in range(_STEPS):
            # Sharpness doubles within a row, so that a square takes the place of an exponential.
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
