"""The curve of confidence: measured in groups and in pieces, renewed without making anyone wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.changes import put_setting
from likewise.catalog.jobs import silent
from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.tags import calibration as calibrating
from likewise.tags import suggest as suggesting
from likewise.tags.calibration import Calibration, CalibrationRun, measure_calibration
from likewise.tags.evidence import ALPHA, Evidence, Opinion
from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.mixed import MIXES, mixed_shares
from tests.methods.siso.linear_reference import log_odds
from tests.methods.siso.test_linear import unit
from tests.product.collection.tag_cases import copied, inside, outside, tag_some
from tests.product.private import curve_of, linear_of, runs_of, store_of, views_of

WHERE = (("holistic", 1),)


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as made:
        tag_some(made)
        made.tag(inside("red", 0), "first")
        yield made


def outside_tagged(col: Collection) -> int:
    """A picture without tags: rejecting one for it changes no evidence."""
    return next(row.id for row in col.images() if not col.tags.of(row.id))


def evidence_of(col: Collection) -> Evidence:
    return col.tags.suggester.evidence(("holistic",))


def all_of(run: CalibrationRun, col: Collection, most: int | None) -> list[tuple[str, float, bool]]:
    while not run.is_done:
        run.measure_some(evidence_of(col), views_of(col), most)
    return [one for answers in run.answers for one in answers]


def test_a_group_is_asked_about_without_all_of_it(col: Collection) -> None:
    """Against annotators fitted to what is left of the tagged pictures without each group."""
    evidence = evidence_of(col)
    run = CalibrationRun(evidence, WHERE, together=7)
    groups = [list(group) for group in run.groups]
    assert sorted(map(len, groups)) == [3, 7, 7, 7]
    found = all_of(run, col, None)
    wanted, mix = [], run.choice.best
    assert mix > 0
    penalty = linear_of(evidence).penalty_
    for group in groups:
        left = [image for image in sorted(evidence.tags) if image not in group]
        rows, asked = (evidence.rows_of(views_of(col), some)[1] for some in (left, group))
        model = SparseAnnotator(alpha=ALPHA, nonnegative=True)
        model.fit(rows, [evidence.tags[image] for image in left])
        tags = [[tag in evidence.tags[image] for tag in model.tags_] for image in left]
        odds = log_odds(unit(rows), tags, unit(asked), penalty)
        shares = model.predict_scores(asked)
        scores = mixed_shares(shares, odds, mix)
        for at, image in enumerate(group):
            wanted += [
                (tag, scores[at, t], tag in evidence.tags[image])
                for t, tag in enumerate(model.tags_)
                if shares[at, t] > 0 or scores[at, t] > 0
            ]
    assert [(tag, true) for tag, _, true in sorted(found)] == [
        (tag, true) for tag, _, true in sorted(wanted)
    ]
    assert [s for _, s, _ in sorted(found)] == pytest.approx(
        [s for _, s, _ in sorted(wanted)], abs=1e-4
    )
    # In pieces that cut through groups: the same.
    pieces = all_of(CalibrationRun(evidence, WHERE, together=7), col, 2)
    assert [(t, r) for t, _, r in pieces] == [(t, r) for t, _, r in found]
    assert [s for _, s, _ in pieces] == pytest.approx([s for _, s, _ in found], abs=1e-6)


def test_groups_are_a_fiftieth(col: Collection) -> None:
    evidence = evidence_of(col)
    assert {len(group) for group in CalibrationRun(evidence, WHERE).groups} == {1}
    for tagged, size in ((99, 1), (149, 2), (500, 10)):
        evidence.tags = {image: [f"{image % 3}"] for image in range(tagged)}
        run = CalibrationRun(evidence, WHERE)
        assert max(map(len, run.groups)) == size
        assert run.n_left == min(tagged, calibrating.ASKED)
    # Fewer with each suggestion where each takes longer.
    assert run.step_size(500) == 12 > run.step_size(10_000) > run.step_size(50_000) == 3


def test_a_somewhat_old_curve_serves_until_the_next_is_there(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No suggestion after an accepted tag measures the whole curve."""
    monkeypatch.setattr(suggesting, "AT_ONCE", 10)
    monkeypatch.setattr(calibrating, "_PIECE", 5)
    picture = outside("red")
    first = col.suggest_tags(picture)[0]
    with monkeypatch.context() as patch:
        patch.setattr(suggesting, "measure_calibration", lambda *a: 1 / 0)
        for number in range(11):
            col.tag(inside("blue", number % 8), f"tag {number}")
        said = [col.suggest_tags(picture)[0].confidence]
        col.untag(inside("green", 0), "green")  # nobody asks about it any more
        said += [col.suggest_tags(picture)[0].confidence for _ in range(3)]
        assert set(said) == {first.confidence}
        run = runs_of(col)[("holistic",)]
        assert (run.n_left, run.asked) == (4, 19)
        col.suggest_tags(picture)
        made = curve_of(col, "holistic")
        assert made.pictures == 23
        assert not made.is_stale(evidence_of(col).number, len(evidence_of(col)))
        assert runs_of(col) == {}
        # Stored with the next write, for other processes.
        col.tags.reject(outside_tagged(col), "nothing")
        with Collection.open(col.root) as other:
            other.suggest_tags(picture)
            assert curve_of(other, "holistic") == made
        # Without changes in between, pieces make what a whole measurement makes.
        evidence = evidence_of(col)
        suggester, old = col.tags.suggester, Calibration(WHERE, evidence.number - 1)
        piecewise = suggester.continue_measuring(evidence, old)
        while runs_of(col):
            piecewise = suggester.continue_measuring(evidence, old)
    whole = measure_calibration(evidence, views_of(col), WHERE, silent)
    assert piecewise.pictures == whole.pictures == len(evidence)
    grid = np.linspace(0, 1, 50).tolist()
    assert [piecewise.confidence(s) for s in grid] == pytest.approx(
        [whole.confidence(s) for s in grid], abs=1e-6
    )


