"""From a tag's score to how often such a score is right: isotonic, measured on the collection.

Tagged pictures are taken out and asked about as if they were new; the share of suggestions that
were right, as a rising function of the score, is the confidence.  Below a hundred tagged pictures
each is taken out alone; above, groups of at most a fiftieth of them leave together, which is
nearly the same and shares the work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.jobs import Progress, Report

if TYPE_CHECKING:
    from likewise.collection.evidence import Evidence, Rows
    from likewise.collection.live import Live

ASKED = 500
"""Tagged pictures that are asked about, at most."""
FEWEST = 20
"""Tagged pictures below which nothing is measured."""
_SHARE = 50
_PER_PICTURE = 10
UNMEASURED = 0.5
"""The highest confidence where nothing could be measured."""


@dataclass(frozen=True)
class Calibration:
    """A rising curve from score to confidence; empty where too little is tagged to measure one.

    ``number`` names the evidence it was measured on, ``spaces`` with their generations where.
    """

    spaces: tuple[tuple[str, int], ...]
    number: int
    pictures: int = 0
    scores: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()

    @property
    def measured(self) -> bool:
        return bool(self.scores)

    def confidence(self, score: float) -> float:
        """How often a suggestion with such a score was right; never more than a half unmeasured."""
        if not self.measured:
            return UNMEASURED * min(max(score, 0.0), 1.0)
        return float(np.interp(score, self.scores, self.shares))

    def stale(self, number: int, tagged: int) -> bool:
        """Whether the evidence has moved on so far that it should be measured again."""
        moved = number - self.number
        return moved > (max(10, tagged // 20) if self.measured else 0)

    def plain(self) -> dict[str, Any]:
        """For the catalog."""
        return {
            "spaces": [list(one) for one in self.spaces], "number": self.number,
            "pictures": self.pictures, "scores": list(self.scores), "shares": list(self.shares),
        }  # fmt: skip

    @classmethod
    def from_plain(cls, said: dict[str, Any]) -> Calibration:
        spaces = tuple((str(name), int(number)) for name, number in said["spaces"])
        return cls(
            spaces, int(said["number"]), int(said["pictures"]), tuple(said["scores"]),
            tuple(said["shares"]),
        )  # fmt: skip


def measure(
    evidence: Evidence, live: Live, spaces: tuple[tuple[str, int], ...], report: Report
) -> Calibration:
    """The curve for the evidence there is now; the same evidence gives the same curve."""
    none = Calibration(spaces, evidence.number)
    if len(evidence) < FEWEST:
        return none
    every = np.array(sorted(evidence.tags), np.int64)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(every)[:ASKED].tolist()
    found, rows = evidence.rows_of(live, chosen)
    scores, right = list[float](), list[bool]()
    # Of a tag that all tagged pictures have, no suggestion could ever have been wrong.
    counts = Counter(tag for tags in evidence.tags.values() for tag in tags)
    trivial = {tag for tag, n in counts.items() if n == len(evidence)}
    for start, stop in _groups(len(found), len(every)):
        report(Progress("measuring how far suggestions can be trusted", start, len(found)))
        for tag, score, true in _asked(evidence, rows[start:stop], found[start:stop]):
            if tag not in trivial:
                scores.append(score)
                right.append(true)
    if len(scores) < FEWEST:
        return none
    x, y = isotonic(np.array(scores), np.array(right, bool))
    return Calibration(spaces, evidence.number, len(found), tuple(x.tolist()), tuple(y.tolist()))


def _groups(n: int, tagged: int) -> Iterator[tuple[int, int]]:
    size = max(1, tagged // _SHARE)
    for start in range(0, n, size):
        yield start, min(start + size, n)


def _asked(evidence: Evidence, rows: Rows, images: list[int]) -> Iterator[tuple[str, float, bool]]:
    """(tag, score, whether it was right) of the tags that the others suggest for some pictures."""
    tags = [set(evidence.tags[image]) for image in images]
    for at, coded in enumerate(evidence.code(rows, images)):
        best = sorted(coded.scores.items(), key=lambda one: (-one[1], one[0]))[:_PER_PICTURE]
        for tag, score in best:
            yield tag, score, tag in tags[at]


def isotonic(
    scores: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of the rising curve that fits best in the least squares.

    Two wrong answers are added: one at the highest score, so that what was seen a few times only is
    never called certain, and one at zero, so that scores below all that were seen promise less.
    """
    from sklearn.isotonic import IsotonicRegression

    x = np.concatenate([scores, [scores.max(), 0.0]])
    y = np.concatenate([right.astype(np.float64), [0.0, 0.0]])
    fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(x, y)
    return np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_)
