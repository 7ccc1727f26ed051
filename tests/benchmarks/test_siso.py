"""The SISO benchmark on small data: its figures are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.siso.data import Tagged, enlarged
from benchmarks.siso.growth import at_size, changed, percent
from benchmarks.siso.peers import PEERS, available, judged, run_peer, versions
from benchmarks.siso.speed import ours, sub_solvers, table
from likewise_methods.siso.solver.dictionary import Dictionary
from tests.methods.siso.lasso_problems import by_sklearn, columns, gap, problem


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
    capsys.readouterr()


def test_changed_counts_labels() -> None:
    a, b = np.array([[3.0, 2, 1, 0]]), np.array([[3.0, 0, 1, 2]])
    assert changed(a, a, 2) == 0
    assert changed(a, b, 2) == 0.5
    assert changed(a, b, 1) == 0


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
