"""The logic of the benchmark of learning that stays, on small collections made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.staying import __main__ as parts
from benchmarks.staying import data, peers, report
from benchmarks.staying.data import Pictures, landmarks
from benchmarks.staying.figure import place
from benchmarks.staying.learning import alike_rankings, nearness, ordered
from benchmarks.staying.protocol import (
    LIKES,
    PAGES,
    PASSED,
    SHOWN,
    Judgement,
    Local,
    Split,
    counts_for,
    curve,
    inner,
    judgements,
    precision,
    precisions,
)
from likewise_lab.evaluation.retrieval import Task
from likewise_methods.evaluation.datasets import RetrievalQuery
from likewise_methods.solis.judging import RANDOM_WEIGHT
from likewise_methods.spaces import local_metric

N_CLASSES, EACH, WIDTH = 4, 40, 24


@pytest.fixture(scope="module")
def pictures() -> Pictures:
    """Classes that differ in few columns, noise that is loud in others, and pictures of none."""
    rng = np.random.default_rng(0)
    labels = np.repeat([*range(N_CLASSES), -1], EACH)
    X = rng.random((len(labels), WIDTH)) * np.linspace(0.4, 1.2, WIDTH)
    X[np.arange(N_CLASSES * EACH), labels[: N_CLASSES * EACH]] += 0.5
    junk = {0: np.flatnonzero(labels == 1)[:5]}
    return Pictures("made", X.astype(np.float32), labels, junk)


@pytest.fixture(scope="module")
def split(pictures: Pictures) -> Split:
    return Split.draw(pictures, 100, asked=40)


def test_halves_are_of_every_class_and_queries_of_the_other_half(split: Split) -> None:
    labels = split.pictures.labels
    for label in range(-1, N_CLASSES):
        assert split.judged[labels == label].sum() == EACH // 2
    assert not split.judged[split.queries].any()
    assert (np.bincount(labels[split.queries]) == 10).all()


def test_judgements_never_touch_the_asked_half_nor_junk_nor_the_query(split: Split) -> None:
    pictures = split.pictures
    said = list(judgements(split, 30))
    assert len(said) == 30
    for one in said:
        told = np.concatenate([one.liked, one.disliked])
        assert len(set(told.tolist())) == SHOWN
        assert split.judged[told].all()
        assert split.judged[one.query]
        assert one.query not in told
        assert not np.isin(told, pictures.junk.get(int(pictures.labels[one.query]), [])).any()
        assert (pictures.labels[one.liked] == pictures.labels[one.query]).all()
        assert (pictures.labels[one.disliked] != pictures.labels[one.query]).all()


def test_a_query_asked_again_is_shown_the_next_page(split: Split) -> None:
    n = len(split.to_judge())
    said = list(judgements(split, 10 * n))
    assert len(said) == PAGES * n
    first, again = said[0], said[n]
    assert first.query == again.query
    told = [set(np.concatenate([one.liked, one.disliked]).tolist()) for one in (first, again)]
    assert not told[0] & told[1]
    assert counts_for(split) == [1, 3, 10, 30, 100]


def test_only_the_classes_named_are_judged(split: Split) -> None:
    those, others = split.half_of_classes()
    assert sorted([*those, *others]) == list(range(N_CLASSES))
    asked = {int(split.pictures.labels[one.query]) for one in judgements(split, 40, classes=those)}
    assert asked == set(those.tolist())


def test_wrong_clicks_are_the_opposite_of_the_truth(split: Split) -> None:
    labels = split.pictures.labels
    wrong = total = 0
    for one in judgements(split, 60, wrong=0.2):
        wrong += int((labels[one.liked] != labels[one.query]).sum())
        wrong += int((labels[one.disliked] == labels[one.query]).sum())
        total += len(one.liked) + len(one.disliked)
    assert 0.15 < wrong / total < 0.25


def test_likes_alone_draw_negatives_or_take_what_was_passed_over(split: Split) -> None:
    whole = list(judgements(split, 20))
    passed_over = 0
    for full, likes, passed in zip(
        whole,
        judgements(split, 20, kind=LIKES),
        judgements(split, 20, kind=PASSED),
        strict=True,
    ):
        np.testing.assert_array_equal(likes.liked, full.liked)
        np.testing.assert_array_equal(passed.liked, full.liked)
        if len(full.liked):
            assert likes.weight == RANDOM_WEIGHT
            assert split.judged[likes.disliked].all()
            assert not np.isin(likes.disliked, likes.liked).any()
        if passed.weight == 1.0 and len(passed.disliked):
            passed_over += 1
            assert np.isin(passed.disliked, full.disliked).all()
    assert passed_over > 5


def test_average_precision_leaves_out_the_query_junk_and_the_other_half(split: Split) -> None:
    pictures = split.pictures
    query = int(split.queries[0])
    assert pictures.labels[query] == 0
    scores = np.where(pictures.labels == 0, 1.0, 0.0)
    # Before what is right: the query, its junk, and pictures of the judged half.
    scores[[query, *pictures.junk[0]]] = 3.0
    scores[split.judged] = 2.0
    assert precision(pictures, query, scores, ~split.judged) == 1.0
    stranger = np.flatnonzero(~split.judged & (pictures.labels == 2))[0]
    scores[stranger] = 4.0
    assert precision(pictures, query, scores, ~split.judged) < 1.0


def test_what_is_learned_helps_queries_nobody_judged(split: Split) -> None:
    plain = precisions(split, inner(split.pictures.rows)).mean()
    for learner in (Local(split.pictures), peers.Sums(split.pictures)):
        found = dict(curve(split, judgements(split, 100), learner, [1, 100]))
        assert list(found) == [1, 100]
        assert found[100].mean() > plain
    assert precisions(split, peers.svm(split)).mean() > plain


def test_sums_without_judgements_are_nearly_the_fitted_space(split: Split) -> None:
    """But for its shrinkage, which the probe's rule has not: the same pictures come first."""
    pictures = split.pictures
    found = peers.Sums(pictures).scores()(split.queries)
    plain = inner(pictures.rows)(split.queries)
    assert np.corrcoef(found.ravel(), plain.ravel())[0, 1] > 0.9


