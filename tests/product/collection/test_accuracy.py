"""How good a profile is: nothing is claimed that the judgements do not bear out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.search.similarities import ENOUGH, Figures
from likewise_methods.evaluation.intervals import Spread, mean_interval, t_quantile, wilson
from tests.product.collection.loop_cases import copied


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as collection:
        collection.similarities.use("words")
        yield collection


def spread(values: object) -> Spread:
    made = Spread()
    for value in np.ravel(values).tolist():  # type: ignore[call-overload]
        made = made.add(value)
    return made


def test_intervals_are_those_of_the_books() -> None:
    for n, right in ((12, 8), (40, 39), (7, 0), (5, 5)):
        made = stats.binomtest(right, n).proportion_ci(method="wilson")
        assert wilson(right / n, n) == pytest.approx((made.low, made.high))
    for freedom in (3, 11, 47, 500):
        # A truncated series: its error falls with the fourth power of the degrees of freedom.
        assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=2 / freedom**3)
    values = np.random.default_rng(0).normal(0.1, 0.3, 30)
    expected = stats.t.interval(0.95, 29, values.mean(), stats.sem(values))
    assert mean_interval(spread(values)) == pytest.approx(expected, abs=1e-4)
    assert mean_interval(spread([0.5, 0.5, 0.5])) is None
    with pytest.raises(InvalidInput, match="a share of 1 or more"):
        wilson(0.5, 0)


def test_a_claim_needs_judgements_enough_and_a_difference_beyond_chance() -> None:
    few = Figures(3, 0.67, 0.67, gains=spread([0, 0, 0]))
    assert (few.needed, few.interval, few.gain, few.verdict) == (ENOUGH - 3, None, None, "unknown")
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.3, 20)
    noise -= noise.mean()
    for shift, verdict in ((0.0, "unclear"), (0.05, "unclear"), (0.3, "better"), (-0.3, "worse")):
        made = replace(few, gains=spread(noise + shift))
        assert (made.needed, made.verdict) == (0, verdict)
        assert made.interval is not None
        assert made.interval.low < 0.67 < made.interval.high


def test_words_are_tested_judgement_by_judgement(col: Collection) -> None:
    """The paired differences of a fold, kept in its checkpoints too."""
    for query in range(1, 6):
        found = [hit.id for hit in col.search(query)]
        col.judge(query, liked=[found[-1]], disliked=[found[0]])
    figures = col.profiles.figures()
    report = col.profiles.report(top=0, examples=0)
    assert figures.gains.n == len(report.curve) == 5
    assert figures.needed == ENOUGH - 5
    asked, before, total = 0, (0.0, 0.0), 0.0
    for point in report.curve:
        right = (point.learned * point.asked, point.plain * point.asked)
        total += (right[0] - before[0] - right[1] + before[1]) / (point.asked - asked)
        asked, before = point.asked, right
    assert figures.gains.total == pytest.approx(total)
    with Collection.open(col.root) as other:
        assert other.profiles.figures() == figures
