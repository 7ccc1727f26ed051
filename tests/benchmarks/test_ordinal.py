"""The ordinal benchmark's own arithmetic: protocols and scores."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.ordinal.data import answered, error_of, flipped, planted
from benchmarks.ordinal.paper import Paper as PaperRuns
from benchmarks.ordinal.paper import diverged, step_curves, steps_table, to_goal
from benchmarks.ordinal.peers import faster, plain_fits
from benchmarks.ordinal.people import SOLVERS, vote_noise
from benchmarks.ordinal.report import wanted
from benchmarks.ordinal.retrieval import Scores, _tables, class_triplets, scores
from benchmarks.ordinal.runs import Run, watched, within
from benchmarks.ordinal.scale import DASH, P, shown
from likewise_methods.evaluation.metrics import precision_at, triplet_error


def test_planted_comparisons_are_right_new_and_apart() -> None:
    split = planted(20, 3, 400, 300, 0)
    rows = np.vstack([split.train, split.test])
    questions = {(a, *sorted((b, c))) for a, b, c in rows.tolist()}
    assert len(questions) == 700  # without replacement
    points = np.random.default_rng(0).normal(0.0, np.sqrt(1 / 20), (20, 3))
    assert error_of(points, split.train) == 0
    wrong = flipped(split.train, 0.5, np.random.default_rng(1))
    assert 0.4 < error_of(points, wrong) < 0.6
    assert error_of(points, answered(points, wrong)) == 0
    assert error_of(points, wrong) == triplet_error(points, wrong)


def test_a_watched_run_ends_at_its_budget_or_goal() -> None:
    split = planted(20, 2, 300, 200, 0)
    run = watched("svrg-sbb", "ste", split, 2, 0, budget=10)
    # A full gradient, then three passes an epoch (six where the guard takes one back).
    assert run.passes[0] == 1
    assert all(gap % 3 == 0 for gap in np.diff(run.passes))
    assert run.passes[-2] < 10 <= run.passes[-1]
    assert run.test[-1] < run.test[0]
    assert run.seconds == sorted(run.seconds)
    short = watched("sgd", "ste", split, 2, 0, budget=60, goal=0.2)
    assert short.test[-1] <= 0.2 < min(short.test[:-1])
    assert short.reached(0.2, "test") == len(short.test) - 1
    assert run.best(4) == int(np.argmin(run.objective[:2]))


def a_run(train: list[float], step: list[float], objective: list[float]) -> Run:
    n = len(train)
    return Run(
        list(map(float, range(n))), train, train, objective, step, list(map(float, range(n)))
    )


def test_medians_over_starts_count_those_that_never_came() -> None:
    good = a_run([0.5, 0.2, 0.1], [1, 1, 1], [3, 2, 1])
    never = a_run([0.5, 0.4, 0.4], [1, 1, 1], [3, 2, 1])
    assert to_goal([good, good, never]) == (2.0, 2000.0, 2)
    assert to_goal([good, never, never])[0] == np.inf
    assert not diverged(good)
    assert diverged(a_run([0.5, 0.5], [1, 1], [1.0, np.nan]))
    assert diverged(a_run([0.5, 0.5], [1, 1], [1.0, 101.0]))


def test_step_tables_look_at_the_largest_jump() -> None:
    calm = a_run([0.5] * 4, [0.1, 0.1, 0.2, 0.2], [4, 3, 2, 1])
    wild = a_run([0.5] * 4, [0.1, 0.1, 5.0, 0.2], [4, 3, 9, np.nan])
    names = ("SVRG-SBB_eps, no guards", "SVRG-SBB_0, no guards")
    runs = {names[0]: [calm] * 3, names[1]: [wild] * 3}
    rows = steps_table(PaperRuns({"ste": runs}))
    assert [r["worst start"] for r in rows] == [2.0, 50.0]
    assert [r["starts diverged"] for r in rows] == [0, 3]
    assert step_curves(runs)[names[1]][2] == [0.1, 5.0, 0.2]


def test_retrieval_scores_leave_the_query_out() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 40)
    places = rng.normal(size=(120, 2)) + labels[:, None]
    found = scores(places, labels)
    aps, precisions = [], []
    for q in range(120):
        order = [r for r in np.argsort(((places - places[q]) ** 2).sum(axis=1), kind="stable")
                 if r != q]  # fmt: skip
        right = [bool(labels[r] == labels[q]) for r in order]
        precisions.append(precision_at(right, 40))
        aps.append(sum(np.mean(right[: r + 1]) for r in range(40) if right[r]) / 39)
    assert found.map == pytest.approx(np.mean(aps))
    assert found.precision == pytest.approx(np.mean(precisions))
    perfect = scores(np.eye(3)[labels] + 1e-6 * rng.normal(size=(120, 3)), labels)
    assert perfect.map == pytest.approx(1.0)
    assert perfect.precision == pytest.approx(39 / 40)
    assert perfect.recall == (1.0, 1.0, 1.0, 1.0)


def test_class_made_triplets_are_of_classes() -> None:
    labels = np.repeat(np.arange(4), 10)
    i, j, k = class_triplets(labels, 500, np.random.default_rng(0)).T
    assert (labels[i] == labels[j]).all()
    assert (labels[i] != labels[k]).all()
    assert (i != j).all()


def test_every_solver_has_the_same_passes() -> None:
    split = planted(20, 2, 300, 50, 0)
    start = within("sgd", "ste", split.train, 20, 2, 0, 0)[0]
    for solver in SOLVERS:
        points, passes = within(solver, "ste", split.train, 20, 2, 0, 10)
        assert 7 <= passes <= 10, solver
        assert error_of(points, split.train) < error_of(start, split.train)
    # What lies beyond the budget is not looked at: an epoch of SVRG after the first gradient.
    assert within("svrg", "ste", split.train, 20, 2, 0, 3.9)[1] == 1


def test_retrieval_tables_have_every_noise() -> None:
    def found(value: float) -> list[Scores]:
        return [Scores(value, value / 2, (value / 4,) * 4)]

    results = {("ste", "svrg-sbb", level, "s"): found(0.8 - level) for level in (0.0, 0.05, 0.1)}
    (_, first), (_, second) = _tables("s", results, found(0.4), {("ste", "svrg-sbb"): [61.0, 58.0]})
    assert [row["solver"] for row in first] == ["features as they are", "svrg-sbb"]
    assert first[1]["passes"] == 59.5
    assert [first[1][f"MAP, {n} %"] for n in (0, 5, 10)] == [0.8, 0.75, 0.7]
    assert [first[1][f"precision@40, {n} %"] for n in (0, 5, 10)] == [0.4, 0.375, 0.35]
    assert second[1]["recall@100, 10 %"] == 0.175
    assert len(second[1]) == 2 + 12
    assert first[0]["MAP, 10 %"] == 0.4


def test_no_ratio_without_two_times() -> None:
    row = {"n": 100, "loss": "ste", "passes": 20.0, "error": 0.05, "starts": 3}
    here = {**row, "reached": True, "there": 3}
    gone = {**row, "reached": False, "there": 1, "error": 0.06}
    both = shown([{**here, "solver": "sgd", "seconds": 1.0},
                  {**gone, "solver": "adagrad", "seconds": 9.0},
                  {**here, "solver": "lbfgs", "seconds": 2.0}])  # fmt: skip
    assert [r["time / L-BFGS's"] for r in both] == [0.5, DASH, 1.0]
    assert both[1]["reached"] == "no, 1 of 3: converged above it"
    none = shown([{**here, "solver": "sgd", "seconds": 1.0},
                  {**gone, "solver": "lbfgs", "seconds": 2.0, "passes": 200.0}])  # fmt: skip
    assert [r["time / L-BFGS's"] for r in none] == [DASH, DASH]
    assert none[1]["reached"] == "no, 1 of 3: budget spent"


def test_plain_fits_stand_beside_the_peer() -> None:
    split = planted(20, P, 2_000, 500, 0)
    theirs = {"seconds": 1000.0, "error": 1.0, "version": "9"}
    rows = plain_fits(split, {"gnmds": theirs, "ste": {"failed": "no end within 60"}})
    assert [r["library"] for r in rows] == ["cblearn 9"] + 3 * ["likewise"] + ["cblearn"] + [
        "likewise"
    ] * 3
    assert [r["solver"] for r in rows[1:4]] == ["svrg-sbb", "adagrad", "lbfgs"]
    assert all(float(str(r["test error"])) < 0.4 and r["ended"] for r in rows[1:4])
    assert all(isinstance(r["times faster"], float) for r in rows[:4])
    assert [r["times faster"] for r in rows[5:]] == [DASH] * 3
    assert faster({"seconds": 1.0, "error": 0.2}, {**theirs, "error": 0.1}) == DASH
    assert faster({"seconds": 4.0, "error": 0.2}, theirs) == 250.0


def test_single_votes_tell_their_noise() -> None:
    rng = np.random.default_rng(0)
    against = rng.binomial(4, 0.1, 2_000)
    rows = np.column_stack([np.arange(2_000), np.arange(2_000) + 1, np.arange(2_000) + 2])
    counts = np.column_stack([4 - against, against])
    assert vote_noise(rows.astype(np.int32), counts) == pytest.approx(0.1, abs=0.01)


def test_parts_are_measured_and_the_others_kept() -> None:
    given = ["bench", "--parts=steps,paper", "--seed", "1"]
    assert wanted(given) == (True, ["steps", "paper"])
    assert given == ["bench", "--seed", "1"]
    assert wanted(["bench"]) == (False, [])
    assert wanted(["bench", "--resume"]) == (True, [])
    with pytest.raises(SystemExit, match="no section stairs"):
        wanted(["bench", "--parts=stairs"])
