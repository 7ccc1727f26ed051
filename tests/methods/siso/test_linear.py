"""The linear machine: against its reference, exact after any order of updates, and at the edges."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.linear import LinearAnnotator
from tests.methods.siso.linear_reference import log_odds, total_variance


def unit(X: Any) -> Any:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def pictures(n: int, width: int, tags: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows around a centre a tag, and two tags for some."""
    rng = np.random.default_rng(seed)
    main = rng.integers(tags, size=n)
    X = rng.normal(size=(tags, width))[main] + 1.2 * rng.normal(size=(n, width))
    Y = np.eye(tags, dtype=int)[main]
    Y[np.arange(n), rng.integers(tags, size=n)] |= rng.random(n) < 0.3
    return X, Y


@pytest.mark.parametrize(("n", "width", "tags"), [(200, 12, 4), (30, 60, 7), (5, 3, 2)])
def test_log_odds_are_those_of_the_reference(n: int, width: int, tags: int) -> None:
    X, Y = pictures(n + 10, width, tags)
    model = LinearAnnotator(penalty=0.7).fit(X[:n], Y[:n])
    U = unit(X)
    assert model.penalty_ == pytest.approx(0.7 * total_variance(U[:n]), rel=1e-10)
    wanted = log_odds(U[:n], Y[:n], U[n:], model.penalty_)
    np.testing.assert_allclose(model.predict_scores(X[n:]), wanted, rtol=1e-7, atol=1e-7)
    assert np.array_equal(model.predict(X[n:], k=1)[:, 0], wanted.argmax(axis=1))


def test_two_tags_that_exclude_each_other_are_fishers_discriminant() -> None:
    """Against scikit-learn's, which divides by n and adds no half pictures."""
    X, _ = pictures(300, 6, 2)
    X = unit(X)
    y = (X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=300) > 0).astype(int)
    model = LinearAnnotator(penalty=1e-9).fit(X, np.eye(2, dtype=int)[y])
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    halves = np.log((y.sum() + 0.5) / (300 - y.sum() + 0.5)) - np.log(y.sum() / (300 - y.sum()))
    found = model.predict_scores(X)
    np.testing.assert_allclose(found[:, 1], theirs.decision_function(X) + halves, atol=1e-6)
    np.testing.assert_allclose(found[:, 0], -found[:, 1], atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_updates_is_the_refit(seed: int) -> None:
    """Pictures and single tags come and go at random; what is left is fitted anew."""
    rng = np.random.default_rng(seed)
    X, Y = pictures(80, 16, 5, seed)
    held = {i: Y[i].copy() for i in range(20)}
    model = LinearAnnotator().fit(X[:20], Y[:20])
    for _ in range(200):
        i = int(rng.integers(80))
        if i not in held:
            held[i] = Y[i].copy()
            model.partial_fit(X[[i]], held[i][None])
        elif rng.random() < 0.5 and len(held) > 1:
            model.remove(X[[i]], held.pop(i)[None])
        else:  # a tag is given or taken: the picture goes and comes back
            model.remove(X[[i]], held[i][None])
            held[i][rng.integers(5)] ^= 1
            model.partial_fit(X[[i]], held[i][None])
    left = sorted(held)
    rows, tags = X[left], np.array([held[i] for i in left])
    again = LinearAnnotator().fit(rows, tags)
    assert model.n_pictures_ == len(left)
    assert model.penalty_ == pytest.approx(again.penalty_, rel=1e-10)
    np.testing.assert_allclose(
        model.predict_scores(X), again.predict_scores(X), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        model.predict_scores(X),
        log_odds(unit(rows), tags, unit(X), model.penalty_),
        rtol=1e-7,
        atol=1e-7,
    )


@pytest.mark.parametrize("size", [1, 3, 4, 5, 30])
def test_without_is_a_fit_of_the_others(size: int) -> None:
    """By a correction up to a quarter of the width (4), from the sums above; the penalty stays."""
    X, Y = pictures(60, 16, 5)
    model = LinearAnnotator().fit(X, Y)
    before = model.predict_scores(X)
    out = np.random.default_rng(size).permutation(60)[:size]
    stay = np.setdiff1d(np.arange(60), out)
    found = model.predict_scores(X[out], without=(X[out], Y[out]))
    wanted = log_odds(unit(X[stay]), Y[stay], unit(X[out]), model.penalty_)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7)
    assert np.array_equal(model.predict_scores(X), before)


def test_leaving_out_the_only_picture_of_a_tag() -> None:
    X, Y = pictures(30, 16, 3)
    Y = np.hstack([Y, np.zeros((30, 1), int)])
    Y[7, 3] = 1
    model = LinearAnnotator().fit(X, Y)
    assert np.isfinite(model.predict_scores(X)).all()
    for more in ([], [1, 2, 3, 4, 5, 6]):
        out = [7, *more]
        left = model.predict_scores(X[[7]], without=(X[out], Y[out]))
        assert left[0, 3] == -np.inf
        assert np.isfinite(left[0, :3]).all()
    model.remove(X[[7]], Y[[7]])
    assert (model.predict_scores(X)[:, 3] == -np.inf).all()
    assert model.partial_fit(X[[7]], Y[[7]]).predict_scores(X[[7]])[0, 3] > -1


