"""The benchmark's own arithmetic: nothing trained on is searched, tuning is the same for all."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness
from benchmarks.solis import report as bench
from benchmarks.solis import widths as solis_widths
from benchmarks.solis.curves import cost_table, curves, postings_needed
from benchmarks.solis.data import Bags, generated, telling
from benchmarks.solis.methods import RIVALS, Ladder, fused, linear_svm, rocchio, solis
from benchmarks.solis.protocol import METHODS, Draw, draws, shared_draws
from benchmarks.solis.speed import numpy_ada
from benchmarks.solis.table import Table, compare, learnt
from benchmarks.solis.tuning import SLACK, TIE, Choice, Tuned, climb, tune_solis
from likewise_methods.solis.solis import SOLIS, posting_cost
from likewise_methods.solis.triplets import triplets_from_labels


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


@pytest.fixture(scope="module")
def tuned() -> Tuned:
    """As if chosen: one point for every method."""
    pair = Choice((0.01, 1.0), (0.1, 1.0), 0.5, 9, ())
    end = Choice((0.0, 1.0), (0.1, 1.0), 0.5, 9, (0,))
    each = dict.fromkeys(METHODS, pair)
    values = {"QPAO": 1.0, "OASIS": 1.0, "LEGO": 0.1, "LMNN": 10.0}
    one = {name: Choice((v,), (v,), 0.5, 4, ()) for name, v in values.items()}
    last = Choice((64.0,), (64.0,), 0.5, 8, (0,))
    yardsticks = {"Rocchio": last, "linear SVM": one["OASIS"]}
    times = dict.fromkeys(METHODS, one["OASIS"])
    return Tuned(each, {**each, "tg": end}, {"ada": pair}, one, times, yardsticks)


# -- draws ----------------------------------------------------------------------------------


def test_draws_keep_training_and_search_apart(bags: Bags, taken: list[Draw]) -> None:
    assert [d.group for d in taken] == ["0", "0", "1", "1"]
    for draw in taken:
        members = bags.groups[draw.group]
        (question,) = draw.questions
        gallery = set(question.gallery.tolist())
        trained = set(draw.triplets.ravel().tolist())
        assert trained == set(draw.positives.tolist()) | set(draw.negatives.tolist())
        assert not trained & gallery
        assert set(question.queries.tolist()) <= gallery
        assert len(question.queries) == 5
        assert set(draw.positives.tolist()) <= set(members.tolist())
        assert not set(draw.negatives.tolist()) & set(members.tolist())
        np.testing.assert_array_equal(question.relevant, np.isin(question.gallery, members))
        if draw.group == "0":
            assert not {0, 119} & (trained | gallery)


def test_shared_draws_train_one_vector_on_all_groups(bags: Bags) -> None:
    loose = Bags("toy", bags.counts, {g: bags.groups[g] for g in "0123"}, bags.junk)
    (draw,) = shared_draws(loose, loose.tf_idf, [0], 7, 3000)
    label = np.repeat(np.arange(6), 20)
    a, p, n = draw.triplets.T
    assert draw.triplets.shape == (3000, 3)
    assert (label[a] == label[p]).all()
    assert (label[a] != label[n]).all()
    assert (a != p).all()
    # Pictures of no group (classes 4 and 5 here) are only ever the farther one.
    assert set(label[a]) == {0, 1, 2, 3}
    assert {4, 5} <= set(label[n])
    trained = set(draw.triplets.ravel().tolist())
    assert not {0, 119} & trained
    assert len(draw.questions) == 4
    for number, question in enumerate(draw.questions):
        assert not trained & set(question.gallery.tolist())
        assert set(label[question.queries]) == {number}
        np.testing.assert_array_equal(question.relevant, label[question.gallery] == number)
    assert 0 not in draw.questions[0].gallery
    assert 0 in draw.questions[1].gallery


def test_a_perfect_ranking_scores_one(taken: list[Draw]) -> None:
    (question,) = taken[0].questions
    assert question.mean_ap(np.tile(question.relevant.astype(float), (5, 1))) == 1
    assert question.mean_ap(-np.tile(question.relevant.astype(float), (5, 1))) < 0.3


def test_ranked_is_the_learner_s_own_similarity(bags: Bags) -> None:
    (draw,) = shared_draws(bags, bags.tf_idf, [0], 7, 500)
    learner = solis("ada", draw, 0.01, 1.0).fit(draw.X, draw.triplets)
    assert draw.ranked(learner.weights_) == pytest.approx(draw.judged(learner.similarity))


def test_postings_are_what_a_search_visits(taken: list[Draw]) -> None:
    draw = taken[0]
    (question,) = draw.questions
    weights = np.where(np.arange(80) % 2, 0.0, 1.5)
    gallery = draw.X[question.gallery].toarray() != 0
    queries = (draw.X[question.queries].toarray() * weights) != 0
    expected = np.mean([(gallery & query).sum() for query in queries])
    assert draw.postings(weights) == expected


def test_yardsticks_run_and_learning_helps(taken: list[Draw]) -> None:
    found = []
    for draw in taken:
        learner = solis("ada", draw, 0.01, 1.0).fit(draw.X, draw.triplets)
        more = learnt(learner.weights_, draw, draw.touched(), 0.0, True)
        assert 0 <= float(str(more["sparsity %"])) <= 100
        weights = (np.ones(80), learner.weights_, fused(learner, draw, 3.0))
        values = [draw.ranked(w) for w in weights]
        found.append([*values, rocchio(draw, 4.0), linear_svm(draw, 1.0)])
    plain, *others = np.mean(found, axis=0)
    assert min(others) > plain


# -- tuning ---------------------------------------------------------------------------------

DECADES = Ladder((1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0), 0.1, 10.0)


@pytest.mark.parametrize("peak", [1e-2, 1.0, 100.0])
def test_windows_widen_until_the_best_lies_inside(peak: float) -> None:
    tried: list[float] = []

    def value(point: tuple[float, ...]) -> tuple[float, float]:
        tried.append(point[0])
        return -0.1 * abs(float(np.log10(point[0] / peak))), 0.0

    choice = climb((DECADES,), value)
    assert choice.best == (peak,)
    assert choice.edge == ((0,) if peak == 100 else ())
    assert choice.tried == len(tried) == len(set(tried))
    wanted = {1e-2: {1e-3, 1e-2}, 1.0: set(), 100.0: {100.0}}[peak]
    assert set(tried) == {0.1, 1.0, 10.0} | wanted


def test_the_sparse_choice_gives_up_at_most_a_point() -> None:
    """Quality falls by 0.4 points a decade of the first parameter, which makes it sparser."""
    ladder = Ladder((1e-3, 1e-2, 1e-1, 1.0), 1e-3, 1e-2)

    def value(point: tuple[float, ...]) -> tuple[float, float]:
        return 0.5 - 0.004 * float(np.log10(point[0] / 1e-3)), point[0]

    choice = climb((ladder, DECADES), value)
    assert choice.best[0] == 1e-3
    assert choice.sparse[0] == 0.1
    assert value(choice.sparse)[0] >= value(choice.best)[0] - SLACK
    assert choice.quality == 0.5


def test_noise_widens_no_window() -> None:
    choice = climb((DECADES,), lambda p: (0.5 + 0.9 * TIE * (p[0] == 10.0), 0.0))
    assert choice.best == (0.1,)
    assert choice.tried == 4


def test_tuning_beats_the_worst_of_its_grid(taken: list[Draw]) -> None:
    choice = tune_solis("ada", taken)

    def quality(point: tuple[float, ...]) -> float:
        values = [d.ranked(solis("ada", d, *point).fit(d.X, d.triplets).weights_) for d in taken]
        return float(np.mean(values))

    assert quality(choice.best) == pytest.approx(choice.quality)
    assert quality(choice.sparse) >= choice.quality - SLACK - TIE
    assert quality((0.3, 0.3)) <= choice.quality + TIE


def test_rivals_begin_with_wide_windows() -> None:
    windows = {name: (ladder.first, ladder.last) for name, (ladder, _) in RIVALS.items()}
    assert windows == {"QPAO": (0.1, 100), "OASIS": (0.1, 30), "LEGO": (0.1, 10), "LMNN": (10, 300)}
    for ladder, _ in RIVALS.values():
        low, high = ladder.window
        assert 0 < low < high < len(ladder.values) - 1
    assert RIVALS["LMNN"][1](30).max_iter == 30


# -- tables ---------------------------------------------------------------------------------


def test_table_means_and_paired_errors() -> None:
    table = Table()
    noise = np.array([-0.02, 0.02, -0.01, 0.01])
    for group in ("a", "b"):
        for shift in noise:
            table.add("plain", group, 0.4, **{"training s": 1.0})
            table.add("one", group, 0.45 + shift)
    table.found["plain"][0]["query ms"] = 3.0
    gap, error, n = table.gap("one", "plain")
    assert (gap, n) == (pytest.approx(0.05), 4)
    assert error == pytest.approx(noise.std(ddof=1) / 2)
    assert table.mean("plain", "query ms") == 3.0
    assert table.rows()[0] == {
        "method": "plain", "mAP %": "40.00", "±": "0.00", "training s": 1.0, "query ms": 3.0,
    }  # fmt: skip


@pytest.mark.slow
def test_the_whole_report(
    bags: Bags,
    tuned: Tuned,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All methods on toy draws: rows, curves, verdicts and the preface."""
    X = bags.tf_idf
    cost = posting_cost(X)
    found = bench.Found()
    report = harness.Report("toy", "A toy", "tiny")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        some = draws(bags, X, [0, 1], 2)
        table = compare(some, tuned, bags.tf, cost)
        none = Tuned(tuned.zeros, tuned.ones, tuned.costly, tuned.rivals, tuned.times, {})
        shared = compare(shared_draws(bags, X, [0, 1], 7, 500), none, bags.tf, cost)
    rows = curves(some[:1], tuned, cost)
    assert len(rows) == 4 * 2 * 7
    for title in ("oxford a", "oxford b"):
        found.tables[title], found.tuned[title] = table, tuned
        found.panels[title] = rows, 0.5
    found.shared["all"], found.tuned["all"] = shared, none
    found.drawn.append({"collection": "oxford a", **bench.used(some, bags)})
    bench.conclude(report, found)
    report.add("table", table.rows())
    text = report.write(tmp_path).read_text()
    capsys.readouterr()
    for words in (
        "tg (0, ", "Rocchio 64!", "| best weights minus Rocchio with the same positives |",
        "| ADA minus OASIS |", "## oxford b: along l1",
        "| SOLIS ada, word_cost, sparse |", "| linear SVM |",
    ):  # fmt: skip
        assert words in text
    names = [row["method"] for row in shared.rows()]
    assert "linear SVM" not in names
    assert len(names) == len(set(names)) == len(table.rows()) - 2


