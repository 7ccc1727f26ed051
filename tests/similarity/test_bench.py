"""The benchmark's own arithmetic: nothing trained on is searched, and the plain loop is ADA."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from likewise.bench import solis as bench
from likewise.bench.solis_data import Bags, generated
from likewise.bench.solis_protocol import Draw, draws, fused, linear_svm, rocchio, solis
from likewise.bench.solis_speed import numpy_ada
from likewise.similarity.solis import SOLIS
from likewise.similarity.triplets import triplets_from_labels


@pytest.fixture(scope="module")
def bags() -> Bags:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 20)
    counts = rng.poisson(0.3, (120, 80)) + 3 * (rng.random((120, 80)) < 0.4) * (
        np.arange(80) % 6 == labels[:, None]
    )
    groups = {str(c): np.flatnonzero(labels == c) for c in range(6)}
    return Bags("toy", sp.csr_array(counts), groups, {"0": np.array([0, 119])})


@pytest.fixture(scope="module")
def taken(bags: Bags) -> list[Draw]:
    return draws(bags, bags.tf_idf, [0, 1], 2)


def test_draws_keep_training_and_search_apart(bags: Bags, taken: list[Draw]) -> None:
    assert [d.group for d in taken] == ["0", "0", "1", "1"]
    for draw in taken:
        members = bags.groups[draw.group]
        trained = set(draw.triplets.ravel().tolist())
        assert trained == set(draw.positives.tolist()) | set(draw.negatives.tolist())
        assert not trained & set(draw.gallery.tolist())
        assert set(draw.queries.tolist()) <= set(draw.gallery.tolist())
        assert len(draw.queries) == 5
        assert set(draw.positives.tolist()) <= set(members.tolist())
        assert not set(draw.negatives.tolist()) & set(members.tolist())
        np.testing.assert_array_equal(draw.relevant, np.isin(draw.gallery, members))
        if draw.group == "0":
            assert not {0, 119} & (trained | set(draw.gallery.tolist()))


def test_a_perfect_ranking_scores_one(taken: list[Draw]) -> None:
    draw = taken[0]
    assert draw.mean_ap(np.tile(draw.relevant.astype(float), (5, 1))) == 1
    assert draw.mean_ap(-np.tile(draw.relevant.astype(float), (5, 1))) < 0.3


def test_postings_are_what_a_search_visits(taken: list[Draw]) -> None:
    draw = taken[0]
    weights = np.where(np.arange(80) % 2, 0.0, 1.5)
    gallery = draw.X[draw.gallery].toarray() != 0
    queries = (draw.X[draw.queries].toarray() * weights) != 0
    expected = np.mean([(gallery & query).sum() for query in queries])
    assert draw.postings(weights) == expected


def test_yardsticks_run_and_learning_helps(taken: list[Draw]) -> None:
    found = []
    for draw in taken:
        learner = solis("ada", draw, 0.01, 1.0).fit(draw.X, draw.triplets)
        more = bench.learnt(learner.weights_, draw, draw.touched(), 0.0)
        assert 0 <= float(str(more["sparsity %"])) <= 100
        values = [draw.ranked(w) for w in (np.ones(80), learner.weights_, fused(learner, draw))]
        found.append([*values, rocchio(draw, 4.0), linear_svm(draw)])
    plain, *others = np.mean(found, axis=0)
    assert min(others) > plain


def test_the_plain_loop_is_ada() -> None:
    X, labels = generated(300, 2000, 40, 0, classes=5)
    triplets = triplets_from_labels(labels, 500, random_state=0)
    loop = numpy_ada(X, triplets, 1e-5, 1.0, 0.01)
    learner = SOLIS("ada", l1=1e-5, eta=1.0, delta=0.01).fit(X, triplets)
    np.testing.assert_allclose(learner.weights_, loop, atol=1e-4)
    assert np.count_nonzero(loop) > 50
    np.testing.assert_allclose(sp.linalg.norm(X, axis=1), 1, rtol=1e-5)


def test_postings_needed_interpolates() -> None:
    rows: list[bench.Row] = [
        {"method": "ada", "word_cost": "none", "postings a query": p, "mAP %": m}
        for p, m in ((10, 10.0), (100, 20.0), (1000, 30.0))
    ]
    assert bench.postings_needed(rows, "ada", "none", 20.0) == pytest.approx(100)
    assert bench.postings_needed(rows, "ada", "none", 25.0) == pytest.approx(10**2.5)
    assert np.isnan(bench.postings_needed(rows, "ada", "none", 31.0))
