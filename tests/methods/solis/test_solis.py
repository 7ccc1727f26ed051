"""SOLIS equals its dense references, in all variants, and behaves."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.container import DamagedFile
from likewise_methods.solis.solis import SOLIS
from tests.methods.solis import reference
from tests.methods.solis.data import collection, triplets_of

METHODS = ("tg", "da", "afb", "ada")
STEPS: dict[str, dict[str, float]] = {
    "tg": {"l1": 0.002, "eta": 8.0},
    "da": {"l1": 0.004, "gamma": 0.02},
    "afb": {"l1": 0.002, "eta": 2.0, "delta": 0.01},
    "ada": {"l1": 0.004, "eta": 2.0, "delta": 0.01},
}
X, LABELS = collection()
TRIPLETS = triplets_of(LABELS)
COST = np.random.default_rng(5).uniform(0, 2, X.shape[1])


def agree(learner: SOLIS, expected: tuple[Any, int, int]) -> None:
    weights, rounds, losses = expected
    np.testing.assert_allclose(learner.weights_, weights, rtol=0, atol=1e-10)
    start = 1.0 if learner.start == "ones" else 0.0
    np.testing.assert_array_equal(learner.weights_ == 0, weights == 0)
    np.testing.assert_array_equal(learner.weights_ == start, weights == start)
    assert (learner.n_rounds_, learner.n_losses_) == (rounds, losses)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("clock", ["all", "loss", "printed"])
@pytest.mark.parametrize("start", ["zeros", "ones"])
def test_equals_dense_reference(method: str, clock: str, start: str) -> None:
    """Every option, crossed with every other that has a meaning."""
    own: list[dict[str, Any]] = [{}]
    if method == "tg":
        own += [{"theta": 0.5}, {"theta": 3.0}]
    if method == "da":
        own += [{"rho": 0.05}]
    if method in ("afb", "ada"):
        own += [{"delta": 0.0}]
    some_sparse = some_won = False
    for extra, nonnegative, cost, skip, weighted in itertools.product(
        own, [False, True], [None, COST], [False, True], [False, True]
    ):
        options: dict[str, Any] = {
            **STEPS[method], "clock": clock, "start": start, "nonnegative": nonnegative,
            "word_cost": cost, "skip_empty": skip, **extra,
        }  # fmt: skip
        weight = np.random.default_rng(2).choice([0, 0.5, 1, 2.5], len(TRIPLETS))
        given_weight = weight if weighted else None
        learner = SOLIS(method, **options).fit(X, TRIPLETS, given_weight)
        expected = reference.solis(X, TRIPLETS, method, **options, sample_weight=given_weight)
        agree(learner, expected)
        if nonnegative:
            assert (learner.weights_ >= 0).all()
        some_sparse |= 0.02 < np.mean(learner.weights_ == (start == "ones")) < 0.98
        some_won |= learner.n_losses_ < learner.n_rounds_
    # Otherwise the comparison would prove little.
    assert some_sparse
    assert some_won


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(METHODS), st.sampled_from(["all", "loss", "printed"]),
    st.sampled_from(["zeros", "ones"]), st.booleans(), st.floats(0.2, 4.0), st.integers(1, 80),
    st.floats(0, 0.05),
)  # fmt: skip
def test_equals_dense_reference_on_any_data(
    seed: int, method: str, clock: str, start: str, nonnegative: bool, margin: float, m: int,
    l1: float,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    Z = np.round(rng.normal(0, 1, (12, m)) * (rng.random((12, m)) < rng.random()), 3)
    triplets = rng.integers(0, 12, (40, 3))
    options: dict[str, Any] = {
        **STEPS[method], "l1": l1, "clock": clock, "start": start,
        "nonnegative": nonnegative, "margin": margin,
    }  # fmt: skip
    learner = SOLIS(method, **options).fit(sp.csr_array(Z), triplets)
    weights, rounds, losses = reference.solis(Z, triplets, method, **options)
    scale = max(1.0, np.abs(weights).max())
    np.testing.assert_allclose(learner.weights_, weights, rtol=0, atol=1e-10 * scale)
    assert (learner.n_rounds_, learner.n_losses_) == (rounds, losses)


def test_long_rows_and_full_collisions() -> None:
    """More words than marks, so that some pass the filter for nothing."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(6, 3000)) * (rng.random((6, 3000)) < 0.6)
    triplets = rng.integers(0, 6, (30, 3))
    learner = SOLIS("tg", l1=1e-4, eta=1e-3).fit(Z, triplets)
    agree(learner, reference.solis(Z, triplets, "tg", 1e-4, eta=1e-3))


