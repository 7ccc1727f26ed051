"""The baselines that see tagged pictures only, and the manners all six share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from benchmarks.siso.baselines.base import Baseline
from benchmarks.siso.baselines.egssc import EGSSC
from benchmarks.siso.baselines.knn import KNNAnnotator
from benchmarks.siso.baselines.lnp import LNP
from benchmarks.siso.baselines.lsmp import LSMPLike
from benchmarks.siso.baselines.ridge import RidgeAnnotator
from benchmarks.siso.baselines.svm import SVMAnnotator
from likewise_methods.errors import InvalidInput
from likewise_methods.siso.annotator import SparseAnnotator
from tests.benchmarks import siso_baseline_reference as plain

RNG = np.random.default_rng(0)
CENTRES = RNG.standard_normal((3, 8))
CLASS = np.arange(60) % 3
X = (CENTRES[CLASS] + 0.5 * RNG.standard_normal((60, 8))).astype(np.float32)
Q = (CENTRES[np.arange(12) % 3] + 0.5 * RNG.standard_normal((12, 8))).astype(np.float32)
Y = np.eye(3, dtype=int)[CLASS]
Y[::7, 0] = 1
ALL: list[Baseline] = [
    KNNAnnotator(n_neighbours=7),
    RidgeAnnotator(),
    SVMAnnotator(),
    LNP(n_neighbours=5),
    EGSSC(n_neighbours=5),
    LSMPLike(n_neighbours=5, random_state=0),
]
each = pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)


@pytest.mark.parametrize("k", [1, 7, 500])
def test_knn(k: int) -> None:
    A, B = plain.unit(X), plain.unit(Q)
    found = KNNAnnotator(k).fit(X, Y).predict_scores(Q)
    np.testing.assert_allclose(found, plain.knn(A, Y, B, k), atol=1e-12)
    weighted = KNNAnnotator(k, weights="gaussian").fit(X, Y).predict_scores(Q)
    np.testing.assert_allclose(weighted, plain.knn(A, Y, B, k, gaussian=True), atol=1e-5)


def test_knn_that_finds_itself_only() -> None:
    one = KNNAnnotator(1, weights="gaussian").fit(X, Y).predict_scores(X[:5])
    np.testing.assert_allclose(one, Y[:5])


@pytest.mark.parametrize("penalty", [0.1, 8.0])
def test_ridge_is_the_large_form(penalty: float) -> None:
    model = RidgeAnnotator(penalty).fit(X, Y)
    assert model.coef_.shape == (8, 3)
    expected = plain.ridge(plain.unit(X), Y, plain.unit(Q), penalty)
    np.testing.assert_allclose(model.predict_scores(Q), expected, atol=1e-6)


def test_ridge_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RidgeAnnotator().fit(X, Y).coef_
    monkeypatch.setattr("benchmarks.siso.baselines.ridge._BLOCK", 7)
    np.testing.assert_allclose(RidgeAnnotator().fit(X, Y).coef_, whole, atol=1e-12)


def test_svm_is_one_machine_a_tag() -> None:
    found = SVMAnnotator(gamma=0.8, penalty=2.0).fit(X, Y).predict_scores(Q)
    A, B = plain.unit(X), plain.unit(Q)
    for tag in range(3):
        machine = SVC(gamma=0.8, C=2.0).fit(A, Y[:, tag])
        np.testing.assert_allclose(found[:, tag], machine.decision_function(B), atol=2e-3)


def test_svm_of_tags_nobody_or_everybody_has() -> None:
    more = np.column_stack([Y, np.zeros(60), np.ones(60)])
    scores = SVMAnnotator().fit(X, more).predict_scores(Q)
    np.testing.assert_array_equal(scores[:, 3], -1)
    np.testing.assert_array_equal(scores[:, 4], 1)


def test_svm_draws_rows_by_seed() -> None:
    def scores(seed: int) -> Any:
        return SVMAnnotator(max_rows=30, random_state=seed).fit(X, Y).predict_scores(Q)

    np.testing.assert_array_equal(scores(1), scores(1))
    assert (scores(1) != scores(2)).any()
    everything = SVMAnnotator(max_rows=None).fit(X, Y).predict_scores(Q)
    np.testing.assert_array_equal(SVMAnnotator(max_rows=60).fit(X, Y).predict_scores(Q), everything)


# -- manners ------------------------------------------------------------------------------------


@each
def test_finds_the_class(model: Baseline) -> None:
    best = clone(model).fit(X, Y).predict(Q, k=1)
    assert (best[:, 0] == np.arange(12) % 3).mean() >= 0.75


@each
def test_same_interface_as_the_annotator(model: Baseline) -> None:
    names = [[f"tag{t}" for t in np.flatnonzero(row)] for row in Y]
    ours, siso = clone(model).fit(X, names), SparseAnnotator().fit(X, names)
    assert ours.tags_ == siso.tags_
    assert ours.predict_scores(Q).shape == siso.predict_scores(Q).shape
    assert [len(row) for row in ours.predict(Q, k=2)] == [2] * 12
    numbers = clone(model).fit(X, Y).predict(Q, k=5)
    assert numbers.shape == SparseAnnotator().fit(X, Y).predict(Q, k=5).shape
    assert (numbers[:, 3:] == -1).all()
    order = np.argsort(-clone(model).fit(X, Y).predict_scores(Q), axis=1, kind="stable")
    np.testing.assert_array_equal(numbers[:, :3], order)


@each
def test_scale_and_form_of_rows_do_not_matter(model: Baseline) -> None:
    expected = clone(model).fit(X, Y).predict_scores(Q)
    scaled = clone(model).fit(X * np.float32(8), sp.csr_array(Y)).predict_scores(Q / np.float32(4))
    np.testing.assert_allclose(scaled, expected, atol=1e-6)
    again = clone(model).fit(sp.csr_array(X), Y).predict_scores(sp.csr_array(Q))
    np.testing.assert_array_equal(again, expected)


@each
def test_queries_one_by_one(model: Baseline) -> None:
    fitted = clone(model).fit(X, Y)
    together = fitted.predict_scores(Q)
    np.testing.assert_allclose(np.vstack([fitted.predict_scores(q[None]) for q in Q]), together,
                               atol=1e-6)  # fmt: skip
    assert fitted.predict_scores(Q[:0]).shape == (0, 3)


@each
def test_query_of_zeros_gets_no_tags(model: Baseline) -> None:
    fitted = clone(model).fit(X, Y)
    asked = np.vstack([Q[:1], np.zeros((1, 8))])
    with pytest.warns(UserWarning, match="query 1 is all zeros") as seen:
        scores = fitted.predict_scores(asked)
    assert [w.filename for w in seen] == [__file__]
    assert not scores[1].any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (fitted.predict(asked, k=2)[1] == -1).all()
        named = clone(model).fit(X, [["a"]] * 60)
        assert named.predict(asked, k=2) == [["a"], []]


@each
def test_bad_input(model: Baseline) -> None:
    with pytest.raises(NotFittedError):
        clone(model).predict_scores(Q)
    bad: list[tuple[Any, Any, str]] = [
        (X[0], Y, "dimensions; 2 expected"),
        (X[:0], Y[:0], "no rows"),
        (np.vstack([X[:-1], np.full((1, 8), np.nan)]), Y, "X has NaN or infinity in row 59"),
        (np.vstack([X[:-1], np.zeros((1, 8))]), Y, "row 59 of X is all zeros"),
        (X, Y[:-1], "Y has 59 rows"),
        (X, 2 * Y, "Y holds 2"),
        (X, 0 * Y, "no tags"),
        (X, None, "neither a matrix nor lists"),
    ]
    for rows, tags, message in bad:
        with pytest.raises(InvalidInput, match=message):
            clone(model).fit(rows, tags)
    fitted = clone(model).fit(X, Y)
    with pytest.raises(InvalidInput, match="7 columns; 8 expected"):
        fitted.predict_scores(Q[:, :7])
    with pytest.raises(InvalidInput, match="k is 0"):
        fitted.predict(Q, k=0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KNNAnnotator(0), "n_neighbours is 0; a whole number of at least 1"),
        (KNNAnnotator(weights="cosine"), "weights is 'cosine'; one of 'uniform', 'gaussian'"),
        (RidgeAnnotator(0.0), "penalty is 0.0; a finite number above 0"),
        (RidgeAnnotator(float("nan")), "penalty is nan"),
        (SVMAnnotator(gamma=-1.0), "gamma is -1.0"),
        (SVMAnnotator(max_rows=1), "max_rows is 1; a whole number of at least 2"),
        (SVMAnnotator(random_state="x"), "random_state is 'x'"),
        (LNP(share=1.0), "share is 1.0; a finite number of at least 0 and below 1"),
        (LNP(tol=0.0), "tol is 0.0"),
        (LNP(max_steps=0), "max_steps is 0"),
        (EGSSC(mu=0.0), "mu is 0.0"),
        (EGSSC(nu=True), "nu is True"),
        (EGSSC(beta=-1.0), "beta is -1.0; a finite number of at least 0"),
        (LSMPLike(alpha=1.0), "alpha is 1.0; a finite number above 0 and below 1"),
        (LSMPLike(random_state=-1), "random_state is -1"),
    ],
    ids=str,
)
def test_bad_parameters(model: Baseline, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        model.fit(X, Y)
