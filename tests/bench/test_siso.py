"""The SISO benchmark on small data: its figures are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.bench.siso_data import Tagged, enlarged
from likewise.bench.siso_growth import at_size, changed, crossing, percent
from likewise.bench.siso_peers import PEERS, available, judged, run_peer, versions
from likewise.bench.siso_speed import ours, reached, sub_solvers, table
from likewise.solvers.lassos.scan import Dictionary
from tests.solvers.problems import by_sklearn, columns, gap, problem


@pytest.fixture(scope="module")
def data() -> Tagged:
    X, Q = problem(300, 20, queries=6)
    labels = np.arange(300) % 4
    return Tagged(X, labels, Q.astype(np.float32), 4, True)


def test_judge_recomputes_the_gap(data: Tagged) -> None:
    A, y = columns(data.X), data.Q[0].astype(np.float64)
    gamma = 0.1 * float(np.abs(A @ y).max())
    x = by_sklearn(A, y, gamma)
    row = judged(Dictionary([data.X]), y[None], x[None], [gamma])
    assert row["non-zeros"] == np.count_nonzero(x)
    half = judged(Dictionary([data.X]), y[None], 0.5 * x[None], [gamma])
    assert half["relative gap"] == pytest.approx(gap(A, y, 0.5 * x, gamma), rel=0.06)


def test_peers_and_ours_solve_the_same_problem(data: Tagged) -> None:
    D, A = Dictionary([data.X]), np.asfortranarray(data.X.T)
    mine = ours(D, data.Q.astype(np.float64), 0.1)
    assert float(str(mine["relative gap"])) <= 1e-4
    ran = [run_peer(p, D, A, data.Q, 0.1, 6) for p in PEERS if available(p)]
    assert {r["solver"] for r in ran} >= {"scikit-learn LassoLars"}
    for row in ran:
        assert float(str(row["relative gap"])) < 0.05
        assert float(str(row["non-zeros"])) == pytest.approx(float(str(mine["non-zeros"])), abs=2)


def test_tables(data: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    peers = [p for p in PEERS if p.name == "scikit-learn LassoLars"]
    rows = table(data, 4, 1, peers)
    assert [r["alpha"] for r in rows] == [0.1, 0.1, 0.02, 0.02, 0.002, 0.002]
    assert {r["times ours"] for r in rows if str(r["solver"]).startswith("Likewise")} == {1.0}
    three = sub_solvers(data, 3)
    assert len(three) == 9
    assert all(float(str(r["relative gap"])) <= 1e-4 for r in three if "cd" not in str(r["solver"]))
    capsys.readouterr()


def test_growth_reports_what_approximation_costs(
    data: Tagged, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = at_size(data, 4, 0.01, ("exact", "lsh", "hnsw"))
    assert [r["search"] for r in rows] == [
        "exact", "lsh", "lsh, not certified", "hnsw", "hnsw, not certified",
    ]  # fmt: skip
    for row in rows:
        certified = "not" not in str(row["search"])
        assert float(str(row["objective excess %"])) >= -0.01
        if certified:
            assert float(str(row["relative gap"])) <= 1e-4
            assert float(str(row["objective excess %"])) <= 0.01
        if row["search"] != "exact":
            assert 0 <= float(str(row["recall, alpha .1"])) <= 1
    assert "exact scan" in crossing(rows)
    capsys.readouterr()


def test_changed_counts_labels() -> None:
    a, b = np.array([[3.0, 2, 1, 0]]), np.array([[3.0, 0, 1, 2]])
    assert changed(a, a, 2) == 0
    assert changed(a, b, 2) == 0.5
    assert changed(a, b, 1) == 0


def test_verdicts() -> None:
    row = {"columns": 28_000, "alpha": 0.002, "solver": PEERS[0].name}
    assert "bar 6x missed" in reached([{**row, "times ours": 5.0}], "pictures")
    assert "bar 6x reached" in reached([{**row, "times ours": 7.0}], "pictures")
    assert "bar 6x goal reached" in reached([{**row, "times ours": 21.0}], "pictures")


def test_where_an_index_is_cheaper() -> None:
    exact = {"pictures": 10_000, "search": "exact", "ms a query": 90.25}
    loss = {"recall, alpha .1": 0.03, "recall, alpha .004": 0.01, "objective excess %": 21.0,
            "top 5 changed %": 26.9}  # fmt: skip
    fast = {"pictures": 10_000, "search": "lsh, not certified", "ms a query": 45.0, **loss}
    certified = {**fast, "search": "lsh", "ms a query": 200.0}
    said = crossing([exact, certified, fast])
    assert "lsh: nowhere; lsh, not certified: 2 times cheaper at 10,000 pictures" in said
    assert "(45 against 90.2 ms) with recall 0.03 at alpha .1 and 0.01 at .004" in said
    assert "an objective 21 % too high and 26.9 % of the top 5 labels changed" in said
    assert "hnsw" not in said
    tied = crossing([exact, {**fast, "ms a query": 90.18}])
    assert "a tie at 10,000 pictures (90.2 against 90.2 ms)" in tied
    assert "cheaper at" not in tied
    assert "a tie" in crossing([exact, {**fast, "ms a query": 94.0}])
    assert "nowhere" in crossing([exact, {**fast, "ms a query": 96.0}])


def test_no_minus_zero() -> None:
    assert str(percent(-1e-9, 3)) == "0.0"
    assert percent(-0.5, 1) == -50


def test_versions_of_peers_that_are_there() -> None:
    assert set(versions()) == {p.package for p in PEERS if available(p)} - {"sklearn"}


def test_generated_rows_are_unit_and_repeatable(data: Tagged) -> None:
    more = enlarged(data, 1000, seed=1)
    np.testing.assert_array_equal(more.X[:300], data.X)
    np.testing.assert_allclose(np.linalg.norm(more.X, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(more.X, enlarged(data, 1000, seed=1).X)
    assert set(more.labels[300:].tolist()) == {0, 1, 2, 3}
    few = enlarged(data, 50, seed=1)
    assert len(few.X) == 50
