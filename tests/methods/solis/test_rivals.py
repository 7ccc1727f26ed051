"""The rivals equal their readable versions, and the batch ones reach their optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from likewise_methods.errors import InvalidInput
from likewise_methods.solis.lego import LEGO
from likewise_methods.solis.oasis import OASIS
from likewise_methods.solis.qpao import QPAO
from likewise_methods.solis.solis import posting_cost
from tests.methods.solis import reference
from tests.methods.solis.data import collection, triplets_of

X, LABELS = collection()
TRIPLETS = triplets_of(LABELS)


@pytest.mark.parametrize(("C", "margin"), [(0.1, 1.0), (5.0, 0.3), (1e6, 1.0)])
def test_oasis_equals_reference(C: float, margin: float) -> None:
    weights = OASIS(C, margin=margin).fit(X, TRIPLETS).weights_
    expected = reference.oasis_diagonal(X, TRIPLETS, C, margin)
    np.testing.assert_allclose(weights, expected, rtol=1e-10, atol=1e-10)
    matrix = OASIS(C, margin=margin, form="full").fit(X, TRIPLETS).matrix_
    expected = reference.oasis_full(X, TRIPLETS, C, margin)
    np.testing.assert_allclose(matrix, expected, rtol=1e-10, atol=1e-10)


def test_oasis_weights_scale_the_step() -> None:
    weight = np.random.default_rng(0).choice([0, 0.5, 2.0], len(TRIPLETS))
    found = OASIS(0.3).fit(X, TRIPLETS, weight).weights_
    expected = reference.oasis_diagonal(X, TRIPLETS, 0.3, 1.0, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("eta", "low", "high"), [(0.1, 0.5, 1.5), (2.0, 0.9, 1.3), (50, 0, 9.0)])
def test_lego_equals_reference(eta: float, low: float, high: float) -> None:
    learner = LEGO(eta, low=low, high=high).fit(X, TRIPLETS)
    expected = reference.lego_diagonal(X, TRIPLETS, eta, low, high)
    np.testing.assert_allclose(learner.weights_, expected, rtol=1e-8)
    assert (learner.weights_ > 0).all()


def test_full_lego_equals_reference() -> None:
    learner = LEGO(0.2, low=0.6, high=1.4, form="full").fit(X, TRIPLETS[:40])
    expected = reference.lego_full(X, TRIPLETS[:40], 0.2, 0.6, 1.4)
    np.testing.assert_allclose(learner.matrix_, expected, rtol=1e-9, atol=1e-9)
    assert np.linalg.eigvalsh(learner.matrix_).min() > 0
    d = X[3] - X[4]
    S = learner.similarity(X[3:4], X[4:5])
    np.testing.assert_allclose(S, [[-(d @ expected @ d)]], rtol=1e-9)


def test_lego_diagonal_is_lego_full_in_one_dimension() -> None:
    """With a single word the two forms are one formula."""
    one = np.random.default_rng(0).uniform(0.1, 2, (20, 1))
    triplets = np.random.default_rng(1).integers(0, 20, (50, 3))
    forms = [LEGO(0.7, low=0.1, high=0.9, form=f).fit(one, triplets) for f in ("diagonal", "full")]
    np.testing.assert_allclose(forms[0].weights_, forms[1].matrix_[0], rtol=1e-9)


def test_lego_targets_are_percentiles() -> None:
    learner = LEGO().fit(X, TRIPLETS)
    a, p, n = TRIPLETS.T
    plain = np.concatenate([((X[a] - X[o]) ** 2).sum(axis=1) for o in (p, n)])
    assert learner.scales_["low"] == pytest.approx(np.percentile(plain, 5))
    assert learner.scales_["high"] == pytest.approx(np.percentile(plain, 95))
    with pytest.raises(InvalidInput, match="low <= high"):
        LEGO(low=2.0, high=1.0).fit(X, TRIPLETS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": 50.0}, "low is 50, but high measured"),
        ({"high": 1e-6}, "high is 1e-06, but low measured"),
    ],
)
def test_lego_target_that_leaves_no_room(options: dict[str, float], message: str) -> None:
    fresh = LEGO(**options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=message):
        fresh.fit(X, TRIPLETS)
    assert not hasattr(fresh, "scales_")
    used = LEGO().fit(X, TRIPLETS)
    before = dict(used.scales_), used.weights_.copy()
    with pytest.raises(InvalidInput, match=message):
        used.set_params(**options).fit(X, TRIPLETS)
    assert used.scales_ == before[0]
    np.testing.assert_array_equal(used.weights_, before[1])


@pytest.mark.parametrize("rival", [OASIS, LEGO])
def test_full_form_is_refused_for_many_words(rival: Any) -> None:
    wide = sp.csr_array((3, 10_001))
    with pytest.raises(InvalidInput, match="10001 words is refused"):
        rival(form="full").fit(wide, [[0, 1, 2]])
    assert rival().fit(wide, [[0, 1, 2]]).sparsity_ == 0
    with pytest.raises(InvalidInput, match="form is 'block'"):
        rival(form="block").fit(X, TRIPLETS)
    full = rival(form="full").fit(X, TRIPLETS)
    assert not hasattr(full, "weights_")
    np.testing.assert_array_equal(
        np.diag(rival().fit(X, TRIPLETS).weights_), rival().fit(X, TRIPLETS).matrix_
    )


@pytest.mark.parametrize("C", [0.3, 20.0])
def test_qpao_is_optimal(C: float) -> None:
    """Its own certificate, recomputed; and an independent solver finds nothing lower."""
    learner = QPAO(C, tol=1e-7, max_iter=5000).fit(X, TRIPLETS)
    Z = np.array([reference.z_of(X, t) for t in TRIPLETS])
    w = learner.weights_
    primal = w @ w / 2 + C * np.maximum(0, 1 - Z @ w).sum()
    dual = learner.dual_.sum() - np.square(np.maximum(0, learner.dual_ @ Z)).sum() / 2
    assert learner.dual_.min() >= 0
    assert learner.dual_.max() <= C
    assert learner.objective_ == pytest.approx(primal, rel=1e-9)
    assert learner.gap_ == pytest.approx(primal - dual, abs=1e-9 * primal)
    assert learner.gap_ <= 1e-7 * primal

    # An independent solver on the dual.
    def minus_dual(a: Any) -> tuple[float, Any]:
        u = np.maximum(0, a @ Z)
        return u @ u / 2 - a.sum(), Z @ u - 1

    other = minimize(
        minus_dual, np.zeros(len(Z)), jac=True, bounds=[(0, C)] * len(Z), method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14},
    )  # fmt: skip
    assert primal <= -other.fun * (1 + 1e-5)


def test_qpao_weighs_and_refuses() -> None:
    twice = QPAO(tol=1e-8, max_iter=3000).fit(X, np.concatenate([TRIPLETS, TRIPLETS]))
    weighed = QPAO(tol=1e-8, max_iter=3000).fit(X, TRIPLETS, np.full(len(TRIPLETS), 2.0))
    np.testing.assert_allclose(weighed.weights_, twice.weights_, atol=1e-3)
    assert not hasattr(QPAO(), "partial_fit")
    with pytest.raises(InvalidInput, match="C is 0"):
        QPAO(0).fit(X, TRIPLETS)


def test_batch_learners_say_when_they_stop_short() -> None:
    with pytest.warns(ConvergenceWarning, match="QPAO stopped at max_iter=1"):
        QPAO(20.0, tol=1e-9, max_iter=1).fit(X, TRIPLETS)


def test_batch_learners_change_from_their_start() -> None:
    quadratic = QPAO(tol=0.1).fit(X, TRIPLETS)
    assert quadratic.changed_ == 1 - quadratic.sparsity_ > 0
    assert quadratic.scales_ == {}


def test_posting_cost() -> None:
    cost = posting_cost(X)
    assert cost[(X != 0).any(axis=0)].mean() == pytest.approx(1)
    assert posting_cost(np.zeros((2, 3))).tolist() == [1, 1, 1]