def test_edges() -> None:
    X, _ = pictures(30, 8, 3)
    one = LinearAnnotator().fit(X[:1], [["a"]])
    # A single picture says nothing of directions: one and a half against a half.
    assert one.predict_scores(X) == pytest.approx(np.full((30, 1), np.log(3)))
    every = LinearAnnotator().fit(X, [["all", f"tag {i % 3}"] for i in range(30)])
    column = every.predict_scores(X)[:, every.tags_.index("all")]
    assert column == pytest.approx(np.full(30, np.log(30.5 / 0.5)))
    alike = LinearAnnotator().fit(np.ones((6, 4)), [["a"]] * 3 + [["b"]] * 3)
    assert alike.predict_scores(np.ones((1, 4))) == pytest.approx(np.zeros((1, 2)), abs=1e-9)
    # All tags of one picture and none of others; pictures without a tag count against it.
    some = LinearAnnotator().fit(X, [["a", "b"], *[["c"]] * 5, *[[]] * 24])
    odds = some.predict_scores(X[:1])[0]
    assert odds[0] == pytest.approx(odds[1])
    assert odds[0] > odds[2]
    # A row of zeros is nowhere in particular, but nothing breaks.
    assert np.isfinite(some.predict_scores(np.zeros((1, 8)))).all()


def test_a_tag_taken_away_is_a_picture_against_it() -> None:
    """Rejecting a tag of a tagged picture lowers the tag there and nearby only."""
    X, Y = pictures(90, 10, 3, seed=4)
    Y[:, 2] = Y[:, 0]
    model = LinearAnnotator().fit(X, Y)
    has = np.flatnonzero(Y[:, 0])
    before = model.predict_scores(X[has])
    fewer = Y.copy()
    fewer[has[:5], 2] = 0
    model.remove(X[has[:5]], Y[has[:5]]).partial_fit(X[has[:5]], fewer[has[:5]])
    after = model.predict_scores(X[has])
    assert (after[:5, 2] < before[:5, 2]).all()
    np.testing.assert_allclose(after[:, :2], before[:, :2], atol=1e-8)


def test_names_come_and_go() -> None:
    X, _ = pictures(12, 6, 3)
    names = [["a", "b"][i % 2 : i % 2 + 1] for i in range(12)]
    model = LinearAnnotator().fit(X[:10], names[:10]).partial_fit(X[10:], [["c"], ["b", "a"]])
    assert model.tags_ == ["a", "b", "c"]
    assert model.n_pictures_ == 12
    whole = model.predict_scores(X)
    model.partial_fit(X[:0], [])
    # By a matrix over all tags, too.
    model.remove(X[10:11], sp.csr_array([[0, 0, 1]])).remove(X[11:], [["b", "a"]])
    again = LinearAnnotator().fit(X[:10], names[:10])
    np.testing.assert_allclose(model.predict_scores(X)[:, :2], again.predict_scores(X), atol=1e-8)
    assert model.predict(X[:1], k=5)[0][-1] == "c"
    model.partial_fit(X[10:], [["c"], ["b", "a"]])
    np.testing.assert_allclose(model.predict_scores(X), whole, atol=1e-8)


def test_refusals() -> None:
    X, Y = pictures(20, 6, 3)
    with pytest.raises(NotFittedError):
        LinearAnnotator().predict_scores(X)
    with pytest.raises(InvalidInput, match="penalty"):
        LinearAnnotator(penalty=0).fit(X, Y)
    with pytest.raises(InvalidInput, match="no rows"):
        LinearAnnotator().fit(X[:0], Y[:0])
    with pytest.raises(InvalidInput, match="no tags"):
        LinearAnnotator().fit(X, np.zeros_like(Y))
    with pytest.raises(InvalidInput, match="all zeros"):
        LinearAnnotator().fit(0 * X, Y)
    model = LinearAnnotator().fit(X, Y)
    with pytest.raises(InvalidInput, match="columns"):
        model.remove(X[:1], Y[:1, :2])
    with pytest.raises(InvalidInput, match="stay with one"):
        model.partial_fit(X[:1], [["a"]])
    with pytest.raises(InvalidInput, match="more pictures"):
        model.remove(np.vstack([X, X]), np.vstack([Y, Y]))
    with pytest.raises(InvalidInput, match="leave at least one"):
        model.predict_scores(X, without=(X, Y))
    named = LinearAnnotator().fit(X[:2], [["a"], ["b"]])
    with pytest.raises(InvalidInput, match="no picture has the tag 'c'"):
        named.remove(X[:1], [["c"]])
    with pytest.raises(InvalidInput, match="columns"):
        named.remove(X[:1], sp.csr_array([[1]]))
    named.remove(X[:2], [["a"], ["b"]])
    with pytest.raises(InvalidInput, match="no pictures are left"):
        named.predict_scores(X)
    assert named.partial_fit(X[:1], [["b"]]).predict(X[:1], k=1) == [["b"]]


class OneTagEach(LinearAnnotator):
    """The checks know one number a row as target; here it becomes a tag."""

    def fit(self, X: Any, y: Any = None) -> Self:
        return super().fit(X, self._one(y))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        return super().partial_fit(X, self._one(y))

    @staticmethod
    def _one(y: Any) -> Any:
        if y is None:
            return None
        flat = np.asarray(y).ravel()
        return (flat[:, None] == np.unique(flat)).astype(int)


OURS = "our own words for this error"
ZEROS = "the data has rows of zeros, which are refused"
REASONS = {
    "check_estimators_empty_data_messages": OURS,
    "check_requires_y_none": OURS,
    "check_n_features_in_after_fitting": OURS,
    "check_dtype_object": "arrays of objects are refused, whatever they hold",
    "check_estimators_dtypes": ZEROS,
    "check_estimator_sparse_tag": ZEROS,
    "check_estimator_sparse_array": ZEROS,
    "check_estimator_sparse_matrix": ZEROS,
    "check_dict_unchanged": "the factor is made when it is first needed",
}


def test_the_checks_of_scikit_learn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(OneTagEach(), on_fail=None, expected_failed_checks=REASONS)
    wrong = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not wrong
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert len(passed) > 20
    assert not passed & set(REASONS)
