"""S3ML and its company: the optimum of its problem, its reports, and bad input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.covariance import graphical_lasso
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.lrml import LRML
from likewise_methods.s3ml.metric import RIDGE, LearnedMetric
from likewise_methods.s3ml.s3ml import S3ML
from tests.methods.s3ml import reference

MODELS = [S3ML(), S3ML(propagate=False), LRML()]
PRIORS = ["identity", "variance", "covariance"]


def drawn(seed: int = 0) -> tuple[Any, Any, Any]:
    """Iris with three labels a class: X, the labels known, all labels."""
    X, y = load_iris(return_X_y=True)
    known = np.full(len(y), -1)
    rng = np.random.default_rng(seed)
    for c in range(3):
        chosen = rng.choice(np.flatnonzero(y == c), 3, replace=False)
        known[chosen] = c
    return X, known, y


def all_pairs(labels: Any) -> tuple[Any, Any]:
    return reference.pairs_of_labels(labels)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_interface(model: LearnedMetric) -> None:
    X, known, _ = drawn()
    with pytest.raises(NotFittedError):
        clone(model).transform(X)
    model = clone(model).fit(X, known)
    M, L = model.metric_, model.components_
    np.testing.assert_allclose(L.T @ L, M, atol=1e-10 * np.abs(M).max())
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    difference = X[:5, None] - X[None, 5:8]
    expected = np.sqrt(np.einsum("abi,ij,abj->ab", difference, M, difference))
    np.testing.assert_allclose(model.distance(X[:5], X[5:8]), expected, rtol=1e-8)
    np.testing.assert_allclose(model.distance(X[:3]), model.distance(X[:3], X[:3]))
    Z = model.transform(X)
    np.testing.assert_allclose(np.linalg.norm(Z[0] - Z[9]), model.distance(X[:1], X[9:10])[0, 0])
    assert 0 <= model.score(X, known) <= 1


@pytest.mark.parametrize("model", [S3ML(), LRML()], ids=str)
def test_scikit_learns_own_checks(model: LearnedMetric) -> None:
    results = check_estimator(model, on_fail="raise", on_skip=None)
    assert all(result["status"] in ("passed", "skipped") for result in results)


@pytest.mark.parametrize("propagate", [True, False])
@pytest.mark.parametrize("prior", PRIORS)
def test_labels_and_their_pairs_teach_the_same(prior: str, propagate: bool) -> None:
    X, known, _ = drawn()
    pairs, same = all_pairs(known)
    model = S3ML(prior=prior, propagate=propagate)
    by_label = clone(model).fit(X, known)
    by_pair = clone(model).fit(X, pairs[::-1, ::-1], same[::-1])
    np.testing.assert_allclose(by_pair.metric_, by_label.metric_, rtol=1e-5, atol=1e-7)
    assert by_pair.score(X, pairs, same) == by_label.score(X, known)


@pytest.mark.parametrize("strength", [0.5, 3.0])
@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_the_metric_is_the_optimum_of_the_spec(prior: str, strength: float) -> None:
    """Sigma by the formulas, the objective no better anywhere near nor with another solver."""
    X, known, _ = drawn()
    # Iris has equal rows, and among neighbours equally far any choice would do.
    X = X + np.random.default_rng(0).normal(size=X.shape) * 0.01
    model = S3ML(prior=prior, strength=strength, l1=0.05, floor=0.1, tol=1e-8, dissimilar=None)
    model.fit(X, known)
    W0 = reference.start_matrix(len(X), *all_pairs(known))
    T = reference.scatter(X, reference.affinities(reference.walk_matrix(X, 6), W0, 0.5, 0.01))
    base = np.eye(4)
    if prior == "covariance":
        base = np.cov(X.T)
        base += 1e-3 * np.trace(base) / 4 * np.eye(4)
    values, V = eigh(T, base)
    beta = strength / -values[0]
    moved = 1 + beta * values
    np.testing.assert_allclose(model.report_.beta, beta, rtol=1e-6)
    np.testing.assert_allclose(model.report_.lowest, moved[0], rtol=1e-6, atol=1e-9)
    assert model.floor_acted_ == (strength > 0.9)
    assert model.report_.floored == (moved < 0.1).sum()
    # eigh scales V so that V' base V = I; base V V' base = base.
    Sigma = base @ (V * np.maximum(moved, 0.1)) @ V.T @ base
    lam = 0.05 * np.trace(Sigma) / 4
    best = reference.objective(model.metric_, Sigma, lam)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            step = rng.normal(size=(4, 4)) * size * model.metric_.diagonal().mean()
            nearby = model.metric_ + step + step.T
            if np.linalg.eigvalsh(nearby)[0] > 0:
                assert reference.objective(nearby, Sigma, lam) >= best - 1e-6
    # An independent solver: penalising the diagonal is adding lam to that of Sigma.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, other = graphical_lasso(Sigma + lam * np.eye(4), lam, tol=1e-6)
    assert best <= reference.objective(other, Sigma, lam) + 1e-6
    assert model.gap_ < 1e-6


def test_sparsity_is_of_exact_zeros_and_grows() -> None:
    X, known, _ = drawn()
    full = S3ML(l1=0).fit(X, known)
    sparse = S3ML(l1=0.3).fit(X, known)
    diagonal = S3ML(l1=100).fit(X, known)
    assert full.sparsity_ == 0
    assert full.sparsity_ < sparse.sparsity_ <= diagonal.sparsity_ == 1
    M = sparse.metric_
    assert sparse.sparsity_ == np.mean(M[~np.eye(4, dtype=bool)] == 0)


def test_l1_without_sparsity_is_the_inverse() -> None:
    """l1 towards 0 gives Sigma^-1 (docs/methods/s3ml.md, (9))."""
    X, known, _ = drawn()
    full, nearly = S3ML(l1=0).fit(X, known), S3ML(l1=1e-7, tol=1e-9).fit(X, known)
    np.testing.assert_allclose(nearly.metric_, full.metric_, rtol=1e-3, atol=1e-5)


def test_variance_is_identity_on_standardised_rows() -> None:
    X, known, _ = drawn()
    s = X.std(axis=0)
    raw = S3ML(prior="variance").fit(X, known)
    scaled = S3ML(prior="identity").fit(X / s, known)
    np.testing.assert_allclose(raw.metric_ * np.outer(s, s), scaled.metric_, rtol=1e-8, atol=1e-10)
    # Units of the features do not matter then.
    other = S3ML(prior="variance").fit(X * [1000, 1, 0.001, 1], known)
    np.testing.assert_allclose(
        other.distance(X[:3] * [1000, 1, 0.001, 1]), raw.distance(X[:3]), rtol=1e-4
    )


def test_units_that_differ_are_noticed() -> None:
    X, known, _ = drawn()
    assert S3ML().fit(X, known).prior_ == "identity"
    in_metres = X * [1e-3, 1e-3, 1.0, 1e-3]
    wide = np.column_stack([in_metres, in_metres[:, [0, 1, 3]]])
    model = S3ML().fit(wide, known)
    assert model.prior_ == "variance"
    np.testing.assert_array_equal(model.metric_, S3ML(prior="variance").fit(wide, known).metric_)
    assert S3ML().fit(np.zeros((5, 2)), [0, 1, -1, -1, -1]).prior_ == "identity"


def test_it_learns_something_from_few_labels() -> None:
    """Noise in three large features, the classes in a small one."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = np.column_stack([3 * rng.normal(size=(120, 3)), 2.0 * y + 0.3 * rng.normal(size=120)])
    known = np.where(np.arange(120) < 12, y, -1)
    plain = S3ML(prior="identity", strength=0).fit(X, known).score(X, y)
    for model in (S3ML(), S3ML(propagate=False), LRML()):
        assert clone(model).fit(X, known).score(X, y) > plain + 0.1, model


