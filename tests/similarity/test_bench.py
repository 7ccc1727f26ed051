"""The benchmark's own arithmetic: nothing trained on is searched, and the plain loop is ADA."""

from __future__ import annotations

import types

import numpy as np
import pytest
import scipy.sparse as sp

from likewise.bench import solis as bench
from likewise.bench import solis_findings, solis_speed
from likewise.bench.solis_data import Bags, generated
from likewise.bench.solis_protocol import RIVALS, Draw, draws, fused, linear_svm, rocchio, solis
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


def _table(**gaps: float) -> bench.Table:
    """Two groups of four draws; each method beats TF-IDF by about so much."""
    table = bench.Table()
    noise = np.array([-0.02, 0.02, -0.01, 0.01])
    for group in ("a", "b"):
        draw = types.SimpleNamespace(group=group)
        for shift in noise:
            table.add("TF-IDF", draw, 0.4)  # type: ignore[arg-type]
            for name, gap in gaps.items():
                table.add(name, draw, 0.4 + gap + shift)  # type: ignore[arg-type]
    return table


def test_gaps_within_error_decide_nothing() -> None:
    noise = np.array([-0.02, 0.02, -0.01, 0.01])
    error = noise.std(ddof=1) / 2
    table = _table(clear=0.05, faint=0.01, worse=-0.05)
    for name, gap in (("clear", 0.05), ("faint", 0.01), ("worse", -0.05)):
        np.testing.assert_allclose(table.gap(name, "TF-IDF"), (gap, error))

    def said(*names: str) -> str:
        tables = {name: _table(one={"clear": 0.05, "faint": 0.01, "worse": -0.05}[name])
                  for name in names}  # fmt: skip
        return solis_findings._claim("It is so.", tables, lambda _: ("one", "TF-IDF"), "the gap")

    assert "Here: holds (" in said("clear")
    assert "Here: within error (" in said("faint")
    assert "faint +1.0 ± 0.9 (within error)" in said("faint")
    assert "Here: does not hold (" in said("worse")
    assert "Here: holds on 1 of 3, within error on 1 (" in said("clear", "faint", "worse")


def test_generated_table_has_plain_weights_and_ties() -> None:
    rows = solis_speed.widths(0, 300, (2000, 4000), 200)
    assert [r["learner"] for r in rows[:7]] == ["plain", "tg", "da", "afb", "ada", "OASIS", "LEGO"]
    assert len(rows) == 14
    for row in rows:
        accuracy, ties = float(str(row["accuracy"])), float(str(row["ties %"]))
        assert 0 <= accuracy <= 1 - ties / 100 + 1e-3
    X, labels = generated(200, 2000, 290, 0)
    test = triplets_from_labels(labels, 20_000, random_state=1)
    S = (X @ X.T).toarray().astype(float)
    a, p, n = test.T
    assert rows[0]["accuracy"] == pytest.approx(np.mean(S[a, p] > S[a, n]), abs=1e-3)
    assert "ADA" in solis_speed.growth(rows)


def test_facts_are_stated(bags: Bags) -> None:
    assert bench.used(bags, 1) == "the first 1 of 6 groups; 2,058 triplets a draw (49 negatives)."
    assert "2,058 or 2,100 triplets a draw (49 or 50 negatives)" in bench.used(bags, 2)
    assert bench.used(bags, None).startswith("all 6 groups")
    speed: list[bench.Row] = [
        {"learner": "SOLIS ada", "against the loop": 18.8},
        {"learner": "SOLIS ada, triplets sorted by anchor", "against the loop": 26.5},
    ]
    assert "is not reached in random order (18.8x; 26.5x sorted" in solis_speed.goal(speed)


def test_rivals_are_tuned_over_wide_grids() -> None:
    assert {name: tuple(grid) for name, (grid, _) in RIVALS.items()} == {
        "QPAO": (0.1, 1, 10, 100),
        "OASIS": (0.1, 0.3, 1, 3, 10, 30),
        "LEGO": (0.1, 10),
        "LMNN": (10, 30, 100),
    }
    assert RIVALS["LMNN"][1](30).max_iter == 30


def test_postings_needed_interpolates() -> None:
    rows: list[bench.Row] = [
        {"method": "ada", "word_cost": "none", "postings a query": p, "mAP %": m}
        for p, m in ((10, 10.0), (100, 20.0), (1000, 30.0))
    ]
    assert bench.postings_needed(rows, "ada", "none", 20.0) == pytest.approx(100)
    assert bench.postings_needed(rows, "ada", "none", 25.0) == pytest.approx(10**2.5)
    assert np.isnan(bench.postings_needed(rows, "ada", "none", 31.0))