@pytest.mark.parametrize("method", METHODS)
def test_learns_with_data_scaled_defaults(method: str) -> None:
    Z, labels = collection(200, 400, 0.05, seed=3)
    # Words that say nothing, and say it loudly.
    Z[2:, 300:] = 0.6 * (np.random.default_rng(0).random((198, 100)) < 0.1)
    Z /= np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-9)
    train, test = (triplets_of(labels, n, seed=n, wrong=0) for n in (3000, 1000))
    plain = SOLIS(method, l1=1e9, start="ones").fit(Z, train[:1]).score(Z, test)
    learner = SOLIS(method).fit(Z, train)
    assert learner.score(Z, test) > plain + 0.2
    assert 0 < learner.sparsity_ < 1
    assert set(learner.scales_) >= {"l1", "lambda_max"}
    assert all(np.isfinite(v) and v > 0 for v in learner.scales_.values())


def test_scales_are_those_of_the_first_call() -> None:
    learner = SOLIS().partial_fit(X, TRIPLETS[:50])
    scales = dict(learner.scales_)
    learner.partial_fit(X, TRIPLETS[50:])
    assert learner.scales_ == scales
    again = SOLIS("ada", **{k: scales[k] for k in ("l1", "eta", "delta")}).fit(X, TRIPLETS)
    np.testing.assert_array_equal(again.weights_, learner.weights_)
    np.testing.assert_array_equal(
        SOLIS().fit(X, TRIPLETS).weights_, SOLIS().fit(X, TRIPLETS).weights_
    )


@pytest.mark.parametrize("method", METHODS)
def test_nothing_shared_is_no_trouble(method: str) -> None:
    learner = SOLIS(method).fit(np.eye(3), [[0, 1, 2]])
    assert learner.weights_.tolist() == [0, 0, 0]
    assert (learner.n_rounds_, learner.n_losses_) == (1, 1)
    skipping = SOLIS(method, skip_empty=True).fit(np.eye(3), [[0, 1, 2]])
    assert (skipping.n_rounds_, skipping.n_skipped_) == (0, 1)


def test_a_margin_just_reached_is_no_loss() -> None:
    learner = SOLIS("tg", l1=0.0, eta=1.0, start="ones")
    assert learner.fit([[1.0, 0], [1, 0], [0, 1]], [[0, 1, 2]]).n_losses_ == 0


