"""How well judgements are told by the others, and what the first of them teach alone."""

from __future__ import annotations

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.spaces import local_metric
from likewise_methods.spaces.local_metric import TESTED, Lesson, LocalMetric

WIDTH, SCALE = 6, 0.05


def lessons(n: int, seed: int = 0, liked: int = 2, disliked: int = 3) -> list[Lesson]:
    """Somebody who looks at the first two columns alone; the others are louder."""
    rng = np.random.default_rng(seed)
    made = []
    for order in range(n):
        kind = rng.integers(2)
        sides = []
        for count, like in ((1 + liked, kind), (disliked, 1 - kind)):
            rows = rng.normal(size=(count, WIDTH)) * 0.5 + 1.0
            rows[:, :2] = (0.6, 0.0) if like else (0.0, 0.6)
            sides.append(rows)
        made.append(Lesson(order, sides[0][0], sides[0][1:], sides[1]))
    return made


def taught(said: list[Lesson], prior: float | None = 100.0) -> LocalMetric:
    metric = LocalMetric(WIDTH, SCALE, prior)
    for one in said:
        metric.add(*one)
    return metric


def right(row: np.ndarray, lesson: Lesson) -> float:
    """The share of a lesson's comparisons that a row of a query gets right, one by one."""
    liked, disliked = (
        [x / np.linalg.norm(x) for x in side] for side in (lesson.liked, lesson.disliked)
    )
    return float(np.mean([row @ a > row @ b for a in liked for b in disliked]))


def test_each_is_told_by_lessons_about_other_queries() -> None:
    said = lessons(9)
    # Said about the same query in other words: it must not tell, however much it would help.
    said.append(said[3]._replace(order=9, disliked=said[4].disliked[:1]))
    # What is said about one query is one judgement.
    joined = said[3]._replace(
        liked=np.concatenate([said[3].liked, said[9].liked]),
        disliked=np.concatenate([said[3].disliked, said[9].disliked]),
    )
    asked = [joined if at == 3 else one for at, one in enumerate(said[:9])]
    expected, plain = [], []
    for held in asked:
        others = [one for one in said if not np.array_equal(one.query, held.query)]
        expected.append(right(taught(others).ask(held.query), held))
        plain.append(right(held.query / np.linalg.norm(held.query), held))
    found = taught(said).agreement()
    assert found is not None
    assert found.learned == pytest.approx(np.mean(expected), abs=1e-12)
    assert found.plain == pytest.approx(np.mean(plain), abs=1e-12)
    assert found.comparisons == sum(len(one.liked) * len(one.disliked) for one in asked)
    assert found.learned > found.plain + 0.05, "nothing was learned: the two could be mixed up"


def test_it_is_a_function_of_the_set_of_lessons() -> None:
    said = lessons(20, seed=1)
    whole = taught(said).agreement()
    order = np.random.default_rng(2).permutation(len(said))
    assert taught([said[at] for at in order]).agreement() == whole
    metric = taught(said)
    more = lessons(25, seed=1)[20:]
    for one in more:
        metric.add(*one)
    changed = metric.agreement()
    assert changed == taught([*said, *more]).agreement()
    assert changed != whole
    assert metric.discard(one.order for one in more).agreement() == whole


def test_so_many_are_asked_about_evenly_in_time() -> None:
    said = lessons(3 * TESTED, liked=1, disliked=1)
    found = taught(said).agreement()
    assert found is not None
    assert found.comparisons == TESTED
    # Only those at these places are asked: longer ones elsewhere do not count.
    places = set(np.linspace(0, len(said) - 1, TESTED, dtype=int).tolist())
    assert {0, len(said) - 1} < places
    longer = [
        one if one.order in places else one._replace(liked=np.repeat(one.liked, 2, axis=0))
        for one in said
    ]
    again = taught(longer).agreement()
    assert again is not None
    assert again.comparisons == TESTED


def test_a_long_judgement_counts_no_more_than_a_short_one() -> None:
    said = lessons(4, seed=3, liked=1, disliked=1)
    long = said[0]._replace(
        liked=np.repeat(said[0].liked, 30, axis=0), disliked=np.repeat(said[0].disliked, 30, axis=0)
    )
    metric = taught([long, *said[1:]])
    expected = [right(one.query / np.linalg.norm(one.query), one) for one in said]
    # Otherwise one judgement of nine hundred comparisons would be all there is.
    assert len(set(expected)) > 1
    found = metric.agreement()
    assert found is not None
    assert found.plain == pytest.approx(np.mean(expected))
    assert found.comparisons == 903


