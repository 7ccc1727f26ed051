"""KernelMap against textbook kernel ridge, its approximation, its state, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.kernel_map import KernelMap, squared_distances


def data(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features in six dimensions and a smooth map of them to two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    places = np.column_stack([5 + np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3] - 3])
    return X, places


def test_it_is_kernel_ridge() -> None:
    X, Y = data()
    new, _ = data(40, seed=1)
    made = KernelMap(gamma=0.07, alpha=0.3).fit(X, Y)
    peer = KernelRidge(kernel="rbf", gamma=0.07, alpha=0.3).fit(X, Y - Y.mean(axis=0))
    wanted = peer.predict(new) + Y.mean(axis=0)
    np.testing.assert_allclose(made.transform(new), wanted, rtol=0, atol=1e-9)


def test_median_heuristic() -> None:
    X, Y = data()
    apart = squared_distances(X, X)[np.triu_indices(len(X), 1)]
    made = KernelMap().fit(X, Y)
    assert made.gamma_ == pytest.approx(1 / (2 * np.median(apart)))
    assert made.alpha_ == 0.1


def test_leave_one_out_is_what_leaving_out_gives() -> None:
    X, Y = data(25)
    mean = Y.mean(axis=0)
    errors = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        peer = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.2).fit(X[rest], Y[rest] - mean)
        errors.append(peer.predict(X[i : i + 1])[0] + mean - Y[i])
    wanted = np.sqrt((np.array(errors) ** 2).sum(axis=1).mean())
    assert KernelMap(gamma=0.1, alpha=0.2).fit(X, Y).loo_error_ == pytest.approx(wanted)


def test_cross_validation_is_never_worse_than_the_heuristic() -> None:
    X, Y = data()
    new, truth = data(200, seed=2)
    plain, tuned = KernelMap().fit(X, Y), KernelMap("cv", "cv").fit(X, Y)
    assert tuned.loo_error_ <= plain.loo_error_
    off = [np.linalg.norm(m.transform(new) - truth, axis=1).mean() for m in (plain, tuned)]
    assert off[1] < 0.8 * off[0]


def test_landmarks_come_close_to_the_whole_and_all_of_them_are_the_whole() -> None:
    X, Y = data(300)
    new, _ = data(100, seed=3)
    whole = KernelMap().fit(X, Y)
    few = KernelMap(n_landmarks=150).fit(X, Y)
    assert whole.landmarks_.shape == (300, 6)
    assert few.landmarks_.shape == (150, 6)
    apart = np.linalg.norm(few.transform(new) - whole.transform(new), axis=1)
    assert apart.mean() < 0.05 * np.linalg.norm(Y - Y.mean(axis=0), axis=1).mean()
    again = KernelMap(n_landmarks=150).fit(X, Y)
    np.testing.assert_array_equal(again.transform(new), few.transform(new))
    other = KernelMap(n_landmarks=150, random_state=1).fit(X, Y)
    assert not np.array_equal(other.landmarks_, few.landmarks_)


def test_state_is_plain_arrays_and_gives_the_same_map() -> None:
    X, Y = data()
    made = KernelMap("cv", "cv").fit(X, Y)
    state = made.state()
    assert all(type(a) is np.ndarray and a.dtype == np.float64 for a in state.values())
    again = KernelMap.from_state(state)
    np.testing.assert_array_equal(again.transform(X), made.transform(X))
    assert again.loo_error_ == made.loo_error_
    with pytest.raises(InvalidInput, match="do not fit"):
        KernelMap.from_state({**state, "mean": np.zeros(5)})
    with pytest.raises(InvalidInput, match="no state"):
        KernelMap.from_state({})


def test_degenerate_input_still_gives_finite_places() -> None:
    same = np.ones((5, 3))
    Y = np.arange(10.0).reshape(5, 2)
    made = KernelMap().fit(same, Y)
    np.testing.assert_allclose(made.transform(same), np.tile(Y.mean(axis=0), (5, 1)), atol=1e-9)
    one = KernelMap().fit(same[:1], Y[:1])
    np.testing.assert_allclose(one.transform(np.zeros((2, 3))), Y[[0, 0]])
    doubled = np.repeat(data(40)[0], 5, axis=0)
    tight = KernelMap(alpha=1e-14, n_landmarks=60).fit(doubled, np.repeat(data(40)[1], 5, axis=0))
    assert np.isfinite(tight.transform(doubled)).all()


def test_parameters_are_kept_as_given() -> None:
    made = KernelMap(gamma="cv", alpha=2, n_landmarks=7, random_state=3)
    assert clone(made).get_params() == made.get_params()
    assert made.get_params()["alpha"] == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"gamma": 0}, "gamma is 0"),
        ({"gamma": "mean"}, "gamma is 'mean'"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": True}, "alpha is True"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
    ],
)
def test_bad_parameters(options: dict, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        KernelMap(**options).fit(*data(5))


def test_bad_rows() -> None:
    X, Y = data(10)
    with pytest.raises(InvalidInput, match="10 rows and embedding 9"):
        KernelMap().fit(X, Y[:9])
    with pytest.raises(InvalidInput, match="X has NaN"):
        KernelMap().fit(np.full((3, 2), np.nan), Y[:3])
    with pytest.raises(InvalidInput, match="no rows"):
        KernelMap().fit(X[:0], Y[:0])
    with pytest.raises(InvalidInput, match="6 expected"):
        KernelMap().fit(X, Y).transform(X[:, :4])
