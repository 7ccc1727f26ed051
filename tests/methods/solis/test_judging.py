"""The profile part: which triplets a judgement makes, and how far they move a weight."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.solis import judging
from likewise_methods.solis.judging import judgement_triplets, lesson, profile_learner, within_reach


@pytest.mark.parametrize(("n_liked", "n_negatives"), [(1, 1), (3, 4), (0, 5), (19, 1)])
def test_every_pair_once_and_the_query_is_the_anchor(n_liked, n_negatives):
    got = judgement_triplets(n_liked, n_negatives, seed=3)
    liked = range(1, 1 + n_liked) if n_liked else [0]
    negatives = range(1 + n_liked, 1 + n_liked + n_negatives)
    assert {tuple(row) for row in got.tolist()} == {
        (0, a, b) for a, b in itertools.product(liked, negatives)
    }
    assert got.dtype == np.int64
    assert len(got) == len(liked) * n_negatives


def test_at_most_the_limit_by_seed():
    got = judgement_triplets(40, 50, seed=1)
    assert got.shape == (judging.LIMIT, 3)
    assert len({tuple(row) for row in got.tolist()}) == judging.LIMIT
    np.testing.assert_array_equal(got, judgement_triplets(40, 50, seed=1))
    assert not np.array_equal(got, judgement_triplets(40, 50, seed=2))
    assert len(judgement_triplets(4, 5, seed=1, limit=7)) == 7


def test_no_negatives_no_triplets():
    assert judgement_triplets(3, 0, seed=0).shape == (0, 3)


def test_bad_counts_are_refused():
    with pytest.raises(InvalidInput, match="n_liked"):
        judgement_triplets(-1, 2, seed=0)
    with pytest.raises(InvalidInput, match="limit"):
        judgement_triplets(1, 2, seed=0, limit=0)


def judged(X, labels, query):
    """The picture's 20 nearest by plain similarity, liked and disliked by class."""
    order = np.argsort(-(X @ X[[query]].toarray()[0]), kind="stable")
    near = order[order != query][:20]
    right = labels[near] == labels[query]
    return near[right], near[~right]


def own_words(width, per_row, n=120, classes=4):
    """Unit rows, a third of whose words are among the few of their class."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % classes
    few = width // 10
    chance = np.full((n, width), 2 * per_row / 3 / width)
    for c in range(classes):
        chance[labels == c, few * c : few * (c + 1)] += per_row / 3 / few
    X = (rng.random((n, width)) < chance) * rng.lognormal(0, 0.5, (n, width))
    return sp.csr_array((X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)), labels


@pytest.mark.parametrize(("width", "per_row"), [(10_000, 400), (1280, 128)])
def test_a_judgement_turns_its_own_triplets_and_moves_within_reach(width, per_row):
    X, labels = own_words(width, per_row)
    liked, disliked = judged(X, labels, 0)
    small = X[np.concatenate([[0], liked[:10], disliked[:10]])]
    triplets = judgement_triplets(min(len(liked), 10), min(len(disliked), 10), seed=0)
    learner = profile_learner().partial_fit(*lesson(small, triplets))
    plain = profile_learner().partial_fit(small, triplets[:1], [0.0])
    assert plain.changed_ == 0
    before = plain.margins(small, triplets)
    after = learner.margins(small, triplets)
    # In units of the plain score gaps: the same constants suit both kinds of rows.
    assert after.mean() > before.mean() + before.std()
    assert (after > before).mean() > 0.9
    moved = np.abs(learner.weights_ - 1)
    assert (learner.weights_ >= 0).all()
    assert np.quantile(moved[moved > 0], 0.5) < judging.JUDGEMENT_REACH
    assert 0 < learner.changed_ < 0.5


def test_a_query_that_is_its_own_positive_learns_as_with_margin_one():
    X, labels = own_words(1280, 128)
    _, disliked = judged(X, labels, 0)
    small = X[np.concatenate([[0], disliked])]
    triplets = judgement_triplets(0, len(disliked), seed=0)
    learner = profile_learner().partial_fit(*lesson(small, triplets))
    wide = profile_learner()
    wide.margin = 1.0
    wide.partial_fit(small, triplets)
    np.testing.assert_allclose(learner.weights_, wide.weights_, atol=1e-6)
    assert learner.changed_ > 0
    # Without it the margin is reached from the start.
    assert profile_learner().partial_fit(small, triplets).changed_ == 0


def test_a_lesson_with_liked_pictures_is_left_as_it_is():
    X, _ = own_words(1280, 128)
    triplets = judgement_triplets(2, 3, seed=0)
    rows, same, weights = lesson(X[:6], triplets, 0.25)
    assert rows.shape == (6, 1280)
    np.testing.assert_array_equal(same, triplets)
    assert set(weights.tolist()) == {0.25}


def test_a_random_negative_moves_less():
    X, labels = own_words(5000, 300, n=300, classes=10)
    liked, disliked = judged(X, labels, 0)
    small = X[np.concatenate([[0], liked, disliked])]
    triplets = judgement_triplets(len(liked), len(disliked), seed=0)
    full = profile_learner().partial_fit(small, triplets)
    quarter = profile_learner().partial_fit(
        small, triplets, np.full(len(triplets), judging.RANDOM_WEIGHT)
    )
    assert np.abs(quarter.weights_ - 1).sum() < 0.6 * np.abs(full.weights_ - 1).sum()


def test_nothing_fades_by_later_judgements():
    X = 0.5 * (np.eye(6)[[0, 0, 1, 2, 2, 3]] + np.eye(6)[[4, 4, 4, 5, 5, 5]])
    learner = profile_learner().partial_fit(X, [[0, 1, 2]])
    first = learner.weights_[:2].copy()
    assert first[0] > 1
    for _ in range(50):
        learner.partial_fit(X, [[3, 4, 5]])
    np.testing.assert_array_equal(learner.weights_[:2], first)


def test_an_untouched_word_keeps_weight_one():
    X = np.array([[0.8, 0.6, 0, 0], [0.6, 0, 0.8, 0], [0, 0.6, 0, 0.8]])
    weights = profile_learner().partial_fit(X, [[0, 1, 2]]).weights_
    assert weights[2] == weights[3] == 1.0
    assert weights[0] > 1 > weights[1]


def test_reach_bounds_what_a_judgement_and_a_session_may_do():
    rng = np.random.default_rng(0)
    offset, before, began = rng.normal(0, 3, (3, 500))
    began = before + np.clip(began, -judging.SESSION_REACH, judging.SESSION_REACH)
    held = within_reach(offset, before, began)
    assert (np.abs(held - began) <= judging.SESSION_REACH + 1e-12).all()
    assert (np.abs(held - before) <= judging.JUDGEMENT_REACH + 1e-12).all()
    free = (np.abs(offset - before) <= 0.5) & (np.abs(offset - began) <= 2.0)
    np.testing.assert_array_equal(held[free], offset[free])
