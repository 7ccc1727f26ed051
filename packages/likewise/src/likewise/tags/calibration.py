"""Turn a tag's score into a confidence: isotonic regression, measured on the collection.

Tagged pictures are held out and get suggestions as if they were new.  The share of correct
suggestions, as a rising function of the score, is the confidence.  Up to a hundred tagged pictures
each is held out alone; above, groups of at most a fiftieth are held out together, which shares the
work and moves the mean confidence by less than 0.01 (``docs/results/tags.md``).

The same pictures choose the weight of the linear classifier in the score: the mix under which their
tags are the most likely (:mod:`~likewise_methods.siso.mixed`).
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
"""At most one in so many tagged pictures is left out together with others."""
AT_ONCE = 100
"""Tagged pictures up to which a calibration is measured whole; above, a part per suggestion."""
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
    """A rising curve from score to confidence; empty where too few pictures are tagged.

    ``number`` is the evidence number it was measured at, ``spaces`` the spaces with their
    generations, ``mix`` the weight of the linear classifier in the scores it is for.
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
        """Return how often such a score was right; at most 0.5 where nothing was measured."""
        if not self.is_measured:
            return UNMEASURED * min(max(score, 0.0), 1.0)
        return float(np.interp(score, self.scores, self.shares))

    def is_stale(self, number: int, tagged: int) -> bool:
        """Return whether tags changed so much that it should be measured again."""
        return number - self.number > self._tolerated_changes(tagged)

    def is_outdated(self, number: int, tagged: int) -> bool:
        """Return whether it must not be used even until the next one is measured."""
        return number - self.number > 4 * self._tolerated_changes(tagged)

    def _tolerated_changes(self, tagged: int) -> int:
        return max(10, tagged // 20) if self.is_measured else 0

    def to_json(self) -> dict[str, Any]:
        return {
            "spaces": [list(one) for one in self.spaces], "number": self.number,
            "pictures": self.pictures, "scores": list(self.scores), "shares": list(self.shares),
            "mix": self.mix,
        }  # fmt: skip

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Calibration | None:
        """Read what :meth:`to_json` wrote; None for an old format without a mix."""
        if "mix" not in said:
            return None
        spaces = tuple((str(name), int(number)) for name, number in said["spaces"])
        return cls(
            spaces, int(said["number"]), int(said["pictures"]), tuple(said["scores"]),
            tuple(said["shares"]), float(said["mix"]),
        )  # fmt: skip


class CalibrationRun:
    """A calibration that is measured step by step, so that no suggestion waits for all of it.

    The held-out pictures and their groups are fixed at the start (``together``: the size of a
    group, instead of a fiftieth).  Tags given meanwhile count; a picture that lost its tags is
    skipped.
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
        """Pictures that remain to be measured."""
        return len(self._left)

    def measure_some(self, evidence: Evidence, views: Views, most: int | None = None) -> None:
        """Measure the next ``most`` pictures; by default the next group."""
        first = self._left[0][0]
        count = sum(at == first for at, _ in self._left) if most is None else most
        part, self._left = self._left[:count], self._left[count:]
        for at, some in groupby(part, key=lambda one: one[0]):
            out = [image for image in self.groups[at] if image in evidence.tags]
            images, rows = evidence.rows_of(views, [i for _, i in some if i in evidence.tags])
            gone = Counter(tag for image in out for tag in evidence.tags[image])
            for image, opinion in zip(images, evidence.opinions(rows, out), strict=True):
                self._take_in(opinion, set(evidence.tags[image]), gone)
            self.asked += len(images)

    def _take_in(self, opinion: Opinion, own: set[str], gone: Mapping[str, int]) -> None:
        """Record the scores of a picture with the tags ``own``, under every mix.

        ``gone`` counts the pictures held out with it, by tag.
        """
        if opinion.odds is not None:
            # Skip tags of all pictures, and tags with hardly a picture left.
            usable = np.array([tag not in self._universal for tag in opinion.names], bool)
            left = {tag for tag in own if self._counts[tag] - gone.get(tag, 0) >= _FEWEST_LEFT}
            right = np.array([tag in left for tag in opinion.names], bool)
            self.choice.add(opinion.shares[usable], opinion.odds[usable], right[usable])
        made: Answers = []
        for mix, answers in self._answers.items():
            if opinion.odds is not None or not made:
                scores = opinion.scores(mix).items()
                best = sorted(scores, key=lambda one: (-one[1], one[0]))[:_PER_PICTURE]
                made = [(tag, score, tag in own) for tag, score in best]
            answers.append(made)

    @property
    def answers(self) -> list[Answers]:
        """The suggestions for each picture, under the best mix so far."""
        return self._answers[self.choice.best]

    def step_size(self, tagged: int) -> int:
        """Return how many pictures to measure per suggestion: fewer where each takes longer."""
        return max(_LEAST_PIECE, min(_PIECE, _PIECE * _WHOLE_PIECES_UP_TO // max(tagged, 1)))

    def curve(self, evidence: Evidence) -> Calibration:
        """Return the calibration; empty where too few suggestions were made."""
        # A tag that all tagged pictures have can never be a wrong suggestion.
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
    """Measure a complete calibration; the same evidence gives the same curve."""
    run = CalibrationRun(evidence, spaces)
    total = run.n_left
    while not run.is_done:
        report(Progress("measuring how reliable suggestions are", total - run.n_left, total))
        run.measure_some(evidence, views)
    return run.curve(evidence)


def _counts(evidence: Evidence) -> Counter[str]:
    return Counter(tag for tags in evidence.tags.values() for tag in tags)


def _universal_tags(evidence: Evidence) -> set[str]:
    """Return the tags that every tagged picture has."""
    return {tag for tag, n in _counts(evidence).items() if n == len(evidence)}


def fit_isotonic(
    scores: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the rising curve with the least squared error and return its points.

    Two wrong suggestions are added: one at the highest score, so that a few right ones never give
    certainty, and one at zero (or the lowest score below), so that unseen low scores get less
    confidence.
    """
    from sklearn.isotonic import IsotonicRegression

    x = np.concatenate([scores, [scores.max(), min(scores.min(), 0.0)]])
    y = np.concatenate([right.astype(np.float64), [0.0, 0.0]])
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(x, y)
    return np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_)