def test_pairs_are_there_once_and_at_most_as_many_as_asked() -> None:
    a = Judgement(0, np.array([1, 2]), np.array([3]))
    pairs, same = peers.pairs_of([a, a], 0)
    assert pairs.tolist() == [[0, 1], [0, 2], [0, 3]]
    assert same.tolist() == [True, True, False]
    fewer, _ = peers.pairs_of([a], 0, most=1)
    assert len(fewer) == 2


def test_rankings_agree_with_themselves_and_not_with_their_reverse(split: Split) -> None:
    scores = inner(split.pictures.rows)
    correlation, common = alike_rankings(split, scores, scores)
    assert correlation == pytest.approx(100)
    assert common == pytest.approx(100)
    correlation, common = alike_rankings(split, scores, lambda queries: -scores(queries))
    assert correlation == pytest.approx(-100)
    assert common < 5


def test_order_of_what_was_judged() -> None:
    said = [Judgement(0, np.array([1]), np.array([2, 3]))]
    assert ordered(said, lambda _: np.array([[0.0, 0.5, 0.4, 0.6]])).tolist() == [True, False]


def test_another_nearness_lasts_only_for_a_while() -> None:
    before = local_metric.NEARNESS
    with nearness(before + 1):
        assert before + 1 == local_metric.NEARNESS
    assert before == local_metric.NEARNESS


def test_landmarks_with_few_positives_are_no_class() -> None:
    many, few = frozenset("abc"), frozenset("de")
    queries = [
        RetrievalQuery("x", "a", many, frozenset("dg"), group="large"),
        RetrievalQuery("y", "d", few, group="small"),
    ]
    task = Task("made", "", {name: Path(name) for name in "abcdefg"}, queries)
    labels, junk = landmarks(task, least=3)
    assert labels.tolist() == [0, 0, 0, -1, -1, -1, -1]
    assert {label: found.tolist() for label, found in junk.items()} == {0: [3, 6]}


def test_the_space_row_ranks_every_picture_of_a_class(pictures: Pictures) -> None:
    row = report.space_row(pictures)
    assert row["queries"] == N_CLASSES * EACH
    perfect = np.eye(N_CLASSES + 1)[pictures.labels]
    assert report.both_measures(pictures, perfect) == (1.0, 1.0)


def test_numbers_on_the_axis_grow_from_zero_on() -> None:
    places = [place(n) for n in (0, 1, 10, 100, 1000)]
    assert places == sorted(set(places))


def test_parts_are_run_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(report, "write", lambda named, *, full: done.append((named, full)))
    monkeypatch.setattr(parts.subprocess, "run", lambda command, check: done.append(command[1:]))
    parts.main(["learning", "--full"])
    assert done == [(["learning"], True)]
    with pytest.raises(SystemExit):
        parts.main(["nothing"])


def test_a_set_that_is_missing_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "is_installed", lambda: True)
    monkeypatch.setattr(data, "space_rows", lambda *_: None)
    monkeypatch.setattr(data, "SETS", ("corel1k", "oxford1k"))
    left_out: list[str] = []
    assert list(data.sets(left_out)) == []
    assert left_out == [f"{name}: it is not among the data" for name in ("corel1k", "oxford1k")]
