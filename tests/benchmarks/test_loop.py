"""The loop benchmark measures what it says: halves, clicks, rests, gaps, and its contestants."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import harness
from benchmarks.loop import figure as loop_figure
from benchmarks.loop import transfer as loop_transfer
from benchmarks.loop.data import REPORTED, TUNING, Case, Pictures, best_first, cases
from benchmarks.loop.methods import (
    BOTH,
    FIXED,
    PLAIN,
    QUERY,
    Closed,
    Teacher,
    oasis,
    product,
    profile_part,
    query_part,
    rocchio,
    solis_ones,
    solis_zeros,
    svm,
)
from benchmarks.loop.protocol import CLICKS, ROUNDS, SHOWN, Tally, common, own, unseen
from benchmarks.loop.runs import (
    Size,
    contest,
    contestants,
    gap_rows,
    loop_rows,
    verdict,
    wrong_clicks,
)
from likewise_methods.solis import judging

N, WIDTH = 360, 1500


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(5)
    labels = np.arange(N) % 6
    # A third of a picture's words are among the hundred of its class, the rest are anybody's.
    chance = np.full((N, WIDTH), 0.05)
    for c in range(6):
        chance[labels == c, 100 * c : 100 * (c + 1)] = 0.25
    X = (rng.random((N, WIDTH)) < chance) * rng.lognormal(0, 0.5, (N, WIDTH))
    X = sp.csr_array((X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32))
    groups = {str(c): np.flatnonzero(labels == c) for c in range(6)}
    junk = {"0": np.flatnonzero(labels == 1)[:3]}
    return Pictures("generated", X, groups, junk)


@pytest.fixture(scope="module")
def case(pictures):
    return Case(pictures, "0", int(pictures.half("0", REPORTED)[0]), 0)


def oracle(case):
    return Closed(case, lambda c, *_: c.relevant.astype(float))


def test_halves_share_nothing_and_cover_the_group(pictures):
    for group, members in pictures.groups.items():
        tuning, reported = pictures.half(group, TUNING), pictures.half(group, REPORTED)
        assert not set(tuning) & set(reported)
        np.testing.assert_array_equal(np.sort([*tuning, *reported]), members)


def test_cases_are_drawn_by_seed_from_the_part_asked_for(pictures):
    got = list(cases(pictures, [0, 1], 3, TUNING))
    assert len(got) == 2 * 3 * 6
    assert all(c.query in pictures.half(c.group, TUNING) for c in got)
    again = list(cases(pictures, [0, 1], 3, TUNING))
    assert [c.query for c in got] == [c.query for c in again]


def test_neither_query_nor_junk_is_searched(case):
    assert not case.searched[case.query]
    assert not case.searched[case.pictures.junk["0"]].any()
    assert set(case.plain) == set(np.flatnonzero(case.searched))


def test_wrong_clicks_turn_about_their_share_round(case):
    np.testing.assert_array_equal(case.said(0.0), case.relevant)
    turned = np.mean(case.said(0.2) != case.relevant)
    assert 0.12 < turned < 0.28
    np.testing.assert_array_equal(case.said(0.2), case.said(0.2))
    # A larger share turns the same clicks and more.
    assert ((case.said(0.1) != case.relevant) <= (case.said(0.2) != case.relevant)).all()


def test_an_oracle_is_perfect_and_no_learning_stays_put(case):
    perfect = common(case, oracle)
    assert set(perfect.values()) == {1.0}
    plain = common(case, FIXED[PLAIN]())
    assert len({plain["1 click"], plain["3 clicks"], plain["10 clicks"], plain["round 1"]}) == 1
    assert list(plain)[: len(CLICKS)] == ["1 click", "3 clicks", "10 clicks"]


def test_the_own_loop_never_shows_a_picture_twice(case):
    seen = []

    class Watching(Closed):
        def judge(self, liked, disliked):
            seen.extend([*liked.tolist(), *disliked.tolist()])
            super().judge(liked, disliked)

    values = own(case, lambda c: Watching(c, query_part()(c).rank))
    assert len(seen) == len(set(seen)) == ROUNDS * SHOWN
    assert not set(seen) & {case.query, *case.pictures.junk["0"].tolist()}
    found = [values[f"found {r}"] for r in range(1, ROUNDS + 1)]
    assert found == sorted(found)
    assert found[-1] == case.relevant[seen].sum() / (case.relevant & case.searched).sum()


def test_an_oracle_finds_twenty_a_round_and_freezes_at_one(case):
    values = own(case, oracle)
    total = (case.relevant & case.searched).sum()
    assert values["found 1"] == min(SHOWN, total) / total
    assert values["found 5"] == 1.0
    assert values["frozen 1"] == 1.0


def test_frozen_ap_keeps_the_places_of_what_was_shown(case):
    """No learning: frozen places are the plain ranking, whatever the round."""
    values = own(case, FIXED[PLAIN]())
    hits = case.relevant[case.plain]
    recall = np.cumsum(hits) / hits.sum()
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    area, last_recall, last_precision = 0.0, 0.0, 1.0
    for r, p in zip(recall, precision, strict=True):
        area += (r - last_recall) * (p + last_precision) / 2
        last_recall, last_precision = r, p
    for r in range(1, ROUNDS + 1):
        assert values[f"frozen {r}"] == pytest.approx(area)


def test_rocchio_is_its_formula(case):
    liked, disliked = case.plain[:2], case.plain[2:5]
    session = rocchio(3.0, 0.5)(case)
    session.judge(liked[:1], disliked)
    session.judge(liked[1:], disliked[:0])
    X = case.pictures.X.toarray()
    row = X[case.query] + 3 * X[liked].mean(0) - 0.5 * X[disliked].mean(0)
    want = best_first(X @ row, case.searched)
    np.testing.assert_array_equal(best_first(session.scores(), case.searched)[:50], want[:50])


@pytest.mark.parametrize(
    "method",
    [svm(1.0), oasis(1.0), solis_zeros(1.0), solis_ones(0.1), profile_part(), product()],
    ids=["svm", "oasis", "zeros", "ones", "profile", "product"],
)
def test_learners_help_where_the_classes_have_words_of_their_own(case, method):
    assert common(case, method)["round 3"] > common(case, FIXED[PLAIN]())["round 3"] + 0.05


@pytest.mark.parametrize("liked", [0, 1])
def test_judgements_of_one_kind_are_enough_for_every_method(case, liked):
    for make in (svm(1.0), oasis(1.0), solis_zeros(1.0), product(), rocchio(3.0, 0.5)):
        session = make(case)
        pictures = case.plain[:2]
        session.judge(pictures[: 2 * liked], pictures[2 * liked :])
        assert np.isfinite(session.scores()).all()


def test_the_caps_hold_in_every_judgement(case):
    teacher = Teacher(case.pictures, judging.profile_learner(), 0, capped=True)
    before = teacher.weights()
    for r in range(6):
        shown = case.plain[20 * r : 20 * (r + 1)]
        teacher.judge(case.query, shown[case.relevant[shown]], shown[~case.relevant[shown]])
        now = teacher.weights()
        assert np.abs(now - before).max() <= judging.JUDGEMENT_REACH + 1e-12
        assert np.abs(now - 1).max() <= judging.SESSION_REACH + 1e-12
        before = now.copy()
    assert (before != 1).any()


def test_a_gap_is_paired_and_its_noise_is_that_of_distinct_queries(pictures):
    tally = Tally()
    for query, mine, other in ((1, 0.5, 0.4), (2, 0.9, 0.6)):
        for seed in (0, 1):
            asked = Case(pictures, "0", query, seed)
            tally.add("a", asked, {"s": mine})
            tally.add("b", asked, {"s": other})
    tally.add("a", Case(pictures, "0", 3, 0), {"s": float("nan")})
    gap, error = tally.gap("a", "b", ["s"])
    assert gap == pytest.approx(0.2)
    assert error == pytest.approx(0.1)
    assert tally.mean("a", "s") == pytest.approx(0.7)
    assert tally.spread("a", "s") == pytest.approx(0.0)
    assert verdict(gap, error).endswith("within noise")
    assert verdict(0.3, 0.1).endswith("above")
    assert verdict(-0.3, 0.1).endswith("below")


def test_a_lesson_changes_the_same_class_on_pictures_never_judged(pictures):
    tally = loop_transfer.one_class(pictures, judging.profile_learner, [0], groups=2)
    stages = [f"{kind} {n}" for kind in ("same", "other") for n in loop_transfer.TAUGHT]
    assert set(stages) == set(tally.values["profile"])
    assert tally.gap("profile", "plain", ["same 7"])[0] > 0.02
    assert tally.gap("profile", "plain", ["other 7"])[0] > -0.05
    assert 0 <= loop_transfer.harmed(tally, "other 7") <= 1


def test_tuning_of_a_profile_never_asks_reported_queries(pictures):
    for group in pictures.groups:
        teach, ask = loop_transfer.halves(pictures, group, True)
        assert not {*teach, *ask} & {*pictures.half(group, REPORTED)}
        teach, ask = loop_transfer.halves(pictures, group, False)
        assert not {*teach} & {*ask}


def test_mixed_lessons_and_clicks_give_both_sides(pictures):
    mixed = loop_transfer.mixed(pictures, judging.profile_learner, [0])
    assert set(mixed.values["plain"]) == {f"mixed {n}" for n in loop_transfer.MIXED}
    clicked = loop_transfer.after_one_click(pictures, judging.profile_learner, [0], 2)
    assert clicked.values["plain"][loop_transfer.CLICKED]


def test_rows_of_your_own_sparse_and_dense(pictures):
    groups = {name: members[:20] for name, members in list(pictures.groups.items())[:3]}
    rows = loop_rows("own", pictures.X, groups, pictures.junk, seeds=(0,), each=1)
    names = [str(row["method"]) for row in rows]
    assert {PLAIN, QUERY, BOTH} <= set(names)
    assert all({"set", "3 clicks", "round 1", "found %, round 3"} <= set(row) for row in rows)
    dense = np.asarray(pictures.X @ np.random.default_rng(0).normal(size=(WIDTH, 16)))
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    rows = loop_rows("own", dense.astype(np.float32), groups, seeds=(0,), each=1)
    names = [str(row["method"]) for row in rows]
    assert BOTH not in names
    assert QUERY in names


def test_tables_and_figures_come_out(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    size = Size((0, 1), 1, 2)
    methods = contestants(pictures, {"Rocchio, tuned": (3.0, 1.5), "linear SVM": (1.0,)})
    tally = contest(pictures, size, methods)
    noisy = wrong_clicks(pictures, Size((0,), 1, 2), methods, tally)
    assert 0 < len(noisy[0.0].values[BOTH]["round 1"]) < len(tally.values[BOTH]["round 1"])
    assert noisy[0.0].values[BOTH]["round 1"].items() <= tally.values[BOTH]["round 1"].items()
    assert noisy[0.2].mean(QUERY, "round 1") < noisy[0.0].mean(QUERY, "round 1")
    row = gap_rows("generated", tally, (PLAIN,))[0]
    assert "above" in str(row["rounds told (1 to 5)"])
    taught = loop_transfer.one_class(pictures, judging.profile_learner, [0], groups=1)
    pytest.importorskip("matplotlib", reason="figures need the extra bench")
    loop_figure.rounds({"generated": tally})
    loop_figure.clicks_and_transfer({"generated": noisy}, {"generated": taught}, (1, 3, 7))
    for name in ("loop.svg", "loop-clicks.svg"):
        assert "<svg" in (tmp_path / name).read_text()


def test_unseen_leaves_what_was_not_shown(case):
    rest = unseen(case, case.plain[:5])
    assert rest.sum() == case.searched.sum() - 5
    assert not rest[case.plain[:5]].any()
    assert sp.issparse(case.pictures.X)