def test_dissimilar_pairs_weigh_what_was_asked() -> None:
    X, known, _ = drawn()
    plain, even = S3ML(dissimilar=None).fit(X, known), S3ML(dissimilar=1).fit(X, known)
    assert plain.report_.minus == 1
    assert even.report_.minus == 9 / 27
    assert not np.allclose(plain.metric_, even.metric_)


def many_dissimilar(n: int = 400) -> tuple[Any, Any, Any]:
    """Two kinds that one feature separates; 10 similar pairs and 200 dissimilar ones.

    The rows lie in tight groups of ten, so that what spreads does not thin out.
    """
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 2
    groups = rng.normal(size=(n // 10, 6))
    groups[:, 5] += 2 * (np.arange(n // 10) % 2)
    X = groups[np.arange(n) // 20 * 2 + kind] + 0.02 * rng.normal(size=(n, 6))
    alike = np.column_stack([np.arange(0, 20, 2), np.arange(20, 40, 2)])
    unlike = np.column_stack([2 * rng.permutation(n // 2)[:200], 1 + 2 * np.arange(200)])
    return X, np.concatenate([alike, unlike]), np.arange(210) < 10


@pytest.mark.parametrize("n", [400, 1_100])
def test_many_dissimilar_pairs_are_not_cut_for_being_many(n: int) -> None:
    """As a full matrix and by pushes."""
    X, pairs, same = many_dissimilar(n)
    model = S3ML().fit(X, pairs, same)
    assert model.report_.minus == pytest.approx(0.01)
    assert (model.report_.counted_similar, model.report_.counted_dissimilar) == (10, 200)
    assert "10 of 10 similar and 200 of 200 dissimilar pairs count" in str(model.report_)
    without = S3ML(dissimilar=0).fit(X, pairs, same)
    assert without.report_.counted_dissimilar == 0
    uncut = S3ML(threshold=0).fit(X, pairs, same)
    size = np.abs(uncut.metric_).max()
    assert np.abs(model.metric_ - without.metric_).max() > 0.1 * size
    assert np.abs(model.metric_ - uncut.metric_).max() < 0.05 * size


def test_a_cap_on_shrinking_is_reported() -> None:
    X, pairs, same = many_dissimilar()
    free = S3ML(dissimilar=None).fit(X, pairs, same).report_
    assert not free.capped
    assert free.beta == pytest.approx(5 * free.beta_max)
    capped = S3ML(dissimilar=0).fit(X, pairs, same).report_
    assert capped.capped
    assert "cap on shrinking" in str(capped)


def test_numpys_truth_values_are_fine() -> None:
    X, known, _ = drawn()
    no: Any = np.bool_(False)
    np.testing.assert_array_equal(
        S3ML(propagate=no).fit(X, known).metric_,
        S3ML(propagate=False).fit(X, known).metric_,
    )


def test_fitting_again_forgets_and_leaves_the_data_alone() -> None:
    X, known, _ = drawn()
    before = X.copy(), known.copy()
    model = S3ML().fit(X, known)
    first = model.metric_.copy()
    model.fit(X[:40], known[:40])
    np.testing.assert_array_equal(model.fit(X, known).metric_, first)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(known, before[1])


# -- little or odd input --------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_nothing_to_learn_from_keeps_the_prior(model: LearnedMetric) -> None:
    X, _, _ = drawn()
    empty = clone(model).fit(X, np.empty((0, 2), int), [])
    unlabelled = clone(model).fit(X, np.full(len(X), -1))
    np.testing.assert_array_equal(empty.metric_, unlabelled.metric_)
    assert np.isnan(empty.middle_)
    if isinstance(empty, S3ML):
        assert empty.report_.kept_prior
        assert "no pair was given" in str(empty.report_)
        assert "fewer than two rows" in str(unlabelled.report_)
        assert not empty.floor_acted_
    # Without a middle of its own the pairs at hand give one.
    assert 0 <= empty.score(X, [[0, 1], [0, 149]], [True, False]) <= 1


def test_the_prior_kept_is_the_one_asked_for() -> None:
    X, _, _ = drawn()
    unlabelled = np.full(len(X), -1)
    np.testing.assert_array_equal(S3ML(prior="identity").fit(X, unlabelled).metric_, np.eye(4))
    cov = np.cov(X.T)
    cov += RIDGE * np.trace(cov) / len(cov) * np.eye(len(cov))
    np.testing.assert_allclose(
        S3ML(prior="covariance").fit(X, unlabelled).metric_, np.linalg.inv(cov)
    )
    np.testing.assert_allclose(
        S3ML(prior="variance").fit(X, unlabelled).metric_, np.diag(1 / X.var(axis=0))
    )


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("propagate", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_one_kind_of_pair_is_enough(prior: str, propagate: bool, same: bool) -> None:
    X, _, _ = drawn()
    model = S3ML(prior=prior, propagate=propagate).fit(X, [[0, 60]], [same])
    assert np.linalg.eigvalsh(model.metric_)[0] > 0
    missing = "dissimilar" if same else "similar"
    assert f"no {missing} pair was given" in str(model.report_)
    if same and not propagate:
        assert model.report_.beta_max == np.inf
    if not propagate and prior != "covariance":
        # The pair alone: along it the metric is the shortest (or longest) of all directions.
        s = X.std(axis=0) if prior == "variance" else np.ones(4)
        _, V = np.linalg.eigh(model.metric_ * np.outer(s, s))
        along = (X[60] - X[0]) / s
        assert abs(along @ V[:, 0 if same else -1]) > 0.8 * np.linalg.norm(along)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_pair_of_equal_rows_and_constant_features(model: LearnedMetric) -> None:
    X = np.zeros((6, 3))
    assert np.isfinite(clone(model).fit(X, [[0, 1]], [True]).metric_).all()
    X[:, 0] = [0, 1, 2, 3, 4, 5]
    for prior in PRIORS:
        again = clone(model)
        if isinstance(again, S3ML):
            again.set_params(prior=prior)
        again.fit(X, [[0, 1], [0, 5]], [True, False])
        assert np.linalg.eigvalsh(again.metric_)[0] > 0


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_fewer_rows_than_neighbours(model: LearnedMetric) -> None:
    X, _, _ = drawn()
    fitted = clone(model).fit(X[[0, 60, 120]], [[0, 1]], [False])
    assert np.isfinite(fitted.metric_).all()
    if isinstance(fitted, S3ML):
        assert fitted.report_.n_neighbors == (2 if fitted.propagate else 0)
    two = clone(model).fit(X[:2], [0, 1])
    assert np.isfinite(two.metric_).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize(
    ("y", "same", "match"),
    [
        ([[0, 1], [2, 150]], [True, True], r"pair 1 is \(2, 150\), but X has rows 0 to 149"),
        ([[-1, 1]], [True], r"pair 0 is \(-1, 1\)"),
        ([[4, 2], [2, 4]], [True, False], r"similar and dissimilar, first \(2, 4\)"),
        ([[3, 3]], [True], "pair 0 is row 3 with itself"),
        ([[0, 1, 2]], [True], r"\(1, 3\)"),
        ([[0.0, 1.0]], [True], "float64"),
        ([[0, 1]], [True, False], "one bool for each of the 1 pairs"),
        ([[0, 1]], [0.5], "one bool"),
        ([[0, 1]], None, r"\(150,\) labels expected; pairs need same"),
        (np.full(150, np.nan), None, "NaN"),
        (np.linspace(0, 1, 150), None, "not whole"),
        ([0, 1], None, r"y has shape \(2,\)"),
        (None, None, "target y is None"),
    ],
)
def test_bad_pairs_are_named(model: LearnedMetric, y: Any, same: Any, match: str) -> None:
    X, _, _ = drawn()
    with pytest.raises(InvalidInput, match=match):
        clone(model).fit(X, y, same)


def test_the_same_pair_twice_counts_once() -> None:
    X, _, _ = drawn()
    once = S3ML().fit(X, [[0, 1], [0, 60]], [True, False])
    twice = S3ML().fit(X, [[0, 1], [1, 0], [0, 60]], [True, True, False])
    np.testing.assert_array_equal(twice.metric_, once.metric_)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_bad_rows_are_refused(model: LearnedMetric) -> None:
    X, known, _ = drawn()
    for value in (np.nan, np.inf):
        wrong = X.copy()
        wrong[3, 2] = value
        with pytest.raises(InvalidInput, match=r"NaN|infinity"):
            clone(model).fit(wrong, known)
    fitted = clone(model).fit(X, known)
    with pytest.raises(InvalidInput, match="3 features"):
        fitted.transform(X[:, :3])
    with pytest.raises(InvalidInput, match="no pair to score"):
        fitted.score(X, np.empty((0, 2), int), [])


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"propagation": 1}, "propagation is 1"),
        ({"threshold": np.nan}, "threshold is nan"),
        ({"strength": -1}, "strength is -1"),
        ({"l1": "x"}, "l1 is 'x'"),
        ({"dissimilar": -1}, "dissimilar is -1"),
        ({"floor": 0}, "floor is 0"),
        ({"floor": 2}, "floor is 2"),
        ({"tol": 0}, "tol is 0"),
        ({"prior": "guess"}, "prior is 'guess'"),
        ({"propagate": "no"}, "propagate is 'no'"),
        ({"propagate": 1}, "propagate is 1"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any], match: str) -> None:
    X, known, _ = drawn()
    with pytest.raises(InvalidInput, match=match):
        S3ML(**wrong).fit(X, known)


def test_progress_is_written_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1_200, 3)), np.where(np.arange(1_200) < 20, np.arange(1_200) % 2, -1)
    S3ML(verbose=True).fit(X, y)
    assert "finding neighbourhoods: 1,180 of 1,180" in capsys.readouterr().err
    S3ML().fit(X, y)
    assert capsys.readouterr().err == ""


# -- what the sparse inverse did, texts as labels, memory -------------------------------------


def test_an_inverse_that_did_not_end_is_reported() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12)) @ rng.normal(size=(12, 12))
    y = np.where(np.arange(80) < 20, np.arange(80) % 2, -1)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = S3ML(max_iter=1, tol=1e-12, prior="identity").fit(X, y)
    assert not model.report_.converged
    assert "short of its tolerance" in str(model.report_)
    assert np.linalg.eigvalsh(model.metric_)[0] > 0
    whole = S3ML(prior="identity").fit(X, y)
    assert whole.report_.converged
    assert 1 <= whole.report_.n_iter == whole.n_iter_ < 500
    with pytest.raises(InvalidInput, match="max_iter is 0"):
        S3ML(max_iter=0).fit(X, y)


def test_labels_may_be_texts_with_the_number_minus_one() -> None:
    X, known, _ = drawn()
    names = np.array(["setosa", "versicolor", "virginica", -1], object)[known]
    np.testing.assert_array_equal(S3ML().fit(X, names).metric_, S3ML().fit(X, known).metric_)
    numbers = known.astype(object)
    np.testing.assert_array_equal(S3ML().fit(X, numbers).metric_, S3ML().fit(X, known).metric_)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["a", "b", "-1"], 'the text "-1".*dtype=object'),
        (np.array(["a", 3, -1], object), "cannot be compared"),
        (np.array(["a", None, -1], object), "label 1 is None"),
        (np.array(["a", float("nan"), -1], object), "label 1 is nan"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(labels: Any, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        S3ML().fit(np.arange(6.0).reshape(3, 2), labels)


def test_a_pair_beyond_int64_is_named_as_given() -> None:
    pairs = np.array([[0, 2**63 + 1]], np.uint64)
    with pytest.raises(InvalidInput, match=str(2**63 + 1)):
        S3ML().fit(np.eye(3), pairs, [True])


def test_nan_is_named_with_its_place() -> None:
    X, known, _ = drawn()
    X[7, 2] = np.nan
    with pytest.raises(InvalidInput, match="NaN in row 7, column 2") as caught:
        S3ML().fit(X, known)
    assert "HistGradient" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "X", "why"),
    [
        (S3ML(strength=0), np.arange(12.0).reshape(6, 2), "strength is 0"),
        (S3ML(propagate=False), np.zeros((6, 2)), "T = 0"),
    ],
)
def test_where_nothing_moves_the_prior_is_kept(model: S3ML, X: Any, why: str) -> None:
    model.set_params(prior="identity").fit(X, [0, 1, 0, 1, -1, -1])
    assert model.report_.kept_prior
    assert why in str(model.report_)
    np.testing.assert_array_equal(model.metric_, np.eye(2))


def test_pairs_in_chunks_are_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, known, y = drawn()
    whole = LRML().fit(X, known)
    expected = whole.score(X, y)
    monkeypatch.setattr("likewise_methods.s3ml.metric._CHUNK", 28)
    parts = LRML().fit(X, known)
    np.testing.assert_allclose(parts.metric_, whole.metric_, rtol=1e-10)
    assert parts.middle_ == pytest.approx(whole.middle_, rel=1e-10)
    assert parts.score(X, y) == expected
    first, second, _ = reference_pairs(known)
    away = np.linalg.norm((X[first] - X[second]) @ parts.components_.T, axis=1)
    assert parts.middle_ == pytest.approx(float(np.median(away)))


def reference_pairs(labels: Any) -> tuple[Any, Any, Any]:
    pairs, same = all_pairs(labels)
    return pairs[:, 0], pairs[:, 1], same
