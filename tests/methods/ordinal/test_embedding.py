"""OrdinalEmbedding: it finds planted maps, has scikit-learn's manners, and never gives a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.metrics import triplet_error
from likewise_methods.ordinal.embedding import OrdinalEmbedding
from likewise_methods.ordinal.kernel_map import KernelMap
from likewise_methods.ordinal.losses import STE
from likewise_methods.ordinal.suggestions import suggest_comparisons
from tests.methods.ordinal.data import quadruplets, triplets, truth

POINTS = truth(40, 2)
TRAIN, TEST = triplets(POINTS, 2000), triplets(POINTS, 1000, seed=2)


@pytest.mark.parametrize(
    ("loss", "solver", "at_most"),
    [
        ("ste", "svrg-sbb", 0.06),
        # In two dimensions t-STE has alpha = 1 and is as blunt as CKL: the loss, not the solver.
        ("tste", "svrg-sbb", 0.13),
        ("ckl", "svrg-sbb", 0.13),
        ("gnmds", "svrg-sbb", 0.06),
        ("ste", "svrg", 0.06),
        ("ste", "sgd", 0.06),
        ("ste", "adagrad", 0.06),
        ("ste", "lbfgs", 0.06),
    ],
)
def test_a_planted_map_is_found(loss: str, solver: str, at_most: float) -> None:
    model = OrdinalEmbedding(2, loss=loss, solver=solver, n_init=2, random_state=0)
    model.fit(TRAIN)
    assert 1 - model.score(TEST) <= at_most
    assert model.score(TEST) == pytest.approx(1 - triplet_error(model.embedding_, TEST))
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-9)
    assert model.objective_ <= model.history_[0].objective


def test_quadruplets_too() -> None:
    model = OrdinalEmbedding(2, random_state=0, n_init=2).fit(quadruplets(POINTS, 2000))
    assert 1 - model.score(quadruplets(POINTS, 1000, seed=9)) <= 0.06
    assert 1 - model.score(TEST) <= 0.06


def test_ties_are_wrong_and_predict_says_each() -> None:
    model = OrdinalEmbedding(1, random_state=0).fit([[0, 1, 2], [2, 1, 0]], 4)
    model.embedding_ = np.array([[0.0], [1.0], [-1.0], [3.0]])
    assert model.predict([[0, 1, 2], [0, 1, 3], [0, 3, 1]]).tolist() == [False, True, False]
    assert model.margins([[0, 1, 3]]).tolist() == [8.0]
    assert model.score([[0, 1, 2], [0, 1, 3]]) == 0.5


def test_manners() -> None:
    model = OrdinalEmbedding(2, loss="tste", alpha=3.0, random_state=4, epochs=3)
    assert clone(model).get_params() == model.get_params()
    for call in (model.score, model.predict):
        with pytest.raises(NotFittedError):
            call(TEST)
    before = TRAIN.copy()
    first = model.fit(TRAIN).embedding_
    np.testing.assert_array_equal(clone(model).fit(TRAIN).embedding_, first)
    np.testing.assert_array_equal(TRAIN, before)
    scores = cross_val_score(OrdinalEmbedding(2, random_state=0, epochs=10), TRAIN, cv=3)
    assert (scores > 0.85).all()


def test_old_random_states_are_taken_and_drawn_from() -> None:
    rows = TRAIN[:300]
    old = np.random.RandomState(3)
    first, second = (
        OrdinalEmbedding(2, random_state=old, epochs=2).fit(rows).embedding_ for _ in range(2)
    )
    again = OrdinalEmbedding(2, random_state=np.random.RandomState(3), epochs=2).fit(rows)
    np.testing.assert_array_equal(again.embedding_, first)
    assert not np.array_equal(first, second)
    assert suggest_comparisons(first, 3, random_state=old).shape == (3, 3)
    KernelMap(n_landmarks=5, random_state=old).fit(first, first)
    with pytest.raises(InvalidInput, match="random_state is 'x'"):
        OrdinalEmbedding(2, random_state="x").fit(rows)


def test_floats_that_are_whole_make_the_same_map() -> None:
    same = OrdinalEmbedding(2, random_state=0, epochs=2).fit(TRAIN)
    found = OrdinalEmbedding(2, random_state=0, epochs=2).fit(TRAIN.astype(float))
    np.testing.assert_array_equal(found.embedding_, same.embedding_)
    assert found.score(TEST.astype(np.float32)) == same.score(TEST)


def test_a_loss_may_be_given_as_an_object() -> None:
    same = OrdinalEmbedding(2, random_state=0, epochs=3).fit(TRAIN).embedding_
    found = OrdinalEmbedding(2, loss=STE(), random_state=0, epochs=3).fit(TRAIN).embedding_
    np.testing.assert_array_equal(found, same)


def test_the_best_start_wins() -> None:
    one = [OrdinalEmbedding(2, random_state=np.random.default_rng(s)) for s in (0, 0)]
    single = one[0].fit(TRAIN[:300]).objective_
    several = one[1].set_params(n_init=4).fit(TRAIN[:300]).objective_
    assert several <= single


def test_partial_fit_goes_on() -> None:
    model = OrdinalEmbedding(2, random_state=0, n_init=2)
    model.partial_fit(TRAIN[:1500])
    before = model.objective_
    start = model.embedding_.copy()
    model.partial_fit(TRAIN[1500:])
    assert len(model.comparisons_) == len(TRAIN)
    # Warm: the first record is the old map's, not a random one's.
    assert model.history_[0].objective < 4 * before
    assert 1 - model.score(TEST) <= 0.06
    gap = np.linalg.norm(model.embedding_ - start) / np.linalg.norm(start)
    assert gap < 0.5
    # New objects may come, and other kinds of comparisons.
    model.partial_fit([[0, 1, 40, 2]])
    assert model.embedding_.shape == (41, 2)
    assert model.comparisons_.shape == (len(TRAIN) + 1, 4)
    with pytest.raises(InvalidInput, match="already has 41"):
        model.partial_fit(TRAIN[:5], n_objects=40)
    with pytest.raises(InvalidInput, match="fit anew"):
        model.set_params(n_components=3).partial_fit(TRAIN[:5])


def test_objects_without_comparisons_lie_in_the_centre() -> None:
    model = OrdinalEmbedding(2, random_state=0).fit([[0, 1, 2], [2, 1, 0]], 6)
    assert model.compared_.tolist() == [True] * 3 + [False] * 3
    assert not model.embedding_[3:].any()
    np.testing.assert_allclose(model.embedding_[:3].mean(axis=0), 0, atol=1e-12)


def test_contradictions_are_counted_and_borne() -> None:
    rows = np.vstack([TRAIN, TRAIN[:50][:, [0, 2, 1]]])
    model = OrdinalEmbedding(2, random_state=0).fit(rows)
    assert model.said_.contradictions > 0
    assert np.isfinite(model.embedding_).all()
    only = OrdinalEmbedding(1, random_state=0).fit([[0, 1, 2], [0, 2, 1]])
    assert only.said_ == (2, 0, 1)
    assert np.isfinite(only.embedding_).all()


@pytest.mark.parametrize("solver", ["svrg-sbb", "svrg", "sgd", "adagrad", "lbfgs"])
def test_one_comparison_is_enough_for_finite_points(solver: str) -> None:
    for loss in ("ste", "gnmds", "ckl", "tste"):
        model = OrdinalEmbedding(2, loss=loss, solver=solver, random_state=0).fit([[0, 1, 2]])
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.objective_)
        assert model.score([[0, 1, 2]]) == 1.0


BAD: list[tuple[dict[str, Any], str]] = [
    ({"n_components": 0}, "n_components is 0"),
    ({"n_components": 40}, "always fit into 39 dimensions"),
    ({"n_components": 2.0}, "n_components is 2.0"),
    ({"loss": "hinge"}, "loss is 'hinge'"),
    ({"solver": "newton"}, "solver is 'newton'; one of 'svrg-sbb'"),
    ({"epsilon": -1}, "epsilon is -1"),
    ({"epsilon": np.nan}, "epsilon is nan"),
    ({"epochs": 0}, "epochs is 0"),
    ({"batch_size": 0}, "batch_size is 0"),
    ({"tol": "x"}, "tol is 'x'"),
    ({"n_init": 0}, "n_init is 0"),
    ({"step": 0.0}, "step is 0.0"),
    ({"loss": "ckl", "mu": 0.0}, "mu is 0.0"),
    ({"random_state": -1}, "random_state is -1"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters_are_refused_in_fit(parameters: dict[str, Any], message: str) -> None:
    model = OrdinalEmbedding(**parameters)
    with pytest.raises(InvalidInput, match=message):
        model.fit(TRAIN)
    assert not hasattr(model, "embedding_")


def test_bad_comparisons_leave_a_map_as_it_was() -> None:
    model = OrdinalEmbedding(2, random_state=0, epochs=2).fit(TRAIN)
    before = model.embedding_.copy()
    for call in (model.fit, model.partial_fit, model.score):
        with pytest.raises(InvalidInput):
            call([[0, 1, 1]])
    with pytest.raises(InvalidInput, match="names object 40"):
        model.score([[0, 1, 40]])
    with pytest.raises(InvalidInput, match="n_objects is 0"):
        model.fit(TRAIN, 0)
    np.testing.assert_array_equal(model.embedding_, before)
