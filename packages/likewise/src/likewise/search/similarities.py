"""Similarities: names for how to rank, each a space or a fusion of some.

Every space is one; ``both`` fuses words with the best dense space that can be asked here;
``default`` is what ranks when nothing is chosen.  Kinds of space say which of them these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from likewise.catalog.log_tables import Model
from likewise.spaces.base import Space, ranked_spaces
from likewise_methods.evaluation import UNTESTED, Interval, Spread, mean_interval, wilson

Units = Literal["words", "directions"]
Verdict = Literal["unknown", "unclear", "better", "worse"]
ENOUGH = 12
"""Judgements that are tested before a share of right ones is shown: with fewer, the interval of a
share is wider than half of all there is."""


@dataclass(frozen=True)
class Figures:
    """What a learned similarity amounts to.

    A few clicks say nothing about how good a profile is: while judgements are ``needed``, figures
    are for programs.  From then on ``interval`` holds the true agreement in 95 of 100 cases and
    ``gain`` what learning adds to it; only where that excludes 0 does it help (or harm).

    Attributes
    ----------
    judgements : int
        That stand.
    agreement : float or None
        The share that is right; None before the first.  Of *words* it is that of triplets before
        they were learned (each judgement is a test, then a lesson).  Of *directions*, from judged
        pairs: some judgements are each told by those about other queries alone, and it is the share
        of their comparisons that come out right.
    agreement_plain : float or None
        The share without learning.
    changed, sparsity : float
        Shares of the units that differ from their start, and that are zero.
    space : str or None
        What was learned in.
    triplets : int
        How many were asked, of as many judgements as ``gains`` counts.
    units : {"words", "directions"}
        What is learned in ``space``, and so how it was tested.
    gains : Spread
        What learning added to the share that was right.

    See Also
    --------
    Similarity : has them.
    """

    judgements: int
    agreement: float | None = None
    agreement_plain: float | None = None
    changed: float = 0.0
    sparsity: float = 0.0
    space: str | None = None
    triplets: int = 0
    units: Units = "words"
    gains: Spread = UNTESTED

    @property
    def needed(self) -> int:
        """Judgements more before anything can be said about how good the profile is."""
        return max(0, ENOUGH - self.gains.n)

    @property
    def interval(self) -> Interval | None:
        """Of ``agreement``; None while judgements are needed."""
        if self.agreement is None or self.needed:
            return None
        return wilson(self.agreement, self.gains.n)

    @property
    def gain(self) -> Interval | None:
        """Of what learning adds; None while judgements are needed."""
        return None if self.needed else mean_interval(self.gains)

    @property
    def verdict(self) -> Verdict:
        """What may be claimed: ``better`` or ``worse`` only where the interval excludes 0."""
        gain = self.gain
        if gain is None:
            return "unknown"
        return "better" if gain.low > 0 else "worse" if gain.high < 0 else "unclear"


@dataclass(frozen=True)
class Similarity:
    """A way to rank: the spaces it looks at, with their weights in the fusion.

    Attributes
    ----------
    name : str
        What a search calls it by.
    spaces : mapping of str to float
        Weights of spaces.
    profile : str or None
        Of a learned one.
    figures : Figures or None
        Of its profile; filled in by ``Collection.similarities``.
    model : Model or None
        A metric or a map over its one space.

    See Also
    --------
    Collection : ``use`` makes one the default.
    """

    name: str
    spaces: Mapping[str, float]
    profile: str | None = None
    figures: Figures | None = None
    model: Model | None = None


def built_in_similarities(
    spaces: Mapping[str, Space], preferred: str | None
) -> dict[str, Similarity]:
    """Every built-in similarity: one for each space, ``both``, and ``default``."""
    found = {name: Similarity(name, {name: 1.0}) for name in spaces}
    partner = fusion_partner(spaces)
    if "words" in spaces and partner is not None:
        pair = ("words", partner)
        # While there are no words yet, what is there ranks alone.
        ready = [name for name in pair if spaces[name].generation]
        found["both"] = Similarity("both", dict.fromkeys(ready or pair, 1.0))
    alone = [one.name for one in ranked_spaces(spaces, lambda one: one.default_rank)]
    usual = alone[0] if alone else "both" if "both" in found else next(iter(found))
    chosen = preferred if preferred in found else usual
    found["default"] = Similarity("default", found[chosen].spaces)
    return found


def fusion_partner(spaces: Mapping[str, Space]) -> str | None:
    """The dense space that ``both`` fuses with words: the best there is, and can be asked here.

    A space whose vectors cannot be made on this machine could not rank a new picture.
    """
    found = [
        # Of several of one kind the one that bears the kind's name.
        (one.fusion_rank, one.name != one.feature, place, one.name)
        for place, one in enumerate(spaces.values())
        if one.fusion_rank is not None and one.generation and one.is_available()
    ]
    return min(found)[-1] if found else "holistic" if "holistic" in spaces else None
