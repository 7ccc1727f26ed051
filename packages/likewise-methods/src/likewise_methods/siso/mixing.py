"""Two opinions about a tag made one: shares of a reconstruction and log odds of a linear machine.

A share s in [0, 1] has odds of its own, log((s + e) / (1 - s + e)) with e = 0.1 so that no share is
not beyond all hope.  Opinions are mixed as odds (docs/methods/siso.md, (22)), then read as a share
again: a mix of 0 gives the shares themselves.  How much the linear machine should say is chosen by
pictures whose tags are known and that were left out: the mix under which their tags are most likely
among all tags.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from likewise_methods.validation import number

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
