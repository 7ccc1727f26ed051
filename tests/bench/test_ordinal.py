"""The ordinal benchmark's own arithmetic: protocols, scores, and findings that follow figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.bench import ordinal_findings as findings
from likewise.bench.ordinal_data import answered, error_of, flipped, planted
from likewise.bench.ordinal_paper import METHODS, diverged, step_curves, steps_table, to_goal
from likewise.bench.ordinal_paper import Paper as PaperRuns
from likewise.bench.ordinal_retrieval import class_triplets, scores
from likewise.bench.ordinal_runs import LOSSES, Run, watched
from likewise.evaluation.metrics import precision_at, triplet_error


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


def paper_facts(**passes: float) -> dict[str, Any]:
    """SBB after 7 passes and 5 ms, every rival after 20 and 40 ms, unless said otherwise."""
    one = {"test": 0.05, "passes": 20.0, "ms": 40.0, "diverged": 0}
    out = {loss: {name: dict(one) for name in METHODS} for loss in LOSSES}
    for loss in LOSSES:
        out[loss]["SVRG-SBB_eps"].update(passes=7.0, ms=5.0)
        for name, value in passes.items():
            out[loss][name].update(passes=value, ms=2 * value)
    return out


def test_findings_follow_the_figures() -> None:
    calm = paper_facts()
    assert "it holds:" in findings.first_to_goal(calm, findings.TUNED, "tuned")
    assert "Here it holds" in findings.speed_up(calm)
    zero = {"ste 0.01": 0, "ste 0.05": 0}
    assert "does not hold" in findings.stability({"SBB_0": zero, "SBB_eps": zero}, 20)
    assert "it holds (" in findings.same_end(calm)
    fast = paper_facts(**{"SGD, tuned": 1.0})
    assert "holds in 12 of 15" in findings.first_to_goal(fast, findings.TUNED, "tuned")
    assert "it holds:" in findings.first_to_goal(fast, findings.UNTUNED, "untuned")
    assert "does not hold" in findings.speed_up(fast)
    some = {"ste 0.01": 12, "ste 0.05": 0}
    wild = findings.stability({"SBB_0": some, "SBB_eps": zero}, 20)
    assert "Here it holds" in wild
    assert "STE from 0.01 12" in wild
    fast["ste"]["SVRG-SBB_0"]["test"] = 0.2
    assert "does not hold for all" in findings.same_end(fast)
    never = paper_facts(**dict.fromkeys(findings.TUNED, -1.0))
    assert "SGD never" in findings.first_to_goal(never, findings.TUNED, "tuned")


def test_goals_are_missed_when_they_are() -> None:
    peer = {"objects": 1_000, "cblearn": "GNMDS", "times faster": 44.0, "our best": "x",
            "svrg-sbb, times faster": 9.0}  # fmt: skip
    row = {"n": 10_000, "loss": "gnmds", "reached": True}
    facts = [
        {**row, "solver": "lbfgs", "seconds": 1.6},
        {**row, "solver": "adagrad", "seconds": 0.9},
        {**row, "solver": "svrg-sbb", "seconds": 3.2},
    ]
    good = findings.targets({"peers": [peer], "facts": facts})
    assert "Reached: GNMDS 44.0" in good[0]
    assert "Reached: adagrad" in good[1]
    assert "svrg-sbb GNMDS 2.00 times" in good[1]
    facts[1]["seconds"] = 1.7
    bad = findings.targets({"peers": [{**peer, "times faster": 19.0}], "facts": facts})
    assert "Missed: GNMDS 19.0" in bad[0]
    assert "Missed: adagrad" in bad[1]


def test_questions_speak_of_error() -> None:
    sure = {"a": {"gap": [-0.02, 0.005]}}
    assert "ones: yes" in findings.questions(sure)
    unsure = {"a": {"gap": [-0.002, 0.005]}}
    assert "within two standard errors" in findings.questions(unsure)
    assert "not everywhere" in findings.questions(unsure)