def test_suggesting_writes_nothing(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve is measured in memory, once; the next write stores it."""
    before = col.revision
    first = col.suggest_tags(outside("red"))
    assert first[0].calibrated
    assert col.tags.suggest_for_all(dry_run=True).measured
    assert col.revision == before
    assert store_of(col).setting("tag_calibration holistic") is None
    with monkeypatch.context() as patch:
        patch.setattr(suggesting, "measure_calibration", lambda *a: 1 / 0)
        assert col.suggest_tags(outside("red")) == first
        with Collection.open(col.root) as other, pytest.raises(ZeroDivisionError):
            other.suggest_tags(outside("red"))
        col.tag(inside("blue", 0), "stored with this")
        assert store_of(col).setting("tag_calibration holistic") is not None
        with Collection.open(col.root) as other:
            other.suggest_tags(outside("red"))
            assert curve_of(other, "holistic") == curve_of(col, "holistic")


def test_a_write_that_fails_stores_no_curve(col: Collection) -> None:
    col.suggest_tags(outside("red"))
    with pytest.raises(InvalidInput):
        col.tags.change([1], ["x"], source="suggested")
    assert store_of(col).setting("tag_calibration holistic") is None
    col.tag(1, "x")
    assert store_of(col).setting("tag_calibration holistic") is not None


def test_too_old_a_curve_serves_no_more(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggesting, "AT_ONCE", 10)
    col.suggest_tags(outside("red"))
    before = curve_of(col, "holistic")
    for number in range(41):
        col.tag(inside("blue", number % 8), f"tag {number}")
    col.suggest_tags(outside("red"))
    after = curve_of(col, "holistic")
    assert after.number > before.number + 40
    assert runs_of(col) == {}
    # A bulk run has its curve measured on the tags as they are.
    col.tag(inside("blue", 0), "one more")
    col.tags.suggest_for_all(dry_run=True)
    assert curve_of(col, "holistic").number == evidence_of(col).number


def test_one_tag_for_all_is_not_even_asked_about(col: Collection) -> None:
    evidence = evidence_of(col)
    evidence.tags = {image: ["all"] for image in evidence.tags}
    run = CalibrationRun(evidence, WHERE)
    assert run.is_done
    assert not run.curve(evidence).is_measured


def test_the_mix_is_what_left_out_pictures_say(col: Collection) -> None:
    """Of two opinions one of which only guesses, the other is followed; both are kept apart."""
    rng = np.random.default_rng(0)
    names = ["a", "b", "c", "all"]
    for better in ("shares", "odds"):
        evidence = evidence_of(col)
        evidence.tags = {at: [names[at % 3], "all"] for at in range(60)}
        run = CalibrationRun(evidence, WHERE)
        for at in range(60):
            right = np.array([*np.eye(3)[at % 3], 1.0])
            good = better == "shares", better == "odds"
            shares = 0.1 + 0.6 * right if good[0] else rng.random(4)
            odds = 1.6 * right - 0.8 + rng.normal(0, 0.3, 4) if good[1] else rng.normal(0, 2, 4)
            run._take_in(Opinion(names, shares, odds), {names[at % 3], "all"}, {})
        assert run.choice.pictures == 60
        assert run.choice.best <= 0.25 if good[0] else run.choice.best >= 0.75
        made = run.curve(evidence)
        assert made.mix == run.choice.best
        assert Calibration.from_json(made.to_json()) == made
        # Right ones and wrong ones have scores of their own here, and the curve knows.
        top = [answers[0][1] for answers in run.answers]
        assert min(made.confidence(score) for score in top) > 0.9


def test_without_a_linear_machine_shares_count(col: Collection) -> None:
    run = CalibrationRun(evidence_of(col), WHERE)
    run._take_in(Opinion(["a", "b", "c"], np.array([0.3, 0.0, 0.6]), None), {"a"}, {})
    assert run.choice.pictures == 0
    assert run.answers == [[("c", 0.6, False), ("a", 0.3, True)]]
    assert {len(run._answers[mix]) for mix in MIXES} == {1}


def test_tags_with_hardly_a_picture_left_choose_no_mix(col: Collection) -> None:
    evidence = evidence_of(col)
    evidence.tags = {at: ["pair" if at < 2 else f"tag {at % 2}"] for at in range(30)}
    run = CalibrationRun(evidence, WHERE)
    shares, odds = np.array([0.1, 0.5, 0.1]), np.array([3.0, -1.0, -1.0])
    opinion = Opinion(["pair", "tag 0", "tag 1"], shares, odds)
    run._take_in(opinion, {"pair"}, {"pair": 1})
    assert run.choice.pictures == 0
    assert run.choice.best == 0.5
    run._take_in(opinion, {"tag 0"}, {"tag 0": 13})
    assert run.choice.pictures == 0
    run._take_in(opinion, {"tag 0"}, {"tag 0": 12})
    assert run.choice.pictures == 1
    # They are asked about for the curve all the same.
    assert [len(answers) for answers in run.answers] == [3, 3, 3]
    assert ("pair", True) in {(tag, right) for tag, _, right in run.answers[0]}


def test_a_curve_from_before_the_mix_is_measured_again(col: Collection) -> None:
    col.suggest_tags(outside("red"))
    before = curve_of(col, "holistic")
    col.tags.reject(outside_tagged(col), "nothing")
    key = "tag_calibration holistic"
    said = store_of(col).setting(key)
    assert said is not None
    assert said["mix"] == before.mix
    del said["mix"]
    with store_of(col).write() as c:
        put_setting(c, key, {**said, "shares": [0.0] * len(said["shares"])})
    with Collection.open(col.root) as other:
        other.suggest_tags(outside("red"))
        assert curve_of(other, "holistic") == before


def test_the_curve_rises_from_the_lowest_score() -> None:
    x, y = calibrating.fit_isotonic(np.array([-0.05, 0.2, 0.9]), np.array([True, False, True]))
    assert x[0] == -0.05
    assert (np.diff(y) >= 0).all()