def test_what_cannot_be_asked() -> None:
    assert LocalMetric(WIDTH, SCALE).agreement() is None
    one = lessons(1)[0]
    nothing = np.zeros((0, WIDTH))
    assert taught([one._replace(disliked=nothing)]).agreement() is None
    assert taught([one._replace(liked=nothing)]).agreement() is None
    # Told by nobody else, and told by those who may say nothing: as without learning.
    alone = taught([one]).agreement()
    assert alone is not None
    assert alone.learned == alone.plain
    silent = taught(lessons(12), prior=1e15).agreement()
    assert silent is not None
    assert silent.learned == silent.plain
    assert silent.plain < 1


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "chosen"), [(4, 1500.0), (19, 500.0), (9, 200.0)])
def test_prior_is_chosen_as_one_lesson_at_a_time_would(seed: int, chosen: float) -> None:
    """The sums are made once for all priors; here each is asked from the beginning."""
    # Every other one says the opposite: it is better not to learn too fast.
    said = [
        one if one.order % 2 else one._replace(liked=one.disliked, disliked=one.liked)
        for one in lessons(local_metric.CHOOSE_FROM, seed)
    ]
    places = np.linspace(0, len(said) - 1, local_metric.HELD_OUT, dtype=int)
    shares = []
    for at in places:
        held = said[at]
        others = [one for one in said if one.order != held.order]
        rows = [taught(others, prior).ask(held.query) for prior in local_metric.PRIORS[:-1]]
        rows.append(held.query / np.linalg.norm(held.query))  # infinity learns nothing
        shares.append([right(row, held) for row in rows])
    share = np.array(shares)
    worse = share[:, [int(share.mean(axis=0).argmax())]] - share
    error = worse.std(axis=0, ddof=1) / np.sqrt(len(share))
    expected = local_metric.PRIORS[int(np.argmax(worse.mean(axis=0) <= error))]
    assert taught(said, None).used_prior() == expected == chosen


def counts_within(judged: int, seed: int) -> float:
    """How much the direction counts in which a kind varies, after pages of that kind alone: all is
    right on them, and each picture is disliked by mistake with one chance in five."""
    rng = np.random.default_rng(seed)
    metric = LocalMetric(WIDTH, SCALE)
    for order in range(judged):
        rows = np.eye(WIDTH)[0] + 0.05 * rng.normal(size=(21, WIDTH))
        rows[:, 1] += 0.6 * rng.normal(size=21)
        slips = rng.random(20) < 0.2
        metric.add(order, rows[0], rows[1:][~slips], rows[1:][slips])
    return float(metric.overall()[1, 1])


@pytest.mark.parametrize("judged", [3, 10, 30])
def test_slips_do_not_make_a_kind_fall_apart(judged: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The direction counts hardly more than before; without C of (3) it would count far more."""
    found = np.mean([counts_within(judged, seed) for seed in range(8)])
    monkeypatch.setattr(local_metric, "STRAYS", 1e-9)
    without = np.mean([counts_within(judged, seed) for seed in range(8)])
    assert found - 1 < 0.5 * (without - 1)
    assert found < 1.15


def test_the_first_lessons_alone() -> None:
    said = lessons(12, seed=6)
    row = said[11].query
    for n in (0, 5, 12, 40):
        first = taught(said[::-1]).first(n)
        assert [one.order for one in first.lessons] == list(range(min(n, 12)))
        assert np.array_equal(first.ask(row), taught(said[:n]).ask(row))
        assert first.agreement() == taught(said[:n]).agreement()
    # Lessons that came in whole share their place: no more than asked for are taken.
    together = taught([one._replace(order=1) for one in said])
    assert len(together.first(5)) == 5
    backwards = taught([one._replace(order=1) for one in said[::-1]])
    assert np.array_equal(together.first(5).ask(row), backwards.first(5).ask(row))
    with pytest.raises(InvalidInput, match="n is -1"):
        together.first(-1)


def test_the_first_lessons_choose_their_own_prior() -> None:
    """What all of them chose is of no use to a half of them, and of use to nearly all."""
    said = [
        one if one.order % 2 else one._replace(liked=one.disliked, disliked=one.liked)
        for one in lessons(2 * local_metric.CHOOSE_FROM, seed=4)
    ]
    whole = taught(said, None)
    chosen = whole.used_prior()
    half = local_metric.CHOOSE_FROM
    assert whole.first(half).used_prior() == taught(said[:half], None).used_prior() != chosen
    assert whole.first(2 * half).used_prior() == chosen


def test_clicks_one_by_one_are_tested_as_one_judgement() -> None:
    """What a page sends, a picture at a time, is told apart by others just as a whole page is."""
    rng = np.random.default_rng(3)
    queries = rng.normal(size=(6, 8))
    whole, clicks = LocalMetric(8, 0.05), LocalMetric(8, 0.05)
    for number, query in enumerate(queries):
        liked, disliked = query + 0.3 * rng.normal(size=(2, 2, 8))
        whole.add(number, query, liked, disliked)
        for at in range(2):
            clicks.add(10 * number + at, query, liked[at : at + 1], [])
            clicks.add(10 * number + 5 + at, query, [], disliked[at : at + 1])
    one, other = whole.agreement(), clicks.agreement()
    assert one is not None
    assert other is not None
    assert one.comparisons == other.comparisons == 6 * 4
    assert other.plain == pytest.approx(one.plain)
