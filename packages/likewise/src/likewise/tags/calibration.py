"""From a tag's score to how often such a score is right: isotonic, measured on the collection.

Tagged pictures are taken out and asked about as if they were new; the share of suggestions that
were right, as a rising function of the score, is the confidence.  Below a hundred tagged pictures
each is taken out alone; above, groups of at most a fiftieth of them leave together, which shares
the work.  Each of such a group lacks up to 2 % of the evidence that a new picture would find.  On
pictures that were never tagged, mean confidence moved by less than 0.01 against leaving out one at
a time, in either direction (``docs/results/tags.md``): far less than what leaving out does at all
where little is tagged.

The same pictures say how much the linear machine should have to say beside the reconstruction: the
mix under which their tags are the most likely (:mod:`~likewise_methods.siso.mixing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.jobs import Progress, Report
from likewise_methods.siso import MIXES, MixChoice

if TYPE_CHECKING:
    from likewise.search.views import Views
    from likewise.tags.evidence import Evidence, Opinion

ASKED = 500
"""Tagged pictures that are asked about, at most."""
FEWEST = 20
"""Tagged pictures below which nothing is measured."""
SHARE = 50
"""One of so many tagged pictures, at most, is taken out together with others."""
AT_ONCE = 100
"""Tagged pictures up to which a curve is measured whole; above, a piece with each suggestion."""
_PIECE, _LEAST_PIECE = 12, 3
_WHOLE_PIECES_UP_TO = 5_000
_PER_PICTURE = 10
_FEWEST_LEFT = 2
UNMEASURED = 0.5
"""The highest confidence where nothing could be measured."""

Answers = list[tuple[str, float, bool]]
"""(tag, score, whether it was right) of a picture, the best first."""


@dataclass(frozen=True)
class Calibration:
    """A rising curve from score to confidence; empty where too little is tagged to measure one.

    ``number`` names the evidence it was measured on, ``spaces`` with their generations where.
    ``mix`` is how much the linear machine has to say in the scores it is for.
    """

    spaces: tuple[tuple[str, int], ...]
    number: int
    pictures: int = 0
    scores: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    mix: float = 0.0

    @property
    def is_measured(self) -> bool:
        return bool(self.scores)

    def confidence(self, score: float) -> float:
        """How often a suggestion with such a score was right; never more than a half unmeasured."""
        if not self.is_measured:
            return UNMEASURED * min(max(score, 0.0), 1.0)
        return float(np.interp(score, self.scores, self.shares))

    def is_stale(self, number: int, tagged: int) -> bool:
        """Whether the evidence has moved on so far that it should be measured again."""
        return number - self.number > self._tolerated_changes(tagged)

    def is_outdated(self, number: int, tagged: int) -> bool:
        """Whether it should not even serve until the next one is measured."""
        return number - self.number > 4 * self._tolerated_changes(tagged)

    def _tolerated_changes(self, tagged: int) -> int:
        return max(10, tagged // 20) if self.is_measured else 0

    def to_json(self) -> dict[str, Any]:
        """For the catalog."""
        return {
            "spaces": [list(one) for one in self.spaces], "number": self.number,
            "pictures": self.pictures, "scores": list(self.scores), "shares": list(self.shares),
            "mix": self.mix,
        }  # fmt: skip

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Calibration | None:
        """None of a curve from before there was a mix: its scores are no longer given."""
        if "mix" not in said:
            return None
        spaces = tuple((str(name), int(number)) for name, number in said["spaces"])
        return cls(
            spaces, int(said["number"]), int(said["pictures"]), tuple(said["scores"]),
            tuple(said["shares"]), float(said["mix"]),
        )  # fmt: skip


class CalibrationRun:
    """A curve on its way, measured on a few pictures at a time so that nobody waits for it.

    Which pictures are asked about, and which leave together, is settled in the beginning
    (``together``: how many, instead of a fiftieth).  Tags that come meanwhile take part; a picture
    that lost its tags is asked about no more.
    """

    def __init__(
        self,
        evidence: Evidence,
        spaces: tuple[tuple[str, int], ...],
        *,
        together: int | None = None,
    ) -> None:
        self.spaces, self.number = spaces, evidence.number
        self.asked = 0
        self.choice = MixChoice()
        self._answers: dict[float, list[Answers]] = {mix: [] for mix in MIXES}
        self._counts, self._universal = _counts(evidence), _universal_tags(evidence)
        chosen: list[int] = []
        if len(evidence) >= FEWEST and not self._universal.issuperset(self._counts):
            every = np.array(sorted(evidence.tags), np.int64)
            chosen = np.random.default_rng(0).permutation(every)[:ASKED].tolist()
        size = max(1, len(evidence) // SHARE) if together is None else together
        self.groups = [chosen[a : a + size] for a in range(0, len(chosen), size)]
        self._left = [(at, image) for at, some in enumerate(self.groups) for image in some]

    @property
    def is_done(self) -> bool:
        return not self._left

    @property
    def n_left(self) -> int:
        """Pictures still to be asked about."""
        return len(self._left)

    def measure_some(self, evidence: Evidence, views: Views, most: int | None = None) -> None:
        """Ask about the next pictures: all that share a group, or as many as ``most``."""
        first = self._left[0][0]
        whole = sum(at == first for at, _ in self._left)
        count = whole if most is None else most
        part, self._left = self._left[:count], self._left[count:]
        for at, some in groupby(part, key=lambda one: one[0]):
            out = [image for image in self.groups[at] if image in evidence.tags]
            images, rows = evidence.rows_of(views, [i for _, i in some if i in evidence.tags])
            gone = Counter(tag for image in out for tag in evidence.tags[image])
            for image, opinion in zip(images, evidence.opinions(rows, out), strict=True):
                self._take_in(opinion, set(evidence.tags[image]), gone)
            self.asked += len(images)

    def _take_in(self, opinion: Opinion, own: set[str], gone: Mapping[str, int]) -> None:
        """What was said of a picture with the tags ``own``, by every mix.

        ``gone`` counts the pictures left out with it, by tag.
        """
        if opinion.odds is not None:
            # Of a tag that all have there is nothing to choose; and one of which hardly a picture
            # is left tells how things were with half as many pictures, not how they are.
            told = np.array([tag not in self._universal for tag in opinion.names], bool)
            left = {tag for tag in own if self._counts[tag] - gone.get(tag, 0) >= _FEWEST_LEFT}
            right = np.array([tag in left for tag in opinion.names], bool)
            self.choice.add(opinion.shares[told], opinion.odds[told], right[told])
        made: Answers = []
        for mix, answers in self._answers.items():
            if opinion.odds is not None or not made:
                scores = opinion.scores(mix).items()
                best = sorted(scores, key=lambda one: (-one[1], one[0]))[:_PER_PICTURE]
                made = [(tag, score, tag in own) for tag, score in best]
            answers.append(made)

    @property
    def answers(self) -> list[Answers]:
        """What was suggested for each picture asked about, by the mix that is the best so far."""
        return self._answers[self.choice.best]

    def step_size(self, tagged: int) -> int:
        """How many pictures go with one suggestion: fewer where each takes longer."""
        return max(_LEAST_PIECE, min(_PIECE, _PIECE * _WHOLE_PIECES_UP_TO // max(tagged, 1)))

    def curve(self, evidence: Evidence) -> Calibration:
        """What was found; empty where that is too little."""
        # Of a tag that all tagged pictures have, no suggestion could ever have been wrong.
        universal = _universal_tags(evidence)
        found = [
            (score, true)
            for answers in self.answers
            for tag, score, true in answers
            if tag not in universal
        ]
        if len(found) < FEWEST:
            return Calibration(self.spaces, self.number)
        scores, right = zip(*found, strict=True)
        x, y = fit_isotonic(np.array(scores), np.array(right, bool))
        return Calibration(
            self.spaces, self.number, self.asked, tuple(x.tolist()), tuple(y.tolist()),
            self.choice.best,
        )  # fmt: skip


def measure_calibration(
    evidence: Evidence, views: Views, spaces: tuple[tuple[str, int], ...], report: Report
) -> Calibration:
    """The curve for the evidence there is now; the same evidence gives the same curve."""
    run = CalibrationRun(evidence, spaces)
    whole = run.n_left
    while not run.is_done:
        doing = "measuring how far suggestions can be trusted"
        report(Progress(doing, whole - run.n_left, whole))
        run.measure_some(evidence, views)
    return run.curve(evidence)


def _counts(evidence: Evidence) -> Counter[str]:
    return Counter(tag for tags in evidence.tags.values() for tag in tags)


def _universal_tags(evidence: Evidence) -> set[str]:
    """Tags that every tagged picture has."""
    return {tag for tag, n in _counts(evidence).items() if n == len(evidence)}


def fit_isotonic(
    scores: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of the rising curve that fits best in the least squares.

    Two wrong answers are added: one at the highest score, so that what was seen a few times only is
    never called certain, and one at zero (or the lowest score below), so that scores below all that
    were seen promise less.
    """
    from sklearn.isotonic import IsotonicRegression

    x = np.concatenate([scores, [scores.max(), min(scores.min(), 0.0)]])
    y = np.concatenate([right.astype(np.float64), [0.0, 0.0]])
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(x, y)
    return np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_)
