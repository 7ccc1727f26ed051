"""Few triplets are learned from without a kernel, to the bits of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise_methods import kernels as _kernels
from likewise_methods.solis import numpy_reference
from likewise_methods.solis.judging import judgement_triplets, lesson, profile_learner
from likewise_methods.solis.rows import as_rows
from likewise_methods.solis.solis import SOLIS

STEPS: dict[str, dict[str, float]] = {
    "tg": {"l1": 0.002, "eta": 8.0, "theta": 3.0},
    "da": {"l1": 0.004, "gamma": 0.02, "rho": 0.05},
    "afb": {"l1": 0.002, "eta": 2.0, "delta": 0.01},
    "ada": {"l1": 0.004, "eta": 2.0, "delta": 0.01},
}


def pictures(seed: int, n: int, width: int, density: float, kind: Any) -> Any:
    """Rows of which some are empty, some share no word and some are the same."""
    rng = np.random.default_rng(seed)
    made = np.abs(rng.normal(size=(n, width))) * 10.0 ** rng.integers(-3, 2, (n, 1))
    made *= (rng.random((n, width)) < density) * rng.choice([-1, 1, 1], width)
    made[1:3] = made[0]
    made[3] = 0
    return sp.csr_array(made.astype(kind))


def learned(X: Any, lessons: Any, method: str, options: dict[str, Any], without: bool) -> SOLIS:
    learner = SOLIS(method, **options).begin(X.shape[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "numba_loaded", lambda: not without)
        patch.setattr(numpy_reference, "_learned", 0)
        for triplets, weights in lessons:
            learner.partial_fit(X, triplets, weights)
        assert (numpy_reference._learned > 0) == without
        assert learner.weights_of(np.arange(0, X.shape[1], 2)).tobytes() == (
            learner.weights_[::2].tobytes()
        )
    return learner


def same(one: SOLIS, other: SOLIS) -> None:
    assert one._state.tobytes() == other._state.tobytes()
    assert one._counters.tolist() == other._counters.tolist()
    assert one.weights_.tobytes() == other.weights_.tobytes()


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(sorted(STEPS)),
    st.sampled_from(["all", "loss", "printed"]), st.sampled_from(["zeros", "ones"]),
    st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.floats(0.05, 1),
    st.sampled_from([np.float32, np.float64]),
)  # fmt: skip
def test_the_same_bits(
    seed: int, method: str, clock: str, start: str, nonnegative: bool, costly: bool, skip: bool,
    weighted: bool, density: float, kind: Any,
) -> None:  # fmt: skip
    X = pictures(seed, 12, 40, density, kind)
    rng = np.random.default_rng(seed)
    lessons = [
        (rng.integers(0, 12, (n, 3)), rng.choice([0, 0.25, 1, 2.5], n) if weighted else None)
        for n in (1, 7, 30)
    ]
    options = {
        **STEPS[method], "clock": clock, "start": start, "nonnegative": nonnegative,
        "word_cost": rng.uniform(0, 2, 40) if costly else None, "skip_empty": skip,
    }  # fmt: skip
    both = [learned(X, lessons, method, options, without) for without in (True, False)]
    same(*both)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 4), st.integers(1, 6))
def test_a_judgement_teaches_the_same(seed: int, n_liked: int, n_disliked: int) -> None:
    """As the fold asks it: rows of a query and its pictures, weights assigned in between."""
    made = []
    for without in (True, False):
        learner = profile_learner().begin(60)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_kernels, "numba_loaded", lambda without=without: not without)
            for judgement in range(3):
                X = pictures(seed + judgement, 1 + n_liked + n_disliked + 4, 60, 0.3, np.float32)
                triplets = judgement_triplets(n_liked, n_disliked, seed=judgement)
                learner.partial_fit(*lesson(X, triplets, 0.25))
                learner.assign(np.arange(4), learner.weights_of(np.arange(4)) * 0.9)
        made.append(learner)
    same(*made)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["tg", "afb"]), st.sampled_from(["zeros", "ones"]))
def test_margins_are_added_up_in_the_same_order(seed: int, method: str, start: str) -> None:
    """A round that reaches the margin to the bit is not lost; one bit more, and it is."""
    X = pictures(seed, 12, 40, 0.9, np.float64)
    rng = np.random.default_rng(seed)
    triplet, weights = rng.integers(4, 12, (1, 3)), rng.uniform(0.1, 2, 40)
    options: dict[str, Any] = {**STEPS[method], "l1": 0.0, "start": start}
    plain = SOLIS(method, **options).begin(40)
    exact = float(
        (plain if start == "ones" else plain.assign(range(40), weights)).margins(X, triplet)[0]
    )
    if not exact > 0:
        return
    for margin, lost in ((exact, 0), (np.nextafter(exact, np.inf), 1)):
        learner = SOLIS(method, **options, margin=margin).begin(40)
        if start == "zeros":
            learner.assign(range(40), weights)
        numpy_reference.learn(
            method, as_rows(X), triplet, np.zeros(0),
            learner._state, learner._counters, learner._rule, learner._cost,
        )  # fmt: skip
        assert learner.n_losses_ == lost


def test_many_triplets_are_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long log is learned judgement by judgement; each alone would be few."""
    monkeypatch.setattr(numpy_reference, "_learned", 0)
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: False)
    assert numpy_reference.prefer_numpy(numpy_reference.MAX_TRIPLETS - 1)
    assert not numpy_reference.prefer_numpy(2)
    assert numpy_reference.prefer_numpy(1)
    assert not numpy_reference.prefer_numpy(1)
    monkeypatch.setattr(numpy_reference, "_learned", 0)
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: True)
    assert not numpy_reference.prefer_numpy(1)