def test_cost_table_needs_no_more_than_the_curve(tuned: Tuned) -> None:
    rows: list[bench.Row] = [
        {"method": m, "word_cost": c, "postings a query": p * (0.5 if c == "df" else 1), "mAP %": q}
        for m in METHODS
        for c in ("none", "df")
        for p, q in ((10, 10.0), (100, 20.0), (1000, 30.0))
    ]
    assert postings_needed(rows, "ada", "none", 20.0) == pytest.approx(100)
    assert postings_needed(rows, "ada", "none", 25.0) == pytest.approx(10**2.5)
    assert np.isnan(postings_needed(rows, "ada", "none", 31.0))
    made = cost_table(rows)
    assert len(made) == 16
    assert {row["saved %"] for row in made} == {50.0}


def test_what_the_draws_take(bags: Bags) -> None:
    X = bags.tf_idf
    one, two = (draws(bags, X, [0], n) for n in (1, 2))
    assert bench.used(one, bags) == {
        "groups": 1, "of": 6, "draws": 1, "triplets a draw": "2,058", "negatives": "49",
    }  # fmt: skip
    assert bench.used(two, bags)["triplets a draw"] == "2,058 or 2,100"
    assert bench.used(draws(bags, X, [0]), bags)["groups"] == 6


# -- generated ------------------------------------------------------------------------------


