"""LMNN, a rival of SOLIS: the checks of every learner, and its own optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from benchmarks.solis.lmnn import LMNN
from likewise_methods.errors import InvalidInput
from tests.methods.checks import Check, checks_of
from tests.methods.solis.data import collection, triplets_of

X, LABELS = collection()
TRIPLETS = triplets_of(LABELS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("check", checks_of(LMNN()), ids=lambda check: check.__name__)
def test_check(check: Check) -> None:
    check(clone(LMNN(max_iter=20)))


def test_lmnn_warns_when_it_stops_short() -> None:
    with pytest.warns(ConvergenceWarning, match="LMNN stopped at max_iter=3"):
        LMNN(max_iter=3).fit(X, TRIPLETS)


def test_lmnn_changes_from_its_start() -> None:
    metric = LMNN(tol=0.1).fit(X, TRIPLETS)
    assert metric.changed_ == np.mean(metric.weights_ != 1) > 0
    assert metric.scales_ == {}


def test_lmnn_without_a_slope_stays() -> None:
    """The pair is at no distance and the other beyond the margin: w = 1 is optimal."""
    learner = LMNN().fit(np.array([[1.0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0]]), [[0, 1, 2]])
    assert learner.weights_.tolist() == [1, 1, 1, 1]
    assert (learner.objective_, learner.n_iter_, learner.changed_) == (0, 0, 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(20))
def test_lmnn_never_rises_and_stays_finite(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Z = 10.0 ** rng.uniform(-9, 5) * rng.random((8, 5)) * (rng.random((8, 5)) < 0.4)
    triplets = rng.integers(0, 8, (6, 3))
    values = [LMNN(max_iter=n, tol=0).fit(Z, triplets) for n in (1, 5, 30, 400)]
    objectives = [v.objective_ for v in values]
    assert objectives == sorted(objectives, reverse=True)
    assert all(np.isfinite(v.weights_).all() for v in values)
    with pytest.raises(ValueError, match="read-only"):
        values[0].weights_[0] = 3


def test_lmnn_descends_to_the_optimum() -> None:
    """Against a linear programme's worth of smooth optimisation: within a per cent of the best."""
    learner = LMNN(max_iter=3000, tol=1e-9, n_targets=100).fit(X, TRIPLETS)
    pairs = np.unique(TRIPLETS[:, :2], axis=0)
    pull = (X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2
    a, p, n = TRIPLETS.T
    near, far = (X[a] - X[p]) ** 2, (X[a] - X[n]) ** 2

    def objective(w: Any) -> float:
        return float(0.5 * (pull @ w).sum() + 0.5 * np.maximum(0, 1 + near @ w - far @ w).sum())

    assert learner.objective_ == pytest.approx(objective(learner.weights_))
    assert (learner.weights_ >= 0).all()
    m, t = X.shape[1], len(TRIPLETS)
    cost = np.concatenate([0.5 * pull.sum(axis=0), np.full(t, 0.5)])
    rows = np.hstack([near - far, -np.eye(t)])
    best = linprog(cost, A_ub=rows, b_ub=-np.ones(t), bounds=(0, None), method="highs")
    assert best.fun - 1e-9 <= learner.objective_ <= 1.05 * best.fun
    assert m == len(learner.weights_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_lmnn_targets_are_the_nearest() -> None:
    few = LMNN(n_targets=1, max_iter=5).fit(X, TRIPLETS)
    many = LMNN(n_targets=99, max_iter=5).fit(X, TRIPLETS)
    assert few.objective_ < many.objective_
    for options, message in (({"mu": 1.0}, "mu is 1"), ({"n_targets": 0}, "n_targets is 0")):
        with pytest.raises(InvalidInput, match=message):
            LMNN(**options).fit(X, TRIPLETS)
    with pytest.raises(InvalidInput, match="sample_weight"):
        LMNN().fit(X, TRIPLETS, np.ones(len(TRIPLETS)))  # type: ignore[arg-type]