@pytest.mark.parametrize("method", METHODS)
def test_tie_rule_of_every_method(method: str) -> None:
    learner = SOLIS(method, **{**STEPS[method], "l1": 0.0}, start="ones")
    for margin, losses in ((1.0, 0), (np.nextafter(1.0, 2.0), 1)):
        learner.set_params(margin=margin).fit([[1.0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
        assert learner.n_losses_ == losses


def test_infinite_theta_of_any_float(tmp_path: Path) -> None:
    options = {"l1": 0.001, "eta": np.float32(8.0)}
    learner = SOLIS("tg", theta=np.float32(np.inf), **options).fit(X, TRIPLETS)  # type: ignore[arg-type]
    plain = SOLIS("tg", **options).fit(X, TRIPLETS)  # type: ignore[arg-type]
    np.testing.assert_array_equal(learner.weights_, plain.weights_)
    SOLIS("ada", theta=np.float32(np.inf)).fit(X, TRIPLETS)  # type: ignore[arg-type]
    learner.save(tmp_path / "learner")
    assert SOLIS.open(tmp_path / "learner").theta == np.inf


@pytest.mark.parametrize("seed", [-1, "now", 0.5, True])
def test_random_state_is_checked_where_it_is_not_used(seed: Any) -> None:
    with pytest.raises(InvalidInput, match="random_state is"):
        SOLIS(l1=0.1, eta=1.0, delta=1.0, random_state=seed).fit(X, TRIPLETS[:3])


def test_large_l1_leaves_nothing() -> None:
    scale = SOLIS().fit(X, TRIPLETS).scales_["lambda_max"]
    for method in ("da", "ada"):
        learner = SOLIS(method, l1=30 * scale).fit(X, TRIPLETS)
        assert learner.sparsity_ > 0.95


def test_changed_and_sparsity() -> None:
    learner = SOLIS("ada", start="ones", **STEPS["ada"]).fit(X, TRIPLETS)
    w = learner.weights_
    assert learner.sparsity_ == np.mean(w == 0)
    assert learner.changed_ == np.mean(w != 1) > 0
    assert not w.flags.writeable
    assert w.dtype == np.float64


def test_word_cost_takes_the_dear_words_first() -> None:
    frequency = (X != 0).sum(axis=0)
    cost = frequency / frequency.mean()
    plain = SOLIS("ada", **STEPS["ada"]).fit(X, TRIPLETS)
    dear = SOLIS("ada", **STEPS["ada"], word_cost=cost**3).fit(X, TRIPLETS)
    assert frequency[dear.weights_ != 0].mean() < frequency[plain.weights_ != 0].mean()


def test_float32_rows_are_read_as_they_are() -> None:
    small = X.astype(np.float32)
    learner = SOLIS("afb", **STEPS["afb"]).fit(sp.csr_array(small), TRIPLETS)
    agree(learner, reference.solis(small.astype(np.float64), TRIPLETS, "afb", **STEPS["afb"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1": -1}, "l1 is -1"),
        ({"l1": np.nan}, "l1 is nan"),
        ({"l1": True}, "l1 is True"),
        ({"eta": np.True_}, "eta is "),
        ({"word_cost": [[1.0], [1.0, 2.0]]}, "differ in length"),
        ({"eta": 0}, "eta is 0"),
        ({"method": "da", "gamma": 0}, "gamma is 0"),
        ({"method": "da", "gamma": -2.0}, "gamma is -2"),
        ({"method": "da", "eta": 1.0}, "has no eta"),
        ({"gamma": 1.0}, "has no gamma"),
        ({"rho": 0.1}, "has no rho"),
        ({"method": "da", "rho": -0.1}, "rho is -0.1"),
        ({"method": "afb", "theta": 2.0}, "has no theta"),
        ({"method": "tg", "theta": -2.0}, "theta is -2"),
        ({"method": "tg", "delta": 1.0}, "has no delta"),
        ({"delta": -1.0}, "delta is -1"),
        ({"margin": 0}, "margin is 0"),
        ({"method": "adam"}, "method is 'adam'"),
        ({"clock": "wall"}, "clock is 'wall'"),
        ({"start": 1}, "start is 1"),
        ({"nonnegative": 1}, "nonnegative is 1"),
        ({"skip_empty": "no"}, "skip_empty is 'no'"),
        ({"word_cost": [1.0]}, "word_cost has shape"),
        ({"word_cost": -COST}, "word_cost holds a value outside 0"),
        ({"eta": "fast"}, "eta is 'fast'"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    many = np.tile(TRIPLETS, (80, 1))
    learner = SOLIS(**options)
    with pytest.raises(InvalidInput, match=message):
        learner.fit(X, many)
    assert not hasattr(learner, "n_features_in_")


def test_changed_parameters_are_refused_midway() -> None:
    learner = SOLIS("ada", **STEPS["ada"]).partial_fit(X, TRIPLETS)
    before = learner.weights_
    for change in ({"method": "tg", "delta": None}, {"l1": 1.0}, {"word_cost": COST}):
        keep = learner.get_params()
        with pytest.raises(InvalidInput, match=r"learning began|word_cost has changed"):
            learner.set_params(**change).partial_fit(X, TRIPLETS)
        learner.set_params(**keep)
    np.testing.assert_array_equal(learner.weights_, before)


def test_only_touched_words_are_saved(tmp_path: Path) -> None:
    small = sp.csr_array(X)
    big = sp.csr_array((small.data, small.indices, small.indptr), shape=(len(LABELS), 10**6))
    learner = SOLIS("afb").fit(big, TRIPLETS)
    learner.save(tmp_path / "learner")
    assert (tmp_path / "learner").stat().st_size < 10_000
    np.testing.assert_array_equal(SOLIS.open(tmp_path / "learner").weights_, learner.weights_)


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "learner"
    SOLIS("tg", theta=2.0, word_cost=COST).fit(X, TRIPLETS).save(path)
    whole = path.read_bytes()
    assert SOLIS.open(path).theta == 2.0
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DamagedFile):
            SOLIS.open(path)
    for size in (0, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedFile):
            SOLIS.open(path)