def test_the_plain_loop_is_ada() -> None:
    X, labels = generated(300, 2000, 40, 0, classes=5)
    triplets = triplets_from_labels(labels, 500, random_state=0)
    loop = numpy_ada(X, triplets, 1e-5, 1.0, 0.01)
    learner = SOLIS("ada", l1=1e-5, eta=1.0, delta=0.01).fit(X, triplets)
    np.testing.assert_allclose(learner.weights_, loop, atol=1e-4)
    assert np.count_nonzero(loop) > 50
    np.testing.assert_allclose(sp.linalg.norm(X, axis=1), 1, rtol=1e-5)


def test_a_weight_a_word_can_learn_from_telling_words() -> None:
    counts, labels, words = telling(600, 5000, 60, 0, classes=10, pool=60)
    assert counts.shape == (600, 5000)
    np.testing.assert_array_equal(counts.sum(axis=1), 60)
    assert len(set(words.tolist())) == 60
    # Eight of each row's sixty words are telling ones, and of its own class's twenty.
    told = counts[:, words]
    np.testing.assert_array_equal(told.sum(axis=1), 8)
    for c in range(10):
        assert len(np.unique(told[np.flatnonzero(labels == c)].indices)) <= 20
    # The oracle that knows them is right where plain weights often are not.
    test = triplets_from_labels(labels, 5000, random_state=0)
    a, p, n = test.T

    def accuracy(X: sp.csr_array) -> float:
        S = (X @ X.T).toarray()
        return float(np.mean(S[a, p] > S[a, n]))

    assert accuracy(told) > accuracy(counts) + 0.05


def test_widths_train_and_test_on_different_pictures() -> None:
    p = solis_widths.problem(3000, 0, 500, 200)
    parts = [set(t.ravel().tolist()) for t in (p.train, p.validation, p.test)]
    assert max(parts[0]) < 200 <= min(parts[1])
    assert max(parts[1]) < 220 <= min(parts[2])
    assert p.X.shape == (240, 3000)


def test_generated_table_has_plain_weights_and_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solis_widths, "FEW", 200)
    rows = solis_widths.widths(0, 400, (2000, 4000), 300)
    names = ["plain", "tg", "da", "afb", "ada", "ada, sparse", "OASIS", "LEGO"]
    assert [r["learner"] for r in rows] == 2 * names
    p = solis_widths.problem(2000, 0, 400, 300)
    S = (p.X @ p.X.T).toarray().astype(float)
    a, near, far = p.test.T
    assert rows[0]["accuracy"] == pytest.approx(np.mean(S[a, near] > S[a, far]), abs=1e-3)
    for row in rows:
        accuracy, ties = float(str(row["accuracy"])), float(str(row["ties %"]))
        assert 0 <= accuracy <= 1 - ties / 100 + 1e-3
