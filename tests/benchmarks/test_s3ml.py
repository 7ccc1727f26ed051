"""The S3ML benchmark's own arithmetic: draws, errors, precision, absent peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.s3ml import many_pairs as s3ml_pairs
from benchmarks.s3ml import peers as s3ml_peers
from benchmarks.s3ml import propagation as s3ml_propagation
from benchmarks.s3ml import retrieval as s3ml_retrieval
from benchmarks.s3ml import uci as s3ml_uci
from likewise_methods.s3ml.s3ml import S3ML


def test_labels_are_five_percent_of_each_class() -> None:
    y = np.repeat([0, 1, 2], [50, 21, 4])
    known = s3ml_uci.labelled(y, 0)
    assert [int((known == c).sum()) for c in range(3)] == [3, 2, 1]
    assert (known[known >= 0] == y[known >= 0]).all()
    assert (s3ml_uci.labelled(y, 0) == known).all()
    assert (s3ml_uci.labelled(y, 1) != known).any()


def test_error_is_that_of_the_nearest_prototype() -> None:
    X = np.array([[0.0, 0], [1, 5], [0.1, 5], [0.9, 0]])
    y, known = np.array([0, 1, 0, 1]), np.array([0, 1, -1, -1])
    assert s3ml_uci.error(X, y, known, np.eye(2)) == 1.0
    assert s3ml_uci.error(X, y, known, np.diag([1.0, 0.0])) == 0.0


def test_interval_leaves_missing_draws_out() -> None:
    gap, reach = s3ml_uci.interval(np.array([1.0, 3.0, np.nan]))
    assert gap == 2
    np.testing.assert_allclose(reach, 12.7062, rtol=1e-4)
    assert s3ml_uci.interval(np.array([1.0]))[1] == np.inf


def data() -> s3ml_retrieval.Pictures:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 10)
    return s3ml_retrieval.Pictures("made", rng.normal(size=(60, 4)) + labels[:, None], labels)


def test_a_trial_says_nothing_about_two_irrelevant_pictures() -> None:
    t = s3ml_retrieval.trial(data(), 2, 0)
    assert t.relevant.sum() == 10
    assert len(t.relevant) == 50
    assert t.known.sum() == 2 + 8
    assert t.known[t.pairs].all()
    np.testing.assert_array_equal(t.relevant[t.pairs].sum(axis=1), np.where(t.same, 2, 1))


def test_precision_is_perfect_when_the_metric_is() -> None:
    t = s3ml_retrieval.trial(data(), 2, 0)
    clear = t._replace(X=np.column_stack([t.relevant * 10.0, t.X[:, 0]]))
    assert s3ml_retrieval.mean_precision(clear, np.diag([1.0, 0.01])) == 1
    assert s3ml_retrieval.mean_precision(clear, np.diag([0.0, 1.0])) < 0.9


def test_a_concept_counts_once() -> None:
    gaps = np.array([[1.0, 1.0, 1.0], [3.0, np.nan, np.nan], [np.nan] * 3])
    assert s3ml_retrieval.by_concept(gaps)[0] == 2


def test_a_peer_that_is_not_there_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    monkeypatch.setenv("LIKEWISE_METRIC_PEERS", str(tmp_path / "nowhere"))
    job = s3ml_peers.Job("labels", np.eye(3), np.array([0, 0, 1]), None)
    assert s3ml_peers.ask_peers("LMNN", [job], "test") is None


def test_what_a_peer_raises_is_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def fails(method: str, kind: str, y: Any, balance: float) -> Any:
        tried.append(balance)
        if balance > 0.01:
            raise RuntimeError("no metric today")
        return S3ML()

    monkeypatch.setattr(s3ml_peers, "learner", fails)
    X, y = np.random.default_rng(0).normal(size=(8, 2)), np.arange(8) % 2
    components, why = s3ml_peers.learned("SDML", "labels", X, y, None)
    assert components.shape == (2, 2)
    assert "no metric today" in why
    assert len(tried) == 3
    components, why = s3ml_peers.learned("ITML", "labels", X, y, None)
    assert components is None
    assert why


def test_propagation_is_measured_on_one_problem(tmp_path: Path) -> None:
    T = {}
    for way in s3ml_propagation.WAYS:
        kept = str(tmp_path / "T.npy")
        found = s3ml_propagation.child(way, 400, 3, kept)
        assert found["seconds"] >= 0
        T[way] = np.load(kept)
    scale = np.abs(T["dense"]).max()
    assert np.abs(T["push"] - T["dense"]).max() < 1e-3 * scale
    assert np.abs(T["matrix-free"] - T["dense, theta 0"]).max() < 1e-9 * scale


def test_fits_with_many_pairs_are_measured_on_pairs_of_both_kinds() -> None:
    for kind in ("waves", "groups"):
        X, pairs, same = s3ml_pairs.problem(kind, 600, 200)
        assert X.shape == (600, s3ml_pairs.FEATURES)
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert 0.4 < same.mean() < 0.7
        again = s3ml_pairs.problem(kind, 600, 200)
        assert (again[1] == pairs).all()


def test_pushed_pairs_and_blocks_are_judged() -> None:
    for row in s3ml_pairs.errors(400, 60):
        assert float(str(row["relative error of T"])) < 1e-3
    for row in s3ml_pairs.blocks(40):
        assert row["reached"] == "yes"
        assert float(str(row["gap over m"])) <= float(str(row["tol"]))
